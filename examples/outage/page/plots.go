package page

import (
	"fmt"
	"slices"

	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/process/htmlpage"
)

// plots collects what is drawn.
type plots []htmlpage.Plot

// numbers are what a line is made of.
type numbers interface{ []int | []float64 }

// newPlots chooses what is drawn: the cluster, and each zone that has a column
// in the table of one of the runs. Left says what is not.
func newPlots(runs []Run) (drawn []htmlpage.Plot, left string) {
	if len(runs) == 0 {
		return nil, ""
	}
	var p plots
	var zones []string
	all := map[string]bool{}
	for i := range runs {
		d := runs[i].Document
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
	p.cluster(runs)
	for _, name := range zones {
		p.zone(runs, name)
	}
	if more := len(all) - len(zones); more > 0 {
		left = report.Some(more, "more zone") + " without plots; --json has all."
	}
	return p, left
}

// mostZones is how many zones have plots, of both runs together.
const mostZones = 8

// longestZone is how many characters of the name of a zone a title has.
const longestZone = 64

func (p *plots) cluster(runs []Run) {
	if len(runs[0].Document.Series.Zones) != 1 {
		p.nodes("Nodes by state, cluster", each(runs, total))
	}
	sums := each(runs, total)
	p.add("Pods, cluster",
		lineOf("waiting to leave", htmlpage.ColorWaiting, sums, func(z *report.ZoneSeries) []int { return z.Waiting }),
		lineOf("kept by a budget", htmlpage.ColorBlocked, sums, func(z *report.ZoneSeries) []int { return z.Blocked }),
		lineOf("evicted so far", htmlpage.ColorEvicted, sums, func(z *report.ZoneSeries) []int { return z.Evicted }))
	series := each(runs, func(s *report.Series) *report.Series { return s })
	p.add("API calls a second",
		lineOf("sent", htmlpage.ColorRate, series, func(s *report.Series) []float64 { return s.Calls }),
		lineOf("limit", htmlpage.ColorLimit, series, func(s *report.Series) []float64 {
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
	title := "zone " + htmlpage.Clip(name, longestZone)
	p.nodes(fmt.Sprintf("Nodes by state, %s", title), zones)
	p.add(fmt.Sprintf("NoExecute taints in a minute, %s", title),
		lineOf("tainted", htmlpage.ColorRate, zones, func(z *report.ZoneSeries) []int { return z.Tainting }),
		lineOf("allowed by its rate", htmlpage.ColorLimit, zones, func(z *report.ZoneSeries) []float64 { return z.Limit }))
}

func (p *plots) nodes(title string, zones []*report.ZoneSeries) {
	p.add(title,
		lineOf("ready", htmlpage.ColorReady, zones, func(z *report.ZoneSeries) []int { return z.Ready }),
		lineOf("silent, not noticed", htmlpage.ColorSilent, zones, func(z *report.ZoneSeries) []int { return z.Silent }),
		lineOf("not ready", htmlpage.ColorNotReady, zones, func(z *report.ZoneSeries) []int { return z.NotReady }),
		lineOf("tainted NoExecute", htmlpage.ColorTainted, zones, func(z *report.ZoneSeries) []int { return z.Tainted }))
}

func (p *plots) add(title string, lines ...htmlpage.Curve) {
	*p = append(*p, htmlpage.Plot{Title: title, Lines: lines})
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
var stateColors = []htmlpage.Color{
	htmlpage.ColorReady, htmlpage.ColorSilent, htmlpage.ColorNotReady, htmlpage.ColorTainted, htmlpage.ColorEvicted,
}

func lineOf[S any, N numbers](name string, color htmlpage.Color, runs []S, values func(S) N) htmlpage.Curve {
	l := htmlpage.Curve{Name: name, Color: color, State: slices.Contains(stateColors, color)}
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
