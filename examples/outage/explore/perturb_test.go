package explore

import (
	"math/rand/v2"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// perturbation strikes at one write of a run.
type perturbation struct {
	model.Unimpressed
	trial
	call written

	simulation *simulation.Simulation
	random     *rand.Rand
	writes     *writes
	struck     bool
	reached    bool // what it is about has happened
	target     *network.Call
	past       *network.Past
	showing    bool // the past
	surfaced   bool // a silent kubelet was heard
}

const (
	// behindFor is how long what a process sees is old, of a stale view.
	behindFor = time.Minute
	// brokenFor is how long watches are broken, of an unobserved change.
	brokenFor = 5 * time.Second
	// oldest is how old a stale view is at most when the process dies.
	oldest = 30 * time.Second
	// restarts is how long after a crash another process leads at the latest. It
	// starts again after at most 10 s, and the leader's lease has to run out.
	restarts = 30 * time.Second
)

// over is when a perturbation has ended at the latest.
func (p *perturbation) over() time.Duration {
	switch p.pattern {
	case staleView:
		return p.call.at + restarts + behindFor + oldest
	case unobserved:
		return p.call.at + brokenFor
	case crashBefore, crashAfter:
	}
	return p.call.at + restarts
}

// plan prepares for the call.
func (p *perturbation) plan(s *simulation.Simulation, w *writes) {
	p.simulation, p.writes = s, w
	p.random = rand.New(rand.NewPCG(p.trial.random, 1))
	s.World().Watch(p)
	switch p.pattern {
	case crashBefore:
		s.World().LoseCalls(func(call *network.Call) bool {
			if call != p.target {
				return false
			}
			p.strike()
			return true
		})
	case staleView:
		age := time.Second + time.Duration(p.random.Int64N(int64(oldest-time.Second)))
		s.World().At(p.call.at-age, func() { p.past = s.World().Remember() })
	case crashAfter, unobserved:
	}
}

// Sent waits for the call. It is told after writes has counted it.
func (p *perturbation) Sent(call *network.Call) {
	if p.target == nil && p.writes.last == call && len(p.writes.calls) == p.trial.call+1 {
		p.target = call
	}
}

// Processed strikes when the call has taken effect.
func (p *perturbation) Processed(call *network.Call) {
	if call == p.target && p.pattern != crashBefore {
		p.strike()
	}
}

func (p *perturbation) strike() {
	if p.struck {
		return
	}
	p.struck = true
	client := p.target.Client
	p.simulation.World().After(0, func() {
		switch p.pattern {
		case crashBefore, crashAfter:
			p.reached = p.crash(func(c *network.Client) bool { return c == client }) == 1
		case staleView:
			p.showPast()
		case unobserved:
			p.changeUnseen(client)
		}
	})
}

func (p *perturbation) crash(match func(*network.Client) bool) (crashes int) {
	for _, r := range p.simulation.Replicas() {
		if c := r.Client(); c != nil && match(c) {
			r.Crash()
			crashes++
		}
	}
	return crashes
}

// SawNode, SawLease and SawPod notice that a process begins with something old.

// SawNode looks whether a node was another by now.
func (p *perturbation) SawNode(_ *network.Client, before, after *corev1.Node) {
	if p.showing && before == nil && p.simulation.World().Node(after.Name).ResourceVersion != after.ResourceVersion {
		p.reached = true
	}
}

// SawLease looks whether a lease was renewed since.
func (p *perturbation) SawLease(client *network.Client, before, after *coordinationv1.Lease) {
	if p.showing && before == nil && !p.simulation.World().KnowsLease(client, after.Name) {
		p.reached = true
	}
}

// SawPod looks whether a pod was another by now, or is gone.
func (p *perturbation) SawPod(_ *network.Client, before, after *corev1.Pod) {
	if !p.showing || before != nil {
		return
	}
	if pod := p.simulation.World().Pod(after.Name); pod == nil || pod.ResourceVersion != after.ResourceVersion {
		p.reached = true
	}
}

// showPast kills all processes. Those that come next begin in the past.
func (p *perturbation) showPast() {
	world := p.simulation.World()
	var before []*network.Client
	for _, r := range p.simulation.Replicas() {
		before = append(before, r.Client())
	}
	p.crash(func(*network.Client) bool { return true })
	settled := p.simulation.Disturb()
	p.showing = true
	catchUp := world.ShowPast(p.past, func(c *network.Client) bool { return !slices.Contains(before, c) })
	world.After(behindFor, func() {
		p.past.Forget()
		catchUp()
		p.showing = false
		world.After(oldest+restarts, settled)
	})
}

// changeUnseen changes the object of the call and changes it back, while the
// process sees nothing.
func (p *perturbation) changeUnseen(client *network.Client) {
	world := p.simulation.World()
	settled := p.simulation.Disturb()
	mend := world.BreakWatches(func(c *network.Client, _ network.Kind) bool { return c == client })
	node := p.call.name
	switch p.call.kind {
	case network.Nodes:
	case network.Pods:
		if pod := world.Pod(p.call.name); pod != nil {
			node = pod.Spec.NodeName
			p.tolerateAll(pod)
			p.reached = true
		}
	default:
		all := world.Machines()
		node = all[p.random.IntN(len(all))].Name
	}
	if m := world.Machine(node); m != nil {
		p.changeNode(m)
	}
	world.After(brokenFor, mend)
	world.After(brokenFor+3*time.Second, settled)
}

// tolerateAll makes a pod tolerate everything, and takes it back.
func (p *perturbation) tolerateAll(pod *corev1.Pod) {
	world := p.simulation.World()
	world.Tolerate(pod.Name, []corev1.Toleration{{Operator: corev1.TolerationOpExists}})
	world.Tolerate(pod.Name, pod.Spec.Tolerations)
}

// changeNode takes off a node's taints and puts them on again, or lets the
// kubelet of a silent one be heard once. Not if all are silent: one that is
// heard then shows that the zones are not down, and others are tainted for good
// reason.
func (p *perturbation) changeNode(m *model.Machine) {
	node := p.simulation.World().Node(m.Name)
	if node == nil {
		return
	}
	p.reached = true
	others := slices.ContainsFunc(p.simulation.World().Machines(), (*model.Machine).Reaches)
	if !m.Reaches() && others && p.random.IntN(2) == 0 {
		p.surfaced = true
		m.Surface()
		return
	}
	m.Edit(func(n *corev1.Node) { n.Spec.Taints, n.Spec.Unschedulable = nil, !node.Spec.Unschedulable })
	m.Edit(func(n *corev1.Node) { n.Spec.Taints, n.Spec.Unschedulable = node.Spec.Taints, node.Spec.Unschedulable })
}
