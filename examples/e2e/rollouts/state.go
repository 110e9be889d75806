package rollouts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

// A snapshot is what the API server has at a time. Its objects are only read.
type snapshot struct {
	set       *appsv1.DaemonSet
	pods      []corev1.Pod
	revisions []appsv1.ControllerRevision
}

// facts are the state of a cluster: the value of each fact by its name. What
// two clusters never have in common is left out: UIDs, times, resource
// versions, addresses, names of pods. Everything else counts, pods by node, and
// the data of revisions by its bytes.
type facts map[string]string

// facts returns the facts of the snapshot, whose set must not be nil. The error
// is about an object that is not JSON.
func (s snapshot) facts() (facts, error) {
	f := facts{}
	err := f.add("set", map[string]any{
		"generation": s.set.Generation, "annotations": s.set.Annotations, "labels": s.set.Labels,
		"spec": s.set.Spec, "status": s.set.Status,
	})
	if err != nil {
		return nil, err
	}
	for node, pods := range s.byNode() {
		f["pods on "+node] = strconv.Itoa(len(pods))
		for i, pod := range pods {
			if err := f.add(fmt.Sprintf("pod %d on %s", i+1, node), map[string]any{
				"labels": pod.Labels, "annotations": pod.Annotations, "finalizers": pod.Finalizers,
				"owners": owners(pod, s.set.UID), "spec": pod.Spec, "phase": pod.Status.Phase,
				"ready": fleet.IsReady(pod), "terminating": pod.DeletionTimestamp != nil,
			}); err != nil {
				return nil, err
			}
		}
	}
	for i := range s.revisions {
		revision := &s.revisions[i]
		name := "revision " + revision.Name
		f[name+": data"] = string(revision.Data.Raw)
		if err := f.add(name, map[string]any{
			"number": revision.Revision, "labels": revision.Labels, "annotations": revision.Annotations,
			"owners": owners(revision, s.set.UID), "terminating": revision.DeletionTimestamp != nil,
		}); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// byNode returns the pods of each node. Those of one node are in the order of
// their revisions and ages, which does not depend on their names.
func (s snapshot) byNode() map[string][]*corev1.Pod {
	byNode := map[string][]*corev1.Pod{}
	for i := range s.pods {
		node := cmp.Or(s.pods[i].Spec.NodeName, "no node")
		byNode[node] = append(byNode[node], &s.pods[i])
	}
	hash := func(pod *corev1.Pod) string { return pod.Labels[appsv1.ControllerRevisionHashLabelKey] }
	for _, pods := range byNode {
		slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
			return cmp.Or(cmp.Compare(hash(a), hash(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
		})
	}
	return byNode
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

// add adds a fact for each field of a value, by its path in JSON.
func (f facts) add(name string, value any) error {
	var fields any
	encoded, err := json.Marshal(value)
	if err == nil {
		err = utiljson.Unmarshal(encoded, &fields) // int64 as they are
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	f.flatten(name+":", " ", fields)
	return nil
}

// flatten adds the fields below a path. An empty list or object is no fact.
func (f facts) flatten(path, separator string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			f.flatten(path+separator+key, ".", field)
		}
	case []any:
		for i, item := range value {
			f.flatten(fmt.Sprintf("%s[%d]", path, i), ".", item)
		}
	case nil:
	default:
		f[path] = fmt.Sprint(value)
	}
}

// disturbances returns what has happened to the pods and revisions of one
// cluster between two snapshots, a line for each, in order. It is empty if all
// are there, not written to since, and no other is, except pods on nodes that
// were added.
func disturbances(before, after snapshot, added ...string) (lines []string) {
	was, is := before.things(), after.things()
	for uid, old := range was {
		now, there := is[uid]
		switch {
		case !there:
			lines = append(lines, old.name+" is gone")
		case now.GetDeletionTimestamp() != nil && old.GetDeletionTimestamp() == nil:
			lines = append(lines, old.name+" is terminating")
		case now.GetResourceVersion() != old.GetResourceVersion():
			lines = append(lines, old.name+" was written to")
		}
	}
	for uid, now := range is {
		if _, known := was[uid]; !known && !slices.Contains(added, now.node) {
			lines = append(lines, now.name+" is new")
		}
	}
	slices.Sort(lines)
	return lines
}

// A thing is a pod or a revision, with the name that lines give it. Only a pod
// has a node.
type thing struct {
	metav1.Object
	name, node string
}

// things returns the pods and revisions.
func (s snapshot) things() map[types.UID]thing {
	all := map[types.UID]thing{}
	for i := range s.pods {
		pod := &s.pods[i]
		all[pod.UID] = thing{pod, "pod " + pod.Name, pod.Spec.NodeName}
	}
	for i := range s.revisions {
		revision := &s.revisions[i]
		all[revision.UID] = thing{Object: revision, name: "revision " + revision.Name}
	}
	return all
}

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
		case !fleet.IsReady(pod):
			return fmt.Errorf("pod %s on %s is not ready", pod.Name, node)
		}
		byNode[node]++
	}
	var fit, misplaced int32
	for node, taint := range g.nodes {
		want := 1
		switch taint {
		case corev1.TaintEffectNoExecute:
			want = 0
		case corev1.TaintEffectNoSchedule:
			misplaced++
		default:
			fit++
		}
		if byNode[node] != want {
			return fmt.Errorf("%s has %d pods, want %d", node, byNode[node], want)
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
