package taints_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/taints"
)

func TestT2DesiredNoScheduleFollowsFromEachConditionAndStatus(t *testing.T) {
	// Written with the literal strings of the API, so that a wrong constant shows.
	asked := map[string]string{
		"Ready=False":             "node.kubernetes.io/not-ready",
		"Ready=Unknown":           "node.kubernetes.io/unreachable",
		"MemoryPressure=True":     "node.kubernetes.io/memory-pressure",
		"DiskPressure=True":       "node.kubernetes.io/disk-pressure",
		"PIDPressure=True":        "node.kubernetes.io/pid-pressure",
		"NetworkUnavailable=True": "node.kubernetes.io/network-unavailable",
	}
	met := 0
	for _, kind := range []string{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure",
		"NetworkUnavailable", "KernelDeadlock", ""} {
		for _, status := range []string{"True", "False", "Unknown", "", "true"} {
			condition := kind + "=" + status
			got := taints.AppendNoSchedule(nil, withConditions(newNode("n", "u"), condition))
			if key, ok := asked[condition]; ok {
				require.Equal(t, []corev1.Taint{{Key: key, Effect: "NoSchedule"}}, got, condition)
				met++
				continue
			}
			require.Empty(t, got, condition)
		}
	}
	require.Equal(t, len(asked), met)
}

func TestT2UnschedulableIsOneMore(t *testing.T) {
	node := newNode("n", "u")
	require.Empty(t, taints.AppendNoSchedule(nil, node), "no conditions yet")

	node.Spec.Unschedulable = true
	require.Equal(t, []string{"node.kubernetes.io/unschedulable:NoSchedule"},
		show(taints.AppendNoSchedule(nil, node)))

	withConditions(node, "MemoryPressure=False", "DiskPressure=True", "Ready=Unknown",
		"PIDPressure=Unknown", "NetworkUnavailable=True")
	require.Equal(t, []string{
		"before:NoExecute",
		"node.kubernetes.io/disk-pressure:NoSchedule",
		"UN:NoSchedule",
		"node.kubernetes.io/network-unavailable:NoSchedule",
		"node.kubernetes.io/unschedulable:NoSchedule",
	}, show(taints.AppendNoSchedule(list("before:NoExecute"), node)),
		"appended, in the order of the conditions")
}

func TestT2OwnedKeys(t *testing.T) {
	owned := []string{"not-ready", "unreachable", "memory-pressure", "disk-pressure", "pid-pressure",
		"network-unavailable", "unschedulable"}
	others := []string{
		"node.kubernetes.io/out-of-service", "node.cloudprovider.kubernetes.io/uninitialized",
		"node.kubernetes.io/not-ready2",
		"not-ready", "unreachable", "dedicated", "",
	}
	for _, effect := range []corev1.TaintEffect{noSchedule, prefer, noExecute, ""} {
		for _, name := range owned {
			owns := corev1.Taint{Key: "node.kubernetes.io/" + name, Value: "any", Effect: effect,
				TimeAdded: stamp(1)}
			require.Equal(t, effect == noSchedule, taints.OwnsNoSchedule(&owns), showOne(&owns))
			ill := effect == noExecute && (name == "not-ready" || name == "unreachable")
			require.Equal(t, ill, taints.OwnsNoExecute(&owns), showOne(&owns))
		}
		for _, key := range others {
			other := corev1.Taint{Key: key, Effect: effect}
			require.False(t, taints.OwnsNoSchedule(&other), showOne(&other))
			require.False(t, taints.OwnsNoExecute(&other), showOne(&other))
		}
	}
}

func TestT2WhatIsDesiredIsOwned(t *testing.T) {
	node := withConditions(newNode("n", "u"), "Ready=False", "Ready=Unknown", "MemoryPressure=True",
		"DiskPressure=True", "PIDPressure=True", "NetworkUnavailable=True")
	node.Spec.Unschedulable = true
	desired := taints.AppendNoSchedule(nil, node)
	require.Len(t, desired, 7)
	for i := range desired {
		require.True(t, taints.OwnsNoSchedule(&desired[i]), showOne(&desired[i]))
	}
	for _, status := range []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionUnknown} {
		ill, ok := taints.NoExecute(status)
		require.True(t, ok)
		require.True(t, taints.OwnsNoExecute(&ill), showOne(&ill))
	}
}

func TestT2NoExecuteFollowsFromReady(t *testing.T) {
	for status, want := range map[corev1.ConditionStatus]corev1.Taint{
		"False":   {Key: "node.kubernetes.io/not-ready", Effect: "NoExecute"},
		"Unknown": {Key: "node.kubernetes.io/unreachable", Effect: "NoExecute"},
		"True":    {},
		"":        {},
		"Maybe":   {},
	} {
		got, ok := taints.NoExecute(status)
		require.Equal(t, want, got, status)
		require.Equal(t, want != corev1.Taint{}, ok, status)
	}
}

func TestT2TaintsOutsideTheOwnedKeysAreNeverTouched(t *testing.T) {
	foreign := []string{
		"dedicated=db:NoSchedule", "dedicated=db:NoExecute@4",
		"node.kubernetes.io/out-of-service=nodeshutdown:NoExecute@5",
		"node.kubernetes.io/memory-pressure:NoExecute@6",
		"node.kubernetes.io/disk-pressure:PreferNoSchedule",
		"NR:PreferNoSchedule", "maintenance:NoExecute", "timed:NoSchedule@7",
	}
	for name, c := range map[string]struct {
		ours    []string // the owned taints that the node has
		node    []string
		desired []string
	}{
		"sick": {nil, []string{"Ready=Unknown", "MemoryPressure=True"},
			[]string{"UN:NoSchedule@99", "node.kubernetes.io/memory-pressure:NoSchedule@99"}},
		"swapped": {[]string{"NR:NoSchedule"}, []string{"Ready=Unknown"},
			[]string{"UN:NoSchedule@99"}},
		"healthy": {[]string{"NR:NoSchedule", "UN:NoSchedule",
			"node.kubernetes.io/unschedulable:NoSchedule"}, []string{"Ready=True"}, nil},
		"as it is":   {[]string{"UN:NoSchedule"}, []string{"Ready=Unknown"}, []string{"UN:NoSchedule"}},
		"no reports": {[]string{"node.kubernetes.io/pid-pressure=x:NoSchedule"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			node := withConditions(newNode("n", "u", append(c.ours, foreign...)...), c.node...)
			next, _ := taints.Reconcile(node.Spec.Taints, taints.AppendNoSchedule(nil, node),
				taints.OwnsNoSchedule, at(99))
			others := taints.Filter(next, func(t *corev1.Taint) bool { return !taints.OwnsNoSchedule(t) })
			require.Equal(t, foreign, show(others))
			ours := taints.Filter(next, taints.OwnsNoSchedule)
			require.ElementsMatch(t, c.desired, show(ours))
		})
	}
}
