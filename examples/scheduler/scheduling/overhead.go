package scheduling

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/taints"
)

// A daemonSet is a set as far as it concerns nodes that do not exist.
type daemonSet struct {
	placement *daemon.Placement
	requests  amounts
}

func newDaemonSet(set *appsv1.DaemonSet, matcher taints.Matcher) daemonSet {
	template := &set.Spec.Template
	return daemonSet{
		placement: daemon.Compile(template, matcher),
		requests:  requestsOf(&corev1.Pod{Spec: template.Spec}),
	}
}

// Overhead returns what the pods of DaemonSets would take of a new node like
// the template, before any other pod. CPU is in thousandths.
func Overhead(
	template *corev1.Node, sets []*appsv1.DaemonSet, matcher taints.Matcher,
) map[corev1.ResourceName]int64 {
	var all []daemonSet
	for _, set := range sets {
		all = append(all, newDaemonSet(set, matcher))
	}
	return overhead(template, slices.Values(all))
}

func overhead(template *corev1.Node, sets func(yield func(daemonSet) bool)) amounts {
	taken := amounts{}
	for set := range sets {
		if set.placement.Place(template).ShouldRun {
			taken.add(set.requests, 1)
		}
	}
	return taken
}

// refusedByNew returns why a pod would not fit on a new node like the template,
// nil if it would.
func refusedByNew(
	p *pod, template *corev1.Node, sets map[string]daemonSet, matcher taints.Matcher,
) []string {
	if reason := mismatch(p, template, matcher); reason != "" {
		return []string{reason}
	}
	left := amountsOf(template.Status.Allocatable)
	left.add(overhead(template, maps.Values(sets)), -1)
	return inWords(lacking(p.requests, left.of))
}

// newNodeFor returns the name of the first template on which a pod would fit,
// as a cluster autoscaler asks before it adds a node.
func newNodeFor(
	p *pod, templates []*corev1.Node, sets map[string]daemonSet, matcher taints.Matcher,
) string {
	i := slices.IndexFunc(templates, func(template *corev1.Node) bool {
		return refusedByNew(p, template, sets, matcher) == nil
	})
	if i < 0 {
		return ""
	}
	return templates[i].Name
}
