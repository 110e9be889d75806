package simulation

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/edge"
	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// beats are the heartbeats of the nodes of a process.
type beats interface {
	edge.Heartbeats
	// begin lets them come, once the nodes are known.
	begin()
}

// beatPeriod is how often nodes report what has changed of their status.
const beatPeriod = 10 * time.Second

// reports are the heartbeats of a [Scenario]: a status that has changed is
// written, without a guard.
type reports struct {
	*process

	nodes  map[string]heartbeat.Node
	paused map[string]bool
}

func newReports(p *process) beats {
	return &reports{p, map[string]heartbeat.Node{}, map[string]bool{}}
}

// Add implements [edge.Heartbeats].
func (r *reports) Add(node heartbeat.Node) error {
	r.nodes[node.Name] = node
	r.After(0, func() { r.report(node.Name) })
	return nil
}

// Remove implements [edge.Heartbeats].
func (r *reports) Remove(name string) bool {
	_, known := r.nodes[name]
	delete(r.nodes, name)
	delete(r.paused, name)
	return known
}

// Pause implements [edge.Heartbeats].
func (r *reports) Pause(name string) bool {
	_, known := r.nodes[name]
	r.paused[name] = known
	return known
}

// Resume implements [edge.Heartbeats].
func (r *reports) Resume(name string) bool {
	delete(r.paused, name)
	return r.Changed(name)
}

// Changed implements [edge.Heartbeats].
func (r *reports) Changed(name string) bool {
	_, known := r.nodes[name]
	r.After(0, func() { r.report(name) })
	return known
}

func (r *reports) begin() { r.After(r.between(0, beatPeriod), r.beat) }

// beat reports all nodes, and again after a period.
func (r *reports) beat() {
	if r.ended {
		return
	}
	for _, node := range list[*corev1.Node](r.cluster, invariant.Nodes) {
		r.report(node.Name)
	}
	r.After(beatPeriod, r.beat)
}

// report writes the status of a node, if it has changed.
func (r *reports) report(name string) {
	node, known := r.nodes[name]
	if !known || r.paused[name] || r.ended {
		return
	}
	status, err := node.Status(context.Background())
	if err != nil || r.strikes(r.faults.errors) || r.fleet.Call(name).Fails {
		return
	}
	r.changeNode(name, func(stored *corev1.Node) {
		if stored.UID == node.UID {
			stored.Status = status
		}
	})
}
