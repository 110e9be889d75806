package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/process/atomicfile"
)

// stepsBetweenLooks is after how many events a run looks at the clock on the
// wall and whether it is to end. A look costs as much as some events, a
// thousand of them take a few milliseconds.
const stepsBetweenLooks = 256

var (
	errInterrupted = errors.New("interrupted")
	errBroken      = errors.New("the controller did not keep its promises")
	errUnexpected  = errors.New("what came out is not what the scenario expects")
)

// perform does what the command line asks for.
func (s *settings) perform(ctx context.Context, in io.Reader, out, diagnostics io.Writer) error {
	if s.list {
		return listScenarios(out)
	}
	given, err := s.load(ctx, in, diagnostics)
	if err != nil {
		return err
	}
	for _, note := range s.source.notes {
		fmt.Fprintf(diagnostics, "outage: %s\n", note)
	}
	warn(given, diagnostics)
	switch {
	case s.blast:
		return s.performBlast(ctx, given, out, diagnostics)
	case s.save != "":
		return saveScenario(s.save, given, s.source.notes, diagnostics)
	}
	var other *scenario.Scenario
	if len(s.compare) > 0 {
		if other, err = s.changed(given, "--compare", s.compare); err != nil {
			return err
		}
	}
	file, err := atomicfile.NewFile("--html", s.html)
	if err != nil {
		return usageError{err}
	}
	if file != nil {
		signal.Ignore(syscall.SIGPIPE) // the page is written although the reader of the text has gone
	}
	if !s.json {
		introduce(out, given)
	}
	if other != nil {
		return s.performBoth(ctx, given, other, file, out, diagnostics)
	}
	p := &player{settings: s, scenario: given, applied: s.set, progress: newProgress(diagnostics, given.Duration.D())}
	if !s.json {
		width := report.SubjectWidth(given)
		p.tell = func(line report.Line) {
			p.progress.clear()
			fmt.Fprintln(out, line.Format(width))
		}
	}
	document, err := p.play(ctx, "")
	return errors.Join(writePage(file, newPage(given, document)), s.write(out, document), err)
}

// warn says what is odd about the controller's flags.
func warn(given *scenario.Scenario, diagnostics io.Writer) {
	o, err := given.Controller.Options()
	if err != nil {
		return // the run says so
	}
	for _, warning := range o.Warnings() {
		fmt.Fprintf(diagnostics, "outage: warning: %s\n", warning)
	}
}

// write writes what a run came to, if it came to something.
func (s *settings) write(out io.Writer, document *report.Document) error {
	switch {
	case document == nil:
		return nil
	case s.json:
		return encode(out, document)
	}
	fmt.Fprintln(out)
	return writeDocument(out, document)
}

// writeDocument writes a run without its timeline.
func writeDocument(out io.Writer, document *report.Document) error {
	return errors.Join(document.Summary.Write(out), document.WriteExpectations(out), document.WriteViolations(out))
}

// performBoth runs a scenario as given and with the settings to compare it
// with. Two timelines cannot be read side by side in text, which shows only the
// summaries. If a run is interrupted there is nothing to compare. What is known
// of both is reported then.
func (s *settings) performBoth(ctx context.Context, given, other *scenario.Scenario, file *atomicfile.File,
	out, diagnostics io.Writer) error {
	shown := newProgress(diagnostics, given.Duration.D()+other.Duration.D())
	first := &player{settings: s, scenario: given, applied: s.set, progress: shown}
	asGiven, err := first.play(ctx, asGivenName)
	if asGiven == nil {
		return err
	}
	var asChanged *report.Document
	var errChanged error
	if complete(err) {
		second := &player{settings: s, scenario: other, applied: slices.Concat(s.set, s.compare), progress: shown}
		asChanged, errChanged = second.play(ctx, changedName)
	}
	comparison := report.CompareNothing(s.compare, asGiven, asChanged)
	if asChanged != nil && complete(errChanged) {
		comparison = report.Compare(s.compare, asGiven, asChanged)
	}
	return errors.Join(writePage(file, newComparisonPage(given, comparison)), s.writeComparison(out, comparison),
		err, errChanged)
}

// What the runs of a comparison are called.
const (
	asGivenName = "as given"
	changedName = "changed"
)

// complete reports whether a run came to its end, whatever was found in it.
func complete(err error) bool {
	return err == nil || errors.Is(err, errBroken) || errors.Is(err, errUnexpected)
}

func (s *settings) writeComparison(out io.Writer, c *report.Comparison) error {
	if s.json {
		return encode(out, c)
	}
	if c.Interrupted {
		return writeNothingCompared(out, c)
	}
	fmt.Fprintf(out, "Changed: %s\n\n", strings.Join(c.Settings, ", "))
	if err := errors.Join(c.Write(out), c.Given.WriteExpectations(out)); err != nil || !s.check {
		return err
	}
	fmt.Fprint(out, "\nAs given: ")
	if err := c.Given.WriteViolations(out); err != nil {
		return err
	}
	fmt.Fprint(out, "Changed: ")
	return c.Changed.WriteViolations(out)
}

// writeNothingCompared writes what is known of each run.
func writeNothingCompared(out io.Writer, c *report.Comparison) error {
	fmt.Fprintln(out, nothingCompared(c))
	for i, document := range []*report.Document{c.Given, c.Changed} {
		if document == nil {
			continue
		}
		fmt.Fprintf(out, "\n%s:\n", []string{"As given", "Changed"}[i]+until(document))
		if err := writeDocument(out, document); err != nil {
			return err
		}
	}
	return nil
}

// until says when a run was interrupted, if it was.
func until(d *report.Document) string {
	if d.Reached >= d.Duration {
		return ""
	}
	return fmt.Sprintf(", up to %s of %s", d.Reached.Clock(), d.Duration.Clock())
}

// introduction says what is going to be played.
func introduction(s *scenario.Scenario) string {
	nodes := 0
	for _, zone := range s.Cluster.Zones {
		nodes += zone.Nodes
	}
	return fmt.Sprintf("%s, seed %d: %s of a cluster with %s in %s.", s.Name, s.Seed, s.Duration,
		report.Some(nodes, "node"), report.Some(len(s.Cluster.Zones), "zone"))
}

func introduce(out io.Writer, s *scenario.Scenario) {
	fmt.Fprintln(out, introduction(s))
	if s.Description != "" {
		fmt.Fprintf(out, "%s\n", strings.TrimSpace(s.Description))
	}
	fmt.Fprintln(out)
}

func encode(out io.Writer, document any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// checker watches a simulation that has not begun. When it is over, whether it
// came to its end or not, what it returns says what did not hold.
type checker func(*simulation.Simulation) func(finished bool) []report.Violation

// check lets a judge watch a simulation. What must hold at
// the end is judged only if the scenario came to its end.
func check(s *simulation.Simulation) func(finished bool) []report.Violation {
	judge := s.Judge()
	return func(finished bool) []report.Violation {
		if finished {
			judge.End()
		}
		found := []report.Violation{}
		for _, v := range judge.Violations() {
			found = append(found, report.Violation{At: report.SecondsOf(v.At), Invariant: string(v.Invariant), Text: v.Text})
		}
		return found
	}
}

// player plays a scenario once.
type player struct {
	settings *settings
	scenario *scenario.Scenario
	applied  []string
	progress *progress
	tell     func(report.Line)
}

// play returns the report, also of a run that was interrupted or in which
// something did not hold: the error says so.
func (p *player) play(ctx context.Context, title string) (*report.Document, error) {
	s, err := simulation.New(p.scenario)
	if err != nil {
		return nil, usageError{err}
	}
	recorder := report.Watch(s, p.tell)
	var violations func(finished bool) []report.Violation
	if p.settings.check {
		violations = p.settings.judge(s)
	}
	p.progress.begin(title, p.scenario.Duration.D())
	finished := p.run(ctx, s)
	p.progress.clear()
	document := recorder.Document()
	document.Settings = append(document.Settings, p.applied...)
	document.Notes = append(document.Notes, p.settings.source.notes...)
	if violations != nil {
		document.Checked, document.Violations = true, violations(finished)
	}
	if !finished {
		return document, fmt.Errorf("%w at %s of %s", errInterrupted, document.Reached.Clock(), document.Duration.Clock())
	}
	document.Expectations = report.Expectations(p.scenario.Expect, &document.Summary)
	document.ExpectationsSkipped = p.settings.unexpected && p.scenario.Expect == nil
	return document, p.verdict(document)
}

// verdict is what --check says of a whole run.
func (p *player) verdict(document *report.Document) error {
	if !p.settings.check {
		return nil
	}
	var errs []error
	if len(document.Violations) > 0 {
		errs = append(errs, errBroken)
	}
	if unmet := document.Unmet(); len(unmet) > 0 {
		var text strings.Builder
		for _, e := range unmet {
			fmt.Fprintf(&text, "\n  %s: expected %s, came out %s", e.Path, e.Want, e.Got)
		}
		errs = append(errs, fmt.Errorf("%w (%s, seed %d):%s", errUnexpected, document.Scenario, document.Seed, text.String()))
	}
	return errors.Join(errs...)
}

// run lets the scenario happen and reports whether it came to its end.
func (p *player) run(ctx context.Context, s *simulation.Simulation) (finished bool) {
	for i := 0; s.Step(); i++ {
		if i%stepsBetweenLooks != 0 {
			continue
		}
		if ctx.Err() != nil {
			return false
		}
		p.progress.at(time.Now(), s.World().Elapsed())
	}
	return true
}
