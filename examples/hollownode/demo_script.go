package main

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/hollownode/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// The steps in which the silent zone is silent, and the one in which another
// process takes over, as indexes.
const (
	silentStep, silentEnd = 2, 3
	restartStep           = 7
)

const (
	// podsANode is how many pods each node gets.
	podsANode = 3
	// crashed is the pod whose container crashes.
	crashed = "pod-0001"
	// downMessage is how Ready shows that the runtime is down.
	downMessage = "container runtime is down"
)

// silentZone is the last one. The broken and the rebooted node, which is the
// first one, is not in it.
func (p *play) silentZone() string { return fmt.Sprintf("zone-%d", p.settings.zones) }

// script is what happens. The first pod is on the first node, which reboots
// before, so that its restarts tell both.
func (p *play) script() []demonstration.Step {
	var all []string
	for _, node := range p.nodes {
		all = append(all, node.Name)
	}
	first, silent, cut, boot := all[0], p.silentZone(), p.zones[p.silentZone()], ""
	total := podsANode*len(all) + len(cut)
	return []demonstration.Step{
		{
			Title: fmt.Sprintf("%d nodes register, in %d zones", len(all), p.settings.zones),
			Do:    p.Begin,
			Lacks: func() []string { return p.wantReady(len(all), 0) },
		},
		{
			Title: fmt.Sprintf("%d pods come to each node", podsANode),
			Do:    func() error { return p.addPods(slices.Repeat(all, podsANode)) },
			Lacks: func() []string { return p.wantReady(len(all), podsANode*len(all)) },
		},
		{
			Title: silent + " falls silent" + by(kubelet.AnnotationSilent, ""),
			Do:    func() error { return p.annotate(kubelet.AnnotationSilent, "", cut...) },
		},
		{
			Title: "pods come to " + silent + "; a runtime is down" + by(kubelet.AnnotationRuntimeDown, ""),
			Do:    func() error { return errors.Join(p.addPods(cut), p.annotate(kubelet.AnnotationRuntimeDown, "", first)) },
			Lacks: func() []string {
				if ready := readyOf(p.seen.node(first)); ready.Message != downMessage {
					return []string{fmt.Sprintf("Ready of %s says %q;", first, ready.Message)}
				}
				return nil
			},
		},
		{
			Title: "both are back",
			Do: func() error {
				return errors.Join(p.annotate(kubelet.AnnotationSilent, "false", cut...),
					p.annotate(kubelet.AnnotationRuntimeDown, "false", first))
			},
			Lacks: func() []string { return p.wantReady(len(all), total) },
		},
		{
			Title: "a node reboots" + by(kubelet.AnnotationBoot, "2"),
			Do: func() error {
				boot = p.seen.node(first).Status.NodeInfo.BootID
				return p.annotate(kubelet.AnnotationBoot, "2", first)
			},
			Lacks: func() []string {
				if p.seen.node(first).Status.NodeInfo.BootID == boot {
					return []string{"it shows its former boot;"}
				}
				return p.wantRestarts(podsANode, total)
			},
		},
		{
			Title: "a container of it crashes and backs off" + by(cri.AnnotationCrash, "main:1"),
			Do: func() error {
				crash := annotation(cri.AnnotationCrash, "main:1")
				return p.Patch(simulation.PodResource, types.MergePatchType, crash, crashed)
			},
			Lacks: func() []string { return p.wantRestarts(podsANode+1, total) },
		},
		{
			Title: "the process ends, and another one goes on",
			Do: func() error {
				p.Kill()
				return p.Begin()
			},
		},
		{
			Title: "all pods are deleted",
			Do:    p.deletePods,
			Lacks: func() []string {
				if len(p.seen.pods) > 0 {
					return []string{fmt.Sprintf("%d pods are left;", len(p.seen.pods))}
				}
				return nil
			},
		},
	}
}

// by says with which annotation a person does the same.
func by(name, value string) string { return fmt.Sprintf(" (annotation %s=%s)", name, value) }

// wantReady returns which nodes and pods are not ready.
func (p *play) wantReady(nodes, pods int) []string {
	if t := p.seen.tally(""); t.readyNodes != nodes || t.readyPods != pods {
		return []string{fmt.Sprintf("%d of %d nodes and %d of %d pods are ready;", t.readyNodes, nodes, t.readyPods, pods)}
	}
	return nil
}

// wantRestarts is wantReady of all nodes, and wants a number of restarts.
func (p *play) wantRestarts(want, pods int) []string {
	if n := p.seen.tally("").restarts; n != want {
		return []string{fmt.Sprintf("there were %d restarts, not %d;", n, want)}
	}
	return p.wantReady(len(p.seen.nodes), pods)
}

// addPods creates pods that are bound to these nodes.
func (p *play) addPods(nodes []string) error {
	for _, node := range nodes {
		p.pods++
		if err := p.Create(simulation.PodResource, demoPod(p.pods, node)); err != nil {
			return err
		}
	}
	return nil
}

func demoPod(number int, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%04d", number), Annotations: map[string]string{
			cri.AnnotationDomain + "/pull-time":  "1s",
			cri.AnnotationDomain + "/start-time": "300ms",
			cri.AnnotationDomain + "/stop-time":  "1s",
		}},
		Spec: corev1.PodSpec{
			NodeName: node, TerminationGracePeriodSeconds: ptr.To(int64(30)),
			Containers: []corev1.Container{{Name: "main", Image: "image"}},
		},
	}
}

// annotate sets an annotation of nodes, without the domain.
func (p *play) annotate(name, value string, nodes ...string) error {
	return p.Patch(simulation.NodeResource, types.MergePatchType, annotation(name, value), nodes...)
}

func annotation(name, value string) []byte {
	return fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, cri.AnnotationDomain+"/"+name, value)
}

// deletePods deletes all pods, with their grace periods.
func (p *play) deletePods() error {
	for _, pod := range p.seen.pods {
		if err := p.Delete(simulation.PodResource, pod.Name); err != nil {
			return err
		}
	}
	return nil
}
