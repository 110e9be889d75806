package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// cost returns how many requests the world sends for a task.
func cost(task any) int {
	switch task.(type) {
	case eviction.Task:
		return 3
	case Record:
		return 0
	}
	return 1
}

// storm returns a world with 20 requests a second. In it a zone of 600 nodes is
// being found silent, and a zone of 200 nodes has just been cordoned. In the
// third zone a node has a taint of ours.
func storm(t *testing.T) *world {
	w := newWorld(t, Config{Requests: RequestBudget{PerSecond: 20, Burst: 30}})
	w.addNodes(600, "a")
	w.addNodes(200, "c")
	for _, node := range w.addNodes(20, "b") {
		w.addPod("web-"+node, node, tolerate(3600))
	}
	w.start()
	w.advance(grace + interval)
	for _, name := range w.names() {
		w.silent[name] = name[0] == 'a'
	}
	w.advance(grace - 2*interval)
	w.report("b-000", corev1.ConditionFalse)
	w.next["b-000"] = w.now.Add(time.Minute) // says nothing else until then
	w.advance(time.Second)
	require.NotEmpty(t, w.taintsOf("b-000"))
	require.False(t, declares(w))
	w.advance(interval + interval/2)
	require.True(t, declares(w), "the storm has begun")
	for _, name := range w.names() {
		if name[0] == 'c' {
			w.cordon(name)
		}
	}
	return w
}

func declares(w *world) bool { return len(deeds[Declaration](w)) > 0 }

func (w *world) cordon(name string) {
	cordoned := w.nodes[name].DeepCopy()
	cordoned.Spec.Unschedulable = true
	w.setNode(cordoned)
}

// C1: a node that is ready again loses its taints, and a pod that is due
// leaves, however many nodes have to be declared.
func TestC1RecoveriesAndEvictionsDoNotWaitForDeclarations(t *testing.T) {
	w := storm(t)
	began := w.now
	w.cordon("b-000") // a write that has to wait, until it is a recovery
	w.advance(50 * time.Millisecond)
	require.NotContains(t, w.taintsOf("b-000"), "node.kubernetes.io/unschedulable:NoSchedule")
	w.beat("b-000")
	tainted := w.nodes["b-001"].DeepCopy()
	tainted.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
	w.setNode(tainted)
	pod := w.c.objects.podsOn["b-001"][0].object
	pod = pod.DeepCopy()
	pod.Spec.Tolerations = nil
	w.setPod(pod)
	for slices.Contains(w.taintsOf("b-000"), notReadyNoSchedule) || w.pods[pod.UID] != nil {
		w.advance(50 * time.Millisecond)
		// A quarter of 20 requests a second is five. So an eviction of three waits
		// for 0.6 s and a recovery for 0.2 s, each with what was begun before.
		require.Less(t, w.now.Sub(began), time.Second, "%v %v", w.taintsOf("b-000"), w.pods[pod.UID] != nil)
	}
	declared := len(deeds[Declaration](w))
	require.Less(t, declared, 600, "the storm goes on")
}

// A node that waits for another try of a recovery can be released meanwhile. It
// is not a recovery then, and goes at once: its zone's token must not be held.
func TestReleasedNodeIsNoRecovery(t *testing.T) {
	w := active(t, "a", "b")
	both := w.nodes["a-000"].DeepCopy()
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		both.Spec.Taints = append(both.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	w.nodes["a-000"] = both
	w.fail = func(task any) error { // so that it waits for as long as there is no token
		if patch, is := task.(NodeChange); is && !patch.Released {
			return errServer
		}
		return nil
	}
	known := w.ill("a-000")
	require.Equal(t, recovery, kindOfWrite("", w.c.objects.nodes["a-000"]))
	for !w.now.After(known) {
		w.now = w.now.Add(100 * time.Millisecond)
		for task, ok := w.jobs.Start(w.now); ok; task, ok = w.jobs.Start(w.now) {
			require.NotEqual(t, released, w.c.objects.nodes["a-000"].state)
			w.done = append(w.done, deed{w.now, task.Task(), nil})
			w.finish(task)
		}
		require.NotEqual(t, released, w.c.objects.nodes["a-000"].state)
	}
	names, _ := w.releases(known)
	require.Equal(t, []string{"a-000"}, names)
}

// C1: everything together fits the budget, and none of it is left unused while
// there is work.
func TestC1AllRequestsTogetherFitTheBudget(t *testing.T) {
	w := storm(t)
	w.done = nil
	began := w.now
	w.advance(40 * time.Second)
	sent := 0
	for _, d := range w.done {
		sent += cost(d.task)
		earned := 30 + 20*d.at.Sub(began).Seconds()
		require.LessOrEqual(t, float64(sent), earned+1e-6)
	}
	require.Greater(t, sent, 20*40-10)
}

// C1: what an action did not send is there for others.
func TestC1UnusedRequestsComeBack(t *testing.T) {
	w := newWorld(t, Config{Requests: RequestBudget{PerSecond: 0.001, Burst: 9, Eviction: 9}})
	w.addNodes(2, "a")
	w.start()
	w.advance(grace + interval)
	tainted := w.nodes["a-000"].DeepCopy()
	tainted.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}
	w.setNode(tainted)
	first, second := w.addPod("p", "a-000"), w.addPod("q", "a-000")
	evict := func() (timedqueue.Job, types.UID) {
		task, ok := w.jobs.Start(w.now)
		for ; ok && is[Record](task.Task()); task, ok = w.jobs.Start(w.now) {
			w.finish(task)
		}
		require.True(t, ok)
		evicts, ok := task.Task().(eviction.Task)
		require.True(t, ok)
		return task, evicts.Pod.UID
	}
	task, pod := evict()
	require.Equal(t, first.UID, pod)
	_, ok := w.jobs.Start(w.now)
	require.False(t, ok, "all tokens are out")
	w.finishEviction(task, eviction.Result{Outcome: eviction.OutcomeDryRun})
	_, pod = evict()
	require.Equal(t, second.UID, pod)
}

func TestRequestBudgetErrors(t *testing.T) {
	err := Config{Requests: RequestBudget{PerSecond: -1, Burst: -2, Eviction: -3}}.Validate()
	require.ErrorIs(t, err, ErrInvalidConfig)
	for _, want := range []string{
		"Requests.PerSecond is -1, want zero or more", "Requests.Burst is -2, want zero or more",
		"Requests.Eviction is -3, want zero or more",
	} {
		require.ErrorContains(t, err, want)
	}
}
