package nodehealth_test

import (
	"time"

	"github.com/kubelife/lifecycle/nodehealth"
)

// reference is what a monitor is compared with: a list of nodes that is scanned
// at each poll. It takes the events of the nodes and decides itself what is a
// heartbeat. It has no code in common with the monitor.
type reference struct {
	graces   [2]time.Duration // before the first report, and after
	recovery time.Duration
	first    time.Duration // of the backoff
	most     time.Duration
	latest   time.Time
	synced   bool
	all      []*referenceNode
}

// referenceNode is what the reference knows under one name.
type referenceNode struct {
	name string

	exists  bool
	uid     string
	lives   int       // counts the times that it was seen first or forgotten
	since   time.Time // of its last heartbeat, or of the first observation
	heard   bool
	reports int // one for each report of its kubelet that was seen

	silent   bool      // was found silent, and was not announced as alive since
	recorded bool      // its silence is known to be recorded
	back     bool      // heard since it was silent
	backAt   time.Time // when it was heard first then

	failures int       // of its present task
	setBacks int       // since its last heartbeat
	retry    time.Time // not earlier, after a failure
	acting   *referenceAction

	lease        bool
	leaseContent string // which renewal by which holder
}

type referenceAction struct {
	life  int
	state nodehealth.State
	shown bool // as silent, during the action
	undid bool // and then otherwise
}

func (r *reference) see(now time.Time) {
	if now.After(r.latest) {
		r.latest = now
	}
}

func (r *reference) node(name string) *referenceNode {
	for _, n := range r.all {
		if n.name == name {
			return n
		}
	}
	n := &referenceNode{name: name}
	r.all = append(r.all, n)
	return n
}

// under returns the action that is about the node of today and says so.
func (n *referenceNode) under(state nodehealth.State) *referenceAction {
	if n.acting == nil || n.acting.life != n.lives || n.acting.state != state {
		return nil
	}
	return n.acting
}

func (r *reference) beat(n *referenceNode) {
	if !n.exists {
		return
	}
	n.since, n.heard, n.setBacks = r.latest, true, 0
	if n.silent && !n.back {
		n.back, n.backAt, n.failures, n.retry = true, r.latest, 0, time.Time{}
	}
}

// observeNode takes how many times the node has reported, and whether its
// conditions are declared by an observer now.
func (r *reference) observeNode(now time.Time, name, uid string, reports int, declared bool) {
	r.see(now)
	n := r.node(name)
	switch {
	case !n.exists || n.uid != uid:
		*n = referenceNode{
			name: name, exists: true, uid: uid, lives: n.lives + 1, since: r.latest, reports: reports,
			silent: declared, recorded: declared, acting: n.acting,
			lease: n.lease, leaseContent: n.leaseContent,
		}
	case reports > n.reports && !declared:
		n.reports = reports
		r.beat(n)
		if end := r.end(n); n.back && n.retry.After(end) { // its grace period is shorter now
			n.retry = end
		}
	case n.under(nodehealth.StateSilent) != nil:
		n.acting.undid = !declared && (n.acting.undid || n.acting.shown)
		n.acting.shown = declared
	case n.silent && !n.back && declared:
		n.recorded = true
	case n.silent && !n.back && n.recorded:
		r.setBack(n)
	}
}

// setBack is for a silence that was recorded and is not any more.
func (r *reference) setBack(n *referenceNode) {
	n.recorded, n.failures, n.retry = false, 0, r.latest.Add(r.delay(n.setBacks))
	n.setBacks++
}

func (r *reference) delay(failures int) time.Duration {
	wait := r.first
	for range failures {
		wait = min(2*wait, r.most)
	}
	return wait
}

func (r *reference) observeLease(now time.Time, name, content string) {
	r.see(now)
	n := r.node(name)
	changed := n.lease && n.leaseContent != content || !n.lease && r.synced
	if !n.lease && !r.synced {
		n.since = r.latest // no heartbeat, but no younger list either
	}
	n.lease, n.leaseContent = true, content
	if changed {
		r.beat(n)
	}
}

func (r *reference) forgetNode(name string) {
	n := r.node(name)
	n.exists, n.silent, n.heard, n.lives = false, false, false, n.lives+1
}

func (r *reference) forgetLease(name string) {
	r.node(name).lease = false
}

func (r *reference) grace(n *referenceNode) time.Duration {
	if n.reports == 0 {
		return r.graces[0]
	}
	return r.graces[1]
}

func (r *reference) end(n *referenceNode) time.Time { return n.since.Add(r.grace(n)) }

// due returns when a node may be handed out, and as what.
func (r *reference) due(n *referenceNode) (time.Time, nodehealth.State, bool) {
	due, state := r.end(n), nodehealth.StateSilent
	if !n.exists || n.acting != nil || n.silent && !n.back && n.recorded {
		return time.Time{}, "", false
	}
	if recovered := n.backAt.Add(r.recovery); n.silent && n.back && due.After(r.latest) {
		state = nodehealth.StateAlive
		if recovered.Before(due) {
			due = recovered
		}
	}
	if n.retry.After(due) {
		due = n.retry
	}
	return due, state, true
}

// scan returns all nodes that may be handed out, each with its state.
func (r *reference) scan(now time.Time) map[string]nodehealth.State {
	r.see(now)
	found := map[string]nodehealth.State{}
	for _, n := range r.all {
		if due, state, ok := r.due(n); ok && !due.After(r.latest) {
			found[n.name] = state
		}
	}
	return found
}

// next is when the first node may be handed out.
func (r *reference) next() (earliest time.Time, ok bool) {
	for _, n := range r.all {
		if due, _, waits := r.due(n); waits && (!ok || due.Before(earliest)) {
			earliest, ok = due, true
		}
	}
	return earliest, ok
}

// start hands out a node.
func (r *reference) start(n *referenceNode, state nodehealth.State) {
	n.acting = &referenceAction{life: n.lives, state: state}
	if state == nodehealth.StateSilent {
		n.silent, n.recorded, n.back = true, false, false
	}
}

func (r *reference) finish(now time.Time, name string, outcome nodehealth.Outcome) {
	r.see(now)
	n := r.node(name)
	action := n.acting
	n.acting = nil
	if action.life != n.lives {
		return
	}
	good := outcome == nodehealth.OutcomeDone || outcome == nodehealth.OutcomeAlive
	if action.state == nodehealth.StateAlive {
		if good {
			n.silent, n.back, n.failures, n.retry = false, false, 0, time.Time{}
			return
		}
		wait := min(r.delay(n.failures), r.end(n).Sub(r.latest))
		n.retry = r.latest.Add(max(wait, 1))
		n.failures++
		return
	}
	if outcome == nodehealth.OutcomeAlive {
		r.beat(n)
	}
	switch {
	case n.back:
		n.failures, n.retry = 0, time.Time{}
	case action.undid:
		r.setBack(n)
	case action.shown || good:
		n.recorded, n.failures = true, 0
	default:
		n.retry = r.latest.Add(r.delay(n.failures))
		n.failures++
	}
}

// countsAsSilent is what Silent has to answer.
func (n *referenceNode) countsAsSilent() bool {
	return n.exists && n.silent && n.under(nodehealth.StateAlive) == nil
}

func (r *reference) len() int {
	known := 0
	for _, n := range r.all {
		if n.exists || n.lease {
			known++
		}
	}
	return known
}
