package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// witness sees the nodes that the API server shows, on a connection of its own.
// An informer would not do: it comes back up to a minute after an outage, and
// would miss what is over by then.
type witness struct {
	client kubernetes.Interface

	mu    sync.Mutex
	nodes map[string]*nodeSeen
}

// nodeSeen is what was seen of a node.
type nodeSeen struct {
	ready corev1.ConditionStatus
	// unknown is when and how Ready became Unknown.
	unknown []sighting
	taints  []corev1.Taint
	// tainted says that it had a NoExecute taint for its silence.
	tainted bool
}

// sighting is one time at which Ready was seen to become Unknown.
type sighting struct {
	at time.Time
	// conditions are those that are Unknown, with their reasons.
	conditions string
}

// retryPeriod is how soon the witness comes back after a watch has ended.
const retryPeriod = 100 * time.Millisecond

func newWitness(client kubernetes.Interface) *witness {
	return &witness{client: client, nodes: map[string]*nodeSeen{}}
}

// run watches until ctx ends.
func (w *witness) run(ctx context.Context) {
	for ctx.Err() == nil {
		w.watch(ctx)
		timer := time.NewTimer(retryPeriod)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// watch lists and watches the nodes until the watch ends, for any reason.
func (w *witness) watch(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	list, err := w.client.CoreV1().Nodes().List(limited, metav1.ListOptions{})
	cancel()
	if err != nil {
		return
	}
	for i := range list.Items {
		w.see(&list.Items[i], time.Now())
	}
	options := metav1.ListOptions{ResourceVersion: list.ResourceVersion}
	watched, err := w.client.CoreV1().Nodes().Watch(ctx, options)
	if err != nil {
		return
	}
	defer watched.Stop()
	for event := range watched.ResultChan() {
		switch event.Type {
		case watch.Added, watch.Modified:
			if node, ok := event.Object.(*corev1.Node); ok {
				w.see(node, time.Now())
			}
		case watch.Error:
			return
		case watch.Deleted, watch.Bookmark:
		}
	}
}

func (w *witness) see(node *corev1.Node, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, known := w.nodes[node.Name]
	if !known {
		n = &nodeSeen{}
		w.nodes[node.Name] = n
	}
	ready := readiness(node)
	if ready == corev1.ConditionUnknown && n.ready != ready {
		n.unknown = append(n.unknown, sighting{now, unknownConditions(node)})
	}
	n.ready, n.taints = ready, node.Spec.Taints
	n.tainted = n.tainted || slices.ContainsFunc(node.Spec.Taints, isForSilence)
}

func readiness(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

func unknownConditions(node *corev1.Node) string {
	var all []string
	for _, c := range node.Status.Conditions {
		if c.Status == corev1.ConditionUnknown {
			all = append(all, fmt.Sprintf("%s (%s)", c.Type, c.Reason))
		}
	}
	return strings.Join(all, ", ")
}

// isForSilence reports whether a taint makes the pods of a silent node leave.
func isForSilence(taint corev1.Taint) bool {
	return taint.Effect == corev1.TaintEffectNoExecute &&
		(taint.Key == corev1.TaintNodeUnreachable || taint.Key == corev1.TaintNodeNotReady)
}

// all returns the first complaint about the named nodes, or nil.
func (w *witness) all(names []string, complain func(*nodeSeen) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		n, known := w.nodes[name]
		if !known {
			return fmt.Errorf("node %s was not seen", name)
		}
		if err := complain(n); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
	}
	return nil
}

// of returns a copy of what was seen of a node.
func (w *witness) of(name string) nodeSeen {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n, known := w.nodes[name]; known {
		seen := *n
		seen.unknown = slices.Clone(n.unknown)
		return seen
	}
	return nodeSeen{}
}

// wantReady complains about a node that has not reported, or is tainted.
func (n *nodeSeen) wantReady() error {
	if n.ready != corev1.ConditionTrue {
		return fmt.Errorf("condition Ready is %q", n.ready)
	}
	return nil
}

func (n *nodeSeen) wantUntainted() error {
	if len(n.taints) > 0 {
		return fmt.Errorf("has taints %v", n.taints)
	}
	return n.wantReady()
}

func (n *nodeSeen) wantUnknown() error {
	if n.ready != corev1.ConditionUnknown {
		return fmt.Errorf("condition Ready is %q", n.ready)
	}
	return nil
}
