package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// summarize writes what happened, and returns what that proves.
func (d *demo) summarize(out io.Writer, _ []string) (demonstration.Claims, error) {
	summary := d.recorder.Document().Summary
	fmt.Fprintln(out, "\nWhat the API server stored and was asked for:")
	if err := summary.Write(out); err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "from silence to Unknown: %s\n", d.witness.toUnknown)
	fmt.Fprintf(out, "from silence to taint:   %s\n", d.witness.toTaint)
	d.judge.End()
	return claims(&summary, d.witness.ready, d.judge.Violations()), nil
}

// claims says what a summary proves, with the nodes that were tainted though
// they were ready, and what the judge has found.
func claims(summary *report.Summary, ready []string, violations []judge.Violation) (all demonstration.Claims) {
	var found demonstration.Findings[judge.Invariant]
	for _, v := range violations {
		found = append(found, demonstration.Finding[judge.Invariant]{Rule: v.Invariant, Text: v.Text})
	}
	evicted, late := summary.Cluster.Pods.Evicted, found.Take("", judge.InTime, judge.EvictedInOrder)
	all.Add(late, "each of the %d pods that had to leave left in time", evicted+len(late))
	all.Add(slices.Concat(found.Take("", judge.AsConfigured),
		found.Take("need not leave", judge.NeverEarly)), "each of the %d pods that left had a reason to", evicted)
	all.Add(found.Take("", judge.NeverEarly), "no pod left before its toleration ended")
	for i := range summary.Zones {
		zone := summary.Zones[i].Name
		all.Add(found.Take(" node "+zone+"-", judge.WithinRate, judge.KnownFirst),
			"zone %s stayed within its rate", zone)
	}
	all.Add(found.Take("", judge.DeclaredInTime, judge.NoIdleToken),
		"each silent node was declared, and tainted, in time")
	all.Add(found.Take("", judge.NotDeclaredAlive),
		"no node was declared that had a heartbeat in its grace period")
	all.Add(ready, "no node was tainted that had been ready for a grace period")
	all.Add(found.Take("", judge.SparedInOutage),
		"no node was tainted while all were down, nor a grace period after")
	left := slices.ContainsFunc(summary.Departures, func(d report.Departure) bool { return d.Step == forGood })
	all.Add(demonstration.Unless(left, "none of the nodes that are silent for good;"), "pods had to leave, and did")
	all.Add(found.Rest(), "everything else was as the controller promises")
	return all
}

// witness sees which nodes the controller writes to that are silent.
type witness struct {
	model.Unimpressed

	played             *simulation.Simulation
	toUnknown, toTaint delays
	ready              []string // nodes that were tainted though ready for a grace period
}

// delays are how long each silence of a node lasted when the first write
// followed from it.
type delays map[silence]time.Duration

type silence struct {
	node  string
	since time.Duration
}

// WroteNode follows the condition Ready and the NoExecute taints of a node.
func (w *witness) WroteNode(write model.NodeWrite) {
	if write.Call == nil || write.Before == nil || write.After == nil {
		return
	}
	was, is := demonstration.ReadyOf(write.Before), demonstration.ReadyOf(write.After)
	if is.Status == corev1.ConditionUnknown && was.Status != is.Status {
		w.measure(w.toUnknown, write.After.Name)
	}
	if !isTainted(write.After) || isTainted(write.Before) {
		return
	}
	w.measure(w.toTaint, write.After.Name)
	readyFor := w.played.World().Now().Sub(was.LastTransitionTime.Time)
	if was.Status == corev1.ConditionTrue && readyFor >= w.played.Options().GracePeriod() {
		w.ready = append(w.ready, write.After.Name)
	}
}

// measure records how long a node is silent, unless it was recorded of this
// silence.
func (w *witness) measure(all delays, node string) {
	now := silence{node: node}
	for i := range titles {
		since, _ := w.played.Struck(i, node)
		now.since = max(now.since, since)
	}
	if _, followed := all[now]; !followed {
		all[now] = w.played.Elapsed() - now.since
	}
}

func isTainted(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints,
		func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
}

// String shows the shortest delay, the middle one and the longest.
func (d delays) String() string {
	if len(d) == 0 {
		return "none"
	}
	sorted := slices.Sorted(maps.Values(d))
	return fmt.Sprintf("%.1fs first, %.1fs median, %.1fs last (%d times)", sorted[0].Seconds(),
		sorted[len(d)/2].Seconds(), sorted[len(d)-1].Seconds(), len(d))
}
