package daemon

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A Result is how a step of a [Plan] ended.
type Result struct {
	// One of the three is set: the step.
	Create *Creation
	Delete *Deletion
	Look   *Look

	// Pod is the pod that was made or read, or the one that has taken the name, if it is
	// the set's.
	Pod *corev1.Pod
	// Gone says that the API server has no pod of that name and UID.
	Gone bool
	// Released says that the pod that was read is there, and that the set does not own it
	// any more.
	Released bool
	// Taken says that another pod has the name, so that the next attempt needs one of
	// its own. Without a Pod the name is another owner's, which counts as a refusal.
	Taken bool
	// Err is why it was not done, or is not known to have been done. What is still to
	// be done is planned again.
	Err error
	// Refused says that it was not done, for certain: the API server has answered so, or
	// was not asked. Otherwise it may have been, and counts as if it was until that is
	// known.
	Refused bool
}

// Report takes note of how a step of a plan ended. Each step is to be reported once.
func (p *Planner) Report(now time.Time, result Result) {
	p.advance(now)
	switch {
	case result.Create != nil:
		p.created(result.Create, &result)
	case result.Delete != nil:
		p.deleted(result.Delete, &result)
	case result.Look != nil:
		p.looked(result.Look, &result)
	}
}

func (p *Planner) created(step *Creation, result *Result) {
	n := p.nodes[step.Node]
	if n == nil || !n.creating {
		return // reported before
	}
	n.creating = false
	if n.doubt.revision == step.Revision && result.Err == nil { // a refusal says nothing of the try before
		n.doubt = doubt{}
	}
	p.creations.underWay--
	p.look(n)
	switch {
	case result.Taken && result.Pod != nil: // the set's own, and going, mostly
		n.attempt++
		p.write(result.Pod)
	case result.Taken: // another owner's, and the next name may be, too
		n.attempt++
		p.refuseCreation(n)
	case result.Pod != nil:
		n.made(result.Pod, p.now)
		p.creations.succeeded(n.flight)
		p.write(result.Pod)
	default:
		if !result.Refused {
			n.doubt = doubt{p.now.Add(longestDelay), step.Revision, step.Attempt}
		}
		p.refuseCreation(n)
	}
}

// refuseCreation counts a creation that was not done.
func (p *Planner) refuseCreation(n *nodeState) {
	n.refused.add(p.now)
	p.creations.fails(n.flight, p.now)
}

// made takes note that a pod was made. One that is not for the node, because somebody
// rewrites what pods ask for, does not help it, and more of them would not.
func (n *nodeState) made(pod *corev1.Pod, now time.Time) {
	n.attempt++
	if TargetNode(pod) == n.name {
		n.refused = failures{}
		return
	}
	n.refused.add(now)
}

// write takes a pod that we made, which may have been observed in the meantime.
func (p *Planner) write(pod *corev1.Pod) {
	known := p.pods[pod.Name]
	if p.gone.how[pod.UID] != 0 || known != nil && known.pod.UID == pod.UID {
		return
	}
	if known != nil {
		if olderVersion(pod, known.pod) {
			return // it has come and gone, and another has its name
		}
		p.remove(known)
	}
	s := p.add(pod)
	s.unseen, s.fresh, s.answered = true, true, true
	p.unseen.created++
	p.unseen.expect(s, p.now)
}

func (p *Planner) deleted(step *Deletion, result *Result) {
	s := p.pods[step.Pod]
	if s == nil || s.pod.UID != step.UID || s.deletion != handedOut {
		return // it went while it was being deleted, or was reported before
	}
	n := s.node
	if n != nil {
		p.look(n)
	}
	if result.Err != nil {
		s.refused.add(p.now)
		p.deletions.fails(s.flight, p.now)
	} else {
		p.deletions.succeeded(s.flight)
	}
	switch {
	case result.Gone:
		p.vanish(s)
	case s.pod.DeletionTimestamp != nil, result.Refused: // observed in the meantime, or not done
		p.setDeletion(s, notDeleted)
		if s.expected() {
			p.unseen.expect(s, s.written)
		}
	case result.Err != nil:
		s.doubted = false
		p.setDeletion(s, doubtful)
		p.unseen.expectAnswer(s)
	default:
		p.setDeletion(s, asked)
		p.unseen.expect(s, p.now)
	}
}
