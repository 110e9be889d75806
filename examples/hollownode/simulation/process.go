package simulation

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/hollownode/edge"
	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/simulation/virtualtime"
)

// A process is one life of the kubelets: the fleet and the edge of the real
// program. The dispatcher, the informers and the sender of heartbeats, which
// wait, are its own.
type process struct {
	*cluster

	faults  *faults
	runtime *recorder
	fleet   *kubelet.Fleet
	edge    *edge.Edge
	trimmer edge.Trimmer
	watches [invariant.Kinds]*virtualtime.Watch
	// workers is how many calls run at a time.
	workers int
	// calls are those under way, and client is that of the one that arrives.
	calls  []*call
	client *client
	// broken is from when a node has had what fault, as its kubelet was told.
	broken map[string]map[string]time.Time
	ended  bool
	awake  bool // a turn is planned
	alarm  virtualtime.Alarm
}

// kubelets say how those of a process are.
type kubelets struct {
	// fleet is without a runtime and chance.
	fleet kubelet.FleetConfig
	// network is that of the pods, or empty for the default of the runtime.
	network string
	workers int
	// register are the nodes that create their objects.
	register []*corev1.Node
	beats    func(*process) (beats, error)
}

// start begins a life. Its first lists are current, as those of client-go's
// reflectors are since they stream them.
func start(c *cluster, f *faults, runtime *recorder, config kubelets) (*process, error) {
	p := &process{
		cluster: c, faults: f, runtime: runtime, workers: config.workers,
		broken: map[string]map[string]time.Time{},
	}
	var err error
	config.fleet.Runtime, config.fleet.Rand = runtime, c.random.Float64
	p.fleet, err = kubelet.NewFleet(config.fleet, c.Now())
	if err != nil {
		return nil, fmt.Errorf("start the kubelets: %w", err)
	}
	beats, err := config.beats(p)
	if err != nil {
		return nil, fmt.Errorf("start the heartbeats: %w", err)
	}
	for kind := range invariant.Kinds {
		p.watches[kind] = &virtualtime.Watch{Timeline: c.Timeline, Log: &c.logs[kind], Transform: p.trimmed, Shown: p.wake}
	}
	observe := func(turn func(now time.Time)) { turn(p.Now()) }
	p.edge, err = edge.NewEdge(edge.Config{
		Fleet: p.fleet, Runtime: runtime, Observe: observe, View: observe,
		Pods:  func(namespace string) edge.PodClient { return pods{p.client, namespace} },
		Nodes: nodes{p}, PodsOf: p.podsOf, Heartbeats: beats, IsOurs: func(*corev1.Node) bool { return true },
	})
	if err != nil {
		return nil, fmt.Errorf("start the kubelets: %w", err)
	}
	p.watches[invariant.Nodes].Handler = nodeHandler{p.edge.Nodes, p}
	p.watches[invariant.Pods].Handler = p.edge.Pods
	for _, kind := range []invariant.Kind{invariant.Nodes, invariant.Pods} {
		p.watches[kind].List(c.logs[kind].VersionAt(c.Now()), func() time.Duration { return p.watchDelay(f, kind) })
	}
	p.edge.MarkSynced()
	runtime.restores = false
	for _, node := range config.register {
		if err := p.fleet.Register(p.Now(), node); err != nil {
			return nil, fmt.Errorf("register the nodes: %w", err)
		}
	}
	p.wake()
	beats.begin()
	return p, nil
}

// trimmed is what the transform of the informers leaves.
func (p *process) trimmed(object metav1.Object) metav1.Object {
	switch typed := object.(type) {
	case *corev1.Pod:
		kept, _ := p.trimmer.Trim(typed)
		if pod, ok := kept.(*corev1.Pod); ok {
			return pod
		}
	case *corev1.Node:
		kept, _ := p.trimmer.Trim(typed.DeepCopy()) // it changes nodes in place
		if node, ok := kept.(*corev1.Node); ok {
			return node
		}
	}
	return object
}

// podsOf returns the pods of a node that the informer has.
func (p *process) podsOf(node string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, object := range p.watches[invariant.Pods].Objects() {
		if pod, ok := object.(*corev1.Pod); ok && pod.Spec.NodeName == node {
			pods = append(pods, pod)
		}
	}
	return pods
}

// end kills the process. Of its calls under way some arrive, and none is
// answered.
func (p *process) end() {
	for _, c := range p.calls {
		if !c.arrived && p.random.IntN(2) == 0 {
			p.arrive(c)
		}
		c.arrived = true
	}
	p.ended, p.calls = true, nil
	for _, w := range p.watches {
		w.Close()
	}
	for node := range p.broken {
		p.mended(node)
	}
}

// told shows a change by and by.
func (p *process) told(kind invariant.Kind, change virtualtime.Change) {
	if !p.ended {
		p.watches[kind].Show(change, p.watchDelay(p.faults, kind))
	}
}

// wake plans a turn for now.
func (p *process) wake() {
	if p.awake || p.ended {
		return
	}
	p.awake = true
	p.After(0, p.turn)
}

// turn lets happen what is due, and sends calls.
func (p *process) turn() {
	p.awake = false
	if p.ended {
		return
	}
	for len(p.calls) < p.workers {
		task, ok := p.fleet.Start(p.Now())
		if !ok {
			p.setAlarm()
			return
		}
		p.perform(task)
	}
}

func (p *process) setAlarm() {
	if next, ok := p.fleet.Next(p.Now()); ok {
		p.alarm.Set(p.Timeline, next, p.wake)
	}
}

// nodeHandler records the faults of nodes as their kubelets are told.
type nodeHandler struct {
	cache.ResourceEventHandler

	process *process
}

// OnAdd implements [cache.ResourceEventHandler].
func (h nodeHandler) OnAdd(object any, first bool) {
	h.note(nil, object)
	h.ResourceEventHandler.OnAdd(object, first)
}

// OnUpdate implements [cache.ResourceEventHandler].
func (h nodeHandler) OnUpdate(before, after any) {
	h.note(before, after)
	h.ResourceEventHandler.OnUpdate(before, after)
}
