package apipatch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Both ways of applying a JSON Patch give the same object or the same refusal,
// and leave alone what they were given.

func TestPatchesOfFieldsGiveWhatThePatchedDocumentGives(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	short := 0
	for range 5_000 {
		object := randomObject(random)
		if sameBothWays(t, object, randomPatch(random, object)) {
			short++
		}
	}
	require.Greater(t, short, 800, "nearly nothing was compared")
}

func FuzzPatchesOfFieldsGiveWhatThePatchedDocumentGives(f *testing.F) {
	random := rand.New(rand.NewPCG(8, 8))
	for seed := range uint64(20) {
		f.Add(seed, string(randomPatch(random, randomObject(rand.New(rand.NewPCG(seed, 0))))))
	}
	const uid, status = `{"op":"test","path":"/metadata/uid","value":"u1"}`, `/status/conditions/0/status`
	for _, patch := range []string{
		``, `null`, `{}`, `[]`, `[null]`, `[{}]`, `[` + uid + `]`, `[` + uid + `] `, `[` + uid + `]]`,
		`[{"OP":"test","PATH":"/metadata/uid","VALUE":"u1"}]`,
		`[{"op":"test","op":null,"path":"/metadata/uid","value":"u1"}]`,
		`[{"op":"add","path":"/metadata/uid","path":"/spec/taints","value":[]}]`,
		`[{"op":"test","path":"/metadata/uid","value":"\u00751"}]`,
		`[{"op":"test","path":"/metadata/uid"}]`,
		`[{"op":"test","path":"/metadata\/uid","value":"u1"}]`,
		`[{"op":"add","path":"/metadata/uid","value":"other"}]`,
		`[{"op":"add","path":"/spec/taints","value":null},{"op":"test","path":"/spec/taints","value":null}]`,
		`[{"op":"add","path":"/spec/taints","value":[]},{"op":"test","path":"/spec/taints","value":null}]`,
		`[{"op":"add","path":"/spec/taints","value":[]},{"op":"test","path":"/spec/taints","value":[]}]`,
		`[{"op":"add","path":"/spec/taints","value":[{"key":"a","effect":"NoExecute","other":1}]}]`,
		`[{"op":"add","path":"/spec/taints","value":[{"effect":"NoExecute","key":"a"}]}]`,
		`[{"op":"add","path":"/spec/taints","value":7}]`,
		`[{"op":"add","path":"` + status + `","value":7}]`,
		`[{"op":"add","path":"` + status + `","value":null}]`,
		`[{"op":"add","path":"` + status + `","value":""},{"op":"test","path":"` + status + `","value":""}]`,
		`[{"op":"add","path":"` + status + `","value":"<"},{"op":"test","path":"` + status + `","value":"\u003c"}]`,
		`[{"op":"add","path":"` + status + `","value":"é"},{"op":"test","path":"` + status + `","value":"é"}]`,
		"[{\"op\":\"add\",\"path\":\"" + status + "\",\"value\":\"\xff\"}]",
		`[{"op":"add","path":"/status/conditions/00/status","value":"True"}]`,
		`[{"op":"add","path":"/status/conditions/-1/status","value":"True"}]`,
		`[{"op":"add","path":"/status/conditions/-/status","value":"True"}]`,
		`[{"op":"add","path":"/status/conditions/9/status","value":"True"}]`,
		`[{"op":"replace","path":"` + status + `","value":"False"},{"op":"remove","path":"/status/conditions/0/reason"}]`,
		`[{"op":"add","path":"/status/conditions/0/lastTransitionTime","value":"2023-11-14T22:13:20.5Z"},` +
			`{"op":"test","path":"/status/conditions/0/lastTransitionTime","value":"2023-11-14T22:13:20Z"}]`,
		`[{"op":"add","path":"/status/conditions/0/lastTransitionTime","value":"2023-11-14T23:13:20+01:00"},` +
			`{"op":"test","path":"/status/conditions/0/lastTransitionTime","value":"2023-11-14T22:13:20Z"}]`,
		`[{"op":"add","path":"/status/conditions/0/lastTransitionTime","value":null}]`,
		`[{"op":"add","path":"/status/conditions/0/lastTransitionTime","value":"0001-01-01T00:00:00Z"}]`,
		`[{"op":"test","path":"/status/conditions/1/lastTransitionTime","value":null}]`,
	} {
		for seed := range uint64(6) {
			f.Add(seed, patch)
		}
	}
	f.Fuzz(func(t *testing.T, seed uint64, patch string) {
		sameBothWays(t, randomObject(rand.New(rand.NewPCG(seed, 0))), []byte(patch))
	})
}

// sameBothWays compares both ways, and reports whether the short one was open.
func sameBothWays(t *testing.T, object runtime.Object, patch []byte) bool {
	t.Helper()
	before := object.DeepCopyObject()
	got, short := applyFields(object, patch)
	want, wantErr := applyDocument(object, types.JSONPatchType, patch)
	require.Equal(t, before, object, "%s changes what it is given", patch)
	if short {
		require.NoError(t, wantErr, "%s of %s", patch, encoded(t, before))
		require.True(t, equality.Semantic.DeepEqual(want, got), "%s of %s\nshort %s\nlong  %s",
			patch, encoded(t, before), encoded(t, got), encoded(t, want))
		require.Equal(t, encoded(t, want), encoded(t, got), "%s of %s", patch, encoded(t, before))
	}
	answer, err := Apply(object, types.JSONPatchType, patch)
	require.Equal(t, wantErr, err)
	require.True(t, err != nil || equality.Semantic.DeepEqual(want, answer))
	return short
}

func TestPatchesOfAConditionGiveWhatThePatchedDocumentGives(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 9))
	short := 0
	for range 4_000 {
		if sameBothMerges(t, randomObject(random), randomMerge(random)) {
			short++
		}
	}
	require.Greater(t, short, 500, "nearly nothing was compared")
}

func FuzzPatchesOfAConditionGiveWhatThePatchedDocumentGives(f *testing.F) {
	random := rand.New(rand.NewPCG(8, 8))
	patches := []string{
		`{}`, `null`, `{`, `7`, `[]`, `{"status":null}`, `{"metadata":null}`, `{"metadata":{}}`, `{"status":{}}`,
		`{"status":7}`, `{"metadata":{"uid":7}}`, `{"metadata":{"uid":null}}`, `{"metadata":{"name":"q"}}`,
		`{"metadata":{"uid":"a","uid":"b"}}`, `{"metadata":{"UID":"a"}}`, `{"Status":{"reason":"x"}}`,
		`{"status":{"conditions":[]}}`, `{"status":{"conditions":null}}`, `{"status":{"conditions":{}}}`,
		`{"status":{"conditions":[{"status":"True"}]}}`, `{"status":{"conditions":[null]}}`,
		`{"status":{"conditions":[{"type":null}]}}`, `{"status":{"conditions":[{"type":7}]}}`,
		`{"status":{"conditions":[{"type":"Ready","TYPE":"Other","status":"True"}]}}`,
		`{"status":{"conditions":[{"TYPE":"Ready","status":"True"}]}}`,
		`{"status":{"conditions":[{"type":"Ready","type":"Other","status":"True"}]}}`,
		`{"status":{"conditions":[{"type":"Ready","lastTransitionTime":null}]}}`,
		`{"status":{"conditions":[{"type":"Ready","lastTransitionTime":"2023-11-14T23:13:20.5+01:00"}]}}`,
		`{"status":{"conditions":[{"type":"Ready","lastTransitionTime":"no time"}]}}`,
		`{"status":{"conditions":[{"type":"Ready","message":"\u003c<&> é \""}]}}`,
		"{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"message\":\"\xff\"}]}}",
		`{"status":{"conditions":[{"type":"Ready"},{"type":"New","status":"True"}]}}`,
		`{"status":{"conditions":[{"$patch":"delete","type":"Ready"}]}}`, `{"status":{"$patch":"replace"}}`,
		`{"status":{"$setElementOrder/conditions":[{"type":"Ready"}]}}`, `{"$patch":"replace"}`,
		`{"$retainKeys":["status"],"status":{}}`, `{"spec":{"nodeName":"n"},"status":{"reason":"x"}}`,
	}
	for range 20 {
		patches = append(patches, string(randomMerge(random)))
	}
	for _, patch := range patches {
		for seed := range uint64(6) {
			f.Add(seed, patch)
		}
	}
	f.Fuzz(func(t *testing.T, seed uint64, patch string) {
		sameBothMerges(t, randomObject(rand.New(rand.NewPCG(seed, 0))), []byte(patch))
	})
}

// sameBothMerges is like sameBothWays, for strategic merge patches.
func sameBothMerges(t *testing.T, object runtime.Object, patch []byte) bool {
	t.Helper()
	before := object.DeepCopyObject()
	got, short := applyCondition(object, patch)
	want, wantErr := applyDocument(object, types.StrategicMergePatchType, patch)
	require.Equal(t, before, object, "%s changes what it is given", patch)
	if short {
		require.NoError(t, wantErr, "%s of %s", patch, encoded(t, before))
		require.True(t, equality.Semantic.DeepEqual(want, got), "%s of %s\nshort %s\nlong  %s",
			patch, encoded(t, before), encoded(t, got), encoded(t, want))
	}
	answer, err := Apply(object, types.StrategicMergePatchType, patch)
	require.Equal(t, wantErr, err)
	require.True(t, err != nil || equality.Semantic.DeepEqual(want, answer))
	return short
}

// randomMerge makes strategic merge patches like those of the controllers.
func randomMerge(random *rand.Rand) []byte {
	condition := map[string]any{"type": []string{"Ready", "MemoryPressure", "DisruptionTarget"}[random.IntN(3)]}
	for _, name := range []string{"status", "reason", "message", "lastTransitionTime", "lastProbeTime"} {
		switch random.IntN(12) {
		case 0:
			condition[name] = nil
		case 1, 2, 3, 4, 5:
			condition[name] = randomText(random)
		}
	}
	if _, ok := condition["lastTransitionTime"]; ok || random.IntN(2) == 0 {
		condition["lastTransitionTime"] = randomTime(random)
	}
	if random.IntN(8) > 0 {
		delete(condition, "lastProbeTime")
	}
	status := map[string]any{"conditions": []any{condition}}
	if random.IntN(3) == 0 {
		status["reason"], status["message"] = randomText(random), []any{nil, randomText(random)}[random.IntN(2)]
	}
	patch := map[string]any{"status": status}
	if random.IntN(3) > 0 {
		patch["metadata"] = map[string]any{"uid": "u1"}
	}
	data, _ := json.Marshal(patch)
	return data
}

func encoded(t *testing.T, object any) string {
	t.Helper()
	data, err := json.Marshal(object)
	require.NoError(t, err)
	return string(data)
}

func randomTime(random *rand.Rand) metav1.Time {
	if random.IntN(8) == 0 {
		return metav1.Time{}
	}
	return metav1.NewTime(time.Unix(1_700_000_000+int64(random.IntN(3)), 0))
}

func randomText(random *rand.Rand) string {
	return []string{"", "a", "b", `"quoted"`, "<&>", "é", "a\tb"}[random.IntN(7)]
}

// randomObject is a node or a pod, or something that only the long way patches,
// as an API server stores it.
func randomObject(random *rand.Rand) runtime.Object {
	m := metav1.ObjectMeta{Name: "n", UID: types.UID(fmt.Sprint("u", random.IntN(2))), ResourceVersion: "5"}
	kinds := []corev1.NodeConditionType{"Ready", "MemoryPressure", "DiskPressure"}[:random.IntN(4)]
	switch random.IntN(8) {
	case 0:
		return &corev1.Namespace{ObjectMeta: m}
	case 1, 2, 3:
		pod := &corev1.Pod{ObjectMeta: m, Spec: corev1.PodSpec{NodeName: randomText(random)}}
		for _, kind := range kinds {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodConditionType(kind), Status: corev1.ConditionTrue, Reason: randomText(random),
				LastTransitionTime: randomTime(random),
			})
		}
		return pod
	}
	node := &corev1.Node{ObjectMeta: m, Spec: corev1.NodeSpec{Unschedulable: random.IntN(2) == 0}}
	for i := range random.IntN(3) {
		taint := corev1.Taint{Key: fmt.Sprint("k", i), Effect: corev1.TaintEffectNoExecute, Value: randomText(random)}
		if at := randomTime(random); !at.IsZero() {
			taint.TimeAdded = &at
		}
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
	for _, kind := range kinds {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: randomText(random), Message: randomText(random),
			LastHeartbeatTime: randomTime(random), LastTransitionTime: randomTime(random),
		})
	}
	return node
}

// randomPatch makes patches like those of the controllers: mostly right,
// sometimes for another object or state.
func randomPatch(random *rand.Rand, object runtime.Object) []byte {
	operations := []map[string]any{}
	add := func(op, path string, value any) {
		operations = append(operations, map[string]any{"op": op, "path": path, "value": value})
	}
	uid, n := "u1", 1
	var taints []corev1.Taint
	conditions := []corev1.NodeCondition{{}}
	switch object := object.(type) {
	case *corev1.Node:
		uid, taints, conditions = string(object.UID), object.Spec.Taints, append(conditions, object.Status.Conditions...)
		n = len(object.Status.Conditions)
	case *corev1.Pod:
		uid, n = string(object.UID), len(object.Status.Conditions)
	}
	if random.IntN(8) > 0 {
		add("test", "/metadata/uid", uid)
	}
	for range random.IntN(6) {
		c := conditions[random.IntN(len(conditions))]
		path := fmt.Sprintf("/status/conditions/%d/", random.IntN(n+1))
		text := []any{"True", randomText(random), c.Reason, string(c.Type)}[random.IntN(4)]
		at := []any{randomTime(random), c.LastTransitionTime, c.LastHeartbeatTime}[random.IntN(3)]
		name := []string{"type", "status", "reason", "message"}[random.IntN(4)]
		when := []string{"lastTransitionTime", "lastHeartbeatTime"}[random.IntN(2)]
		switch random.IntN(8) {
		case 0:
			add("test", path+name, text)
		case 1:
			add("test", path+when, at)
		case 2, 3:
			add("add", path+name, text)
		case 4:
			add("add", path+when, at)
		case 5:
			add("test", "/spec/taints", taints)
		case 6:
			add("test", "/spec/taints", []any{nil, taints}[random.IntN(2)])
			taints = []corev1.Taint{{Key: "new", Effect: corev1.TaintEffectNoExecute}}[:random.IntN(2)]
			add("add", "/spec/taints", taints)
		case 7:
			add([]string{"test", "add", "replace", "remove"}[random.IntN(4)], path+name, text)
		}
	}
	data, _ := json.Marshal(operations)
	return data
}

func BenchmarkApply(b *testing.B) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "5"}}
	at := metav1.NewTime(time.Unix(1_700_000_000, 0))
	for _, kind := range []corev1.NodeConditionType{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: "R", LastHeartbeatTime: at, LastTransitionTime: at,
		})
	}
	patch := []byte(`[{"op":"test","path":"/metadata/resourceVersion","value":"5"},` +
		`{"op":"add","path":"/spec/taints","value":[{"key":"a","effect":"NoExecute"}]}]`)
	ways := map[string]func() error{
		"fields":   func() error { _, err := Apply(node, types.JSONPatchType, patch); return err },
		"document": func() error { _, err := applyDocument(node, types.JSONPatchType, patch); return err },
	}
	for name, apply := range ways {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := apply(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
