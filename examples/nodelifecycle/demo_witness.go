package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/kubelife/lifecycle/timedqueue/feed"
)

// witness sees what the API shows of nodes and pods now, for the view. When it
// runs late, so does the view; the summary is of the history.
type witness struct {
	client kubernetes.Interface

	mu    sync.Mutex
	nodes map[string]*nodeSeen
	pods  map[string]*podSeen
}

type nodeSeen struct {
	ready   corev1.ConditionStatus
	tainted bool // with NoExecute
}

type podSeen struct {
	node    string
	evicted bool
}

func newWitness(client kubernetes.Interface) *witness {
	return &witness{client: client, nodes: map[string]*nodeSeen{}, pods: map[string]*podSeen{}}
}

func (w *witness) run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(w.client, 0)
	defer factory.Shutdown()
	nodes, pods := factory.Core().V1().Nodes().Informer(), factory.Core().V1().Pods().Informer()
	seeNodes, nodeErr := feed.NewHandler(feed.Config[*corev1.Node]{
		Observe: w.observe,
		Seen:    w.seeNode,
		Gone:    func(time.Time, *corev1.Node) {},
	})
	seePods, podErr := feed.NewHandler(feed.Config[*corev1.Pod]{
		Observe: w.observe,
		Seen:    func(_ time.Time, pod *corev1.Pod) { w.seePod(pod, false) },
		Gone:    func(_ time.Time, pod *corev1.Pod) { w.seePod(pod, true) },
	})
	if err := errors.Join(nodeErr, podErr); err != nil {
		return err
	}
	_, nodeErr = nodes.AddEventHandler(seeNodes)
	_, podErr = pods.AddEventHandler(seePods)
	if err := errors.Join(nodeErr, podErr); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	return nil
}

func (w *witness) observe(see func(now time.Time)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	see(time.Now())
}

func (w *witness) seeNode(_ time.Time, node *corev1.Node) {
	n := &nodeSeen{}
	w.nodes[node.Name] = n
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			n.ready = c.Status
		}
	}
	n.tainted = slices.ContainsFunc(node.Spec.Taints,
		func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
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
	w.mu.Lock()
	defer w.mu.Unlock()
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
