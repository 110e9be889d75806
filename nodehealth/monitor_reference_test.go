package nodehealth_test

import (
	"time"

	"github.com/kubelife/lifecycle/nodehealth"
)

// reference is what a monitor is compared with: a list of nodes that is scanned at
// each look. It is told what happens on the nodes' side and decides itself what is
// a beat. It shares no code with the monitor.
type reference struct {
	graces [2]time.Duration // before the first report, and after
	first  time.Duration    // of the backoff
	most   time.Duration
	latest time.Time
	synced bool
	all    []*referenceNode
}

// referenceNode is what the reference knows under one name.
type referenceNode struct {
	name string

	exists   bool
	uid      string
	since    time.Time // of its last beat, or of the first look
	heard    bool
	reports  int       // one for each report of its kubelet that was seen
	awaited  bool      // false when it is known to be silent
	failures int       // of its declaration, since its last beat
	retry    time.Time // after a failure
	acting   *referenceAction

	lease        bool
	leaseContent string // which renewal by whom
}

type referenceAction struct {
	uid   string
	since time.Time
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

func (r *reference) beat(n *referenceNode) {
	if n.exists {
		n.since, n.heard, n.awaited, n.failures, n.retry = r.latest, true, true, 0, time.Time{}
	}
}

// observeNode is told how many times the node that is looked at has reported, and
// whether it says now that an observer has declared it.
func (r *reference) observeNode(now time.Time, name, uid string, reports int, declared bool) {
	r.see(now)
	n := r.node(name)
	if !n.exists || n.uid != uid {
		n.exists, n.uid, n.since, n.heard = true, uid, r.latest, false
		n.reports, n.awaited, n.failures, n.retry = reports, !declared, 0, time.Time{}
		return
	}
	if reports > n.reports && !declared {
		n.reports = reports
		r.beat(n)
	}
}

func (r *reference) observeLease(now time.Time, name, content string) {
	r.see(now)
	n := r.node(name)
	changed := n.lease && n.leaseContent != content || !n.lease && r.synced
	if !n.lease && !r.synced {
		n.since = r.latest // no beat, but no younger list either
	}
	n.lease, n.leaseContent = true, content
	if changed {
		r.beat(n)
	}
}

func (r *reference) forgetNode(name string) {
	n := r.node(name)
	n.exists, n.awaited, n.heard = false, false, false
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

func (r *reference) due(n *referenceNode) time.Time {
	if due := n.since.Add(r.grace(n)); due.After(n.retry) {
		return due
	}
	return n.retry
}

// silent scans all nodes for those that may be handed out.
func (r *reference) silent(now time.Time) map[string]*referenceNode {
	r.see(now)
	found := map[string]*referenceNode{}
	for _, n := range r.all {
		if n.awaited && n.acting == nil && !r.due(n).After(r.latest) {
			found[n.name] = n
		}
	}
	return found
}

// next is when the first of those that are awaited is due.
func (r *reference) next() (earliest time.Time, ok bool) {
	for _, n := range r.all {
		if n.awaited && n.acting == nil && (!ok || r.due(n).Before(earliest)) {
			earliest, ok = r.due(n), true
		}
	}
	return earliest, ok
}

func (r *reference) finish(now time.Time, name string, finding nodehealth.Finding) {
	r.see(now)
	n := r.node(name)
	action := n.acting
	n.acting = nil
	if !n.exists || n.uid != action.uid {
		return
	}
	switch {
	case finding == nodehealth.Alive:
		r.beat(n)
	case n.since.After(action.since):
	case finding == nodehealth.Undecided:
		wait := r.first
		for range n.failures {
			wait = min(2*wait, r.most)
		}
		n.failures++
		n.retry = r.latest.Add(wait)
	default:
		n.awaited = false
	}
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
