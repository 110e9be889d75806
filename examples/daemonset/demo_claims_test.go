package main

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
)

// stored is what was stored, written by hand, and how it came.
type stored struct {
	state
	invariant.History
}

// put stores an object, and removes the one of its name that was there.
func (s *stored) put(object metav1.Object) { s.store(object, object.GetName(), object) }

func (s *stored) store(like metav1.Object, name string, after metav1.Object) {
	change := &invariant.Change{After: after}
	switch like.(type) {
	case *corev1.Node:
		replace(&s.nodes, change, name)
	case *corev1.Pod:
		replace(&s.pods, change, name)
	case *appsv1.DaemonSet:
		replace(&s.sets, change, name)
	case *appsv1.ControllerRevision:
		replace(&s.revisions, change, name)
	}
	s.Changes = append(s.Changes, change)
}

// replace makes a change of the object of a name.
func replace[T metav1.Object](all *[]T, change *invariant.Change, name string) {
	*all = slices.DeleteFunc(slices.Clone(*all), func(object T) bool {
		if object.GetName() != name {
			return false
		}
		change.Before = object
		return true
	})
	if after, ok := change.After.(T); ok {
		*all = append(*all, after)
	}
}

// then returns what is stored now.
func (s *stored) then() *state {
	now := s.state
	return &now
}

func (s *stored) node(name string, effect corev1.TaintEffect) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if effect != "" {
		node.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: effect}}
	}
	s.put(node)
}

func (s *stored) set(name, image string, available int) {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	set.Status.NumberAvailable = int32(available)
	set.Spec.Template.Spec.Containers = []corev1.Container{{Image: name + ":" + image}}
	s.put(set)
}

func controlledBy(set string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Kind: "DaemonSet", Name: set, Controller: ptr.To(true)}}
}

// podOf returns a pod that is named after its set, node and image.
func podOf(set, node, image string, ready corev1.ConditionStatus) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: set + node + image, OwnerReferences: controlledBy(set)}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Image: set + ":" + image}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	return pod
}

func (s *stored) create(set, node, image string, ready corev1.ConditionStatus) {
	s.put(podOf(set, node, image, ready))
}

func (s *stored) terminate(set, node, image string) {
	pod := podOf(set, node, image, corev1.ConditionTrue)
	pod.DeletionTimestamp = &metav1.Time{}
	s.put(pod)
}

func (s *stored) remove(set, node, image string) {
	pod := podOf(set, node, image, corev1.ConditionTrue)
	s.store(pod, pod.Name, nil)
}

var fiveNodes = []string{"a", "b", "c", "d", "e"}

// The figures count each deletion once, and by what was stored before it.
func TestFiguresCountByWhatWasStoredBefore(t *testing.T) {
	const ready, starting = corev1.ConditionTrue, corev1.ConditionFalse
	for name, c := range map[string]struct {
		happens func(s *stored)
		want    figures
	}{
		"some nodes at a time": {func(s *stored) {
			s.terminate("agent", "a", "v1")
			s.terminate("agent", "b", "v1")
			s.remove("agent", "c", "v1")
			s.remove("agent", "a", "v1") // its end is not another deletion
		}, figures{deleted: 3, rolled: 3}},
		"one after the other": {func(s *stored) {
			for _, node := range fiveNodes {
				s.terminate("agent", node, "v1")
				s.remove("agent", node, "v1")
				s.create("agent", node, "v2", starting)
				s.create("agent", node, "v2", ready) // no other pod
			}
		}, figures{created: 5, deleted: 5, rolled: 5}},
		"an old pod that is not available": {func(s *stored) {
			s.create("agent", "d", "v1", starting)
			s.terminate("agent", "d", "v1")
			s.terminate("agent", "a", "v1")
		}, figures{deleted: 2, rolled: 1}},
		"a pod that is up to date": {func(s *stored) {
			s.create("agent", "a", "v2", ready)
			s.terminate("agent", "a", "v2")
		}, figures{created: 1, deleted: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stored{}
			for _, node := range fiveNodes {
				s.create("agent", node, firstImage, ready)
			}
			s.set("agent", secondImage, 5)
			before := figuresOf(&s.History)
			require.Equal(t, figures{created: 5}, before)
			c.happens(s)
			c.want.created += before.created
			require.Equal(t, c.want, figuresOf(&s.History))
		})
	}
}

// A node is down that has no pod that serves, and surges with two that stay.
func TestStateCountsNodesThatAreDownAndThatSurge(t *testing.T) {
	s := &stored{}
	for _, node := range fiveNodes {
		s.node(node, "")
		s.create("agent", node, firstImage, corev1.ConditionTrue)
		s.create("proxy", node, firstImage, corev1.ConditionTrue)
	}
	require.Equal(t, 5, s.tally("agent").available)
	require.Zero(t, s.tally("proxy").surging)
	s.remove("agent", "a", firstImage)
	s.terminate("agent", "b", firstImage)
	s.create("agent", "c", firstImage, corev1.ConditionFalse)
	s.create("agent", "d", secondImage, corev1.ConditionFalse)
	require.Equal(t, 2, s.tally("agent").available)
	require.Equal(t, 5, s.tally("proxy").available)
	s.create("proxy", "a", secondImage, corev1.ConditionTrue)
	s.create("proxy", "b", secondImage, corev1.ConditionFalse)
	s.create("proxy", "c", secondImage, corev1.ConditionTrue)
	s.terminate("proxy", "c", firstImage)
	require.Equal(t, 2, s.tally("proxy").surging)
	require.Equal(t, 1, s.tally("agent").surging)
}

// A rollout that is stuck has taken just as many nodes as it may.
func TestARolloutThatStopsHasTakenWhatItMay(t *testing.T) {
	lacks := func(available int, happens func(s *stored), nodes ...string) []string {
		s := &stored{}
		for _, node := range fiveNodes {
			s.node(node, "")
			s.create("agent", node, secondImage, corev1.ConditionTrue)
			s.create("proxy", node, secondImage, corev1.ConditionTrue)
		}
		for _, node := range nodes {
			s.remove("agent", node, secondImage)
			s.create("agent", node, badImage, corev1.ConditionFalse)
			s.create("proxy", node, badImage, corev1.ConditionFalse)
		}
		s.set("agent", badImage, available)
		s.set("proxy", badImage, 5)
		happens(s)
		return (&demo{Play: &demonstration.Play[*state]{Seen: s.then()}}).lacksStop()
	}
	nothing := func(*stored) {}
	require.Empty(t, lacks(2, nothing, "a", "b", "c"))
	require.NotEmpty(t, lacks(3, nothing, "a", "b"))
	require.NotEmpty(t, lacks(1, nothing, "a", "b", "c", "d"))
	require.NotEmpty(t, lacks(3, nothing, "a", "b", "c"), "the status is wrong")
	for name, happens := range map[string]func(*stored){
		"no pod":          func(s *stored) { s.remove("proxy", "d", secondImage) },
		"terminating":     func(s *stored) { s.terminate("proxy", "d", secondImage) },
		"not available":   func(s *stored) { s.create("proxy", "d", secondImage, corev1.ConditionFalse) },
		"another image":   func(s *stored) { s.create("agent", "d", firstImage, corev1.ConditionTrue) },
		"not broken":      func(s *stored) { s.create("agent", "a", badImage, corev1.ConditionTrue) },
		"no set":          func(s *stored) { s.store(&appsv1.DaemonSet{}, "agent", nil) },
		"one node less":   func(s *stored) { s.remove("agent", "a", badImage) },
		"a second surge":  func(s *stored) { s.create("proxy", "d", badImage, corev1.ConditionFalse) },
		"one has another": func(s *stored) { s.create("agent", "e", badImage, corev1.ConditionFalse) },
	} {
		require.NotEmpty(t, lacks(2, happens, "a", "b", "c"), name)
	}
}

// The bad image costs the pods that it may, and the rollback brings back the
// revision that was there.
func TestSummaryComparesTheRollbackWithBefore(t *testing.T) {
	exceptions := func(happens func(s *stored), number int64) (spoiled, forgotten []string) {
		s := &stored{}
		for _, set := range demoSets {
			for _, node := range fiveNodes {
				s.create(set.name, node, secondImage, corev1.ConditionTrue)
			}
		}
		revision := func(name string, number int64) {
			for _, set := range demoSets {
				s.put(&appsv1.ControllerRevision{Revision: number, ObjectMeta: metav1.ObjectMeta{
					Name: set.name + name, OwnerReferences: controlledBy(set.name),
				}})
			}
		}
		revision("one", 1)
		revision("two", 2)
		ends := make([]*state, badRollout, demoSteps)
		ends[badRollout-1] = s.then()
		revision("three", 3)
		ends = append(ends, s.then())
		revision("two", number)
		happens(s)
		var all demonstration.Claims
		claimRollback(&all, append(ends, s.then()))
		return all[0].Exceptions, all[1].Exceptions
	}
	lose := func(set string, nodes ...string) func(s *stored) {
		return func(s *stored) {
			for _, node := range nodes {
				s.remove(set, node, secondImage)
			}
		}
	}
	spoiled, forgotten := exceptions(lose("agent", "a", "b", "c"), 4)
	require.Empty(t, spoiled)
	require.Empty(t, forgotten)
	spoiled, _ = exceptions(lose("agent", "a", "b", "c", "d"), 4)
	require.Equal(t, []string{"agent on d;"}, spoiled)
	spoiled, _ = exceptions(lose("proxy", "a"), 4)
	require.Equal(t, []string{"proxy on a;"}, spoiled)
	_, forgotten = exceptions(lose("agent"), 2)
	require.Len(t, forgotten, 2)
}

func TestSummaryFailsWithAnException(t *testing.T) {
	some := figures{created: 1, deleted: 1, rolled: 1}
	require.NoError(t, demonstration.PrintClaims(&bytes.Buffer{}, claims(some, nil, nil)))
	require.ErrorIs(t, demonstration.PrintClaims(&bytes.Buffer{}, claims(some, []string{"step 1: no pod;"}, nil)),
		demonstration.ErrNotHeld)
	for _, none := range []figures{{deleted: 1, rolled: 1}, {created: 1, rolled: 1}, {created: 1, deleted: 1}} {
		require.ErrorIs(t, demonstration.PrintClaims(&bytes.Buffer{}, claims(none, nil, nil)), demonstration.ErrNotHeld)
	}
}

// What the invariants find is told by the claim that is about it.
func TestSummaryTellsWhatTheInvariantsFind(t *testing.T) {
	for _, c := range []struct {
		found       invariant.Invariant
		text, claim string
	}{
		{invariant.RightPlace, "pod agent-x is created", "each of the 1 pods that were created was for a node that fits"},
		{invariant.OnePerNode, "pod proxy-x is created", "no pod was created for a node that had enough"},
		{invariant.Reasoned, "pod proxy-x is deleted", "each of the 1 pods that were deleted had a reason to go"},
		{invariant.BetterStays, "pod proxy-x is deleted", "each of the 1 pods that were deleted had a reason to go"},
		{invariant.WithinUnavailable, "pod agent-x is deleted", "agent: no rollout took more than 3 nodes at a time"},
		{invariant.WithinUnavailable, "pod proxy-x is deleted", "proxy: no rollout left a node without an available pod"},
		{invariant.WithinSurge, "pod proxy-x is created", "proxy: no more than 3 nodes had a second pod"},
		{invariant.Quiet, "a request is sent", "everything else was as the controller promises"},
		{invariant.OthersUntouched, "node a was written", "everything else was as the controller promises"},
	} {
		var out bytes.Buffer
		found := []invariant.Violation{{Invariant: c.found, Text: c.text}}
		err := demonstration.PrintClaims(&out, claims(figures{created: 1, deleted: 1, rolled: 1}, nil, found))
		require.ErrorIs(t, err, demonstration.ErrNotHeld)
		require.Contains(t, out.String(), fmt.Sprintf("\nFAIL  %s\n      except for 1:", c.claim))
		require.Contains(t, out.String(), c.text+";")
		require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("FAIL")))
	}
}
