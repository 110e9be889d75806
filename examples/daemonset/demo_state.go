package main

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/daemonset/simulation"
)

// state is what the API server has at a time. It is made of objects alone, and
// shares no code with the controller.
type state struct {
	nodes     []*corev1.Node
	pods      []*corev1.Pod
	sets      []*appsv1.DaemonSet
	revisions []*appsv1.ControllerRevision
}

func newState(world *simulation.World) *state {
	return &state{world.Nodes(), world.Pods(), world.Sets(), world.Revisions()}
}

// set returns the set of a name, or an empty one.
func (s *state) set(name string) *appsv1.DaemonSet {
	for _, set := range s.sets {
		if set.Name == name {
			return set
		}
	}
	return &appsv1.DaemonSet{}
}

// template returns the tag of the image that a set wants.
func (s *state) template(set string) string { return tagOf(&s.set(set).Spec.Template.Spec) }

// living returns the pods of a set on a node that are not terminating.
func (s *state) living(set, node string) (pods []*corev1.Pod) {
	for _, pod := range s.pods {
		if ownerOf(pod) == set && pod.Spec.NodeName == node && pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// with returns how many nodes have such a pod of a set.
func (s *state) with(set string, is func(*corev1.Pod) bool) (count int) {
	for _, node := range s.nodes {
		if slices.ContainsFunc(s.living(set, node.Name), is) {
			count++
		}
	}
	return count
}

// down returns how many nodes have no available pod of a set.
func (s *state) down(set string) int { return len(s.nodes) - s.with(set, isAvailable) }

// surging returns how many nodes have a second pod of a set.
func (s *state) surging(set string) (count int) {
	for _, node := range s.nodes {
		if len(s.living(set, node.Name)) > 1 {
			count++
		}
	}
	return count
}

// newest returns the revision of a set with the highest number.
func (s *state) newest(set string) *appsv1.ControllerRevision {
	newest := &appsv1.ControllerRevision{}
	for _, revision := range s.revisions {
		if ownerOf(revision) == set && revision.Revision > newest.Revision {
			newest = revision
		}
	}
	return newest
}

func isAvailable(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func isBad(pod *corev1.Pod) bool { return tagOf(&pod.Spec) == badImage }

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
