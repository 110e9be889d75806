package main

import (
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

// verdict is what the script alone can tell of the fleet, because it knows what
// has happened to which node. The invariants tell the rest.
type verdict struct {
	statuses, deleted int

	restarted []string // and nothing had happened to it
	heard     []string // of a silent node
	rewritten []string // by the process that took over
	running   []string // while the pod was removed
}

// judge follows each object through the history.
func (p *play) judge() *verdict {
	v := &verdict{}
	last := map[types.UID]*corev1.Pod{}
	for _, change := range p.History().Changes {
		before, _ := change.Before.(*corev1.Pod)
		after, stays := change.After.(*corev1.Pod)
		switch {
		case change.Kind == invariant.Nodes:
			if node := change.Object().GetName(); p.wasSilent(node, change.Version) {
				v.heard = append(v.heard, node)
			}
		case !stays:
			v.removed(before)
		default:
			last[after.UID] = after
			if before != nil && !equality.Semantic.DeepEqual(before.Status, after.Status) {
				v.changed(p, change.Version, after)
			}
		}
	}
	for _, pod := range last {
		if restarts(pod) > 0 && pod.Spec.NodeName != p.nodes[0].Name {
			v.restarted = append(v.restarted, pod.Name)
		}
	}
	slices.Sort(v.restarted)
	return v
}

// within reports whether a version was stored after one step and not after
// another.
func (p *play) within(version uint64, after, until int) bool {
	return until < len(p.marks) && version > p.marks[after] && version <= p.marks[until]
}

// wasSilent reports whether a node was silent when a version was stored.
func (p *play) wasSilent(node string, version uint64) bool {
	return p.within(version, silentStep, silentEnd) && slices.Contains(p.zones[p.silentZone()], node)
}

// changed judges a status that is new.
func (v *verdict) changed(p *play, version uint64, pod *corev1.Pod) {
	v.statuses++
	if p.wasSilent(pod.Spec.NodeName, version) {
		v.heard = append(v.heard, pod.Name)
	}
	if p.within(version, restartStep-1, restartStep) {
		v.rewritten = append(v.rewritten, pod.Name)
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

// summarize writes what happened and what that proves. It returns ErrNotHeld if
// the fleet did something that it should not have.
func (p *play) summarize(unreached []string, out io.Writer) error {
	v, leases, steps := p.judge(), p.Leases(), len(p.marks)
	for _, change := range leases {
		if node := apiserver.MetaOf(change.Object).GetName(); p.wasSilent(node, change.Version) {
			v.heard = append(v.heard, node)
		}
	}
	var unobserved []string
	if v.statuses == 0 || v.deleted == 0 || len(leases) == 0 {
		unobserved = []string{"none"}
	}
	fmt.Fprintf(out, "\n%d statuses of pods were written, %d pods were removed.\n", v.statuses, v.deleted)
	demonstration.PrintCalls(out, p.Requests())
	var found demonstration.Findings[invariant.Invariant]
	for _, violation := range invariant.Check(p.End()) {
		found = append(found, demonstration.Finding[invariant.Invariant]{Rule: violation.Invariant, Text: violation.Text})
	}
	var claims demonstration.Claims
	claims.Add(unreached, "each of the %d steps got where it should", steps)
	claims.Add(found.Take("", invariant.Forward), "no count of restarts and no final phase went back")
	claims.Add(v.restarted, "only containers of the node that rebooted were restarted")
	claims.Add(v.heard, "nothing was written of silent nodes and their pods")
	claims.Add(v.rewritten, "the process that took over wrote no status again")
	claims.Add(slices.Concat(v.running, found.Take("", invariant.EndedFirst, invariant.EndShown)),
		"no container ran when its pod was removed")
	claims.Add(unobserved, "statuses, removals and leases were stored")
	claims.Add(found.Rest(), "everything else was as kubelets promise")
	return demonstration.PrintClaims(out, claims)
}
