package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A cache that is behind must not make us undo what we have just written.
func TestOwnWriteCountsMoreThanAnOlderCache(t *testing.T) {
	w := active(t, "a", "b")
	w.silent["a-000"] = true
	old := w.nodes["a-000"]
	w.advance(grace + time.Second)
	patches := len(deeds[PatchTaints](w))
	require.Positive(t, patches)
	w.c.ObserveNode(w.now, old)
	w.advance(time.Second)
	require.Len(t, deeds[PatchTaints](w), patches, "nothing is computed from the old version")
	require.Len(t, deeds[DeclareUnknown](w), 1)

	w.c.ObserveNode(w.now.Add(2*ownWriteCounts), old)
	require.Equal(t, old, w.c.nodes["a-000"].object, "but not for ever: the store may have been set back")
}

// The watch has shown our write before its answer came. It is not behind, so
// what it shows then is from a backup that was restored.
func TestOwnWriteThatTheWatchHasShownCountsNoMoreThanIt(t *testing.T) {
	w := active(t, "a", "b")
	node := w.nodes["a-000"]
	written := node.DeepCopy()
	written.ResourceVersion = "1000000000"
	w.c.ObserveNode(w.now, written)
	w.c.adoptNode(w.now, written.DeepCopy())
	w.c.ObserveNode(w.now, node)
	require.Same(t, node, w.c.nodes["a-000"].object)

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p", ResourceVersion: "5"}, Spec: corev1.PodSpec{NodeName: "a-000"},
	}
	marked := pod.DeepCopy()
	marked.ResourceVersion = "7"
	w.c.ObservePod(w.now, pod)
	w.c.ObservePod(w.now, marked)
	w.c.adoptPod(w.now, marked.DeepCopy())
	w.c.ObservePod(w.now, pod)
	require.Same(t, pod, w.c.pods["p"].object)
}

// A node that was deleted and recreated during a write is another one.
func TestRecreatedNodeDuringAWrite(t *testing.T) {
	w := active(t, "a", "b")
	w.silent["a-000"] = true
	var recreated bool
	w.fail = func(a Action) error {
		patch, ok := a.(PatchTaints)
		if !ok || !patch.Released || recreated {
			return nil
		}
		recreated = true
		w.deleteNode("a-000")
		w.silent["a-000"] = false
		w.addNode("a-000", "a")
		return nil
	}
	w.advance(grace + 3*interval)
	require.True(t, recreated)
	require.Empty(t, w.taintsOf("a-000"), "the patch was for the old one")
	w.silent["a-000"] = true
	w.advance(grace + 3*interval)
	require.Contains(t, w.taintsOf("a-000"), unreachableNoExecute, "and the new one is watched like any other")
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
