package model

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
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
	// woken is called when the process may have something to do.
	woken func()
}

// NewClient returns the client of a process that has just started. Woken is
// called after a list, after an answer, and when the process goes on. It is not
// called after a single event of a watch, which only a handler can judge.
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
func (c *Client) CachedNode(name string) *corev1.Node { return asNode(c.ofMachine(Nodes, name)) }

// CachedPod returns a pod as the client has seen it last, or nil.
func (c *Client) CachedPod(name string) *corev1.Pod {
	return asPod(c.watches[Pods].cached.byName[name])
}

// A Store is the cache of a client of nodes or pods.
type Store struct {
	client *Client
	kind   Kind
}

// Store returns the cache of nodes or pods. It is used after Inform.
func (c *Client) Store(kind Kind) Store { return Store{c, kind} }

// GetByKey returns the object of that name. The namespace does not count.
func (s Store) GetByKey(key string) (item any, exists bool, err error) {
	name := key[strings.LastIndexByte(key, '/')+1:]
	if s.kind == Nodes {
		node := s.client.CachedNode(name)
		return node, node != nil, nil
	}
	pod := s.client.CachedPod(name)
	return pod, pod != nil, nil
}

// LastSyncResourceVersion returns another version after each event and list that
// the client has received. There are no bookmarks.
func (s Store) LastSyncResourceVersion() string {
	return strconv.Itoa(s.client.watches[s.kind].received)
}

// CachedCount returns how many nodes and pods the client sees.
func (c *Client) CachedCount() (nodes, pods int) {
	return c.watches[Nodes].cached.count, c.watches[Pods].cached.count
}

// CachedLease returns a lease as the client has seen it last, or nil.
func (c *Client) CachedLease(name string) *coordinationv1.Lease {
	return c.cachedLease(name).object()
}

func (c *Client) cachedLease(name string) *lease {
	cached, _ := c.ofMachine(Leases, name).(*lease)
	return cached
}

func (c *Client) ofMachine(kind Kind, name string) object {
	return c.watches[kind].cached.ofMachine(c.world.machine[name])
}

// KnowsLease reports whether the client has been shown the latest version of
// the lease of a machine, or there is none.
func (c *Client) KnowsLease(machine string) bool {
	m := c.world.machine[machine]
	if m == nil || m.lease == nil || c.watches[Leases] == nil {
		return true
	}
	cached := c.cachedLease(machine)
	return cached != nil && cached.version == m.lease.version
}

// Die makes the process do nothing more outside, in the midst of what it does.
// What it has sent is its last message. Stop has to follow when that step is
// over.
func (c *Client) Die() { c.stopped = true }

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

// Soon returns a function that plans something for the process for now, each
// time that it is called. It allocates once.
func (c *Client) Soon(do func()) (plan func()) {
	planned := c.whileRunning(do)
	return func() { c.world.After(0, planned) }
}

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
	// Timeout is how long the client waits for an answer. Zero means CallTimeout.
	Timeout time.Duration

	processed func()
	lost      bool // its answer
}

// BeginsWatch reports whether the call is the list with which a watch begins.
func (c *Call) BeginsWatch() bool { return c.processed != nil }

// Call sends a call. Answered is called in the process when the answer is
// there, unless it has ended before. A process that has ended sends nothing.
func (c *Client) Call(call *Call, answered func(*Call)) {
	if c.stopped {
		return
	}
	w := c.world
	call.Client, call.SentAt = c, w.now
	for _, witness := range w.witnesses {
		witness.Sent(call)
	}
	there, back := w.faults.journey(c, call)
	there += w.fate(Message{Kind: MessageCall, Client: c, Call: call}).Later
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
			w.After(max(back, call.timeout()-there), finish)
			return
		}
		if call.Err == nil {
			w.process(call)
		}
		fate := w.fate(Message{Kind: MessageAnswer, Client: c, Call: call})
		if fate.Lost {
			call.lost = true
			fate.Later = max(call.timeout()-there-back, 0)
		}
		w.After(back+fate.Later, finish)
	})
}

// timeout is how long the client waits for an answer.
func (c *Call) timeout() time.Duration { return cmp.Or(c.Timeout, CallTimeout) }

// process does what a call asks for.
func (w *World) process(call *Call) {
	call.Reached, call.ProcessedAt = true, w.now
	w.server.store.call = call
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
	w.server.store.call = nil
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
	call.LeaseList = make([]coordinationv1.Lease, 0, len(w.machines))
	var shown leaseObject // for each its own would double the memory of a list
	for _, m := range w.machines {
		if m.lease != nil {
			l := shown.fill(m.lease)
			l.Spec.RenewTime = ptr.To(*l.Spec.RenewTime)
			call.LeaseList = append(call.LeaseList, *l)
		}
	}
}

func (w *World) get(call *Call) {
	switch call.Kind {
	case LeaderLease:
		call.Lock = w.server.lock
		return
	case Leases:
		if m := w.machine[call.Name]; m != nil && m.lease != nil {
			call.Lease = m.lease.object()
			return
		}
	case Nodes, Pods:
	}
	call.answer(w.server.rules.Get(call.resource(), call.key()))
}

// patch applies a patch. One that changes nothing is no change to the API
// server, and no watch shows it. Witnesses are told all the same.
func (w *World) patch(call *Call) {
	switch call.Kind {
	case LeaderLease:
		return // what a process writes that takes part in no election; it is never read
	case Leases:
		call.Err = fmt.Errorf("the model has no patch of %s", call.Kind)
		return
	case Nodes, Pods:
	}
	node, pod := w.Node(call.Name), w.Pod(call.Name)
	options := apiserver.WriteOptions{Subresource: call.Subresource}
	call.answer(w.server.rules.Patch(w.Wall(), call.resource(), call.key(), call.PatchType, call.Data, options))
	switch {
	case call.Err != nil:
	case call.Kind == Nodes && w.Node(call.Name) == node:
		call.Node = node
		for _, witness := range w.witnesses {
			witness.WroteNode(NodeWrite{call, node, node})
		}
	case call.Kind == Pods && w.Pod(call.Name) == pod:
		call.Pod = pod
		for _, witness := range w.witnesses {
			witness.WrotePod(PodWrite{call, pod, pod})
		}
	}
}

// deletePod begins to delete a pod. One that is bound goes when its kubelet has
// stopped it. The answer is the pod as it was before.
func (w *World) deletePod(call *Call) {
	before := w.Pod(call.Name)
	options := metav1.DeleteOptions{Preconditions: call.Preconditions}
	if _, call.Err = w.server.rules.Delete(w.Wall(), podResource, call.key(), options); call.Err == nil {
		call.Pod = before
	}
}

// evict begins to delete a pod if its budget allows it.
func (w *World) evict(call *Call) {
	before := w.Pod(call.Name)
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: Namespace, Name: call.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: call.Preconditions},
	}
	call.Err = w.server.rules.Evict(w.Wall(), Namespace, eviction, apiserver.WriteOptions{})
	if call.Err == nil {
		call.Pod = before
	}
}

// answer takes what the API server answers with.
func (c *Call) answer(object runtime.Object, err error) {
	c.Err = err
	switch object := object.(type) {
	case *corev1.Node:
		c.Node = object
	case *corev1.Pod:
		c.Pod = object
	}
}

// resource is what the call is about, as the API server names it.
func (c *Call) resource() schema.GroupVersionResource {
	switch c.Kind {
	case Nodes:
		return nodeResource
	case Pods:
		return podResource
	case Leases, LeaderLease:
	}
	return leaseResource
}

// key is that of the object that the call is about.
func (c *Call) key() apiserver.Key {
	switch c.Kind {
	case Pods:
		return podKey(c.Name)
	case Nodes, Leases, LeaderLease:
	}
	return apiserver.Key{Name: c.Name}
}
