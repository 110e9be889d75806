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
	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// The step throughout which the silent zone is silent, and the one in which
// another process takes over, as indexes.
const silentStep, restartStep = 3, 7

const (
	// podsANode is how many pods each node gets.
	podsANode = 3
	// crashed is the pod whose container crashes.
	crashed = "pod-0001"
	// downMessage is how Ready shows that the runtime is down.
	downMessage = "container runtime is down"
)

// script is what happens. The first pod is on the first node, which reboots
// before, so that its restarts tell both.
func (d *demo) script(zones int) []demonstration.Step {
	first, boot, total := d.nodes[0], "", podsANode*len(d.nodes)+len(d.silent)
	return []demonstration.Step{
		{
			Title: fmt.Sprintf("%d nodes register, in %d zones", len(d.nodes), zones),
			Do:    d.Begin,
			Lacks: func() []string { return d.wantReady(len(d.nodes), 0) },
		},
		{
			Title: fmt.Sprintf("%d pods come to each node", podsANode),
			Do:    func() error { return d.addPods(slices.Repeat(d.nodes, podsANode)) },
			Lacks: func() []string { return d.wantReady(len(d.nodes), podsANode*len(d.nodes)) },
		},
		{
			Title: d.silentZone + " falls silent" + by(kubelet.AnnotationSilent, ""),
			Do:    func() error { return d.annotate(kubelet.AnnotationSilent, "", d.silent...) },
		},
		{
			Title: "pods come to " + d.silentZone + "; a runtime is down" + by(kubelet.AnnotationRuntimeDown, ""),
			Do: func() error {
				return errors.Join(d.addPods(d.silent), d.annotate(kubelet.AnnotationRuntimeDown, "", first))
			},
			Lacks: func() []string {
				says := demonstration.ReadyOf(d.Seen.node(first)).Message
				return demonstration.Unless(says == downMessage, "Ready of %s says %q;", first, says)
			},
		},
		{
			Title: "both are back",
			Do: func() error {
				return errors.Join(d.annotate(kubelet.AnnotationSilent, "false", d.silent...),
					d.annotate(kubelet.AnnotationRuntimeDown, "false", first))
			},
			Lacks: func() []string { return d.wantReady(len(d.nodes), total) },
		},
		{
			Title: "a node reboots" + by(kubelet.AnnotationBoot, "2"),
			Do: func() error {
				boot = d.Seen.node(first).Status.NodeInfo.BootID
				return d.annotate(kubelet.AnnotationBoot, "2", first)
			},
			Lacks: func() []string {
				if d.Seen.node(first).Status.NodeInfo.BootID == boot {
					return []string{"it shows its former boot;"}
				}
				return d.wantRestarts(podsANode, total)
			},
		},
		{
			Title: "a container of it crashes and backs off" + by(cri.AnnotationCrash, "main:1"),
			Do: func() error {
				crash := annotation(cri.AnnotationCrash, "main:1")
				return d.Users().Patch(network.Pods.Resource(), types.MergePatchType, crash, crashed)
			},
			Lacks: func() []string { return d.wantRestarts(podsANode+1, total) },
		},
		{
			Title: "the process ends, and another one goes on",
			Do: func() error {
				d.Kill()
				return d.Begin()
			},
		},
		{
			Title: "all pods are deleted",
			Do: func() error {
				for _, pod := range d.Seen.pods {
					if err := d.Users().Delete(network.Pods.Resource(), pod.Name); err != nil {
						return err
					}
				}
				return nil
			},
			Lacks: func() []string {
				return demonstration.Unless(len(d.Seen.pods) == 0, "%d pods are left;", len(d.Seen.pods))
			},
		},
	}
}

// by says with which annotation a person does the same.
func by(name, value string) string { return fmt.Sprintf(" (annotation %s=%s)", name, value) }

// wantReady returns which nodes and pods are not ready.
func (d *demo) wantReady(nodes, pods int) []string {
	t := d.Seen.tally("")
	return demonstration.Unless(t.readyNodes == nodes && t.readyPods == pods,
		"%d of %d nodes and %d of %d pods are ready;", t.readyNodes, nodes, t.readyPods, pods)
}

// wantRestarts is wantReady of all nodes, and wants a number of restarts.
func (d *demo) wantRestarts(want, pods int) []string {
	if n := d.Seen.tally("").restarts; n != want {
		return []string{fmt.Sprintf("there were %d restarts, not %d;", n, want)}
	}
	return d.wantReady(len(d.Seen.nodes), pods)
}

// addPods creates pods that are bound to these nodes.
func (d *demo) addPods(nodes []string) error {
	for _, node := range nodes {
		d.pods++
		if err := d.Users().Create(network.Pods.Resource(), demoPod(d.pods, node)); err != nil {
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
func (d *demo) annotate(name, value string, nodes ...string) error {
	return d.Users().Patch(network.Nodes.Resource(), types.MergePatchType, annotation(name, value), nodes...)
}

func annotation(name, value string) []byte {
	return fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, cri.AnnotationDomain+"/"+name, value)
}
