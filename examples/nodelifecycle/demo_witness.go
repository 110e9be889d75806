package main

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// witness sees what the API server has of nodes and pods now, for the view. The
// summary is of the history.
type witness struct {
	cluster *memory.Cluster
	nodes   map[string]nodeSeen
	pods    map[string]*podSeen
	// seenNodes and seenPods are the last versions that it has seen.
	seenNodes, seenPods uint64
}

type nodeSeen struct {
	ready   corev1.ConditionStatus
	tainted bool // with NoExecute
}

type podSeen struct {
	node    string
	evicted bool
}

func newWitness(cluster *memory.Cluster) *witness {
	return &witness{cluster: cluster, nodes: map[string]nodeSeen{}, pods: map[string]*podSeen{}}
}

// look takes in what has been stored since the last call.
func (w *witness) look() {
	for _, change := range w.changes("nodes", &w.seenNodes) {
		if node, ok := change.Object.(*corev1.Node); ok {
			w.seeNode(node)
		}
	}
	for _, change := range w.changes("pods", &w.seenPods) {
		if pod, ok := change.Object.(*corev1.Pod); ok {
			w.seePod(pod, change.Deleted)
		}
	}
}

func (w *witness) changes(resource string, seen *uint64) []memory.Change {
	changes := w.cluster.ChangesAfter(corev1.SchemeGroupVersion.WithResource(resource), *seen)
	if n := len(changes); n > 0 {
		*seen = changes[n-1].Version
	}
	return changes
}

func (w *witness) seeNode(node *corev1.Node) {
	n := nodeSeen{tainted: slices.ContainsFunc(node.Spec.Taints,
		func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			n.ready = c.Status
		}
	}
	w.nodes[node.Name] = n
}

func (w *witness) seePod(pod *corev1.Pod, gone bool) {
	if pod.Spec.NodeName == "" {
		return
	}
	p, known := w.pods[pod.Name]
	if !known {
		p = &podSeen{node: pod.Spec.NodeName}
		w.pods[pod.Name] = p
	}
	p.evicted = p.evicted || gone || pod.DeletionTimestamp != nil
}

// zoneSeen is what the view shows of a zone.
type zoneSeen struct{ ready, unknown, tainted, evicted int }

func (w *witness) zone(name string) zoneSeen {
	var z zoneSeen
	prefix := "node-" + name
	for node, n := range w.nodes {
		if !strings.HasPrefix(node, prefix) {
			continue
		}
		switch n.ready {
		case corev1.ConditionTrue:
			z.ready++
		case corev1.ConditionUnknown:
			z.unknown++
		}
		if n.tainted {
			z.tainted++
		}
	}
	for _, p := range w.pods {
		if strings.HasPrefix(p.node, prefix) && p.evicted {
			z.evicted++
		}
	}
	return z
}
