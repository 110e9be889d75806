package judge

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

const (
	// SparedInOutage: no node gets our NoExecute taint, and none keeps it, while
	// all zones are down or a flag asks for a pause. It gets none within a window
	// after that, or after the process has started, or begun to lead. [Z3, Z5]
	SparedInOutage Invariant = "spared in an outage"
	// UntaintedByABeat: a taint that says that a node is ill goes only if the node
	// has beaten since the process started. NoExecute may also go while all zones
	// are down. [H1, Z3]
	UntaintedByABeat Invariant = "untainted by a beat only"
	// OthersUntouched: a patch changes only what the controller owns. [T2, E6]
	OthersUntouched Invariant = "others untouched"
	// TimesTold: TimeAdded and lastTransitionTime are the time of day of the
	// decision, and an older TimeAdded of the lineage stays. [T4]
	TimesTold Invariant = "times as they are"
	// AsConfigured: pods leave by the action that the flags name, those of
	// DaemonSets stay if they say so, and nodes are tainted NoExecute only if pods
	// leave for taints. [E7, E9]
	AsConfigured Invariant = "as configured"
	// Halted: a process that was halted makes no pod leave and gives no node our
	// NoExecute taint. [C7]
	Halted Invariant = "halted"
)

var wrong = rules{
	turn:      []func(*sent, *node){sparedInOutage, sparedWhenNoneIsHeard, taintedOnlyIfConfigured, haltedNodes},
	leaving:   []func(*sent){leavesOnlyIfAnyIsHeard, haltedPods, leavesAsConfigured},
	nodeWrite: []func(*sent, model.NodeWrite){untaintedByABeat, timesOfNodes, nodesOfOthers},
	podWrite:  []func(*sent, model.PodWrite){podsOfOthers},
	node:      []func(*checking, *node){keepsNoTaint},
}

// While all zones are down nothing is done against nodes, nor for a window after
// that, or after the caches are filled, or after the process has begun to lead.
func sparedInOutage(s *sent, _ *node) {
	p := s.process
	if starts := max(p.synced, p.led) + s.settings.Window; p.synced < 0 || s.at < starts {
		s.charge(SparedInOutage, "the window after the start of the process ends at %v", starts)
	}
	if s.paused() {
		s.charge(SparedInOutage, "all zones are down, or a flag asks for a pause: %+v", s.cluster.paused)
	}
}

// A process that hears of no node has no reason to act on one, whether or not it is
// calm. The clock of a machine that is suspended stands still.
func sparedWhenNoneIsHeard(s *sent, _ *node) {
	last := s.process.heard
	for _, other := range s.inOrder {
		if other.object != nil && !excluded(other.object) {
			last = max(last, other.heard)
		}
	}
	if s.after > last+s.settings.Grace+s.process.client.SuspendedFor(last, s.at)+s.settings.bound() {
		s.charge(SparedInOutage, "no node has beaten since %v, nor was the process shown an earlier heartbeat since",
			last)
	}
}

// No pod leaves for a taint of ours while no node is heard.
func leavesOnlyIfAnyIsHeard(s *sent) {
	if s.at+s.settings.Skew < s.due.others {
		sparedWhenNoneIsHeard(s, s.pod.on)
	}
}

// When all zones are down, our NoExecute taints are taken off.
func keepsNoTaint(c *checking, n *node) {
	o := &c.cluster.outage
	if o.ongoing && illnessOf(n.object, executes) != nil &&
		c.late(n.written.asked(max(o.from, n.latest().at), longestProtectiveWait), recoveries) {
		c.violated(SparedInOutage, n.name+"/kept",
			"node %s has a NoExecute taint of ours, and all zones are down since %v", n.name, o.from)
	}
}

// Only a heartbeat shows that a node is well again.
func untaintedByABeat(s *sent, w model.NodeWrite) {
	if m := s.node.machine; m != nil && m.LastBeat >= s.process.started {
		return
	}
	for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, executes} {
		had := illnessOf(w.Before, effect)
		mayGo := effect == executes && s.after <= s.mayRest(s.process, &s.cluster.maybeOutage)
		if had != nil && illnessOf(w.After, effect) == nil && !mayGo {
			s.accuse(UntaintedByABeat, "taint %s:%s goes, and it has not beaten since the process started at %v",
				had.Key, effect, s.process.started)
		}
	}
}

// Times are those of the decision. A taint that takes the place of another of its
// lineage keeps the older one's.
func timesOfNodes(s *sent, w model.NodeWrite) {
	if ready := condition(w.After, corev1.NodeReady); ready != nil && ready.Status == corev1.ConditionUnknown &&
		model.ReadyStatus(w.Before) != ready.Status {
		s.judgeTime("the condition Ready", ready.LastTransitionTime)
	}
	had, has := illnessOf(w.Before, executes), illnessOf(w.After, executes)
	switch {
	case has == nil:
	case has.TimeAdded.IsZero() && (had == nil || had.Key != has.Key):
		s.accuse(TimesTold, "it gets taint %s without TimeAdded", has.Key)
	case had == nil:
		s.judgeTime("taint "+has.Key, *has.TimeAdded)
	case !had.TimeAdded.IsZero() && has.TimeAdded.After(had.TimeAdded.Time):
		s.accuse(TimesTold, "TimeAdded was %v (%s) and becomes %v (%s)", had.TimeAdded, had.Key, has.TimeAdded, has.Key)
	}
}

// judgeTime judges the time of day that a process writes for what it does. It
// has whole seconds.
func (s *sent) judgeTime(of string, written metav1.Time) {
	at, skew := s.sinceStart(written.Time), s.settings.Skew
	if at < s.after-time.Second-skew || at > s.at+skew {
		s.accuse(TimesTold, "the time of %s is said to be %v", of, at)
	}
}

// Nodes that are emptied are not tainted NoExecute.
func taintedOnlyIfConfigured(s *sent, _ *node) {
	if s.settings.ByNode && s.node != nil {
		s.charge(AsConfigured, "it gets our NoExecute taint, but nodes are emptied without")
	}
}

// Pods leave by the action that the flags name. What is evicted first is deleted
// only after its time.
func leavesAsConfigured(s *sent) {
	action, verb, asked := s.settings.Action, s.call.Verb, s.due.asked
	switch {
	case s.settings.SpareDaemons && isDaemon(s.pod.object):
		s.charge(AsConfigured, "a DaemonSet owns it")
	case action == DryRun, verb == network.Evict && !s.settings.evicts(), verb == network.Delete && action == Evict:
		s.charge(AsConfigured, "the action is %s", action)
	case verb == network.Delete && s.settings.evicts() && asked != never &&
		s.at+s.settings.Skew < asked+s.settings.EvictFor:
		s.charge(AsConfigured, "it is due since %v, and to be evicted until %v", asked, asked+s.settings.EvictFor)
	}
}

// halt is since when something is halted, or since when it is not any more.
type halt struct {
	halted bool
	since  time.Duration
}

func (h *halt) set(halted bool, now time.Duration) {
	if h.halted != halted {
		*h = halt{halted, now}
	}
}

// No node is tainted by a process that is halted.
func haltedNodes(s *sent, _ *node) { haltedPods(s) }

// No pod is made to leave by a process that is halted.
func haltedPods(s *sent) {
	s.halt.set(s.world.Lock().Halted, s.at)
	since, calm := s.subject.Calm()
	known := max(since+s.settings.CalmBound, s.halt.since) + s.settings.bound()
	switch shown := &s.process.halt; {
	case shown.halted && s.after >= shown.since:
		s.charge(Halted, "it was shown at %v that it is halted", shown.since)
	case s.halt.halted && calm && s.at > known:
		s.charge(Halted, "its leader is halted since %v", s.halt.since)
	}
}
