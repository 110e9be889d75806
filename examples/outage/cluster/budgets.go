package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// claim is a PodDisruptionBudget and the pods that it selects.
type claim struct {
	*policyv1.PodDisruptionBudget

	name string
	// pods counts them by the number of their workload.
	pods map[int]int
}

// takeBudgets gives workloads their PodDisruptionBudgets.
func (m *importer) takeBudgets(s *scenario.Scenario) {
	if len(m.objects.Budgets) == 0 {
		m.note("no PodDisruptionBudget is in the list: with action=evict none keeps a pod")
		return
	}
	claims, budgetsOf := m.claims()
	refused := m.refused(s, claims, budgetsOf)
	wanted := m.wanted()
	var short []string
	for _, c := range claims {
		if len(c.pods) > 0 && !slices.ContainsFunc(slices.Collect(maps.Keys(c.pods)), func(number int) bool {
			return !refused[number]
		}) {
			continue
		}
		number, reason := m.protected(c)
		if reason != "" {
			m.note("left out: PodDisruptionBudget %s, which %s", c.name, reason)
			continue
		}
		w, least := m.owned[number], &s.Cluster.Workloads[number].MinAvailable
		if !c.countable(w.pods) {
			*least = len(w.pods)
			m.note("PodDisruptionBudget %s lets no pod of %s go, in the scenario as in the cluster: it counts by the scale of "+
				"an owner, and there is none", c.name, m.name(w))
			continue
		}
		*least = leastAvailable(&c.Spec, max(wanted[w.identity], len(w.pods)))
		if c.Status.CurrentHealthy < c.Status.DesiredHealthy {
			short = append(short, fmt.Sprintf("%s %d of %d", c.name, c.Status.CurrentHealthy, c.Status.DesiredHealthy))
		}
	}
	if len(short) > 0 {
		m.note("%s with fewer healthy pods than desired (%s): in the cluster none of the pods may go now, the scenario "+
			"begins with all of them ready", plural(len(short), "PodDisruptionBudget"), some(short))
	}
}

// claims returns the budgets by name, and how many of them each pod has.
func (m *importer) claims() (claims []claim, budgetsOf map[*corev1.Pod]int) {
	budgetsOf = map[*corev1.Pod]int{}
	for i := range m.objects.Budgets {
		b := &m.objects.Budgets[i]
		c := claim{b, m.names.value("budget", b.Namespace+"/"+b.Name), map[int]int{}}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil { // the API server has validated it
			m.note("left out: PodDisruptionBudget %s, whose selector cannot be read", c.name)
			continue
		}
		for number, w := range m.owned {
			if w.namespace != b.Namespace {
				continue
			}
			for _, pod := range w.pods {
				if selector.Matches(labels.Set(pod.Labels)) {
					c.pods[number]++
					budgetsOf[pod]++
				}
			}
		}
		claims = append(claims, c)
	}
	slices.SortFunc(claims, func(a, b claim) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return claims, budgetsOf
}

// refused gives workloads whose pods have several budgets one that keeps all of
// them: the Eviction API evicts no such pod. It returns these workloads by
// number.
func (m *importer) refused(s *scenario.Scenario, claims []claim, budgetsOf map[*corev1.Pod]int) map[int]bool {
	refused := map[int]bool{}
	for number, w := range m.owned {
		several := 0
		for _, pod := range w.pods {
			if budgetsOf[pod] > 1 {
				several++
			}
		}
		if several == 0 {
			continue
		}
		var names []string
		for _, c := range claims {
			if c.pods[number] > 0 {
				names = append(names, c.name)
			}
		}
		if several < len(w.pods) {
			m.note("%d of %s of %s have several PodDisruptionBudgets (%s): the Eviction API evicts none of them, the "+
				"scenario evicts them as the others", several, plural(len(w.pods), "pod"), m.name(w), some(names))
			continue
		}
		refused[number] = true
		s.Cluster.Workloads[number].MinAvailable = len(w.pods)
		m.note("the pods of %s have several PodDisruptionBudgets (%s): the Eviction API evicts none of them, so in the "+
			"scenario one keeps them all", m.name(w), some(names))
	}
	return refused
}

// protected returns the one workload whose pods a budget protects, by its
// number, or why there is none.
func (m *importer) protected(c claim) (number int, reason string) {
	policy, numbers := c.Spec.UnhealthyPodEvictionPolicy, slices.Sorted(maps.Keys(c.pods))
	if policy != nil && *policy == policyv1.AlwaysAllow {
		return 0, "lets pods that are not ready go at any time, as all pods of a lost node are"
	}
	for _, number := range numbers {
		if w := m.owned[number]; c.pods[number] < len(w.pods) {
			return 0, fmt.Sprintf("protects only some pods of %s", m.name(w))
		}
	}
	switch len(numbers) {
	case 0:
		return 0, "protects no pod that is taken over"
	case 1:
		return numbers[0], ""
	}
	return 0, fmt.Sprintf("protects pods of %d workloads together", len(numbers))
}

// countable reports whether the disruption controller can tell how many of
// these pods are expected. For a number of minAvailable those that exist are,
// else as many as the scale of their owners says. If an owner has no scale, the
// controller's fail-safe lets no pod go. Whether a foreign owner has one shows
// in the status. Source: getExpectedPodCount, getExpectedScale and failSafe of
// Kubernetes v1.37, pkg/controller/disruption.
func (c claim) countable(pods []*corev1.Pod) bool {
	if least := c.Spec.MinAvailable; least != nil && least.Type == intstr.Int {
		return true
	}
	allowed := meta.FindStatusCondition(c.Status.Conditions, policyv1.DisruptionAllowedCondition)
	counted := allowed != nil && allowed.Reason != policyv1.SyncFailedReason
	return !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
		owner := metav1.GetControllerOf(pod)
		return owner == nil || !counted && !slices.Contains(scaledKinds(), owner.Kind)
	})
}

// scaledKinds are the kinds of Kubernetes itself that own pods and have a
// scale. A Deployment owns them by way of a ReplicaSet.
func scaledKinds() []string { return []string{"ReplicaSet", "StatefulSet", "ReplicationController"} }

// leastAvailable returns how many of so many pods have to be left. Shares are
// rounded up, as the disruption controller does. A budget that asks for nothing
// lets no pod go. Source: getExpectedPodCount and updatePdbStatus of Kubernetes
// v1.37, pkg/controller/disruption.
func leastAvailable(spec *policyv1.PodDisruptionBudgetSpec, pods int) int {
	switch {
	case spec.MinAvailable != nil:
		return max(scaled(spec.MinAvailable, pods), 0)
	case spec.MaxUnavailable != nil:
		return max(pods-scaled(spec.MaxUnavailable, pods), 0)
	}
	return pods
}

func scaled(value *intstr.IntOrString, pods int) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(value, pods, true)
	if err != nil {
		return 0 // the API server has validated it
	}
	return n
}
