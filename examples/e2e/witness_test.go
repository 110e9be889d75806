package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// witness sees what the API server shows of nodes and pods, and when. It knows
// nothing of the library.
type witness struct {
	client kubernetes.Interface

	mu    sync.Mutex
	nodes map[string]*nodeSeen
	pods  map[string]*podSeen
}

type nodeSeen struct {
	name    string
	ready   corev1.ConditionStatus
	since   time.Time // when ready was first seen as it is
	taints  []corev1.Taint
	tainted []time.Time // when NoExecute was seen to come
}

type podSeen struct {
	uid      types.UID
	node     string
	ready    corev1.ConditionStatus
	evicting time.Time // when it was first seen terminating or gone
	reason   string    // of its DisruptionTarget condition
}

func newWitness(client kubernetes.Interface) *witness {
	return &witness{client: client, nodes: map[string]*nodeSeen{}, pods: map[string]*podSeen{}}
}

func (w *witness) run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(w.client, 0)
	defer factory.Shutdown()
	_, err := factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.seeNode(object.(*corev1.Node)) },
		UpdateFunc: func(_, object any) { w.seeNode(object.(*corev1.Node)) },
	})
	if err != nil {
		return err
	}
	_, err = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.seePod(object.(*corev1.Pod), false) },
		UpdateFunc: func(_, object any) { w.seePod(object.(*corev1.Pod), false) },
		DeleteFunc: func(object any) {
			if unseen, missed := object.(cache.DeletedFinalStateUnknown); missed {
				object = unseen.Obj
			}
			w.seePod(object.(*corev1.Pod), true)
		},
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	return nil
}

func (w *witness) seeNode(node *corev1.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, known := w.nodes[node.Name]
	if !known {
		n = &nodeSeen{name: node.Name}
		w.nodes[node.Name] = n
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != n.ready {
			n.ready, n.since = c.Status, time.Now()
		}
	}
	if hasNoExecute(node.Spec.Taints) && !hasNoExecute(n.taints) {
		n.tainted = append(n.tainted, time.Now())
	}
	n.taints = node.Spec.Taints
}

func (w *witness) seePod(pod *corev1.Pod, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, known := w.pods[pod.Name]
	if !known || p.uid != pod.UID {
		p = &podSeen{uid: pod.UID}
		w.pods[pod.Name] = p
	}
	p.node = pod.Spec.NodeName
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady:
			p.ready = c.Status
		case c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue:
			p.reason = c.Reason
		}
	}
	if p.evicting.IsZero() && (gone || pod.DeletionTimestamp != nil) {
		p.evicting = time.Now()
	}
}

func hasNoExecute(taints []corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
}

// ask calls a question with the witness locked.
func (w *witness) ask(question func(*witness) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return question(w)
}

// each asks about nodes and returns the first complaint.
func (w *witness) each(names []string, ask func(*nodeSeen) error) error {
	for _, name := range names {
		n, known := w.nodes[name]
		if !known {
			return fmt.Errorf("node %s was not seen", name)
		}
		if err := ask(n); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
	}
	return nil
}

func (n *nodeSeen) wantReady(status corev1.ConditionStatus) error {
	if n.ready != status {
		return fmt.Errorf("Ready is %q, want %q", n.ready, status)
	}
	return nil
}

// wantIll wants a node that is Unknown and tainted so that its pods leave.
func (n *nodeSeen) wantIll() error {
	if err := n.wantReady(corev1.ConditionUnknown); err != nil {
		return err
	}
	for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
		if !slices.ContainsFunc(n.taints, func(t corev1.Taint) bool {
			return t.Key == corev1.TaintNodeUnreachable && t.Effect == effect
		}) {
			return fmt.Errorf("no unreachable taint with effect %s in %v", effect, n.taints)
		}
	}
	return nil
}

// wantHeld wants a node that is Unknown and gets no new pods, whose pods stay.
func (n *nodeSeen) wantHeld() error {
	if err := n.wantReady(corev1.ConditionUnknown); err != nil {
		return err
	}
	if len(n.taints) != 1 || n.taints[0].Key != corev1.TaintNodeUnreachable ||
		n.taints[0].Effect != corev1.TaintEffectNoSchedule {
		return fmt.Errorf("taints are %v, want unreachable:NoSchedule alone", n.taints)
	}
	return nil
}

// wantHealthy wants a node that is ready and has no taint.
func (n *nodeSeen) wantHealthy() error {
	if err := n.wantReady(corev1.ConditionTrue); err != nil {
		return err
	}
	if len(n.taints) > 0 {
		return fmt.Errorf("has taints %v", n.taints)
	}
	return nil
}

// evicted returns the names of the pods that were seen to go.
func (w *witness) evicted() []string {
	var names []string
	for name, p := range w.pods {
		if !p.evicting.IsZero() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// wantEvicted wants exactly these pods to be gone, or going.
func wantEvicted(names ...string) func(*witness) error {
	slices.Sort(names)
	return func(w *witness) error {
		gone := w.evicted()
		if slices.Equal(gone, names) {
			return nil
		}
		return fmt.Errorf("%d pods gone, want %d; missing %v, too many %v", len(gone), len(names), without(names, gone),
			without(gone, names))
	}
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(some, name) })
}
