package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// identity is what pods of a workload have in common.
type identity struct{ kind, namespace, name string }

func (i identity) String() string { return i.namespace + "/" + i.name }

// workload is one with the pods that are taken over.
type workload struct {
	identity
	pods []*corev1.Pod
}

// left are pods that are not taken over, by why.
type left map[string]int

// takePods makes workloads of the pods that are on nodes.
func (m *importer) takePods(s *scenario.Scenario) {
	all, without := map[identity]*workload{}, left{}
	owners := m.ownersOfReplicaSets()
	guessed, foreign := 0, map[string]bool{}
	for i := range m.objects.Pods {
		pod := &m.objects.Pods[i]
		if reason := m.unfit(pod); reason != "" {
			without[reason]++
			continue
		}
		id, known := identify(pod, owners)
		if !known {
			guessed++
		}
		if !slices.Contains([]string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Pod"}, id.kind) {
			foreign[m.names.kind(id.kind)] = true
		}
		if all[id] == nil {
			all[id] = &workload{identity: id}
		}
		all[id].pods = append(all[id].pods, pod)
	}
	for _, w := range all {
		slices.SortFunc(w.pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
		m.owned = append(m.owned, w)
	}
	slices.SortFunc(m.owned, func(a, b *workload) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name),
			strings.Compare(a.kind, b.kind))
	})
	m.noteLeft(without)
	if guessed > 0 {
		m.note("%s of ReplicaSets that are not in the list: Deployments are told by their names", plural(guessed, "pod"))
	}
	if len(foreign) > 0 {
		kinds := make([]string, 0, len(foreign))
		for kind := range foreign {
			kinds = append(kinds, kind)
		}
		slices.Sort(kinds)
		m.note("pods of kind %s: they are replaced as those of a Deployment are", strings.Join(kinds, ", "))
	}
	for _, w := range m.owned {
		s.Cluster.Workloads = append(s.Cluster.Workloads, m.describe(w))
	}
	m.noteWorkloads()
}

// unfit says why a pod is not taken over.
func (m *importer) unfit(pod *corev1.Pod) string {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	switch {
	case mirror:
		return "static pods of kubelets, which no controller evicts"
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return "pods that have ended"
	case pod.DeletionTimestamp != nil:
		return "pods that are being deleted"
	case pod.Spec.NodeName == "":
		return "pods that wait for a node"
	case m.groups[pod.Spec.NodeName] == nil:
		return "pods on nodes that do not exist"
	}
	return ""
}

func (m *importer) noteLeft(without left) {
	reasons := make([]string, 0, len(without))
	for reason := range without {
		reasons = append(reasons, reason)
	}
	slices.Sort(reasons)
	for _, reason := range reasons {
		m.note("left out: %s (%d)", reason, without[reason])
	}
}

// ownersOfReplicaSets returns the workload of each ReplicaSet that is known.
func (m *importer) ownersOfReplicaSets() map[identity]identity {
	owners := map[identity]identity{}
	for i := range m.objects.ReplicaSets {
		set := &m.objects.ReplicaSets[i]
		id := identity{"ReplicaSet", set.Namespace, set.Name}
		owners[id] = id
		if owner := metav1.GetControllerOf(set); owner != nil {
			owners[id] = identity{owner.Kind, set.Namespace, owner.Name}
		}
	}
	return owners
}

// identify returns the workload of a pod. It is not known if it has to be told
// from the name of a ReplicaSet. That name ends in a hash which the pods of a
// Deployment have as a label.
func identify(pod *corev1.Pod, replicaSets map[identity]identity) (id identity, known bool) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return identity{"Pod", pod.Namespace, pod.Name}, true
	}
	id = identity{owner.Kind, pod.Namespace, owner.Name}
	if id.kind != "ReplicaSet" {
		return id, true
	}
	if of, ok := replicaSets[id]; ok {
		return of, true
	}
	if hash := pod.Labels["pod-template-hash"]; hash != "" && strings.HasSuffix(id.name, "-"+hash) {
		return identity{"Deployment", id.namespace, strings.TrimSuffix(id.name, "-"+hash)}, false
	}
	return id, true
}

// describe returns a workload in the language of scenarios.
func (m *importer) describe(w *workload) scenario.Workload {
	d := scenario.Workload{Name: m.name(w), Kind: kindOf(w), Placed: map[string]int{}}
	m.spread(w, &d)
	m.takeTolerations(w, &d)
	if priority := w.pods[0].Spec.Priority; priority != nil {
		d.Priority = int(*priority)
	}
	m.takePools(w, &d)
	return d
}

func (m *importer) name(w *workload) string {
	return m.names.label("workload", w.namespace+"-"+w.name+kindSuffix(w), w.kind+" "+w.String())
}

// kindSuffix tells workloads of one name apart: those of the kinds whose names
// are seldom shared have none.
func kindSuffix(w *workload) string {
	switch w.kind {
	case "Deployment", "StatefulSet", "Pod":
		return ""
	}
	return "-" + strings.ToLower(w.kind)
}

func kindOf(w *workload) string {
	switch w.kind {
	case "StatefulSet":
		return scenario.StatefulSet
	case "DaemonSet":
		return scenario.DaemonSet
	case "Pod":
		return scenario.Bare
	}
	return scenario.Deployment
}

// spread counts the pods by group. A DaemonSet's count once a node: a second
// one is there only while it is rolled out.
func (m *importer) spread(w *workload, d *scenario.Workload) {
	seen := map[string]bool{}
	for _, pod := range w.pods {
		node := pod.Spec.NodeName
		if d.Kind == scenario.DaemonSet && seen[node] {
			continue
		}
		seen[node] = true
		d.Placed[m.groups[node].Name]++
	}
	if d.Kind != scenario.DaemonSet {
		d.Replicas = len(w.pods)
		return
	}
	if len(seen) == len(m.objects.Nodes) {
		d.Placed = nil // on all nodes, which is the default
	}
}

// noteWorkloads says what of the workloads the language has no words for.
func (m *importer) noteWorkloads() {
	var mixed, apart, claiming, sick, fewer, none []string
	wanted := m.wanted()
	for _, w := range m.owned {
		name := m.name(w)
		if !alike(w.pods) {
			mixed = append(mixed, name)
		}
		if separated(&w.pods[0].Spec) {
			apart = append(apart, name)
		}
		if isReplaced(w) && slices.ContainsFunc(w.pods, hasClaim) {
			claiming = append(claiming, name)
		}
		if unready := len(w.pods) - readyPods(w.pods); unready > 0 {
			sick = append(sick, fmt.Sprintf("%s %d of %d", name, unready, len(w.pods)))
		}
		if want, ok := wanted[w.identity]; ok && want > len(w.pods) {
			fewer = append(fewer, fmt.Sprintf("%s %d of %d", name, len(w.pods), want))
		}
		delete(wanted, w.identity)
	}
	for id, want := range wanted {
		if want > 0 {
			none = append(none, fmt.Sprintf("%s 0 of %d", m.name(&workload{identity: id}), want))
		}
	}
	m.noteNames("pods of one workload differ in tolerations, priority or selectors (%[2]s): each has those of most of "+
		"them, or of the first", mixed)
	m.noteNames("left out: affinity between pods and spread constraints of %s (%s)", apart)
	m.noteNames("%s selecting nodes by more than their pool (%s): replacements may go to any node of the pools, so "+
		"blast may report a recovery that the cluster does not have", m.wider)
	m.noteNames("%s with PersistentVolumeClaims (%s): the scenario has no volumes, so pods come back in any zone; where "+
		"a volume is in one zone alone, blast reports a recovery that the cluster does not have", claiming)
	m.noteNames("%s with pods that are not ready (%s): in the scenario all are ready when it begins, so budgets let more "+
		"of them go", sick)
	m.noteNames("%s with fewer pods on nodes than they want (%s): the scenario has those on nodes", fewer)
	m.noteNames("left out: %s without a pod on a node (%s)", none)
}

// noteNames notes what is true of some workloads, if there are any. The format
// shows how many, and a few of the names.
func (m *importer) noteNames(format string, workloads []string) {
	if len(workloads) > 0 {
		m.note(format, plural(len(workloads), "workload"), some(workloads))
	}
}

// isReplaced reports whether a pod that is gone comes back on another node.
func isReplaced(w *workload) bool {
	kind := kindOf(w)
	return kind != scenario.DaemonSet && kind != scenario.Bare
}

// hasClaim reports whether a pod has a volume that its replacement needs again.
// Those of a StatefulSet's volumeClaimTemplates are volumes of its pods. An
// ephemeral one has a claim that the pod owns: the replacement gets its own.
func hasClaim(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil
	})
}

func readyPods(pods []*corev1.Pod) int {
	count := 0
	for _, pod := range pods {
		if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			count++
		}
	}
	return count
}

// wanted returns how many pods the owners want. A ReplicaSet that has an owner
// itself is none.
func (m *importer) wanted() map[identity]int {
	wanted := map[identity]int{}
	replicas := func(n *int32) int {
		if n == nil {
			return 1 // the API's default
		}
		return int(*n)
	}
	for i := range m.objects.Deployments {
		d := &m.objects.Deployments[i]
		wanted[identity{"Deployment", d.Namespace, d.Name}] = replicas(d.Spec.Replicas)
	}
	for i := range m.objects.StatefulSets {
		s := &m.objects.StatefulSets[i]
		wanted[identity{"StatefulSet", s.Namespace, s.Name}] = replicas(s.Spec.Replicas)
	}
	for i := range m.objects.ReplicaSets {
		s := &m.objects.ReplicaSets[i]
		if metav1.GetControllerOf(s) == nil {
			wanted[identity{"ReplicaSet", s.Namespace, s.Name}] = replicas(s.Spec.Replicas)
		}
	}
	for i := range m.objects.DaemonSets {
		s := &m.objects.DaemonSets[i]
		wanted[identity{"DaemonSet", s.Namespace, s.Name}] = int(s.Status.DesiredNumberScheduled)
	}
	for i := range m.objects.Jobs {
		j := &m.objects.Jobs[i]
		wanted[identity{"Job", j.Namespace, j.Name}] = int(j.Status.Active)
	}
	return wanted
}

// separated reports whether pods keep to or from each other.
func separated(spec *corev1.PodSpec) bool {
	if slices.ContainsFunc(spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable == corev1.DoNotSchedule
	}) {
		return true
	}
	a := spec.Affinity
	return a != nil && (a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 ||
		a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0)
}
