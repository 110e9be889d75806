package kubelets

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/edge"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/hollownode/life"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/virtualtime"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// Kubelets are those of a world. They are used through the world.
type Kubelets struct {
	world  *model.World
	life   *life.Life
	shapes shapes

	// seeing is set while the edge is shown a node. What has to be said of it is
	// for the world to decide.
	seeing bool
	// started are the machines whose kubelets run.
	started map[*model.Machine]bool
	// plugs are those of machines that were not ready once.
	plugs  map[*model.Machine]plug
	synced bool
	awake  bool // a turn is planned for now
	alarm  virtualtime.Alarm
}

var _ model.Kubelets = (*Kubelets)(nil)

// leaseShare is how many intervals a lease lasts. Source: the kubelet's
// defaults, 40 s and 10 s.
const leaseShare = 4

// New returns the kubelets of a world that has no machine yet.
func New(world *model.World) (*Kubelets, error) {
	k := &Kubelets{
		world: world, shapes: newShapes(world.Now()), started: map[*model.Machine]bool{},
		plugs: map[*model.Machine]plug{},
	}
	runtime, err := cri.NewFake(world.Now())
	if err != nil {
		return nil, fmt.Errorf("make the kubelets: %w", err)
	}
	config := world.Config()
	k.life, err = life.New(life.Config{
		Fleet: kubelet.FleetConfig{
			Runtime: runtime, Rand: world.Random("kubelets").Float64, Capacity: capacity(),
		},
		Runtime: runtime,
		Heartbeats: heartbeat.Config{
			LeaseDuration: leaseShare * config.BeatInterval, RenewInterval: config.BeatInterval,
			StatusInterval: config.BeatInterval, ReportInterval: config.StatusInterval,
		},
		Senders: func(l *life.Life) edge.Heartbeats { return beats{l.Beats(), k} },
		Begin:   k.skew,
		Now:     world.Now, Wake: k.wake, Answer: k.answer,
		Node: k.node, PodsOf: world.PodsOn,
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

// Start implements [model.Kubelets].
func (k *Kubelets) Start(m *model.Machine) {
	k.started[m] = true
	k.see(m, nil)
}

// Speak implements [model.Kubelets].
func (k *Kubelets) Speak(m *model.Machine) {
	k.see(m, m.Node())
	k.life.Beats().Changed(m.Name)
	k.life.Beat()
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
		k.life.Edge.Nodes.OnDelete(before)
	case after == nil:
	case before == nil:
		k.life.Edge.Nodes.OnAdd(k.annotated(m, after), false)
	default:
		k.life.Edge.Nodes.OnUpdate(before, k.annotated(m, after))
	}
	k.seeing = false
}

// SawPod implements [model.Kubelets].
func (k *Kubelets) SawPod(before, after *corev1.Pod) {
	switch {
	case after == nil:
		k.life.Edge.Pods.OnDelete(before)
	case before == nil:
		k.life.Edge.Pods.OnAdd(after, false)
	default:
		k.life.Edge.Pods.OnUpdate(before, after)
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
		k.life.Edge.MarkSynced()
	}
	k.life.Turn()
	now := k.world.Now()
	if next, found := k.life.Next(now); found {
		// What is due within a millisecond is done in one turn.
		k.alarm.Set(k.world.Timeline, now.Add(max(next.Sub(now), time.Millisecond)), k.wake)
	}
}
