package controller

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
)

// silences is the part that finds out which nodes are silent, and has that
// recorded. It is told of nodes, leases and answers of the API server, and how
// reads and declarations ended. It hands out live reads of leases and
// declarations, and returns what follows for a node as a consequence. It reads
// objects.
type silences struct {
	config  Config
	objects *objects
	health  *nodehealth.NodeMonitor
	// fixedGrace: no heartbeat makes a grace period end earlier.
	fixedGrace bool

	// reads are the live reads of those that are suspected. Declarations holds
	// those whose silence was confirmed.
	reads        reads
	declarations *timedqueue.Queue[string, *node]

	// unconfirmed are the silences that are not confirmed. Behind are the nodes
	// that have shown life to a live read, and not to the watch since. Refuted
	// counts the silences that a live read has refuted.
	unconfirmed, behind tally
	refuted             int

	// blindnesses is one more than how many have ended, as followed last.
	blindnesses uint32
}

func newSilences(config Config, o *objects, now time.Time) (*silences, error) {
	s := &silences{
		config: config, objects: o, blindnesses: 1,
		fixedGrace: config.Health.Detector == nil && config.Health.Combine == nil,
	}
	var err error
	if s.health, err = nodehealth.NewNodeMonitor(config.Health, now); err != nil {
		return nil, err
	}
	s.reads = reads{health: s.health, backoff: config.Backoff}
	s.declarations, err = timedqueue.NewQueue(timedqueue.QueueConfig[string, *node]{
		Backoff: config.Backoff,
	}, now)
	return s, err
}

// regains reports whether heartbeats can be heard again after a blindness, and
// that was not known.
func (s *silences) regains() bool {
	before := s.blindnesses
	s.blindnesses = 1 + s.health.Blindnesses()
	return s.blindnesses != before
}

// nextSight returns when each node has had time to be heard since the API server
// did not answer, while it has not.
func (s *silences) nextSight(now time.Time) (time.Time, bool) {
	at := s.health.Sight(now).RegainedAt
	return at.Add(s.health.Config().UnbrokenPeriod), !at.IsZero()
}

// onlyBeats reports whether a heartbeat of a node changes nothing but when it
// was heard last. The first one after a blindness does. With a detector it may
// also end a grace period earlier. The name is passed because reading it from
// the node's object costs as much as the rest: nothing else of a heartbeat
// needs that memory.
func (s *silences) onlyBeats(n *node, name string) bool {
	return n.state == steady && n.silence == nil && !n.behind && s.fixedGrace &&
		n.blindnesses == s.blindnesses && !s.health.Silent(name)
}

// observeLease records a lease of a node, which is nil if it is not known.
func (s *silences) observeLease(
	now time.Time, n *node, lease *coordinationv1.Lease,
) consequence {
	name := lease.Name
	if n == nil || s.onlyBeats(n, name) {
		s.health.ObserveLease(now, lease)
		return unchanged
	}
	heard, wasSilent := s.health.HasHeartbeat(name), n.notReady() && s.isSilent(n)
	s.health.ObserveLease(now, lease)
	s.setBehind(now, n, false)
	follows := max(recounts, s.noticeHeartbeat(now, n))
	if !heard || wasSilent && !s.isSilent(n) {
		return replans // it vouches for the conditions, and a node that is heard waits for no zone
	}
	return follows
}

// forget drops what is known of a node that was deleted. A write that is under
// way ends its silence.
func (s *silences) forget(now time.Time, n *node) {
	name := n.object.Name
	s.health.ForgetNode(now, name)
	switch silence := n.silence; {
	case silence == nil:
	case silence.state == declaring || silence.state == overtaken:
		s.declarations.Remove(name)
		n.silence = nil
	default:
		s.drop(now, n, nodehealth.OutcomeFailed)
	}
	s.setBehind(now, n, false)
}

// isSilent reports whether a node is silent, which was confirmed, and was not
// heard since.
func (s *silences) isSilent(n *node) bool {
	name := n.object.Name
	confirmed := !n.silence.lasts() || n.silence.isConfirmed()
	return confirmed && s.health.Silent(name) && !s.health.Returning(name)
}

// recovering reports whether a node that was silent is ready again, but not yet
// for the recovery period. Meanwhile it keeps its taints not-ready and
// unreachable, and gets none. Its zone counts what it reports.
func (s *silences) recovering(n *node) bool {
	return s.config.Health.RecoveryPeriod > 0 && n.ready == corev1.ConditionTrue &&
		s.health.Silent(n.object.Name)
}

// collect takes the next node whose grace period has ended since, or nil. That
// it is silent counts from now on. Visits is how many may be looked at.
func (s *silences) collect(now time.Time, visits *int) (*node, consequence) {
	task, ok := s.health.StartWithin(now, visits)
	if !ok {
		return nil, unchanged
	}
	n := s.objects.nodes[task.Key]
	if task.State == nodehealth.StateSilent {
		return n, s.begin(now, n, task)
	}
	// Alive: its kubelet writes that down, or has done so.
	s.health.Finish(now, task, nodehealth.Result{Outcome: nodehealth.OutcomeDone})
	if s.config.Health.RecoveryPeriod > 0 {
		return n, replans
	}
	return n, unchanged
}

// begin records that a node has fallen silent.
func (s *silences) begin(now time.Time, n *node, task nodehealth.NodeTask) consequence {
	n.silence = &silence{task: task, since: now}
	s.unconfirmed.add(now, +1)
	s.reads.add(n)
	if s.config.DeclareUnconfirmed {
		return s.confirm(now, n)
	}
	return recounts
}

// confirm records that a node is silent by all that can be known. One that was
// heard since it was declared waits for its zone again.
func (s *silences) confirm(now time.Time, n *node) consequence {
	silence := n.silence
	if !silence.isConfirmed() {
		s.unconfirmed.add(now, -1)
	}
	silence.confirmedAt = now
	s.setBehind(now, n, false)
	s.enter(n, confirmed)
	s.declarations.Add(n.object.Name, n, silence.since)
	if n.notReady() {
		return replans
	}
	return recounts
}

// end records what became of a silence that was not handed to a write, or whose
// write has ended. A heartbeat vouches for the conditions of its node, and it
// waits for no zone.
func (s *silences) end(now time.Time, n *node, outcome nodehealth.Outcome) consequence {
	silence := n.silence
	s.drop(now, n, outcome)
	if outcome == nodehealth.OutcomeAlive || silence.state == overtaken {
		return replans
	}
	return recounts
}

func (s *silences) drop(now time.Time, n *node, outcome nodehealth.Outcome) {
	silence := n.silence
	if silence.state == suspected {
		s.reads.remove(silence)
	}
	s.reads.setFailures(silence, 0)
	if !silence.isConfirmed() {
		s.unconfirmed.add(now, -1)
	}
	s.declarations.Remove(n.object.Name)
	n.silence = nil
	s.health.Finish(now, silence.task, nodehealth.Result{Outcome: outcome})
}

// noticeHeartbeat ends the silence of a node if it was heard since, or has a
// longer grace period now.
func (s *silences) noticeHeartbeat(now time.Time, n *node) consequence {
	silence := n.silence
	if silence == nil {
		return unchanged
	}
	last, _ := s.health.LastHeartbeat(n.object.Name)
	if last.Equal(silence.task.Since) && !s.health.Returning(n.object.Name) {
		return unchanged
	}
	switch silence.state {
	case declaring:
		s.enter(n, overtaken)
		return recounts
	case overtaken:
		return unchanged
	}
	// The monitor has heard it, and counts that more than the outcome.
	return s.end(now, n, nodehealth.OutcomeFailed)
}

// enter puts a silence into a state, and into the collection that goes with it.
// It is the only function that does.
func (s *silences) enter(n *node, next silenceState) {
	silence := n.silence
	if silence.state == suspected {
		s.reads.remove(silence)
	}
	if silence.state = next; next == suspected {
		s.reads.add(n)
	}
}

// setBehind records whether the last sign of life of a node is a live read.
func (s *silences) setBehind(now time.Time, n *node, behind bool) {
	if n.behind == behind {
		return
	}
	if n.behind = behind; behind {
		s.behind.add(now, +1)
	} else {
		s.behind.add(now, -1)
	}
}

// startRead hands out the next live read.
func (s *silences) startRead(now time.Time) (LeaseRead, bool) {
	n, ok := s.reads.start(now)
	if n == nil {
		return LeaseRead{}, ok
	}
	s.enter(n, reading)
	return LeaseRead{Node: n.object, silence: n.silence}, true
}

// leaseRead takes the lease of one node, which is nil if it was deleted.
func (s *silences) leaseRead(
	now time.Time, n *node, read LeaseRead, leases Leases,
) consequence {
	if n == nil || n.silence != read.silence || n.silence.state != reading {
		return unchanged // heard or deleted
	}
	s.enter(n, suspected)
	if !s.reads.oneRead(now, n.silence, leases) {
		return unchanged
	}
	return s.decide(now, n, leases.Versions)
}

// compare decides about the next suspect by the last list of leases. It returns
// nil if there is none.
func (s *silences) compare(now time.Time, visits *int) (*node, consequence) {
	n, versions := s.reads.compare(visits)
	if n == nil {
		return nil, unchanged
	}
	return n, s.decide(now, n, versions)
}

// decide finds out whether a suspect is silent, by the versions of leases that
// a live read has shown. That the API server has no lease is no sign of life.
func (s *silences) decide(now time.Time, n *node, versions map[string]string) consequence {
	name := n.object.Name
	switch {
	case s.health.ReadLease(name, versions[name]):
		s.refuted++
		s.setBehind(now, n, true)
		return s.end(now, n, nodehealth.OutcomeAlive)
	case !s.health.Expired(now, name): // a heartbeat could not be heard after all
		n.silence.retryAt = now.Add(readPeriod)
		return unchanged
	}
	return s.confirm(now, n)
}

// declare returns the declaration that a node needs, if it needs one, and what
// follows if it does not. A node whose confirmation is too old is read again
// first.
func (s *silences) declare(
	now time.Time, item timedqueue.Item[string, *node],
) (d Declaration, needed bool, follows consequence) {
	n := item.Value
	postponed := timedqueue.Result{Outcome: timedqueue.OutcomePostponed}
	switch {
	case n.mustRead(): // the end of the read resumes it
		postponed.Idle = true
		s.declarations.Finish(now, item, postponed)
		return Declaration{}, false, unchanged
	case s.config.DeclareUnconfirmed && !s.health.Expired(now, item.Key):
		postponed.At = now.Add(readPeriod)
		s.declarations.Finish(now, item, postponed)
		return Declaration{}, false, unchanged
	case !s.config.DeclareUnconfirmed && now.Sub(n.silence.confirmedAt) > confirmationLasts:
		s.declarations.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
		s.enter(n, suspected)
		return Declaration{}, false, unchanged
	}
	data, change, err := nodehealth.UnknownPatch(n.object, now)
	if err != nil { // as for taints.Patch: no API server has such a node
		s.declarations.Finish(now, item, resultOf(err))
		return Declaration{}, false, unchanged
	}
	if !change { // it is recorded already
		s.declarations.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
		return Declaration{}, false, s.end(now, n, nodehealth.OutcomeDone)
	}
	s.enter(n, declaring)
	patch := Patch{nodehealth.PatchType, data, "status"}
	return Declaration{n.object, patch, n.silence, item, now}, true, unchanged
}

// declared takes how a declaration has ended. The node is nil if it was deleted
// meanwhile; one of that name may be another one.
func (s *silences) declared(now time.Time, n *node, d Declaration, err error) consequence {
	s.declarations.Finish(now, d.item, resultOf(err))
	switch {
	case n == nil || n.silence != d.silence:
		s.health.Finish(now, d.silence.task, nodehealth.Result{})
		return unchanged
	case n.silence.state == overtaken:
		return s.end(now, n, nodehealth.OutcomeFailed)
	case err == nil:
		return s.end(now, n, nodehealth.OutcomeDone)
	}
	s.enter(n, confirmed)
	if n.mustRead() {
		return replans
	}
	return unchanged
}

// resumeDeclaration lets a silent node be declared that had to be read first.
func (s *silences) resumeDeclaration(n *node) {
	if item, waits := s.declarations.Get(n.object.Name); waits && item.Due.IsZero() {
		s.declarations.Set(n.object.Name, n, n.silence.since)
	}
}

// consequence is what follows for a node from what became of its silence.
type consequence uint8

const (
	// unchanged: nothing.
	unchanged consequence = iota
	// recounts: its zone has to count it again.
	recounts
	// replans: what it needs has to be planned as well.
	replans
)

// tally is how many there are of something, and since when there are some.
type tally struct {
	count int
	since time.Time
}

// add counts so many more.
func (t *tally) add(now time.Time, more int) {
	if t.count == 0 {
		t.since = now
	}
	t.count += more
}
