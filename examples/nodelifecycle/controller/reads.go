package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
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

// reads is the part of silences that says which leases are read live, and when.
// It is told which nodes are suspected, and the results of reads. It hands out
// reads, and the versions of leases that they have shown of each suspect. It
// knows no other part.
type reads struct {
	health  *nodehealth.NodeMonitor
	backoff timedqueue.Backoff

	// suspects are the silent nodes that wait for a live read.
	suspects []*node
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

	// failing is how many silences could not be read alone when that was tried
	// last. Reads have failed since failedAt, unread of them in all.
	failing  int
	failedAt time.Time
	unread   int
}

// add adds a suspect.
func (r *reads) add(n *node) {
	n.silence.slot = len(r.suspects)
	r.suspects = append(r.suspects, n)
}

// remove may change the order of those that are left. None is forgotten by
// that: compare goes from the last to the first, and only the last moves.
func (r *reads) remove(s *silence) {
	last := len(r.suspects) - 1
	moved := r.suspects[last]
	r.suspects[s.slot], moved.silence.slot = moved, s.slot
	r.suspects[last] = nil
	r.suspects = r.suspects[:last]
	if last == 0 {
		r.failures = 0 // of other nodes than those that come next
	}
}

// start hands out the next live read: of a suspect, or of all with nil.
func (r *reads) start(now time.Time) (n *node, ok bool) {
	for {
		if at, waits := r.next(now); !waits || at.After(now) {
			return nil, false
		}
		if len(r.suspects) > mostSingleReads {
			return nil, r.all(now)
		}
		if n = r.first(); r.one(now, n.silence, n.object.Name) {
			return n, true
		}
	}
}

// next returns when the next live read may start.
func (r *reads) next(now time.Time) (time.Time, bool) {
	switch {
	case len(r.suspects) == 0 || r.list != listIdle:
		return time.Time{}, false
	case len(r.suspects) > mostSingleReads:
		return latest(r.listAt, now), true
	case r.single >= mostSingleReads && now.Before(r.period):
		return r.period, true
	default:
		return latest(r.first().silence.retryAt, now), true
	}
}

// first returns the suspect that may be read first. It is called with a few
// only.
func (r *reads) first() *node {
	first := r.suspects[0]
	for _, n := range r.suspects[1:] {
		if n.silence.retryAt.Before(first.silence.retryAt) {
			first = n
		}
	}
	return first
}

// one starts the read of one suspect, unless it turns out now that it is none.
func (r *reads) one(now time.Time, s *silence, name string) (started bool) {
	if !r.health.Expired(now, name) {
		s.retryAt = now.Add(readPeriod)
		return false
	}
	if !now.Before(r.period) {
		r.single, r.period = 0, now.Add(readPeriod)
	}
	r.single++
	return true
}

// all starts a list of all leases, unless it turns out now that the suspects
// were found while the API server could not be heard. Those are found again at
// about the same time.
func (r *reads) all(now time.Time) (started bool) {
	r.listAt = now.Add(readPeriod)
	if !r.health.Expired(now, r.suspects[0].object.Name) {
		return false
	}
	r.list, r.from = listing, now
	return true
}

// oneRead takes how the read of one suspect has ended, and reports whether it
// has shown anything.
func (r *reads) oneRead(now time.Time, s *silence, leases Leases) (shown bool) {
	if leases.failure() == nil {
		r.setFailures(s, 0)
		return true
	}
	r.noteFailure(now)
	s.retryAt = now.Add(r.backoff.Delay(s.failures))
	r.setFailures(s, s.failures+1)
	return false
}

// allRead takes all leases.
func (r *reads) allRead(now time.Time, leases Leases) {
	if leases.failure() != nil {
		r.list = listIdle
		r.noteFailure(now)
		r.listAt = latest(r.listAt, now.Add(r.backoff.Delay(r.failures)))
		r.failures++
		return
	}
	r.list, r.versions, r.left, r.failures = listed, leases.Versions, len(r.suspects), 0
}

// compare returns the next suspect that the last list has shown, and nil if it
// has shown all. It says nothing of a node that was found silent after it had
// started. Visits is how many may be looked at.
func (r *reads) compare(visits *int) (n *node, versions map[string]string) {
	for ; r.list == listed && *visits > 0; *visits-- {
		r.left = min(r.left, len(r.suspects)) - 1
		if r.left < 0 {
			r.list, r.versions = listIdle, nil
			break
		}
		if n = r.suspects[r.left]; !n.silence.since.After(r.from) {
			*visits--
			r.setFailures(n.silence, 0)
			return n, r.versions
		}
	}
	return nil, nil
}

// fail reports whether live reads fail.
func (r *reads) fail() bool { return r.failing > 0 || r.failures > 0 && len(r.suspects) > 0 }

// noteFailure is called before a failure is counted.
func (r *reads) noteFailure(now time.Time) {
	if !r.fail() {
		r.failedAt = now
	}
	r.unread++
}

// setFailures counts the failed reads of a silence, and the silences with some.
func (r *reads) setFailures(s *silence, failures int) {
	if s.failures > 0 {
		r.failing--
	}
	if s.failures = failures; failures > 0 {
		r.failing++
	}
}

// listState is where a list of all leases is. It is written by reads.all,
// allRead and compare alone.
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
func (c reader) Start(now time.Time) (LeaseRead, bool) { return c.silences.startRead(now) }

// Next returns when the next live read may start.
func (c reader) Next(now time.Time) (time.Time, bool) { return c.silences.reads.next(now) }

// Finish takes the result of a live read.
func (c reader) Finish(now time.Time, read LeaseRead, leases Leases) {
	c.evaluateLasting(now)
	if read.Node == nil {
		c.silences.reads.allRead(now, leases)
		return
	}
	n := c.objects.nodes[read.Node.Name]
	c.follow(now, n, c.silences.leaseRead(now, n, read, leases))
}
