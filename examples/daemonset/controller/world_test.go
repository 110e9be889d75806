package controller_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
)

const namespace = "monitoring"

var (
	start   = time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	errFake = errors.New("the API server of the test has refused")
)

// world is an API server of sets, pods and revisions in virtual time. It
// performs tasks as package edge does, with code of its own. A watch shows what
// has changed, at once or when the test says so.
type world struct {
	*testing.T
	*controller.Controller

	now       time.Time
	versions  int
	sets      map[string]*appsv1.DaemonSet
	pods      map[string]*corev1.Pod
	revisions map[string]*appsv1.ControllerRevision
	nodes     map[string]*corev1.Node

	// watch are the reports that were not delivered yet, and behind says that they
	// wait for deliver.
	watch  []func()
	behind bool
	// wrote are the versions of the revisions, by name, that answers have shown.
	wrote map[string]int
	// fails says which tasks fail, after they were done or without.
	fails func(controller.Task) bool
	// refuses are the objects that cannot be claimed, by name.
	refuses map[string]bool
	// loses says which changes of pods are not answered. It does them, or not.
	loses func(controller.Task) bool
	// log are the tasks that were performed, in words, and events the Events.
	log    []string
	events []controller.Event
	// kubelet makes pods ready as soon as they exist.
	kubelet bool
}

func newWorld(t *testing.T, change ...func(*controller.Config)) *world {
	t.Helper()
	w := &world{
		T: t, now: start, kubelet: true,
		sets: map[string]*appsv1.DaemonSet{}, pods: map[string]*corev1.Pod{},
		revisions: map[string]*appsv1.ControllerRevision{}, nodes: map[string]*corev1.Node{}, wrote: map[string]int{},
	}
	var config controller.Config
	for _, f := range change {
		f(&config)
	}
	var err error
	w.Controller, err = controller.NewController(config, w.now)
	require.NoError(t, err)
	return w
}

// tell delivers a report, or has it wait.
func (w *world) tell(report func()) {
	w.watch = append(w.watch, report)
	if !w.behind {
		w.deliver()
	}
}

func (w *world) deliver() {
	for len(w.watch) > 0 {
		report := w.watch[0]
		w.watch = w.watch[1:]
		report()
	}
}

func (w *world) stamp(object metav1.Object) {
	w.versions++
	object.SetResourceVersion(strconv.Itoa(w.versions))
	if object.GetUID() == "" {
		object.SetUID(types.UID(fmt.Sprintf("%s-%d", object.GetName(), w.versions)))
		object.SetCreationTimestamp(metav1.NewTime(w.now))
	}
}

func (w *world) addNode(name string, taints ...corev1.Taint) {
	w.nodes[name] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: taints}}
	node := w.nodes[name]
	w.tell(func() { w.ObserveNode(w.now, node) })
}

func (w *world) removeNode(name string) {
	delete(w.nodes, name)
	w.tell(func() { w.ForgetNode(w.now, name) })
}

// addSet creates a set, or replaces one of the name.
func (w *world) addSet(name string, change ...func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1}}
	chosen := map[string]string{"app": name}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: chosen}
	set.Spec.Template.Labels = maps.Clone(chosen)
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:1"}}
	for _, f := range change {
		f(set)
	}
	w.stamp(set)
	w.putSet(set)
	return set
}

func (w *world) putSet(set *appsv1.DaemonSet) {
	w.sets[set.Name] = set
	w.tell(func() { w.ObserveSet(w.now, controller.SetOf(set)) })
}

// changeSet changes the spec of a set.
func (w *world) changeSet(name string, change func(*appsv1.DaemonSet)) {
	set := w.sets[name].DeepCopy()
	change(set)
	set.Generation++
	w.stamp(set)
	w.putSet(set)
}

func setImage(image string) func(*appsv1.DaemonSet) {
	return func(set *appsv1.DaemonSet) { set.Spec.Template.Spec.Containers[0].Image = image }
}

func maxUnavailable(n int) func(*appsv1.DaemonSet) {
	return func(set *appsv1.DaemonSet) {
		set.Spec.UpdateStrategy.Type = appsv1.RollingUpdateDaemonSetStrategyType
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromInt(n))}
	}
}

func (w *world) removeSet(name string) {
	uid := w.sets[name].UID
	delete(w.sets, name)
	w.tell(func() { w.ForgetSet(w.now, uid) })
}

func (w *world) putPod(pod *corev1.Pod) *corev1.Pod {
	w.stamp(pod)
	w.pods[pod.Name] = pod
	w.tell(func() { w.ObservePod(w.now, pod) })
	return pod
}

func (w *world) changePod(name string, change func(*corev1.Pod)) *corev1.Pod {
	pod := w.pods[name].DeepCopy()
	change(pod)
	return w.putPod(pod)
}

func (w *world) removePod(name string) {
	pod := w.pods[name]
	delete(w.pods, name)
	w.tell(func() { w.ForgetPod(w.now, pod) })
}

func (w *world) putRevision(revision *appsv1.ControllerRevision) *appsv1.ControllerRevision {
	w.stamp(revision)
	w.revisions[revision.Name] = revision
	version := w.versions
	w.tell(func() {
		if version > w.wrote[revision.Name] {
			w.ObserveRevision(w.now, revision)
		}
	})
	return revision
}

// answerRevision is putRevision for a write of the controller. The answer shows
// it at once, and older reports that come later do not count.
func (w *world) answerRevision(revision *appsv1.ControllerRevision) *appsv1.ControllerRevision {
	w.stamp(revision)
	w.revisions[revision.Name], w.wrote[revision.Name] = revision, w.versions
	w.ObserveRevision(w.now, revision)
	return revision
}

// run performs tasks until none can start, and returns what was done since the
// last run.
func (w *world) run() []string {
	w.Helper()
	for {
		task, ok := w.Start(w.now)
		if !ok {
			if next, more := w.Next(w.now); !more || next.After(w.now) {
				break
			}
			continue
		}
		w.Finish(w.now, task, w.perform(task))
		require.Less(w, len(w.log), 100_000, "it does not end")
	}
	log := w.log
	w.log = nil
	return log
}

// pass lets time pass, and everything happen that then happens.
func (w *world) pass(d time.Duration) []string {
	w.Helper()
	log := w.run()
	for end := w.now.Add(d); ; {
		next, ok := w.Next(w.now)
		if !ok || next.After(end) {
			w.now = end
			return append(log, w.run()...)
		}
		if next.After(w.now) {
			w.now = next
		}
		log = append(log, w.run()...)
	}
}

func (w *world) perform(task controller.Task) controller.Result {
	if record, ok := task.Action.(controller.Record); ok {
		w.events = append(w.events, record.Event)
		return controller.Result{}
	}
	if w.loses != nil && w.loses(task) {
		w.log = append(w.log, w.describe(task)+": is lost")
		return controller.Result{Pod: rollout.Result{Outcome: rollout.OutcomeFailed, Err: errFake}}
	}
	if w.fails != nil && w.fails(task) {
		w.log = append(w.log, w.describe(task)+": fails")
		if _, ok := task.Action.(controller.ChangePod); ok {
			return controller.Result{Pod: rollout.Result{Outcome: rollout.OutcomeRefused, Err: errFake}}
		}
		return controller.Result{Outcome: controller.OutcomeFailed, Err: errFake}
	}
	w.log = append(w.log, w.describe(task))
	result := controller.Result{Outcome: controller.OutcomeDone, Unused: max(0, task.MostRequests()-1)}
	switch action := task.Action.(type) {
	case controller.Claim:
		w.claim(task, action, &result)
	case controller.Revise:
		w.revise(task, action, &result)
	case controller.ChangePod:
		result.Pod = w.act(task, action.Task)
	case controller.WriteStatus:
		w.writeStatus(task, action, &result)
	}
	return result
}

func (w *world) describe(task controller.Task) string {
	name := task.Owner.Object.GetName()
	switch action := task.Action.(type) {
	case controller.Claim:
		return fmt.Sprintf("%s: claim %d revisions, %d pods", name, len(action.Revisions), len(action.Pods))
	case controller.Revise:
		plan := action.Plan
		return fmt.Sprintf("%s: revise, create %t, update %d, relabel %d, delete %d", name, plan.Create != nil,
			len(plan.Update), len(plan.Relabel), len(plan.Delete))
	case controller.ChangePod:
		switch {
		case action.Task.Create != nil:
			return fmt.Sprintf("%s: create on %s", name, action.Task.Create.Node)
		case action.Task.Delete != nil:
			return fmt.Sprintf("%s: delete on %s, %s", name, action.Task.Delete.Node, action.Task.Delete.Reason)
		}
		return name + ": refresh"
	case controller.WriteStatus:
		return name + ": status"
	}
	return "?"
}

func (w *world) claim(task controller.Task, action controller.Claim, result *controller.Result) {
	change := func(object metav1.Object) (adopted bool) {
		if metav1.GetControllerOf(object) == nil {
			object.SetOwnerReferences([]metav1.OwnerReference{
				*metav1.NewControllerRef(task.Owner.Object, task.Owner.Kind),
			})
			return true
		}
		object.SetOwnerReferences(nil)
		return false
	}
	for _, pod := range action.Pods {
		if w.refuses[pod.Name] {
			result.Outcome, result.Err = controller.OutcomeFailed, errFake
			continue
		}
		if now := w.pods[pod.Name]; now == nil || now.UID != pod.UID {
			continue
		}
		adopted := false
		changed := w.changePod(pod.Name, func(pod *corev1.Pod) { adopted = change(pod) })
		if adopted {
			result.Pods.Adopted = append(result.Pods.Adopted, changed)
		} else {
			result.Pods.Released = append(result.Pods.Released, changed)
		}
	}
	for _, revision := range action.Revisions {
		if w.refuses[revision.Name] {
			result.Outcome, result.Err = controller.OutcomeFailed, errFake
			continue
		}
		now := w.revisions[revision.Name]
		if now == nil {
			continue
		}
		changed := now.DeepCopy()
		adopted := change(changed)
		w.answerRevision(changed)
		if adopted {
			result.Revisions.Adopted = append(result.Revisions.Adopted, changed)
		} else {
			result.Revisions.Released = append(result.Revisions.Released, changed)
		}
	}
}

func (w *world) revise(task controller.Task, action controller.Revise, result *controller.Result) {
	done := &result.Revision
	done.Current = action.Plan.Current
	if create := action.Plan.Create; create != nil {
		switch existing := w.revisions[create.Name]; {
		case existing != nil && metav1.IsControlledBy(existing, task.Owner.Object):
			done.Current, done.Found = existing, true
		case existing != nil:
			w.collide(task, action, result)
			return
		default:
			done.Current, done.Created = w.answerRevision(create.DeepCopy()), true
		}
	}
	for _, update := range action.Plan.Update {
		changed := update.Revision.DeepCopy()
		if update.Number != 0 {
			changed.Revision = update.Number
		}
		w.answerRevision(changed)
		done.Updated = append(done.Updated, changed)
		if update.Revision == action.Plan.Current {
			done.Current = changed
		}
	}
	for _, relabel := range action.Plan.Relabel {
		done.Relabelled = append(done.Relabelled, w.changePod(relabel.Pod.Name, func(pod *corev1.Pod) {
			pod.Labels[revision.HashLabel] = relabel.To
		}))
	}
	for _, deletion := range action.Plan.Delete {
		if w.revisions[deletion.Revision.Name] != nil {
			delete(w.revisions, deletion.Revision.Name)
			w.wrote[deletion.Revision.Name] = w.versions
			w.ForgetRevision(w.now, deletion.Revision)
		}
		done.Deleted = append(done.Deleted, deletion.Revision)
	}
}

// collide raises the collision count of a set whose revision has the name of
// another set's.
func (w *world) collide(task controller.Task, action controller.Revise, result *controller.Result) {
	result.Outcome, result.Err = controller.OutcomeFailed, errFake
	set := w.sets[task.Owner.Object.GetName()]
	planned := action.Plan.Source.Collisions
	if set == nil || set.UID != task.Owner.Object.GetUID() || (planned == nil) != (set.Status.CollisionCount == nil) ||
		planned != nil && *planned != *set.Status.CollisionCount {
		return
	}
	changed := set.DeepCopy()
	changed.Status.CollisionCount = ptr.To(int32(1))
	if planned != nil {
		*changed.Status.CollisionCount += *planned
	}
	w.stamp(changed)
	w.putSet(changed)
	result.Revision.Collisions = changed.Status.CollisionCount
}

func (w *world) act(task controller.Task, step rollout.Task) rollout.Result {
	switch {
	case step.Create != nil:
		pod, err := rollout.NewPod(task.Owner, step.Spec, *step.Create)
		require.NoError(w, err)
		switch existing := w.pods[pod.Name]; {
		case existing == nil:
		case metav1.IsControlledBy(existing, task.Owner.Object):
			return rollout.Result{Outcome: rollout.OutcomeDone, Pod: existing}
		default:
			return rollout.Result{Outcome: rollout.OutcomeNameTaken}
		}
		if w.kubelet {
			makeReady(pod, w.now)
		}
		return rollout.Result{Outcome: rollout.OutcomeDone, Pod: w.putPod(pod)}
	case step.Delete != nil:
		if pod := w.pods[step.Delete.Pod]; pod == nil || pod.UID != step.Delete.UID {
			return rollout.Result{Outcome: rollout.OutcomeGone}
		}
		w.removePod(step.Delete.Pod)
		return rollout.Result{Outcome: rollout.OutcomeDone}
	}
	return w.read(task, step.Refresh)
}

func (w *world) read(task controller.Task, step *rollout.Refresh) rollout.Result {
	switch pod := w.pods[step.Pod]; {
	case pod == nil, pod.UID != step.UID:
		return rollout.Result{Outcome: rollout.OutcomeGone}
	case !metav1.IsControlledBy(pod, task.Owner.Object):
		return rollout.Result{Outcome: rollout.OutcomeReleased, Pod: pod}
	default:
		return rollout.Result{Outcome: rollout.OutcomeDone, Pod: pod}
	}
}

func makeReady(pod *corev1.Pod, now time.Time) {
	pod.Status.Phase = corev1.PodRunning
	pod.Spec.NodeName = daemon.TargetNode(pod)
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now),
	}}
}

func (w *world) writeStatus(task controller.Task, action controller.WriteStatus, result *controller.Result) {
	set := w.sets[task.Owner.Object.GetName()]
	if set == nil || set.UID != task.Owner.Object.GetUID() {
		result.Outcome, result.Err = controller.OutcomeFailed, errFake
		return
	}
	changed := set.DeepCopy()
	applyStatus(w, changed, action.Patch)
	w.stamp(changed)
	w.putSet(changed)
	result.Set = ptr.To(controller.SetOf(changed))
}

// podsOn returns the names of the nodes that have pods of a set, one for each.
func (w *world) podsOn(set string) []string {
	var nodes []string
	for _, pod := range w.pods {
		if metav1.IsControlledBy(pod, w.sets[set]) {
			nodes = append(nodes, daemon.TargetNode(pod))
		}
	}
	slices.Sort(nodes)
	return nodes
}
