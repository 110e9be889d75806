package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Client is one life of a controller's process, as the API server and the
// network know it. After a crash comes another client of the same name.
type Client struct {
	// Name is the process's, Life counts its starts from 1.
	Name string
	Life int

	world   *World
	random  *rand.Rand
	watches [kinds]*watch
	paused  int
	pauses  []stretch
	// suspensions are the parts of pauses in which its machine stood still.
	suspensions []stretch
	asleep      int // suspensions that go on
	stopped     bool
	// held is what has to be done as soon as the process goes on.
	held []func()
	// woken is called after the client has been told anything.
	woken func()
}

// NewClient returns the client of a process that has just started. Woken is
// called whenever it has seen or heard something.
func (w *World) NewClient(name string, life int, woken func()) *Client {
	c := &Client{Name: name, Life: life, world: w, woken: woken}
	c.random = w.random(c.identity())
	w.faults.clients = append(w.faults.clients, c)
	return c
}

func (c *Client) identity() string { return fmt.Sprintf("%s/%d", c.Name, c.Life) }

func (c *Client) wake() { c.woken() }

// Synced reports whether the first lists of all kinds are in. The leader's
// lease counts if it is watched.
func (c *Client) Synced() bool {
	for kind, watch := range c.watches {
		if watch == nil && Kind(kind) != LeaderLease || watch != nil && !watch.synced {
			return false
		}
	}
	return true
}

// CachedNode returns a node as the client has seen it last, or nil.
func (c *Client) CachedNode(name string) *corev1.Node { return asNode(c.watches[Nodes].cached[name]) }

// CachedPod returns a pod as the client has seen it last, or nil.
func (c *Client) CachedPod(name string) *corev1.Pod { return asPod(c.watches[Pods].cached[name]) }

// CachedCount returns how many nodes and pods the client sees.
func (c *Client) CachedCount() (nodes, pods int) {
	return len(c.watches[Nodes].cached), len(c.watches[Pods].cached)
}

// CachedLease returns a lease as the client has seen it last, or nil.
func (c *Client) CachedLease(name string) *coordinationv1.Lease {
	return asLease(c.watches[Leases].cached[name])
}

// KnowsLease reports whether the client has been shown the latest version of
// the lease of a machine, or there is none.
func (c *Client) KnowsLease(machine string) bool {
	m := c.world.machine[machine]
	if m == nil || m.lease == nil || c.watches[Leases] == nil {
		return true
	}
	cached := c.CachedLease(machine)
	return cached != nil && cached.ResourceVersion == m.lease.ResourceVersion
}

// Stop ends the process. Calls that are under way take effect or not, and their
// answers are lost.
func (c *Client) Stop() {
	c.stopped = true
	c.held = nil
	for _, watch := range c.watches {
		if watch != nil {
			watch.stop()
		}
	}
	c.world.faults.clients = slices.DeleteFunc(c.world.faults.clients, func(other *Client) bool { return other == c })
}

// Stopped reports whether the process has ended.
func (c *Client) Stopped() bool { return c.stopped }

// Paused reports whether the process stands still.
func (c *Client) Paused() bool { return c.paused > 0 }

// Pause makes the process stand still. What reaches it waits.
func (c *Client) Pause() {
	c.paused++
	c.pauses = begin(c.pauses, c.world.now)
	c.world.Note(Note{Paused, c, ""})
}

// Resume makes it go on. First comes what its timers and calls wait for, then
// what its watches have received. That is the worst order for a controller that
// counts on its cache.
func (c *Client) Resume() {
	if c.paused == 0 || c.stopped {
		return
	}
	if c.paused--; c.paused > 0 {
		return // another step has paused it too
	}
	c.world.Note(Note{Resumed, c, ""})
	end(c.pauses, c.world.now)
	held := c.held
	c.held = nil
	for _, do := range held {
		if !c.stopped {
			do()
		}
	}
	c.world.After(0, c.whileRunning(c.release))
}

// release hands out what the watches have received meanwhile.
func (c *Client) release() {
	if c.world.faults.cutOff() {
		return
	}
	for _, watch := range c.watches {
		if watch != nil {
			watch.release()
		}
	}
	c.wake()
}

// Do does something in the process: now, or when it goes on, or never if it
// ends before.
func (c *Client) Do(do func()) {
	switch {
	case c.stopped:
	case c.paused > 0:
		c.held = append(c.held, do)
	default:
		do()
	}
}

func (c *Client) whileRunning(do func()) func() { return func() { c.Do(do) } }

// At plans something for the process.
func (c *Client) At(at time.Duration, do func()) { c.world.At(at, c.whileRunning(do)) }

// Verb is what a call does.
type Verb string

// Verbs.
const (
	Get    Verb = "get"
	List   Verb = "list"
	Update Verb = "update"
	Patch  Verb = "patch"
	Delete Verb = "delete"
	// Evict is a POST of an Eviction to a pod.
	Evict Verb = "evict"
)

// A Call is a client's request to the API server, and its answer.
type Call struct {
	Verb Verb
	Kind Kind
	Name string
	// PatchType, Data and Subresource are those of a patch.
	PatchType   types.PatchType
	Data        []byte
	Subresource string
	// Preconditions are those of a delete or an eviction.
	Preconditions *metav1.Preconditions

	// Client has sent it, at SentAt.
	Client *Client
	SentAt time.Duration
	// ProcessedAt is when the API server dealt with it, if Reached.
	ProcessedAt time.Duration
	Reached     bool

	// Node, Lease, Pod or, for a list of leases, LeaseList is the answer, unless
	// it is Err.
	Node      *corev1.Node
	Lease     *coordinationv1.Lease
	Pod       *corev1.Pod
	LeaseList []coordinationv1.Lease
	Err       error

	// Lock is what to write to the leader's lease, or what is in it.
	Lock Lock

	processed func()
	lost      bool // its answer
}

// BeginsWatch reports whether the call is the list with which a watch begins.
func (c *Call) BeginsWatch() bool { return c.processed != nil }

// Call sends a call. Answered is called in the process when the answer is
// there, unless it has ended before.
func (c *Client) Call(call *Call, answered func(*Call)) {
	w := c.world
	call.Client, call.SentAt = c, w.now
	for _, witness := range w.witnesses {
		witness.Sent(call)
	}
	there, back := w.faults.journey(c, call)
	finish := func() {
		w.faults.lose(call)
		c.Do(func() {
			for _, witness := range w.witnesses {
				witness.Answered(call)
			}
			answered(call)
			c.wake()
		})
	}
	w.After(there, func() {
		if call.Err == nil {
			call.Err = w.faults.refusal()
		}
		if call.Err == nil && w.faults.swallows(call) {
			call.lost = true
			w.After(max(back, CallTimeout-there), finish)
			return
		}
		if call.Err == nil {
			w.process(call)
		}
		w.After(back, finish)
	})
}

// process does what a call asks for.
func (w *World) process(call *Call) {
	call.Reached, call.ProcessedAt = true, w.now
	switch call.Verb {
	case Get:
		w.get(call)
	case List:
		w.list(call)
	case Patch:
		w.patch(call)
	case Delete:
		w.deletePod(call)
	case Evict:
		w.evict(call)
	case Update:
		w.lock(call)
	}
	for _, witness := range w.witnesses {
		witness.Processed(call)
	}
}

// list answers a list: one with which a watch begins, or one of all leases.
func (w *World) list(call *Call) {
	if call.processed != nil {
		call.processed()
		return
	}
	if call.Kind != Leases {
		call.Err = fmt.Errorf("the model has no list of %s without a watch", call.Kind)
		return
	}
	for _, m := range w.machines {
		if m.lease != nil {
			call.LeaseList = append(call.LeaseList, *m.lease)
		}
	}
}

func (w *World) get(call *Call) {
	found := false
	switch call.Kind {
	case LeaderLease:
		call.Lock, found = w.server.lock, true
	case Nodes:
		call.Node = w.server.nodes[call.Name]
		found = call.Node != nil
	case Leases:
		if m := w.machine[call.Name]; m != nil {
			call.Lease = m.lease
		}
		found = call.Lease != nil
	case Pods:
		call.Pod = w.Pod(call.Name)
		found = call.Pod != nil
	}
	if !found {
		call.Err = notFound(call)
	}
}

func (w *World) patch(call *Call) {
	switch call.Kind {
	case Nodes:
		before := w.server.nodes[call.Name]
		if before == nil {
			call.Err = notFound(call)
			return
		}
		after, err := patchNode(before, call)
		if err != nil {
			call.Err = err
			return
		}
		w.putNode(call, after)
		call.Node = after
	case Pods:
		before := w.Pod(call.Name)
		if before == nil {
			call.Err = notFound(call)
			return
		}
		after, err := patchPod(before, call)
		if err != nil {
			call.Err = err
			return
		}
		w.putPod(call, after)
		call.Pod = after
	case Leases, LeaderLease:
		call.Err = fmt.Errorf("the model has no patch of %s", call.Kind)
	}
}

// deletePod begins to delete a pod. One that is bound goes when its kubelet has
// stopped it.
func (w *World) deletePod(call *Call) {
	before := w.Pod(call.Name)
	if before == nil {
		call.Err = notFound(call)
		return
	}
	if call.Err = precondition(call, before); call.Err != nil {
		return
	}
	w.removePod(call, before)
	call.Pod = before
}

// removePod is the API server's half of a deletion by anybody.
func (w *World) removePod(call *Call, before *corev1.Pod) {
	if before.DeletionTimestamp != nil {
		return
	}
	if before.Spec.NodeName == "" {
		w.dropPod(call, before.Name)
		return
	}
	after := *before
	grace, now := stopSeconds, metav1.NewTime(w.Wall().Truncate(time.Second))
	after.DeletionTimestamp, after.DeletionGracePeriodSeconds = &now, &grace
	w.putPod(call, &after)
}
