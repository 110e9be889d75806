package main

import (
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// verdict is what the script alone can tell of the fleet, because it knows what
// has happened to which node. The invariants tell the rest.
type verdict struct {
	statuses, deleted int

	restarted []string // and nothing had happened to it
	heard     []string // of a silent node
	rewritten []string // by the process that took over
}

// judge follows each object through the history.
func (d *demo) judge() (v verdict) {
	hear := func(what, node string, version uint64) {
		if d.during(silentStep, version) && slices.Contains(d.silent, node) {
			v.heard = append(v.heard, what)
		}
	}
	for _, change := range d.History().Changes {
		name := change.Object().GetName()
		before, _ := change.Before.(*corev1.Pod)
		after, stays := change.After.(*corev1.Pod)
		switch {
		case change.Kind == network.Nodes:
			hear(name, name, change.Version)
		case !stays:
			v.deleted++
		case before != nil && !equality.Semantic.DeepEqual(before.Status, after.Status):
			v.statuses++
			hear(name, after.Spec.NodeName, change.Version)
			if d.during(restartStep, change.Version) {
				v.rewritten = append(v.rewritten, name)
			}
			if change.By != nil && restarts(after) > restarts(before) && after.Spec.NodeName != d.nodes[0] {
				v.restarted = append(v.restarted, name)
			}
		}
	}
	for _, change := range d.Records(network.Leases) {
		node := apiserver.MetaOf(change.Object).GetName()
		hear(node, node, change.Version)
	}
	slices.Sort(v.restarted)
	v.restarted = slices.Compact(v.restarted)
	return v
}

// during reports whether a version was stored in a step.
func (d *demo) during(step int, version uint64) bool {
	return step < len(d.Ends) && version > d.Ends[step-1].version && version <= d.Ends[step].version
}

// summarize writes what happened, and returns what that proves.
func (d *demo) summarize(out io.Writer, unreached []string) (claims demonstration.Claims, _ error) {
	v, leases := d.judge(), len(d.Records(network.Leases))
	fmt.Fprintf(out, "\n%d statuses of pods were written, %d pods were removed.\n", v.statuses, v.deleted)
	demonstration.PrintCalls(out, d.Requests)
	var found demonstration.Findings[invariant.Invariant]
	for _, violation := range invariant.Check(d.End()) {
		found = append(found, demonstration.Finding[invariant.Invariant]{Rule: violation.Invariant, Text: violation.Text})
	}
	claims.Add(unreached, "each of the %d steps got where it should", len(d.Ends))
	claims.Add(found.Take("", invariant.Forward), "no count of restarts and no final phase went back")
	claims.Add(v.restarted, "only containers of the node that rebooted were restarted")
	claims.Add(v.heard, "nothing was written of silent nodes and their pods")
	claims.Add(v.rewritten, "the process that took over wrote no status again")
	claims.Add(found.Take("", invariant.EndedFirst, invariant.EndShown), "no container ran when its pod was removed")
	claims.Add(demonstration.Unless(v.statuses > 0 && v.deleted > 0 && leases > 0, "none"),
		"statuses, removals and leases were stored")
	claims.Add(found.Rest(), "everything else was as kubelets promise")
	return claims, nil
}
