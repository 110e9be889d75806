package main

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/simulation"
)

// state is what the API server shows.
type state struct {
	nodes []*corev1.Node
	pods  []*corev1.Pod // of the script
}

func newState(world *simulation.World) *state {
	pods := slices.DeleteFunc(world.Pods(), func(pod *corev1.Pod) bool { return pod.Namespace != world.Namespace })
	return &state{world.Nodes(), pods}
}

// tally counts nodes and their pods.
type tally struct{ nodes, readyNodes, pods, readyPods, restarts int }

// tally counts what there is in a zone. Without a name it is all zones.
func (s *state) tally(zone string) (t tally) {
	counted := map[string]bool{}
	for _, node := range s.nodes {
		if zone != "" && zoneOf(node) != zone {
			continue
		}
		counted[node.Name] = true
		t.nodes++
		if readyOf(node).Status == corev1.ConditionTrue {
			t.readyNodes++
		}
	}
	for _, pod := range s.pods {
		if !counted[pod.Spec.NodeName] {
			continue
		}
		t.pods++
		t.restarts += int(restarts(pod))
		if isReady(pod) {
			t.readyPods++
		}
	}
	return t
}

// node returns a node of the state, or an empty one.
func (s *state) node(name string) *corev1.Node {
	for _, node := range s.nodes {
		if node.Name == name {
			return node
		}
	}
	return &corev1.Node{}
}

func zoneOf(node *corev1.Node) string { return node.Labels[corev1.LabelTopologyZone] }

// readyOf returns the condition Ready of a node, or an empty one.
func readyOf(node *corev1.Node) corev1.NodeCondition {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	return corev1.NodeCondition{}
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func restarts(pod *corev1.Pod) (n int32) {
	for i := range pod.Status.ContainerStatuses {
		n += pod.Status.ContainerStatuses[i].RestartCount
	}
	return n
}
