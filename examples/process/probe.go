package process

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/process/running"
)

// A probe writes a lease of its own in each period, for what the answers tell.
// A replica that takes part in no election has no other write to send.
type probe struct {
	client          kubernetes.Interface
	namespace, name string
	period          time.Duration
	sight           *sight
	// refused says that the log tells that it may not write.
	refused bool
}

// probeTimeout is how long an answer may take. One that comes later than a
// heartbeat interval proves nothing, and is no failure either: see
// nodehealth.Monitor.Answered.
const probeTimeout = 30 * time.Second

// run asks until ctx ends.
func (p *probe) run(ctx context.Context) error {
	running.Every(ctx, p.period, func() {
		asking, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		sent := time.Now()
		err := p.write(asking)
		if ctx.Err() != nil {
			return
		}
		p.sight.wrote(sent, err)
		p.tell(ctx, err)
	})
	return nil
}

// write renews the lease, or makes it.
func (p *probe) write(ctx context.Context) error {
	leases := p.client.CoordinationV1().Leases(p.namespace)
	renewed := coordinationv1.LeaseSpec{RenewTime: ptr.To(metav1.NowMicro())}
	patch, err := json.Marshal(map[string]any{"spec": renewed})
	if err != nil {
		return fmt.Errorf("renew lease %s: %w", p.name, err)
	}
	_, err = leases.Patch(ctx, p.name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		lease := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: p.name}, Spec: renewed}
		_, err = leases.Create(ctx, &lease, metav1.CreateOptions{})
	}
	return err
}

// tell logs once that the probe may not write.
func (p *probe) tell(ctx context.Context, err error) {
	refused := apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
	if refused && !p.refused {
		klog.FromContext(ctx).Error(err, "While no node is heard it is not known whether the API server works: "+
			"no node is declared silent then. Without leader election this needs the rights create and patch for a lease.",
			"lease", klog.KRef(p.namespace, p.name))
	}
	p.refused = refused
}
