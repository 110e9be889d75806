package state

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Snapshot is what the API server has at a time. Its objects are only read.
type Snapshot struct {
	Set       *appsv1.DaemonSet
	Pods      []corev1.Pod
	Revisions []appsv1.ControllerRevision
}

// Facts is the state of a cluster: the value of each fact by its name.
type Facts map[string]string

// Facts returns the facts of the snapshot, whose Set must not be nil. The error
// is about an object that is not JSON.
func (s Snapshot) Facts() (Facts, error) {
	facts := Facts{}
	err := facts.add("set", map[string]any{
		"generation": s.Set.Generation, "annotations": s.Set.Annotations, "labels": s.Set.Labels,
		"spec": s.Set.Spec, "status": s.Set.Status,
	})
	if err != nil {
		return nil, err
	}
	for node, pods := range s.byNode() {
		facts["pods on "+node] = strconv.Itoa(len(pods))
		for i, pod := range pods {
			if err := facts.addPod(fmt.Sprintf("pod %d on %s", i+1, node), pod, s.Set.UID); err != nil {
				return nil, err
			}
		}
	}
	for i := range s.Revisions {
		if err := facts.addRevision(&s.Revisions[i], s.Set.UID); err != nil {
			return nil, err
		}
	}
	return facts, nil
}

// noNode is where pods are that are not bound.
const noNode = "no node"

// byNode returns the pods of each node. Those of one node are in the order of
// their revisions and ages, which does not depend on their names.
func (s Snapshot) byNode() map[string][]*corev1.Pod {
	byNode := map[string][]*corev1.Pod{}
	for i := range s.Pods {
		node := s.Pods[i].Spec.NodeName
		if node == "" {
			node = noNode
		}
		byNode[node] = append(byNode[node], &s.Pods[i])
	}
	for _, pods := range byNode {
		slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
			if order := strings.Compare(hash(a), hash(b)); order != 0 {
				return order
			}
			return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
		})
	}
	return byNode
}

func hash(pod *corev1.Pod) string { return pod.Labels[appsv1.ControllerRevisionHashLabelKey] }

func (f Facts) addPod(name string, pod *corev1.Pod, set types.UID) error {
	return f.add(name, map[string]any{
		"labels": pod.Labels, "annotations": pod.Annotations, "finalizers": pod.Finalizers,
		"owners": owners(pod, set), "spec": pod.Spec, "phase": pod.Status.Phase,
		"ready": IsReady(pod), "terminating": pod.DeletionTimestamp != nil,
	})
}

func (f Facts) addRevision(revision *appsv1.ControllerRevision, set types.UID) error {
	name := "revision " + revision.Name
	f[name+": data"] = string(revision.Data.Raw)
	return f.add(name, map[string]any{
		"number": revision.Revision, "labels": revision.Labels, "annotations": revision.Annotations,
		"owners": owners(revision, set), "terminating": revision.DeletionTimestamp != nil,
	})
}

// owners returns the references of an object, with words for UIDs.
func owners(object metav1.Object, set types.UID) []metav1.OwnerReference {
	references := slices.Clone(object.GetOwnerReferences())
	for i := range references {
		if references[i].UID == set {
			references[i].UID = "that of the set"
		} else {
			references[i].UID = "another"
		}
	}
	return references
}

// IsReady reports whether a pod has the condition Ready.
func IsReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// add adds a fact for each field of a value, by its path in JSON.
func (f Facts) add(name string, value any) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var fields any
	decoder := json.NewDecoder(strings.NewReader(string(encoded)))
	decoder.UseNumber() // int64 as they are
	if err := decoder.Decode(&fields); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	f.flatten(name+": ", fields)
	return nil
}

// flatten adds the fields below a path. An empty list or object is no fact.
func (f Facts) flatten(path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			f.flatten(join(path, key), field)
		}
	case []any:
		for i, item := range value {
			f.flatten(fmt.Sprintf("%s[%d]", path, i), item)
		}
	case nil:
	default:
		f[path] = fmt.Sprint(value)
	}
}

func join(path, key string) string {
	if strings.HasSuffix(path, ": ") {
		return path + key
	}
	return path + "." + key
}

// A Difference is a fact that two states do not have in common.
type Difference struct {
	// Fact is its name.
	Fact string
	// A and B are its values, and none if a state has no such fact.
	A, B string
}

const none = "none"

// Compare returns the differences, in the order of their names.
func Compare(a, b Facts) []Difference {
	all := maps.Clone(a)
	maps.Copy(all, b)
	var differences []Difference
	for _, fact := range slices.Sorted(maps.Keys(all)) {
		inA, isInA := a[fact]
		inB, isInB := b[fact]
		if inA == inB && isInA == isInB {
			continue
		}
		difference := Difference{Fact: fact, A: none, B: none}
		if isInA {
			difference.A = strconv.Quote(inA)
		}
		if isInB {
			difference.B = strconv.Quote(inB)
		}
		differences = append(differences, difference)
	}
	return differences
}
