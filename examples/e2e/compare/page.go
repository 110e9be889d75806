package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/process/htmlpage"
)

// page returns the tables, and plots of the first repetition. It returns nil if
// no play has a verdict.
func (r *results) page() *htmlpage.Page {
	p := &htmlpage.Page{
		Name: "examples/nodelifecycle and kube-controller-manager v1.37.1", About: "compare",
		Intro: fmt.Sprintf("%s nodes with %s pods on a real API server, %d API calls a second.",
			sidebyside.Thousands(r.nodes), sidebyside.Thousands(r.pods), qps),
		Description: strings.ReplaceAll(legend, "\n", " ") +
			"The plots and timelines show the first repetition, from the first death.",
		Summary: []htmlpage.Table{r.table("Comparison in short", true)},
		Tables:  []htmlpage.Table{r.table("Comparison", false)},
		Program: "compare", Whole: "The table on standard output has all.",
	}
	length := r.length()
	at := make([]float64, length)
	for i := range at {
		at[i] = float64(i)
	}
	var plots plots
	for _, s := range r.subjects {
		run := htmlpage.Run{Name: s.title, Duration: time.Duration(max(length-1, 0)) * time.Second, At: at}
		played := false
		for _, c := range r.columns {
			if c.subject.name == s.name && len(c.shown()) > 0 {
				played = true
				run.Lines = append(run.Lines, c.lines()...)
			}
		}
		if played {
			p.Runs = append(p.Runs, run)
			plots.subjects = append(plots.subjects, s)
		}
	}
	if len(p.Runs) == 0 {
		return nil
	}
	p.Plots = plots.of(r, length)
	return p
}

// length is how many points the plots have.
func (r *results) length() (n int) {
	for _, c := range r.columns {
		if len(c.shown()) > 0 {
			n = max(n, len(c.shown()[0].series.dead))
		}
	}
	return n
}

// table has the rows of all tables, or of each the main ones. What is wrong
// stands out.
func (r *results) table(title string, short bool) htmlpage.Table {
	t := htmlpage.Table{Title: title, Header: []string{""}}
	for _, s := range r.subjects {
		t.Header = append(t.Header, s.title)
	}
	var notes sidebyside.Notes
	for _, s := range r.scenarios {
		t.Rows = append(t.Rows, htmlpage.Row{Cells: []string{s.title(r.options)}})
		columns := r.of(s)
		for _, row := range rows(columns) {
			if short && !row.main && !row.fault {
				continue
			}
			line := htmlpage.Row{Cells: []string{row.title}}
			for i := range columns {
				c := &columns[i]
				if row.fault && row.spread(c).Most > 0 {
					line.Wrong = append(line.Wrong, len(line.Cells))
				}
				line.Cells = append(line.Cells, strings.ReplaceAll(row.cell(c, &notes), "**", ""))
			}
			t.Rows = append(t.Rows, line)
		}
	}
	t.Left = strings.Join(notes, "; ")
	return t
}

// lines say when what happened first and last in the first repetition.
func (c *column) lines() []htmlpage.Line {
	v := c.shown()[0].verdict
	var lines []htmlpage.Line
	for _, of := range []struct {
		what   string
		counts []int
	}{
		{"node dies", c.shown()[0].series.dead}, {"node Unknown", c.shown()[0].series.unknown},
		{"node tainted NoExecute", c.shown()[0].series.tainted}, {"pod evicted", c.shown()[0].series.evicted},
	} {
		first, last := firstAndLast(of.counts)
		if last < 0 {
			continue
		}
		lines = append(lines,
			htmlpage.Line{At: at(first), Subject: c.scenario.name, Text: "the first " + of.what},
			htmlpage.Line{At: at(last), Subject: c.scenario.name, Text: "the last " + of.what})
	}
	for i := range v.Faults {
		f := &v.Faults[i]
		lines = append(lines, htmlpage.Line{
			At: max(f.At.Sub(c.shown()[0].first), 0), Subject: f.Pod, Text: "evicted wrongly: " + string(f.Why),
		})
	}
	slices.SortStableFunc(lines, func(a, b htmlpage.Line) int { return cmp.Compare(a.At, b.At) })
	return lines
}

func at(second int) time.Duration { return time.Duration(second) * time.Second }

// firstAndLast returns the points at which counts begin and stop to grow. Last
// is negative if they never grow.
func firstAndLast(counts []int) (first, last int) {
	first, last = -1, -1
	before := 0
	for i, n := range counts {
		if n > before {
			if first < 0 {
				first = i
			}
			last = i
		}
		before = n
	}
	return first, last
}

// plots are made for the subjects that have played, in their order.
type plots struct{ subjects []subject }

// of returns the plots of all scenarios.
func (p plots) of(r *results, length int) []htmlpage.Plot {
	var drawn []htmlpage.Plot
	for _, s := range r.scenarios {
		curve := func(name string, color htmlpage.Color, state bool, of func(*outcome) []int) htmlpage.Curve {
			c := htmlpage.Curve{Name: name, Color: color, State: state}
			for _, subject := range p.subjects {
				c.Values = append(c.Values, r.values(s, subject, length, state, of))
			}
			return c
		}
		drawn = append(drawn,
			htmlpage.Plot{Title: "Nodes, " + s.name, Lines: []htmlpage.Curve{
				curve("dead", htmlpage.ColorSilent, true, func(o *outcome) []int { return o.series.dead }),
				curve("Unknown", htmlpage.ColorNotReady, true, func(o *outcome) []int { return o.series.unknown }),
				curve("tainted NoExecute", htmlpage.ColorTainted, true,
					func(o *outcome) []int { return o.series.tainted }),
			}},
			htmlpage.Plot{Title: "Pods evicted so far, " + s.name, Lines: []htmlpage.Curve{
				curve("evicted", htmlpage.ColorEvicted, true, func(o *outcome) []int { return o.series.evicted }),
			}},
			htmlpage.Plot{Title: "API calls a second, " + s.name, Lines: []htmlpage.Curve{
				curve("sent", htmlpage.ColorRate, false, func(o *outcome) []int { return o.series.calls }),
			}})
	}
	return drawn
}

// values are those of the first repetition. What is a state stays as it is
// after the end, and what is a rate is zero then.
func (r *results) values(
	s scenario, of subject, length int, state bool, counts func(*outcome) []int,
) []int {
	for _, c := range r.columns {
		if c.scenario.name == s.name && c.subject.name == of.name && len(c.shown()) > 0 {
			values, after := counts(&c.shown()[0]), 0
			if state && len(values) > 0 {
				after = values[len(values)-1]
			}
			return extended(values, length, after)
		}
	}
	return []int{}
}
