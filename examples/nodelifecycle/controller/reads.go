package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/nodehealth"
)

// A live read of its lease decides whether a silent node is silent, or what
// passes on its heartbeats. A few nodes are read one by one. More are read with
// one list of all leases: it costs one request however many there are.
const (
	// mostSingleReads is how many leases are read one by one in a readPeriod. With
	// more suspects than that all leases are listed.
	mostSingleReads = 3
	// readPeriod is also the time between the starts of two lists.
	readPeriod = time.Second
	// confirmationLasts is how old a confirmation may be when its node is
	// declared. A node that comes back in that time is heard through the watch,
	// unless the watch is behind.
	confirmationLasts = 10 * time.Second
)

// reads are the live reads of leases.
type reads struct {
	// single is how many leases were read one by one in the period that ends then.
	single int
	period time.Time
	list   listState
	// listAt is when the next list may start at the earliest, after so many
	// failures.
	listAt   time.Time
	failures int
	// from is when the list was started that is under way or being evaluated.
	from time.Time
	// versions are the resourceVersions of the leases of that list, by name. left
	// is how many of the suspects it has yet to be compared with.
	versions map[string]string
	left     int

	// unconfirmed is how many silences are not confirmed. There have been some
	// since suspectedAt.
	unconfirmed int
	suspectedAt time.Time
	// failing is how many silences could not be read alone when that was tried
	// last. Reads have failed since failedAt.
	failing  int
	failedAt time.Time
	// behind is how many nodes have shown life to a live read, and not to the
	// watch since. There have been some since refutedAt.
	behind    int
	refutedAt time.Time
	// refuted counts the silences that a live read has refuted, and unread the
	// live reads that have failed.
	refuted, unread int
}

// fail reports whether live reads fail, with so many suspects.
func (r *reads) fail(suspects int) bool { return r.failing > 0 || r.failures > 0 && suspects > 0 }

// noteFailure is called before a failure is counted.
func (r *reads) noteFailure(now time.Time, suspects int) {
	if !r.fail(suspects) {
		r.failedAt = now
	}
	r.unread++
}

// listState is where a list of all leases is. It is written by listLeases,
// listed and compare alone.
type listState uint8

const (
	// listIdle: none is under way.
	listIdle listState = iota
	// listing: it was handed out.
	listing
	// listed: its answer is being compared with what was observed.
	listed
)

func (s listState) String() string { return [...]string{"idle", "listing", "listed"}[s] }

// A LeaseRead reads leases of the namespace kube-node-lease, which are those of
// nodes, from the API server and not from a cache.
type LeaseRead struct {
	// Node is the silent node whose lease is read. Nil reads all leases, as a list
	// that is not older than the request: it is asked for without a
	// resourceVersion.
	Node *corev1.Node

	silence *silence // of the node
}

// Leases are the result of a [LeaseRead]. The zero value is a failure.
type Leases struct {
	// Versions are the resourceVersions by name of the leases that there are. Not
	// nil, unless the read failed.
	Versions map[string]string
	// Err is why it failed.
	Err error
}

// failure returns why the leases are not known, nil if they are.
func (l Leases) failure() error {
	if l.Err == nil && l.Versions == nil {
		return errNoResult
	}
	return l.Err
}

// A reader is the core of the live reads of leases.
type reader struct{ *Controller }

// Start hands out the next live read.
func (c reader) Start(now time.Time) (LeaseRead, bool) {
	for {
		if at, ok := c.Next(now); !ok || at.After(now) {
			return LeaseRead{}, false
		}
		if len(c.suspects) > mostSingleReads {
			return c.listLeases(now)
		}
		if read, ok := c.readLease(now); ok {
			return read, true
		}
	}
}

// Next returns when the next live read may start.
func (c reader) Next(now time.Time) (time.Time, bool) {
	switch r := &c.reads; {
	case len(c.suspects) == 0 || r.list != listIdle:
		return time.Time{}, false
	case len(c.suspects) > mostSingleReads:
		return latest(r.listAt, now), true
	case r.single >= mostSingleReads && now.Before(r.period):
		return r.period, true
	default:
		return latest(c.nextSuspect().silence.retryAt, now), true
	}
}

// Finish takes the result of a live read.
func (c reader) Finish(now time.Time, read LeaseRead, leases Leases) {
	c.evaluateLasting(now)
	if read.Node == nil {
		c.leasesListed(now, leases)
	} else {
		c.leaseRead(now, read, leases)
	}
}

// nextSuspect returns the suspect that may be read first. It is called with a
// few only.
func (c *Controller) nextSuspect() *node {
	first := c.suspects[0]
	for _, n := range c.suspects[1:] {
		if n.silence.retryAt.Before(first.silence.retryAt) {
			first = n
		}
	}
	return first
}

func (c *Controller) readLease(now time.Time) (LeaseRead, bool) {
	n := c.nextSuspect()
	if !c.health.Expired(now, n.object.Name) {
		n.silence.retryAt = now.Add(readPeriod)
		return LeaseRead{}, false
	}
	if !now.Before(c.reads.period) {
		c.reads.single, c.reads.period = 0, now.Add(readPeriod)
	}
	c.reads.single++
	c.enterSilence(n, reading)
	return LeaseRead{Node: n.object, silence: n.silence}, true
}

// listLeases asks for all leases, unless it turns out now that the suspects
// were found while the API server could not be heard. Those are found again at
// about the same time.
func (c *Controller) listLeases(now time.Time) (LeaseRead, bool) {
	c.reads.listAt = now.Add(readPeriod)
	if !c.health.Expired(now, c.suspects[0].object.Name) {
		return LeaseRead{}, false
	}
	c.reads.list, c.reads.from = listing, now
	return LeaseRead{}, true
}

// leaseRead takes the lease of one node.
func (c *Controller) leaseRead(now time.Time, read LeaseRead, leases Leases) {
	n := c.nodes[read.Node.Name]
	if n == nil || n.silence != read.silence || n.silence.state != reading {
		return // heard or deleted
	}
	c.enterSilence(n, suspected)
	if leases.failure() != nil {
		c.reads.noteFailure(now, len(c.suspects))
		n.silence.retryAt = now.Add(c.config.Backoff.Delay(n.silence.failures))
		n.silence.setFailures(&c.reads, n.silence.failures+1)
		return
	}
	c.decide(now, n, leases.Versions)
}

// leasesListed takes all leases.
func (c *Controller) leasesListed(now time.Time, leases Leases) {
	r := &c.reads
	if leases.failure() != nil {
		r.list = listIdle
		r.noteFailure(now, len(c.suspects))
		r.listAt = latest(r.listAt, now.Add(c.config.Backoff.Delay(r.failures)))
		r.failures++
		return
	}
	r.list, r.versions, r.left, r.failures = listed, leases.Versions, len(c.suspects), 0
}

// compare decides about the suspects by the last list, and reports whether it
// has left some for the next Start. The list says nothing of a node that was
// found silent after it had started.
func (c *Controller) compare(now time.Time) (more bool) {
	r := &c.reads
	if r.list != listed {
		return false
	}
	for range mostVisited {
		r.left = min(r.left, len(c.suspects)) - 1
		if r.left < 0 {
			r.list, r.versions = listIdle, nil
			return false
		}
		if n := c.suspects[r.left]; !n.silence.since.After(r.from) {
			c.decide(now, n, r.versions)
		}
	}
	return true
}

// decide finds out whether a suspect is silent, by the versions of leases that
// a live read has shown. That the API server has no lease is no sign of life.
func (c *Controller) decide(now time.Time, n *node, versions map[string]string) {
	s, name := n.silence, n.object.Name
	s.setFailures(&c.reads, 0)
	switch {
	case c.health.ReadLease(name, versions[name]):
		c.reads.refuted++
		c.setBehind(now, n, true)
		c.endSilence(now, n, nodehealth.OutcomeAlive)
	case !c.health.Expired(now, name): // a heartbeat could not be heard after all
		s.retryAt = now.Add(readPeriod)
	default:
		c.confirm(now, n)
	}
}
