package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// row counts the nodes by what they have of a set.
func (s *state) row(set demoSet) string {
	desired := 0
	for _, node := range s.nodes {
		if len(node.Spec.Taints) == 0 {
			desired++
		}
	}
	updated := s.with(set.name, func(pod *corev1.Pod) bool {
		return isAvailable(pod) && tagOf(&pod.Spec) == s.template(set.name)
	})
	return fmt.Sprintf("%3d desired %3d available %3d updated %3d surging %3d failing",
		desired, s.with(set.name, isAvailable), updated, s.surging(set.name), s.with(set.name, isBad))
}

// picture shows a set a line, with a character for each node.
func (p *play) picture() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%5.1fs   step %d of %d\n\n", p.screen.Elapsed().Seconds(), len(p.ends)+1, demoSteps)
	fmt.Fprintf(&b, "%-6s  %-*s  desired  available  up to date\n", "set", demoNodes+demoLater, "nodes")
	taints, room := "", strings.Repeat(" ", max(demoNodes+demoLater-len(p.seen.nodes), 0))
	for _, set := range demoSets {
		cells, status := "", p.seen.set(set.name).Status
		for _, node := range p.seen.nodes {
			cells += p.seen.cell(set.name, node.Name)
		}
		fmt.Fprintf(&b, "%-6s  %s%s  %7d  %9d  %10d\n", set.name, cells, room,
			status.DesiredNumberScheduled, status.NumberAvailable, status.UpdatedNumberScheduled)
	}
	for _, node := range p.seen.nodes {
		taints += mark(node)
	}
	fmt.Fprintf(&b, "taints  %s\n\n        %s v1  %s v2  %s starting  %s v3, broken  ◆ two pods  · none\n"+
		"        x NoExecute  - NoSchedule\n\n", taints, demonstration.Blue.Paint("■"), demonstration.Green.Paint("■"),
		demonstration.Yellow.Paint("■"), demonstration.Red.Paint("■"))
	return b.String()
}

// mark shows the taint of a node.
func mark(node *corev1.Node) string {
	switch taints := node.Spec.Taints; {
	case len(taints) == 0:
		return " "
	case taints[0].Effect == corev1.TaintEffectNoExecute:
		return "x"
	}
	return "-"
}

// cell shows the pods of a set on a node: how many, and the one that is
// furthest from the first image.
func (s *state) cell(set, node string) string {
	pods := s.living(set, node)
	if len(pods) == 0 {
		return "·"
	}
	shape := "■"
	if len(pods) > 1 {
		shape = "◆"
	}
	newest := slices.MaxFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(tagOf(&a.Spec), tagOf(&b.Spec)) })
	color := demonstration.Blue
	switch {
	case isBad(newest):
		color = demonstration.Red
	case !isAvailable(newest):
		color = demonstration.Yellow
	case tagOf(&newest.Spec) == secondImage:
		color = demonstration.Green
	}
	return color.Paint(shape)
}
