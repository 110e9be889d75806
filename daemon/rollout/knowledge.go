package rollout

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon"
)

// knowledge is what is known of the nodes and pods of a set, from the watches
// and from answers, and which nodes have changed. It is told each observation and
// each change of a pod's phases. It has the others count and time what follows
// from those.
type knowledge struct {
	set        types.UID // [Config].Owner
	goal       *goal
	candidates *candidates
	calls      *traffic
	timers     *timers

	now      time.Time
	store    *Nodes
	index    int  // in Nodes.members; departed: the planner was closed
	id       int  // in the order in which members join the store
	reported bool // it is in Nodes.changed

	states     []*nodeState          // of all nodes that have a record
	gone       map[string]*nodeState // those of nodes that are gone
	pods       map[string]*podState  // by name, of one namespace
	stale      staleNodes            // to be evaluated before anything is decided
	tombstones tombstones
}

// departed is the index of a planner that was closed.
const departed = -1

func (k *knowledge) closed() bool { return k.index == departed }

func (k *knowledge) advance(now time.Time) {
	if now.After(k.now) {
		k.now = now
	}
	k.tombstones.expire(k.now)
}

// observeNode records a node that is new, or whose placement may have changed.
func (k *knowledge) observeNode(now time.Time, stored *storedNode) {
	k.advance(now)
	where := k.goal.place(stored)
	n := stored.stateOf(k)
	if n == nil {
		n = k.restore(stored)
	}
	if n == nil && !where.shouldRun {
		return
	}
	if n == nil {
		n = k.keep(stored.object.Name, stored)
	}
	n.decision = where
	n.identify()
	k.markStale(n)
}

// restore returns the record of a node that was gone and has returned, or nil.
func (k *knowledge) restore(stored *storedNode) *nodeState {
	if len(k.gone) == 0 {
		return nil
	}
	n := k.gone[stored.object.Name]
	if n != nil {
		delete(k.gone, n.name)
		n.attach(stored)
	}
	return n
}

// observeState records a change of a node that no placement reads.
func (k *knowledge) observeState(now time.Time, n *nodeState) {
	k.advance(now)
	n.identify()
	k.markStale(n)
}

func (k *knowledge) forgetNode(now time.Time, n *nodeState) {
	k.advance(now)
	n.stored, n.decision = nil, placed{}
	k.gone[n.name] = n
	k.markStale(n)
}

// markStale has a node evaluated before the next decision. Many changes of one
// node make one evaluation. A record of a node that is gone is dropped at once if
// it holds nothing, because nothing may be asked for a long time.
func (k *knowledge) markStale(n *nodeState) {
	if n.stored == nil && n.unneeded() {
		k.drop(n)
	} else {
		k.stale.add(n)
	}
	if !k.reported {
		k.reported = true
		k.store.changed = append(k.store.changed, k)
	}
}

// lookup returns the record of a node, or nil.
func (k *knowledge) lookup(name string) *nodeState {
	if stored := k.store.byName[name]; stored != nil {
		return stored.stateOf(k)
	}
	return k.gone[name]
}

// state returns the record of a node, and makes one if there is none.
func (k *knowledge) state(name string) *nodeState {
	n := k.lookup(name)
	if n == nil {
		stored := k.store.byName[name]
		n = k.keep(name, stored)
		n.decision = k.goal.place(stored)
	}
	return n
}

// keep makes a record of a node.
func (k *knowledge) keep(name string, stored *storedNode) *nodeState {
	n := &nodeState{
		name: name, owner: k, index: int32(len(k.states)),
		revision: k.goal.revision, ranking: k.candidates.ranking,
	}
	k.states = append(k.states, n)
	if stored == nil {
		k.gone[name] = n
		return n
	}
	n.attach(stored)
	n.machine = stored.object.UID
	return n
}

// drop forgets a record that holds nothing.
func (k *knowledge) drop(n *nodeState) {
	k.stale.remove(n)
	k.candidates.put(n, situation{})
	k.timers.wake(k.now, n, time.Time{})
	if n.stored == nil {
		delete(k.gone, n.name)
	}
	last := len(k.states) - 1
	k.states[n.index] = k.states[last]
	k.states[n.index].index = n.index
	k.states[last] = nil
	k.states = k.states[:last]
	n.detach()
}

// observePod is what Planner.ObservePod does.
func (k *knowledge) observePod(pod *corev1.Pod) {
	known := k.pods[pod.Name]
	switch {
	case k.tombstones.how[pod.UID] == departureAnswered: // the watch is behind
	case known == nil:
		k.add(pod, sightingObserved)
	case known.newerThan(k.now, pod):
	case known.pod.UID != pod.UID: // the known pod is gone, and this one has its name
		k.bury(known.pod)
		k.remove(known)
		k.add(pod, sightingObserved)
	default:
		k.update(known, pod)
		known.answeredAt = time.Time{}
		k.see(known)
	}
}

// replacePods is what Planner.ReplacePods does.
func (k *knowledge) replacePods(pods []*corev1.Pod) {
	listed := make(map[string]types.UID, len(pods))
	for _, pod := range pods {
		listed[pod.Name] = pod.UID
		if known := k.pods[pod.Name]; known == nil || known.pod != pod || known.awaited() {
			k.observePod(pod)
		}
	}
	for name, known := range k.pods {
		if uid, isListed := listed[name]; known.seen == sightingObserved && !(isListed && uid == known.pod.UID) {
			k.forgetPod(known.pod)
		}
	}
}

// forgetPod is what Planner.ForgetPod does.
func (k *knowledge) forgetPod(pod *corev1.Pod) {
	k.tombstones.shown(pod.UID)
	k.bury(pod)
	if known := k.pods[pod.Name]; known != nil && known.pod.UID == pod.UID {
		k.remove(known)
	}
}

// bury records that a pod is gone while a creation for its node is under way. The
// answer to that may be about this pod.
func (k *knowledge) bury(pod *corev1.Pod) {
	if n := k.lookup(daemon.TargetNode(pod)); n != nil && n.creating() {
		k.tombstones.add(pod.UID, departureForgotten, k.now)
	}
}

// write records a pod that we created, which the watch may have shown
// meanwhile.
func (k *knowledge) write(pod *corev1.Pod) {
	known := k.pods[pod.Name]
	if k.tombstones.how[pod.UID] != 0 || known != nil && known.pod.UID == pod.UID {
		return
	}
	if known != nil {
		if olderVersion(pod, known.pod) {
			return // it was deleted meanwhile, and another one has its name
		}
		k.remove(known)
	}
	k.add(pod, sightingCreated).answeredAt = k.now
}

// add records a pod that was not known.
func (k *knowledge) add(pod *corev1.Pod, seen sighting) *podState {
	s := &podState{pod: pod}
	if k.pods == nil {
		k.pods = make(map[string]*podState, len(k.states)) // mostly one for each
	}
	k.pods[pod.Name] = s
	k.await(s)
	k.enter(s, seen, deletionNone)
	k.attachPod(s)
	if s.node != nil {
		s.node.shown(pod.Labels[revisionLabel])
	}
	return s
}

// update records a pod that has changed. A deletion that is undone comes from a
// backup of the API server's store, and is the truth.
func (k *knowledge) update(s *podState, pod *corev1.Pod) {
	former := s.pod
	s.pod = pod
	k.settleReadiness(s, former)
	if s.node == nil || s.node.name != daemon.TargetNode(pod) {
		k.detachPod(s)
		k.attachPod(s)
		return
	}
	k.markStale(s.node)
}

// remove forgets a pod and what is under way for it.
func (k *knowledge) remove(s *podState) {
	k.enter(s, sightingObserved, deletionNone)
	delete(k.pods, s.pod.Name)
	k.detachPod(s)
}

// vanish forgets a pod that the API server does not have.
func (k *knowledge) vanish(s *podState) {
	k.tombstones.add(s.pod.UID, departureAnswered, k.now)
	k.remove(s)
}

// see records that the watch has shown a pod: what we wrote, or something
// later.
func (k *knowledge) see(s *podState) {
	deletion := s.deletion
	if deletion.unresolved() && !deletion.isUnderWay() && s.pod.DeletionTimestamp != nil {
		deletion = deletionNone
	}
	k.enter(s, sightingObserved, deletion)
}

// endDeletion ends a deletion that is under way. A refusal says nothing of the
// call before.
func (k *knowledge) endDeletion(s *podState, outcome Outcome) {
	to := deletionUnanswered
	switch {
	case s.pod.DeletionTimestamp != nil, // shown meanwhile
		outcome.undone() && s.deletion == deletionUnderWay:
		to = deletionNone
	case outcome == OutcomeDone:
		to = deletionAccepted
	}
	if to != deletionNone && !outcome.undone() {
		k.await(s)
	}
	k.enter(s, s.seen, to)
}

// updateInPlace ends a deletion instead of which the caller has updated the pod.
// The watch may have shown the pod since, and that its readiness has changed.
func (k *knowledge) updateInPlace(s *podState, pod *corev1.Pod) {
	k.enter(s, s.seen, deletionUpdated)
	s.refused = failures{}
	if s.olderThan(pod) {
		s.pod, s.answeredAt = pod, k.now
	}
	k.settleReadiness(s, pod)
	k.update(s, s.pod)
}

// settleReadiness ends the wait for an updated pod if its condition Ready is
// another one than that of a former state of it.
func (k *knowledge) settleReadiness(s *podState, former *corev1.Pod) {
	if s.deletion == deletionUpdated && !readyAlike(s.pod, former) {
		k.enter(s, s.seen, deletionNone)
	}
}

// endRead ends the read of a pod, which has another one later. While a deletion is
// under way, the time of the write before it stays.
func (k *knowledge) endRead(s *podState) {
	if !s.deletion.isUnderWay() {
		s.readAt = k.now.Add(k.timers.wait(s.reads))
	}
	k.enterReading(s, readingNone)
}

// recordRead records what was read, unless the watch has shown something newer.
// A pod that is not being deleted although we asked for it is deleted again. A
// watch that has not shown the pod may not show its deletion either.
func (k *knowledge) recordRead(s *podState, pod *corev1.Pod) {
	from := s.reading
	k.timers.forget(s)
	s.reads = min(s.reads+1, mostReads)
	k.endRead(s)
	if s.olderThan(pod) {
		k.update(s, pod)
		s.answeredAt = k.now
	}
	seen, deletion := s.seen, s.deletion
	if seen == sightingCreated {
		seen = sightingRead
	}
	switch {
	case !deletion.unresolved(), deletion.isUnderWay():
	case s.pod.DeletionTimestamp != nil, from == readingUnderWay:
		deletion = deletionNone
	}
	k.enter(s, seen, deletion)
	if s.node != nil {
		k.markStale(s.node)
	}
}

// await has a pod read after the timeout, unless the watch shows our write.
func (k *knowledge) await(s *podState) {
	k.timers.forget(s)
	s.reads, s.readAt = 0, k.now.Add(k.timers.wait(0))
}

// enter changes the phases of a pod and what is counted and timed by them. No
// other function does, except enterReading.
func (k *knowledge) enter(s *podState, seen sighting, deletion deletionPhase) {
	waits := s.mayRead()
	k.calls.count(s, -1)
	s.seen, s.deletion = seen, deletion
	k.calls.count(s, 1)
	k.timers.keep(k.now, s, waits)
}

// enterReading changes whether a pod is being read.
func (k *knowledge) enterReading(s *podState, to reading) {
	waits := s.mayRead()
	s.reading = to
	k.timers.keep(k.now, s, waits)
}

// attachPod adds a pod to the node that it is for.
func (k *knowledge) attachPod(s *podState) {
	name := daemon.TargetNode(s.pod)
	if name == "" {
		return
	}
	s.node = k.state(name)
	s.next, s.node.pods = s.node.pods, s
	k.markStale(s.node)
}

// detachPod removes a pod from its node.
func (k *knowledge) detachPod(s *podState) {
	if s.node == nil {
		return
	}
	at := &s.node.pods
	for *at != s {
		at = &(*at).next
	}
	*at = s.next
	k.markStale(s.node)
	s.node, s.next = nil, nil
}

// staleNodes are nodes in the order in which they came. A node that leaves
// before its turn has the last one take its place, so that nothing is kept of
// it. The places of those that left in their turn are at most as many as nodes,
// so that a list that is never empty does not grow.
type staleNodes struct {
	nodes []*nodeState
	gone  int // of the first ones
}

// first returns the first node, or nil.
func (l *staleNodes) first() *nodeState {
	if len(l.nodes) == 0 {
		return nil
	}
	return l.nodes[l.gone]
}

func (l *staleNodes) add(n *nodeState) {
	if n.staleAt == 0 {
		l.nodes = append(l.nodes, n)
		n.staleAt = int32(len(l.nodes))
	}
}

func (l *staleNodes) remove(n *nodeState) {
	at, last := int(n.staleAt)-1, len(l.nodes)-1
	switch at {
	case -1:
		return
	case l.gone:
		l.nodes[at] = nil
		l.gone++
	default:
		l.nodes[at] = l.nodes[last]
		l.nodes[at].staleAt = n.staleAt
		l.nodes[last] = nil
		l.nodes = l.nodes[:last]
	}
	n.staleAt = 0
	if 2*l.gone >= len(l.nodes) {
		l.close()
	}
}

// close moves the nodes to the places of those that left in their turn.
func (l *staleNodes) close() {
	rest := copy(l.nodes, l.nodes[l.gone:])
	clear(l.nodes[rest:])
	l.nodes, l.gone = l.nodes[:rest], 0
	for i, n := range l.nodes {
		n.staleAt = int32(i + 1)
	}
}
