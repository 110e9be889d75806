// Package page writes what a run came to as one HTML file: plots over time, the
// timeline and the tables.
//
//	runs := []page.Run{{Document: document}}
//	err := page.Write(file, &page.Page{Name: "zone-loss", Runs: runs})
//
// Package htmlpage says what such a file is. Two runs, as of a comparison, are
// plotted on the same axes.
//
// However large the cluster and long the run, the file has at most [MostBytes].
// What is beyond the limits is left out, and the page says how much. The JSON
// of package report has all.
package page

import (
	"fmt"
	"io"

	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/process/htmlpage"
)

// MostBytes is how large a page is at most. One of a scenario that ships has a
// twentieth to an eighth of it.
const MostBytes = 2 << 20

// Page is what to write.
type Page struct {
	// Name and Description are those of the scenario, Intro what is played.
	Name, Description, Intro string
	// Runs are one or two.
	Runs []Run
	// Comparison is that of two complete runs. Without it each has its own table.
	Comparison *report.Comparison
	// Warning says why runs that were to be compared are not, empty if they are.
	Warning string
}

// Run is one run of the scenario.
type Run struct {
	// Name tells two runs apart: as given, changed.
	Name     string
	Document *report.Document
}

// Write writes a page. The same page gives the same bytes.
func Write(out io.Writer, p *Page) error {
	html := &htmlpage.Page{
		Name: p.Name, About: "what happens in an outage", Intro: p.Intro, Description: p.Description,
		Warning: p.Warning, Program: "outage --html", Whole: "--json has all.",
	}
	for i := range p.Runs {
		html.Runs = append(html.Runs, newRun(&p.Runs[i]))
		html.Notes = p.Runs[i].Document.Notes // all runs are of one cluster
		if p.Comparison == nil {
			html.Summary = append(html.Summary, newSummary(&p.Runs[i]))
		}
	}
	if p.Comparison != nil {
		html.Summary = []htmlpage.Table{newTable("Summary, both runs", p.Comparison.ClusterRows())}
		if rows := p.Comparison.ZoneRows(); len(rows) > 1 {
			html.Tables = []htmlpage.Table{newTable("Zones, both runs", rows)}
		}
	}
	html.Plots, html.PlotsLeft = newPlots(p.Runs)
	return htmlpage.Write(out, html)
}

func newRun(r *Run) htmlpage.Run {
	d := r.Document
	run := htmlpage.Run{Name: r.Name, Settings: d.Settings, Duration: d.Duration.D(), Verdicts: newVerdicts(r)}
	if d.Reached < d.Duration {
		run.Stopped = d.Reached.D()
	}
	for _, at := range d.Series.At {
		run.At = append(run.At, float64(at))
	}
	for i := range d.Timeline {
		line := &d.Timeline[i]
		run.Lines = append(run.Lines, htmlpage.Line{At: line.At.D(), Subject: line.Subject(), Text: line.Text})
	}
	if len(d.Expectations) > 0 {
		run.Tables = append(run.Tables, newExpectations(r))
	}
	run.Findings = newFindings(r)
	return run
}

// titled returns a title with the name of the run.
func titled(title string, r *Run) string {
	if r.Name == "" {
		return title
	}
	return title + ", " + r.Name
}

func newSummary(r *Run) htmlpage.Table {
	rows, left := r.Document.Summary.Rows()
	t := newTable(titled("Summary", r), rows)
	if left > 0 {
		t.Left = report.Some(left, "zone") + " not shown"
	}
	return t
}

// newTable makes a table of rows, the first of which is its header.
func newTable(title string, rows [][]string) htmlpage.Table {
	t := htmlpage.Table{Title: title, Header: rows[0]}
	for _, row := range rows[1:] {
		t.Rows = append(t.Rows, htmlpage.Row{Cells: row})
	}
	return t
}

const expected = "What the scenario expects"

func newExpectations(r *Run) htmlpage.Table {
	t := htmlpage.Table{
		Title: titled(expected, r), Header: []string{"expectation", "expected", "came out", "met"},
	}
	for i := range r.Document.Expectations {
		e := &r.Document.Expectations[i]
		row := htmlpage.Row{Cells: []string{e.Path, e.Want, e.Got, "yes"}}
		if !e.Met {
			row.Cells[3], row.Wrong = "NO", []int{0, 2, 3}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// newVerdicts says in short what the tables and lists below say in full.
func newVerdicts(r *Run) []htmlpage.Verdict {
	d, of := r.Document, "."
	if r.Name != "" {
		of = " (" + r.Name + ")."
	}
	var all []htmlpage.Verdict
	if n := len(d.Expectations); n > 0 {
		v := htmlpage.Verdict{Text: fmt.Sprintf("All %d results are as the scenario expects%s", n, of)}
		if unmet := len(d.Unmet()); unmet > 0 {
			v.Text, v.Wrong = fmt.Sprintf("%d of %d results are not as the scenario expects%s", unmet, n, of), true
		}
		all = append(all, v)
	}
	if d.Checked {
		v := htmlpage.Verdict{Text: held + of}
		if n := len(d.Violations); n > 0 {
			v.Text, v.Wrong = fmt.Sprintf("Invariants did not hold, %s%s", report.Some(n, "time"), of), true
		}
		all = append(all, v)
	}
	return all
}

const held = "Every invariant held"

func newFindings(r *Run) []htmlpage.Findings {
	var all []htmlpage.Findings
	if r.Document.ExpectationsSkipped {
		all = append(all, htmlpage.Findings{
			Title: titled(expected, r), None: "It was not compared: the settings change what must come out.",
		})
	}
	if r.Document.Checked {
		f := htmlpage.Findings{Title: titled("Invariants", r), None: held + "."}
		for i := range r.Document.Violations {
			v := &r.Document.Violations[i]
			f.Lines = append(f.Lines, htmlpage.Line{At: v.At.D(), Subject: v.Invariant, Text: v.Text})
		}
		all = append(all, f)
	}
	return all
}
