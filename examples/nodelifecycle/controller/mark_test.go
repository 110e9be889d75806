package controller

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// H6, kubernetes #48681, #135205: pods are marked after a crash, after a
// failure, and when they come later.
func TestH6PodsAreMarkedWhateverHappens(t *testing.T) {
	t.Run("after a crash", func(t *testing.T) {
		w := active(t, "a", "b")
		w.silent["a-000"] = true
		w.fail = func(a any) error {
			if is(a, marksPod) {
				return errServer
			}
			return nil
		}
		w.advance(grace + time.Second)
		w.fail = nil
		w.start()
		w.advance(time.Second)
		require.Len(t, deeds(w, marksPod), 1)
	})
	t.Run("after a failure", func(t *testing.T) {
		w := active(t, "a", "b")
		w.silent["a-000"] = true
		failures := 3
		w.fail = func(a any) error {
			if is(a, marksPod) && failures > 0 {
				failures--
				return errServer
			}
			return nil
		}
		w.advance(grace + 20*time.Second)
		require.Zero(t, failures)
		require.Len(t, deeds(w, marksPod), 1)
	})
	// Its kubelet is alive then, but reports on its pods only what changes.
	t.Run("after a failure, when the kubelet is back and not ready", func(t *testing.T) {
		w := active(t, "a", "b")
		w.silent["a-000"] = true
		fails := true
		w.fail = func(a any) error {
			if is(a, marksPod) && fails {
				return errServer
			}
			return nil
		}
		w.advance(grace + time.Second)
		require.Empty(t, deeds(w, marksPod))
		w.report("a-000", corev1.ConditionFalse)
		w.advance(time.Second)
		fails = false
		w.advance(20 * time.Second)
		require.Len(t, deeds(w, marksPod), 1)
		w.report("a-000", corev1.ConditionTrue)
		w.report("a-000", corev1.ConditionFalse)
		w.advance(time.Minute)
		require.Len(t, deeds(w, marksPod), 1, "a kubelet that says so itself reports on its pods")
	})
	t.Run("bound later", func(t *testing.T) {
		w := active(t, "a", "b")
		w.silent["a-000"] = true
		w.advance(grace + time.Second)
		w.addPod("late", "a-000", tolerate(600))
		w.advance(time.Second)
		marked := deeds(w, marksPod)
		require.Len(t, marked, 2)
		require.Equal(t, "late", marked[1].Pod.Name)
	})
	// A terminating pod that is ready is a serving endpoint.
	t.Run("terminating", func(t *testing.T) {
		w := active(t, "a", "b")
		w.silent["a-000"] = true
		leaving := w.addPod("leaving", "a-000", tolerate(600)).DeepCopy()
		leaving.DeletionTimestamp = &metav1.Time{Time: w.now}
		w.setPod(leaving)
		w.advance(grace + time.Second)
		var names []string
		for _, mark := range deeds(w, marksPod) {
			names = append(names, mark.Pod.Name)
		}
		require.Contains(t, names, "leaving")
		require.Len(t, names, 2)
	})
	t.Run("once in an episode", func(t *testing.T) {
		w := active(t, "a", "b")
		w.silent["a-000"] = true
		w.advance(grace + time.Second)
		pod := deeds(w, marksPod)[0].Pod.DeepCopy() // says that it is ready
		w.setPod(pod)
		w.c.Reevaluate()
		w.advance(time.Second)
		require.Len(t, deeds(w, marksPod), 1, "a client that disagrees is not fought")
	})
}

// A mark that is written in one episode does not count in the next one, in
// which the kubelet may have written the opposite.
func TestH6MarkOfAnEarlierEpisodeDoesNotCount(t *testing.T) {
	w := active(t, "a", "b")
	w.silent["a-003"] = true
	falls := func() {
		node := w.nodes["a-003"].DeepCopy()
		node.Status.Conditions[0].Status = corev1.ConditionUnknown
		w.setNode(node)
	}
	falls()
	var mark timedqueue.Job
	for {
		task, ok := w.jobs.Start(w.now)
		require.True(t, ok)
		if is(task.Task(), marksPod) {
			mark = task
			break
		}
		w.finish(task)
	}
	w.perform(mark) // whose answer takes a while
	w.report("a-003", corev1.ConditionTrue)
	ready := w.pods[mark.Task().(PodMark).Pod.UID].DeepCopy()
	for i := range ready.Status.Conditions {
		ready.Status.Conditions[i].Status = corev1.ConditionTrue
	}
	w.setPod(ready)
	falls()
	mark.Finish(w.now)
	w.advance(time.Second)
	require.Len(t, deeds(w, marksPod), 1, "the pod is marked again")
}

// Found by the simulation (seed 35): what an eviction has written to a pod
// counts more than what a cache shows that is behind.
func TestMarkOfAFailedEvictionIsRemembered(t *testing.T) {
	w := active(t, "a", "b")
	pod := w.addPod("p", "a-000")
	node := w.nodes["a-000"].DeepCopy()
	node.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
	w.setNode(node)
	evict := func() (timedqueue.Job, eviction.Task) {
		task, ok := w.jobs.Start(w.now)
		require.True(t, ok)
		evict, ok := task.Task().(eviction.Task)
		require.True(t, ok)
		return task, evict
	}
	first, attempt := evict()
	require.False(t, attempt.HasDisruptionTarget)
	marked := pod.DeepCopy()
	marked.ResourceVersion = strconv.Itoa(w.version + 10)
	marked.Status.Conditions = append(marked.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager",
	})
	w.c.ObservePod(w.now, marked) // as the edge has it observed
	w.finishEviction(first,
		eviction.Result{Outcome: eviction.OutcomeFailed, Err: errServer, Pod: marked})
	w.now = w.now.Add(time.Second)
	_, again := evict()
	require.True(t, again.HasDisruptionTarget)
}

// E6: a mark is never taken back, and a pod that need not leave is not written
// to. The disruption controller of kube-controller-manager does that.
func TestE6AMarkIsNotTakenBack(t *testing.T) {
	w := active(t, "a", "b")
	pod := w.addPod("marked", "a-000", tolerate(600)).DeepCopy()
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
		Reason: "DeletionByTaintManager",
	})
	w.setPod(pod)
	w.advance(time.Second)
	require.Empty(t, times[eviction.Task](w, time.Time{}))
	for _, event := range deeds[Record](w) {
		require.NotEqual(t, "marked", event.Object.Name)
	}
}

// A difference from kube-controller-manager: there only pods of a node that was
// ready until it fell silent are marked.
func TestPodsOfANodeThatWasNotReadyAreMarkedWhenItFallsSilent(t *testing.T) {
	w := active(t, "a", "b")
	w.report("a-000", corev1.ConditionFalse)
	w.advance(interval)
	require.Empty(t, deeds(w, marksPod), "its kubelet reports on its pods itself")
	w.silent["a-000"] = true
	w.advance(grace + time.Second)
	require.Len(t, deeds(w, marksPod), 1)
}
