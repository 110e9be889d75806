package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// witness sees what the API shows of nodes and pods, and when.
type witness struct {
	client kubernetes.Interface

	mu    sync.Mutex
	nodes map[string]*nodeSeen
	pods  map[string]*podSeen
}

type nodeSeen struct {
	ready   corev1.ConditionStatus
	unknown []time.Time // when it became Unknown
	tainted []span      // with NoExecute
}

type podSeen struct {
	node     string
	patience patience
	evicted  time.Time
}

// span is a time from and to; an open one has no end yet.
type span struct{ from, to time.Time }

func (s span) open() bool { return s.to.IsZero() }

func (s span) length(now time.Time) time.Duration {
	if s.open() {
		return now.Sub(s.from)
	}
	return s.to.Sub(s.from)
}

func newWitness(client kubernetes.Interface) *witness {
	return &witness{client: client, nodes: map[string]*nodeSeen{}, pods: map[string]*podSeen{}}
}

func (w *witness) run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(w.client, 0)
	defer factory.Shutdown()
	nodes, pods := factory.Core().V1().Nodes().Informer(), factory.Core().V1().Pods().Informer()
	if _, err := handle(nodes, w.seeNode, func(*corev1.Node) {}); err != nil {
		return err
	}
	_, err := handle(pods,
		func(pod *corev1.Pod) { w.seePod(pod, false) },
		func(pod *corev1.Pod) { w.seePod(pod, true) })
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
	now := time.Now()
	n, known := w.nodes[node.Name]
	if !known {
		n = &nodeSeen{}
		w.nodes[node.Name] = n
	}
	ready := corev1.ConditionStatus("")
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			ready = c.Status
		}
	}
	if ready == corev1.ConditionUnknown && n.ready != ready {
		n.unknown = append(n.unknown, now)
	}
	n.ready = ready
	tainted := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
	last := len(n.tainted) - 1
	switch {
	case tainted && (last < 0 || !n.tainted[last].open()):
		n.tainted = append(n.tainted, span{from: now})
	case !tainted && last >= 0 && n.tainted[last].open():
		n.tainted[last].to = now
	}
}

func (w *witness) seePod(pod *corev1.Pod, gone bool) {
	if pod.Spec.NodeName == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p, known := w.pods[pod.Name]
	if !known {
		p = &podSeen{node: pod.Spec.NodeName, patience: patienceOf(pod)}
		w.pods[pod.Name] = p
	}
	if p.evicted.IsZero() && (gone || pod.DeletionTimestamp != nil) {
		p.evicted = time.Now()
	}
}

func patienceOf(pod *corev1.Pod) patience {
	switch {
	case len(pod.Spec.Tolerations) == 0:
		return impatient
	case pod.Spec.Tolerations[0].TolerationSeconds != nil:
		return patient
	}
	return faithful
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
		if last := len(n.tainted) - 1; last >= 0 && n.tainted[last].open() {
			z.tainted++
		}
	}
	for _, p := range w.pods {
		if strings.HasPrefix(p.node, prefix) && !p.evicted.IsZero() {
			z.evicted++
		}
	}
	return z
}
