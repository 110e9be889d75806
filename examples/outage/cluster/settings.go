package cluster

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

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
		m.note("%s without a lease in %s: heartbeats are taken to be as far apart as those of others, or as is the default",
			plural(len(m.objects.Nodes)-leases, "node"), corev1.NamespaceNodeLease)
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
		setFlag(s, "node-heartbeat-interval", interval.String())
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
	for _, container := range m.managers() {
		replicas++
		for name, value := range flagsOf(slices.Concat(container.Command, container.Args)) {
			if seen[name] == nil {
				seen[name] = map[string]bool{}
			}
			seen[name][value] = true
		}
	}
	if replicas == 0 {
		return
	}
	if len(seen) == 0 {
		m.note("a pod of %s is there, but its command line has none of the flags that are taken over: they are taken to be "+
			"the defaults of v1.37", controllerManager)
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
			setFlag(s, name, value)
		}
	}
}

// managers returns the containers of kube-controller-manager. Those of
// kube-system are first choice: other namespaces may have the control planes of
// other clusters.
func (m *importer) managers() []*corev1.Container {
	in := map[string][]*corev1.Container{}
	for i := range m.objects.Pods {
		pod := &m.objects.Pods[i]
		for c := range pod.Spec.Containers {
			if container := &pod.Spec.Containers[c]; container.Name == controllerManager {
				in[pod.Namespace] = append(in[pod.Namespace], container)
			}
		}
	}
	if own := in[metav1.NamespaceSystem]; own != nil {
		return own
	}
	namespaces := slices.Sorted(maps.Keys(in))
	for i, namespace := range namespaces {
		namespaces[i] = m.names.value("namespace", namespace)
	}
	switch len(namespaces) {
	case 0:
		m.note("no pod of %s is there: its flags are taken to be the defaults of v1.37", controllerManager)
	case 1:
		m.note("the flags of %s are those of its pods in namespace %s", controllerManager, namespaces[0])
		for _, containers := range in {
			return containers
		}
	default:
		m.note("pods of %s are in several namespaces (%s), none of which is %s: its flags are taken to be the defaults of "+
			"v1.37", controllerManager, some(namespaces), metav1.NamespaceSystem)
	}
	return nil
}

// setFlag sets a flag of the scenario's controller.
func setFlag(s *scenario.Scenario, name, value string) {
	if s.Controller.Flags == nil {
		s.Controller.Flags = map[string]scenario.FlagValue{}
	}
	s.Controller.Flags[name] = scenario.FlagValue(value)
}

// dropInvalidFlags takes the flags away that nodelifecycle refuses. It judges
// them together: one may be valid only with another. Without one, another may
// be invalid, so it asks again.
func (m *importer) dropInvalidFlags(s *scenario.Scenario) {
	for dropped := true; dropped; {
		dropped = false
		for _, problem := range problemsOf(&s.Controller) {
			name := strings.TrimPrefix(problem.Path, "controller.flags.")
			value, isSet := s.Controller.Flags[name]
			if !isSet {
				continue
			}
			delete(s.Controller.Flags, name)
			dropped = true
			m.note("left out: --%s=%s, which is invalid for nodelifecycle: %s", name, value, problem.Message)
		}
	}
	if len(s.Controller.Flags) == 0 {
		s.Controller.Flags = nil
	}
}

// problemsOf returns what is wrong with the flags.
func problemsOf(c *scenario.Controller) []scenario.Problem {
	_, err := c.Options()
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return nil
	}
	var problems []scenario.Problem
	for _, each := range joined.Unwrap() {
		var problem scenario.Problem
		if errors.As(each, &problem) {
			problems = append(problems, problem)
		}
	}
	return problems
}

// flagsOf returns the flags of a command line that are taken over. A flag
// stands with its value in one argument or in two; a bool stands alone. As for
// kube-controller-manager, an underscore in a name is a dash.
func flagsOf(command []string) map[string]string {
	command = words(command)
	flags := map[string]string{}
	for i, argument := range command {
		trimmed := strings.TrimLeft(argument, "-")
		name, value, inOne := strings.Cut(trimmed, "=")
		name = strings.ReplaceAll(name, "_", "-")
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

// words splits the scripts in a command line: what follows the option -c of a
// shell, alone or with others as in -ec. Quotes around words and around values
// of flags are taken away.
func words(command []string) []string {
	var all []string
	for i, argument := range command {
		option := ""
		if i > 0 {
			option = command[i-1]
		}
		if !strings.HasPrefix(option, "-") || strings.HasPrefix(option, "--") || !strings.HasSuffix(option, "c") {
			all = append(all, argument)
			continue
		}
		for word := range strings.FieldsSeq(argument) {
			if word = strings.Trim(strings.NewReplacer(`"`, "", "'", "").Replace(word), ";\\"); word != "" {
				all = append(all, word)
			}
		}
	}
	return all
}
