package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// demoBeat is how often lines tell what has changed, where there is no
// terminal.
const demoBeat = time.Second

// view shows the demonstration by set.
type view struct {
	screen *demonstration.Screen
	steps  int

	step int
	told time.Duration // when lines were last written
}

// show shows how things are now, in a step.
func (v *view) show(s *state, step int) {
	if v.step != step {
		v.step, v.told = step, v.screen.Elapsed()
	}
	if v.screen.IsLive() {
		v.screen.Draw(v.picture(s))
		return
	}
	if v.screen.Elapsed()-v.told < demoBeat {
		return
	}
	v.told = v.screen.Elapsed()
	for _, set := range demoSets {
		v.screen.Change(set.name, set.name+"  "+s.row(set))
	}
}

// row counts the nodes by what they have of a set.
func (s *state) row(set demoSet) string {
	desired, available, updated, surging, failing := 0, 0, 0, 0, 0
	for node, facts := range s.nodes {
		if facts.fits() {
			desired++
		}
		pods := living(s.on(set.name, node))
		has := func(is func(podFacts) bool) int {
			if slices.ContainsFunc(pods, is) {
				return 1
			}
			return 0
		}
		available += has(func(p podFacts) bool { return p.available })
		updated += has(func(p podFacts) bool { return p.available && p.image == s.sets[set.name].image })
		failing += has(func(p podFacts) bool { return p.image == badImage })
		surging += max(len(pods)-1, 0)
	}
	return fmt.Sprintf("%3d desired %3d available %3d updated %3d surging %3d failing",
		desired, available, updated, surging, failing)
}

// The colors of a terminal.
const (
	red, green, yellow, blue, plain = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[34m", "\x1b[0m"
)

// picture shows a set a line, with a character for each node.
func (v *view) picture(s *state) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%5.1fs   step %d of %d\n\n", v.screen.Elapsed().Seconds(), v.step, v.steps)
	nodes := slices.Sorted(maps.Keys(s.nodes))
	fmt.Fprintf(&b, "%-6s  %-*s  desired  available  up to date\n", "set", demoNodes+demoLater, "nodes")
	for _, set := range demoSets {
		cells, status := strings.Builder{}, s.sets[set.name].status
		for _, node := range nodes {
			cells.WriteString(s.cell(set, node))
		}
		fmt.Fprintf(&b, "%-6s  %s%s  %7d  %9d  %10d\n", set.name, cells.String(),
			strings.Repeat(" ", max(demoNodes+demoLater-len(nodes), 0)),
			status.DesiredNumberScheduled, status.NumberAvailable, status.UpdatedNumberScheduled)
	}
	fmt.Fprintf(&b, "%-6s  ", "taints")
	for _, node := range nodes {
		b.WriteString(s.nodes[node].mark())
	}
	fmt.Fprintf(&b, "\n\n        %s■%s v1  %s■%s v2  %s■%s starting  %s■%s v3, broken  ◆ two pods  · none\n"+
		"        x NoExecute  - NoSchedule\n\n", blue, plain, green, plain, yellow, plain, red, plain)
	return b.String()
}

func (n nodeFacts) mark() string {
	switch {
	case n.drained:
		return "x"
	case n.closed:
		return "-"
	}
	return " "
}

// cell shows the pods of a set on a node: how many, and the one that is
// furthest from the first image.
func (s *state) cell(set demoSet, node string) string {
	pods := living(s.on(set.name, node))
	if len(pods) == 0 {
		return "·"
	}
	shape := "■"
	if len(pods) > 1 {
		shape = "◆"
	}
	newest := slices.MaxFunc(pods, func(a, b podFacts) int { return strings.Compare(a.image, b.image) })
	color := blue
	switch {
	case newest.image == badImage:
		color = red
	case !newest.available:
		color = yellow
	case newest.image == secondImage:
		color = green
	}
	return color + shape + plain
}
