package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/zone"
)

// C8: what forks of node lifecycle change is a function, about a node whose
// name ends in 7.

func isSeventh(node *corev1.Node) bool { return node.Name[len(node.Name)-1] == '7' }

// forked is an active world of the nodes a-000 to a-009 and b-000 to b-009.
func forked(t *testing.T, config Config) *world {
	w := newWorld(t, config)
	for _, zone := range []string{"a", "b"} {
		for _, node := range w.addNodes(10, zone) {
			w.addPod("web-"+node, node, tolerate(30))
		}
	}
	w.start()
	w.advance(grace + interval)
	w.done = nil
	return w
}

func TestC8PodsOfSomeNodesAreNotMarked(t *testing.T) {
	w := forked(t, Config{MarksPods: func(node *corev1.Node) bool { return !isSeventh(node) }})
	w.silent["a-006"], w.silent["a-007"] = true, true
	w.advance(grace + interval)
	require.Len(t, deeds[Declaration](w), 2)
	w.addPod("late", "a-007")
	w.act()
	w.c.Reevaluate()
	w.advance(interval)
	marks := deeds(w, marksPod)
	require.Len(t, marks, 1)
	require.Equal(t, "web-a-006", marks[0].Pod.Name)
}

func TestC8SomeNodesMayBeNotReadyForLonger(t *testing.T) {
	patience := 10 * time.Minute
	w := forked(t, Config{PodEvictionTimeoutOf: func(node *corev1.Node) time.Duration {
		if isSeventh(node) {
			return patience
		}
		return 0
	}})
	fell := w.now
	w.ill("a-006", "a-007")
	w.advance(9 * time.Minute)
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-006"))
	require.Equal(t, []string{unreachableNoSchedule}, w.taintsOf("a-007"), "it is closed at once")
	require.Equal(t, []NodeWait{{Node: "a-007", Zone: w.c.objects.nodes["a-007"].zone, Reason: WaitTimeout, Since: fell}},
		w.c.NodeWaits(w.now, 0, 100))

	t.Log("A restart does not begin it again.")
	w.start()
	w.advance(2 * time.Minute) // its Ready became Unknown after it had become False
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-007"))

	t.Log("Another node's is shortened while it waits.")
	w.ill("b-007")
	w.advance(2 * time.Minute)
	require.Equal(t, []string{unreachableNoSchedule}, w.taintsOf("b-007"))
	patience = time.Minute
	w.setNode(w.nodes["b-007"].DeepCopy())
	w.advance(time.Second)
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("b-007"))

	t.Log("A century is for ever.")
	patience = 1<<63 - 1
	w.ill("b-007", "b-006")
	w.report("b-007", corev1.ConditionTrue)
	w.advance(time.Minute)
	w.report("b-007", corev1.ConditionFalse)
	w.advance(24 * time.Hour)
	require.NotContains(t, w.taintsOf("b-007"), unreachableNoExecute)
}

// A zone's turn taints one node and empties another.
func TestC8SomeNodesAreEmptied(t *testing.T) {
	w := forked(t, Config{
		PodEvictionTimeout: time.Minute,
		EvictionModeOf: func(node *corev1.Node) EvictionMode {
			if isSeventh(node) {
				return EvictionModeNode
			}
			return ""
		},
	})
	fell := w.now
	w.ill("a-006", "a-007")
	w.advance(2 * time.Minute)
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-006"))
	require.Equal(t, []string{unreachableNoSchedule}, w.taintsOf("a-007"))
	require.Equal(t, map[string]time.Duration{"web-a-006": interval + 30*time.Second, "web-a-007": time.Minute},
		w.evicted(fell))
}

// A caller's condition closes a node, and only its own taint goes again.
func TestC8OtherConditionsHaveTaints(t *testing.T) {
	const key = "example.com/kernel-deadlock"
	w := forked(t, Config{NoSchedule: NoScheduleTaints{
		Append: func(desired []corev1.Taint, node *corev1.Node) []corev1.Taint {
			for _, condition := range node.Status.Conditions {
				if condition.Type == "KernelDeadlock" && condition.Status == corev1.ConditionTrue {
					desired = append(desired, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
				}
			}
			return taints.AppendNoSchedule(desired, node)
		},
		Owns: func(taint *corev1.Taint) bool { return taint.Key == key || taints.OwnsNoSchedule(taint) },
	}})
	deadlocked := func(status corev1.ConditionStatus) {
		node := w.nodes["a-000"].DeepCopy()
		node.Status.Conditions = append(node.Status.Conditions[:1:1],
			corev1.NodeCondition{Type: "KernelDeadlock", Status: status})
		w.setNode(node)
		w.act()
	}
	deadlocked(corev1.ConditionTrue)
	require.Equal(t, []string{key + ":NoSchedule"}, w.taintsOf("a-000"))
	deadlocked(corev1.ConditionFalse)
	require.Empty(t, w.taintsOf("a-000"))
	require.Len(t, deeds(w, patchesTaints), 2)
	require.Empty(t, deeds[eviction.Task](w))
}

func TestC8ATaintThatIsAddedIsOwned(t *testing.T) {
	_, err := New(Config{NoSchedule: NoScheduleTaints{Append: taints.AppendNoSchedule}}, time.Now())
	require.ErrorIs(t, err, ErrInvalidConfig)
	require.ErrorContains(t, err, "NoSchedule has one of Append and Owns")
}

// An operator annotates edge nodes while the link to them is bad. One that is
// suspected is none any more, and holds up no other.
func TestC8AGracePeriodThatGrowsEndsASuspicion(t *testing.T) {
	own := time.Duration(0)
	w := forked(t, Config{Health: nodehealth.Config{GracePeriodOf: func(node *corev1.Node) time.Duration {
		if node.Name == "a-007" {
			return own
		}
		return 0
	}}})
	w.fail = func(task any) error {
		if is[LeaseRead](task) {
			return errServer
		}
		return nil
	}
	w.silent["a-007"] = true
	w.advance(grace + interval)
	require.Equal(t, 1, w.c.Unconfirmed())
	own = time.Hour
	w.setNode(w.nodes["a-007"].DeepCopy())
	w.fail = nil
	require.Zero(t, w.c.Unconfirmed())
	for _, name := range []string{"b-001", "b-002", "b-003", "b-004", "b-005"} {
		w.silent[name] = true
	}
	w.advance(10 * time.Minute)
	require.Len(t, deeds[Declaration](w), 5)
	require.Empty(t, w.taintsOf("a-007"))
	w.advance(time.Hour)
	require.Len(t, deeds[Declaration](w), 6, "its own is over")
}

// Z3: after an outage of all zones a node with a longer grace period of its own
// has that time to be heard.
func TestC8AfterAnOutageALongGracePeriodIsKept(t *testing.T) {
	w := forked(t, Config{Health: nodehealth.Config{GracePeriodOf: func(node *corev1.Node) time.Duration {
		if isSeventh(node) {
			return 15 * time.Minute
		}
		return 0
	}}})
	for _, name := range w.names() {
		w.silent[name] = true
	}
	w.advance(20 * time.Minute)
	require.Equal(t, zone.PhaseSuspended, w.c.Phase())
	for _, name := range w.names() {
		if !isSeventh(w.nodes[name]) {
			w.silent[name] = false
		}
	}
	w.advance(15 * time.Minute)
	require.Equal(t, []string{unreachableNoSchedule}, w.taintsOf("b-007"))
	w.advance(2 * time.Minute)
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("b-007"))
}

func TestC8PodsAreMarkedOnceTheirNodeSaysSo(t *testing.T) {
	marks := false
	w := forked(t, Config{MarksPods: func(node *corev1.Node) bool { return marks || !isSeventh(node) }})
	w.silent["a-007"] = true
	w.advance(grace + interval)
	require.Empty(t, deeds(w, marksPod))
	marks = true
	w.setNode(w.nodes["a-007"].DeepCopy())
	w.act()
	require.Len(t, deeds(w, marksPod), 1)
}

// A node is tainted at its zone's rate once it is not to be emptied any more,
// and what it was emptied for is taken back.
func TestC8AnotherModeActsAtOnce(t *testing.T) {
	for name, waits := range map[string]time.Duration{
		"while it waits": 2 * time.Hour, "once it was emptied": time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			mode := EvictionModeNode
			w := forked(t, Config{
				PodEvictionTimeout: waits,
				EvictionModeOf:     func(*corev1.Node) EvictionMode { return mode },
			})
			w.ill("a-007")
			w.advance(10 * time.Minute)
			require.Equal(t, []string{unreachableNoSchedule}, w.taintsOf("a-007"))
			mode = "taints" // is none, so that of all nodes counts
			w.setNode(w.nodes["a-007"].DeepCopy())
			w.advance(time.Minute)
			require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-007"))
			w.addPod("late", "a-007", corev1.Toleration{Operator: corev1.TolerationOpExists})
			w.advance(time.Minute)
			require.NotContains(t, w.evicted(w.now), "late")
		})
	}
}
