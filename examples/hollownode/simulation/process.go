package simulation

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubelife/lifecycle/examples/hollownode/edge"
	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/hollownode/life"
	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/examples/simulation/program"
)

// A process is one life of the kubelets: the fleet and the edge of the real
// program.
type process struct {
	*program.Process

	life    *life.Life
	trimmer edge.Trimmer
	// broken is from when a node has had what fault, as its kubelet was told.
	broken map[string]map[string]time.Time
}

// callTimeout is that of the runner.
const callTimeout = 30 * time.Second

// start begins a life.
func (w *World) start() error {
	w.lives++
	p := &process{broken: map[string]map[string]time.Time{}}
	p.Process = program.New(w.Network, program.Config{
		Name: "kubelets", Life: w.lives, Workers: w.config.Workers, JobTimeout: callTimeout,
		Synced: func() { w.synced(p) }, Began: func() any { return w.decided(p) },
	})
	config := w.config.Fleet
	config.Runtime, config.Rand = w.runtime, w.Random(p.Identity()+"/fleet").Float64
	var err error
	p.life, err = life.New(life.Config{
		Fleet: config, Runtime: w.runtime, Now: w.Now, Wake: p.Wake, Answer: p.CallNow,
		Node: p.node, PodsOf: p.podsOf,
	})
	if err != nil {
		return fmt.Errorf("start the kubelets: %w", err)
	}
	w.process = p
	p.Perform(p.life.Jobs())
	p.InformTransformed(network.Nodes, p.life.Edge.Nodes, p.trimmed)
	p.InformTransformed(network.Pods, p.life.Edge.Pods, p.trimmed)
	for _, node := range w.config.Register {
		if err := p.life.Register(w.Now(), node); err != nil {
			return fmt.Errorf("register the nodes: %w", err)
		}
	}
	return nil
}

// synced tells a process that its first lists are in.
func (w *World) synced(p *process) {
	p.life.Edge.MarkSynced()
	w.runtime.restores = false
}

// decided records what a process has chosen to send.
func (w *World) decided(p *process) *invariant.Call {
	task := p.life.Task()
	call := &invariant.Call{Node: task.Node, Decided: w.Now()}
	if task.Pod != nil {
		call.Pod, call.Seen = task.Pod.UID, p.Store(network.Pods).Version()
		w.history.Calls = append(w.history.Calls, call)
	}
	return call
}

// trimmed is what the transform of the informers leaves.
func (p *process) trimmed(object network.Object) network.Object {
	if node, ok := object.(*corev1.Node); ok {
		object = node.DeepCopy() // it changes nodes in place
	}
	kept, _ := p.trimmer.Trim(object)
	trimmed, _ := kept.(network.Object)
	return trimmed
}

// node returns a node that the informer has.
func (p *process) node(name string) (*corev1.Node, error) {
	if node, found := p.Cached(network.Nodes, name).(*corev1.Node); found {
		return node, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
}

// podsOf returns the pods of a node that the informer has.
func (p *process) podsOf(node string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, object := range p.CachedObjects(network.Pods) {
		if pod, ok := object.(*corev1.Pod); ok && pod.Spec.NodeName == node {
			pods = append(pods, pod)
		}
	}
	return pods
}
