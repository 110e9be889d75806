package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubelife/lifecycle/examples/process/demonstration"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// stored is a history that is written by hand.
type stored struct{ history }

func (h *stored) put(object runtime.Object) { h.write(object, false) }

func (h *stored) write(object runtime.Object, deleted bool) {
	h.history = append(h.history, memory.Change{Version: uint64(len(h.history) + 1), Object: object, Deleted: deleted})
}

func (h *stored) node(name string, effect corev1.TaintEffect) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if effect != "" {
		node.Spec.Taints = []corev1.Taint{{Key: demoTaint, Effect: effect}}
	}
	h.put(node)
}

func (h *stored) set(name, image string, status appsv1.DaemonSetStatus) {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 2}, Status: status}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Image: name + ":" + image}}
	h.put(set)
}

func controlledBy(set string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Kind: "DaemonSet", Name: set, Controller: new(true)}}
}

// pod is named after its set, node and image.
func podOf(set, node, image string, ready corev1.ConditionStatus) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: set + node + image, OwnerReferences: controlledBy(set)}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Image: set + ":" + image}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	return pod
}

func (h *stored) create(set, node, image string, ready corev1.ConditionStatus) {
	h.put(podOf(set, node, image, ready))
}

func (h *stored) terminate(set, node, image string) {
	pod := podOf(set, node, image, corev1.ConditionTrue)
	pod.DeletionTimestamp = &metav1.Time{}
	h.put(pod)
}

func (h *stored) remove(set, node, image string) {
	h.write(podOf(set, node, image, corev1.ConditionTrue), true)
}

var fiveNodes = []string{"a", "b", "c", "d", "e"}

// rollingOut is a history of five nodes that have pods of the first image, of
// sets whose template has the second.
func rollingOut() *stored {
	h := &stored{}
	for _, node := range fiveNodes {
		h.node(node, "")
		for _, set := range demoSets {
			h.create(set.name, node, firstImage, corev1.ConditionTrue)
		}
	}
	for _, set := range demoSets {
		h.set(set.name, secondImage, appsv1.DaemonSetStatus{})
	}
	return h
}

func (v *verdict) faults() map[string][]string {
	faults := map[string][]string{}
	for name, exceptions := range map[string][]string{
		"misplaced": v.misplaced, "crowded": v.crowded, "unreasoned": v.unreasoned, "overdrawn": v.overdrawn,
		"surplus": v.surplus, "uncovered": v.uncovered,
	} {
		if len(exceptions) > 0 {
			faults[name] = exceptions
		}
	}
	return faults
}

// Each creation and deletion is judged by what was stored before it.
func TestSummaryJudgesEachPodByWhatWasStoredBefore(t *testing.T) {
	const ready, starting = corev1.ConditionTrue, corev1.ConditionFalse
	for name, c := range map[string]struct {
		happens func(h *stored)
		faults  map[string][]string
	}{
		"as many nodes as are allowed": {func(h *stored) {
			h.terminate("agent", "a", "v1")
			h.terminate("agent", "b", "v1")
			h.terminate("agent", "c", "v1")
		}, nil},
		"a node too many": {func(h *stored) {
			h.terminate("agent", "a", "v1")
			h.terminate("agent", "b", "v1")
			h.remove("agent", "c", "v1")
			h.terminate("agent", "d", "v1")
		}, map[string][]string{"overdrawn": {"agentdv1"}}},
		"a node that starts still counts": {func(h *stored) {
			for _, node := range []string{"a", "b", "c"} {
				h.remove("agent", node, "v1")
				h.create("agent", node, "v2", starting)
			}
			h.terminate("agent", "d", "v1")
		}, map[string][]string{"overdrawn": {"agentdv1"}}},
		"one after the other": {func(h *stored) {
			for _, node := range fiveNodes {
				h.terminate("agent", node, "v1")
				h.remove("agent", node, "v1")
				h.create("agent", node, "v2", ready)
			}
		}, nil},
		"an old pod that is not available costs nothing": {func(h *stored) {
			h.create("agent", "d", "v1", starting)
			h.terminate("agent", "a", "v1")
			h.terminate("agent", "b", "v1")
			h.terminate("agent", "d", "v1")
		}, nil},
		"a pod that is up to date": {func(h *stored) {
			h.set("agent", firstImage, appsv1.DaemonSetStatus{})
			h.terminate("agent", "a", "v1")
		}, map[string][]string{"unreasoned": {"agentav1"}}},
		"nodes that are drained": {func(h *stored) {
			h.set("agent", firstImage, appsv1.DaemonSetStatus{})
			for _, node := range fiveNodes {
				h.node(node, corev1.TaintEffectNoExecute)
				h.terminate("agent", node, "v1")
			}
		}, nil},
		"a node that is closed keeps its pod": {func(h *stored) {
			h.set("agent", firstImage, appsv1.DaemonSetStatus{})
			h.node("a", corev1.TaintEffectNoSchedule)
			h.terminate("agent", "a", "v1")
		}, map[string][]string{"unreasoned": {"agentav1"}}},
		"a pod for nodes that do not fit": {func(h *stored) {
			h.node("x", corev1.TaintEffectNoSchedule)
			h.node("y", corev1.TaintEffectNoExecute)
			for _, node := range []string{"x", "y", "none"} {
				h.create("agent", node, "v2", starting)
			}
			h.create("stranger", "a", "v2", starting)
		}, map[string][]string{"misplaced": {"agentxv2", "agentyv2", "agentnonev2", "strangerav2"}}},
		"a second pod next to one that is terminating": {func(h *stored) {
			h.terminate("agent", "a", "v1")
			h.create("agent", "a", "v2", starting)
		}, map[string][]string{"crowded": {"agentav2"}}},
		"a second pod next to one whose containers have ended": {func(h *stored) {
			for node, phase := range map[string]corev1.PodPhase{"a": corev1.PodSucceeded, "b": corev1.PodFailed} {
				pod := podOf("agent", node, "v1", starting)
				pod.DeletionTimestamp, pod.Status.Phase = &metav1.Time{}, phase
				h.put(pod)
				h.create("agent", node, "v2", starting)
			}
		}, nil},
		"a second pod next to one that has failed": {func(h *stored) {
			pod := podOf("agent", "a", "v1", starting)
			pod.Status.Phase = corev1.PodFailed
			h.put(pod)
			h.create("agent", "a", "v2", starting)
		}, map[string][]string{"crowded": {"agentav2"}}},
		"a second pod of the same image": {func(h *stored) {
			h.create("proxy", "a", "v2", starting)
			pod := podOf("proxy", "a", "v2", starting)
			pod.Name = "again"
			h.put(pod)
		}, map[string][]string{"crowded": {"again"}}},
		"a surge too many": {func(h *stored) {
			for _, node := range []string{"a", "b", "c", "d"} {
				h.create("proxy", node, "v2", starting)
			}
		}, map[string][]string{"surplus": {"proxydv2"}}},
		"surges one after the other": {func(h *stored) {
			for _, node := range fiveNodes {
				h.create("proxy", node, "v2", ready)
				h.terminate("proxy", node, "v1")
			}
		}, nil},
		"the old pod goes before the new one is available": {func(h *stored) {
			h.create("proxy", "a", "v2", starting)
			h.terminate("proxy", "a", "v1")
		}, map[string][]string{"uncovered": {"proxyav1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			h := rollingOut()
			c.happens(h)
			faults := h.judge(nil, nil).faults()
			if c.faults == nil {
				require.Empty(t, faults)
				return
			}
			require.Equal(t, c.faults, faults)
		})
	}
}

// held is a history at whose end all is as a step wants it.
func held() *stored {
	h := &stored{}
	for _, node := range fiveNodes {
		h.node(node, "")
	}
	h.node("x", corev1.TaintEffectNoExecute)
	h.node("y", corev1.TaintEffectNoSchedule)
	for _, set := range demoSets {
		for _, node := range append([]string{"y"}, fiveNodes...) {
			h.create(set.name, node, secondImage, corev1.ConditionTrue)
		}
		h.set(set.name, secondImage, appsv1.DaemonSetStatus{
			ObservedGeneration: 2, DesiredNumberScheduled: 5, CurrentNumberScheduled: 5, NumberReady: 5, NumberAvailable: 5,
			UpdatedNumberScheduled: 5, NumberMisscheduled: 1,
		})
	}
	return h
}

// A step has ended when the pods and the status of each set are right.
func TestSummaryComparesPodsAndStatusWithTheStep(t *testing.T) {
	wanted := want{image: secondImage}
	differences := func(w want, happens func(h *stored)) []string {
		h, s := held(), newState()
		happens(h)
		for _, change := range h.history {
			s.see(change.Object, change.Deleted)
		}
		return s.differences(w)
	}
	require.Empty(t, differences(wanted, func(*stored) {}))
	require.NotEmpty(t, newState().differences(wanted), "no node")
	for name, happens := range map[string]func(h *stored){
		"no pod":             func(h *stored) { h.remove("agent", "a", "v2") },
		"not available":      func(h *stored) { h.create("agent", "a", "v2", corev1.ConditionFalse) },
		"terminating":        func(h *stored) { h.terminate("proxy", "a", "v2") },
		"two pods":           func(h *stored) { h.create("proxy", "a", "v1", corev1.ConditionTrue) },
		"drained, and a pod": func(h *stored) { h.create("agent", "x", "v2", corev1.ConditionTrue) },
		"closed, and no pod": func(h *stored) { h.remove("agent", "y", "v2") },
		"a pod on no node":   func(h *stored) { h.create("agent", "none", "v2", corev1.ConditionTrue) },
		"another image": func(h *stored) {
			h.remove("agent", "a", "v2")
			h.create("agent", "a", "v1", corev1.ConditionTrue)
		},
		"no set": func(h *stored) {
			h.write(&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent"}}, true)
		},
		"status": func(h *stored) {
			h.set("agent", secondImage, appsv1.DaemonSetStatus{
				ObservedGeneration: 1, DesiredNumberScheduled: 5, CurrentNumberScheduled: 5, NumberReady: 5, NumberAvailable: 5,
				UpdatedNumberScheduled: 5, NumberMisscheduled: 1,
			})
		},
	} {
		t.Run(name, func(t *testing.T) { require.NotEmpty(t, differences(wanted, happens)) })
	}

	// A rollout that is stuck has taken just as many nodes as it may.
	stuckOn := func(nodes ...string) func(h *stored) {
		return func(h *stored) {
			for _, node := range nodes {
				h.remove("agent", node, "v2")
				h.create("agent", node, "v3", corev1.ConditionFalse)
				h.create("proxy", node, "v3", corev1.ConditionFalse)
			}
			h.set("agent", badImage, appsv1.DaemonSetStatus{
				ObservedGeneration: 2, DesiredNumberScheduled: 5, CurrentNumberScheduled: 5,
				NumberReady: int32(5 - len(nodes)), NumberAvailable: int32(5 - len(nodes)), NumberUnavailable: int32(len(nodes)),
				NumberMisscheduled: 1,
			})
		}
	}
	stuck := want{image: secondImage, stuck: badImage}
	require.Empty(t, differences(stuck, stuckOn("a", "b", "c")))
	require.NotEmpty(t, differences(stuck, stuckOn("a", "b")))
	require.NotEmpty(t, differences(stuck, stuckOn("a", "b", "c", "d")))
	require.NotEmpty(t, differences(wanted, stuckOn("a", "b", "c")))
}

// The bad image costs the pods that it may, and the rollback brings back the
// revision that was there.
func TestSummaryComparesTheRollbackWithBefore(t *testing.T) {
	steps := []step{{}, {want: want{stuck: badImage}}, {}}
	verdictOf := func(happens func(h *stored), number int64) *verdict {
		h := held()
		revision := func(name string, number int64) {
			for _, set := range demoSets {
				h.put(&appsv1.ControllerRevision{Revision: number, ObjectMeta: metav1.ObjectMeta{
					Name: set.name + name, OwnerReferences: controlledBy(set.name),
				}})
			}
		}
		revision("one", 1)
		revision("two", 2)
		before := uint64(len(h.history))
		revision("three", 3)
		during := uint64(len(h.history))
		revision("two", number)
		happens(h)
		return h.judge(steps, []uint64{before, during, uint64(len(h.history))})
	}
	lose := func(set string, nodes ...string) func(h *stored) {
		return func(h *stored) {
			for _, node := range nodes {
				h.remove(set, node, "v2")
			}
		}
	}
	v := verdictOf(lose("agent", "a", "b", "c"), 4)
	require.Empty(t, v.spoiled)
	require.Empty(t, v.forgotten)
	require.Equal(t, []string{"agent on d;"}, verdictOf(lose("agent", "a", "b", "c", "d"), 4).spoiled)
	require.Equal(t, []string{"proxy on a;"}, verdictOf(lose("proxy", "a"), 4).spoiled)
	require.Len(t, verdictOf(lose("agent"), 2).forgotten, 2)
	require.Equal(t, []string{"not played"}, held().judge(steps, []uint64{1}).spoiled)
}

func TestVerdictFailsWithAnException(t *testing.T) {
	holding := func() *verdict { return &verdict{created: 1, deleted: 1, rolled: 1} }
	require.NoError(t, holding().print(&bytes.Buffer{}, nil))
	some := []string{"some"}
	for name, breaks := range map[string]func(*verdict){
		"unreached":  func(v *verdict) { v.unreached = some },
		"misplaced":  func(v *verdict) { v.misplaced = some },
		"crowded":    func(v *verdict) { v.crowded = some },
		"unreasoned": func(v *verdict) { v.unreasoned = some },
		"overdrawn":  func(v *verdict) { v.overdrawn = some },
		"surplus":    func(v *verdict) { v.surplus = some },
		"uncovered":  func(v *verdict) { v.uncovered = some },
		"spoiled":    func(v *verdict) { v.spoiled = some },
		"forgotten":  func(v *verdict) { v.forgotten = some },
		"no rollout": func(v *verdict) { v.rolled = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			v := holding()
			breaks(v)
			require.ErrorIs(t, v.print(&bytes.Buffer{}, nil), demonstration.ErrNotHeld)
		})
	}
}
