package detection

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/process/htmlpage"
)

type column = sidebyside.Column[scenario, outcome]

// chart returns timelines and plots of the first repetition, from the first
// death. There are none of scenarios in which no node dies.
func chart(columns []*column) ([]htmlpage.Run, []htmlpage.Plot) {
	var p plots
	for _, c := range columns {
		if len(c.Shown()) == 0 || c.Scenario.act == nil {
			continue
		}
		p.columns = append(p.columns, c)
		p.length = max(p.length, len(first(c).series.dead))
		if !slices.Contains(p.subjects, c.Subject.Title) {
			p.subjects = append(p.subjects, c.Subject.Title)
		}
		if !slices.Contains(p.scenarios, c.Scenario.name) {
			p.scenarios = append(p.scenarios, c.Scenario.name)
		}
	}
	at := make([]float64, p.length)
	for i := range at {
		at[i] = float64(i)
	}
	var runs []htmlpage.Run
	for _, subject := range p.subjects {
		run := htmlpage.Run{Name: subject, Duration: time.Duration(max(p.length-1, 0)) * time.Second, At: at}
		for _, c := range p.columns {
			if c.Subject.Title == subject {
				run.Lines = append(run.Lines, lines(c)...)
			}
		}
		runs = append(runs, run)
	}
	return runs, p.drawn()
}

// first returns the outcome of the first repetition.
func first(c *column) *outcome { return c.Shown()[0] }

// lines say when what happened first and last in the first repetition.
func lines(c *column) []htmlpage.Line {
	o := first(c)
	var lines []htmlpage.Line
	for _, of := range []struct {
		what   string
		counts []int
	}{
		{"node dies", o.series.dead}, {"node Unknown", o.series.unknown},
		{"node tainted NoExecute", o.series.tainted}, {"pod evicted", o.series.evicted},
	} {
		begin, last := firstAndLast(of.counts)
		if last < 0 {
			continue
		}
		lines = append(lines,
			htmlpage.Line{At: at(begin), Subject: c.Scenario.name, Text: "the first " + of.what},
			htmlpage.Line{At: at(last), Subject: c.Scenario.name, Text: "the last " + of.what})
	}
	for i := range o.verdict.Faults {
		f := &o.verdict.Faults[i]
		lines = append(lines, htmlpage.Line{
			At: max(f.At.Sub(o.first), 0), Subject: f.Pod, Text: "evicted wrongly: " + string(f.Why),
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

// plots are made of the columns with an outcome, for each subject in its order.
type plots struct {
	columns             []*column
	subjects, scenarios []string
	length              int // how many points they have
}

// drawn returns the plots of all scenarios.
func (p plots) drawn() []htmlpage.Plot {
	var drawn []htmlpage.Plot
	for _, s := range p.scenarios {
		curve := func(name string, color htmlpage.Color, state bool, of func(*outcome) []int) htmlpage.Curve {
			c := htmlpage.Curve{Name: name, Color: color, State: state}
			for _, subject := range p.subjects {
				c.Values = append(c.Values, p.values(s, subject, state, of))
			}
			return c
		}
		drawn = append(drawn,
			htmlpage.Plot{Title: "Nodes, " + s, Lines: []htmlpage.Curve{
				curve("dead", htmlpage.ColorSilent, true, func(o *outcome) []int { return o.series.dead }),
				curve("Unknown", htmlpage.ColorNotReady, true, func(o *outcome) []int { return o.series.unknown }),
				curve("tainted NoExecute", htmlpage.ColorTainted, true,
					func(o *outcome) []int { return o.series.tainted }),
			}},
			htmlpage.Plot{Title: "Pods evicted so far, " + s, Lines: []htmlpage.Curve{
				curve("evicted", htmlpage.ColorEvicted, true, func(o *outcome) []int { return o.series.evicted }),
			}},
			htmlpage.Plot{Title: "API calls a second, " + s, Lines: []htmlpage.Curve{
				curve("sent", htmlpage.ColorRate, false, func(o *outcome) []int { return o.series.calls }),
			}})
	}
	return drawn
}

// values are those of the first repetition. What is a state stays as it is
// after the end, and what is a rate is zero then.
func (p plots) values(scenario, subject string, state bool, counts func(*outcome) []int) []int {
	for _, c := range p.columns {
		if c.Scenario.name == scenario && c.Subject.Title == subject {
			values, after := counts(first(c)), 0
			if state && len(values) > 0 {
				after = values[len(values)-1]
			}
			return extended(values, p.length, after)
		}
	}
	return []int{}
}
