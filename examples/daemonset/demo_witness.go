package main

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
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
}

type setFacts struct {
	image  string
	status appsv1.DaemonSetStatus
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

func (s *state) clone() *state {
	return &state{maps.Clone(s.nodes), maps.Clone(s.pods), maps.Clone(s.sets), maps.Clone(s.revisions)}
}

// see takes in a change.
func (s *state) see(change *invariant.Change) {
	deleted := change.After == nil
	switch o := change.Object().(type) {
	case *corev1.Node:
		keep(s.nodes, o.Name, factsOfNode(o), deleted)
	case *corev1.Pod:
		keep(s.pods, o.Name, factsOfPod(o), deleted)
	case *appsv1.DaemonSet:
		keep(s.sets, o.Name, setFacts{tagOf(&o.Spec.Template.Spec), o.Status}, deleted)
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
	return podFacts{
		set:   ownerOf(pod),
		node:  nodeOf(pod),
		image: tagOf(&pod.Spec),
		available: slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}),
		terminating: pod.DeletionTimestamp != nil,
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

// living returns the pods that are not terminating.
func living(pods []podFacts) []podFacts {
	return slices.DeleteFunc(pods, func(p podFacts) bool { return p.terminating })
}

// newest returns the name of the revision of a set with the highest number.
func (s *state) newest(set string) string {
	newest := ""
	for _, name := range slices.Sorted(maps.Keys(s.revisions)) {
		if r := s.revisions[name]; r.set == set && (newest == "" || r.number > s.revisions[newest].number) {
			newest = name
		}
	}
	return newest
}
