package fit

import (
	"iter"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/taints"
)

// A DaemonSet is a set as far as it concerns nodes that do not exist.
type DaemonSet struct {
	placement *daemon.Placement
	requests  Amounts
}

// CompileSet reads a DaemonSet.
func CompileSet(set *appsv1.DaemonSet, matcher taints.Matcher) DaemonSet {
	template := &set.Spec.Template
	return DaemonSet{daemon.Compile(template, matcher), RequestsOf(&corev1.Pod{Spec: template.Spec})}
}

// Overhead returns what the pods of DaemonSets would take of a new node like
// the template, before any other pod.
func Overhead(template *corev1.Node, sets iter.Seq[DaemonSet]) Amounts {
	taken := Amounts{}
	for set := range sets {
		if set.placement.Place(template).ShouldRun {
			taken.Add(set.requests, 1)
		}
	}
	return taken
}

// NewNode returns the name of the first template on which a pod would fit, as a
// cluster autoscaler asks before it adds a node. It is empty if there is none.
func NewNode(
	p *Pod, templates []*corev1.Node, sets iter.Seq[DaemonSet], matcher taints.Matcher,
) string {
	for _, template := range templates {
		left := AmountsOf(template.Status.Allocatable)
		left.Add(Overhead(template, sets), -1)
		if p.Mismatch(template, matcher) == "" && Lacking(p.Requests, left.Of) == nil {
			return template.Name
		}
	}
	return ""
}
