package rollout

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon"
)

// observeNode records a node that is new, or whose placement may have changed.
func (p *Planner) observeNode(now time.Time, stored *storedNode) {
	p.advance(now)
	decision := p.placement.Place(stored.object)
	n := stored.stateOf(p)
	if n == nil {
		n = p.restore(stored)
	}
	if n == nil && !decision.ShouldRun {
		return
	}
	if n == nil {
		n = p.keep(stored.object.Name, stored)
	}
	n.decision = placed{decision.ShouldRun, decision.ShouldContinue}
	p.identify(n)
	p.markStale(n)
}

// restore returns the record of a node that was gone and has returned, or nil.
func (p *Planner) restore(stored *storedNode) *nodeState {
	if len(p.gone) == 0 {
		return nil
	}
	n := p.gone[stored.object.Name]
	if n != nil {
		delete(p.gone, n.name)
		n.attach(stored)
	}
	return n
}

// observeState records a change of a node that no placement reads.
func (p *Planner) observeState(now time.Time, n *nodeState) {
	p.advance(now)
	p.identify(n)
	p.markStale(n)
}

// identify forgets the failures of a former machine under the name.
func (p *Planner) identify(n *nodeState) {
	machine := n.stored.object.UID
	if n.machine != "" && n.machine != machine {
		n.forgetFailures()
		n.taken = false
	}
	n.machine = machine
}

func (p *Planner) forgetNode(now time.Time, n *nodeState) {
	p.advance(now)
	n.stored, n.decision = nil, placed{}
	p.gone[n.name] = n
	p.markStale(n)
}

// ObservePod records a pod as it is now. Pass only pods that the set owns, all
// of one namespace, and call ForgetPod for a pod that it no longer owns.
// Observations of a pod must come in order but may be late: one that is older
// than a reported answer changes nothing. It keeps the pointer; the pod must
// not be changed afterwards.
func (p *Planner) ObservePod(now time.Time, pod *corev1.Pod) {
	p.advance(now)
	known := p.pods[pod.Name]
	switch {
	case p.tombstones.how[pod.UID] == departureAnswered: // the watch is behind
	case known == nil:
		p.add(pod, podObserved)
	case known.newerThan(p.now, pod):
	case known.pod.UID != pod.UID: // the known pod is gone, and this one has its name
		p.addTombstone(known.pod)
		p.remove(known)
		p.add(pod, podObserved)
	default:
		p.update(known, pod)
		known.answeredAt = time.Time{}
		p.see(known)
	}
}

// ForgetPod records that a pod is gone, or that the set no longer owns it. The
// pod is found by name and UID: another one with its name stays.
func (p *Planner) ForgetPod(now time.Time, pod *corev1.Pod) {
	p.advance(now)
	p.tombstones.shown(pod.UID)
	p.addTombstone(pod)
	if known := p.pods[pod.Name]; known != nil && known.pod.UID == pod.UID {
		p.remove(known)
	}
}

// addTombstone records that a pod is gone while a creation for its node is under
// way. The answer to that may be about this pod.
func (p *Planner) addTombstone(pod *corev1.Pod) {
	if n := p.lookup(daemon.TargetNode(pod)); n != nil && n.creating() {
		p.tombstones.add(pod.UID, departureForgotten, p.now)
	}
}

func (p *Planner) advance(now time.Time) {
	if now.After(p.now) {
		p.now = now
	}
	p.tombstones.expire(p.now)
}

// tombstones are pods that are gone. Observations of them may still arrive,
// from a watch that is behind or as a late answer to a creation. A UID comes
// back only with a backup of the API server's store, and a watch that has shown
// the end of the pod shows that.
type tombstones struct {
	how   map[types.UID]departure
	queue []tombstone // the oldest first
}

// departure is how it is known that a pod is gone.
type departure int8

const (
	// departureForgotten: ForgetPod was called. The pod may be observed again, for
	// example when it was released and is adopted, or is back from a backup.
	departureForgotten departure = 1 + iota
	// departureAnswered: the API server has no pod with the UID, and the watch is
	// behind.
	departureAnswered
)

type tombstone struct {
	uid types.UID
	at  time.Time
}

// longestDelay is how old an observation can be. The API server keeps five
// minutes of changes, and stops a watch that is further behind.
const longestDelay = 5 * time.Minute

func (t *tombstones) add(uid types.UID, how departure, now time.Time) {
	if uid == "" {
		return
	}
	if t.how == nil {
		t.how = make(map[types.UID]departure)
	}
	if known := t.how[uid]; known != 0 {
		t.how[uid] = max(known, how)
		return // it is in the queue
	}
	t.how[uid] = how
	t.queue = append(t.queue, tombstone{uid, now})
}

// shown records that the watch has shown the end of a pod.
func (t *tombstones) shown(uid types.UID) {
	if t.how[uid] == departureAnswered {
		t.how[uid] = departureForgotten
	}
}

// expire drops the pods of which no more observations can arrive.
func (t *tombstones) expire(now time.Time) {
	for len(t.queue) > 0 && now.Sub(t.queue[0].at) > longestDelay {
		delete(t.how, t.queue[0].uid)
		t.queue = t.queue[1:]
	}
}
