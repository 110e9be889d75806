// Package witness sees the nodes that an API server shows, and when. It serves
// the programs that judge a controller by the world and not by its own word.
package witness

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	nodeutil "k8s.io/component-helpers/node/util"

	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// Witness sees the nodes that the API server shows, on a connection of its own.
// An informer would not do: it comes back up to a minute after an outage, and
// would miss what is over by then. Its methods may be called concurrently.
type Witness struct {
	client kubernetes.Interface

	mu    sync.Mutex
	nodes map[string]*Node
}

// Node is what was seen of a node. The zero value is one that was not seen.
type Node struct {
	Ready corev1.ConditionStatus
	// Unknown is each time at which Ready was Unknown.
	Unknown []Sighting
	Taints  []corev1.Taint
	// Tainted is each time at which it had a NoExecute taint for its silence.
	Tainted []Sighting
	// TaintAdded is the earliest time that such a taint said it was added at, in
	// whole seconds. Zero: none has said.
	TaintAdded time.Time
}

// Sighting is one time at which a node was seen in a state.
type Sighting struct {
	// At is when it began, Ended when it was over. Zero: it lasts.
	At, Ended time.Time
}

// follow notes that a state is there or not.
func follow(seen []Sighting, there bool, now time.Time) []Sighting {
	last := len(seen) - 1
	lasts := last >= 0 && seen[last].Ended.IsZero()
	switch {
	case there && !lasts:
		return append(seen, Sighting{At: now})
	case !there && lasts:
		seen[last].Ended = now
	}
	return seen
}

// retryPeriod is how soon the witness comes back after a watch has ended.
const retryPeriod = 100 * time.Millisecond

// New returns a witness that has seen nothing yet.
func New(client kubernetes.Interface) *Witness {
	return &Witness{client: client, nodes: map[string]*Node{}}
}

// Run watches until ctx ends.
func (w *Witness) Run(ctx context.Context) {
	for ctx.Err() == nil {
		w.watch(ctx)
		_ = wait.Pause(ctx, retryPeriod) // fails when ctx has ended
	}
}

// watch lists and watches the nodes until the watch ends, for any reason.
func (w *Witness) watch(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	list, err := w.client.CoreV1().Nodes().List(limited, metav1.ListOptions{})
	cancel()
	if err != nil {
		return
	}
	for i := range list.Items {
		w.See(&list.Items[i], time.Now())
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
				w.See(node, time.Now())
			}
		case watch.Error:
			return
		case watch.Deleted, watch.Bookmark:
		}
	}
}

// See takes in a node as it is at a time. Run calls it.
func (w *Witness) See(node *corev1.Node, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, known := w.nodes[node.Name]
	if !known {
		n = &Node{}
		w.nodes[node.Name] = n
	}
	n.Ready, n.Taints = "", node.Spec.Taints
	if _, ready := nodeutil.GetNodeCondition(&node.Status, corev1.NodeReady); ready != nil {
		n.Ready = ready.Status
	}
	n.Unknown = follow(n.Unknown, n.Ready == corev1.ConditionUnknown, now)
	n.Tainted = follow(n.Tainted, slices.ContainsFunc(n.Taints, isForSilence), now)
	for _, taint := range n.Taints {
		if added := taint.TimeAdded; isForSilence(taint) && added != nil &&
			(n.TaintAdded.IsZero() || added.Time.Before(n.TaintAdded)) {
			n.TaintAdded = added.Time
		}
	}
}

// isForSilence reports whether a taint makes the pods of a silent node leave.
func isForSilence(taint corev1.Taint) bool {
	return taint.Effect == corev1.TaintEffectNoExecute &&
		(taint.Key == corev1.TaintNodeUnreachable || taint.Key == corev1.TaintNodeNotReady)
}

// All returns the first complaint about the named nodes, or nil.
func (w *Witness) All(names []string, complain func(*Node) error) error {
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

// Of returns a copy of what was seen of a node.
func (w *Witness) Of(name string) Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n, known := w.nodes[name]; known {
		seen := *n
		seen.Unknown, seen.Tainted = slices.Clone(n.Unknown), slices.Clone(n.Tainted)
		return seen
	}
	return Node{}
}

// WantReady complains about a node that does not report that it is ready.
func (n *Node) WantReady() error { return n.want(corev1.ConditionTrue) }

// WantUnknown complains about a node whose Ready is not Unknown.
func (n *Node) WantUnknown() error { return n.want(corev1.ConditionUnknown) }

func (n *Node) want(ready corev1.ConditionStatus) error {
	if n.Ready != ready {
		return fmt.Errorf("condition Ready is %q", n.Ready)
	}
	return nil
}

// WantUntainted complains about a node that is not ready, or has any taint.
func (n *Node) WantUntainted() error {
	if len(n.Taints) > 0 {
		return fmt.Errorf("has taints %v", n.Taints)
	}
	return n.WantReady()
}
