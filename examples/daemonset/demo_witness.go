package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// state is what the API server has, or had at some version. It is made of
// objects alone, and shares no code with the controller.
type state struct {
	nodes     map[string]nodeFacts
	pods      map[string]podFacts
	sets      map[string]setFacts
	revisions map[string]revisionFacts
}

type nodeFacts struct {
	drained bool // a taint NoExecute
	closed  bool // a taint NoSchedule
}

// fits reports whether a node must have a pod of each set.
func (n nodeFacts) fits() bool { return !n.drained && !n.closed }

type podFacts struct {
	set, node, image       string
	available, terminating bool
	// ended says that the containers of a terminating pod have ended. Its node has
	// room for the next one.
	ended bool
}

type setFacts struct {
	image      string
	generation int64
	status     appsv1.DaemonSetStatus
}

type revisionFacts struct {
	set    string
	number int64
}

func newState() *state {
	return &state{
		nodes: map[string]nodeFacts{}, pods: map[string]podFacts{},
		sets: map[string]setFacts{}, revisions: map[string]revisionFacts{},
	}
}

// see takes in a state of an object, the last one if it was deleted.
func (s *state) see(object runtime.Object, deleted bool) {
	switch o := object.(type) {
	case *corev1.Node:
		keep(s.nodes, o.Name, factsOfNode(o), deleted)
	case *corev1.Pod:
		keep(s.pods, o.Name, factsOfPod(o), deleted)
	case *appsv1.DaemonSet:
		keep(s.sets, o.Name, setFacts{tagOf(&o.Spec.Template.Spec), o.Generation, o.Status}, deleted)
	case *appsv1.ControllerRevision:
		keep(s.revisions, o.Name, revisionFacts{ownerOf(o), o.Revision}, deleted)
	}
}

func keep[T any](all map[string]T, name string, facts T, deleted bool) {
	if deleted {
		delete(all, name)
		return
	}
	all[name] = facts
}

func factsOfNode(node *corev1.Node) nodeFacts {
	has := func(effect corev1.TaintEffect) bool {
		return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == effect })
	}
	return nodeFacts{has(corev1.TaintEffectNoExecute), has(corev1.TaintEffectNoSchedule)}
}

func factsOfPod(pod *corev1.Pod) podFacts {
	terminating, phase := pod.DeletionTimestamp != nil, pod.Status.Phase
	return podFacts{
		set:   ownerOf(pod),
		node:  nodeOf(pod),
		image: tagOf(&pod.Spec),
		available: slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}),
		terminating: terminating,
		ended:       terminating && (phase == corev1.PodSucceeded || phase == corev1.PodFailed),
	}
}

// nodeOf returns the node that a pod is on, or the one that it is for.
func nodeOf(pod *corev1.Pod) string {
	affinity := pod.Spec.Affinity
	if pod.Spec.NodeName != "" || affinity == nil || affinity.NodeAffinity == nil ||
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return pod.Spec.NodeName
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}

// ownerOf returns the name of the set that controls an object.
func ownerOf(object metav1.Object) string {
	if owner := metav1.GetControllerOf(object); owner != nil && owner.Kind == "DaemonSet" {
		return owner.Name
	}
	return ""
}

func tagOf(spec *corev1.PodSpec) string {
	if len(spec.Containers) == 0 {
		return ""
	}
	_, tag, _ := strings.Cut(spec.Containers[0].Image, ":")
	return tag
}

// on returns the pods of a set on a node in any order, terminating ones
// included.
func (s *state) on(set, node string) []podFacts {
	var pods []podFacts
	for _, p := range s.pods {
		if p.set == set && p.node == node {
			pods = append(pods, p)
		}
	}
	return pods
}

// differences returns how a state is not as a step wants it.
func (s *state) differences(w want) []string {
	var found []string
	for _, set := range demoSets {
		found = append(found, s.differencesOf(set, w)...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		if _, known := s.nodes[s.pods[name].node]; !known {
			found = append(found, name+" is on no node")
		}
	}
	return found
}

func (s *state) differencesOf(set demoSet, w want) []string {
	var found []string
	stuck, counted := 0, appsv1.DaemonSetStatus{ObservedGeneration: s.sets[set.name].generation}
	for _, node := range slices.Sorted(maps.Keys(s.nodes)) {
		facts, has := s.nodes[node], count(s.on(set.name, node), w)
		if has != wantedOn(facts, has.stuck > 0, set.surges) {
			found = append(found, fmt.Sprintf("%s on %s has %d good pods, %d stuck, %d others;", set.name, node, has.good,
				has.stuck, has.others))
		}
		stuck += has.stuck
		switch {
		case facts.fits():
			counted.DesiredNumberScheduled++
			counted.NumberAvailable += int32(has.good)
		case has.good > 0:
			counted.NumberMisscheduled++
		}
	}
	if len(s.nodes) == 0 || w.stuck != "" && stuck != demoLimit {
		found = append(found, fmt.Sprintf("%s has %d pods that are stuck;", set.name, stuck))
	}
	return append(found, s.statusDifferences(set, w, counted)...)
}

// counts are the pods of a set on a node.
type counts struct {
	good   int // available, with the image that a step wants
	stuck  int // not available, with the image of a rollout that is stuck
	others int
}

func count(pods []podFacts, w want) counts {
	var c counts
	for _, p := range pods {
		switch {
		case !p.terminating && p.available && p.image == w.image:
			c.good++
		case !p.terminating && !p.available && w.stuck != "" && p.image == w.stuck:
			c.stuck++
		default:
			c.others++
		}
	}
	return c
}

// wantedOn returns the pods that a set should have on a node, which a rollout
// that is stuck may have taken.
func wantedOn(node nodeFacts, taken, surges bool) counts {
	switch {
	case node.drained:
		return counts{}
	case taken && node.fits() && surges:
		return counts{good: 1, stuck: 1}
	case taken && node.fits():
		return counts{stuck: 1}
	}
	return counts{good: 1}
}

// statusDifferences compares the status of a set with what was counted.
func (s *state) statusDifferences(set demoSet, w want, counted appsv1.DaemonSetStatus) []string {
	facts, known := s.sets[set.name]
	if !known {
		return []string{set.name + " is missing;"}
	}
	status, desired := facts.status, counted.DesiredNumberScheduled
	var found []string
	for _, field := range []struct {
		name      string
		got, want int64
	}{
		{"observedGeneration", status.ObservedGeneration, counted.ObservedGeneration},
		{"desired", int64(status.DesiredNumberScheduled), int64(desired)},
		{"current", int64(status.CurrentNumberScheduled), int64(desired)},
		{"ready", int64(status.NumberReady), int64(counted.NumberAvailable)},
		{"available", int64(status.NumberAvailable), int64(counted.NumberAvailable)},
		{"unavailable", int64(status.NumberUnavailable), int64(desired - counted.NumberAvailable)},
		{"misscheduled", int64(status.NumberMisscheduled), int64(counted.NumberMisscheduled)},
		{"updated", int64(status.UpdatedNumberScheduled), int64(desired)},
	} {
		// The API does not say which of two pods of a node counts as updated.
		stuck := field.name == "updated" && w.stuck != ""
		if field.got != field.want && !stuck {
			found = append(found, fmt.Sprintf("the status of %s: %s is %d, want %d;", set.name, field.name, field.got,
				field.want))
		}
	}
	return found
}
