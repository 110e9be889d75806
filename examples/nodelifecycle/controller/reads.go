package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
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
func (c reader) Start(now time.Time) (LeaseRead, bool) { return c.silences.startRead(now) }

// Next returns when the next live read may start.
func (c reader) Next(now time.Time) (time.Time, bool) { return c.silences.nextRead(now) }

// Finish takes the result of a live read.
func (c reader) Finish(now time.Time, read LeaseRead, leases Leases) {
	c.evaluateLasting(now)
	if read.Node == nil {
		c.silences.leasesListed(now, leases)
		return
	}
	n := c.objects.nodes[read.Node.Name]
	c.follow(now, n, c.silences.leaseRead(now, n, read, leases))
}
