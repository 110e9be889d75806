package life

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/hollownode/edge"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/examples/simulation/program"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Config is a life before it does anything. All but Senders and Begin is
// required.
type Config struct {
	// Fleet is that of the process, with its runtime and its chance. Runtime is
	// the same runtime.
	Fleet   kubelet.FleetConfig
	Runtime edge.Runtime
	// Heartbeats says how often nodes beat. Its clients, its cache and its chance
	// are set here.
	Heartbeats heartbeat.Config
	// Senders returns what the edge tells which nodes beat. Nil is the life's own
	// [Beats].
	Senders func(*Life) edge.Heartbeats
	// Begin begins each call of a heartbeat. Nil is [edge.Edge.BeginCall].
	Begin edge.BeginCall
	// Now is the time. Wake is called when there may be something to do.
	Now  func() time.Time
	Wake func()
	// Answer answers a call of a heartbeat, or of Turn, before it returns.
	Answer func(*network.Call)
	// Node returns a node as the informer has it, or an error. PodsOf returns the
	// pods of a node.
	Node   NodeCache
	PodsOf func(node string) []*corev1.Pod
}

// NodeCache is [heartbeat.NodeCache] as a function.
type NodeCache func(name string) (*corev1.Node, error)

// Get implements [heartbeat.NodeCache].
func (c NodeCache) Get(name string) (*corev1.Node, error) { return c(name) }

// A Life is the kubelets of one process. It is a core: Start, Finish and Next
// are those of the fleet and of its heartbeats.
type Life struct {
	*kubelet.Fleet

	Edge *edge.Edge

	config Config
	beats  *heartbeat.Stepper
	task   kubelet.Task
	now    context.Context // of calls that take no time
}

var _ timedqueue.Core[kubelet.Task, kubelet.Result] = (*Life)(nil)

// New returns a life without nodes.
func New(config Config) (*Life, error) {
	l := &Life{config: config}
	l.now = klog.NewContext(program.AtOnce(context.Background(), config.Answer), logr.Discard())
	var err error
	if l.Fleet, err = kubelet.NewFleet(config.Fleet, config.Now()); err != nil {
		return nil, fmt.Errorf("begin a life: %w", err)
	}
	begin := config.Begin
	if begin == nil {
		begin = func(ctx context.Context, node string) (time.Duration, error) { return l.Edge.BeginCall(ctx, node) }
	}
	nodes := program.Client[*corev1.Node]{Kind: network.Nodes}
	beats := config.Heartbeats
	beats.Leases = edge.Leases(program.Client[*coordinationv1.Lease]{Kind: network.Leases}, begin)
	beats.Nodes, beats.Cache, beats.Rand = edge.Statuses(nodes, begin), config.Node, config.Fleet.Rand
	if l.beats, err = heartbeat.NewStepper(beats, config.Now()); err != nil {
		return nil, fmt.Errorf("begin a life: %w", err)
	}
	l.Edge, err = edge.NewEdge(edge.Config{
		Fleet: l.Fleet, Runtime: config.Runtime, Observe: l.Observe,
		View: func(look func(time.Time)) { look(config.Now()) },
		Pods: func(namespace string) edge.PodClient {
			return program.Client[*corev1.Pod]{Kind: network.Pods, Namespace: namespace}
		},
		Nodes: nodes, PodsOf: config.PodsOf, Heartbeats: l.senders(),
		IsOurs: func(*corev1.Node) bool { return true },
	})
	if err != nil {
		return nil, fmt.Errorf("begin a life: %w", err)
	}
	return l, nil
}

func (l *Life) senders() edge.Heartbeats {
	if l.config.Senders != nil {
		return l.config.Senders(l)
	}
	return Beats{l}
}

// Observe runs a turn of the fleet.
func (l *Life) Observe(turn func(now time.Time)) {
	turn(l.config.Now())
	l.config.Wake()
}

// Start sends the heartbeats that are due, and hands out the next call of the
// fleet.
func (l *Life) Start(now time.Time) (kubelet.Task, bool) {
	l.Beat()
	return l.next(now)
}

// next hands out the next call of the fleet.
func (l *Life) next(now time.Time) (kubelet.Task, bool) {
	task, found := l.Fleet.Start(now)
	if found {
		l.task = task
	}
	return task, found
}

// Task returns the task that was handed out last.
func (l *Life) Task() *kubelet.Task { return &l.task }

// Next returns when Start can next do something.
func (l *Life) Next(now time.Time) (time.Time, bool) {
	next, found := l.Fleet.Next(now)
	if at, ok := l.beats.Next(now); ok && (!found || at.Before(next)) {
		next, found = at, true
	}
	return next, found
}

// Jobs returns what a process has to perform.
func (l *Life) Jobs() timedqueue.Source[timedqueue.Job] { return timedqueue.Jobs(l, l.perform) }

// perform does one task. The fleet tries again what has failed.
func (l *Life) perform(ctx context.Context, task kubelet.Task) kubelet.Result {
	result, _ := l.Edge.Perform(ctx, task)
	return result
}

// Turn performs all that is due, with calls that take no time.
func (l *Life) Turn() {
	l.Beat()
	now := l.config.Now()
	for {
		task, found := l.next(now)
		if !found {
			return
		}
		l.Finish(now, task, l.perform(l.now, task))
	}
}

// Beat sends the heartbeats that are due.
func (l *Life) Beat() {
	for l.beats.Step(l.now, l.config.Now()) {
	}
}
