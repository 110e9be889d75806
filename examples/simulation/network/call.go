package network

import (
	"cmp"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Verb is what a call does.
type Verb string

// Verbs.
const (
	Get    Verb = "get"
	List   Verb = "list"
	Create Verb = "create"
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
	// Namespace is that of the object. Empty is the one that the server chooses.
	Namespace string
	// PatchType, Data and Subresource are those of a patch.
	PatchType   types.PatchType
	Data        []byte
	Subresource string
	// Object is what to create or to update.
	Object runtime.Object
	// Preconditions are those of a delete or an eviction. GracePeriodSeconds is
	// that of a delete, nil for the object's own.
	Preconditions      *metav1.Preconditions
	GracePeriodSeconds *int64

	// Client has sent it, at SentAt.
	Client *Client
	SentAt time.Duration
	// ProcessedAt is when the API server dealt with it, if Reached.
	ProcessedAt time.Duration
	Reached     bool

	// Node, Lease, Pod or, for a list of leases, LeaseList is the answer, unless
	// it is Err. Leases are as a [Lens] would show them.
	Node      *corev1.Node
	Lease     *coordinationv1.Lease
	Pod       *corev1.Pod
	LeaseList []coordinationv1.Lease
	// Answer is that about an object of another kind.
	Answer runtime.Object
	Err    error

	// Lock is what to write to the leader's lease, or what is in it.
	Lock Lock
	// Timeout is how long the client waits for an answer. Zero means CallTimeout.
	Timeout time.Duration
	// Cause is what the client says of why it calls, for witnesses.
	Cause any

	processed func()
	loss      error // what its client gets instead of the answer, or nil
}

// BeginsWatch reports whether the call is the list with which a watch begins.
func (c *Call) BeginsWatch() bool { return c.processed != nil }

// Call sends a call. Answered is called in the process when the answer is
// there, unless it has ended before. A process that has ended sends nothing.
func (c *Client) Call(call *Call, answered func(*Call)) {
	if c.stopped {
		return
	}
	n := c.network
	call.Client, call.SentAt = c, n.Elapsed()
	for _, witness := range n.witnesses {
		witness.Sent(call)
	}
	there, back := n.faults.journey(c, call)
	there += n.fate(Message{Kind: MessageCall, Client: c, Call: call}).Later
	there, back = n.faults.detour(c, call, there, back)
	finish := func() {
		n.faults.lose(call)
		c.Do(func() {
			for _, witness := range n.witnesses {
				witness.Answered(call)
			}
			answered(call)
			c.wake()
		})
	}
	if back < 0 {
		n.After(call.Wait(), finish)
		if call.Err == nil {
			n.After(there, func() { n.arriveLate(call) })
		}
		return
	}
	n.After(there, func() {
		if call.Err == nil {
			call.Err = n.faults.refusal()
		}
		if call.Err == nil && n.faults.swallows(call) {
			call.loss = errTimeout
			n.After(max(back, call.Wait()-there), finish)
			return
		}
		if call.Err == nil {
			n.process(call)
		}
		fate := n.fate(Message{Kind: MessageAnswer, Client: c, Call: call})
		if fate.Lost {
			call.loss = errTimeout
			fate.Later = max(call.Wait()-there-back, 0)
		}
		n.After(back+fate.Later, finish)
	})
}

// CallNow makes a call that takes no time, and returns with the answer in the
// call. It fails and loses its answer as others do, and is late for nothing. It
// is for code that cannot wait.
func (c *Client) CallNow(call *Call) {
	if c.stopped {
		call.Err = ErrConnection
		return
	}
	n := c.network
	call.Client, call.SentAt = c, n.Elapsed()
	for _, witness := range n.witnesses {
		witness.Sent(call)
	}
	if n.faults.journey(c, call); call.Err == nil {
		n.process(call)
	}
	n.faults.lose(call)
	for _, witness := range n.witnesses {
		witness.Answered(call)
	}
}

// process is the moment in which a call arrives.
func (n *Network) process(call *Call) {
	call.Reached, call.ProcessedAt = true, n.Elapsed()
	if call.processed != nil {
		call.processed()
	} else {
		n.server.Process(call)
	}
	for _, witness := range n.witnesses {
		witness.Processed(call)
	}
}

// arriveLate is the moment in which a call arrives whose client has given up.
// The client's error stays as it is.
func (n *Network) arriveLate(call *Call) {
	given := call.Err
	if call.Err = n.faults.refusal(); call.Err == nil && !n.faults.swallows(call) {
		n.process(call)
	}
	call.forget()
	call.Err = given
}

// Request says in words what is asked for, as in "patch pods/status".
func (c *Call) Request() string {
	request := string(c.Verb) + " " + c.Kind.String()
	if c.Subresource != "" {
		request += "/" + c.Subresource
	}
	return request
}

// Wait is how long the client waits for an answer.
func (c *Call) Wait() time.Duration { return cmp.Or(c.Timeout, CallTimeout) }

// Reply gives the call the answer of a server.
func (c *Call) Reply(object runtime.Object, err error) {
	c.Err = err
	switch object := object.(type) {
	case *corev1.Node:
		c.Node = object
	case *corev1.Pod:
		c.Pod = object
	default:
		c.Answer = object
	}
}

// Result returns the object of the answer, nil if there is none. A list is in
// LeaseList alone.
func (c *Call) Result() runtime.Object {
	switch {
	case c.Node != nil:
		return c.Node
	case c.Pod != nil:
		return c.Pod
	case c.Lease != nil:
		return c.Lease
	}
	return c.Answer
}

// forget takes the answer away.
func (c *Call) forget() { c.Node, c.Lease, c.Pod, c.Answer = nil, nil, nil, nil }
