package blast

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/process/htmlpage"
)

const (
	// mostPlotted is how many losses have plots: those that hurt most.
	mostPlotted = 6
	// mostPoints is how many points a plot has.
	mostPoints = 400
)

func plotColors() []htmlpage.Color {
	return []htmlpage.Color{htmlpage.ColorTainted, htmlpage.ColorEvicted, htmlpage.ColorReady, htmlpage.ColorWaiting,
		htmlpage.ColorBlocked, htmlpage.ColorLimit}
}

// WritePage writes the report as an HTML page; package htmlpage says what that
// is. The tables are those of [Report.Write], in one. The plots show how many
// pods are evicted and nodes tainted after each of the losses that hurt most.
// The notes say what of a cluster the scenario does not have.
func (r *Report) WritePage(out io.Writer, settings, notes []string) error {
	description := []string{strings.ReplaceAll(r.reading(), "\n", " ")}
	if r.Done < r.Of {
		description = append(description, r.partial())
	}
	if r.cutShort() {
		description = append(description, r.tooLong())
	}
	plotted := r.plotted()
	at := times(plotted)
	run := htmlpage.Run{Settings: settings, Timeline: "First and last, as given", Lines: lines(plotted)}
	for _, t := range at {
		run.At = append(run.At, t.Seconds())
	}
	if len(at) > 0 {
		run.Duration = at[len(at)-1]
	}
	run.Tables = append(run.Tables, r.pageTable())
	for _, l := range []*list{r.workloads(), r.untainted(), r.interrupted()} {
		if len(l.lines) > 0 {
			t := htmlpage.Table{Title: l.title, Header: []string{"loss", ""}}
			for _, line := range l.lines {
				t.Rows = append(t.Rows, htmlpage.Row{Cells: line[:]})
			}
			run.Tables = append(run.Tables, t)
		}
	}
	return htmlpage.Write(out, &htmlpage.Page{
		Name: r.Scenario, About: "what it can lose", Intro: r.setting(),
		Description: strings.Join(description, "\n\n"), Notes: notes,
		Runs: []htmlpage.Run{run}, Plots: r.plots(plotted, at), PlotsLeft: r.plotsLeft(len(plotted)),
		Program: "outage blast --html", Whole: "--json has all.",
	})
}

// pageTable is one table of all losses, each with all variants below it.
func (r *Report) pageTable() htmlpage.Table {
	t := htmlpage.Table{Title: "What hurts, worst first", Header: []string{"loss", "nodes"}}
	columns := r.columns()
	for _, c := range columns {
		t.Header = append(t.Header, strings.TrimSpace(c.head[0]+" "+c.head[1]))
	}
	for i := range r.Losses {
		p := &r.Losses[i]
		for v, o := range p.Outcomes {
			name, nodes := p.String(), fmt.Sprint(p.Nodes)
			if v > 0 {
				name, nodes = "  "+r.Variants[v].Name, ""
			}
			t.Rows = append(t.Rows, htmlpage.Row{
				Cells: append([]string{name, nodes}, cells(columns, o)...), Wrong: faulty(columns, o, 2),
			})
		}
	}
	return t
}

// faulty returns which cells of a row show a fault. The first column is the
// cell of that number.
func faulty(columns []column, o *Outcome, first int) []int {
	var cells []int
	for i, c := range columns {
		if o != nil && c.fault && c.count(o) != 0 {
			cells = append(cells, first+i)
		}
	}
	return cells
}

// plotted returns the losses that have plots: the first of those after which
// something was done.
func (r *Report) plotted() []*Played {
	var list []*Played
	for i := range r.Losses {
		o := r.Losses[i].Outcomes[0]
		if o != nil && o.Tainted+o.Evicted > 0 && len(list) < mostPlotted {
			list = append(list, &r.Losses[i])
		}
	}
	return list
}

func (r *Report) plotsLeft(plotted int) string {
	if left := len(r.Losses) - plotted; left > 0 {
		return fmt.Sprintf("The tables have %d more losses: those that hurt less, and those after which nothing was "+
			"done.", left)
	}
	return ""
}

// times returns the times at which something happened in a run that is plotted,
// and zero. Of too many it keeps some, and the last.
func times(plotted []*Played) []time.Duration {
	all := map[time.Duration]bool{0: true}
	for _, p := range plotted {
		for _, o := range p.Outcomes {
			if o == nil {
				continue
			}
			for _, q := range slices.Concat(o.evictions, o.taintings) {
				all[q.at] = true
			}
		}
	}
	sorted := slices.Sorted(maps.Keys(all))
	if len(sorted) <= mostPoints {
		return sorted
	}
	var some []time.Duration
	for i := range mostPoints {
		some = append(some, sorted[i*(len(sorted)-1)/(mostPoints-1)])
	}
	return some
}

// plots are of all plotted losses as given, and of each with all variants.
func (r *Report) plots(plotted []*Played, at []time.Duration) []htmlpage.Plot {
	if len(plotted) == 0 {
		return nil
	}
	evicted := htmlpage.Plot{Title: "Pods evicted so far, as given"}
	tainted := htmlpage.Plot{Title: "Nodes tainted so far, as given"}
	var each []htmlpage.Plot
	for i, p := range plotted {
		o := p.Outcomes[0]
		evicted.Lines = append(evicted.Lines, curve(p.String(), i, o.evictions, at))
		tainted.Lines = append(tainted.Lines, curve(p.String(), i, o.taintings, at))
		own := htmlpage.Plot{Title: "Pods evicted so far, " + htmlpage.Clip(p.String(), 64)}
		for v, o := range p.Outcomes {
			if o != nil {
				own.Lines = append(own.Lines, curve(r.Variants[v].Name, v, o.evictions, at))
			}
		}
		each = append(each, own)
	}
	return append([]htmlpage.Plot{evicted, tainted}, each...)
}

// curve shows how many there were at each of the times.
func curve(name string, number int, points []point, at []time.Duration) htmlpage.Curve {
	values, next, count := make([]int, len(at)), 0, 0
	for i, t := range at {
		for ; next < len(points) && points[next].at <= t; next++ {
			count = points[next].count
		}
		values[i] = count
	}
	colors := plotColors()
	return htmlpage.Curve{
		Name: htmlpage.Clip(name, 64), Color: colors[number%len(colors)], State: true, Values: []any{values},
	}
}

// lines are when the first and the last pod leaves after each loss.
func lines(plotted []*Played) []htmlpage.Line {
	var all []htmlpage.Line
	for _, p := range plotted {
		o := p.Outcomes[0]
		if n := len(o.taintings); n > 0 {
			all = append(all, htmlpage.Line{At: o.taintings[0].at, Subject: p.String(), Text: "the first node is tainted"},
				htmlpage.Line{At: o.taintings[n-1].at, Subject: p.String(),
					Text: fmt.Sprintf("%d of %d nodes are tainted", o.Tainted, p.Nodes)})
		}
		if o.Evicted > 0 {
			all = append(all, htmlpage.Line{At: o.First.D(), Subject: p.String(), Text: "the first pod is evicted"},
				htmlpage.Line{At: o.Last.D(), Subject: p.String(),
					Text: fmt.Sprintf("the last of %d pods is evicted", o.Evicted)})
		}
	}
	slices.SortStableFunc(all, func(a, b htmlpage.Line) int { return cmp.Compare(a.At, b.At) })
	return all
}
