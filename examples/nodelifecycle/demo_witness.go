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
	seeNodes, nodeErr := feed.NewHandler(feed.Config[*corev1.Node]{
		Observe: w.observe,
		Seen:    w.seeNode,
		Gone:    func(time.Time, *corev1.Node) {},
	})
	seePods, podErr := feed.NewHandler(feed.Config[*corev1.Pod]{
		Observe: w.observe,
		Seen:    func(now time.Time, pod *corev1.Pod) { w.seePod(now, pod, false) },
		Gone:    func(now time.Time, pod *corev1.Pod) { w.seePod(now, pod, true) },
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

func (w *witness) seeNode(now time.Time, node *corev1.Node) {
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

func (w *witness) seePod(now time.Time, pod *corev1.Pod, gone bool) {
	if pod.Spec.NodeName == "" {
		return
	}
	p, known := w.pods[pod.Name]
	if !known {
		p = &podSeen{node: pod.Spec.NodeName, patience: patienceOf(pod)}
		w.pods[pod.Name] = p
	}
	if p.evicted.IsZero() && (gone || pod.DeletionTimestamp != nil) {
		p.evicted = now
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
