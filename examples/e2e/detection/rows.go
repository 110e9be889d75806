package detection

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/detection/judge"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

type row = sidebyside.Figure[outcome]

// figures are the rows of the table of a scenario: delays, faults, costs, and
// API calls by verb and resource. At rest there are only costs.
func (o *options) figures(columns []*sidebyside.Column[scenario, outcome]) []row {
	if columns[0].Scenario.act == nil {
		return append(restRows(), besideRows()...)
	}
	list := delayRows("Unknown", func(v *judge.Verdict) judge.Delays { return v.Detected })
	list = append(list, delayRows("NoExecute taint", func(v *judge.Verdict) judge.Delays { return v.Tainted })...)
	list = append(list, delayRows("pod evicted", func(v *judge.Verdict) judge.Delays { return v.Evicted })...)
	list = append(list, sidebyside.Number("pods evicted", sidebyside.Count,
		func(o *outcome) float64 { return float64(len(o.verdict.Evicted)) }))
	list = append(list, faultRows()...)
	list = append(list, restRows()...)
	list = append(list, costRows()...)
	for _, call := range callsOf(columns) {
		list = append(list, sidebyside.Number("API calls: "+call, sidebyside.Count,
			func(o *outcome) float64 { return float64(o.calls[call]) }))
	}
	return list
}

func delayRows(title string, of func(*judge.Verdict) judge.Delays) []row {
	var list []row
	for _, q := range []struct {
		name  string
		share float64
	}{{"first", 0}, {"median", 0.5}, {"99 %", 0.99}, {"last", 1}} {
		list = append(list, row{
			Title: title + ", " + q.name, Format: sidebyside.Seconds, Main: q.share == 0.5,
			Of: func(o *outcome) (float64, bool) {
				delays := of(&o.verdict)
				return delays.Quantile(q.share).Seconds(), len(delays) > 0
			},
		})
	}
	return list
}

func faultRows() []row {
	var list []row
	// What an interrupted subject has not done is no fault yet.
	add := func(title string, always bool, of func(*judge.Verdict) int) {
		list = append(list, row{
			Title: title, Format: sidebyside.Count, Fault: true,
			Of: func(o *outcome) (float64, bool) { return float64(of(&o.verdict)), always || o.complete },
		})
	}
	for _, why := range []judge.Wrong{judge.WrongLiving, judge.WrongTolerant, judge.WrongEarly} {
		add(fmt.Sprintf("pods evicted wrongly: %s", why), true, func(v *judge.Verdict) int { return v.Of(why) })
	}
	add("living nodes declared", true, func(v *judge.Verdict) int { return v.Declared })
	add("dead nodes missed", false, func(v *judge.Verdict) int { return v.Missed })
	add("pods left that must leave", false, func(v *judge.Verdict) int { return v.Left })
	return list
}

var (
	percent   = sidebyside.Format("%.1f %%")
	mebibytes = sidebyside.Format("%.0f MiB")
)

// restRows are costs while nothing happens but heartbeats.
func restRows() []row {
	return []row{
		{Title: "CPU at rest, of a core", Format: percent, Main: true, Of: func(o *outcome) (float64, bool) {
			return o.rest.share(func(r reading) time.Duration { return r.subject })
		}},
		{Title: "resident memory at rest", Format: mebibytes, Main: true, Of: func(o *outcome) (float64, bool) {
			return float64(o.rest.memory) / (1 << 20), o.rest.memory > 0
		}},
		{
			Title: "heartbeats stored a second, at rest", Format: sidebyside.Format("%.0f"),
			Of: func(o *outcome) (float64, bool) {
				return float64(o.rest.beats) / o.rest.took.Seconds(), o.rest.took > 0
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
				return o.rest.share(func(r reading) time.Duration { return r.informers })
			},
		},
		{
			Title: "its CPU time to theirs", Format: sidebyside.Format("%.3f"), Main: true,
			Of: func(o *outcome) (float64, bool) { return o.rest.ratio(0, parts) },
		},
	}
	for i := range parts {
		list = append(list, row{
			Title: fmt.Sprintf("its CPU time to theirs, part %d of %d", i+1, parts), Format: sidebyside.Format("%.3f"),
			Of: func(o *outcome) (float64, bool) {
				if o.rest.known(i+1) != i+1 {
					return 0, false
				}
				return o.rest.ratio(i, i+1)
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
		sidebyside.Number("API calls in the outage", sidebyside.Count, func(o *outcome) float64 {
			total := 0
			for _, n := range o.calls {
				total += n
			}
			return float64(total)
		}),
	}
	for i := range list {
		list[i].Main = true
	}
	return list
}

// callsOf returns the calls that any play has sent, in order.
func callsOf(columns []*sidebyside.Column[scenario, outcome]) []string {
	all := map[string]bool{}
	for _, c := range columns {
		for _, o := range c.Shown() {
			for call := range o.calls {
				all[call] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}
