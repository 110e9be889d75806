package main

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

// step is one line of the script.
type step struct {
	title string
	do    func(ctx context.Context) error
	// wants returns what the cluster lacks at the end of the step, or "".
	wants func(seen *state) string
}

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
func (p *play) script() []step {
	w, silent := p.world, p.silentZone()
	all, cut, first := w.inZone(""), w.inZone(silent), p.world.nodes[:1]
	boot := ""
	broken := []string{first[0].Name}
	total := podsANode*len(all) + len(cut)
	return []step{
		{
			title: fmt.Sprintf("%d nodes register, in %d zones", len(all), p.settings.zones),
			do:    p.beginProcess,
			wants: func(seen *state) string { return wantReady(seen, len(all), 0) },
		},
		{
			title: fmt.Sprintf("%d pods come to each node", podsANode),
			do:    func(ctx context.Context) error { return w.addPods(ctx, slices.Repeat(all, podsANode)) },
			wants: func(seen *state) string { return wantReady(seen, len(all), podsANode*len(all)) },
		},
		{
			title: silent + " falls silent" + by(kubelet.AnnotationSilent, ""),
			do:    func(ctx context.Context) error { return w.annotate(ctx, cut, kubelet.AnnotationSilent, "") },
			wants: func(*state) string { return "" },
		},
		{
			title: "pods come to " + silent + "; a runtime is down" + by(kubelet.AnnotationRuntimeDown, ""),
			do: func(ctx context.Context) error {
				if err := w.addPods(ctx, cut); err != nil {
					return err
				}
				return w.annotate(ctx, broken, kubelet.AnnotationRuntimeDown, "")
			},
			wants: func(seen *state) string {
				if c := readyNode(seen.node(broken[0])); c.Message != downMessage {
					return fmt.Sprintf("Ready of %s says %q", broken[0], c.Message)
				}
				return ""
			},
		},
		{
			title: "both are back",
			do: func(ctx context.Context) error {
				if err := w.annotate(ctx, cut, kubelet.AnnotationSilent, "false"); err != nil {
					return err
				}
				return w.annotate(ctx, broken, kubelet.AnnotationRuntimeDown, "false")
			},
			wants: func(seen *state) string { return wantReady(seen, len(all), total) },
		},
		{
			title: "a node reboots" + by(kubelet.AnnotationBoot, "2"),
			do: func(ctx context.Context) error {
				seen, err := w.see(ctx)
				if err != nil {
					return err
				}
				boot = seen.node(p.rebootedNode()).Status.NodeInfo.BootID
				return w.annotate(ctx, broken, kubelet.AnnotationBoot, "2")
			},
			wants: func(seen *state) string {
				if seen.node(p.rebootedNode()).Status.NodeInfo.BootID == boot {
					return "it shows its former boot"
				}
				return wantRestarts(seen, podsANode, total)
			},
		},
		{
			title: "a container of it crashes and backs off" + by(cri.AnnotationCrash, "main:1"),
			do: func(ctx context.Context) error {
				return w.annotatePod(ctx, crashed, cri.AnnotationCrash, "main:1")
			},
			wants: func(seen *state) string { return wantRestarts(seen, podsANode+1, total) },
		},
		{
			title: "the process ends, and another one goes on",
			do: func(ctx context.Context) error {
				if err := p.endProcess(); err != nil {
					return err
				}
				return p.beginProcess(ctx)
			},
			wants: func(*state) string { return "" },
		},
		{
			title: "all pods are deleted",
			do:    w.deletePods,
			wants: func(seen *state) string {
				if len(seen.pods) > 0 {
					return fmt.Sprintf("%d pods are left", len(seen.pods))
				}
				return ""
			},
		},
	}
}

// by says with which annotation a person does the same.
func by(name, value string) string { return fmt.Sprintf(" (annotation %s=%s)", name, value) }

// wantReady returns which nodes and pods are not ready, or "".
func wantReady(seen *state, nodes, pods int) string {
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
		return fmt.Sprintf("%d of %d nodes and %d of %d pods are ready", readyNodes, nodes, readyPods, pods)
	}
	return ""
}

// wantRestarts is wantReady, and wants a number of restarts in all.
func wantRestarts(seen *state, want, pods int) string {
	n := 0
	for i := range seen.pods {
		n += int(restarts(&seen.pods[i]))
	}
	if n != want {
		return fmt.Sprintf("there were %d restarts, not %d", n, want)
	}
	return wantReady(seen, len(seen.nodes), pods)
}
