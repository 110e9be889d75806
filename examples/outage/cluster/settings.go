package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// takeBudgets gives workloads their PodDisruptionBudgets.
func (m *importer) takeBudgets(s *scenario.Scenario) {
	budgets := slices.Clone(m.objects.Budgets)
	slices.SortFunc(budgets, func(a, b policyv1.PodDisruptionBudget) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	wanted, protected := m.wanted(), map[int]bool{}
	for i := range budgets {
		b := &budgets[i]
		name := m.names.value("budget", b.Namespace+"/"+b.Name)
		number, reason := m.protected(b)
		switch {
		case reason != "":
			m.note("left out: PodDisruptionBudget %s, which %s", name, reason)
		case protected[number]:
			m.note("left out: PodDisruptionBudget %s, a second one of the workload. The Eviction API refuses to evict pods "+
				"that have two", name)
		default:
			protected[number] = true
			w := m.owned[number]
			s.Cluster.Workloads[number].MinAvailable = leastAvailable(&b.Spec, max(wanted[w.identity], len(w.pods)))
		}
	}
}

// protected returns the one workload whose pods a budget protects, by its
// number, or why there is none.
func (m *importer) protected(b *policyv1.PodDisruptionBudget) (number int, reason string) {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return 0, fmt.Sprintf("has a selector that cannot be read: %v", err)
	}
	if b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow {
		return 0, "lets pods that are not ready go at any time, as all pods of a lost node are"
	}
	var found []int
	for i, w := range m.owned {
		selected := 0
		for _, pod := range w.pods {
			if pod.Namespace == b.Namespace && selector.Matches(labels.Set(pod.Labels)) {
				selected++
			}
		}
		switch selected {
		case 0:
		case len(w.pods):
			found = append(found, i)
		default:
			return 0, fmt.Sprintf("protects only some pods of %s", m.name(w))
		}
	}
	switch len(found) {
	case 0:
		return 0, "protects no pod that is taken over"
	case 1:
		return found[0], ""
	}
	return 0, fmt.Sprintf("protects pods of %d workloads together", len(found))
}

// leastAvailable returns how many of so many pods have to be left. Shares are
// rounded up, as the disruption controller does. Source: getExpectedPodCount of
// Kubernetes v1.37, pkg/controller/disruption.
func leastAvailable(spec *policyv1.PodDisruptionBudgetSpec, pods int) int {
	switch {
	case spec.MinAvailable != nil:
		return max(scaled(spec.MinAvailable, pods), 0)
	case spec.MaxUnavailable != nil:
		return max(pods-scaled(spec.MaxUnavailable, pods), 0)
	}
	return 0
}

func scaled(value *intstr.IntOrString, pods int) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(value, pods, true)
	if err != nil {
		return 0 // the API server has validated it
	}
	return n
}

// takeLeases takes over how often kubelets renew their leases.
func (m *importer) takeLeases(s *scenario.Scenario) {
	durations, leases := map[string]int{}, 0
	for i := range m.objects.Leases {
		lease := &m.objects.Leases[i]
		if lease.Namespace == corev1.NamespaceNodeLease && m.groups[lease.Name] != nil &&
			lease.Spec.LeaseDurationSeconds != nil {
			durations[strconv.Itoa(int(*lease.Spec.LeaseDurationSeconds))]++
			leases++
		}
	}
	if leases < len(m.objects.Nodes) {
		m.note("%s without a lease in %s: their heartbeats are taken to be as far apart as those of others, or as is the "+
			"default", plural(len(m.objects.Nodes)-leases, "node"), corev1.NamespaceNodeLease)
	}
	if leases == 0 {
		return
	}
	common, all := commonest(durations)
	seconds, err := strconv.Atoi(common)
	if err != nil {
		panic(err) // it was a number
	}
	// A kubelet renews its lease when a quarter of the duration is over. Source:
	// nodeLeaseRenewIntervalFraction of Kubernetes v1.37, pkg/kubelet.
	interval := time.Duration(seconds) * time.Second / 4
	if !all {
		m.note("leases last differently long: the scenario has a heartbeat every %v, as most nodes do", interval)
	}
	if interval != 10*time.Second {
		s.Cluster.BeatInterval = scenario.Duration(interval)
		m.flag(s, "node-heartbeat-interval", interval.String())
	}
}

// controllerManager is the name of the program and of its container.
const controllerManager = "kube-controller-manager"

// takenFlags are the flags of kube-controller-manager that nodelifecycle has as
// well.
func takenFlags() []string {
	return []string{"node-monitor-period", "node-monitor-grace-period", "node-startup-grace-period", "node-eviction-rate",
		"secondary-node-eviction-rate", "large-cluster-size-threshold", "unhealthy-zone-threshold", "kube-api-qps",
		"kube-api-burst", "leader-elect", "leader-elect-lease-duration", "leader-elect-renew-deadline",
		"leader-elect-retry-period"}
}

// takeFlags takes over the flags of kube-controller-manager.
func (m *importer) takeFlags(s *scenario.Scenario) {
	replicas, seen := 0, map[string]map[string]bool{}
	for i := range m.objects.Pods {
		pod := &m.objects.Pods[i]
		for c := range pod.Spec.Containers {
			container := &pod.Spec.Containers[c]
			if pod.Namespace != metav1.NamespaceSystem || container.Name != controllerManager {
				continue
			}
			replicas++
			for name, value := range flagsOf(slices.Concat(container.Command, container.Args)) {
				if seen[name] == nil {
					seen[name] = map[string]bool{}
				}
				seen[name][value] = true
			}
		}
	}
	if replicas == 0 {
		m.note("no pod of %s is there: its flags are taken to be the defaults of v1.37", controllerManager)
		return
	}
	if replicas > 1 {
		s.Controller.Replicas = replicas
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if len(seen[name]) > 1 {
			m.note("left out: --%s, which the pods of %s give different values", name, controllerManager)
			continue
		}
		for value := range seen[name] {
			m.flag(s, name, value)
		}
	}
}

// flag sets a flag of the scenario's controller, if it has a value that the
// flag can have.
func (m *importer) flag(s *scenario.Scenario, name, value string) {
	if s.Controller.Flags == nil {
		s.Controller.Flags = map[string]scenario.FlagValue{}
	}
	s.Controller.Flags[name] = scenario.FlagValue(value)
	if _, err := s.Controller.Options(); err != nil {
		delete(s.Controller.Flags, name)
		m.note("left out: --%s=%s, which is invalid for nodelifecycle: %v", name, value, err)
	}
	if len(s.Controller.Flags) == 0 {
		s.Controller.Flags = nil
	}
}

// flagsOf returns the flags of a command line that are taken over. A flag
// stands with its value in one argument or in two; a bool stands alone.
func flagsOf(command []string) map[string]string {
	flags := map[string]string{}
	for i, argument := range command {
		trimmed := strings.TrimLeft(argument, "-")
		name, value, inOne := strings.Cut(trimmed, "=")
		if trimmed == argument || !slices.Contains(takenFlags(), name) {
			continue
		}
		switch {
		case inOne:
		case name == "leader-elect":
			value = "true"
		case i+1 < len(command):
			value = command[i+1]
		}
		flags[name] = value
	}
	return flags
}
