package model

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The short way of applying a patch is compared with the long one, which leaves
// the work to the library that the API server uses.

func TestShortWayOfPatchingNodesIsTheLongWay(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	short := 0
	for i := range 20_000 {
		before := randomNode(random)
		call := randomPatch(random, before, before.UID, before.Spec.Taints, len(before.Status.Conditions))
		got, ok, err := patchNodeFields(before, call)
		if !ok {
			continue
		}
		short++
		var part, patched nodePart
		part.Metadata = metadata{before.Name, before.UID, before.ResourceVersion, before.Labels, before.Annotations}
		part.Spec.Taints, part.Status.Conditions = before.Spec.Taints, before.Status.Conditions
		wantErr := apply(call, part, &patched)
		require.Equal(t, apierrors.ReasonForError(wantErr), apierrors.ReasonForError(err), "case %d: %s\nshort %v\nlong %v",
			i, call.Data, err, wantErr)
		if err != nil {
			continue
		}
		want := *before
		if call.Subresource == "status" {
			want.Status.Conditions = patched.Status.Conditions
		} else {
			want.Spec.Taints = patched.Spec.Taints
		}
		require.JSONEq(t, encoded(t, want), encoded(t, got), "case %d: %s", i, call.Data)
	}
	require.Greater(t, short, 10_000, "nearly nothing was compared")
}

func TestShortWayOfPatchingPodsIsTheLongWay(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	short := 0
	for i := range 20_000 {
		before := randomPod(random)
		call := randomPatch(random, nil, before.UID, nil, len(before.Status.Conditions))
		call.Subresource = "status"
		got, ok, err := patchPodFields(before, call)
		if !ok {
			continue
		}
		short++
		var part, patched podPart
		part.Metadata = metadata{before.Name, before.UID, before.ResourceVersion, before.Labels, before.Annotations}
		part.Status.Conditions = before.Status.Conditions
		wantErr := apply(call, part, &patched)
		require.Equal(t, apierrors.ReasonForError(wantErr), apierrors.ReasonForError(err), "case %d: %s\nshort %v\nlong %v",
			i, call.Data, err, wantErr)
		if err == nil {
			want := *before
			want.Status.Conditions = patched.Status.Conditions
			require.JSONEq(t, encoded(t, want), encoded(t, got), "case %d: %s", i, call.Data)
		}
	}
	require.Greater(t, short, 5_000, "nearly nothing was compared")
}

func TestPatchDoesNotChangeWhatWasThere(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	for range 2000 {
		before := randomNode(random)
		copied := before.DeepCopy()
		_, _ = patchNode(before, randomPatch(random, before, before.UID, before.Spec.Taints, len(before.Status.Conditions)))
		require.Equal(t, copied, before)
	}
}

func encoded(t *testing.T, object any) string {
	data, err := json.Marshal(object)
	require.NoError(t, err)
	return string(data)
}

func randomTime(random *rand.Rand) metav1.Time {
	return metav1.NewTime(time.Unix(1_700_000_000+int64(random.IntN(3)), 0).UTC())
}

func randomNode(random *rand.Rand) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: types.UID(fmt.Sprint("u", random.IntN(2))),
		ResourceVersion: "5"}}
	for i := range random.IntN(3) {
		added := randomTime(random)
		taint := corev1.Taint{Key: fmt.Sprint("k", i), Effect: corev1.TaintEffectNoExecute, Value: `a "quoted" value`}
		if random.IntN(2) == 0 {
			taint.TimeAdded = &added
		}
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
	for _, kind := range conditions[:random.IntN(len(conditions)+1)] {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: "R", LastHeartbeatTime: randomTime(random),
			LastTransitionTime: randomTime(random),
		})
	}
	return node
}

func randomPod(random *rand.Rand) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: types.UID(fmt.Sprint("u", random.IntN(2))),
		ResourceVersion: "5"}}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady}[:random.IntN(3)] {
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: randomTime(random)})
	}
	return pod
}

// randomPatch makes patches like those of the controllers: mostly right,
// sometimes for another object or state.
func randomPatch(random *rand.Rand, node *corev1.Node, uid types.UID, taints []corev1.Taint, n int) *Call {
	var operations []map[string]any
	add := func(op, path string, value any) {
		operations = append(operations, map[string]any{"op": op, "path": path, "value": value})
	}
	if random.IntN(8) == 0 {
		uid = "another UID"
	}
	add("test", "/metadata/uid", uid)
	call := &Call{Verb: Patch, Kind: Nodes, Name: "n", PatchType: types.JSONPatchType}
	if node != nil && random.IntN(2) == 0 {
		if random.IntN(8) == 0 {
			taints = []corev1.Taint{{Key: "other", Effect: corev1.TaintEffectNoSchedule}}
		}
		if len(taints) == 0 {
			taints = nil
		}
		add("test", "/spec/taints", taints)
		add("add", "/spec/taints", []corev1.Taint{{Key: "new", Effect: corev1.TaintEffectNoExecute}}[:random.IntN(2)])
	} else {
		call.Subresource = "status"
		for range 1 + random.IntN(4) {
			path := fmt.Sprintf("/status/conditions/%d/", random.IntN(n+1))
			switch random.IntN(6) {
			case 0:
				add("test", path+"status", corev1.ConditionTrue)
			case 1:
				add("test", path+"lastTransitionTime", randomTime(random))
			case 2:
				add("add", path+"status", corev1.ConditionUnknown)
			case 3:
				add("add", path+"reason", "because")
			case 4:
				add("add", path+"lastTransitionTime", randomTime(random))
			case 5:
				add("test", path+"type", corev1.NodeMemoryPressure)
			}
		}
	}
	call.Data, _ = json.Marshal(operations)
	return call
}

func TestPatchesAreRefusedAsByTheAPIServer(t *testing.T) {
	w := New(Config{BeatInterval: time.Second, StatusInterval: time.Minute})
	w.AddMachine("n", "a", "a/0")
	node := w.Node("n")
	patch := func(data string) error {
		call := &Call{Verb: Patch, Kind: Nodes, Name: "n", PatchType: types.StrategicMergePatchType, Data: []byte(data)}
		_, err := patchNode(node, call)
		return err
	}
	require.NoError(t, patch(fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{"a":"b"}}}`, node.UID)))
	require.True(t, apierrors.IsInvalid(patch(`{"metadata":{"uid":"other"}}`)), "a foreign UID is 422 (v1.37.1)")
	require.True(t, apierrors.IsConflict(patch(`{"metadata":{"resourceVersion":"1"}}`)), "another version is 409")
}
