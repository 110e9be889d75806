// Package sidebyside is the frame of measurements that compare our programs
// with others on a real API server.
//
// A [Measurement] says which scenarios there are, which subjects play them, and
// how a play goes. A play returns a [Record]: rows with their limits. The frame
// does the rest: it reads the flags, builds the programs, gives each play a fresh
// control plane, repeats plays, and shows medians and spread as tables.
//
//	play: control plane -> nodes and pods -> subject -> steps -> record
//	records of all repetitions -> median (least–most) -> table, exit code
//
// What is wrong is bold in the table. Ours must have nothing in bold, and each play
// must have come to its end: that is the exit code.
//
// # How fair it is
//
// Each subject plays on a control plane of its own, with the same nodes, pods,
// steps and flags. Subjects take turns, so that what else the machine does
// meets all. They may send as many requests in total: kube-controller-manager
// gives each of its controllers the limit of --kube-api-qps, Events included,
// and ours has one limit for all but Events and the same again for these.
//
// Nothing that a subject says about itself counts. Each process is the user
// [User] for the API server, whose audit log has its requests. CPU time and
// memory are those that the system counts.
package sidebyside

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// A Scenario is what subjects play.
type Scenario struct {
	// Name is what --scenario and messages call it.
	Name string
	// Title returns the corner of its table, when the flags are known.
	Title func() string
	// Together is the head of the one column of a scenario that all subjects play
	// in one play. Empty: each plays it.
	Together string
	// Named says that it is played only if --scenario names it.
	Named bool
	// Play plays once. It is an error when a process has ended by then that was not
	// dismissed.
	Play func(context.Context, *Stage) (*Record, error)
}

// A Measurement plays scenarios with subjects. Its fields are set before, and
// Check may set more.
type Measurement struct {
	// Name is the word of the command line that chooses it, and Help what --help
	// says before the flags.
	Name, Help string
	Scenarios  []Scenario
	Subjects   []Subject
	// Helpers are programs that plays need besides subjects.
	Helpers []Subject
	// Repetitions is how often each subject plays each scenario by default.
	Repetitions int
	// Parallel is how many scenarios are played at a time by default. Zero: one,
	// since they measure what other plays would disturb, and there is no such flag.
	Parallel int
	// Longest bounds a play.
	Longest time.Duration
	// Flags adds flags, and Check checks them. It may change what was chosen.
	Flags func(*flag.FlagSet)
	Check func(*Choice) error
	// Ratios says that a last column puts the figures of ours to the other's.
	Ratios bool
	// Legend says how to read the tables.
	Legend func() string
}

// A Choice is what the flags have chosen.
type Choice struct {
	Scenarios             []Scenario
	Subjects              []Subject
	Repetitions, Parallel int
	// Dir keeps data and logs if it is not empty.
	Dir string
	// Program is the path of our program, empty if it is to be built.
	Program string
}

// Parse reads the flags.
func (m *Measurement) Parse(args []string, diagnostics io.Writer) (*Choice, error) {
	flags := flag.NewFlagSet(m.Name, flag.ContinueOnError)
	flags.SetOutput(diagnostics)
	flags.Usage = func() {
		fmt.Fprint(diagnostics, m.Help+exitCodes+"\nFlags:\n")
		flags.PrintDefaults()
	}
	c := &Choice{Scenarios: m.Scenarios, Subjects: m.Subjects, Parallel: 1}
	scenarios := flags.String("scenario", "", fmt.Sprintf("comma-separated `scenarios` (default: %s): %s",
		names(unnamed(m.Scenarios), scenarioName), names(m.Scenarios, scenarioName)))
	subjects := flags.String("subject", "",
		"comma-separated `subjects` (default: all): "+names(m.Subjects, subjectName))
	flags.IntVar(&c.Repetitions, "repetitions", m.Repetitions, "how `often` each subject plays each scenario")
	if m.Parallel > 0 {
		flags.IntVar(&c.Parallel, "parallel", m.Parallel,
			"how `many` scenarios are played at a time, each on a control plane of its own")
	}
	flags.StringVar(&c.Dir, "dir", "", "`folder` for data and logs, which stay (default: temporary ones)")
	flags.StringVar(&c.Program, "program", "", "`path` of our program (default: it is built)")
	if m.Flags != nil {
		m.Flags(flags)
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	var err error
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("takes no arguments, got %q", flags.Args())
	case c.Repetitions < 1:
		return nil, fmt.Errorf("--repetitions is %d, want at least 1", c.Repetitions)
	case c.Parallel < 1:
		return nil, fmt.Errorf("--parallel is %d, want at least 1", c.Parallel)
	}
	if c.Scenarios, err = chosen(m.Scenarios, *scenarios, scenarioName); err != nil {
		return nil, fmt.Errorf("--scenario: %w", err)
	}
	if *scenarios == "" {
		c.Scenarios = unnamed(m.Scenarios)
	}
	if c.Subjects, err = chosen(m.Subjects, *subjects, subjectName); err != nil {
		return nil, fmt.Errorf("--subject: %w", err)
	}
	if m.Check != nil {
		err = m.Check(c)
	}
	return c, err
}

// unnamed returns the scenarios that are played when none is named.
func unnamed(all []Scenario) []Scenario {
	return slices.DeleteFunc(slices.Clone(all), func(s Scenario) bool { return s.Named })
}

func scenarioName(s Scenario) string { return s.Name }
func subjectName(s Subject) string   { return s.Name }

const exitCodes = `
Exit code: 0 ours did nothing wrong; 1 it did; 2 wrong flags, or the table is incomplete.
Ctrl-C prints what is known by then.
`

// ExitCode returns the exit code for an error of [Measurement.Run]. That ours
// has failed is certain, also in a table that is incomplete.
func ExitCode(err error) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, ErrOursFailed):
		return 1
	}
	return 2
}

// Run reads the flags, plays, and writes the tables.
func (m *Measurement) Run(ctx context.Context, args []string, out, diagnostics io.Writer) error {
	c, err := m.Parse(args, diagnostics)
	if err != nil {
		return err
	}
	r, err := m.Measure(ctx, c, &wholeLines{out: diagnostics})
	if err != nil {
		return err
	}
	return errors.Join(r.Write(out), r.Err())
}

// Measure builds the programs and plays all that was chosen.
func (m *Measurement) Measure(ctx context.Context, c *Choice, progress io.Writer) (r *Results, err error) {
	dir, err := os.MkdirTemp("", "measure-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	programs, problems := map[string]Program{}, map[string]error{}
	for _, s := range m.Helpers {
		if programs[s.Name], err = s.build(ctx, dir, "", progress); err != nil {
			return nil, err
		}
	}
	for _, s := range c.Subjects {
		programs[s.Name], problems[s.Name] = s.build(ctx, dir, c.Program, progress)
	}
	r = m.Results(c, problems)
	r.play(ctx, programs, progress)
	return r, nil
}

// wholeLines lets several goroutines write whole lines.
type wholeLines struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *wholeLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}
