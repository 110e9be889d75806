package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/options"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
)

// slackLate is how late a pod may leave: its node may recover within that time,
// and the pod need not leave then.
const slackLate = 5 * time.Second

// witness sees what the API server stores, and what the controller sends. It
// shares no code with the controller.
type witness struct {
	model.Unimpressed

	played *simulation.Simulation
	rules  *options.Options
	nodes  map[string]*nodeSeen
	pods   map[string]*podSeen
	calls  map[string]int
	// heard is when a heartbeat of any node was stored last, and back is when one
	// came last after none had for a grace period.
	heard, back time.Duration

	toUnknown, toTaint []time.Duration // after a node fell silent
	ready              []string        // nodes that were tainted though ready for a grace period
	whileDown          []string        // and those while all nodes were down, or just after
	wrong              []string        // pods that left without a reason
}

type nodeSeen struct {
	ready corev1.ConditionStatus
	// tainted says that it has a NoExecute taint, since then.
	tainted bool
	since   time.Duration
	taints  []time.Duration // when the calls that tainted it were sent
	// declaredIn and taintedIn are the last silences in which it was, by their
	// beginnings.
	declaredIn, taintedIn time.Duration
}

type podSeen struct {
	node, workload string
	must           bool // leave
	left           bool // is deleted, or terminating
}

// watch returns a witness of what happens from now on.
func watch(played *simulation.Simulation) *witness {
	w := &witness{
		played: played, rules: played.Options(), calls: map[string]int{},
		nodes: map[string]*nodeSeen{}, pods: map[string]*podSeen{},
	}
	for _, node := range played.World().Nodes() {
		w.nodes[node.Name] = &nodeSeen{ready: readyOf(node).Status}
	}
	for _, pod := range played.World().Pods() {
		w.pods[pod.Name] = &podSeen{node: pod.Spec.NodeName, workload: model.WorkloadOf(pod)}
	}
	played.World().Watch(w)
	return w
}

// Sent counts a call of the controller. The leader's lease is not its work.
func (w *witness) Sent(call *model.Call) {
	if call.Kind == model.LeaderLease {
		return
	}
	text := string(call.Verb) + " " + call.Kind.String()
	switch {
	case call.Verb == model.Evict:
		text = "create pods/eviction"
	case call.Subresource != "":
		text += "/" + call.Subresource
	}
	w.calls[text]++
}

// Beat follows when all nodes are down.
func (w *witness) Beat(*model.Machine) {
	now := w.played.Elapsed()
	if now > w.heard+w.rules.MonitorGracePeriod {
		w.back = now
	}
	w.heard = now
}

// WroteNode follows the condition Ready and the NoExecute taints of a node.
func (w *witness) WroteNode(write model.NodeWrite) {
	if write.Before == nil || write.After == nil {
		return
	}
	name, now := write.After.Name, w.played.Elapsed()
	n, is := w.nodes[name], readyOf(write.After)
	if is.Status == corev1.ConditionUnknown && n.ready != is.Status {
		w.toUnknown = w.measure(w.toUnknown, name, &n.declaredIn)
	}
	n.ready = is.Status
	tainted := slices.ContainsFunc(write.After.Spec.Taints,
		func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
	switch {
	case tainted && !n.tainted:
		n.tainted, n.since = true, now
		w.toTaint = w.measure(w.toTaint, name, &n.taintedIn)
		w.judgeTaint(n, write)
	case !tainted && n.tainted:
		w.judgePods(name, now)
		n.tainted = false
	}
}

func (w *witness) judgeTaint(n *nodeSeen, write model.NodeWrite) {
	sent := w.played.Elapsed()
	if write.Call != nil {
		sent = write.Call.SentAt
	}
	n.taints = append(n.taints, sent)
	grace, was := w.rules.MonitorGracePeriod, readyOf(write.Before)
	if sent >= w.heard+grace || w.back > 0 && sent < w.back+grace {
		w.whileDown = append(w.whileDown, write.After.Name)
	}
	if was.Status == corev1.ConditionTrue &&
		w.played.World().Wall().Sub(was.LastTransitionTime.Time) >= grace {
		w.ready = append(w.ready, write.After.Name)
	}
}

// judgePods finds the pods that had to leave a node until its taint was removed
// or the demonstration ended.
func (w *witness) judgePods(node string, until time.Duration) {
	for _, p := range w.pods {
		wait, leaves := tolerations[p.workload]
		if p.node == node && leaves && w.nodes[node].since+wait+slackLate <= until {
			p.must = true
		}
	}
}

// WrotePod follows pods that leave.
func (w *witness) WrotePod(write model.PodWrite) {
	if write.Before == nil || write.After != nil && write.After.DeletionTimestamp == nil {
		return
	}
	p := w.pods[write.Before.Name]
	if p == nil || p.left {
		return
	}
	p.left = true
	if _, leaves := tolerations[p.workload]; !leaves || !w.nodes[p.node].tainted {
		w.wrong = append(w.wrong, write.Before.Name)
	}
}

// measure appends for how long a node has been silent, unless that was done in
// this silence.
func (w *witness) measure(all []time.Duration, node string, doneIn *time.Duration) []time.Duration {
	var fell time.Duration
	for i := range script {
		if since, struck := w.played.Struck(i, node); struck {
			fell = max(fell, since)
		}
	}
	if fell == *doneIn {
		return all
	}
	*doneIn = fell
	return append(all, w.played.Elapsed()-fell)
}

func readyOf(node *corev1.Node) corev1.NodeCondition {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	return corev1.NodeCondition{}
}

// zoneSeen is what the view shows of a zone.
type zoneSeen struct{ ready, unknown, tainted, evicted int }

func (w *witness) zone(zone string) zoneSeen {
	var z zoneSeen
	for name, n := range w.nodes {
		if !isInZone(name, zone) {
			continue
		}
		switch n.ready {
		case corev1.ConditionTrue:
			z.ready++
		case corev1.ConditionUnknown:
			z.unknown++
		}
		if n.tainted {
			z.tainted++
		}
	}
	for _, p := range w.pods {
		if isInZone(p.node, zone) && p.left {
			z.evicted++
		}
	}
	return z
}

func isInZone(node, zone string) bool { return strings.HasPrefix(node, zone+"-") }

// verdict returns what the witness says of the controller up to now.
func (w *witness) verdict() *verdict {
	v := &verdict{
		zones: map[string]*zoneVerdict{}, calls: w.calls,
		toUnknown: w.toUnknown, toTaint: w.toTaint, wrong: w.wrong, ready: w.ready, whileDown: w.whileDown,
	}
	for name, n := range w.nodes {
		if n.tainted {
			w.judgePods(name, w.played.Elapsed())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		switch p := w.pods[name]; {
		case p.must && !p.left:
			v.mustLeave++
			v.missing = append(v.missing, name)
		case p.must:
			v.mustLeave++
			v.left++
		case p.left:
			v.left++
		}
	}
	for _, letter := range demoZones {
		zone := string(letter)
		z := &zoneVerdict{evicted: w.zone(zone).evicted}
		v.zones[zone] = z
		var taints []time.Duration
		for name, n := range w.nodes {
			if isInZone(name, zone) {
				taints = append(taints, n.taints...)
			}
		}
		z.tainted, z.peak = len(taints), peak(taints, w.rules.EvictionRate)
	}
	return v
}

// peak returns how fast taints came at most, over a rate a second.
func peak(taints []time.Duration, rate float64) (most float64) {
	slices.Sort(taints)
	for i := range taints {
		for j := i + 1; j < len(taints); j++ {
			between := (taints[j] - taints[i]).Seconds()
			most = max(most, float64(j-i+1)/(1+rate*between))
		}
	}
	return most
}
