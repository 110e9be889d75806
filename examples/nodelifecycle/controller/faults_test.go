package controller

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubelife/lifecycle/zone"
)

// E13: a node without a UID cannot be patched. Start ends all the same, and the
// node's writes wait for the backoff.
func TestE13NodeWithoutAUIDDoesNotStopTheController(t *testing.T) {
	w := active(t, "a", "b")
	nameless := w.nodes["a-000"].DeepCopy()
	nameless.UID = ""
	nameless.Spec.Unschedulable = true
	w.setNode(nameless)
	w.advance(time.Minute)
	require.Empty(t, w.taintsOf("a-000"))

	known := w.ill("a-000", "a-001")
	w.advance(interval + time.Minute)
	names, at := w.releases(known)
	require.Equal(t, []string{"a-001"}, names)
	require.Equal(t, []time.Duration{10 * time.Second}, at, "a failure costs a token")
}

// E13: pods without UIDs are told apart by their names.
func TestE13PodsWithoutUIDsDoNotMerge(t *testing.T) {
	w := active(t, "a")
	add := func(name, on string) *corev1.Pod {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       corev1.PodSpec{NodeName: on},
		}
		w.c.ObservePod(w.now, pod)
		return pod
	}
	_, before := w.c.Len()
	add("one", "a-001")
	other := add("other", "a-002")
	_, pods := w.c.Len()
	require.Equal(t, before+2, pods)
	one := add("one", "a-002") // recreated, and the watch has skipped the deletion
	_, pods = w.c.Len()
	require.Equal(t, before+2, pods)
	require.Len(t, w.c.podsOn["a-001"], 1)
	require.Len(t, w.c.podsOn["a-002"], 3)
	w.c.ForgetPod(w.now, PodID(one))
	w.c.ForgetPod(w.now, PodID(other))
	_, pods = w.c.Len()
	require.Equal(t, before, pods)
	require.Len(t, w.c.podsOn["a-002"], 1)
}

// The API accepts any text as the status of a condition. Such a node is not
// ready, and there is no taint for it.
func TestStatusThatNoTaintStandsForTakesNoToken(t *testing.T) {
	w := active(t, "a", "b")
	known := w.ill("a-000", "a-001")
	w.report("a-000", "Confused")
	w.advance(interval + 20*time.Second) // a-000 is not silent yet
	names, at := w.releases(known)
	require.Equal(t, []string{"a-001"}, names)
	require.Equal(t, []time.Duration{0}, at)
}

// A proxy may answer 404 for a node that is there. Only the watch says that a
// node is gone (design H8).
func TestH8NodeThatWasNotFoundIsDeclaredLater(t *testing.T) {
	w := active(t, "a", "b")
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, "a-003")
	w.fail = func(action Action) error {
		if _, is := action.(DeclareUnknown); is {
			w.fail = nil
			return gone
		}
		return nil
	}
	w.silent["a-003"] = true
	w.advance(2 * time.Minute)
	require.Len(t, deeds[DeclareUnknown](w), 1)
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-003"))
}

// A recreated node has its turn when the write of its former self is over. It
// has it even if it needs no other write than that of its turn.
func TestTokenIsNotTakenDuringAWriteOfTheFormerNode(t *testing.T) {
	w := active(t, "a", "b")
	finish := w.write("a-000")
	w.deleteNode("a-000")
	tainted := w.addNode("a-000", "a").DeepCopy()
	tainted.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	w.setNode(tainted)
	known := w.ill("a-000", "a-001", "a-002")
	w.advance(interval + 15*time.Second)
	finish()
	w.advance(time.Minute)
	names, at := w.releases(known)
	require.Equal(t, []string{"a-001", "a-002", "a-000"}, names)
	require.Equal(t, []time.Duration{0, 10 * time.Second, 20 * time.Second}, at)
}

// A node recovers and falls again while its taint is being written, which then
// fails. That is a new disruption, whose extent has to be known first.
func TestReleaseThatFailedDoesNotOutliveAnotherFall(t *testing.T) {
	w := newWorld(t, Config{Zone: zone.Config{Rate: func(zone.State, zone.Counts) float64 { return 10 }}})
	w.addNodes(10, "a")
	w.addNodes(10, "b")
	w.start()
	w.advance(grace + interval)
	w.done = nil
	w.now = w.ill("a-000")
	var fell time.Time
	w.fail = func(action Action) error {
		if patch, is := action.(PatchTaints); !is || !patch.Released {
			return nil
		}
		w.fail = nil
		w.report("a-000", corev1.ConditionTrue)
		w.report("a-000", corev1.ConditionFalse)
		fell = w.now
		return errServer
	}
	w.advance(time.Minute)
	require.False(t, fell.IsZero())
	var written []time.Duration
	for _, d := range w.done {
		if patch, is := d.action.(PatchTaints); is && patch.Released && d.err == nil {
			written = append(written, d.at.Sub(fell))
		}
	}
	require.Equal(t, []time.Duration{interval}, written)
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
	var mark Task
	for {
		task, ok := w.c.Start(w.now)
		require.True(t, ok)
		if _, is := task.Action.(MarkPodNotReady); is {
			mark = task
			break
		}
		w.c.Finish(w.now, task, w.perform(task.Action))
	}
	result := w.perform(mark.Action) // whose answer takes a while
	w.report("a-003", corev1.ConditionTrue)
	ready := result.Pod.DeepCopy()
	for i := range ready.Status.Conditions {
		ready.Status.Conditions[i].Status = corev1.ConditionTrue
	}
	w.setPod(ready)
	falls()
	w.c.Finish(w.now, mark, result)
	w.advance(time.Second)
	require.Len(t, deeds[MarkPodNotReady](w), 1, "the pod is marked again")
}

// Names of zones come and go, also while nothing evaluates the zones.
func TestNothingIsKeptOfZonesThatANodePassesThrough(t *testing.T) {
	w := active(t, "a", "b")
	w.ill("a-000")
	const names = 10_000
	before := heapInUse()
	for i := range names {
		moved := w.nodes["a-000"].DeepCopy()
		moved.Labels[corev1.LabelTopologyZone] = fmt.Sprint("zone-", i)
		w.setNode(moved)
	}
	w.act()
	require.Len(t, w.c.queued, 1)
	require.Less(t, heapInUse()-before, 50*names)
	w.deleteNode("a-000")
	w.act()
	require.Empty(t, w.c.queued)
	require.Len(t, w.c.members, 2)
}

func heapInUse() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// C2: a webhook that undoes a write costs a request in each backoff, not as
// many as can be sent.
func TestC2WriteThatAWebhookUndoesIsBackedOff(t *testing.T) {
	for name, undo := range map[string]func(*corev1.Node){
		"taints": func(node *corev1.Node) { node.Spec.Taints = nil },
		"labels": func(node *corev1.Node) { delete(node.Labels, "beta.kubernetes.io/os") },
	} {
		t.Run(name, func(t *testing.T) {
			w := active(t, "a")
			w.webhook = undo
			node := w.nodes["a-000"].DeepCopy()
			node.Spec.Unschedulable = true
			node.Labels[corev1.LabelOSStable] = "linux"
			w.setNode(node)
			w.advance(time.Minute)
			require.Less(t, len(w.done), 20)
			w.webhook = nil
			w.advance(time.Hour)
			require.Equal(t, []string{corev1.TaintNodeUnschedulable + ":NoSchedule"}, w.taintsOf("a-000"))
			require.Equal(t, "linux", w.nodes["a-000"].Labels["beta.kubernetes.io/os"])
		})
	}
}
