package shadow

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/process/apipatch"
	"github.com/kubelife/lifecycle/nodehealth"
)

// A World is the cluster as it would be if the shadow acted and the controller
// next to it did not. It takes each object as the watch shows it and returns
// the view of the shadow. That has the shadow's own writes, and none of the
// other controllers. What both write goes to the [Record].
//
// Before Begin all is as the watch shows it, and nothing is recorded.
//
// A World is not safe for concurrent use.
type World struct {
	record *Record
	began  bool
	nodes  map[string]*nodeState
	pods   map[types.NamespacedName]*podState
}

// nodeState is a node as the watch showed it last, and as the shadow sees it.
type nodeState struct {
	actual, view *corev1.Node
	// marked are the pods that the shadow has marked not ready since the node was
	// ready. Some may be gone.
	marked []types.NamespacedName
}

// podState is the same of a pod.
type podState struct{ actual, view *corev1.Pod }

// NewWorld returns a world without objects.
func NewWorld(config RecordConfig) (*World, error) {
	record, err := NewRecord(config)
	if err != nil {
		return nil, err
	}
	return &World{
		record: record,
		nodes:  make(map[string]*nodeState),
		pods:   make(map[types.NamespacedName]*podState),
	}, nil
}

// Begin says that the shadow acts from now on.
func (w *World) Begin(now time.Time) {
	w.began = true
	w.record.history.begin(now)
}

// Record returns what was compared.
func (w *World) Record() *Record { return w.record }

// ObserveNode takes a node as the watch shows it, and returns the shadow's
// view, and the views of pods that have changed with it. The kubelet of a node
// that is ready again reports the readiness of its pods. None may be modified.
func (w *World) ObserveNode(now time.Time, actual *corev1.Node) (*corev1.Node, []*corev1.Pod) {
	s := w.nodes[actual.Name]
	if s != nil && s.actual.UID != actual.UID {
		w.ForgetNode(now, actual.Name)
		s = nil
	}
	if s == nil || !w.began {
		w.nodes[actual.Name] = &nodeState{actual: actual, view: actual}
		return actual, nil
	}
	was, had := s.actual, s.view
	s.actual, s.view = actual, mergeNode(was, had, actual)
	w.noteNode(now, was, actual, w.record.Cluster)
	if declared(was) && !declared(actual) || declared(had) && !declared(s.view) {
		w.record.End(now, unknownFact(actual)) // the node was heard
	}
	if nodehealth.ReadyStatus(s.view) == corev1.ConditionTrue {
		return s.view, w.unmark(now, s)
	}
	return s.view, nil
}

// unmark takes back the marks that the shadow alone has made on pods of a node.
// In the cluster there is nothing for its kubelet to write.
func (w *World) unmark(now time.Time, s *nodeState) (changed []*corev1.Pod) {
	for _, key := range s.marked {
		p := w.pods[key]
		if p == nil || !w.record.shadowIsAhead(podFact(p.actual, FactKindPodNotReady)) {
			continue
		}
		w.record.End(now, podFact(p.actual, FactKindPodNotReady))
		view := *p.view
		view.Status.Conditions = slices.Clone(view.Status.Conditions)
		if ready := podCondition(&view, corev1.PodReady); ready != nil {
			*ready = *podCondition(p.actual, corev1.PodReady)
		}
		p.view = &view
		changed = append(changed, p.view)
	}
	s.marked = nil
	return changed
}

// ForgetNode drops a node that was deleted.
func (w *World) ForgetNode(now time.Time, name string) {
	s, known := w.nodes[name]
	if !known {
		return
	}
	delete(w.nodes, name)
	w.record.End(now, unknownFact(s.actual))
	for _, object := range []*corev1.Node{s.actual, s.view} {
		w.endTaints(now, object)
	}
	// A taint that one side has removed is on the other's object. Labels are not
	// taken away.
	for _, key := range olderLabels {
		w.record.End(now, labelFact(s.actual, key))
	}
}

func (w *World) endTaints(now time.Time, object *corev1.Node) {
	for i := range object.Spec.Taints {
		if fact, ok := taintFact(object, &object.Spec.Taints[i]); ok {
			w.record.End(now, fact)
		}
	}
}

// ObservePod takes a pod as the watch shows it, and returns the shadow's view.
// Neither may be modified.
func (w *World) ObservePod(now time.Time, actual *corev1.Pod) *corev1.Pod {
	if actual.Spec.NodeName == "" {
		return actual
	}
	key := keyOf(actual)
	s := w.pods[key]
	if s != nil && s.actual.UID != actual.UID {
		w.ForgetPod(now, s.actual)
		s = nil
	}
	if s == nil || !w.began {
		w.pods[key] = &podState{actual, actual}
		return actual
	}
	was := s.actual
	s.actual = actual
	evicted, marked := podFact(actual, FactKindEvicted), podFact(actual, FactKindPodNotReady)
	if was.DeletionTimestamp == nil && actual.DeletionTimestamp != nil &&
		(evictedByOther(actual) || w.record.shadowIsAhead(evicted)) {
		w.record.Cluster(now, evicted, true)
	}
	byOther := w.isByOther(was, actual)
	switch before, after := podReady(was), podReady(actual); {
	case before == after:
	case after == corev1.ConditionFalse && (byOther || w.record.shadowIsAhead(marked)):
		w.record.Cluster(now, marked, true)
	case after == corev1.ConditionTrue:
		w.record.End(now, marked) // its kubelet is back
	}
	s.view = mergePod(was, s.view, actual, byOther)
	return s.view
}

// isByOther reports whether a change of a pod's readiness is not its kubelet's.
func (w *World) isByOther(was, actual *corev1.Pod) bool {
	return w.nodeIsDeclared(actual.Spec.NodeName) && !byKubelet(was, actual)
}

// ForgetPod drops a pod that was deleted. A pod that the shadow has evicted has
// left in the cluster, too.
func (w *World) ForgetPod(now time.Time, actual *corev1.Pod) {
	s, known := w.pods[keyOf(actual)]
	if !known || s.actual.UID != actual.UID {
		return
	}
	delete(w.pods, keyOf(actual))
	evicted := podFact(actual, FactKindEvicted)
	if w.record.shadowIsAhead(evicted) {
		w.record.Cluster(now, evicted, true)
	}
	w.record.End(now, evicted)
	w.record.End(now, podFact(actual, FactKindPodNotReady))
}

// nodeIsDeclared reports whether a node is Unknown in the cluster because a
// controller has said so. Its kubelet writes nothing about its pods then.
func (w *World) nodeIsDeclared(name string) bool {
	s := w.nodes[name]
	return s != nil && declared(s.actual)
}

// Node returns the shadow's view of a node, or NotFound.
func (w *World) Node(name string) (*corev1.Node, error) {
	if s, known := w.nodes[name]; known {
		return s.view, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
}

// Pod returns the shadow's view of a pod, or NotFound.
func (w *World) Pod(key types.NamespacedName) (*corev1.Pod, error) {
	if s, known := w.pods[key]; known {
		return s.view, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), key.Name)
}

// PatchNode writes to the view of a node, and answers as the API server would.
func (w *World) PatchNode(
	now time.Time, name string, kind types.PatchType, data []byte,
) (*corev1.Node, error) {
	view, err := w.Node(name)
	if err != nil {
		return nil, err
	}
	next, err := patched(view, kind, data)
	if err != nil {
		return nil, err
	}
	w.nodes[name].view = next
	w.noteNode(now, view, next, w.record.Shadow)
	return next, nil
}

// PatchPod writes to the view of a pod, and answers as the API server would.
func (w *World) PatchPod(
	now time.Time, key types.NamespacedName, kind types.PatchType, data []byte,
) (*corev1.Pod, error) {
	view, err := w.Pod(key)
	if err != nil {
		return nil, err
	}
	next, err := patched(view, kind, data)
	if err != nil {
		return nil, err
	}
	w.pods[key].view = next
	if podReady(view) != corev1.ConditionFalse && podReady(next) == corev1.ConditionFalse {
		w.record.Shadow(now, podFact(next, FactKindPodNotReady), true)
		if s := w.nodes[next.Spec.NodeName]; s != nil {
			s.marked = append(s.marked, key)
		}
	}
	return next, nil
}

// DeletePod makes a pod terminate in the shadow's view, and answers as the API
// server would. No PodDisruptionBudget refuses it.
func (w *World) DeletePod(
	now time.Time, key types.NamespacedName, guard *metav1.Preconditions,
) error {
	view, err := w.Pod(key)
	if err != nil {
		return err
	}
	if guard != nil && (guard.UID != nil && *guard.UID != view.UID ||
		guard.ResourceVersion != nil && *guard.ResourceVersion != view.ResourceVersion) {
		return conflict(view.Name)
	}
	if view.DeletionTimestamp != nil {
		return nil
	}
	next := *view
	at := metav1.NewTime(now)
	next.DeletionTimestamp = &at
	w.pods[key].view = &next
	w.record.Shadow(now, podFact(view, FactKindEvicted), true)
	return nil
}

// EvictPod is DeletePod for the Eviction API.
func (w *World) EvictPod(now time.Time, e *policyv1.Eviction) error {
	var guard *metav1.Preconditions
	if e.DeleteOptions != nil {
		guard = e.DeleteOptions.Preconditions
	}
	return w.DeletePod(now, types.NamespacedName{Namespace: e.Namespace, Name: e.Name}, guard)
}

// noteNode tells one side's changes to a node.
func (w *World) noteNode(now time.Time, before, after *corev1.Node, tell func(time.Time, Fact, bool)) {
	if !declared(before) && declared(after) {
		tell(now, unknownFact(after), true)
	}
	for _, c := range []struct {
		from, to *corev1.Node
		holds    bool
	}{{before, after, false}, {after, before, true}} {
		for i := range c.from.Spec.Taints {
			t := &c.from.Spec.Taints[i]
			if fact, ok := taintFact(after, t); ok && !hasTaint(c.to, t) {
				tell(now, fact, c.holds)
			}
		}
	}
	for _, key := range olderLabels {
		if after.Labels[key] != before.Labels[key] && after.Labels[key] != "" {
			tell(now, labelFact(after, key), true)
		}
	}
}

// object is an object of the API, as its type.
type object interface {
	*corev1.Node | *corev1.Pod
	runtime.Object
	metav1.Object
}

var errStale = errors.New("the object has been modified")

// patched returns the patched copy of an object. What a patch says of UID and
// resourceVersion is a guard.
func patched[T object](view T, kind types.PatchType, data []byte) (T, error) {
	result, err := apipatch.Apply(view, kind, data)
	if err != nil {
		return nil, err
	}
	next, ok := result.(T)
	if !ok {
		return nil, fmt.Errorf("%w: %T", apipatch.ErrNotObject, result)
	}
	if next.GetUID() != view.GetUID() || next.GetResourceVersion() != view.GetResourceVersion() {
		return nil, conflict(view.GetName())
	}
	return next, nil
}

func conflict(name string) error {
	return apierrors.NewConflict(corev1.Resource("objects"), name, errStale)
}

func keyOf(pod *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
}

func hasTaint(object *corev1.Node, t *corev1.Taint) bool {
	return slices.ContainsFunc(object.Spec.Taints, func(has corev1.Taint) bool {
		return has.Key == t.Key && has.Effect == t.Effect
	})
}
