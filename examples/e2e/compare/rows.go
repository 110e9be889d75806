package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubelife/lifecycle/examples/e2e/compare/judge"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// A row shows a figure of each column.
type row struct {
	title string
	// show writes a value of the figure.
	show func(float64) string
	// of returns the figure of a play, and false if it has none.
	of func(*outcome) (float64, bool)
	// fault says that the figure must be zero.
	fault bool
	// main says that the short table has it too, as it has all faults.
	main bool
	// text replaces all of it, for what is no number.
	text func(*column) string
}

func seconds(v float64) string { return fmt.Sprintf("%.1f s", v) }
func count(v float64) string   { return sidebyside.Thousands(int(v + 0.5)) }

// rows are those of the table of a scenario: delays, faults, costs, and API
// calls by verb and resource.
func rows(columns []column) []row {
	list := []row{
		{title: "repetitions", text: func(c *column) string { return fmt.Sprint(len(c.outcomes)) }},
		{title: "played again, because living nodes were silent", text: func(c *column) string {
			return fmt.Sprint(c.disturbed)
		}},
	}
	list = append(list, delayRows("Unknown", func(v *judge.Verdict) judge.Delays { return v.Detected })...)
	list = append(list, delayRows("NoExecute taint", func(v *judge.Verdict) judge.Delays { return v.Tainted })...)
	list = append(list, delayRows("pod evicted", func(v *judge.Verdict) judge.Delays { return v.Evicted })...)
	list = append(list, number("pods evicted", count, func(o *outcome) float64 { return float64(len(o.verdict.Evicted)) }))
	list = append(list, faultRows()...)
	list = append(list, costRows()...)
	for _, call := range callsOf(columns) {
		list = append(list, number("API calls: "+call, count, func(o *outcome) float64 { return float64(o.calls[call]) }))
	}
	return append(list, row{title: "load average before", text: func(c *column) string {
		var loads []string
		for _, o := range c.shown() {
			loads = append(loads, o.load)
		}
		return strings.Join(loads, ", ")
	}})
}

// number is the row of a figure that each play has.
func number(title string, show func(float64) string, of func(*outcome) float64) row {
	return row{title: title, show: show, of: func(o *outcome) (float64, bool) { return of(o), true }}
}

func delayRows(title string, of func(*judge.Verdict) judge.Delays) []row {
	var list []row
	for _, q := range []struct {
		name  string
		share float64
	}{{"first", 0}, {"median", 0.5}, {"99 %", 0.99}, {"last", 1}} {
		list = append(list, row{
			title: title + ", " + q.name, show: seconds, main: q.share == 0.5,
			of: func(o *outcome) (float64, bool) {
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
		list = append(list, row{title: title, show: count, fault: true, of: func(o *outcome) (float64, bool) {
			return float64(of(&o.verdict)), always || o.complete
		}})
	}
	for _, why := range []judge.Wrong{judge.WrongLiving, judge.WrongTolerant, judge.WrongEarly} {
		add(fmt.Sprintf("pods evicted wrongly: %s", why), true, func(v *judge.Verdict) int { return v.Of(why) })
	}
	add("living nodes declared", true, func(v *judge.Verdict) int { return v.Declared })
	add("dead nodes missed", false, func(v *judge.Verdict) int { return v.Missed })
	add("pods left that must leave", false, func(v *judge.Verdict) int { return v.Left })
	return list
}

func costRows() []row {
	list := []row{
		number("CPU at rest, of a core", func(v float64) string { return fmt.Sprintf("%.1f %%", v) },
			func(o *outcome) float64 { return o.restCPU }),
		number("CPU time in the outage", func(v float64) string { return fmt.Sprintf("%.2f s", v) },
			func(o *outcome) float64 { return o.cpu.Seconds() }),
		number("the outage lasts", seconds, func(o *outcome) float64 { return o.lasted.Seconds() }),
		number("most resident memory", func(v float64) string { return fmt.Sprintf("%.0f MiB", v) },
			func(o *outcome) float64 { return float64(o.memory) / (1 << 20) }),
		number("API calls in the outage", count, func(o *outcome) float64 {
			total := 0
			for _, n := range o.calls {
				total += n
			}
			return float64(total)
		}),
	}
	for i := range list {
		list[i].main = true
	}
	return list
}

// callsOf returns the calls that any play has sent, in order.
func callsOf(columns []column) []string {
	all := map[string]bool{}
	for i := range columns {
		for _, o := range columns[i].shown() {
			for call := range o.calls {
				all[call] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// spread returns what a figure has come to in the plays of a column.
func (r row) spread(c *column) judge.Spread {
	var values []float64
	for _, o := range c.shown() {
		if value, known := r.of(&o); known {
			values = append(values, value)
		}
	}
	return judge.SpreadOf(values)
}

// cell writes a figure of a column: its median, and its least and most if they
// differ.
func (r row) cell(c *column, notes *sidebyside.Notes) string {
	mark := ""
	if c.err != nil {
		mark = " " + notes.Add(c.err)
	}
	if r.text != nil {
		return strings.TrimSpace(r.text(c) + mark)
	}
	s := r.spread(c)
	if s.N == 0 {
		return strings.TrimSpace("–" + mark)
	}
	text := r.show(s.Median)
	if r.fault && s.Most > 0 {
		text = "**" + text + "**"
	}
	if len(c.outcomes) == 0 {
		text += mark
	}
	if r.show(s.Least) != r.show(s.Most) {
		text += fmt.Sprintf(" (%s–%s)", strings.TrimSuffix(r.show(s.Least), unit(r.show(s.Most))), r.show(s.Most))
	}
	return text
}

// unit returns the unit of a figure that is written, with the space before it.
func unit(text string) string {
	if at := strings.LastIndexByte(text, ' '); at >= 0 {
		return text[at:]
	}
	return ""
}
