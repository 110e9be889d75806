package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	upstreamdaemon "k8s.io/kubernetes/pkg/controller/daemon"
	upstreamutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/e2e/conformance/upstream"
)

// An outcome is what one side does in a world in which no other client does
// anything: pods that it creates stay pending, those that it deletes go on
// terminating where a kubelet would have to end them, and time stands still. It
// ends when there is nothing left to do.
type outcome struct {
	Created []string // nodes, sorted
	Deleted []string // pods, sorted
	// First is the status of the world as it was, Last in the end.
	First, Last rollout.Status
	// causes are those of our plans.
	causes map[rollout.StepReason]int
}

func (o *outcome) sort() {
	slices.Sort(o.Created)
	slices.Sort(o.Deleted)
}

// mostRounds is more than anything takes.
const mostRounds = 40

// terminating returns the pod as it is once it was deleted, or nil: the API
// server waits for no kubelet if none has the pod, or if it has come to an end.
func terminating(pod *corev1.Pod) *corev1.Pod {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	going := pod.DeepCopy()
	going.ResourceVersion = "2"
	going.DeletionTimestamp = new(metav1.NewTime(epoch))
	return going
}

// theirs runs upstream's controller. Each run has a DaemonSet of its own,
// because the controller remembers what it expects, and which pods have failed.
type theirs struct {
	*testing.T
	controller *upstream.DaemonSets
	runs       int
}

func (s *theirs) run(w *world) outcome {
	s.Helper()
	s.runs++
	set := w.set.DeepCopy()
	set.Name = fmt.Sprintf("%s-%d", set.Name, s.runs)
	set.UID = types.UID("uid-of-" + set.Name)
	s.load(w, set)
	var o outcome
	for round := range mostRounds {
		writes := s.controller.Sync(set)
		require.Empty(s, writes.Others)
		require.NotNil(s, writes.Status, "the DaemonSet has a new generation, so its status is written each time")
		o.Last = statusOf(writes.Status)
		if round == 0 {
			o.First = o.Last
		}
		if len(writes.Created)+len(writes.Deleted) == 0 {
			o.sort()
			return o
		}
		s.apply(&o, writes)
	}
	require.Fail(s, "upstream does not come to rest")
	return o
}

func (s *theirs) load(w *world, set *appsv1.DaemonSet) {
	s.controller.Sets.Replace([]any{set})
	var nodes, pods []any
	for _, node := range w.nodes {
		nodes = append(nodes, node)
	}
	for _, pod := range w.pods {
		owned := pod.DeepCopy()
		owned.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
		pods = append(pods, owned)
	}
	s.controller.Nodes.Replace(nodes)
	s.controller.Pods.Replace(pods)
}

// apply lets the controller see what it has done.
func (s *theirs) apply(o *outcome, writes upstream.Writes) {
	s.Helper()
	for _, pod := range writes.Created {
		pod.CreationTimestamp, pod.ResourceVersion, pod.Status.Phase = metav1.NewTime(epoch), "1", corev1.PodPending
		o.Created = append(o.Created, targetOf(pod))
		s.controller.Pods.Added(pod)
	}
	for _, name := range writes.Deleted {
		object, found, err := s.controller.Pods.GetIndexer().GetByKey("default/" + name)
		require.NoError(s, err)
		require.True(s, found, "upstream deletes a pod that does not exist")
		pod := object.(*corev1.Pod)
		o.Deleted = append(o.Deleted, labelOf(pod))
		switch going := terminating(pod); {
		case pod.DeletionTimestamp != nil: // once more, which changes nothing
		case going == nil:
			s.controller.Pods.Deleted(pod)
		default:
			s.controller.Pods.Updated(pod, going)
		}
	}
}

func statusOf(status *appsv1.DaemonSetStatus) rollout.Status {
	return rollout.Status{
		Desired: int(status.DesiredNumberScheduled), Current: int(status.CurrentNumberScheduled),
		Ready: int(status.NumberReady), Available: int(status.NumberAvailable), Unavailable: int(status.NumberUnavailable),
		Updated: int(status.UpdatedNumberScheduled), Misscheduled: int(status.NumberMisscheduled),
	}
}

// labelOf is what both sides call a pod. Of failed pods of a node upstream
// deletes one, no matter which, and those that are made here have names of
// their own.
func labelOf(pod *corev1.Pod) string {
	switch {
	case pod.CreationTimestamp.Time.Equal(epoch):
		return "new pod of " + targetOf(pod)
	case pod.Status.Phase == corev1.PodFailed && pod.Spec.NodeName != "":
		return "failed pod of " + targetOf(pod)
	}
	return pod.Name
}

// preference is a policy that prefers some nodes.
type preference struct {
	rollout.DefaultPolicy
	nodes map[string]bool
}

func (p preference) Less(a, b *corev1.Node) bool { return p.nodes[a.Name] && !p.nodes[b.Name] }

// ours runs our planner, which prefers the nodes that are given: of nodes that
// are equal upstream takes some in the order of a map.
func ours(t *testing.T, w *world, preferred map[string]bool) outcome {
	t.Helper()
	spec := rollout.SpecOf(w.set, w.hash)
	spec.Policy = preference{nodes: preferred}
	planner, err := rollout.NewPlanner(rollout.Config{Spec: spec}, epoch)
	require.NoError(t, err)
	pods := map[string]*corev1.Pod{}
	for _, node := range w.nodes {
		planner.ObserveNode(epoch, node)
	}
	for _, pod := range w.pods {
		pods[pod.Name] = pod
		planner.ObservePod(epoch, pod)
	}
	o := outcome{First: wholeStatus(t, planner), causes: map[rollout.StepReason]int{}}
	for range mostRounds {
		var tasks []rollout.Task
		for task, ok := planner.Start(epoch); ok; task, ok = planner.Start(epoch) {
			tasks = append(tasks, task)
		}
		if len(tasks) == 0 {
			o.Last = wholeStatus(t, planner)
			o.sort()
			return o
		}
		carryOut(t, w, planner, tasks, pods, &o)
	}
	require.Fail(t, "our planner does not come to rest")
	return o
}

func carryOut(t *testing.T, w *world, planner *rollout.Planner, tasks []rollout.Task, pods map[string]*corev1.Pod,
	o *outcome) {
	t.Helper()
	for _, task := range tasks {
		require.Nil(t, task.Refresh)
		if task.Create != nil {
			create(w, planner, task, pods, o)
		}
	}
	for _, task := range tasks {
		if task.Delete != nil {
			remove(t, planner, task, pods, o)
		}
	}
}

func create(w *world, planner *rollout.Planner, task rollout.Task, pods map[string]*corev1.Pod, o *outcome) {
	creation := task.Create
	pod := upstreamdaemon.NewPod(w.set, "")
	pod.Labels = map[string]string{"app": "agent", appsv1.ControllerRevisionHashLabelKey: w.hash}
	pod.Name = fmt.Sprintf("new-%d-of-%s", len(o.Created), creation.Node)
	pod.UID, pod.ResourceVersion = types.UID("uid-of-"+pod.Name), "1"
	pod.CreationTimestamp, pod.Status.Phase = metav1.NewTime(epoch), corev1.PodPending
	pod.Spec.Affinity = upstreamutil.ReplaceDaemonSetPodNodeNameNodeAffinity(nil, creation.Node)
	pods[pod.Name] = pod
	o.Created = append(o.Created, creation.Node)
	o.causes[creation.Reason]++
	planner.Finish(epoch, task, rollout.Result{Outcome: rollout.OutcomeDone, Pod: pod})
	planner.ObservePod(epoch, pod)
}

func remove(t *testing.T, planner *rollout.Planner, task rollout.Task, pods map[string]*corev1.Pod, o *outcome) {
	t.Helper()
	pod := pods[task.Delete.Pod]
	require.NotNil(t, pod, "we delete a pod that does not exist")
	require.Equal(t, pod.UID, task.Delete.UID)
	require.Nil(t, pod.DeletionTimestamp, "we delete %s twice", pod.Name)
	o.Deleted = append(o.Deleted, labelOf(pod))
	o.causes[task.Delete.Reason]++
	planner.Finish(epoch, task, rollout.Result{Outcome: rollout.OutcomeDone})
	if going := terminating(pod); going != nil {
		pods[pod.Name] = going
		planner.ObservePod(epoch, going)
	} else {
		delete(pods, pod.Name)
		planner.ForgetPod(epoch, pod)
	}
}

func wholeStatus(t *testing.T, planner *rollout.Planner) rollout.Status {
	t.Helper()
	planner.Evaluate(epoch, 1000)
	status, whole := planner.Status(epoch)
	require.True(t, whole)
	return status
}

// String shows a world to people.
func (w *world) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "strategy %+v, minReadySeconds %d, selector %v, tolerations %v, annotations %v\n", describe(w.set),
		w.set.Spec.MinReadySeconds,
		w.set.Spec.Template.Spec.NodeSelector, w.set.Spec.Template.Spec.Tolerations, w.set.Annotations)
	for _, node := range w.nodes {
		fmt.Fprintf(&text, "node %s %v %v\n", node.Name, node.Labels, node.Spec.Taints)
	}
	for _, pod := range w.pods {
		fmt.Fprintf(&text, "pod %s for %s (scheduled %v) created %s, current %v, generation %q, %s, conditions", pod.Name,
			targetOf(pod), pod.Spec.NodeName != "",
			pod.CreationTimestamp.Format("15:04"), w.current(pod), pod.Labels[generationLabel], pod.Status.Phase)
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady {
				fmt.Fprintf(&text, " ready=%s for %s", c.Status, epoch.Sub(c.LastTransitionTime.Time))
			}
		}
		if pod.DeletionTimestamp != nil {
			text.WriteString(", terminating")
		}
		text.WriteString("\n")
	}
	return text.String()
}

func describe(set *appsv1.DaemonSet) string {
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		return fmt.Sprintf("maxUnavailable=%s maxSurge=%s", rolling.MaxUnavailable, rolling.MaxSurge)
	}
	return string(set.Spec.UpdateStrategy.Type)
}
