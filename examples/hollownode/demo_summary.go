package main

import (
	"fmt"
	"io"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// history is what the API server stored, oldest first.
type history struct {
	pods, nodes, leases []memory.Change
}

func newHistory(cluster *memory.Cluster) *history {
	return &history{
		pods:   cluster.Changes(corev1.SchemeGroupVersion.WithResource("pods")),
		nodes:  cluster.Changes(corev1.SchemeGroupVersion.WithResource("nodes")),
		leases: cluster.Changes(coordinationv1.SchemeGroupVersion.WithResource("leases")),
	}
}

// verdict is what the history says of the fleet.
type verdict struct {
	steps, statuses, deleted int

	unreached  []string
	backwards  []string // a count of restarts or a final phase went back
	restarted  []string // and nothing had happened to it
	heard      []string // of a silent node
	rewritten  []string // by the process that took over
	running    []string // while the pod was removed
	unobserved []string // things that the history must show and does not
}

// judge follows each object through the history.
func (h *history) judge(p *play) *verdict {
	v := &verdict{steps: len(p.marks), unreached: p.unreached}
	former := map[types.UID]*corev1.Pod{}
	for _, change := range h.pods {
		pod, ok := change.Object.(*corev1.Pod)
		if !ok {
			continue
		}
		before := former[pod.UID]
		former[pod.UID] = pod
		if change.Deleted {
			v.removed(pod)
			continue
		}
		if before != nil && !equality.Semantic.DeepEqual(before.Status, pod.Status) {
			v.changed(p, change.Version, before, pod)
		}
	}
	for _, pod := range former {
		if restarts(pod) > 0 && pod.Spec.NodeName != p.rebootedNode() {
			v.restarted = append(v.restarted, pod.Name)
		}
	}
	for _, change := range slices.Concat(h.nodes, h.leases) {
		object, ok := change.Object.(metav1.Object)
		if ok && p.wasSilent(object.GetName(), change.Version) {
			v.heard = append(v.heard, object.GetName())
		}
	}
	if v.statuses == 0 || v.deleted == 0 || len(h.leases) == 0 {
		v.unobserved = append(v.unobserved, "none")
	}
	return v
}

// within reports whether a version was stored after one step and not after
// another.
func (p *play) within(version uint64, after, until int) bool {
	return until < len(p.marks) && version > p.marks[after] && version <= p.marks[until]
}

// wasSilent reports whether a node was silent when a version was stored.
func (p *play) wasSilent(node string, version uint64) bool {
	return p.within(version, silentStep, silentEnd) && slices.Contains(p.world.inZone(p.silentZone()), node)
}

// changed judges a status by the one before it.
func (v *verdict) changed(p *play, version uint64, before, pod *corev1.Pod) {
	v.statuses++
	if p.wasSilent(pod.Spec.NodeName, version) {
		v.heard = append(v.heard, pod.Name)
	}
	if p.within(version, restartStep-1, restartStep) {
		v.rewritten = append(v.rewritten, pod.Name)
	}
	final := before.Status.Phase == corev1.PodFailed || before.Status.Phase == corev1.PodSucceeded
	if restarts(pod) < restarts(before) || final && pod.Status.Phase != before.Status.Phase {
		v.backwards = append(v.backwards, pod.Name)
	}
}

// removed judges a pod in its last state.
func (v *verdict) removed(pod *corev1.Pod) {
	v.deleted++
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].State.Running != nil {
			v.running = append(v.running, pod.Name)
		}
	}
}

// print shows the verdict and returns an error if it is not good.
func (v *verdict) print(out io.Writer, calls map[memory.Request]int) error {
	fmt.Fprintf(out, "\n%d statuses of pods were written, %d pods were removed.\n", v.statuses, v.deleted)
	demonstration.PrintCalls(out, calls)
	var claims demonstration.Claims
	claims.Add(v.unreached, "each of the %d steps got where it should", v.steps)
	claims.Add(v.backwards, "no count of restarts and no final phase went back")
	claims.Add(v.restarted, "only containers of the node that rebooted were restarted")
	claims.Add(v.heard, "nothing was written of silent nodes and their pods")
	claims.Add(v.rewritten, "the process that took over wrote no status again")
	claims.Add(v.running, "no container ran when its pod was removed")
	claims.Add(v.unobserved, "statuses, removals and leases were stored")
	return demonstration.PrintClaims(out, claims)
}
