package kubelets

import (
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

var errUnexpected = errors.New("no kubelet sends this")

// beats is the sender of heartbeats for the edge.
type beats struct{ *Kubelets }

// Add begins the heartbeats of a machine.
func (b beats) Add(node heartbeat.Node) error { return b.beats.Add(b.world.Now(), node) }

// Remove ends the heartbeats of a machine whose node is gone.
func (b beats) Remove(name string) bool { return b.beats.Remove(name) }

// Pause makes a machine silent. To the edge it is silent without an API server
// too, but then its renewals fail and are retried.
func (b beats) Pause(name string) bool {
	if b.world.Machine(name).Silent() {
		return b.beats.Pause(b.world.Now(), name)
	}
	return b.Resume(name)
}

// Resume ends the silence of a machine.
func (b beats) Resume(name string) bool { return b.beats.Resume(b.world.Now(), name) }

// Changed has a status reported at once, when the kubelet wants that by itself.
func (b beats) Changed(name string) bool {
	return b.seeing || b.beats.Changed(b.world.Now(), name)
}

// leases is the client of leases.
type leases struct{ *Kubelets }

// Get implements [heartbeat.LeaseClient].
func (c leases) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	if lease := c.world.Machine(name).Lease(); lease != nil {
		return lease, nil
	}
	return nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), name)
}

// Create implements [heartbeat.LeaseClient].
func (c leases) Create(
	_ context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	return c.renew(lease.Name)
}

// Update implements [heartbeat.LeaseClient]. Nothing else writes the lease.
func (c leases) Update(
	_ context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	return c.renew(lease.Name)
}

// renew has the machine write its lease. The time in it is that of the
// machine's clock.
func (c leases) renew(name string) (*coordinationv1.Lease, error) {
	m := c.world.Machine(name)
	if err := m.RenewLease(); err != nil {
		return nil, err
	}
	return m.Lease(), nil
}

// skew returns by how much the clock of a machine is ahead.
func (k *Kubelets) skew(_ context.Context, name string) (time.Duration, error) {
	return k.world.Machine(name).Clock().Sub(k.world.Now()), nil
}

// nodes is the client of nodes.
type nodes struct{ *Kubelets }

// Get implements [heartbeat.NodeClient].
func (c nodes) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Node, error) {
	return c.node(name)
}

func (k *Kubelets) node(name string) (*corev1.Node, error) {
	if node := k.world.Node(name); node != nil {
		return node, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
}

// Patch implements [heartbeat.NodeClient].
func (c nodes) Patch(
	_ context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*corev1.Node, error) {
	return c.world.Machine(name).PatchNodeStatus(kind, data)
}

// Create is for kubelets that register their nodes. Machines do that here.
func (c nodes) Create(context.Context, *corev1.Node, metav1.CreateOptions) (*corev1.Node, error) {
	return nil, errUnexpected
}

// cache shows the newest nodes.
type cache struct{ *Kubelets }

// Get implements [heartbeat.NodeCache].
func (c cache) Get(name string) (*corev1.Node, error) { return c.node(name) }

// pods is the client of pods of a machine.
type pods struct{ machine *model.Machine }

// Patch implements [edge.PodClient].
func (p pods) Patch(
	_ context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*corev1.Pod, error) {
	return nil, p.machine.PatchPodStatus(name, kind, data)
}

// Delete implements [edge.PodClient].
func (p pods) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	return p.machine.DeletePod(name, options)
}

// Create is for mirrors of static pods, which these nodes do not have.
func (pods) Create(context.Context, *corev1.Pod, metav1.CreateOptions) (*corev1.Pod, error) {
	return nil, errUnexpected
}
