package rollout

import (
	"slices"
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
	case k.tombstones.has(pod.UID): // the watch is behind
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
		known := k.pods[pod.Name]
		if known == nil || known.pod != pod || known.seen != sightingObserved || known.awaited() {
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
	k.tombstones.remove(pod.UID)
	k.bury(pod)
	if known := k.pods[pod.Name]; known != nil && known.pod.UID == pod.UID {
		k.remove(known)
	}
}

// bury records that a pod is gone while a creation for its node is under way. The
// answer to that may be about this pod.
func (k *knowledge) bury(pod *corev1.Pod) {
	if n := k.lookup(daemon.TargetNode(pod)); n != nil && n.creating() {
		n.sent.gone = append(n.sent.gone, pod.UID)
	}
}

// write records a pod that we created. The watch may have shown it meanwhile,
// and also its end.
func (k *knowledge) write(pod *corev1.Pod, gone []types.UID) {
	known := k.pods[pod.Name]
	if slices.Contains(gone, pod.UID) || known != nil && known.pod.UID == pod.UID {
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
//
// A pod that takes another revision while a call of ours is unresolved was updated
// in place by it. The answer may come later and tell nothing more.
func (k *knowledge) update(s *podState, pod *corev1.Pod) {
	updated := s.deletion.unresolved() && s.pod.Labels[revisionLabel] != pod.Labels[revisionLabel]
	s.restarting = (s.restarting || updated) && readyAlike(s.pod, pod)
	s.pod = pod
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
	k.tombstones.add(s.pod.UID, k.now)
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
// The watch may have shown the pod since, and that it has restarted. A call that
// is sent again may find what the former one has done, and that the pod has
// restarted since. To wait for another restart would be to wait for ever.
func (k *knowledge) updateInPlace(s *podState, pod *corev1.Pod) {
	former, again := s.pod, s.deletion == deletionAgain
	k.enter(s, s.seen, deletionNone)
	s.refused = failures{}
	if s.olderThan(pod) {
		s.pod, s.answeredAt = pod, k.now
	}
	isFound := again && (former.Labels[revisionLabel] == pod.Labels[revisionLabel] || !readyAlike(former, pod))
	if !isFound {
		s.restarting = readyAlike(s.pod, pod)
	}
	k.update(s, s.pod)
}

// endRead ends the read of a pod. Another one follows after the timeout, unless
// this one has shown what the watch has not.
func (k *knowledge) endRead(s *podState) {
	s.readAt = k.now.Add(k.timers.timeout)
	k.enterReading(s, false)
}

// recordRead records what was read, unless the watch has shown something newer.
// A pod that is not being deleted although we asked for it is deleted again. A
// watch that has not shown the pod may not show its deletion either.
func (k *knowledge) recordRead(s *podState, pod *corev1.Pod) {
	overtaken := !s.reading
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
	case s.pod.DeletionTimestamp != nil, !overtaken:
		deletion = deletionNone
	}
	k.enter(s, seen, deletion)
	if s.node != nil {
		k.markStale(s.node)
	}
}

// await has a pod read after the timeout, unless the watch shows our write.
func (k *knowledge) await(s *podState) {
	s.readAt = k.now.Add(k.timers.timeout)
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
func (k *knowledge) enterReading(s *podState, to bool) {
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

// staleNodes are nodes in no order: nothing is decided before all are evaluated.
type staleNodes []*nodeState

// any returns one of the nodes, or nil.
func (l staleNodes) any() *nodeState {
	if len(l) == 0 {
		return nil
	}
	return l[len(l)-1]
}

func (l *staleNodes) add(n *nodeState) {
	if n.staleAt == 0 {
		*l = append(*l, n)
		n.staleAt = int32(len(*l))
	}
}

// remove has the last node take the place of another one.
func (l *staleNodes) remove(n *nodeState) {
	if n.staleAt == 0 {
		return
	}
	nodes, last := *l, len(*l)-1
	nodes[n.staleAt-1] = nodes[last]
	nodes[last].staleAt = n.staleAt
	n.staleAt = 0
	nodes[last] = nil
	*l = nodes[:last]
}
