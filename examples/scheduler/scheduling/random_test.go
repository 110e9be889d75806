package scheduling_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/scheduler/scheduling"
	"github.com/kubelife/lifecycle/examples/simulation/seeds"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Random operations against a cluster whose truth is a slow list. The watch of
// pods is late, answers come in any order, some are lost, and some refuse.
func TestRandomOperations(t *testing.T) {
	for seed := range uint64(seeds.Sized(20, 400)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { playRandom(t, seed) })
	}
}

// truth is the cluster as the API server has it.
type truth struct {
	t         *testing.T
	random    *rand.Rand
	now       time.Time
	scheduler *scheduling.Scheduler
	nodes     map[string]*corev1.Node
	heard     map[string]time.Time
	dead      map[string]bool
	pods      map[types.UID]*corev1.Pod
	late      []func() // what the watch of pods has yet to show, in order
	jobs      timedqueue.Source[timedqueue.Job]
	underWay  []timedqueue.Job
	decided   map[types.UID]bool // pods that had a task
	fair      bool               // nothing fails any more
	allowed   int32              // evictions, by the budget of the kept pods
	halted    bool
	serial    int
	count     map[string]int
}

func playRandom(t *testing.T, seed uint64) {
	s, err := scheduling.New(scheduling.Config{SchedulerName: "lifecycle"}, start)
	require.NoError(t, err)
	w := &truth{
		t: t, random: rand.New(rand.NewPCG(seed, 7)), now: start, scheduler: s,
		nodes: map[string]*corev1.Node{}, heard: map[string]time.Time{}, dead: map[string]bool{},
		pods: map[types.UID]*corev1.Pod{}, decided: map[types.UID]bool{}, count: map[string]int{},
	}
	w.jobs, err = s.Jobs(scheduling.Actions{Perform: w.answer, Evict: w.evict}, start)
	require.NoError(t, err)
	for range 4 {
		w.addNode()
	}
	s.MarkSynced(w.now)
	for name := range w.nodes {
		w.now = w.now.Add(time.Millisecond)
		w.beat(name)
	}
	for range 300 {
		w.change()
		w.pass(time.Duration(w.random.IntN(1500)) * time.Millisecond)
	}
	w.fair = true
	w.halt(false)
	for range 600 { // terminating pods end, watches catch up, backoffs end
		w.allow(1)
		w.finishTerminating()
		w.pass(500 * time.Millisecond)
	}
	w.wantNothingLeftToDo()
	require.Positive(t, w.count["Bind"])
}

func (w *truth) addNode() {
	w.serial++
	node := nodeNamed(fmt.Sprintf("n%03d", w.serial), inZone([]string{"a", "b"}[w.serial%2]))
	w.nodes[node.Name] = node
	w.scheduler.ObserveNode(w.now, node)
	w.beat(node.Name)
}

func (w *truth) beat(name string) {
	w.heard[name] = w.now
	w.scheduler.ObserveLease(w.now, leaseOf(name, w.now))
}

func (w *truth) anyNode() *corev1.Node {
	names := slices.Sorted(maps.Keys(w.nodes))
	return w.nodes[names[w.random.IntN(len(names))]]
}

func (w *truth) anyPod() *corev1.Pod {
	ids := slices.Sorted(maps.Keys(w.pods))
	if len(ids) == 0 {
		return nil
	}
	return w.pods[ids[w.random.IntN(len(ids))]]
}

// change is one thing that happens in the cluster.
func (w *truth) change() {
	switch n := w.random.IntN(20); {
	case n < 9:
		w.addPod()
	case n < 12:
		if pod := w.anyPod(); pod != nil {
			w.removePod(pod)
		}
	case n == 12:
		w.changeNode(func(node *corev1.Node) { node.Spec.Unschedulable = !node.Spec.Unschedulable })
	case n == 13:
		w.changeNode(tainted("k", corev1.TaintEffectNoExecute))
	case n == 14:
		w.changeNode(func(node *corev1.Node) { node.Spec.Taints = nil })
	case n == 15 && len(w.nodes) < 8:
		w.addNode()
	case n == 16 && len(w.nodes) > 2:
		w.removeNode(w.anyNode().Name)
	case n == 17:
		node := w.anyNode().Name
		w.dead[node] = !w.dead[node]
	case n == 18 && w.random.IntN(4) == 0:
		w.halt(true)
	case n == 18:
		w.halt(false)
		w.allow(int32(w.random.IntN(2)))
	default:
		w.finishTerminating()
	}
}

func (w *truth) changeNode(change func(*corev1.Node)) {
	node := changed(w.anyNode(), change)
	w.nodes[node.Name] = node
	w.scheduler.ObserveNode(w.now, node)
}

func (w *truth) removeNode(name string) {
	delete(w.nodes, name)
	delete(w.dead, name)
	w.scheduler.ForgetNode(w.now, name)
	for _, pod := range w.on(name) {
		w.removePod(pod)
	}
}

func (w *truth) addPod() {
	w.serial++
	pod := podNamed(fmt.Sprintf("p%03d", w.serial), fmt.Sprintf("%d00m", 5+w.random.IntN(30)),
		priority(int32(w.random.IntN(4))))
	if w.random.IntN(4) == 0 {
		tolerates("k")(pod)
	}
	if w.random.IntN(3) == 0 {
		pod.Labels["app"] = "kept"
	}
	if w.random.IntN(8) == 0 {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "b"}
	}
	w.write(pod)
}

func (w *truth) halt(halted bool) {
	w.halted = halted
	if halted {
		w.scheduler.Halt(w.now)
	} else {
		w.scheduler.Resume(w.now)
	}
}

// allow sets how many kept pods may be evicted. The watch shows it later.
func (w *truth) allow(n int32) {
	w.allowed = n
	w.late = append(w.late, func() { w.scheduler.ObserveBudget(w.now, budgetOf("keep", "kept", n)) })
}

// write stores a pod. The watch shows it later.
func (w *truth) write(pod *corev1.Pod) {
	w.pods[pod.UID] = pod
	w.late = append(w.late, func() { w.scheduler.ObservePod(w.now, pod) })
}

func (w *truth) removePod(pod *corev1.Pod) {
	delete(w.pods, pod.UID)
	w.late = append(w.late, func() { w.scheduler.ForgetPod(w.now, pod.UID) })
}

// finishTerminating removes what has begun to terminate, as kubelets do.
func (w *truth) finishTerminating() {
	for _, id := range slices.Sorted(maps.Keys(w.pods)) {
		if pod := w.pods[id]; pod.DeletionTimestamp != nil {
			w.removePod(pod)
		}
	}
}

func (w *truth) on(node string) []*corev1.Pod {
	var on []*corev1.Pod
	for _, id := range slices.Sorted(maps.Keys(w.pods)) {
		if w.pods[id].Spec.NodeName == node {
			on = append(on, w.pods[id])
		}
	}
	return on
}

// pass lets time pass and everything happen that is due.
func (w *truth) pass(d time.Duration) {
	w.now = w.now.Add(d)
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		if (w.fair || !w.dead[name]) && w.now.Sub(w.heard[name]) >= 5*time.Second {
			w.beat(name)
		}
	}
	for n := len(w.late); n > 0 && (w.fair || w.random.IntN(3) > 0); n-- {
		show := w.late[0]
		w.late = w.late[1:]
		show()
	}
	for range 1000 {
		if job, ok := w.jobs.Start(w.now); ok {
			switch task := job.Task().(type) {
			case scheduling.Eviction:
				w.checkEviction(task)
			case scheduling.Task:
				w.check(task)
			}
			w.underWay = append(w.underWay, job)
		} else if at, ok := w.jobs.Next(w.now); !ok || at.After(w.now) {
			break
		}
	}
	for len(w.underWay) > 0 && (w.fair || w.random.IntN(3) > 0) {
		i := w.random.IntN(len(w.underWay))
		job := w.underWay[i]
		w.underWay = slices.Delete(w.underWay, i, i+1)
		job.Perform(w.t.Context())
		job.Finish(w.now)
	}
}

// checkEviction wants that a pod leaves for a more important one.
func (w *truth) checkEviction(e scheduling.Eviction) {
	w.count["Evict"]++
	require.False(w.t, w.halted)
	var by string
	_, err := fmt.Sscanf(e.Task.Decision.Request, "makes room for shop/%s", &by)
	require.NoError(w.t, err)
	victim := w.pods[e.Task.Pod.UID]
	for _, pod := range w.pods {
		if pod.Name == by && victim != nil {
			require.Less(w.t, *victim.Spec.Priority, *pod.Spec.Priority)
		}
	}
}

// tasks are those about pods that need a node.
func (w *truth) tasks() (all []scheduling.Task) {
	for _, job := range w.underWay {
		if task, ok := job.Task().(scheduling.Task); ok {
			all = append(all, task)
		}
	}
	return all
}

// check wants that a task is right by the truth, at the moment at which it
// begins.
func (w *truth) check(task scheduling.Task) {
	w.count[string(task.Action)]++
	for _, other := range w.tasks() {
		require.NotEqual(w.t, other.Pod.UID, task.Pod.UID, "two tasks of a pod")
	}
	first := !w.decided[task.Pod.UID]
	w.decided[task.Pod.UID] = true
	if task.Action != scheduling.ActionBind {
		return
	}
	node := w.nodes[task.Decision.Node]
	require.NotNil(w.t, node)
	require.True(w.t, w.belongs(task.Pod, node), "%s on %s", task.Pod.Name, node.Name)
	if w.anyAlive() { // else the observer may be at fault
		require.LessOrEqual(w.t, w.silence(node.Name), 25*time.Second, "%s is silent", node.Name)
	}
	if pod := w.pods[task.Pod.UID]; pod != nil && pod.Spec.NodeName == "" {
		require.True(w.t, w.room(node, task.Pod), "%s on %s", task.Pod.Name, node.Name)
	}
	if !first {
		return
	}
	for id := range w.pods {
		if w.shown(id) && !w.decided[id] {
			require.LessOrEqual(w.t, *w.pods[id].Spec.Priority, *task.Pod.Spec.Priority, "not by priority")
		}
	}
}

// shown reports whether the scheduler knows a pod.
func (w *truth) shown(id types.UID) bool {
	for waiting := range w.scheduler.Waits() {
		if w.pods[id].Name == waiting.Name {
			return true
		}
	}
	return false
}

func (w *truth) silence(name string) time.Duration { return w.now.Sub(w.heard[name]) }

func (w *truth) anyAlive() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(w.nodes)), func(name string) bool {
		return w.silence(name) <= 25*time.Second
	})
}

// belongs is the slow word on taints, cordons and selectors.
func (w *truth) belongs(pod *corev1.Pod, node *corev1.Node) bool {
	for key, value := range pod.Spec.NodeSelector {
		if node.Labels[key] != value {
			return false
		}
	}
	return !node.Spec.Unschedulable && (len(node.Spec.Taints) == 0 || len(pod.Spec.Tolerations) > 0)
}

// room is the slow word on resources: a pod fits next to all that are there,
// and those on their way.
func (w *truth) room(node *corev1.Node, pod *corev1.Pod, without ...*corev1.Pod) bool {
	cpu, pods := pod.Spec.Containers[0].Resources.Requests.Cpu().DeepCopy(), int64(1)
	count := func(other *corev1.Pod) {
		if other.UID != pod.UID && !slices.Contains(without, other) {
			cpu.Add(*other.Spec.Containers[0].Resources.Requests.Cpu())
			pods++
		}
	}
	on := w.on(node.Name)
	for _, other := range on {
		count(other)
	}
	for _, task := range w.tasks() {
		there := slices.ContainsFunc(on, func(other *corev1.Pod) bool { return other.UID == task.Pod.UID })
		if task.Action == scheduling.ActionBind && task.Decision.Node == node.Name && w.pods[task.Pod.UID] != nil && !there {
			count(task.Pod)
		}
	}
	return cpu.Cmp(*resource.NewQuantity(4, resource.DecimalSI)) <= 0 && pods <= 10
}

// chance says how the API server answers, from 0 to 9.
func (w *truth) chance() int {
	chance := w.random.IntN(10)
	if w.fair {
		return 9
	}
	return chance
}

// answer is that of the API server, which may be lost.
func (w *truth) answer(_ context.Context, task scheduling.Task) scheduling.Result {
	chance := w.chance()
	pod := w.pods[task.Pod.UID]
	switch {
	case chance == 0:
		return scheduling.Result{} // not done
	case pod == nil:
		return scheduling.Result{Outcome: scheduling.OutcomeGone}
	case chance == 1:
		return scheduling.Result{Outcome: scheduling.OutcomeRefused}
	}
	switch task.Action {
	case scheduling.ActionBind:
		if pod.Spec.NodeName != "" {
			return scheduling.Result{Outcome: scheduling.OutcomeRefused}
		}
		require.True(w.t, w.room(cmp.Or(w.nodes[task.Decision.Node], nodeNamed(task.Decision.Node)), pod), "overcommitted")
		w.write(changed(pod, on(task.Decision.Node)))
	case scheduling.ActionReport:
		if pod.Spec.NodeName == "" {
			w.write(changed(pod, func(pod *corev1.Pod) { pod.Status.NominatedNodeName = task.Decision.Node }))
		}
	}
	if chance == 2 {
		return scheduling.Result{} // done, but the answer is lost
	}
	return scheduling.Result{Outcome: scheduling.OutcomeDone, Pod: w.pods[task.Pod.UID]}
}

func (w *truth) evict(_ context.Context, e scheduling.Eviction) eviction.Result {
	pod := w.pods[e.Task.Pod.UID]
	switch chance := w.chance(); {
	case chance < 2:
		return eviction.Result{Outcome: eviction.OutcomeBlocked}
	case chance == 2:
		return eviction.Result{}
	case pod == nil:
		return eviction.Result{Outcome: eviction.OutcomeGone}
	case pod.Labels["app"] == "kept" && w.allowed == 0:
		return eviction.Result{Outcome: eviction.OutcomeBlocked}
	case pod.Labels["app"] == "kept":
		w.allow(w.allowed - 1)
	}
	w.write(changed(pod, func(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: w.now} }))
	return eviction.Result{Outcome: eviction.OutcomeEvicted}
}

// wantNothingLeftToDo wants that no pod waits for which there is a node, or
// could be one if less important pods left.
func (w *truth) wantNothingLeftToDo() {
	require.Empty(w.t, w.underWay)
	for _, id := range slices.Sorted(maps.Keys(w.pods)) {
		pod := w.pods[id]
		if pod.Spec.NodeName != "" {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
			lesser := slices.DeleteFunc(w.on(name), func(other *corev1.Pod) bool {
				return *other.Spec.Priority >= *pod.Spec.Priority
			})
			require.False(w.t, w.belongs(pod, w.nodes[name]) && w.room(w.nodes[name], pod, lesser...),
				"%s starves, %s could take it", pod.Name, name)
		}
	}
}
