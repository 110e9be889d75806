package controller_test

import (
	"context"
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
	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/timedqueue"
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

	jobs      timedqueue.Source[timedqueue.Job]
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
	fails func(task any) bool
	// refuses are the objects that cannot be claimed, by name.
	refuses map[string]bool
	// loses says which changes of pods are not answered. It does them, or not.
	loses func(task any) bool
	// drops says which tasks have no result, after they were done.
	drops func() bool
	// log are the tasks that were performed, in words, and events the Events.
	log    []string
	events []controller.Event
	// policy is that of all sets.
	policy rollout.Policy
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
	w.jobs, err = w.Controller.Jobs(w.actions(), w.now)
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
	w.tell(func() { w.ObserveSet(w.now, w.setOf(set)) })
}

func (w *world) setOf(set *appsv1.DaemonSet) controller.Set {
	of := controller.SetOf(set)
	of.Spec.Policy = w.policy
	return of
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
		w.finish(task)
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

// Start and Next are those of the jobs.
func (w *world) Start(now time.Time) (timedqueue.Job, bool) { return w.jobs.Start(now) }
func (w *world) Next(now time.Time) (time.Time, bool)       { return w.jobs.Next(now) }

// finish performs a job and ends it.
func (w *world) finish(job timedqueue.Job) {
	job.Perform(w.Context())
	job.Finish(w.now)
}

// finishRefused ends a change of a pod that is refused.
func (w *world) finishRefused(job timedqueue.Job) {
	fails, log := w.fails, w.log
	w.fails = func(any) bool { return true }
	job.Perform(w.Context())
	w.fails, w.log = fails, log
	job.Finish(w.now)
}

// actions perform what the controller hands out.
func (w *world) actions() controller.Actions {
	ofPod := func(outcome rollout.Outcome) controller.Result[rollout.Result] {
		return controller.Result[rollout.Result]{
			Done: &rollout.Result{Outcome: outcome, Err: errFake}, Err: errFake, Sent: allRequests,
		}
	}
	write := performing(w, w.writeStatus, failed[controller.Set](), failed[controller.Set]())
	return controller.Actions{
		Claim:     performing(w, w.claim, failed[controller.Claimed](), failed[controller.Claimed]()),
		Revise:    performing(w, w.revise, failed[revision.Result](), failed[revision.Result]()),
		ChangePod: performing(w, w.act, ofPod(rollout.OutcomeRefused), ofPod(rollout.OutcomeFailed)),
		WriteStatus: func(ctx context.Context, task controller.WriteStatus) controller.Result[controller.Set] {
			result := write(ctx, task)
			if result.Err != nil {
				result.Done = nil
			}
			return result
		},
		Record: func(_ context.Context, event controller.Event) struct{} {
			w.events = append(w.events, event)
			return struct{}{}
		},
	}
}

// allRequests are as many as any task may send.
const allRequests = 10

func failed[R any]() controller.Result[R] {
	return controller.Result[R]{Err: errFake, Sent: allRequests}
}

// performing returns an action that does a task, or fails or is lost if the
// world says so.
func performing[T, R any](
	w *world, do func(task T, done *R) error, fails, lost controller.Result[R],
) func(context.Context, T) controller.Result[R] {
	return func(_ context.Context, task T) controller.Result[R] {
		if w.loses != nil && w.loses(task) {
			w.log = append(w.log, w.describe(task)+": is lost")
			return lost
		}
		if w.fails != nil && w.fails(task) {
			w.log = append(w.log, w.describe(task)+": fails")
			return fails
		}
		w.log = append(w.log, w.describe(task))
		done := new(R)
		err := do(task, done)
		if w.drops != nil && w.drops() {
			return controller.Result[R]{}
		}
		return controller.Result[R]{Done: done, Err: err, Sent: 1}
	}
}

// ownerOf returns the set of a job.
func ownerOf(job timedqueue.Job) ownership.Owner {
	switch task := job.Task().(type) {
	case controller.Claim:
		return task.Owner
	case controller.Revise:
		return task.Owner
	case controller.ChangePod:
		return task.Owner
	case controller.WriteStatus:
		return task.Owner
	case controller.Event:
		return task.Owner
	}
	return ownership.Owner{}
}

// describe returns a task, or that of a job, in words.
func (w *world) describe(task any) string {
	if job, is := task.(timedqueue.Job); is {
		task = job.Task()
	}
	switch task := task.(type) {
	case controller.Claim:
		return fmt.Sprintf("%s: claim %d revisions, %d pods", task.Owner.Object.GetName(), len(task.Revisions), len(task.Pods))
	case controller.Revise:
		plan := task.Plan
		return fmt.Sprintf("%s: revise, create %t, update %d, relabel %d, delete %d", task.Owner.Object.GetName(),
			plan.Create != nil, len(plan.Update), len(plan.Relabel), len(plan.Delete))
	case controller.ChangePod:
		name := task.Owner.Object.GetName()
		switch {
		case task.Task.Create != nil:
			return fmt.Sprintf("%s: create on %s", name, task.Task.Create.Node)
		case task.Task.Delete != nil:
			return fmt.Sprintf("%s: delete on %s, %s", name, task.Task.Delete.Node, task.Task.Delete.Reason)
		}
		return name + ": refresh"
	case controller.WriteStatus:
		return task.Owner.Object.GetName() + ": status"
	}
	return "?"
}

func (w *world) claim(task controller.Claim, done *controller.Claimed) (err error) {
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
	done.Read = true
	for _, pod := range task.Pods {
		if w.refuses[pod.Name] {
			err = errFake
			continue
		}
		if now := w.pods[pod.Name]; now == nil || now.UID != pod.UID {
			continue
		}
		adopted := false
		changed := w.changePod(pod.Name, func(pod *corev1.Pod) { adopted = change(pod) })
		if adopted {
			done.Pods.Adopted = append(done.Pods.Adopted, changed)
		} else {
			done.Pods.Released = append(done.Pods.Released, changed)
		}
	}
	for _, revision := range task.Revisions {
		if w.refuses[revision.Name] {
			err = errFake
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
			done.Revisions.Adopted = append(done.Revisions.Adopted, changed)
		} else {
			done.Revisions.Released = append(done.Revisions.Released, changed)
		}
	}
	return err
}

func (w *world) revise(task controller.Revise, done *revision.Result) error {
	done.Current = task.Plan.Current
	if create := task.Plan.Create; create != nil {
		switch existing := w.revisions[create.Name]; {
		case existing != nil && metav1.IsControlledBy(existing, task.Owner.Object):
			done.Current, done.Found = existing, true
		case existing != nil:
			w.collide(task, done)
			return errFake
		default:
			done.Current, done.Created = w.answerRevision(create.DeepCopy()), true
		}
	}
	for _, update := range task.Plan.Update {
		changed := update.Revision.DeepCopy()
		if update.Number != 0 {
			changed.Revision = update.Number
		}
		w.answerRevision(changed)
		done.Updated = append(done.Updated, changed)
		if update.Revision == task.Plan.Current {
			done.Current = changed
		}
	}
	for _, relabel := range task.Plan.Relabel {
		done.Relabelled = append(done.Relabelled, w.changePod(relabel.Pod.Name, func(pod *corev1.Pod) {
			pod.Labels[revision.HashLabel] = relabel.To
		}))
	}
	for _, deletion := range task.Plan.Delete {
		if w.revisions[deletion.Revision.Name] != nil {
			delete(w.revisions, deletion.Revision.Name)
			w.wrote[deletion.Revision.Name] = w.versions
			w.ForgetRevision(w.now, deletion.Revision)
		}
		done.Deleted = append(done.Deleted, deletion.Revision)
	}
	return nil
}

// collide raises the collision count of a set whose revision has the name of
// another set's.
func (w *world) collide(task controller.Revise, done *revision.Result) {
	set := w.sets[task.Owner.Object.GetName()]
	planned := task.Plan.Source.Collisions
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
	done.Collisions = changed.Status.CollisionCount
}

func (w *world) act(task controller.ChangePod, done *rollout.Result) error {
	switch step := task.Task; {
	case step.Create != nil:
		*done = w.create(task.Owner, step)
	case step.Delete != nil:
		*done = w.delete(step.Delete)
	default:
		*done = w.read(task.Owner, step.Refresh)
	}
	return done.Err
}

func (w *world) create(owner ownership.Owner, step rollout.Task) rollout.Result {
	pod, err := rollout.NewPod(owner, step.Spec, *step.Create)
	require.NoError(w, err)
	switch existing := w.pods[pod.Name]; {
	case existing == nil:
	case metav1.IsControlledBy(existing, owner.Object):
		return rollout.Result{Outcome: rollout.OutcomeDone, Pod: existing}
	default:
		return rollout.Result{Outcome: rollout.OutcomeNameTaken}
	}
	if w.kubelet {
		makeReady(pod, w.now)
	}
	return rollout.Result{Outcome: rollout.OutcomeDone, Pod: w.putPod(pod)}
}

func (w *world) delete(step *rollout.Deletion) rollout.Result {
	if pod := w.pods[step.Pod]; pod == nil || pod.UID != step.UID {
		return rollout.Result{Outcome: rollout.OutcomeGone}
	}
	w.removePod(step.Pod)
	return rollout.Result{Outcome: rollout.OutcomeDone}
}

func (w *world) read(owner ownership.Owner, step *rollout.Refresh) rollout.Result {
	switch pod := w.pods[step.Pod]; {
	case pod == nil, pod.UID != step.UID:
		return rollout.Result{Outcome: rollout.OutcomeGone}
	case !metav1.IsControlledBy(pod, owner.Object):
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

func (w *world) writeStatus(task controller.WriteStatus, done *controller.Set) error {
	set := w.sets[task.Owner.Object.GetName()]
	if set == nil || set.UID != task.Owner.Object.GetUID() {
		return errFake
	}
	changed := set.DeepCopy()
	applyStatus(w, changed, task.Patch)
	w.stamp(changed)
	w.putSet(changed)
	*done = w.setOf(changed)
	return nil
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
