package kubelet

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// world is a fleet, its runtime, and an API server of a few lines.
type world struct {
	t       *testing.T
	fleet   *Fleet
	runtime *countingRuntime
	now     time.Time
	pods    map[types.UID]*corev1.Pod
	// static are the static pods of each node of the next fleets.
	static []*corev1.Pod
	// created counts the mirror pods. While blind no watch shows them. With strip
	// they lose their owners.
	created      int
	blind, strip bool
	// merges makes the API server apply the patches as a real one does. Without
	// it a status replaces all that was there.
	merges bool
	// log has a line for each task of a pod, nodeLog for each of a node.
	log, nodeLog []string
	// refuse makes the API server fail.
	refuse func(Task) bool
	// record is that of the next fleets.
	record func(Event)
}

// countingRuntime counts what the fleet asks of the runtime.
type countingRuntime struct {
	*cri.Fake
	cancels int
	// stopFailures is how many stops fail.
	stopFailures int
	// notices tells that the fleet asks for them.
	notices bool
	// deaf makes all probes fail, and mute loses all events.
	deaf, mute bool
	// lists is how often the pods of a node were listed.
	lists int
	// sandboxes counts the steps that began to create one, and started the
	// containers that were started.
	sandboxes, started int
	// names are those of the static pods that were ever started.
	names map[types.UID]string
}

func (r *countingRuntime) Probe(now time.Time, pod types.UID, containerID string, kind cri.ProbeKind) bool {
	return r.Fake.Probe(now, pod, containerID, kind) && !r.deaf
}

func (r *countingRuntime) Poll(now time.Time) (cri.Event, bool) {
	for {
		event, ok := r.Fake.Poll(now)
		if ok && event.Notice != nil && event.Notice.Kind == cri.NoticeStarted {
			r.started++
		}
		if !ok || !r.mute && (event.Notice == nil || r.notices) {
			return event, ok
		}
	}
}

func (r *countingRuntime) Pods(now time.Time, node string) []types.UID {
	r.lists++
	return r.Fake.Pods(now, node)
}

func (r *countingRuntime) Begin(now time.Time, plan cri.Plan) {
	if r.stopFailures > 0 && len(plan.Steps) > 0 && plan.Steps[0].Kind == cri.StepStop {
		r.stopFailures--
		plan.Steps = []cri.Step{{Kind: "Broken"}}
	}
	if isStatic(plan.Pod) {
		r.names[plan.Pod.UID] = plan.Pod.Name
	}
	for i := range plan.Steps {
		if plan.Steps[i].Kind == cri.StepCreateSandbox {
			r.sandboxes++
		}
	}
	r.notices, plan.Notices = plan.Notices, true
	r.Fake.Begin(now, plan)
}

func (r *countingRuntime) Cancel(now time.Time, pod types.UID) {
	r.cancels++
	r.Fake.Cancel(now, pod)
}

func newWorld(t *testing.T, nodes ...string) *world {
	runtime, err := cri.NewFake(start)
	require.NoError(t, err)
	w := &world{
		t: t, runtime: &countingRuntime{Fake: runtime, names: map[types.UID]string{}}, now: start,
		pods: map[types.UID]*corev1.Pod{},
	}
	w.restart(nodes...)
	return w
}

// restartKubelet restarts the kubelet of a node. Its faults stay.
func (w *world) restartKubelet(node string) {
	w.fleet.nodes[node].beginLife(w.fleet.queue.Advance(w.now))
}

// reboot reboots the machine of a node. Its faults stay.
func (w *world) reboot(node string) {
	now := w.fleet.queue.Advance(w.now)
	w.fleet.nodes[node].reboot(now, identity("boot", node, now.String()))
}

// restart replaces the fleet, as if its process had ended. The runtime stays.
func (w *world) restart(nodes ...string) {
	random := rand.New(rand.NewPCG(1, 2))
	fleet, err := NewFleet(FleetConfig{
		Runtime: w.runtime, Rand: random.Float64, StaticPods: w.static, Record: w.record,
	}, w.now)
	require.NoError(w.t, err)
	w.fleet = fleet
	for _, name := range nodes {
		fleet.ObserveNode(w.now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	fleet.MarkSynced(w.now)
}

// endProcess ends the process, and another one starts. The runtime has what the
// statuses in the API show.
func (w *world) endProcess(nodes ...string) {
	runtime, err := cri.NewFake(w.now)
	require.NoError(w.t, err)
	w.runtime = &countingRuntime{Fake: runtime, names: w.runtime.names}
	for _, name := range w.names() {
		pod := *w.pods[name]
		pod.UID = RuntimeUID(&pod)
		runtime.Restore(w.now, pod.Spec.NodeName, &pod)
	}
	w.restart(nodes...)
	for _, name := range w.names() {
		w.observe(w.pods[name])
	}
}

// pod adds a pod with these containers. Annotations are pairs without the
// domain.
func (w *world) pod(name string, change func(*corev1.Pod), annotations ...string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Generation: 1,
			Annotations: map[string]string{}},
		Spec: corev1.PodSpec{NodeName: "node", TerminationGracePeriodSeconds: ptr.To[int64](30),
			Containers: []corev1.Container{{Name: "c", Image: "image"}}},
	}
	for i := 0; i < len(annotations); i += 2 {
		key := cri.AnnotationDomain + "/" + annotations[i]
		if container, rest, found := strings.Cut(annotations[i], ":"); found {
			key = container + "." + cri.AnnotationDomain + "/" + rest
		}
		pod.Annotations[key] = annotations[i+1]
	}
	if change != nil {
		change(pod)
	}
	w.observe(pod)
	return pod
}

func (w *world) observe(pod *corev1.Pod) {
	w.pods[pod.UID] = pod
	w.fleet.ObservePod(w.now, pod)
}

// delete asks for the end of a pod.
func (w *world) delete(uid types.UID, grace int64) {
	pod := w.pods[uid].DeepCopy()
	pod.DeletionTimestamp = &metav1.Time{Time: w.now.Add(time.Duration(grace) * time.Second)}
	pod.DeletionGracePeriodSeconds = &grace
	w.observe(pod)
}

// run lets a time pass.
func (w *world) run(period time.Duration) {
	end := w.now.Add(period)
	for range 1_000_000 {
		if task, ok := w.fleet.Start(w.now); ok {
			w.perform(task)
			continue
		}
		next, ok := w.fleet.Next(w.now)
		if !ok || next.After(end) {
			w.now = end
			return
		}
		if next.After(w.now) {
			w.now = next
		}
	}
	w.t.Fatal("the fleet does not come to rest")
}

// due returns how much is due at any time, except the full relist of each node.
func (w *world) due() int {
	due := w.fleet.queue.Len()
	for name, n := range w.fleet.nodes {
		if n.object == nil {
			continue
		}
		_, found := w.fleet.queue.Get(dueKey{node: name, kind: dueRelist})
		require.True(w.t, found, "%s is never relisted", name)
		due--
	}
	return due
}

func (w *world) perform(task Task) {
	if task.Pod == nil {
		w.performNode(task)
		return
	}
	pod := w.pods[task.Pod.UID]
	line := fmt.Sprintf("%s %s %s", w.now.Sub(start), task.Kind, task.Pod.Name)
	switch {
	case w.refuse != nil && w.refuse(task):
		w.log = append(w.log, line+" refused")
		w.fleet.Finish(w.now, task, ResultFailed)
	case task.Kind == TaskCreateMirror:
		w.createMirror(task, line)
	case pod == nil:
		w.fleet.Finish(w.now, task, ResultGone)
	case task.Kind == TaskDeleteMirror:
		require.True(w.t, isMirror(pod), "%s is no mirror", pod.Name)
		w.log = append(w.log, line)
		w.fleet.Finish(w.now, task, ResultDone)
		w.drop(pod.UID)
	case task.Kind == TaskDeletePod:
		require.False(w.t, isMirror(pod), "the mirror %s is finally deleted", pod.Name)
		w.log = append(w.log, line)
		state, found := w.runtime.Pod(w.now, pod.UID)
		require.False(w.t, found && state.Running(), "containers run after the final deletion")
		delete(w.pods, pod.UID)
		w.fleet.Finish(w.now, task, ResultDone)
		w.fleet.ForgetPod(w.now, pod.UID)
	default:
		w.log = append(w.log, line+" "+describeStatus(&task.Status))
		w.checkStatus(&pod.Status, &task.Status)
		status := task.Status
		if w.merges {
			status = patched(w.t, pod.Status, status)
		}
		pod = pod.DeepCopy()
		pod.Status = status
		w.fleet.Finish(w.now, task, ResultDone)
		w.observe(pod)
	}
}

// createMirror creates a mirror pod, unless its name is taken.
func (w *world) createMirror(task Task, line string) {
	for _, pod := range w.pods {
		if nameOf(pod) == nameOf(task.Pod) {
			w.log = append(w.log, line+" exists")
			w.fleet.Finish(w.now, task, ResultFailed)
			return
		}
	}
	w.log = append(w.log, line)
	w.created++
	pod := task.Pod.DeepCopy()
	pod.UID = types.UID(fmt.Sprint("mirror-", w.created))
	if w.strip {
		pod.OwnerReferences = nil
	}
	w.pods[pod.UID] = pod
	w.fleet.Finish(w.now, task, ResultDone)
	if !w.blind {
		w.fleet.ObservePod(w.now, pod)
	}
}

// drop removes a pod from the API at once.
func (w *world) drop(uid types.UID) {
	delete(w.pods, uid)
	w.fleet.ForgetPod(w.now, uid)
}

func (w *world) performNode(task Task) {
	line := fmt.Sprintf("%s %s %s", w.now.Sub(start), task.Kind, task.Node)
	if w.refuse != nil && w.refuse(task) {
		w.nodeLog = append(w.nodeLog, line+" refused")
		w.fleet.Finish(w.now, task, ResultFailed)
		return
	}
	w.nodeLog = append(w.nodeLog, line)
	w.fleet.Finish(w.now, task, ResultDone)
	if task.Kind == TaskRegisterNode {
		w.fleet.ObserveNode(w.now, task.Object)
	}
}

// checkStatus requires that a status goes forward only.
func (w *world) checkStatus(old, s *corev1.PodStatus) {
	if isTerminal(old.Phase) {
		require.Equal(w.t, old.Phase, s.Phase, "a final phase stays")
	}
	for i := range s.ContainerStatuses {
		c := &s.ContainerStatuses[i]
		if before := containerStatus(old.ContainerStatuses, c.Name); before != nil {
			require.GreaterOrEqual(w.t, c.RestartCount, before.RestartCount, "%s: restarts go back", c.Name)
		}
	}
}

// describeStatus is a status in a line: phase, ready, and a word for each
// container.
func describeStatus(s *corev1.PodStatus) string {
	parts := []string{string(s.Phase)}
	if s.Reason != "" {
		parts = append(parts, s.Reason)
	}
	if c := findCondition(s, corev1.PodReady); c != nil && c.Status == corev1.ConditionTrue {
		parts = append(parts, "ready")
	}
	for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			c := &list[i]
			word := c.Name + ":"
			switch {
			case c.State.Running != nil:
				word += "running"
			case c.State.Terminated != nil:
				word += fmt.Sprint("exited=", c.State.Terminated.ExitCode)
			case c.State.Waiting != nil:
				word += c.State.Waiting.Reason
			}
			if c.RestartCount > 0 {
				word += fmt.Sprint("/", c.RestartCount)
			}
			parts = append(parts, word)
		}
	}
	return strings.Join(parts, " ")
}

// status returns the status of a pod as the API server has it.
func (w *world) status(uid types.UID) *corev1.PodStatus { return &w.pods[uid].Status }
