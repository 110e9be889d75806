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

	// suspects are the silent nodes that wait for a live read, and declarations
	// those whose silence was confirmed.
	suspects     []*node
	reads        reads
	declarations *timedqueue.Queue[string, *node]

	// blindnesses is one more than how many have ended. Blind is how much time they
	// took, in which no heartbeat could be heard.
	blindnesses uint32
	blind       time.Duration
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

func newSilences(config Config, o *objects, now time.Time) (*silences, error) {
	s := &silences{
		config: config, objects: o, blindnesses: 1,
		fixedGrace: config.Health.Detector == nil && config.Health.Combine == nil,
	}
	var err error
	if s.health, err = nodehealth.NewNodeMonitor(config.Health, now); err != nil {
		return nil, err
	}
	s.declarations, err = timedqueue.NewQueue(timedqueue.QueueConfig[string, *node]{
		Backoff: config.Backoff,
	}, now)
	return s, err
}

// regains reports whether heartbeats can be heard again after a blindness, and
// that was not known.
func (s *silences) regains(now time.Time) bool {
	blind, _ := s.health.Blind(now)
	if blind == s.blind {
		return false
	}
	s.blind = blind
	s.blindnesses++
	return true
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
	if s.reads.unconfirmed == 0 {
		s.reads.suspectedAt = now
	}
	s.reads.unconfirmed++
	s.addSuspect(n)
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
		s.reads.unconfirmed--
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
		s.removeSuspect(silence)
	}
	silence.setFailures(&s.reads, 0)
	if !silence.isConfirmed() {
		s.reads.unconfirmed--
	}
	s.declarations.Remove(n.object.Name)
	n.silence = nil
	s.health.Finish(now, silence.task, nodehealth.Result{Outcome: outcome})
}

// noticeHeartbeat ends the silence of a node if it was heard since.
func (s *silences) noticeHeartbeat(now time.Time, n *node) consequence {
	silence := n.silence
	if silence == nil {
		return unchanged
	}
	if last, _ := s.health.LastHeartbeat(n.object.Name); last.Equal(silence.task.Since) {
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
		s.removeSuspect(silence)
	}
	if silence.state = next; next == suspected {
		s.addSuspect(n)
	}
}

func (s *silences) addSuspect(n *node) {
	n.silence.slot = len(s.suspects)
	s.suspects = append(s.suspects, n)
}

// removeSuspect may change the order of those that are left. None is forgotten
// by that: compare goes from the last to the first, and only the last moves.
func (s *silences) removeSuspect(silence *silence) {
	last := len(s.suspects) - 1
	moved := s.suspects[last]
	s.suspects[silence.slot], moved.silence.slot = moved, silence.slot
	s.suspects[last] = nil
	s.suspects = s.suspects[:last]
	if last == 0 {
		s.reads.failures = 0 // of other nodes than those that come next
	}
}

// setBehind records whether the last sign of life of a node is a live read.
func (s *silences) setBehind(now time.Time, n *node, behind bool) {
	if n.behind == behind {
		return
	}
	if n.behind = behind; !behind {
		s.reads.behind--
		return
	}
	if s.reads.behind == 0 {
		s.reads.refutedAt = now
	}
	s.reads.behind++
}

// startRead hands out the next live read.
func (s *silences) startRead(now time.Time) (LeaseRead, bool) {
	for {
		if at, ok := s.nextRead(now); !ok || at.After(now) {
			return LeaseRead{}, false
		}
		if len(s.suspects) > mostSingleReads {
			return s.listLeases(now)
		}
		if read, ok := s.readLease(now); ok {
			return read, true
		}
	}
}

// nextRead returns when the next live read may start.
func (s *silences) nextRead(now time.Time) (time.Time, bool) {
	switch r := &s.reads; {
	case len(s.suspects) == 0 || r.list != listIdle:
		return time.Time{}, false
	case len(s.suspects) > mostSingleReads:
		return latest(r.listAt, now), true
	case r.single >= mostSingleReads && now.Before(r.period):
		return r.period, true
	default:
		return latest(s.nextSuspect().silence.retryAt, now), true
	}
}

// nextSuspect returns the suspect that may be read first. It is called with a
// few only.
func (s *silences) nextSuspect() *node {
	first := s.suspects[0]
	for _, n := range s.suspects[1:] {
		if n.silence.retryAt.Before(first.silence.retryAt) {
			first = n
		}
	}
	return first
}

func (s *silences) readLease(now time.Time) (LeaseRead, bool) {
	n := s.nextSuspect()
	if !s.health.Expired(now, n.object.Name) {
		n.silence.retryAt = now.Add(readPeriod)
		return LeaseRead{}, false
	}
	if !now.Before(s.reads.period) {
		s.reads.single, s.reads.period = 0, now.Add(readPeriod)
	}
	s.reads.single++
	s.enter(n, reading)
	return LeaseRead{Node: n.object, silence: n.silence}, true
}

// listLeases asks for all leases, unless it turns out now that the suspects
// were found while the API server could not be heard. Those are found again at
// about the same time.
func (s *silences) listLeases(now time.Time) (LeaseRead, bool) {
	s.reads.listAt = now.Add(readPeriod)
	if !s.health.Expired(now, s.suspects[0].object.Name) {
		return LeaseRead{}, false
	}
	s.reads.list, s.reads.from = listing, now
	return LeaseRead{}, true
}

// leaseRead takes the lease of one node, which is nil if it was deleted.
func (s *silences) leaseRead(
	now time.Time, n *node, read LeaseRead, leases Leases,
) consequence {
	if n == nil || n.silence != read.silence || n.silence.state != reading {
		return unchanged // heard or deleted
	}
	s.enter(n, suspected)
	if leases.failure() != nil {
		s.reads.noteFailure(now, len(s.suspects))
		n.silence.retryAt = now.Add(s.config.Backoff.Delay(n.silence.failures))
		n.silence.setFailures(&s.reads, n.silence.failures+1)
		return unchanged
	}
	return s.decide(now, n, leases.Versions)
}

// leasesListed takes all leases.
func (s *silences) leasesListed(now time.Time, leases Leases) {
	r := &s.reads
	if leases.failure() != nil {
		r.list = listIdle
		r.noteFailure(now, len(s.suspects))
		r.listAt = latest(r.listAt, now.Add(s.config.Backoff.Delay(r.failures)))
		r.failures++
		return
	}
	r.list, r.versions, r.left, r.failures = listed, leases.Versions, len(s.suspects), 0
}

// compare decides about one suspect by the last list, if there are some yet. The
// list says nothing of a node that was found silent after it had started.
func (s *silences) compare(now time.Time) (n *node, follows consequence, more bool) {
	r := &s.reads
	if r.list != listed {
		return nil, unchanged, false
	}
	r.left = min(r.left, len(s.suspects)) - 1
	if r.left < 0 {
		r.list, r.versions = listIdle, nil
		return nil, unchanged, false
	}
	if n = s.suspects[r.left]; n.silence.since.After(r.from) {
		return n, unchanged, true
	}
	return n, s.decide(now, n, r.versions), true
}

// decide finds out whether a suspect is silent, by the versions of leases that
// a live read has shown. That the API server has no lease is no sign of life.
func (s *silences) decide(now time.Time, n *node, versions map[string]string) consequence {
	name := n.object.Name
	n.silence.setFailures(&s.reads, 0)
	switch {
	case s.health.ReadLease(name, versions[name]):
		s.reads.refuted++
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
