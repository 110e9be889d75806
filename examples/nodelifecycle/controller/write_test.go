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

// After a restored backup objects come back in older versions. What is observed
// is believed; package feed withholds what a watch shows late.
func TestWhatIsObservedIsBelieved(t *testing.T) {
	w := active(t, "a", "b")
	w.silent["a-000"] = true
	old := w.nodes["a-000"]
	w.advance(grace + time.Second)
	require.NotEmpty(t, w.taintsOf("a-000"))
	w.nodes["a-000"] = old // with its version
	w.c.ObserveNode(w.now, old)
	require.Same(t, old, w.c.objects.nodes["a-000"].object)
	w.advance(grace + interval + time.Second)
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-000"))

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p", ResourceVersion: "5"}, Spec: corev1.PodSpec{NodeName: "a-001"},
	}
	terminating := pod.DeepCopy()
	terminating.ResourceVersion, terminating.DeletionTimestamp = "7", &metav1.Time{Time: w.now}
	w.c.ObservePod(w.now, terminating)
	w.c.ObservePod(w.now, pod)
	require.Same(t, pod, w.c.objects.pods["p"].object)
}

// A node that was deleted and recreated during a write is another one.
func TestRecreatedNodeDuringAWrite(t *testing.T) {
	w := active(t, "a", "b")
	w.silent["a-000"] = true
	var recreated bool
	w.fail = func(a any) error {
		patch, ok := a.(NodeChange)
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
	w.fail = func(task any) error {
		if _, is := task.(Declaration); is {
			w.fail = nil
			return gone
		}
		return nil
	}
	w.silent["a-003"] = true
	w.advance(2 * time.Minute)
	require.Len(t, deeds[Declaration](w), 1)
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

// A difference from kube-controller-manager: there the taint that the API server
// gives each new node goes, and pods are bound to a node that has never
// reported.
func TestANodeThatHasReportedNothingStaysClosed(t *testing.T) {
	w := active(t, "a", "b")
	node := w.addNode("new", "a").DeepCopy()
	node.Status.Conditions = []corev1.NodeCondition{{Type: "Disk", Status: corev1.ConditionTrue}} // of an agent
	node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	w.setNode(node)
	w.advance(grace / 2)
	require.Equal(t, []string{notReadyNoSchedule}, w.taintsOf("new"))
	require.Empty(t, deeds(w, patchesTaints))
}
