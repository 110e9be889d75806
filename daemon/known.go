package daemon

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// nodeState is what is known of one node, or of one that is gone, for which there are
// pods still.
type nodeState struct {
	name    string
	object  *corev1.Node // nil: there is no such node
	machine types.UID    // of the node, or of the last one of the name
	pods    *podState    // the first that is for this node

	flight  int // with which others the creation that is under way was handed out
	attempt int // goes into the name of the next pod
	doubt   doubt
	refused failures
	failed  failures // pods that had failed and were deleted

	situation situation
	order     order
	slots     [numberOfQueues]int32 // where it is in the queues, and zero if it is not

	verdict  placed
	creating bool // a creation was handed out, and nobody has said what became of it
	stale    bool // it is to be judged
	taken    bool // the rollout has deleted its available pod, and no other has come
}

// doubt is a creation that may turn out to have been done: its answer was lost. If it is
// tried again, it is the same one, whatever was made of other revisions meanwhile.
type doubt struct {
	until    time.Time // zero: there is none
	revision string
	attempt  int
}

// placed is what is kept of a [Verdict]. There are as many as there are nodes.
type placed struct{ Run, Keep bool }

func newNodeState(name string) *nodeState { return &nodeState{name: name} }

func (n *nodeState) place(placement *Placement) {
	if n.object != nil {
		verdict := placement.Place(n.object)
		n.verdict = placed{Run: verdict.Run, Keep: verdict.Keep}
	}
}

// forgive forgets what has failed on a node, since what is tried next is another thing.
func (n *nodeState) forgive() {
	n.refused, n.failed = failures{}, failures{}
}

// empty says whether nothing is left to know of a node.
func (n *nodeState) empty() bool {
	return n.object == nil && n.pods == nil && !n.creating && n.doubt.until.IsZero()
}

// podState is what is known of one pod.
type podState struct {
	pod  *corev1.Pod
	node *nodeState // nil: nothing says which node it is for
	next *podState  // of the same node

	leave    StepReason // why it is to be deleted; empty: it stays
	deletion stage
	refused  failures // deletions
	flight   int      // with which others its deletion was handed out
	written  time.Time
	unseen   bool // we made it, and the watch has not told of it
	fresh    bool // and it was not read since either
	answered bool // what is known of it is an answer of the API server, not news
	looking  bool // it is being read
	settles  bool // and that tells what has become of its deletion
	doubted  bool // it was read since its deletion became doubtful
}

// stage is how far the deletion of a pod has come.
type stage int8

const (
	notDeleted stage = iota
	handedOut        // nobody has said what became of it
	doubtful         // the answer was lost; the pod is to be read
	asked            // the API server has agreed; nothing of it was observed yet
)

// leaving says whether a pod is on its way out, by whoever's doing.
func (s *podState) leaving() bool {
	return s.pod.DeletionTimestamp != nil || s.deletion != notDeleted
}

// agreed says whether a pod is sure to go.
func (s *podState) agreed() bool {
	return s.pod.DeletionTimestamp != nil || s.deletion == asked
}

func (s *podState) terminal() bool {
	return s.pod.Status.Phase == corev1.PodFailed || s.pod.Status.Phase == corev1.PodSucceeded
}

// ended says whether nothing is left of a pod but the object, and that not for long.
func (s *podState) ended() bool { return s.pod.DeletionTimestamp != nil && s.terminal() }

// readySince returns since when the pod is ready, and whether it is.
func (s *podState) readySince() (time.Time, bool) {
	for i := range s.pod.Status.Conditions {
		c := &s.pod.Status.Conditions[i]
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

// add takes a pod that was not known.
func (p *Planner) add(pod *corev1.Pod) *podState {
	s := &podState{pod: pod}
	p.pods[pod.Name] = s
	p.join(s)
	if s.node != nil && s.node.doubt.revision == pod.Labels[revisionLabel] {
		s.node.doubt = doubt{} // this may be the one
	}
	return s
}

// update takes a pod that has changed.
func (p *Planner) update(s *podState, pod *corev1.Pod) {
	if s.pod.DeletionTimestamp != nil && pod.DeletionTimestamp == nil {
		return // a deletion is not taken back, so this is older, whatever its version
	}
	s.pod = pod
	if s.node == nil || s.node.name != TargetNode(pod) {
		p.leave(s)
		p.join(s)
		return
	}
	p.look(s.node)
}

// remove forgets a pod, and what is under way with it.
func (p *Planner) remove(s *podState) {
	p.met(s)
	s.unseen = false
	p.setDeletion(s, notDeleted)
	delete(p.pods, s.pod.Name)
	p.leave(s)
}

// vanish forgets a pod of which the API server says that it is gone.
func (p *Planner) vanish(s *podState) {
	p.gone.add(s.pod.UID, answered, p.now)
	p.remove(s)
}

// see takes note that a pod was observed: what we wrote, or something later.
func (p *Planner) see(s *podState) {
	p.met(s)
	s.unseen = false
	p.settleDeletion(s)
}

// met takes note that a pod that we made was seen for the first time.
func (p *Planner) met(s *podState) {
	if s.fresh {
		s.fresh = false
		p.unseen.created--
	}
}

func (p *Planner) settleDeletion(s *podState) {
	if (s.deletion == asked || s.deletion == doubtful) && s.pod.DeletionTimestamp != nil {
		p.setDeletion(s, notDeleted)
	}
}

// setDeletion keeps count of the deletions that are not settled.
func (p *Planner) setDeletion(s *podState, to stage) {
	if s.deletion != notDeleted {
		p.deleting--
	}
	if to != notDeleted {
		p.deleting++
	}
	if s.deletion == handedOut {
		p.deletions.underWay--
	}
	if to == handedOut {
		p.deletions.underWay++
		s.flight = p.deletions.number
	}
	s.deletion = to
}

func (p *Planner) join(s *podState) {
	name := TargetNode(s.pod)
	if name == "" {
		return
	}
	s.node = p.node(name)
	s.next, s.node.pods = s.node.pods, s
	p.look(s.node)
}

func (p *Planner) leave(s *podState) {
	if s.node == nil {
		return
	}
	at := &s.node.pods
	for *at != s {
		at = &(*at).next
	}
	*at = s.next
	p.look(s.node)
	s.node, s.next = nil, nil
}

// older says whether news of a pod are older than what the API server has answered. Not
// all servers have versions that tell; then what comes later is taken to be newer. So it
// is if news are all that is known: they come in order, and after a backup was restored
// with lower versions.
func (s *podState) older(pod *corev1.Pod) bool {
	return s.answered && olderVersion(pod, s.pod)
}

// olderVersion says whether a pod is of an older version than another of its name, if
// the versions tell.
func olderVersion(pod, other *corev1.Pod) bool {
	order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, other.ResourceVersion)
	return err == nil && order < 0
}
