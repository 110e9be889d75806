package nodehealth_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/nodehealth"
)

// storedNode is a node as the API server has it. Every object has a field "new"
// that a later version of the API may bring.
func storedNode(conditions ...string) string {
	list := ""
	if len(conditions) > 0 {
		list = `"conditions":[` + strings.Join(conditions, ",") + `],`
	}
	return `{"metadata":{"name":"n","uid":"u","resourceVersion":"7",
		"creationTimestamp":"2020-01-01T00:00:00Z","new":1},
		"spec":{"new":2},"status":{` + list + `"new":3}}`
}

func condition(kind, status, reason, transition string) string {
	return `{"type":"` + kind + `","status":"` + status + `","reason":"` + reason + `",
		"message":"as it was","lastHeartbeatTime":"2026-01-01T00:00:00Z",
		"lastTransitionTime":"` + transition + `","new":{"a":[1]}}`
}

func kubelets(kind, status string) string {
	return condition(kind, status, "Kubelet", "2025-01-01T00:00:00Z")
}

// stopped returns the result of the patch for a condition that the kubelet had
// reported.
func stopped(kind string) string {
	return strings.Replace(condition(kind, "Unknown", "NodeStatusUnknown", "2026-03-01T12:00:00Z"),
		"as it was", "Kubelet stopped posting node status.", 1)
}

// neverReported is what is added in place of one that it had not.
func neverReported(kind string) string {
	return `{"type":"` + kind + `","status":"Unknown","reason":"NodeStatusNeverUpdated",
		"message":"Kubelet never posted node status.",
		"lastHeartbeatTime":"2020-01-01T00:00:00Z","lastTransitionTime":"2026-03-01T12:00:00Z"}`
}

var allKubelets = []string{
	kubelets("NetworkUnavailable", "False"), kubelets("MemoryPressure", "False"),
	kubelets("DiskPressure", "True"), kubelets("PIDPressure", "False"), kubelets("Ready", "True"),
	kubelets("Example", "True"),
}

func unknownPatch(t *testing.T, node *corev1.Node) []byte {
	t.Helper()
	patch, ok, err := nodehealth.UnknownPatch(node, observerEpoch)
	require.NoError(t, err)
	require.True(t, ok)
	return patch
}

func TestH2ASilentNodesConditionsBecomeUnknown(t *testing.T) {
	for name, c := range map[string]struct{ before, after []string }{
		"all are there": {allKubelets, []string{
			kubelets("NetworkUnavailable", "False"), stopped("MemoryPressure"), stopped("DiskPressure"),
			stopped("PIDPressure"), stopped("Ready"), kubelets("Example", "True"),
		}},
		"not ready before": {
			[]string{
				kubelets("Ready", "False"), kubelets("PIDPressure", "False"), kubelets("DiskPressure", "False"),
				kubelets("MemoryPressure", "False"),
			},
			[]string{
				stopped("Ready"), stopped("PIDPressure"), stopped("DiskPressure"), stopped("MemoryPressure"),
			},
		},
		"some are missing": {
			[]string{
				kubelets("NetworkUnavailable", "True"), kubelets("Ready", "True"),
				kubelets("DiskPressure", "False"),
			},
			[]string{
				kubelets("NetworkUnavailable", "True"), stopped("Ready"), stopped("DiskPressure"),
				neverReported("MemoryPressure"), neverReported("PIDPressure"),
			},
		},
		"some are Unknown already": {
			[]string{
				condition("MemoryPressure", "Unknown", "Own", "2024-01-01T00:00:00Z"),
				kubelets("Ready", "True"), kubelets("DiskPressure", "False"), kubelets("PIDPressure", "False"),
			},
			[]string{
				condition("MemoryPressure", "Unknown", "Own", "2024-01-01T00:00:00Z"), stopped("Ready"),
				stopped("DiskPressure"), stopped("PIDPressure"),
			},
		},
		"none at all": {nil, []string{
			neverReported("Ready"), neverReported("MemoryPressure"), neverReported("DiskPressure"),
			neverReported("PIDPressure"),
		}},
		// A cloud provider or a CNI plugin may be first.
		"others only": {[]string{
			kubelets("NetworkUnavailable", "True"), kubelets("Example", "True"),
		}, []string{
			kubelets("NetworkUnavailable", "True"), kubelets("Example", "True"),
			neverReported("Ready"), neverReported("MemoryPressure"), neverReported("DiskPressure"),
			neverReported("PIDPressure"),
		}},
		"Ready is missing": {[]string{kubelets("MemoryPressure", "False")}, []string{
			stopped("MemoryPressure"), neverReported("Ready"), neverReported("DiskPressure"),
			neverReported("PIDPressure"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			document := parse(t, storedNode(c.before...))
			node := decodeNode(t, document)
			seen := node.DeepCopy()
			require.NoError(t, document.patch(unknownPatch(t, node)))
			require.JSONEq(t, storedNode(c.after...), document.String())
			require.Equal(t, seen, node, "the argument is a cached object")

			again, ok, err := nodehealth.UnknownPatch(decodeNode(t, document), observerEpoch)
			require.NoError(t, err)
			require.False(t, ok, "H6: once written there is nothing to do, %s", again)
			require.Equal(t, corev1.ConditionUnknown, nodehealth.ReadyStatus(decodeNode(t, document)))
		})
	}
}

func TestH2AnEmptyListOfConditionsIsLikeNone(t *testing.T) {
	document := parse(t, storedNode())
	node := decodeNode(t, document)
	node.Status.Conditions = []corev1.NodeCondition{}
	require.NoError(t, document.patch(unknownPatch(t, node)))
}

// A node whose kubelet writes no times at all: zero is null in JSON.
func TestH2AReadyConditionWithoutTimesCanBeTested(t *testing.T) {
	node := bareNode("n", "u")
	node.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
	}
	patch := unknownPatch(t, node)
	require.NoError(t, encode(t, node).patch(patch))
	require.NoError(
		t,
		parse(
			t, `{"metadata":{"uid":"u"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
		).patch(patch),
	)
}

func TestH2ANodeThatIsUnknownGetsNoPatch(t *testing.T) {
	for _, reason := range []string{"NodeStatusUnknown", "NodeStatusNeverUpdated", "Own"} {
		node := decodeNode(
			t,
			parse(
				t,
				storedNode(
					kubelets("MemoryPressure", "False"),
					condition("Ready", "Unknown", reason, "2026-01-01T00:00:00Z"),
				),
			),
		)
		patch, ok, err := nodehealth.UnknownPatch(node, observerEpoch)
		require.NoError(t, err)
		require.False(t, ok)
		require.Nil(t, patch)
	}
}

// The patch is computed from a cache. What the node has written since wins.
func TestH2AFreshStatusWins(t *testing.T) {
	later := func(condition string) string {
		return strings.Replace(condition, "2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z", 1)
	}
	seen := storedNode(allKubelets...)
	bare := storedNode()
	others := storedNode(kubelets("NetworkUnavailable", "False"), kubelets("Example", "True"))
	reported := strings.Replace(
		storedNode(allKubelets...), `"7"`, `"8"`, 1,
	) // any write changes the version
	for name, c := range map[string]struct {
		seen, stored string
		refused      bool
	}{
		"as it was": {seen, seen, false},
		"Ready is newer": {
			seen, strings.Replace(seen, allKubelets[4], later(allKubelets[4]), 1), true,
		},
		"Ready is another": {
			seen, strings.Replace(seen, allKubelets[4], kubelets("Ready", "False"), 1), true,
		},
		"Ready is Unknown": {
			seen, strings.Replace(seen, allKubelets[4], kubelets("Ready", "Unknown"), 1), true,
		},
		"the UID is another": {seen, strings.Replace(seen, `"u"`, `"v"`, 1), true},
		"the order is": {
			seen, storedNode(allKubelets[4], allKubelets[0], allKubelets[1], allKubelets[2], allKubelets[3]),
			true,
		},
		"one like Ready is there": {
			seen,
			storedNode(
				allKubelets[0], allKubelets[1], allKubelets[2], allKubelets[3], allKubelets[5], allKubelets[4],
			),
			true,
		},
		"the network's is there": {
			seen,
			storedNode(
				allKubelets[1], allKubelets[0], allKubelets[2], allKubelets[3], allKubelets[4], allKubelets[5],
			),
			true,
		},
		"conditions are gone": {seen, bare, true},
		// Nothing but Ready says whether the node is alive.
		"pressure is newer": {
			seen, strings.Replace(seen, allKubelets[1], later(kubelets("MemoryPressure", "True")), 1), false,
		},
		"a condition is new": {
			seen, storedNode(append(allKubelets[:6:6], kubelets("More", "True"))...), false,
		},
		"the version is newer": {seen, strings.Replace(seen, `"7"`, `"8"`, 1), false},
		"the first report":     {bare, reported, true},
		"another's condition":  {bare, strings.Replace(others, `"7"`, `"8"`, 1), true},
		"the report after all": {others, reported, true}, // else it would have two Ready conditions
		"the other observer's": {
			others,
			strings.Replace(
				storedNode(
					kubelets("NetworkUnavailable", "False"), kubelets("Example", "True"), neverReported("Ready"),
				),
				`"7"`, `"8"`, 1,
			),
			true,
		},
		"Ready in their places": {
			others,
			strings.Replace(
				storedNode(kubelets("NetworkUnavailable", "False"), kubelets("Ready", "True")), `"7"`, `"8"`, 1,
			),
			true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			document := parse(t, c.stored)
			before := document.String()
			err := document.patch(unknownPatch(t, decodeNode(t, parse(t, c.seen))))
			if !c.refused {
				require.NoError(t, err)
				require.Equal(t, corev1.ConditionUnknown, nodehealth.ReadyStatus(decodeNode(t, document)))
				return
			}
			require.Error(t, err)
			require.Equal(t, before, document.String())
		})
	}
}

func TestH5ANodeWithoutUIDIsAnError(t *testing.T) {
	node := reportingNode("nameless", "", nodeClock)
	patch, ok, err := nodehealth.UnknownPatch(node, observerEpoch)
	require.ErrorContains(t, err, "nameless has no UID")
	require.False(t, ok)
	require.Nil(t, patch)

	pod := readyPod(t)
	pod.UID, pod.Name = "", "nameless"
	patch, ok, err = nodehealth.PodNotReadyPatch(pod, observerEpoch)
	require.ErrorContains(t, err, "nameless has no UID")
	require.False(t, ok)
	require.Nil(t, patch)
}

func TestReadyStatus(t *testing.T) {
	require.Empty(t, nodehealth.ReadyStatus(&corev1.Node{}), "no report yet")
	for _, status := range []corev1.ConditionStatus{
		corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown,
	} {
		node := decodeNode(
			t, parse(t, storedNode(kubelets("Example", "False"), kubelets("Ready", string(status)))),
		)
		require.Equal(t, status, nodehealth.ReadyStatus(node))
	}
}

func storedPod(conditions ...string) string {
	return strings.Replace(storedNode(conditions...), `"name":"n"`, `"namespace":"ns","name":"p"`, 1)
}

func podCondition(kind, status, transition string) string {
	return `{"type":"` + kind + `","status":"` + status + `","reason":"Kubelet",
		"lastProbeTime":null,"lastTransitionTime":` + transition + `,"new":1}`
}

func readyPod(t *testing.T) *corev1.Pod {
	t.Helper()
	return decodePod(
		t,
		parse(
			t,
			storedPod(
				podCondition("Initialized", "True", `"2025-01-01T00:00:00Z"`),
				podCondition("Ready", "True", `"2025-01-01T00:00:00Z"`),
			),
		),
	)
}

func podNotReadyPatch(t *testing.T, pod *corev1.Pod) []byte {
	t.Helper()
	patch, ok, err := nodehealth.PodNotReadyPatch(pod, observerEpoch)
	require.NoError(t, err)
	require.True(t, ok)
	return patch
}

// H6 (#48681, #50067, #135205): the patch follows from the present pod alone.
// So it is the same after a crash, after a failed call, and for a pod that is
// bound to the node later. Once it is written, there is no patch.
func TestH6AReadyPodGetsAPatch(t *testing.T) {
	for _, c := range []struct{ status, transition string }{
		{"True", `"2025-01-01T00:00:00Z"`}, {"Unknown", `"2025-01-01T00:00:00Z"`}, {"True", `null`},
	} {
		initialized := podCondition("Initialized", "True", `"2025-01-01T00:00:00Z"`)
		document := parse(t, storedPod(initialized, podCondition("Ready", c.status, c.transition)))
		pod := decodePod(t, document)
		seen := pod.DeepCopy()
		patch := podNotReadyPatch(t, pod)
		require.Equal(t, seen, pod)
		require.NoError(t, document.patch(patch))
		require.JSONEq(
			t, storedPod(initialized, podCondition("Ready", "False", `"2026-03-01T12:00:00Z"`)),
			document.String(),
		)

		require.Error(t, document.patch(patch), "it was for the pod as it was")
		_, ok, err := nodehealth.PodNotReadyPatch(decodePod(t, document), observerEpoch)
		require.NoError(t, err)
		require.False(t, ok)
	}
}

func TestH6APodThatIsNotReadyGetsNoPatch(t *testing.T) {
	for _, conditions := range [][]string{
		nil,
		{podCondition("Initialized", "True", `null`)},
		{podCondition("Ready", "False", `null`), podCondition("ContainersReady", "True", `null`)},
	} {
		patch, ok, err := nodehealth.PodNotReadyPatch(
			decodePod(t, parse(t, storedPod(conditions...))), observerEpoch,
		)
		require.NoError(t, err)
		require.False(t, ok)
		require.Nil(t, patch)
	}
}

func TestH6APodThatHasChangedRefusesThePatch(t *testing.T) {
	const was = `"2025-01-01T00:00:00Z"`
	initialized, ready := podCondition("Initialized", "True", was), podCondition("Ready", "True", was)
	patch := podNotReadyPatch(t, readyPod(t))
	for name, c := range map[string]struct {
		stored string
		fits   bool
	}{
		"as it was":       {storedPod(initialized, ready), true},
		"another version": {strings.Replace(storedPod(initialized, ready), `"7"`, `"8"`, 1), true},
		"another condition": {
			storedPod(podCondition("Initialized", "False", was), ready, podCondition("More", "True", was)),
			true,
		},
		"another pod": {
			strings.Replace(storedPod(initialized, ready), `"u"`, `"v"`, 1), false,
		},
		"not ready since": {
			storedPod(initialized, podCondition("Ready", "False", `"2026-01-01T00:00:00Z"`)), false,
		},
		"not ready this second": {storedPod(initialized, podCondition("Ready", "False", was)), false},
		"out and in again since": {
			storedPod(initialized, podCondition("Ready", "True", `"2026-01-01T00:00:00Z"`)), false,
		},
		"another order": {storedPod(ready, initialized), false},
		"no conditions": {storedPod(), false},
	} {
		t.Run(name, func(t *testing.T) {
			document := parse(t, c.stored)
			before := document.String()
			err := document.patch(patch)
			require.Equal(t, c.fits, err == nil, "%v", err)
			require.Equal(t, c.fits, before != document.String())
		})
	}
}

// The API server's names for all this.
func TestThePatchesAreJSONPatchesInUTC(t *testing.T) {
	require.Equal(t, types.JSONPatchType, nodehealth.PatchType)
	node := reportingNode("n", "u", nodeClock)
	patch, _, err := nodehealth.UnknownPatch(
		node, observerEpoch.Add(999*time.Millisecond).In(time.FixedZone("", 7200)),
	)
	require.NoError(t, err)
	var operations []map[string]any
	require.NoError(t, json.Unmarshal(patch, &operations))
	times := 0
	for _, op := range operations {
		require.Contains(t, []any{"test", "add"}, op["op"])
		if strings.HasSuffix(op["path"].(string), "lastTransitionTime") {
			require.Equal(t, "2026-03-01T12:00:00Z", op["value"])
			times++
		}
	}
	require.Equal(t, 4, times)
}
