package memory

import (
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func binding(pod *corev1.Pod, node string) *corev1.Binding {
	return &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
}

func (s subject) bind(name, node string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name}}
	return s.client.CoreV1().Pods(s.ns).Bind(s.ctx, binding(pod, node), metav1.CreateOptions{})
}

func TestBindingSetsNodeAndCondition(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		pod := s.createPod("p", "")
		api := s.client.CoreV1().Pods(s.ns)
		b := binding(pod, "n")
		b.UID = "other"
		wantCode(t, "another UID", api.Bind(s.ctx, b, metav1.CreateOptions{}), http.StatusConflict)
		if s.bind("p", "") == nil {
			t.Error("a binding without a node is accepted")
		}
		b.UID = pod.UID
		b.Labels, b.Annotations = map[string]string{"zone": "a"}, map[string]string{"note": "b"}
		must(t, api.Bind(s.ctx, b, metav1.CreateOptions{}))

		got := s.getPod("p")
		equal(t, "node", got.Spec.NodeName, "n")
		equal(t, "label", got.Labels["zone"], "a")
		equal(t, "annotation", got.Annotations["note"], "b")
		equal(t, "conditions", len(got.Status.Conditions), 1)
		scheduled := got.Status.Conditions[0]
		equal(t, "condition", scheduled.Type, corev1.PodScheduled)
		equal(t, "status", scheduled.Status, corev1.ConditionTrue)
		if age := time.Since(scheduled.LastTransitionTime.Time); age < -time.Second || age > time.Minute {
			t.Errorf("scheduled %v ago, want now", age)
		}
		equal(t, "generation", got.Generation, 1)

		wantCode(t, "a second binding", s.bind("p", "n"), http.StatusConflict)
		equal(t, "version after it", s.getPod("p").ResourceVersion, got.ResourceVersion)
		terminating := podNamed("q", "")
		terminating.Finalizers = []string{"example.com/hold"}
		s.create(terminating)
		s.deletePod("q", metav1.DeleteOptions{})
		wantCode(t, "a terminating pod", s.bind("q", "n"), http.StatusConflict)
		_, err := s.patchPod("q", mergePatch, `{"metadata":{"finalizers":null}}`)
		must(t, err)
	})
}

func TestOtherSubresourcesAreRefused(t *testing.T) {
	s := newSubject(t, NewCluster())
	s.createPod("p", "")
	s.createLease("l")
	_, err := s.patchPod("p", mergePatch, `{}`, "ephemeralcontainers")
	wantCode(t, "patch of a subresource", err, http.StatusMethodNotAllowed)
	_, err = s.client.CoordinationV1().Leases(s.ns).
		Patch(s.ctx, "l", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}, "status")
	wantCode(t, "status of a lease", err, http.StatusMethodNotAllowed)
	_, err = s.client.CoreV1().Pods(s.ns).UpdateEphemeralContainers(s.ctx, "p", podNamed("p", ""), metav1.UpdateOptions{})
	wantCode(t, "update of a subresource", err, http.StatusMethodNotAllowed)
	if _, err := s.client.Discovery().ServerVersion(); err != nil {
		t.Error(err)
	}
}

// A scheduler reports in the same condition why it could not place a pod. The
// arrival on the node is a transition of it.
func TestBindingAfterUnschedulable(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		pod := s.createPod("p", "")
		_, err := s.patchPod("p", strategicPatch, `{"status":{"conditions":[{"type":"PodScheduled","status":"False",`+
			`"reason":"Unschedulable","lastTransitionTime":"2001-01-01T00:00:00Z"},{"type":"Other","status":"True"}]}}`,
			"status")
		must(t, err)
		stale := binding(pod, "n")
		stale.ResourceVersion = pod.ResourceVersion
		err = s.client.CoreV1().Pods(s.ns).Bind(s.ctx, stale, metav1.CreateOptions{})
		wantCode(t, "an old version", err, http.StatusConflict)
		must(t, s.bind("p", "n"))

		for _, condition := range s.getPod("p").Status.Conditions {
			if condition.Type != corev1.PodScheduled {
				continue
			}
			equal(t, "status", condition.Status, corev1.ConditionTrue)
			equal(t, "reason", condition.Reason, "")
			if age := time.Since(condition.LastTransitionTime.Time); age > time.Minute {
				t.Errorf("scheduled %v ago, want now", age)
			}
		}
		equal(t, "conditions", len(s.getPod("p").Status.Conditions), 2)

		gated := podNamed("q", "")
		gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
		s.create(gated)
		wantCode(t, "a gated pod", s.bind("q", "n"), http.StatusConflict)
	})
}
