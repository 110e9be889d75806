package eviction

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unique"

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
	// Retry is the wait after an attempt that failed, and after one that a
	// PodDisruptionBudget refused.
	Retry timedqueue.Backoff
	// Budgets limit how fast pods leave. None is no limit, like
	// kube-controller-manager: the workers are one.
	Budgets []Budget
	// LowPriorityFirst makes pods that are due at the same time leave in the order of
	// their priority, the lowest first. Else, and among equals, the order is that in
	// which they got a deadline; one whose deadline is moved keeps its place in it.
	LowPriorityFirst bool
}

// Validate reports the first thing that is wrong with the config.
func (c Config) Validate() error {
	if err := c.Retry.Validate(); err != nil {
		return fmt.Errorf("%w: Retry: %w", ErrInvalidConfig, err)
	}
	names := make(map[string]bool)
	for _, budget := range c.Budgets {
		if err := budget.validate(names); err != nil {
			return err
		}
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
// A change of a node costs its pods, a change of a pod O(log n), and Start too; see
// [Budget] for what budgets cost. A pod costs about
// 200 bytes beside the strings and tolerations of its object, whether it has a
// deadline or not; there is no timer or goroutine. A Tracker is not safe for
// concurrent use.
type Tracker struct {
	config Config
	nodes  map[string]*node
	pods   *schedule[types.UID, pod]
	known  int // pods that are there; the schedule also has those that went while they were acted on
	byNode []func(*corev1.Node) string
	byPod  []func(*corev1.Pod) string
	held   func(*corev1.Taint) bool
	synced bool
}

type node struct {
	name    string
	uid     types.UID // empty when only pods of it have been seen
	taints  []Taint   // replaced as a whole, never changed: work that was handed out refers to it
	acting  []Taint   // those that are not held
	evicted time.Time // since when all pods have to leave, zero if they need not
	shares  []string  // of the budgets by node
	home    home      // of its pods, unless each has one of its own
	pods    []*entry[types.UID, pod]
}

// pod is what counts of a pod. There may be a million, so every word is looked at
// twice: times are distances, and what few configs ask for is with the home.
type pod struct {
	namespace     unique.Handle[string]
	name          string
	home          *home
	tolerations   []corev1.Toleration
	seen, arrived time.Duration // as in Pod
	generation    int32         // the API's has 64 bits, but counts changes by hand
	slot          uint32        // in node.pods

	exempt bool // by Config
	daemon bool // of a DaemonSet
	marked bool // says that it is about to be evicted
	gone   bool // is terminating, or was found gone
}

// NewTracker returns a tracker that knows no node and no pod.
func NewTracker(config Config, now time.Time) (*Tracker, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	t := &Tracker{
		config: config,
		nodes:  make(map[string]*node),
		pods:   newSchedule[types.UID, pod](config.Retry, now),
	}
	t.pods.recheck = t.recheck
	if config.LowPriorityFirst {
		t.pods.orderBy(func(a, b *pod) bool { return a.home.priority < b.home.priority })
	}
	for _, b := range config.Budgets {
		t.pods.budgets.add(b.Name, t.shareOf(b), b.Limit, b.Burst)
	}
	return t, nil
}

// Synced says that the nodes and pods that existed when we started have been
// observed. What is seen first after that has appeared; see [Began]. Nothing is
// handed out before: a pod whose node has not been seen yet looks as if it need
// not leave.
func (t *Tracker) Synced() { t.synced = true }

// ObserveNode takes a look at a node. One with another UID than before is a new
// one: it has none of the taints that the old one had, and is not evicted.
func (t *Tracker) ObserveNode(now time.Time, observed *corev1.Node) {
	now = t.advance(now)
	n := t.node(observed.Name)
	same := n.uid == observed.UID
	if !same {
		n.uid, n.taints, n.evicted = observed.UID, nil, time.Time{}
	}
	t.share(n, observed)
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
	n.uid, n.taints, n.evicted = "", nil, time.Time{}
	t.decideAll(now, n)
	t.dropUnused(n)
}

// EvictNode makes all pods of a node leave now, whatever they tolerate, and those
// that come to it later as soon as they are seen; but not pods of DaemonSets, which
// would come back, and exempt ones. That is how nodes were emptied before there were
// taints. It lasts until SpareNode, or until the node is deleted: the caller says it
// anew after a restart. It does nothing for a node that was not observed.
func (t *Tracker) EvictNode(now time.Time, name string) {
	now = t.advance(now)
	if n, known := t.nodes[name]; known && n.uid != "" && n.evicted.IsZero() {
		n.evicted = now
		t.decideAll(now, n)
	}
}

// SpareNode takes EvictNode back.
func (t *Tracker) SpareNode(now time.Time, name string) {
	now = t.advance(now)
	if n, known := t.nodes[name]; known && !n.evicted.IsZero() {
		n.evicted = time.Time{}
		t.decideAll(now, n)
	}
}

// ObservePod takes a look at a pod. It must not be older than one that was
// observed before. The pod must not be changed afterwards: its tolerations are
// kept, not copied.
func (t *Tracker) ObservePod(now time.Time, observed *corev1.Pod) {
	if observed.Spec.NodeName == "" {
		return
	}
	now = t.advance(now)
	e := t.pod(now, observed)
	p := &e.value
	p.tolerations = observed.Spec.Tolerations
	p.generation = int32(observed.Generation)
	p.exempt = t.config.Exempt != nil && t.config.Exempt(observed)
	p.daemon = IsOfDaemonSet(observed)
	p.marked = Marked(observed)
	p.gone = p.gone || observed.DeletionTimestamp != nil
	if e.acts() {
		e.attempt.looked = true
	}
	t.settle(e, observed)
	t.decide(now, e)
}

// ForgetPod drops a pod that was deleted.
func (t *Tracker) ForgetPod(uid types.UID) {
	if e, known := t.pods.find(uid); known {
		t.forget(e)
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

// SetLimit changes how fast the pods of one share of a budget may leave; see
// [Budget]. For a budget that all pods share, share is ignored. It reports whether
// there is a budget of that name. It never adds tokens: when a limit of zero, which
// holds, is lifted, what has become due meanwhile leaves at the new rate and not at
// once, but for the tokens that were there when it was held. So a zone's gate is a budget
// by node with zero for a zone that is down. A share that comes only later has the limit
// then; it is kept until it is set to that of the budget.
func (t *Tracker) SetLimit(now time.Time, budget, share string, limit rate.Limit) bool {
	t.advance(now)
	return t.pods.budgets.setLimit(t.pods.now, budget, share, limit)
}

// Verdict returns when a pod must leave, as far as is known now.
func (t *Tracker) Verdict(uid types.UID) (Verdict, bool) {
	e, known := t.pods.find(uid)
	if !known {
		return Verdict{}, false
	}
	return t.verdict(&e.value), true
}

// Len returns how many pods and nodes the tracker knows.
func (t *Tracker) Len() (nodes, pods int) { return len(t.nodes), t.known }

// node returns the record of a node, a new one if there is none.
func (t *Tracker) node(name string) *node {
	n, known := t.nodes[name]
	if !known {
		n = &node{name: name, shares: make([]string, len(t.byNode))}
		n.home.node = n
		t.nodes[name] = n
	}
	return n
}

// pod returns the record of a pod, a new one if it was not known.
func (t *Tracker) pod(now time.Time, observed *corev1.Pod) *entry[types.UID, pod] {
	e, known := t.pods.entries[observed.UID]
	if known && !e.gone() && e.value.home.node.name != observed.Spec.NodeName {
		t.forget(e) // cannot happen to a real pod: a binding is for ever
		e, known = t.pods.entries[observed.UID]
	}
	if known && !e.gone() {
		return e
	}
	n := t.node(observed.Spec.NodeName)
	p := pod{
		namespace: unique.Make(observed.Namespace),
		name:      observed.Name,
		home:      &n.home,
		seen:      t.pods.distance(now),
		arrived:   t.pods.distance(arrival(observed, now, t.synced)),
		slot:      uint32(len(n.pods)),
	}
	if known {
		e.value = p
		t.pods.revive(e)
	} else {
		e = t.pods.add(observed.UID, p)
	}
	n.pods = append(n.pods, e)
	t.known++
	return e
}

func (t *Tracker) forget(e *entry[types.UID, pod]) {
	n, slot := e.value.home.node, e.value.slot
	last := len(n.pods) - 1
	n.pods[slot] = n.pods[last]
	n.pods[slot].value.slot = slot
	n.pods[last] = nil
	n.pods = n.pods[:last]
	t.known--
	t.pods.remove(e)
	t.dropUnused(n)
}

func (t *Tracker) dropUnused(n *node) {
	if n.uid == "" && len(n.pods) == 0 {
		delete(t.nodes, n.name)
	}
}

// advance returns now, or the latest that was passed in before if that is later.
func (t *Tracker) advance(now time.Time) time.Time {
	t.pods.advance(now)
	if t.pods.distance(now) == t.pods.now {
		return now
	}
	return t.pods.time(t.pods.now)
}

func (t *Tracker) decideAll(now time.Time, n *node) {
	n.acting = acting(n.taints, t.held)
	for _, e := range n.pods {
		t.decide(now, e)
	}
}

// decide puts a pod where it belongs in the schedule. One that was handed out is
// decided by Finish; until then its action learns whether it is still to be done.
func (t *Tracker) decide(now time.Time, e *entry[types.UID, pod]) {
	p := &e.value
	if e.acts() {
		unmarks := e.attempt.free
		e.attempt.off.Store(p.gone || t.rule(p).dueAt(now) == unmarks)
		return
	}
	due, unmarks, ok := t.nextStep(now, p)
	if !ok {
		t.pods.withdraw(e)
		return
	}
	t.pods.place(e, due, unmarks)
}

// recheck decides again about a pod that is about to be handed out. What does not
// change while it waits has been decided; but a pod that was to be unmarked may have
// become due.
func (t *Tracker) recheck(e *entry[types.UID, pod]) bool {
	due, unmarks, ok := t.nextStep(t.pods.time(t.pods.now), &e.value)
	if ok && unmarks == e.free() && due <= t.pods.now {
		return true
	}
	t.decide(t.pods.time(t.pods.now), e)
	return false
}

// nextStep returns when something has to be done about a pod: evict it, or take
// back the mark that says that it is about to be evicted. That is urgent, and has
// the same time at each look, so that a look does not cost it its place.
func (t *Tracker) nextStep(now time.Time, p *pod) (due time.Duration, unmarks, ok bool) {
	ruling := t.rule(p)
	if p.marked && !p.gone && !ruling.dueAt(now) {
		return p.seen, true, true
	}
	if !ruling.leaves() {
		return 0, false, false
	}
	return t.pods.distance(ruling.due), false, true
}

func (t *Tracker) rule(p *pod) ruling {
	switch {
	case p.gone:
		return ruling{reason: Gone}
	case p.exempt:
		return ruling{reason: Exempt}
	}
	view := t.view(p)
	return decideOn(p.home.node.acting, p.spares(p.home.node.evicted), &view, t.config.Matcher)
}

// spares returns since when the pod has to leave because its whole node is evicted,
// which those of DaemonSets need not.
func (p *pod) spares(evicted time.Time) time.Time {
	if p.daemon {
		return time.Time{}
	}
	return evicted
}

func (p *pod) key(uid types.UID) Key { return Key{p.namespace.Value(), p.name, uid} }

// view is a pod as [Decide] takes it.
func (t *Tracker) view(p *pod) Pod {
	return Pod{Tolerations: p.tolerations, Seen: t.pods.time(p.seen), Arrived: t.pods.time(p.arrived)}
}

func (t *Tracker) verdict(p *pod) Verdict { return t.rule(p).verdict(p.home.node.acting) }

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
