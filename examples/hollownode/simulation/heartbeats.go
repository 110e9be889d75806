package simulation

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/hollownode/edge"
	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/virtualtime"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

var leaseResource = coordinationv1.SchemeGroupVersion.WithResource("leases")

// heartbeats are those of a [World], which are those of the real program:
// leases, and statuses that are guarded. A call of them takes no time.
type heartbeats struct {
	*process

	stepper *heartbeat.Stepper
	alarm   virtualtime.Alarm
}

func newHeartbeats(p *process) (beats, error) {
	begin := func(ctx context.Context, node string) (time.Duration, error) { return p.edge.BeginCall(ctx, node) }
	stepper, err := heartbeat.NewStepper(heartbeat.Config{
		Leases: edge.Leases(leases{p}, begin), Nodes: edge.Statuses(nodes{p}, begin), Cache: nodeCache{p},
		Rand: p.random.Float64,
	}, p.Now())
	if err != nil {
		return nil, err
	}
	return &heartbeats{process: p, stepper: stepper}, nil
}

// Add implements [edge.Heartbeats].
func (h *heartbeats) Add(node heartbeat.Node) error {
	h.After(0, h.step)
	return h.stepper.Add(h.Now(), node)
}

// Remove implements [edge.Heartbeats].
func (h *heartbeats) Remove(name string) bool { return h.stepper.Remove(name) }

// Changed implements [edge.Heartbeats].
func (h *heartbeats) Changed(name string) bool {
	h.After(0, h.step)
	return h.stepper.Changed(h.Now(), name)
}

// Pause implements [edge.Heartbeats].
func (h *heartbeats) Pause(name string) bool { return h.stepper.Pause(h.Now(), name) }

// Resume implements [edge.Heartbeats].
func (h *heartbeats) Resume(name string) bool {
	h.After(0, h.step)
	return h.stepper.Resume(h.Now(), name)
}

func (h *heartbeats) begin() {}

// step sends the heartbeats that are due.
func (h *heartbeats) step() {
	if h.ended {
		return
	}
	quiet := klog.NewContext(context.Background(), logr.Discard())
	for h.stepper.Step(quiet, h.Now()) {
	}
	if next, found := h.stepper.Next(h.Now()); found {
		h.alarm.Set(h.Timeline, next, h.step)
	}
}

// nodeCache shows the nodes that the informer has.
type nodeCache struct{ *process }

// Get implements [heartbeat.NodeCache].
func (c nodeCache) Get(name string) (*corev1.Node, error) {
	object, _, _ := c.watches[invariant.Nodes].GetByKey(name)
	if node, found := object.(*corev1.Node); found {
		return node, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
}

// nodes is the client of nodes. In a [Scenario] it is never used, because the
// nodes are there before their kubelets.
type nodes struct{ *process }

// Get implements [edge.NodeClient] and [heartbeat.NodeClient].
func (c nodes) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Node, error) {
	c.count("get nodes")
	return as[*corev1.Node](c.server.Get(resourceOf(invariant.Nodes), apiserver.Key{Name: name}))
}

// Create implements [edge.NodeClient].
func (c nodes) Create(_ context.Context, node *corev1.Node, _ metav1.CreateOptions) (*corev1.Node, error) {
	c.count("create nodes")
	return as[*corev1.Node](c.server.Create(c.Now(), resourceOf(invariant.Nodes), "", node, apiserver.WriteOptions{}))
}

// Patch implements [heartbeat.NodeClient].
func (c nodes) Patch(
	_ context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*corev1.Node, error) {
	c.count("patch nodes/status")
	return as[*corev1.Node](c.server.Patch(c.Now(), resourceOf(invariant.Nodes), apiserver.Key{Name: name}, kind, data,
		apiserver.WriteOptions{Subresource: "status"}))
}

// leases is the client of leases.
type leases struct{ *process }

// Get implements [heartbeat.LeaseClient].
func (c leases) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	c.count("get leases")
	key := apiserver.Key{Namespace: corev1.NamespaceNodeLease, Name: name}
	return as[*coordinationv1.Lease](c.server.Get(leaseResource, key))
}

// Create implements [heartbeat.LeaseClient].
func (c leases) Create(
	_ context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	c.count("create leases")
	return as[*coordinationv1.Lease](c.server.Create(c.Now(), leaseResource, corev1.NamespaceNodeLease, lease,
		apiserver.WriteOptions{}))
}

// Update implements [heartbeat.LeaseClient].
func (c leases) Update(
	_ context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	c.count("update leases")
	return as[*coordinationv1.Lease](c.server.Update(c.Now(), leaseResource, corev1.NamespaceNodeLease, lease,
		apiserver.WriteOptions{}))
}

// as returns the answer to a request as the type that it has.
func as[T any](object any, err error) (T, error) {
	typed, _ := object.(T)
	return typed, err
}
