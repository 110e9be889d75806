package rollout_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// dice are the random choices of a history.
type dice struct{ *rand.Rand }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// world is a small cluster in virtual time: an API server, a scheduler,
// kubelets and the collector of orphaned pods. Objects are never changed, only
// replaced.
type world struct {
	dice
	now     time.Time
	agenda  []appointment // by time, then by the order in which they were made
	made    int           // appointments
	version int
	uids    int

	machines []*machine
	pods     []*record // those that are stored, oldest first
	events   []event   // all that ever happened, for lists of what is stale
	watcher  func(event)
	targets  map[types.UID]string // the node that each pod is or was for

	quota bool // no pod can be created
	calm  bool // nothing goes wrong any more
	trace func(format string, args ...any)
}

type appointment struct {
	at    time.Time
	order int
	do    func()
}

// machine is a place for a node. What is there keeps its name.
type machine struct {
	name    string
	object  *corev1.Node // nil: there is no such node
	alive   bool
	mood    mood
	webhook bool // refuses all calls about pods for the node
}

// mood is what becomes of pods that are started.
type mood string

const (
	runs    mood = "runs"
	rejects mood = "rejects" // they fail at once
	hangs   mood = "hangs"   // they are never ready
)

// record is a pod that the API server has.
type record struct {
	object *corev1.Pod
	target string // the node that it is for
	maker  int    // the process that made it; zero: another client
	late   bool   // by a call that was sent again and answered before
	stored bool
	// stale says that it was updated in place and runs what it ran before.
	stale bool
}

// event is what a watch tells. One of node and pod is set.
type event struct {
	node *corev1.Node
	pod  *corev1.Pod
	gone bool
	by   int // the process of which a call was the cause; zero: none
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// after does something later. What is due at the same time is done in the order
// in which it was asked for.
func (w *world) after(d time.Duration, do func()) {
	w.made++
	a := appointment{at: w.now.Add(d), order: w.made, do: do}
	at, _ := slices.BinarySearchFunc(w.agenda, a, func(x, y appointment) int {
		if c := x.at.Compare(y.at); c != 0 {
			return c
		}
		return x.order - y.order
	})
	w.agenda = slices.Insert(w.agenda, at, a)
}

// run lets the time pass, and what happens in it happen, as long as going says
// so.
func (w *world) run(until time.Time, going func() bool) {
	for len(w.agenda) > 0 && !w.agenda[0].at.After(until) && going() {
		a := w.agenda[0]
		w.agenda = slices.Delete(w.agenda, 0, 1)
		w.now = a.at
		a.do()
	}
	if going() && w.now.Before(until) {
		w.now = until
	}
}

func (w *world) chance(percent int) bool { return w.IntN(100) < percent }

func (w *world) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.Int64N(int64(most-least)+1))
}

func (w *world) second() metav1.Time { return metav1.NewTime(w.now.Truncate(time.Second)) }

func (w *world) stamp(meta *metav1.ObjectMeta) {
	w.version++
	meta.ResourceVersion = strconv.Itoa(w.version)
}

func (w *world) uid() types.UID {
	w.uids++
	return types.UID(fmt.Sprintf("uid-%d", w.uids))
}

func (w *world) emit(e event) {
	w.events = append(w.events, e)
	w.watcher(e)
}

// find returns the pod that has a name.
func (w *world) find(name string) *record {
	for _, r := range w.pods {
		if r.object.Name == name {
			return r
		}
	}
	return nil
}

func (w *world) machine(name string) *machine {
	for _, m := range w.machines {
		if m.name == name {
			return m
		}
	}
	return nil
}

// create stores a pod. Its name must be free.
func (w *world) create(pod *corev1.Pod, target string, maker int) *record {
	pod.UID = w.uid()
	pod.CreationTimestamp = w.second()
	pod.Status.Phase = corev1.PodPending
	w.stamp(&pod.ObjectMeta)
	r := &record{object: pod, target: target, maker: maker, stored: true}
	w.pods = append(w.pods, r)
	w.targets[pod.UID] = target
	w.trace(
		"API: pod %s for %s of %s created (%s) by %d",
		pod.Name,
		target,
		revisionOf(pod),
		pod.UID,
		maker,
	)
	w.emit(event{pod: pod, by: maker})
	w.after(w.between(10*time.Millisecond, 500*time.Millisecond), func() { w.schedule(r) })
	return r
}

// write stores a changed copy of a pod.
func (w *world) write(r *record, what string, change func(*corev1.Pod)) {
	w.writeFor(r, what, 0, change)
}

func (w *world) writeFor(r *record, what string, by int, change func(*corev1.Pod)) {
	changed := *r.object
	change(&changed)
	w.stamp(&changed.ObjectMeta)
	r.object = &changed
	w.trace("API: pod %s of %s on %s %s", changed.Name, revisionOf(&changed), r.target, what)
	w.emit(event{pod: &changed, by: by})
}

// remove takes a pod away.
func (w *world) remove(r *record, by int) {
	if !r.stored {
		return
	}
	r.stored = false
	w.pods = slices.DeleteFunc(w.pods, func(other *record) bool { return other == r })
	last := *r.object
	w.stamp(&last.ObjectMeta)
	w.trace("API: pod %s of %s on %s is gone", last.Name, revisionOf(&last), r.target)
	w.emit(event{pod: &last, gone: true, by: by})
}

// delete does what a DELETE with a UID does, and says whether there was such a
// pod.
func (w *world) delete(name string, uid types.UID, by int) bool {
	r := w.find(name)
	switch {
	case r == nil || r.object.UID != uid:
		return false
	case r.object.DeletionTimestamp != nil:
	case r.object.Spec.NodeName == "" || isTerminal(r.object): // no kubelet is asked
		w.remove(r, by)
	default:
		deadline := metav1.NewTime(w.second().Add(30 * time.Second))
		w.writeFor(r, "is being deleted", by, func(p *corev1.Pod) { p.DeletionTimestamp = &deadline })
		w.stop(r)
	}
	return true
}

// stop lets the kubelet end a pod that is being deleted, if there is one.
func (w *world) stop(r *record) {
	m := w.machine(r.target)
	if !m.alive || m.object == nil {
		return
	}
	grace := w.between(0, 2*time.Second)
	if w.chance(15) {
		grace = w.between(0, 40*time.Second)
	}
	if w.chance(30) {
		w.after(grace/2, func() {
			if r.stored && m.alive && m.object != nil && !isTerminal(r.object) {
				w.write(
					r,
					"has stopped",
					func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodSucceeded} },
				)
			}
		})
	}
	w.after(grace, func() {
		if m.alive && m.object != nil {
			w.remove(r, 0)
		}
	})
}

// schedule binds a pod if its node lets it in. It is tried again when the node
// changes.
func (w *world) schedule(r *record) {
	m := w.machine(r.target)
	if !r.stored || r.object.Spec.NodeName != "" || r.object.DeletionTimestamp != nil ||
		m.object == nil ||
		!admits(&r.object.Spec, m.object, true) {
		return
	}
	w.write(r, "is bound", func(p *corev1.Pod) { p.Spec.NodeName = r.target })
	w.start(r)
}

// update updates a pod in place, unless it was before. The kubelet restarts it.
func (w *world) update(r *record, template *corev1.PodTemplateSpec, revision string, by int) {
	if revisionOf(r.object) == revision {
		return
	}
	r.stale = true
	w.writeFor(r, "is updated to "+revision, by, func(p *corev1.Pod) {
		p.Labels = maps.Clone(p.Labels)
		p.Labels["controller-revision-hash"] = revision
		p.Spec.Containers = template.Spec.Containers
	})
	w.start(r)
}

// start lets the kubelet begin with a pod, or restart one that was updated. A
// condition has whole seconds, and a restart takes longer.
func (w *world) start(r *record) {
	m := w.machine(r.target)
	slow := w.between(100*time.Millisecond, 5*time.Second)
	if r.stale {
		slow += time.Second
	}
	if w.chance(10) {
		slow = w.between(5*time.Second, time.Minute)
	}
	w.after(slow, func() {
		switch {
		case !r.stored || isTerminal(r.object) || r.object.DeletionTimestamp != nil || m.object == nil ||
			!m.alive:
		case r.stale:
			r.stale = false
			w.setReady(r, false)
			w.start(r)
		case m.mood == rejects && !w.calm:
			w.fail(r)
		case m.mood == hangs && !w.calm:
			w.write(
				r,
				"hangs",
				func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodRunning} },
			)
		default:
			w.setReady(r, true)
		}
	})
}

func (w *world) setReady(r *record, ready bool) {
	if _, was := readySince(r.object); was == ready {
		return
	}
	w.write(r, fmt.Sprintf("ready=%v", ready), func(p *corev1.Pod) { p.Status = w.running(ready) })
}

func (w *world) running(ready bool) corev1.PodStatus {
	condition := corev1.PodCondition{
		Type:               corev1.PodReady,
		Status:             corev1.ConditionFalse,
		LastTransitionTime: w.second(),
	}
	if ready {
		condition.Status = corev1.ConditionTrue
	}
	return corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{condition}}
}

func (w *world) fail(r *record) {
	w.write(r, "fails", func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodFailed} })
}

func (w *world) succeed(r *record) {
	w.write(
		r,
		"succeeds",
		func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodSucceeded} },
	)
}

// changeNode stores a changed copy of a node.
func (w *world) changeNode(m *machine, what string, change func(*corev1.Node)) {
	changed := m.object.DeepCopy()
	change(changed)
	w.stamp(&changed.ObjectMeta)
	m.object = changed
	w.trace("API: node %s %s", m.name, what)
	w.emit(event{node: changed})
	for _, r := range slices.Clone(w.pods) {
		if r.target == m.name {
			w.schedule(r)
		}
	}
}

// join makes a node.
func (w *world) join(m *machine, labels map[string]string) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.name, UID: w.uid(), Labels: labels}}
	node.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
	}
	m.object, m.alive = node, true
	w.changeNode(m, fmt.Sprintf("comes %v", labels), func(*corev1.Node) {})
}

// vanish deletes a node. Its pods are collected some time later.
func (w *world) vanish(m *machine) {
	last := m.object.DeepCopy()
	w.stamp(&last.ObjectMeta)
	m.object = nil
	w.trace("API: node %s is gone", m.name)
	w.emit(event{node: last, gone: true})
	for _, r := range w.pods {
		if r.target == m.name && r.object.Spec.NodeName != "" {
			w.after(w.between(time.Second, time.Minute), func() { w.remove(r, 0) })
		}
	}
}

// die stops the kubelet. The control plane finds out after a while.
func (w *world) die(m *machine) {
	m.alive = false
	w.trace("world: %s dies", m.name)
	uid := m.object.UID
	w.after(40*time.Second, func() {
		if m.object == nil || m.alive || m.object.UID != uid {
			return
		}
		w.changeNode(
			m,
			"is not ready",
			func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown },
		)
		for _, r := range slices.Clone(w.pods) {
			if _, ready := readySince(r.object); ready && r.target == m.name {
				w.setReady(r, false)
			}
		}
	})
}

// recover starts the kubelet again. It ends what is to end, and starts the
// rest.
func (w *world) recover(m *machine) {
	m.alive = true
	w.trace("world: %s recovers", m.name)
	if m.object.Status.Conditions[0].Status != corev1.ConditionTrue {
		w.changeNode(
			m,
			"is ready",
			func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionTrue },
		)
	}
	for _, r := range slices.Clone(w.pods) {
		switch {
		case r.target != m.name || r.object.Spec.NodeName == "":
		case r.object.DeletionTimestamp != nil:
			w.stop(r)
		default:
			w.start(r)
		}
	}
}

// endFaults ends all faults.
func (w *world) endFaults() {
	w.calm, w.quota = true, false
	for _, m := range w.machines {
		m.webhook, m.mood = false, runs
		if m.object != nil && !m.alive {
			w.recover(m)
		}
	}
	for _, r := range slices.Clone(w.pods) {
		if r.object.Spec.NodeName != "" && r.object.DeletionTimestamp == nil && !isTerminal(r.object) {
			w.start(r)
		}
	}
}

func isTerminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

func isOwned(pod *corev1.Pod) bool { return len(pod.OwnerReferences) > 0 }

func revisionOf(pod *corev1.Pod) string { return pod.Labels["controller-revision-hash"] }

// readySince returns since when a pod is ready, and whether it is.
func readySince(pod *corev1.Pod) (time.Time, bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}

// admits says whether a node lets a pod in, or, if not coming, lets it stay.
// The worlds know one label, one taint that matters and one that all daemon
// pods tolerate.
func admits(spec *corev1.PodSpec, node *corev1.Node, coming bool) bool {
	for key, value := range spec.NodeSelector {
		if node.Labels[key] != value {
			return false
		}
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key != dedicated ||
			slices.ContainsFunc(
				spec.Tolerations,
				func(t corev1.Toleration) bool { return t.Key == dedicated },
			) {
			continue
		}
		if taint.Effect == corev1.TaintEffectNoExecute ||
			coming && taint.Effect == corev1.TaintEffectNoSchedule {
			return false
		}
	}
	return true
}

// dedicated is the key of the taint that matters.
const dedicated = "example.com/dedicated"
