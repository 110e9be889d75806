package kubelets

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// answer has the machine that sends a call do what it asks for. Nothing else
// writes the lease, and the time in it is that of the machine's clock.
// Registering nodes is not for kubelets here, and there are no mirrors of
// static pods.
func (k *Kubelets) answer(call *network.Call) {
	sender := call.Name
	if call.Kind == network.Pods {
		sender = k.life.Task().Node
	}
	m := k.world.Machine(sender)
	switch {
	case call.Kind == network.Leases && call.Verb != network.Get:
		if call.Err = m.RenewLease(); call.Err == nil {
			call.Lease = m.Lease()
		}
	case call.Kind == network.Leases:
		if call.Lease = m.Lease(); call.Lease == nil {
			call.Err = apierrors.NewNotFound(call.Kind.Resource().GroupResource(), call.Name)
		}
	case call.Kind == network.Nodes && call.Verb == network.Get:
		call.Node, call.Err = k.node(call.Name)
	case call.Kind == network.Nodes && call.Verb == network.Patch:
		call.Node, call.Err = m.PatchNodeStatus(call.PatchType, call.Data)
	case call.Kind == network.Pods && call.Verb == network.Patch:
		call.Err = m.PatchPodStatus(call.Name, call.PatchType, call.Data)
	case call.Kind == network.Pods && call.Verb == network.Delete:
		call.Err = m.DeletePod(call.Name, metav1.DeleteOptions{
			Preconditions: call.Preconditions, GracePeriodSeconds: call.GracePeriodSeconds,
		})
	default:
		call.Err = fmt.Errorf("no kubelet sends %s of %s", call.Verb, call.Kind)
	}
}

// node returns a node as the API server has it. Kubelets hear of each change at
// once.
func (k *Kubelets) node(name string) (*corev1.Node, error) {
	if node := k.world.Node(name); node != nil {
		return node, nil
	}
	return nil, apierrors.NewNotFound(network.Nodes.Resource().GroupResource(), name)
}

// skew returns by how much the clock of a machine is ahead.
func (k *Kubelets) skew(_ context.Context, name string) (time.Duration, error) {
	return k.world.Machine(name).Clock().Sub(k.world.Now()), nil
}
