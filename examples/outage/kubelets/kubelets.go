package kubelets

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/edge"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// Kubelets are those of a world. They are used through the world.
type Kubelets struct {
	world   *model.World
	fleet   *kubelet.Fleet
	edge    *edge.Edge
	beats   *heartbeat.Stepper
	context context.Context // of all calls: it discards what is logged
	shapes  shapes

	// acting is the machine whose task is performed.
	acting *model.Machine
	// seeing is set while the edge is shown a node. What has to be said of it is
	// for the world to decide.
	seeing bool
	// started are the machines whose kubelets run.
	started map[*model.Machine]bool
	// lives are those of the kubelets of machines that were not ready once.
	lives  map[*model.Machine]life
	synced bool
	awake  bool          // a turn is planned for now
	alarm  time.Duration // the earliest turn that is planned for later, zero: none
}

var _ model.Kubelets = (*Kubelets)(nil)

// leaseShare is how many intervals a lease lasts. Source: the kubelet's
// defaults, 40 s and 10 s.
const leaseShare = 4

// New returns the kubelets of a world that has no machine yet.
func New(world *model.World) (*Kubelets, error) {
	k := &Kubelets{
		world: world, shapes: newShapes(world.Now()), started: map[*model.Machine]bool{},
		lives: map[*model.Machine]life{},
	}
	k.context = klog.NewContext(context.Background(), logr.Discard())
	random := world.Random("kubelets")
	runtime, err := cri.NewFake(world.Now())
	if err != nil {
		return nil, fmt.Errorf("make the kubelets: %w", err)
	}
	k.fleet, err = kubelet.NewFleet(kubelet.FleetConfig{
		Runtime: runtime, Rand: random.Float64, Capacity: capacity(),
	}, world.Now())
	if err != nil {
		return nil, fmt.Errorf("make the kubelets: %w", err)
	}
	config := world.Config()
	k.beats, err = heartbeat.NewStepper(heartbeat.Config{
		Leases: leases{k}, Nodes: edge.Statuses(nodes{k}, k.skew), Cache: cache{k}, Rand: random.Float64,
		LeaseDuration: leaseShare * config.BeatInterval, RenewInterval: config.BeatInterval,
		StatusInterval: config.BeatInterval, ReportInterval: config.StatusInterval,
	}, world.Now())
	if err != nil {
		return nil, fmt.Errorf("make the kubelets: %w", err)
	}
	k.edge, err = edge.NewEdge(edge.Config{
		Fleet: k.fleet, Runtime: runtime, Observe: k.observe,
		View:       func(look func(time.Time)) { look(world.Now()) },
		Pods:       func(string) edge.PodClient { return pods{k.acting} },
		Nodes:      nodes{k},
		PodsOf:     world.PodsOn,
		Heartbeats: beats{k},
		IsOurs:     func(*corev1.Node) bool { return true },
	})
	if err != nil {
		return nil, fmt.Errorf("make the kubelets: %w", err)
	}
	return k, nil
}

// capacity is that of each node: enough for all pods.
func capacity() map[corev1.ResourceName]resource.Quantity {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1M"), corev1.ResourceMemory: resource.MustParse("1Pi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Pi"), corev1.ResourcePods: resource.MustParse("10M"),
	}
}

func (k *Kubelets) observe(turn func(now time.Time)) {
	turn(k.world.Now())
	k.wake()
}

// Start implements [model.Kubelets].
func (k *Kubelets) Start(m *model.Machine) {
	k.started[m] = true
	k.see(m, nil)
}

// Speak implements [model.Kubelets].
func (k *Kubelets) Speak(m *model.Machine) {
	k.see(m, m.Node())
	k.beats.Changed(k.world.Now(), m.Name)
	k.beat()
	k.wake()
}

// Reached implements [model.Kubelets]. Heartbeats go on by themselves: when the
// API server is back, not all nodes report at once.
func (k *Kubelets) Reached(m *model.Machine) { k.see(m, m.Node()) }

// SawNode implements [model.Kubelets].
func (k *Kubelets) SawNode(m *model.Machine, before *corev1.Node) { k.see(m, before) }

// see shows the edge the present node of a machine, with its faults.
func (k *Kubelets) see(m *model.Machine, before *corev1.Node) {
	if !k.started[m] {
		return // its first status is not there yet
	}
	k.seeing = true
	switch after := m.Node(); {
	case after == nil && before != nil:
		k.edge.Nodes.OnDelete(before)
	case after == nil:
	case before == nil:
		k.edge.Nodes.OnAdd(k.annotated(m, after), false)
	default:
		k.edge.Nodes.OnUpdate(before, k.annotated(m, after))
	}
	k.seeing = false
}

// SawPod implements [model.Kubelets].
func (k *Kubelets) SawPod(before, after *corev1.Pod) {
	switch {
	case after == nil:
		k.edge.Pods.OnDelete(before)
	case before == nil:
		k.edge.Pods.OnAdd(after, false)
	default:
		k.edge.Pods.OnUpdate(before, after)
	}
}

// wake plans a turn for now.
func (k *Kubelets) wake() {
	if !k.awake {
		k.awake = true
		k.world.After(0, k.turn)
	}
}

// turn lets happen what is due.
func (k *Kubelets) turn() {
	k.awake = false
	if !k.synced {
		// All pods that were there from the beginning are placed by now.
		k.synced = true
		k.edge.MarkSynced()
	}
	k.beat()
	now := k.world.Now()
	for {
		task, found := k.fleet.Start(now)
		if !found {
			break
		}
		k.acting = k.world.Machine(task.Node)
		result, _ := k.edge.Perform(k.context, task) // the fleet tries again what has failed
		k.fleet.Finish(now, task, result)
	}
	k.setAlarm()
}

// beat sends the heartbeats that are due.
func (k *Kubelets) beat() {
	for k.beats.Step(k.context, k.world.Now()) {
	}
}

// breather is how much later a turn comes that had more to do than it may at
// once.
const breather = time.Millisecond

// setAlarm plans the next turn, unless an earlier one is planned.
func (k *Kubelets) setAlarm() {
	now := k.world.Now()
	next, found := k.fleet.Next(now)
	if at, ok := k.beats.Next(now); ok && (!found || at.Before(next)) {
		next, found = at, true
	}
	if !found {
		return
	}
	at := k.world.Elapsed() + max(next.Sub(now), breather)
	if k.alarm > k.world.Elapsed() && k.alarm <= at {
		return
	}
	k.alarm = at
	k.world.At(at, k.wake)
}
