package main

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// The steps in which the silent zone is silent, and the one in which another
// process takes over, as indexes.
const (
	silentStep, silentEnd = 2, 3
	restartStep           = 7
)

// downMessage is how Ready shows that the runtime is down.
const downMessage = "container runtime is down"

// crashed is the pod whose container crashes.
const crashed = "pod-0001"

// silentZone is the last one. The broken and the rebooted node are not in it.
func (p *play) silentZone() string { return fmt.Sprintf("zone-%d", p.settings.zones) }

func (p *play) rebootedNode() string { return p.world.nodes[0].Name }

// script is what happens. The first pod is on the first node, which reboots
// before, so that its restarts tell both.
func (p *play) script() []demonstration.Step {
	w, silent := p.world, p.silentZone()
	all, cut, first := w.inZone(""), w.inZone(silent), p.world.nodes[:1]
	boot := ""
	broken := []string{first[0].Name}
	total := podsANode*len(all) + len(cut)
	steps := []demonstration.Step{
		{
			Title: fmt.Sprintf("%d nodes register, in %d zones", len(all), p.settings.zones),
			Do:    p.beginProcess,
			Lacks: func() []string { return wantReady(p.seen, len(all), 0) },
		},
		{
			Title: fmt.Sprintf("%d pods come to each node", podsANode),
			Do:    func(ctx context.Context) error { return w.addPods(ctx, slices.Repeat(all, podsANode)) },
			Lacks: func() []string { return wantReady(p.seen, len(all), podsANode*len(all)) },
		},
		{
			Title: silent + " falls silent" + by(kubelet.AnnotationSilent, ""),
			Do:    func(ctx context.Context) error { return w.annotate(ctx, cut, kubelet.AnnotationSilent, "") },
		},
		{
			Title: "pods come to " + silent + "; a runtime is down" + by(kubelet.AnnotationRuntimeDown, ""),
			Do: func(ctx context.Context) error {
				if err := w.addPods(ctx, cut); err != nil {
					return err
				}
				return w.annotate(ctx, broken, kubelet.AnnotationRuntimeDown, "")
			},
			Lacks: func() []string {
				if c := readyNode(p.seen.node(broken[0])); c.Message != downMessage {
					return []string{fmt.Sprintf("Ready of %s says %q;", broken[0], c.Message)}
				}
				return nil
			},
		},
		{
			Title: "both are back",
			Do: func(ctx context.Context) error {
				if err := w.annotate(ctx, cut, kubelet.AnnotationSilent, "false"); err != nil {
					return err
				}
				return w.annotate(ctx, broken, kubelet.AnnotationRuntimeDown, "false")
			},
			Lacks: func() []string { return wantReady(p.seen, len(all), total) },
		},
		{
			Title: "a node reboots" + by(kubelet.AnnotationBoot, "2"),
			Do: func(ctx context.Context) error {
				boot = p.seen.node(p.rebootedNode()).Status.NodeInfo.BootID
				return w.annotate(ctx, broken, kubelet.AnnotationBoot, "2")
			},
			Lacks: func() []string {
				if p.seen.node(p.rebootedNode()).Status.NodeInfo.BootID == boot {
					return []string{"it shows its former boot;"}
				}
				return wantRestarts(p.seen, podsANode, total)
			},
		},
		{
			Title: "a container of it crashes and backs off" + by(cri.AnnotationCrash, "main:1"),
			Do: func(ctx context.Context) error {
				return w.annotatePod(ctx, crashed, cri.AnnotationCrash, "main:1")
			},
			Lacks: func() []string { return wantRestarts(p.seen, podsANode+1, total) },
		},
		{
			Title: "the process ends, and another one goes on",
			Do: func(ctx context.Context) error {
				if err := p.endProcess(); err != nil {
					return err
				}
				return p.beginProcess(ctx)
			},
		},
		{
			Title: "all pods are deleted",
			Do:    w.deletePods,
			Lacks: func() []string {
				if len(p.seen.pods) > 0 {
					return []string{fmt.Sprintf("%d pods are left;", len(p.seen.pods))}
				}
				return nil
			},
		},
	}
	for i := range steps {
		steps[i].Pause = demoPause
	}
	return steps
}

// by says with which annotation a person does the same.
func by(name, value string) string { return fmt.Sprintf(" (annotation %s=%s)", name, value) }

// wantReady returns which nodes and pods are not ready.
func wantReady(seen *state, nodes, pods int) []string {
	readyNodes, readyPods := 0, 0
	for i := range seen.nodes {
		if readyNode(&seen.nodes[i]).Status == corev1.ConditionTrue {
			readyNodes++
		}
	}
	for i := range seen.pods {
		if readyPod(&seen.pods[i]) {
			readyPods++
		}
	}
	if readyNodes != nodes || readyPods != pods {
		return []string{fmt.Sprintf("%d of %d nodes and %d of %d pods are ready;", readyNodes, nodes, readyPods, pods)}
	}
	return nil
}

// wantRestarts is wantReady, and wants a number of restarts in all.
func wantRestarts(seen *state, want, pods int) []string {
	n := 0
	for i := range seen.pods {
		n += int(restarts(&seen.pods[i]))
	}
	if n != want {
		return []string{fmt.Sprintf("there were %d restarts, not %d;", n, want)}
	}
	return wantReady(seen, len(seen.nodes), pods)
}
