package rollouts

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubelife/lifecycle/examples/e2e/rollouts/state"
)

// A goal is the result that a step must have, by the rules of the API. It
// follows from what the script did to the set and the nodes.
type goal struct {
	// image is the one that all pods have, generation the set's at least.
	image      string
	generation int64
	// nodes are all that there are, with the taint of each.
	nodes map[string]corev1.TaintEffect
}

// missing returns what is still missing, or nil. A node has one pod, which is
// ready, unless it is tainted with NoExecute: then it has none. One that is
// tainted with NoSchedule keeps the pod that it had.
func (g goal) missing(set *appsv1.DaemonSet, pods []*corev1.Pod) error {
	byNode := map[string]int{}
	for _, pod := range pods {
		node := pod.Spec.NodeName
		_, exists := g.nodes[node]
		switch image := pod.Spec.Containers[0].Image; {
		case node == "":
			return fmt.Errorf("pod %s has no node", pod.Name)
		case !exists:
			return fmt.Errorf("pod %s is on %s, which is gone", pod.Name, node)
		case pod.DeletionTimestamp != nil:
			return fmt.Errorf("pod %s on %s is terminating", pod.Name, node)
		case image != g.image:
			return fmt.Errorf("pod %s on %s has the image %s, want %s", pod.Name, node, image, g.image)
		case !state.IsReady(pod):
			return fmt.Errorf("pod %s on %s is not ready", pod.Name, node)
		}
		byNode[node]++
	}
	for node, taint := range g.nodes {
		want := 1
		if taint == corev1.TaintEffectNoExecute {
			want = 0
		}
		if byNode[node] != want {
			return fmt.Errorf("%s has %d pods, want %d", node, byNode[node], want)
		}
	}
	return g.missingInStatus(set)
}

func (g goal) missingInStatus(set *appsv1.DaemonSet) error {
	var fit, misplaced int32
	for _, taint := range g.nodes {
		switch taint {
		case "":
			fit++
		case corev1.TaintEffectNoSchedule:
			misplaced++
		}
	}
	want := appsv1.DaemonSetStatus{
		ObservedGeneration: set.Generation, DesiredNumberScheduled: fit, CurrentNumberScheduled: fit,
		UpdatedNumberScheduled: fit, NumberReady: fit, NumberAvailable: fit, NumberMisscheduled: misplaced,
		CollisionCount: set.Status.CollisionCount,
	}
	if set.Generation < g.generation || !equality.Semantic.DeepEqual(set.Status, want) {
		return fmt.Errorf("the set has generation %d of %d and the status %+v, want %+v",
			set.Generation, g.generation, set.Status, want)
	}
	return nil
}
