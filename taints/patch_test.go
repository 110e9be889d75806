package taints_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubelife/lifecycle/taints"
)

func TestT3ThePatchTestsUIDAndTaintsAndReplacesTheList(t *testing.T) {
	require.Equal(t, types.JSONPatchType, taints.PatchType)
	for _, c := range []struct {
		name          string
		current, next []corev1.Taint
		test, add     string
	}{
		{"the first taint", nil, list("a=1:NoExecute@100"), `null`,
			`[{"key":"a","value":"1","effect":"NoExecute","timeAdded":"1970-01-01T00:01:40Z"}]`},
		{"to an empty list", []corev1.Taint{}, list("a:NoSchedule"), `null`,
			`[{"key":"a","effect":"NoSchedule"}]`},
		{"the last taint goes", list("a:NoSchedule"), nil, `[{"key":"a","effect":"NoSchedule"}]`, `[]`},
		{"many", list("a:NoSchedule", "b:NoSchedule"), list("b:NoSchedule", "c:PreferNoSchedule"),
			`[{"key":"a","effect":"NoSchedule"},{"key":"b","effect":"NoSchedule"}]`,
			`[{"key":"b","effect":"NoSchedule"},{"key":"c","effect":"PreferNoSchedule"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			node := newNode("n", "the-uid")
			node.Spec.Taints = c.current
			patch, err := taints.Patch(node, c.next)
			require.NoError(t, err)
			require.JSONEq(t, `[
				{"op":"test","path":"/metadata/uid","value":"the-uid"},
				{"op":"test","path":"/spec/taints","value":`+c.test+`},
				{"op":"add","path":"/spec/taints","value":`+c.add+`}
			]`, string(patch))
		})
	}
}

func TestT3ANodeWithoutUIDIsAnErrorAtTheDoor(t *testing.T) {
	patch, err := taints.Patch(newNode("nameless", ""), list("a:NoSchedule"))
	require.ErrorContains(t, err, "nameless has no UID")
	require.Nil(t, patch)
	require.False(t, taints.IsStale(err))
}

// The API server stores a custom resource as it was sent. Its taints may have
// another JSON than the same taints of a node, and then no patch applies.
func TestT3ThePatchIsForNodesOnly(t *testing.T) {
	for name, stored := range map[string]string{
		"an empty value":     `{"key":"a","value":"","effect":"NoExecute"}`,
		"a null time":        `{"key":"a","effect":"NoExecute","timeAdded":null}`,
		"a field of its own": `{"key":"a","effect":"NoExecute","addedBy":"ops"}`,
		"a time with a zone": `{"key":"a","effect":"NoExecute","timeAdded":"1970-01-01T01:00:00+01:00"}`,
		"no key":             `{"effect":"NoExecute"}`,
	} {
		t.Run(name, func(t *testing.T) {
			document := []byte(`{"metadata":{"name":"n","uid":"u"},"spec":{"taints":[` + stored + `]}}`)
			var read corev1.Node
			require.NoError(t, json.Unmarshal(document, &read))
			patch, err := taints.Patch(&read, nil)
			require.NoError(t, err)
			_, err = applyJSONPatch(document, patch)
			require.ErrorContains(t, err, "test /spec/taints failed")
			_, err = patchNode(&read, patch)
			require.NoError(t, err, "a node is encoded again")
		})
	}
}

func TestT3ThePatchAppliesOnlyToWhatItWasComputedFrom(t *testing.T) {
	lists := [][]corev1.Taint{
		nil, {}, list("a:NoSchedule"), list("a=1:NoSchedule"), list("a:NoExecute"), list("a:NoExecute@5"),
		list("a:NoExecute@6"),
		list("a:NoSchedule", "b:NoSchedule"), list("b:NoSchedule", "a:NoSchedule"),
	}
	for i, seen := range lists {
		for j, stored := range lists {
			for _, uid := range []types.UID{"u", "v"} {
				node, actual := newNode("n", "u"), newNode("n", uid)
				node.Spec.Taints, actual.Spec.Taints = seen, stored
				fits := uid == "u" && taints.Equal(seen, stored)
				require.Equal(t, fits, i == j && uid == "u" || i+j == 1 && uid == "u", "the test's own view")
				for _, next := range lists {
					patch, err := taints.Patch(node, next)
					require.NoError(t, err)
					patched, err := patchNode(actual, patch)
					if !fits {
						require.True(t, taints.IsStale(err), "%v seen, %v stored: %v", show(seen),
							show(stored), err)
						continue
					}
					require.NoError(t, err)
					require.Equal(t, show(next), show(patched.Spec.Taints))
					patched.Spec.Taints, actual.Spec.Taints = nil, nil
					require.Equal(t, actual, patched, "nothing else changes")
					actual.Spec.Taints = stored
				}
			}
		}
	}
}

// client-go's object tracker uses the API server's patch library. Our own
// interpreter must agree with it on what applies and on the result.
func TestTheTestsOwnPatchInterpreterAgreesWithTheLibrary(t *testing.T) {
	lists := [][]corev1.Taint{nil, list("a:NoSchedule"), list("a:NoExecute@5", "b=2:NoSchedule"),
		list("b=2:NoSchedule", "a:NoExecute@5")}
	applied, failed := 0, 0
	for _, stored := range lists {
		for _, seen := range lists {
			for _, next := range lists {
				for _, uid := range []types.UID{"u", "v"} {
					node, actual := newNode("n", uid), newNode("n", "u")
					node.Spec.Taints, actual.Spec.Taints = seen, stored
					patch, err := taints.Patch(node, next)
					require.NoError(t, err)

					want, wantErr := trackerPatch(t, actual, patch)
					got, gotErr := patchNode(actual, patch)
					require.Equal(t, wantErr == nil, gotErr == nil, "%s on %v: %v, %v", patch, show(stored),
						wantErr, gotErr)
					if wantErr != nil {
						failed++
						continue
					}
					require.Equal(t, show(want), show(got.Spec.Taints))
					applied++
				}
			}
		}
	}
	require.Equal(t, 16, applied)
	require.Equal(t, 112, failed)
}

func trackerPatch(t *testing.T, node *corev1.Node, patch []byte) ([]corev1.Taint, error) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	tracker := clienttesting.NewObjectTracker(scheme,
		serializer.NewCodecFactory(scheme).UniversalDecoder())
	require.NoError(t, tracker.Add(node.DeepCopy()))
	action := clienttesting.NewRootPatchAction(corev1.SchemeGroupVersion.WithResource("nodes"),
		node.Name, taints.PatchType, patch)
	_, out, err := clienttesting.ObjectReaction(tracker)(action)
	if err != nil {
		return nil, err
	}
	return out.(*corev1.Node).Spec.Taints, nil
}

func TestT3IsStale(t *testing.T) {
	kind := schema.GroupKind{Kind: "Node"}
	causes := field.ErrorList{field.Duplicate(field.NewPath("spec", "taints").Index(1), "a")}
	noDetails := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusUnprocessableEntity,
		Reason: metav1.StatusReasonInvalid}}
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"nil", nil, false},
		{"409", apierrors.NewConflict(nodeResource, "n", errors.New("the object has been modified")),
			true},
		{"409 of another kind", apierrors.NewAlreadyExists(nodeResource, "n"), false},
		{"422 without causes", refused("testing value /spec/taints failed: test failed"), true},
		{"422 without details", noDetails, true},
		{"422 with causes", apierrors.NewInvalid(kind, "n", causes), false},
		{"422 with causes of a proxy", apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity,
			"patch", nodeResource, "n", "denied", 0, true), false},
		{"404", nodeNotFound("n"), false},
		{"400", apierrors.NewBadRequest("no JSON"), false},
		{"403", apierrors.NewForbidden(nodeResource, "n", errors.New("no")), false},
		{"429", apierrors.NewTooManyRequests("slow down", 1), false},
		{"500", apierrors.NewInternalError(errors.New("etcd")), false},
		{"no API error", errors.New("connection refused"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, taints.IsStale(c.err))
			if c.err != nil {
				require.Equal(t, c.want, taints.IsStale(fmt.Errorf("patch: %w", c.err)), "wrapped")
				require.Equal(t, c.want, taints.IsStale(overTheWire(t, c.err)), "as a client decodes it")
			}
		})
	}
}

// overTheWire is the error after the server has encoded and a client decoded
// it.
func overTheWire(t *testing.T, err error) error {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	encoded, err := json.Marshal(status.Status())
	require.NoError(t, err)
	decoded := &metav1.Status{}
	require.NoError(t, json.Unmarshal(encoded, decoded))
	return apierrors.FromObject(decoded)
}
