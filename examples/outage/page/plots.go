package page

import (
	"fmt"
	"slices"

	"github.com/kubelife/lifecycle/examples/outage/report"
)

// plots are what the script draws: for each plot its lines, for each run their
// values.
type plots struct {
	// Runs are the names of the runs, and At the times of their points.
	Runs []string           `json:"runs"`
	At   [][]report.Seconds `json:"at"`
	// Duration is that of the longest run.
	Duration report.Seconds `json:"duration"`
	Plots    []plot         `json:"plots"`
	// Left is how many zones have no plots.
	Left int `json:"left"`
}

// plot is one pair of axes.
type plot struct {
	Title string `json:"title"`
	Lines []line `json:"lines"`
}

// line is one number over time.
type line struct {
	Name string `json:"name"`
	// Color is the name of one of the colors of page.css.
	Color string `json:"color"`
	// State says that values are as at the point. Others are of the time before.
	State bool `json:"state"`
	// Values are those of each run, empty where a run has none. They are numbers,
	// with fractions in limits and rates alone.
	Values []any `json:"values"`
}

// numbers are what a line is made of.
type numbers interface{ []int | []float64 }

// newPlots chooses what is drawn: the cluster, and each zone that has a column
// in the table of one of the runs.
func newPlots(runs []Run) plots {
	p := plots{}
	var zones []string
	all := map[string]bool{}
	for i := range runs {
		d := runs[i].Document
		p.Runs = append(p.Runs, runs[i].Name)
		p.At = append(p.At, d.Series.At)
		p.Duration = max(p.Duration, d.Duration)
		for _, z := range d.Series.Zones {
			all[z.Name] = true
		}
		for _, name := range d.Summary.Shown() {
			if !slices.Contains(zones, name) {
				zones = append(zones, name)
			}
		}
	}
	zones = zones[:min(len(zones), mostZones)]
	p.Left = len(all) - len(zones)
	p.cluster(runs)
	for _, name := range zones {
		p.zone(runs, name)
	}
	return p
}

// mostZones is how many zones have plots, of both runs together.
const mostZones = 8

func (p *plots) cluster(runs []Run) {
	if len(runs[0].Document.Series.Zones) != 1 {
		p.nodes("Nodes by state, cluster", each(runs, total))
	}
	sums := each(runs, total)
	p.add("Pods, cluster",
		lineOf("waiting to leave", "waiting", sums, func(z *report.ZoneSeries) []int { return z.Waiting }),
		lineOf("kept by a budget", "blocked", sums, func(z *report.ZoneSeries) []int { return z.Blocked }),
		lineOf("evicted so far", "evicted", sums, func(z *report.ZoneSeries) []int { return z.Evicted }))
	series := each(runs, func(s *report.Series) *report.Series { return s })
	p.add("API calls a second",
		lineOf("sent", "rate", series, func(s *report.Series) []float64 { return s.Calls }),
		lineOf("limit", "limit", series, func(s *report.Series) []float64 {
			return slices.Repeat([]float64{s.CallLimit}, len(s.At))
		}))
}

func (p *plots) zone(runs []Run, name string) {
	zones := each(runs, func(s *report.Series) *report.ZoneSeries {
		if i := slices.IndexFunc(s.Zones, func(z report.ZoneSeries) bool { return z.Name == name }); i >= 0 {
			return &s.Zones[i]
		}
		return &report.ZoneSeries{}
	})
	title := "zone " + clip(name, longestCell)
	p.nodes(fmt.Sprintf("Nodes by state, %s", title), zones)
	p.add(fmt.Sprintf("NoExecute taints in a minute, %s", title),
		lineOf("tainted", "rate", zones, func(z *report.ZoneSeries) []int { return z.Tainting }),
		lineOf("allowed by its rate", "limit", zones, func(z *report.ZoneSeries) []float64 { return z.Limit }))
}

func (p *plots) nodes(title string, zones []*report.ZoneSeries) {
	p.add(title,
		lineOf("ready", "ready", zones, func(z *report.ZoneSeries) []int { return z.Ready }),
		lineOf("silent, not noticed", "silent", zones, func(z *report.ZoneSeries) []int { return z.Silent }),
		lineOf("not ready", "notready", zones, func(z *report.ZoneSeries) []int { return z.NotReady }),
		lineOf("tainted NoExecute", "tainted", zones, func(z *report.ZoneSeries) []int { return z.Tainted }))
}

func (p *plots) add(title string, lines ...line) {
	p.Plots = append(p.Plots, plot{Title: title, Lines: lines})
}

// each returns something of the series of each run.
func each[S any](runs []Run, of func(*report.Series) S) []S {
	var list []S
	for i := range runs {
		list = append(list, of(&runs[i].Document.Series))
	}
	return list
}

// stateColors are those of the lines that are as at the point.
var stateColors = []string{"ready", "silent", "notready", "tainted", "evicted"}

func lineOf[S any, N numbers](name, color string, runs []S, values func(S) N) line {
	l := line{Name: name, Color: color, State: slices.Contains(stateColors, color)}
	for _, s := range runs {
		l.Values = append(l.Values, values(s))
	}
	return l
}

// total adds up the zones of a run.
func total(s *report.Series) *report.ZoneSeries {
	none := func() []int { return make([]int, len(s.At)) }
	sum := &report.ZoneSeries{
		Ready: none(), Silent: none(), NotReady: none(), Tainted: none(),
		Waiting: none(), Blocked: none(), Evicted: none(),
	}
	for i := range s.Zones {
		z := &s.Zones[i]
		for at := range s.At {
			sum.Ready[at] += z.Ready[at]
			sum.Silent[at] += z.Silent[at]
			sum.NotReady[at] += z.NotReady[at]
			sum.Tainted[at] += z.Tainted[at]
			sum.Waiting[at] += z.Waiting[at]
			sum.Blocked[at] += z.Blocked[at]
			sum.Evicted[at] += z.Evicted[at]
		}
	}
	return sum
}
