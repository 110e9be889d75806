package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/judge"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// ran is a run that is over.
type ran struct {
	trial   trial
	what    written
	reached bool
	calls   []written
	// early is the outcome when the time is over in which it must come out,
	// outcome that at the end.
	early, outcome outcome
	lastCall       time.Duration
	violations     []judge.Violation
	err            error
	// surfaced says that a silent kubelet was heard once. New pods may have been
	// bound to its node, and have to leave it with the others.
	surfaced bool
}

// unlike says in what a run differs from one that was not perturbed.
func (r *ran) unlike(plain *ran) string {
	switch {
	case r.err != nil:
		return r.err.Error()
	case len(r.violations) > 0:
		return r.violations[0].String()
	}
	var texts []string
	for when, got := range map[string]outcome{"when there should be quiet": r.early, "at the end": r.outcome} {
		want := maps.Clone(plain.outcome)
		if r.surfaced {
			got = maps.Clone(got)
			for _, about := range []string{replacementsEvicted, podsTerminating} {
				delete(got, about)
				delete(want, about)
			}
		}
		for _, text := range got.unlike(want) {
			texts = append(texts, when+": "+text)
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

// sieve runs a scenario with a perturbation, or none.
func sieve(name string, seed uint64, p *perturbation, changes ...func(*scenario.Scenario)) *ran {
	description, err := sieved(name, seed)
	if err != nil {
		return &ran{err: err}
	}
	for _, change := range changes {
		change(description)
	}
	last := lastChange(description)
	if p != nil {
		last = max(last, p.over())
	}
	quiet := last + quietAfter
	description.Duration = scenario.Duration(quiet + quietFor)
	s, err := simulation.New(description)
	if err != nil {
		return &ran{err: err}
	}
	result := &ran{}
	judge := s.Judge()
	judge.Quiet(quiet)
	w := &writes{simulation: s, leases: name == "control-plane-pause"}
	s.World().Watch(w)
	chronicle := newChronicle(s.World())
	s.World().Watch(chronicle)
	if p != nil {
		result.trial, result.what = p.trial, p.call
		p.plan(s, w)
	}
	s.World().At(quiet, func() { result.early = chronicle.outcome(s) })
	s.Run()
	judge.End()
	result.calls, result.lastCall = w.calls, w.lastAt-last
	result.reached = p != nil && p.reached
	result.violations = judge.Violations()
	result.outcome = chronicle.outcome(s)
	result.surfaced = p != nil && p.surfaced
	return result
}

// writes counts what an acting controller writes: nodes and pods, or the
// leader's lease of a run in which it writes nothing else.
type writes struct {
	model.Unimpressed
	simulation *simulation.Simulation
	leases     bool
	calls      []written
	last       *network.Call
	lastAt     time.Duration // of a call that is not about the leader's lease
}

// Sent counts a call.
func (w *writes) Sent(call *network.Call) {
	if call.Kind != network.LeaderLease {
		w.lastAt = call.SentAt
	}
	acting := w.simulation.Acting()
	if call.Verb == network.Get || call.Verb == network.List || w.leases != (call.Kind == network.LeaderLease) ||
		acting == nil || acting.Client() != call.Client {
		return
	}
	w.last = call
	w.calls = append(w.calls, written{call.Verb, call.Kind, call.Name, call.SentAt})
}

// What an outcome tells of pods that may be others after a perturbation.
const (
	replacementsEvicted = "replacements evicted"
	podsTerminating     = "pods terminating"
)

// outcome is what a user would name of a run, except times: names of what it
// was about, by what has happened to it.
type outcome map[string][]string

// unlike says what differs from another outcome.
func (o outcome) unlike(other outcome) []string {
	var texts []string
	abouts := slices.AppendSeq(slices.Collect(maps.Keys(o)), maps.Keys(other))
	slices.Sort(abouts)
	for _, about := range slices.Compact(abouts) {
		got, want := o[about], other[about]
		if slices.Equal(got, want) {
			continue
		}
		more := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return slices.Contains(want, s) })
		less := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return slices.Contains(got, s) })
		texts = append(texts, fmt.Sprintf("%s: besides those of the undisturbed run %v, missing %v", about, more, less))
	}
	return texts
}

// chronicle records what the API server stored.
type chronicle struct {
	model.Unimpressed
	first                   map[string]bool // UIDs of the pods from the beginning
	declared, tainted, left map[string]bool
	replaced                map[string]int // replacements that were made to leave too, by workload
}

func newChronicle(w *model.World) *chronicle {
	c := &chronicle{
		first: make(map[string]bool), declared: make(map[string]bool), tainted: make(map[string]bool),
		left: make(map[string]bool), replaced: make(map[string]int),
	}
	for _, pod := range w.Pods() {
		c.first[string(pod.UID)] = true
	}
	return c
}

// WroteNode records which nodes a controller declares and taints.
func (c *chronicle) WroteNode(w model.NodeWrite) {
	if w.Call == nil || w.After == nil {
		return
	}
	if readyOf(w.After) == corev1.ConditionUnknown {
		c.declared[w.After.Name] = true
	}
	for _, taint := range w.After.Spec.Taints {
		if taint.Effect == corev1.TaintEffectNoExecute && strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
			c.tainted[w.After.Name] = true
		}
	}
}

// WrotePod records which pods a controller makes leave.
func (c *chronicle) WrotePod(w model.PodWrite) {
	if w.Call == nil || w.Before == nil || w.Before.DeletionTimestamp != nil ||
		w.After != nil && w.After.DeletionTimestamp == nil {
		return
	}
	if c.first[string(w.Before.UID)] {
		c.left[w.Before.Name] = true
		return
	}
	c.replaced[model.WorkloadOf(w.Before)]++
}

func readyOf(node *corev1.Node) corev1.ConditionStatus {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			return node.Status.Conditions[i].Status
		}
	}
	return ""
}

// outcome adds what is there at the end.
func (c *chronicle) outcome(s *simulation.Simulation) outcome {
	o := outcome{
		"nodes declared": slices.Sorted(maps.Keys(c.declared)),
		"nodes tainted":  slices.Sorted(maps.Keys(c.tainted)),
		"pods evicted":   slices.Sorted(maps.Keys(c.left)),
	}
	o[replacementsEvicted] = numbers(c.replaced)
	for _, node := range s.World().Nodes() {
		var all []string
		for _, taint := range node.Spec.Taints {
			all = append(all, fmt.Sprintf("%s:%s", taint.Key, taint.Effect))
		}
		slices.Sort(all)
		o["nodes"] = append(o["nodes"],
			fmt.Sprintf("%s is ready: %s, cordoned: %t, tainted: %v", node.Name, readyOf(node), node.Spec.Unschedulable, all))
	}
	running, terminating := make(map[string]int), make(map[string]int)
	for _, pod := range s.World().Pods() {
		state := model.WorkloadOf(pod) + podState(pod)
		if pod.DeletionTimestamp != nil {
			terminating[state]++
		} else {
			running[state]++
		}
	}
	o["pods"], o[podsTerminating] = numbers(running), numbers(terminating)
	if acting := s.Acting(); acting != nil {
		know := acting.Knowledge()
		o["phase"] = []string{string(know.Phase)}
		for _, z := range know.Zones {
			o["zones"] = append(o["zones"], fmt.Sprintf("%s is %s", z.Zone, z.State))
		}
		slices.Sort(o["zones"])
	}
	return o
}

func numbers(of map[string]int) []string {
	var all []string
	for what, n := range of {
		all = append(all, fmt.Sprintf("%d times %s", n, what))
	}
	slices.Sort(all)
	return all
}

func podState(pod *corev1.Pod) string {
	text := ""
	if pod.Spec.NodeName == "" {
		text += ", unbound"
	}
	for i := range pod.Status.Conditions {
		switch c := &pod.Status.Conditions[i]; c.Type {
		case corev1.PodReady:
			text += ", ready: " + string(c.Status)
		case corev1.DisruptionTarget:
			text += ", marked: " + string(c.Status)
		}
	}
	return text
}
