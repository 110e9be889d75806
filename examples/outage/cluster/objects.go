package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Objects are those of a cluster, in any order.
type Objects struct {
	Nodes        []corev1.Node
	Leases       []coordinationv1.Lease
	Pods         []corev1.Pod
	Budgets      []policyv1.PodDisruptionBudget
	Deployments  []appsv1.Deployment
	DaemonSets   []appsv1.DaemonSet
	ReplicaSets  []appsv1.ReplicaSet
	StatefulSets []appsv1.StatefulSet
	Jobs         []batchv1.Job
	// Unused counts objects of other kinds.
	Unused map[string]int
}

// Command is what prints what [Decode] reads.
const Command = "kubectl get nodes,leases,pods,pdb,deployments,daemonsets,replicasets,statefulsets,jobs -A -o json"

// Decode reads the output of [Command]. The error says what the data are
// instead, and where they end if they were cut off.
func Decode(data []byte) (*Objects, error) {
	var list struct {
		metav1.TypeMeta `json:",inline"`
		Items           []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s; make it with %s", notJSON(data, err), Command)
	}
	if list.Kind != "List" || list.APIVersion != "v1" {
		return nil, fmt.Errorf("want a List of v1, not %s; make it with %s", kindAndVersion(list.TypeMeta), Command)
	}
	o := &Objects{Unused: map[string]int{}}
	for i, item := range list.Items {
		if err := o.add(item); err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
	}
	return o, o.Validate()
}

// Validate reports whether the objects can be a cluster: they need nodes and
// pods.
func (o *Objects) Validate() error {
	var missing []string
	if len(o.Nodes) == 0 {
		missing = append(missing, "nodes")
	}
	if len(o.Pods) == 0 {
		missing = append(missing, "pods")
	}
	if len(missing) == 0 {
		return nil
	}
	what := "there are no objects at all"
	if kinds := o.kinds(); len(kinds) > 0 {
		what = "there are only " + strings.Join(kinds, ", ")
	}
	return fmt.Errorf("there are no %s: %s; make it with %s", strings.Join(missing, " and no "), what, Command)
}

// kinds counts the objects of each kind that there are.
func (o *Objects) kinds() []string {
	var kinds []string
	for _, kind := range []struct {
		count int
		name  string
	}{
		{len(o.Nodes), "Node"}, {len(o.Leases), "Lease"}, {len(o.Pods), "Pod"}, {len(o.Budgets), "PodDisruptionBudget"},
		{len(o.Deployments), "Deployment"}, {len(o.DaemonSets), "DaemonSet"}, {len(o.ReplicaSets), "ReplicaSet"},
		{len(o.StatefulSets), "StatefulSet"}, {len(o.Jobs), "Job"},
	} {
		if kind.count > 0 {
			kinds = append(kinds, fmt.Sprintf("%d of kind %s", kind.count, kind.name))
		}
	}
	return append(kinds, counted(o.Unused)...)
}

// counted lists counts by kind.
func counted(kinds map[string]int) []string {
	var list []string
	for kind, count := range kinds {
		list = append(list, fmt.Sprintf("%d of kind %s", count, kind))
	}
	slices.Sort(list)
	return list
}

// add adds an object to those of its kind.
func (o *Objects) add(item json.RawMessage) error {
	var is metav1.TypeMeta
	if err := json.Unmarshal(item, &is); err != nil {
		return fmt.Errorf("want an object: %w", err)
	}
	switch is.APIVersion + " " + is.Kind {
	case "v1 Node":
		return add(&o.Nodes, item, is)
	case "coordination.k8s.io/v1 Lease":
		return add(&o.Leases, item, is)
	case "v1 Pod":
		return add(&o.Pods, item, is)
	case "policy/v1 PodDisruptionBudget":
		return add(&o.Budgets, item, is)
	case "apps/v1 Deployment":
		return add(&o.Deployments, item, is)
	case "apps/v1 DaemonSet":
		return add(&o.DaemonSets, item, is)
	case "apps/v1 ReplicaSet":
		return add(&o.ReplicaSets, item, is)
	case "apps/v1 StatefulSet":
		return add(&o.StatefulSets, item, is)
	case "batch/v1 Job":
		return add(&o.Jobs, item, is)
	case " ":
		return errors.New("want an object with apiVersion and kind")
	}
	o.Unused[is.APIVersion+" "+is.Kind]++
	return nil
}

func add[T any](list *[]T, item json.RawMessage, is metav1.TypeMeta) error {
	var object T
	if err := json.Unmarshal(item, &object); err != nil {
		return fmt.Errorf("a %s that cannot be read: %w", is.Kind, err)
	}
	*list = append(*list, object)
	return nil
}

// notJSON says where data stop being JSON.
func notJSON(data []byte, err error) string {
	if len(strings.TrimSpace(string(data))) == 0 {
		return "it is empty"
	}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fmt.Sprintf("it is no object in JSON: %v", err)
	}
	line := 1 + strings.Count(string(data[:min(int(syntax.Offset), len(data))]), "\n")
	if int(syntax.Offset) >= len(data) {
		return fmt.Sprintf("it ends in line %d in the middle of an object", line)
	}
	return fmt.Sprintf("line %d is no JSON: %v", line, err)
}

func kindAndVersion(is metav1.TypeMeta) string {
	if is.Kind == "" {
		return "an object without a kind"
	}
	return fmt.Sprintf("%s of %s", is.Kind, is.APIVersion)
}
