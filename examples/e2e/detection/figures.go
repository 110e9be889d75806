package detection

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/process/htmlpage"
)

type (
	column = sidebyside.Column[scenario, outcome]
	row    = sidebyside.Figure[outcome]
)

// An outcome is what a play has come to.
type outcome struct {
	rest       readings
	restMemory int64 // resident at rest, in bytes; zero: not known
	// verdict is nil if none was possible. It is complete if the play was: else
	// what is missing may have come later.
	verdict  *verdict
	complete bool
	// cpu is the CPU time from the first death until the last pod had left, and
	// lasted the time that it is about.
	cpu, lasted time.Duration
	memory      int64 // the most that was resident, in bytes
	// calls are by verb and resource, over the same time.
	calls    map[string]int
	first    time.Time // when the first node died
	happened happenings
}

// parts is how many parts of the time at rest have figures of their own. They
// show how even the figures are.
const parts = 5

// readings are those at the beginning of the time at rest and after each part,
// as far as it got.
type readings []reading

// A reading is the CPU time that the subject has used, and the informers alone
// if they run beside it.
type reading struct {
	subject, informers time.Duration
	at                 time.Duration // since the beginning
	beats              int           // that were stored since then
}

// ends returns the first and the last reading.
func (r readings) ends() (first, last reading) {
	if len(r) > 0 {
		first, last = r[0], r[len(r)-1]
	}
	return first, last
}

// ratio returns the CPU time of the subject to that of the informers alone, as
// far as it is known, and false if it is not.
func (r readings) ratio() (float64, bool) {
	first, last := r.ends()
	mine, theirs := last.subject-first.subject, last.informers-first.informers
	return float64(mine) / float64(theirs), theirs > 0
}

// share returns how much of a core one side has used, in percent, and false if
// that is not known.
func share(used, of time.Duration) (float64, bool) {
	return 100 * used.Seconds() / of.Seconds(), used > 0
}

var (
	percent   = sidebyside.Format("%.1f %%")
	mebibytes = sidebyside.Format("%.0f MiB")
	ratios    = sidebyside.Format("%.3f")
)

// figures are the rows of the table of a scenario: delays, faults, costs, and
// API calls by verb and resource. At rest there are only costs.
func (o *options) figures(columns []*column) []row {
	if columns[0].Scenario.dying == nil {
		return append(restRows(), besideRows()...)
	}
	calls := map[string]int{}
	for _, c := range columns {
		for _, o := range c.Shown() {
			maps.Copy(calls, o.calls)
		}
	}
	list := slices.Concat(verdictRows(), restRows(), costRows())
	for _, call := range slices.Sorted(maps.Keys(calls)) {
		list = append(list, sidebyside.Number("API calls: "+call, sidebyside.Count,
			func(o *outcome) float64 { return float64(o.calls[call]) }))
	}
	return list
}

// verdictRows are delays and faults.
func verdictRows() []row {
	var list []row
	for _, d := range []struct {
		title string
		of    func(*verdict) delays
	}{
		{"Unknown", func(v *verdict) delays { return v.detected }},
		{"NoExecute taint", func(v *verdict) delays { return v.tainted }},
		{"pod evicted", func(v *verdict) delays { return v.evicted }},
	} {
		for _, q := range []struct {
			name  string
			share float64
		}{{"first", 0}, {"median", 0.5}, {"99 %", 0.99}, {"last", 1}} {
			list = append(list, row{
				Title: d.title + ", " + q.name, Format: sidebyside.Seconds, Main: q.share == 0.5,
				Of: func(o *outcome) (float64, bool) {
					delays := d.of(o.verdict)
					return delays.quantile(q.share).Seconds(), len(delays) > 0
				},
			})
		}
	}
	list = append(list, sidebyside.Number("pods evicted", sidebyside.Count,
		func(o *outcome) float64 { return float64(len(o.verdict.evicted)) }))
	for _, why := range []wrong{wrongLiving, wrongTolerant, wrongEarly} {
		list = append(list, faultRow(fmt.Sprintf("pods evicted wrongly: %s", why), true,
			func(v *verdict) int { return v.of(why) }))
	}
	return append(list,
		faultRow("living nodes declared", true, func(v *verdict) int { return v.declared }),
		faultRow("dead nodes missed", false, func(v *verdict) int { return v.missed }),
		faultRow("pods left that must leave", false, func(v *verdict) int { return v.left }))
}

// faultRow is a number of faults. Some are none yet if an interrupted subject
// has not done what it must.
func faultRow(title string, always bool, of func(*verdict) int) row {
	return row{
		Title: title, Format: sidebyside.Count, Fault: true,
		Of: func(o *outcome) (float64, bool) { return float64(of(o.verdict)), always || o.complete },
	}
}

// restRows are costs while nothing happens but heartbeats.
func restRows() []row {
	return []row{
		{Title: "CPU at rest, of a core", Format: percent, Main: true, Of: func(o *outcome) (float64, bool) {
			first, last := o.rest.ends()
			return share(last.subject-first.subject, last.at)
		}},
		{Title: "resident memory at rest", Format: mebibytes, Main: true, Of: func(o *outcome) (float64, bool) {
			return float64(o.restMemory) / (1 << 20), o.restMemory > 0
		}},
		{
			Title: "heartbeats stored a second, at rest", Format: sidebyside.Format("%.0f"),
			Of: func(o *outcome) (float64, bool) {
				_, last := o.rest.ends()
				return float64(last.beats) / last.at.Seconds(), last.at > 0
			},
		},
	}
}

// besideRows put the subject next to the informers alone.
func besideRows() []row {
	list := []row{
		{
			Title: "CPU of the same informers alone, beside it", Format: percent, Main: true,
			Of: func(o *outcome) (float64, bool) {
				first, last := o.rest.ends()
				return share(last.informers-first.informers, last.at)
			},
		},
		{
			Title: "its CPU time to theirs", Format: ratios, Main: true,
			Of: func(o *outcome) (float64, bool) { return o.rest.ratio() },
		},
	}
	for i := range parts {
		list = append(list, row{
			Title: fmt.Sprintf("its CPU time to theirs, part %d of %d", i+1, parts), Format: ratios,
			Of: func(o *outcome) (float64, bool) {
				if i+1 >= len(o.rest) {
					return 0, false
				}
				return o.rest[i : i+2].ratio()
			},
		})
	}
	return list
}

// costRows are costs from the first death to the last eviction.
func costRows() []row {
	list := []row{
		sidebyside.Number("CPU time in the outage", sidebyside.Format("%.2f s"),
			func(o *outcome) float64 { return o.cpu.Seconds() }),
		sidebyside.Number("the outage lasts", sidebyside.Seconds, func(o *outcome) float64 { return o.lasted.Seconds() }),
		sidebyside.Number("most resident memory", mebibytes,
			func(o *outcome) float64 { return float64(o.memory) / (1 << 20) }),
		sidebyside.Number("API calls in the outage", sidebyside.Count, func(o *outcome) (total float64) {
			for _, n := range o.calls {
				total += float64(n)
			}
			return total
		}),
	}
	for i := range list {
		list[i].Main = true
	}
	return list
}

// curves are what the page draws over time.
var curves = []struct {
	plot, name string
	line       string // what the timeline calls it; empty: it has no lines
	color      htmlpage.Color
}{
	{"Nodes", "dead", "node dies", htmlpage.ColorSilent},
	{"Nodes", "Unknown", "node Unknown", htmlpage.ColorNotReady},
	{"Nodes", "tainted NoExecute", "node tainted NoExecute", htmlpage.ColorTainted},
	{"Pods evicted so far", "evicted", "pod evicted", htmlpage.ColorEvicted},
	{"API calls a second", sent, "", htmlpage.ColorRate},
}

// sent is the curve that is a rate. The others are what has happened so far.
const sent = "sent"

// happenings are, by the name of the curve, the whole seconds after the first
// death by which something had happened.
type happenings map[string][]int

// newHappenings are those of a play, from the first death to the end.
func newHappenings(nodes []node, calls []controlplane.Request, first, end time.Time) happenings {
	h := happenings{}
	add := func(curve string, at time.Time) {
		if !at.IsZero() && !at.After(end) {
			h[curve] = append(h[curve], int((max(at.Sub(first), 0)+time.Second-1)/time.Second))
		}
	}
	for i := range nodes {
		n := &nodes[i]
		if !n.died.IsZero() {
			add("dead", n.died)
			add("Unknown", firstOf(n.Unknown))
			add("tainted NoExecute", firstOf(n.Tainted))
		}
		for _, p := range n.pods {
			add("evicted", p.evicted)
		}
	}
	for i := range calls {
		add(sent, calls[i].Received)
	}
	return h
}

// values returns a curve with so many points, one a second.
func (h happenings) values(curve string, points int) []int {
	values := make([]int, points)
	for _, second := range h[curve] {
		values[second]++
	}
	if curve != sent {
		for i := range values[1:] {
			values[i+1] += values[i]
		}
	}
	return values
}

// chart returns timelines and plots of the first repetition, from the first
// death. There are none of scenarios in which no node dies.
func chart(columns []*column) (runs []htmlpage.Run, plots []htmlpage.Plot) {
	columns = slices.DeleteFunc(slices.Clone(columns), func(c *column) bool {
		return len(c.Shown()) == 0 || c.Scenario.dying == nil
	})
	var at []float64
	for _, c := range columns {
		for len(at) < int(c.Shown()[0].lasted/time.Second)+2 { // the last one is not before the end
			at = append(at, float64(len(at)))
		}
	}
	subjects := distinct(columns, func(c *column) string { return c.Subject.Title })
	for _, subject := range subjects {
		run := htmlpage.Run{Name: subject, Duration: time.Duration(len(at)-1) * time.Second, At: at}
		for _, c := range columns {
			if c.Subject.Title == subject {
				run.Lines = append(run.Lines, lines(c)...)
			}
		}
		runs = append(runs, run)
	}
	for _, s := range distinct(columns, func(c *column) string { return c.Scenario.name }) {
		of := map[string]*outcome{}
		for _, c := range columns {
			if c.Scenario.name == s {
				of[c.Subject.Title] = c.Shown()[0]
			}
		}
		plots = append(plots, plotsOf(s, subjects, of, len(at))...)
	}
	return runs, plots
}

// distinct returns each name once, in order.
func distinct(columns []*column, name func(*column) string) (names []string) {
	for _, c := range columns {
		if !slices.Contains(names, name(c)) {
			names = append(names, name(c))
		}
	}
	return names
}

// plotsOf draws what the subjects have come to in a scenario.
func plotsOf(scenario string, subjects []string, of map[string]*outcome, points int) (plots []htmlpage.Plot) {
	for i, c := range curves {
		curve := htmlpage.Curve{Name: c.name, Color: c.color, State: c.name != sent}
		for _, subject := range subjects {
			values := []int{}
			if o := of[subject]; o != nil {
				values = o.happened.values(c.name, points)
			}
			curve.Values = append(curve.Values, values)
		}
		if i == 0 || curves[i-1].plot != c.plot {
			plots = append(plots, htmlpage.Plot{Title: c.plot + ", " + scenario})
		}
		plot := &plots[len(plots)-1]
		plot.Lines = append(plot.Lines, curve)
	}
	return plots
}

// lines say when what happened first and last in the first repetition.
func lines(c *column) []htmlpage.Line {
	o := c.Shown()[0]
	var lines []htmlpage.Line
	for _, of := range curves {
		if seconds := o.happened[of.name]; of.line != "" && len(seconds) > 0 {
			add := func(which string, second int) {
				lines = append(lines, htmlpage.Line{
					At: time.Duration(second) * time.Second, Subject: c.Scenario.name, Text: which + of.line,
				})
			}
			add("the first ", slices.Min(seconds))
			add("the last ", slices.Max(seconds))
		}
	}
	for _, f := range o.verdict.faults {
		lines = append(lines, htmlpage.Line{
			At: max(f.at.Sub(o.first), 0), Subject: f.pod, Text: "evicted wrongly: " + string(f.why),
		})
	}
	slices.SortStableFunc(lines, func(a, b htmlpage.Line) int { return cmp.Compare(a.At, b.At) })
	return lines
}
