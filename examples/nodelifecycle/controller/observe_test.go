package controller

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	require.Len(t, w.c.objects.podsOn["a-001"], 1)
	require.Len(t, w.c.objects.podsOn["a-002"], 3)
	w.c.ForgetPod(w.now, PodID(one))
	w.c.ForgetPod(w.now, PodID(other))
	_, pods = w.c.Len()
	require.Equal(t, before, pods)
	require.Len(t, w.c.objects.podsOn["a-002"], 1)
}

// H1: the API server taints each new node as not ready. The first report after
// its creation is a heartbeat, so the taint goes at once. A node that is first
// seen ready has to be heard.
func TestH1TheTaintOfANewNodeGoesWithItsFirstReport(t *testing.T) {
	for _, seenBare := range []bool{true, false} {
		w := active(t, "a", "b")
		node := w.nodes["a-000"].DeepCopy()
		node.Name, node.UID = "new", "new"
		node.Spec.Taints = []corev1.Taint{
			{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
		}
		w.next["new"] = w.now.Add(interval)
		if seenBare {
			bare := node.DeepCopy()
			bare.Status.Conditions = nil
			w.setNode(bare)
			w.advance(time.Second)
			require.Equal(t, []string{notReadyNoSchedule}, w.taintsOf("new"))
			node.Spec.Taints = bare.Spec.Taints
		}
		w.setNode(node)
		w.advance(time.Second)
		if !seenBare {
			require.Equal(t, []string{notReadyNoSchedule}, w.taintsOf("new"), "not heard yet")
			w.advance(interval)
		}
		require.Empty(t, w.taintsOf("new"))
	}
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
	require.Len(t, w.c.releases.queued, 1)
	require.Less(t, heapInUse()-before, 50*names)
	w.deleteNode("a-000")
	w.act()
	require.Empty(t, w.c.releases.queued)
	require.Len(t, w.c.releases.members, 2)
}

func heapInUse() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}
