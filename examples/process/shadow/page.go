package shadow

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/process/atomicfile"
	"github.com/kubelife/lifecycle/examples/process/htmlpage"
)

// WritePage writes the report as an HTML page. It has how often each side has
// done each action over time, the differences of each side, and the counts.
// Errors are those of out.
func (s *Shadow) WritePage(out io.Writer) error {
	return htmlpage.Write(out, s.report(MaxLimit).page())
}

// The sides of a comparison are the runs of a page.
const sideShadow, sideCluster = "shadow", "cluster"

// Ending returns what to call at the end of a program. It writes the table to
// out and, if html names a file, the page to that. That there can be no such
// file is an error now. What goes wrong later is logged.
func (s *Shadow) Ending(ctx context.Context, out io.Writer, html string) (tell func(), err error) {
	file, err := atomicfile.NewFile("--shadow-html", html)
	if err != nil {
		return nil, err
	}
	return func() {
		s.WriteTable(out)
		if err := file.Write(s.WritePage); err != nil {
			klog.FromContext(ctx).Error(err, "Page of the shadow not written")
		}
	}, nil
}

func (r report) page() *htmlpage.Page {
	p := &htmlpage.Page{
		Name: "What the shadow would have done, and what happened", About: "shadow",
		Intro: fmt.Sprintf("From %s to %s. Both within %v count as the same.",
			stamp(r.history.start), stamp(r.now), r.tolerance),
		Description: "The shadow's are its actions so far, the cluster's those that the watch has shown.",
		Summary:     []htmlpage.Table{r.comparison()}, Program: r.program + " --shadow",
		Whole: "/shadow?format=json lists more.",
	}
	at := []float64{0}
	for _, t := range r.history.at(r.now) {
		at = append(at, t.Seconds())
	}
	for _, side := range []string{sideShadow, sideCluster} {
		p.Runs = append(p.Runs, htmlpage.Run{
			Name: side, Duration: r.now.Sub(r.history.start), At: at, Timeline: "Differences", Lines: r.lines(side),
		})
	}
	p.Plots = []htmlpage.Plot{
		{Title: "Nodes", Lines: []htmlpage.Curve{
			r.curve(ActionDeclareUnknown, htmlpage.ColorNotReady), r.curve(ActionAddNoExecute, htmlpage.ColorTainted),
			r.curve(ActionRemoveNoExecute, htmlpage.ColorReady),
		}},
		{Title: "Pods", Lines: []htmlpage.Curve{
			r.curve(ActionMarkPodNotReady, htmlpage.ColorWaiting), r.curve(ActionEvictPod, htmlpage.ColorEvicted),
		}},
		{Title: "NoSchedule taints and labels of nodes", Lines: []htmlpage.Curve{
			r.curve(ActionAddNoSchedule, htmlpage.ColorTainted), r.curve(ActionRemoveNoSchedule, htmlpage.ColorReady),
			r.curve(ActionSetLabel, htmlpage.ColorRate),
		}},
	}
	return p
}

// curve returns how often both sides have done an action over time, from none
// at the start.
func (r report) curve(action Action, color htmlpage.Color) htmlpage.Curve {
	i := slices.Index(actions[:], action)
	shadow, cluster := []int{0}, []int{0}
	for n := range r.history.points {
		shadow, cluster = append(shadow, r.history.points[n].shadow[i]), append(cluster, r.history.points[n].cluster[i])
	}
	return htmlpage.Curve{Name: string(action), Color: color, State: true, Values: []any{shadow, cluster}}
}

func (r report) comparison() htmlpage.Table {
	t := htmlpage.Table{Title: "Comparison", Header: []string{"action", "verdict", "count", "most"}}
	for _, tally := range r.tallies {
		row := htmlpage.Row{Cells: []string{
			string(tally.Action), string(tally.Verdict), fmt.Sprint(tally.Count),
			tally.Most.Round(time.Millisecond).String(),
		}}
		if tally.Verdict == VerdictOnlyShadow || tally.Verdict == VerdictOnlyCluster {
			row.Wrong = []int{0, 1, 2, 3}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// lines returns the differences in what a side has done, by its time.
func (r report) lines(side string) []htmlpage.Line {
	var lines []htmlpage.Line
	for i := range r.differences {
		d := &r.differences[i]
		at := d.Shadow
		if side == sideCluster {
			at = d.Cluster
		}
		if !at.IsZero() {
			since := at.Sub(r.history.start)
			lines = append(lines, htmlpage.Line{At: since, Subject: d.Object.String(), Text: r.text(d)})
		}
	}
	slices.SortStableFunc(lines, func(a, b htmlpage.Line) int { return cmp.Compare(a.At, b.At) })
	return lines
}

// text says in words how the sides differ.
func (r report) text(d *Difference) string {
	action := string(d.Action)
	if d.Detail != "" {
		action += " " + d.Detail
	}
	by := d.By().Abs().Round(time.Millisecond)
	over := htmlpage.Clock(d.Ended.Sub(r.history.start))
	switch d.Verdict {
	case VerdictEarlier:
		return fmt.Sprintf("%s: the shadow was %v earlier", action, by)
	case VerdictLater:
		return fmt.Sprintf("%s: the shadow was %v later", action, by)
	case VerdictOnlyShadow:
		return fmt.Sprintf("%s: only the shadow, over at %s", action, over)
	case VerdictOnlyCluster:
		return fmt.Sprintf("%s: only the cluster, over at %s", action, over)
	case VerdictSame:
		return action
	case VerdictOpen:
		if d.Cluster.IsZero() {
			return action + ": only the shadow so far"
		}
		return action + ": only the cluster so far"
	}
	return action
}
