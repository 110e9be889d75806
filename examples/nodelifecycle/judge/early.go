package judge

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

const (
	// NeverEarly: a pod is made to leave only when it is due, by what can have
	// reached the process. The delete names a UID. [E1, E2, E3, E4, E9, Z3]
	NeverEarly Invariant = "never early"
	// NotDeclaredAlive: a node becomes Unknown only after a grace period in which
	// none of its heartbeats was stored and the process could have heard one.
	// [H2, H4]
	NotDeclaredAlive Invariant = "not declared while alive"
	// KnownFirst: the first nodes of a zone that fall are not given our NoExecute
	// taint before all that fall with them have had the time to. [Z5]
	KnownFirst Invariant = "known before it is acted on"
)

var early = rules{
	leaving:   []func(*sent){leavesWhenDue},
	nodeWrite: []func(*sent, model.NodeWrite){declaredWhenSilent},
	turn:      []func(*sent, *node){knownFirst, startedUp},
}

// A pod leaves when its tolerations of the node's taints have ended, or its node
// is emptied.
func leavesWhenDue(s *sent) {
	switch due := s.due.any; {
	case due == never:
		s.charge(NeverEarly, "it need not leave node %s: %s", s.pod.on.name, s.describe())
	case s.at+s.settings.Skew < due:
		s.charge(NeverEarly, "it is due on node %s at %v: %s", s.pod.on.name, due, s.describe())
	}
}

// judgeDeletion judges a call that makes a pod leave, or that only a
// PodDisruptionBudget keeps from it.
func (s *sent) judgeDeletion() {
	if uidOf(s.call) == "" {
		s.accuse(NeverEarly, "it does not say which UID")
	}
	if p := s.pods[s.call.Name]; p != nil && s.pod != p {
		s.accuse(NeverEarly, "it was on no node when the call was sent")
	}
	s.convict()
}

// A node is declared after a grace period without a heartbeat. Time in which the
// process could not hear does not count. A new node has the startup grace period.
func declaredWhenSilent(s *sent, w model.NodeWrite) {
	n, had, has := s.node, model.ReadyStatus(w.Before), model.ReadyStatus(w.After)
	if has != corev1.ConditionUnknown || had == has || n.machine == nil {
		return
	}
	deaf := s.process.deaf(s.beat, s.at)
	if s.beat >= n.created && s.at < s.beat+deaf+s.settings.Grace {
		s.accuse(NotDeclaredAlive, "it has beaten at %v, and could not have been heard for %v since", s.beat, deaf)
	}
	if had == "" && n.machine.LastBeat < n.created && s.at < n.created+s.settings.StartupGrace {
		s.accuse(NotDeclaredAlive, "it was created only at %v", n.created)
	}
}

// A node that has never reported is left alone for the startup grace period.
func startedUp(s *sent, n *node) {
	if !reported(n.object) && s.at < n.created+s.settings.StartupGrace {
		s.charge(NotDeclaredAlive, "it has never reported, but it was created only at %v", n.created)
	}
}

// When a node falls, the others of its zone that fall with it do so within a
// wave. Until then it is not known whether the zone is disrupted.
func knownFirst(s *sent, n *node) {
	if known := s.knownAt(n); s.at < known {
		s.charge(KnownFirst, "node %s fell at %v, and what fell with it in zone %s has done so by %v",
			n.name, n.fell, n.zone, known)
	}
}

// knownAt returns the earliest time at which it is known what has happened to the
// zone of a node that has fallen: one wave after the first that fell. The next
// fall after a wave begins another. It is -1 where that cannot be said: two waves
// blur, or a process may have found nodes silent at other times than they were.
func (s *sent) knownAt(n *node) time.Duration {
	p, settings := s.process, &s.settings
	if n.fell == never {
		return -1
	}
	wave, blur := settings.wave(), settings.lag()
	falls, sure := s.fallsBefore(n, 2*wave+blur)
	from := falls[0] - settings.Grace - 2*settings.BlindAfter
	sure = sure && s.cluster.moved < falls[0]-2*wave-blur && s.informed(p) <= from && p.led >= 0 && p.led <= falls[0]
	if !sure || p.full() || p.busy >= falls[0] || p.resumedAt >= from || p.deaf(from, s.at) > 0 {
		return -1
	}
	began := falls[0]
	for _, at := range falls {
		switch {
		case at >= began+wave+blur:
			began = at
		case at >= began+wave-blur:
			return -1
		}
	}
	return began + wave
}

// fallsBefore returns when nodes of a node's zone fell, up to that node, from the
// first one after a time without any. It is not sure if one has fallen again since.
func (j *Judge) fallsBefore(n *node, quiet time.Duration) (falls []time.Duration, sure bool) {
	sure = true
	for _, other := range j.inOrder {
		if other.zone == n.zone && other.lastFell >= 0 {
			sure = sure && other.lastFell <= n.fell
			falls = append(falls, min(other.lastFell, n.fell))
		}
	}
	slices.Sort(falls)
	first := len(falls) - 1
	for first > 0 && falls[first]-falls[first-1] <= quiet {
		first--
	}
	return falls[first:], sure
}
