package taints_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/taints"
)

var healthy = []string{"MemoryPressure=False", "DiskPressure=False", "PIDPressure=False",
	"Ready=True", "NetworkUnavailable=False"}

// quietNodes are nodes where nothing changes.
func quietNodes() map[string]*corev1.Node {
	busy := withConditions(newNode("busy", "u",
		"UN:NoSchedule", "dedicated=db:NoSchedule", "node.kubernetes.io/disk-pressure:NoSchedule",
		"UN:NoExecute@7", "node.kubernetes.io/unschedulable:NoSchedule",
	), "Ready=Unknown", "MemoryPressure=False", "DiskPressure=True", "PIDPressure=False")
	busy.Spec.Unschedulable = true
	return map[string]*corev1.Node{
		"healthy":    withConditions(newNode("healthy", "u"), healthy...),
		"fiveTaints": busy,
	}
}

// noScheduleOf is what a controller does with a node on each of its events.
func noScheduleOf(node *corev1.Node) ([]corev1.Taint, bool) {
	var buffer [8]corev1.Taint
	desired := taints.AppendNoSchedule(buffer[:0], node)
	return taints.Reconcile(node.Spec.Taints, desired, taints.OwnsNoSchedule, at(100))
}

func TestT3ANodeWhereNothingChangesCostsNoAllocation(t *testing.T) {
	for name, node := range quietNodes() {
		t.Run(name, func(t *testing.T) {
			_, changed := noScheduleOf(node)
			require.False(t, changed)
			require.Zero(t, testing.AllocsPerRun(100, func() { noScheduleOf(node) }),
				"desired set and Reconcile")

			current, same := node.Spec.Taints, copied(node.Spec.Taints)
			require.Zero(t, testing.AllocsPerRun(100, func() { taints.Diff(same, current) }), "Diff")
			require.Zero(t, testing.AllocsPerRun(100, func() { taints.Equal(same, current) }), "Equal")
			require.Zero(t, testing.AllocsPerRun(100,
				func() { taints.Remove(current, "absent", noExecute) }), "Remove")
			require.Zero(t, testing.AllocsPerRun(100, func() { taints.Find(current, "absent", noExecute) }),
				"Find")
			if len(current) > 0 {
				require.Zero(t, testing.AllocsPerRun(100, func() { taints.Add(current, same[3]) }), "Add")
			}
		})
	}
}

func TestT1MatchingCostsNoAllocation(t *testing.T) {
	current := quietNodes()["fiveTaints"].Spec.Taints
	tolerations := []corev1.Toleration{
		toleration(notReady, exists, "", noExecute), toleration("k", lt, "5", ""),
		toleration(unreachable, exists, "", noExecute),
	}
	matcher := taints.Matcher{EnableComparisonOperators: true}
	require.Zero(t, testing.AllocsPerRun(100,
		func() { matcher.Untolerated(current, tolerations, noExecute) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { matcher.First(tolerations, &current[3]) }))
}

// BenchmarkReconcile is the desired NoSchedule set of a node and what is to be
// done about it.
func BenchmarkReconcile(b *testing.B) {
	nodes := quietNodes()
	pressed := nodes["fiveTaints"].DeepCopy()
	pressed.Status.Conditions[1].Status = corev1.ConditionTrue
	nodes["oneTaintAdded"] = pressed
	for _, name := range []string{"healthy", "fiveTaints", "oneTaintAdded"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			changed := false
			for b.Loop() {
				_, changed = noScheduleOf(nodes[name])
			}
			require.Equal(b, name == "oneTaintAdded", changed)
		})
	}
}

func BenchmarkDiff(b *testing.B) {
	current := quietNodes()["fiveTaints"].Spec.Taints
	more := append(copied(current), taint("one-more:NoSchedule"))
	for name, desired := range map[string][]corev1.Taint{"same": copied(current),
		"oneTaintAdded": more} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				taints.Diff(desired, current)
			}
		})
	}
}

func BenchmarkUntolerated(b *testing.B) {
	current := quietNodes()["fiveTaints"].Spec.Taints
	tolerations := []corev1.Toleration{toleration(notReady, exists, "", noExecute),
		toleration(unreachable, exists, "", noExecute)}
	b.ReportAllocs()
	for b.Loop() {
		taints.Matcher{}.Untolerated(current, tolerations, noExecute)
	}
}

func BenchmarkPatch(b *testing.B) {
	node := quietNodes()["fiveTaints"]
	next := append(copied(node.Spec.Taints), taint("one-more:NoSchedule"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := taints.Patch(node, next); err != nil {
			b.Fatal(err)
		}
	}
}
