package memory

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	mergePatch      = types.MergePatchType
	strategicPatch  = types.StrategicMergePatchType
	operationsPatch = types.JSONPatchType
)

func (s subject) patchNode(name string, kind types.PatchType, patch string, subresources ...string) *corev1.Node {
	s.t.Helper()
	node, err := s.client.CoreV1().Nodes().Patch(s.ctx, name, kind, []byte(patch), metav1.PatchOptions{}, subresources...)
	must(s.t, err)
	return node
}

func (s subject) patchPod(name string, kind types.PatchType, patch string, subresources ...string) (*corev1.Pod,
	error) {
	return s.client.CoreV1().Pods(s.ns).Patch(s.ctx, name, kind, []byte(patch), metav1.PatchOptions{}, subresources...)
}

func TestEveryKindOfPatchApplies(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		node := s.createNode()
		node = s.patchNode(node.Name, operationsPatch,
			`[{"op":"add","path":"/spec/taints","value":[{"key":"a","effect":"NoSchedule"}]}]`)
		equal(t, "taints after the JSON patch", len(node.Spec.Taints), 1)
		node = s.patchNode(node.Name, mergePatch,
			`{"spec":{"taints":[{"key":"b","effect":"NoSchedule"}]},"metadata":{"labels":{"zone":"x"}}}`)
		equal(t, "the merge patch replaces the list", fmt.Sprint(node.Spec.Taints), "[{b  NoSchedule <nil>}]")
		equal(t, "label", node.Labels["zone"], "x")

		s.patchNode(node.Name, strategicPatch,
			`{"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"MemoryPressure","status":"False"}]}}`, "status")
		node = s.patchNode(node.Name, strategicPatch, `{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`,
			"status")
		got := map[corev1.NodeConditionType]corev1.ConditionStatus{}
		for _, condition := range node.Status.Conditions {
			got[condition.Type] = condition.Status
		}
		want := map[corev1.NodeConditionType]corev1.ConditionStatus{"Ready": "Unknown", "MemoryPressure": "False"}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the strategic merge patch merges conditions by type: got %v, want %v", got, want)
		}
		equal(t, "version after all", node.ResourceVersion, s.getNode(node.Name).ResourceVersion)
	})
}

func (s subject) getNode(name string) *corev1.Node {
	s.t.Helper()
	node, err := s.client.CoreV1().Nodes().Get(s.ctx, name, metav1.GetOptions{})
	must(s.t, err)
	return node
}

func TestPatchWithStaleVersionConflicts(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		old := s.createPod("p", "")
		_, err := s.patchPod("p", mergePatch, `{"metadata":{"labels":{"a":"1"}}}`)
		must(t, err)
		body := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"labels":{"a":"2"}}}`, old.ResourceVersion)
		for _, kind := range []types.PatchType{mergePatch, strategicPatch} {
			_, err = s.patchPod("p", kind, body)
			wantCode(t, string(kind), err, http.StatusConflict)
			_, err = s.patchPod("p", kind, body, "status")
			wantCode(t, string(kind)+" of the status", err, http.StatusConflict)
		}
		_, err = s.patchPod("p", operationsPatch, fmt.Sprintf(
			`[{"op":"replace","path":"/metadata/resourceVersion","value":%q},`+
				`{"op":"add","path":"/metadata/labels/a","value":"2"}]`, old.ResourceVersion))
		wantCode(t, "JSON patch", err, http.StatusConflict)
		equal(t, "label", s.getPod("p").Labels["a"], "1")

		current := s.getPod("p")
		_, err = s.patchPod("p", mergePatch,
			fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"labels":{"a":"2"}}}`, current.ResourceVersion))
		must(t, err)
		equal(t, "label after a patch of the current version", s.getPod("p").Labels["a"], "2")
	})
}

// Upstream's own patches of pods carry the UID as a guard: the server answers
// with 422, not with a conflict.
func TestPatchWithForeignUIDIsInvalid(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		s.createPod("p", "")
		for _, subresources := range [][]string{nil, {"status"}} {
			_, err := s.patchPod("p", strategicPatch, `{"metadata":{"uid":"other"},"status":{"phase":"Failed"}}`,
				subresources...)
			wantCode(t, fmt.Sprint("patch ", subresources), err, http.StatusUnprocessableEntity)
			if !apierrors.IsInvalid(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeFieldValueInvalid) {
				t.Errorf("got %v, want Invalid with a cause", err)
			}
			cause, _ := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
			equal(t, "field", cause.Field, "metadata.uid")
		}
		_, err := s.patchPod("p", strategicPatch, `{"metadata":{"uid":"other","resourceVersion":"1"}}`)
		wantCode(t, "the version is looked at first", err, http.StatusConflict)
		equal(t, "phase", s.getPod("p").Status.Phase, corev1.PodPending)

		own := s.getPod("p")
		patched, err := s.patchPod("p", strategicPatch,
			fmt.Sprintf(`{"metadata":{"uid":%q},"status":{"phase":"Running"}}`, own.UID), "status")
		must(t, err)
		equal(t, "phase after a patch with the pod's UID", patched.Status.Phase, corev1.PodRunning)
	})
}

func TestFailedJSONPatchTestIsInvalidWithoutDetails(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		pod := s.createPod("p", "")
		for name, patch := range map[string]string{
			"other value": `[{"op":"test","path":"/metadata/uid","value":"other"},` +
				`{"op":"add","path":"/metadata/labels","value":{"a":"1"}}]`,
			"missing path": `[{"op":"test","path":"/spec/tolerations/9/key","value":"x"}]`,
			"late failure": `[{"op":"add","path":"/metadata/labels","value":{"a":"1"}},` +
				`{"op":"test","path":"/metadata/uid","value":"other"}]`,
		} {
			_, err := s.patchPod("p", operationsPatch, patch)
			wantCode(t, name, err, http.StatusUnprocessableEntity)
			var refused *apierrors.StatusError
			if !errors.As(err, &refused) || refused.ErrStatus.Reason != metav1.StatusReasonInvalid {
				t.Fatalf("%s: got %v, want the reason Invalid", name, err)
			}
			if details := refused.ErrStatus.Details; details == nil || !reflect.DeepEqual(*details, metav1.StatusDetails{}) {
				t.Errorf("%s: got the details %+v, want them empty", name, details)
			}
		}
		equal(t, "version", s.getPod("p").ResourceVersion, pod.ResourceVersion)

		patched, err := s.patchPod("p", operationsPatch, fmt.Sprintf(
			`[{"op":"test","path":"/metadata/uid","value":%q},{"op":"add","path":"/metadata/labels","value":{"a":"1"}}]`,
			pod.UID))
		must(t, err)
		equal(t, "label when the test holds", patched.Labels["a"], "1")
	})
}

func TestMissingListTestsEqualToNull(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		node := s.createNode()
		patch := `[{"op":"test","path":"/spec/taints","value":null},` +
			`{"op":"add","path":"/spec/taints","value":[{"key":"a","effect":"NoSchedule"}]}]`
		equal(t, "taints", len(s.patchNode(node.Name, operationsPatch, patch).Spec.Taints), 1)
		_, err := s.client.CoreV1().Nodes().Patch(s.ctx, node.Name, operationsPatch, []byte(patch), metav1.PatchOptions{})
		wantCode(t, "with a taint in place", err, http.StatusUnprocessableEntity)
	})
}

func TestMalformedPatchIsRefused(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		s.createPod("p", "")
		for _, kind := range []types.PatchType{mergePatch, strategicPatch, operationsPatch} {
			_, err := s.patchPod("p", kind, `{"`)
			wantCode(t, string(kind)+" that is no JSON", err, http.StatusBadRequest)
		}
		_, err := s.patchPod("p", mergePatch, `{"metadata":{"name":"q"}}`)
		wantCode(t, "another name", err, http.StatusBadRequest)
		_, err = s.patchPod("p", mergePatch, `{"metadata":{"namespace":"q"}}`)
		wantCode(t, "another namespace", err, http.StatusBadRequest)
		_, err = s.patchPod("p", mergePatch, `{"spec":{"containers":7}}`)
		wantCode(t, "a wrong type", err, http.StatusUnprocessableEntity)
		_, err = s.patchPod("p", mergePatch, `{"spec":{"nodeName":"n"}}`)
		wantCode(t, "a node without a binding", err, http.StatusUnprocessableEntity)
		_, err = s.patchPod("none", mergePatch, `{"metadata":{"uid":"x"}}`)
		wantCode(t, "no such pod", err, http.StatusNotFound)
		_, err = s.client.CoreV1().Nodes().Patch(s.ctx, s.createNode().Name, mergePatch,
			[]byte(`{"spec":{"taints":[{"key":"a","effect":"NoSchedule","value":"1"},{"key":"a","effect":"NoSchedule"}]}}`),
			metav1.PatchOptions{})
		wantCode(t, "the same taint twice", err, http.StatusUnprocessableEntity)
	})
}

func TestPatchThatChangesNothingIsNoWrite(t *testing.T) {
	onEachServer(t, func(t *testing.T, s subject) {
		s.createPod("p", "")
		pod, err := s.patchPod("p", mergePatch, `{"metadata":{"labels":{"a":"1"}}}`)
		must(t, err)
		w := s.watchPods(metav1.ListOptions{ResourceVersion: pod.ResourceVersion})
		for kind, patch := range map[types.PatchType]string{
			mergePatch:      `{"metadata":{"labels":{"a":"1"}},"status":{"phase":"Failed"}}`,
			strategicPatch:  `{"metadata":{"labels":{"a":"1"}}}`,
			operationsPatch: `[{"op":"replace","path":"/metadata/labels/a","value":"1"}]`,
		} {
			same, err := s.patchPod("p", kind, patch)
			must(t, err)
			equal(t, string(kind)+": version", same.ResourceVersion, pod.ResourceVersion)
		}
		same, err := s.client.CoreV1().Pods(s.ns).Update(s.ctx, pod, metav1.UpdateOptions{})
		must(t, err)
		equal(t, "version after an update", same.ResourceVersion, pod.ResourceVersion)

		changed, err := s.patchPod("p", mergePatch, `{"metadata":{"labels":{"a":"2"}}}`)
		must(t, err)
		event := s.nextPod(w, watch.Modified)
		equal(t, "the first event is the first change", event.ResourceVersion, changed.ResourceVersion)
	})
}

func TestApplyIsNotServed(t *testing.T) {
	s := newSubject(t, NewCluster())
	s.createPod("p", "")
	_, err := s.patchPod("p", types.ApplyYAMLPatchType, `{"metadata":{"name":"p"}}`)
	wantCode(t, "server-side apply", err, http.StatusUnsupportedMediaType)
}
