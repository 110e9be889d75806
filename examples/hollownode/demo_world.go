package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

const (
	demoNamespace = "demo"
	// podsANode is how many pods each node gets.
	podsANode = 3
)

// world plays the user and the scheduler.
type world struct {
	client *memory.Cluster
	nodes  []*corev1.Node
	zones  int
	pods   int // created so far
}

// addPods creates pods that are bound to these nodes.
func (w *world) addPods(ctx context.Context, nodes []string) error {
	for _, node := range nodes {
		w.pods++
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: demoNamespace, Name: fmt.Sprintf("pod-%04d", w.pods),
				Annotations: map[string]string{
					cri.AnnotationDomain + "/pull-time":  "1s",
					cri.AnnotationDomain + "/start-time": "300ms",
					cri.AnnotationDomain + "/stop-time":  "1s",
				},
			},
			Spec: corev1.PodSpec{
				NodeName: node, TerminationGracePeriodSeconds: new(int64(30)),
				Containers: []corev1.Container{{Name: "main", Image: "image"}},
			},
		}
		if _, err := w.client.CoreV1().Pods(demoNamespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// annotate sets an annotation of objects, without the domain. The empty name is
// nothing.
func (w *world) annotate(ctx context.Context, nodes []string, name, value string) error {
	for _, node := range nodes {
		_, err := w.client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, annotation(name, value),
			metav1.PatchOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *world) annotatePod(ctx context.Context, pod, name, value string) error {
	_, err := w.client.CoreV1().Pods(demoNamespace).Patch(ctx, pod, types.MergePatchType, annotation(name, value),
		metav1.PatchOptions{})
	return err
}

func annotation(name, value string) []byte {
	return fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, cri.AnnotationDomain+"/"+name, value)
}

// deletePods deletes all pods, with their grace periods.
func (w *world) deletePods(ctx context.Context) error {
	pods, err := w.client.CoreV1().Pods(demoNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		err := w.client.CoreV1().Pods(demoNamespace).Delete(ctx, pods.Items[i].Name, metav1.DeleteOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

// inZone returns the names of a zone's nodes, and all for the empty zone.
func (w *world) inZone(zone string) []string {
	var names []string
	for _, node := range w.nodes {
		if zone == "" || zoneOf(node) == zone {
			names = append(names, node.Name)
		}
	}
	return names
}

func zoneOf(node *corev1.Node) string { return node.Labels[corev1.LabelTopologyZone] }

// state is what the API server shows.
type state struct {
	version uint64
	nodes   []corev1.Node
	pods    []corev1.Pod
}

func (w *world) see(ctx context.Context) (*state, error) {
	nodes, err := w.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	pods, err := w.client.CoreV1().Pods(demoNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	version, err := strconv.ParseUint(pods.ResourceVersion, 10, 64)
	return &state{version: version, nodes: nodes.Items, pods: pods.Items}, err
}

// zoneState is what the API server shows of a zone.
type zoneState struct {
	name                                         string
	nodes, readyNodes, pods, readyPods, restarts int
}

// zones returns the zones by name.
func (s *state) zones() []*zoneState {
	zones, byNode := map[string]*zoneState{}, map[string]*zoneState{}
	for i := range s.nodes {
		node := &s.nodes[i]
		zone := zones[zoneOf(node)]
		if zone == nil {
			zone = &zoneState{name: zoneOf(node)}
			zones[zone.name] = zone
		}
		byNode[node.Name] = zone
		zone.nodes++
		if readyNode(node).Status == corev1.ConditionTrue {
			zone.readyNodes++
		}
	}
	for i := range s.pods {
		zone := byNode[s.pods[i].Spec.NodeName]
		if zone == nil {
			continue
		}
		zone.pods++
		zone.restarts += int(restarts(&s.pods[i]))
		if readyPod(&s.pods[i]) {
			zone.readyPods++
		}
	}
	var sorted []*zoneState
	for _, zone := range zones {
		sorted = append(sorted, zone)
	}
	slices.SortFunc(sorted, func(a, b *zoneState) int { return strings.Compare(a.name, b.name) })
	return sorted
}

// node returns a node of the state, or an empty one.
func (s *state) node(name string) *corev1.Node {
	for i := range s.nodes {
		if s.nodes[i].Name == name {
			return &s.nodes[i]
		}
	}
	return &corev1.Node{}
}

// readyNode returns the condition Ready of a node, or an empty one.
func readyNode(node *corev1.Node) corev1.NodeCondition {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	return corev1.NodeCondition{}
}

func readyPod(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func restarts(pod *corev1.Pod) (n int32) {
	for i := range pod.Status.ContainerStatuses {
		n += pod.Status.ContainerStatuses[i].RestartCount
	}
	return n
}
