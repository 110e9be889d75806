package eviction

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

// ErrInvalidConfig is wrapped by the errors of this package's constructors.
var ErrInvalidConfig = errors.New("invalid eviction config")

// Config is what a [Tracker] needs. The zero value is complete.
type Config struct {
	// Matcher says which toleration tolerates which taint.
	Matcher taints.Matcher
	// Exempt keeps pods from being evicted, whatever their tolerations. Nil exempts
	// none, like kube-controller-manager. It must be a pure function of the pod;
	// Work.Reconsider calls it too, on the goroutine of the action.
	Exempt func(*corev1.Pod) bool
	// Retry is the wait after an attempt that failed.
	Retry timedqueue.Backoff
}

// Validate reports the first thing that is wrong with the config.
func (c Config) Validate() error {
	if err := c.Retry.Validate(); err != nil {
		return fmt.Errorf("%w: Retry: %w", ErrInvalidConfig, err)
	}
	return nil
}

// Key is the identity of a pod. A pod that was deleted and created again under
// its name is another one.
type Key struct {
	Namespace, Name string
	UID             types.UID
}

// String returns namespace/name.
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// KeyOf returns the identity of a pod.
func KeyOf(pod *corev1.Pod) Key { return Key{pod.Namespace, pod.Name, pod.UID} }

// A Tracker knows the NoExecute taints of nodes and the pods on them, and hands
// out each pod when it must leave. It is fed with nodes and pods as an informer
// delivers them; every change of a taint or toleration, of a pod's node, and of
// what is held decides anew when the pods that it concerns must leave. A
// [timedqueue.Dispatcher] can drive it.
//
// A change of a node costs its pods, a change of a pod O(log n). Pods without a
// deadline cost a record each; there is one heap, and no timer or goroutine. A
// Tracker is not safe for concurrent use.
type Tracker struct {
	config Config
	nodes  map[string]*node
	pods   map[types.UID]*pod
	due    *timedqueue.Queue[types.UID, *pod]
	held   func(*corev1.Taint) bool
	synced bool
	now    time.Time // the latest that was passed in
	starts uint64    // how often Start has handed out work
}

type node struct {
	name   string
	uid    types.UID // empty when only pods of it have been seen
	taints []Taint   // replaced as a whole, never changed: work that was handed out refers to it
	acting []Taint   // those that are not held
	pods   []*pod
}

type pod struct {
	Pod
	key        Key
	node       *node
	slot       int // in node.pods
	generation int64

	exempt    bool         // by Config
	marked    bool         // says that it is about to be evicted
	gone      bool         // is terminating, or was found gone
	acting    uint64       // which Start handed it out; zero when it does not act
	looked    bool         // it was observed since then
	unmarking bool         // what it was handed out for
	off       *atomic.Bool // tells the action that there is nothing to do any more
	retryAt   time.Time    // not before this, since an attempt has failed
}

// NewTracker returns a tracker that knows no node and no pod.
func NewTracker(config Config, now time.Time) (*Tracker, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	due, err := timedqueue.New[types.UID, *pod](timedqueue.Config{Limit: rate.Inf, Backoff: config.Retry}, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	return &Tracker{
		config: config,
		nodes:  make(map[string]*node),
		pods:   make(map[types.UID]*pod),
		due:    due,
		now:    now,
	}, nil
}

// Synced says that the nodes and pods that existed when we started have been
// observed. What is seen first after that has appeared; see [Began]. Nothing is
// handed out before: a pod whose node has not been seen yet looks as if it need
// not leave.
func (t *Tracker) Synced() { t.synced = true }

// ObserveNode takes a look at a node. One with another UID than before is a new
// one: it has none of the taints that the old one had.
func (t *Tracker) ObserveNode(now time.Time, observed *corev1.Node) {
	now = t.advance(now)
	n := t.node(observed.Name)
	same := n.uid == observed.UID
	if !same {
		n.uid, n.taints = observed.UID, nil
	}
	next := noExecute(observed, n.taints, same || t.synced, now)
	if same && equal(n.taints, next) {
		return
	}
	n.taints = next
	t.decideAll(now, n)
}

// ForgetNode drops a node that was deleted. Its pods are not evicted for its
// taints any more.
func (t *Tracker) ForgetNode(now time.Time, name string) {
	now = t.advance(now)
	n, known := t.nodes[name]
	if !known {
		return
	}
	n.uid, n.taints = "", nil
	t.decideAll(now, n)
	t.dropUnused(n)
}

// ObservePod takes a look at a pod. It must not be older than one that was
// observed before. The pod must not be changed afterwards: its tolerations are
// kept, not copied.
func (t *Tracker) ObservePod(now time.Time, observed *corev1.Pod) {
	if observed.Spec.NodeName == "" {
		return
	}
	now = t.advance(now)
	p, known := t.pods[observed.UID]
	if known && p.node.name != observed.Spec.NodeName {
		t.forget(p) // cannot happen to a real pod: a binding is for ever
		known = false
	}
	if !known {
		p = t.add(now, observed)
	}
	p.Tolerations = observed.Spec.Tolerations
	p.generation = observed.Generation
	p.exempt = t.config.Exempt != nil && t.config.Exempt(observed)
	p.marked, p.looked = Marked(observed), true
	p.gone = p.gone || observed.DeletionTimestamp != nil
	t.decide(now, p)
}

// ForgetPod drops a pod that was deleted.
func (t *Tracker) ForgetPod(uid types.UID) {
	if p, known := t.pods[uid]; known {
		t.forget(p)
	}
}

// Hold makes taints count for nothing until another Hold: those for which held
// is true. Nil holds none. It is for the time in which taints that we have set
// are still there but must not act, because every zone is disrupted. It costs
// all pods on tainted nodes. Held must be a pure function of the taint;
// Work.Reconsider calls it too, on the goroutine of the action.
func (t *Tracker) Hold(now time.Time, held func(*corev1.Taint) bool) {
	now = t.advance(now)
	t.held = held
	var tainted []string
	for name, n := range t.nodes {
		if len(n.taints) > 0 {
			tainted = append(tainted, name)
		}
	}
	slices.Sort(tainted) // what becomes due together leaves in the same order each time
	for _, name := range tainted {
		t.decideAll(now, t.nodes[name])
	}
}

// Verdict returns when a pod must leave, as far as is known now.
func (t *Tracker) Verdict(uid types.UID) (Verdict, bool) {
	p, known := t.pods[uid]
	if !known {
		return Verdict{}, false
	}
	return t.rule(p).verdict(p.node.acting), true
}

// Pending returns how many pods wait to be evicted, now or later.
func (t *Tracker) Pending() int { return t.due.Len() }

// Len returns how many pods and nodes the tracker knows.
func (t *Tracker) Len() (nodes, pods int) { return len(t.nodes), len(t.pods) }

// node returns the record of a node, a new one if there is none.
func (t *Tracker) node(name string) *node {
	n, known := t.nodes[name]
	if !known {
		n = &node{name: name}
		t.nodes[name] = n
	}
	return n
}

func (t *Tracker) add(now time.Time, observed *corev1.Pod) *pod {
	n := t.node(observed.Spec.NodeName)
	p := &pod{
		Pod:  Pod{Seen: now, Arrived: arrival(observed, now, t.synced)},
		key:  KeyOf(observed),
		node: n,
		slot: len(n.pods),
	}
	n.pods = append(n.pods, p)
	t.pods[p.key.UID] = p
	return p
}

func (t *Tracker) forget(p *pod) {
	p.gone = true
	if p.acting != 0 {
		p.off.Store(true)
	}
	t.due.Remove(p.key.UID)
	delete(t.pods, p.key.UID)
	n := p.node
	last := len(n.pods) - 1
	n.pods[p.slot] = n.pods[last]
	n.pods[p.slot].slot = p.slot
	n.pods[last] = nil
	n.pods = n.pods[:last]
	t.dropUnused(n)
}

func (t *Tracker) dropUnused(n *node) {
	if n.uid == "" && len(n.pods) == 0 {
		delete(t.nodes, n.name)
	}
}

// advance returns now, or the latest that was passed in before if that is later:
// the queue does the same, and both have to agree on what is due.
func (t *Tracker) advance(now time.Time) time.Time {
	t.now = later(t.now, now)
	return t.now
}

func (t *Tracker) decideAll(now time.Time, n *node) {
	n.acting = acting(n.taints, t.held)
	for _, p := range n.pods {
		t.decide(now, p)
	}
}

// decide puts a pod where it belongs in the queue. One that was handed out is
// decided by Finish; until then its action learns whether it is still to be done.
func (t *Tracker) decide(now time.Time, p *pod) {
	if p.acting != 0 {
		p.off.Store(p.gone || t.rule(p).dueAt(now) == p.unmarking)
		return
	}
	at, ok := t.nextStep(now, p)
	if !ok {
		t.due.Remove(p.key.UID)
		return
	}
	at = later(at, p.retryAt)
	if !t.due.Add(p.key.UID, p, at) {
		t.due.Reschedule(p.key.UID, at)
	}
}

// nextStep returns when something has to be done about a pod: evict it, or take
// back the mark that says that it is about to be evicted. That is urgent, and has
// the same time at each look, so that a look does not cost it its place.
func (t *Tracker) nextStep(now time.Time, p *pod) (time.Time, bool) {
	ruling := t.rule(p)
	if p.marked && !p.gone && !ruling.dueAt(now) {
		return p.Seen, true
	}
	return ruling.due, ruling.leaves()
}

func (t *Tracker) rule(p *pod) ruling {
	switch {
	case p.gone:
		return ruling{reason: Gone}
	case p.exempt:
		return ruling{reason: Exempt}
	}
	return decide(p.node.acting, &p.Pod, t.config.Matcher)
}

// acting returns the taints that are not held.
func acting(all []Taint, held func(*corev1.Taint) bool) []Taint {
	if held == nil {
		return all
	}
	var rest []Taint
	for i := range all {
		if !held(&all[i].Taint) {
			rest = append(rest, all[i])
		}
	}
	return rest
}

func equal(a, b []Taint) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if !x.MatchTaint(&y.Taint) || x.Value != y.Value || !x.TimeAdded.Equal(y.TimeAdded) || !x.Start.Equal(y.Start) {
			return false
		}
	}
	return true
}
