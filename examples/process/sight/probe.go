package sight

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

// A Probe writes a lease of its own in each period, for what the answers tell.
// A replica that takes part in no election has no other write to send.
type Probe struct {
	Client          kubernetes.Interface
	Namespace, Name string
	Period          time.Duration
	Sight           *Sight

	// refused says that the log tells that it may not write.
	refused bool
}

// probeTimeout is how long an answer may take. One that comes later than a
// heartbeat interval proves nothing, and is no failure either: see
// nodehealth.Monitor.Answered.
const probeTimeout = 30 * time.Second

// Run asks until ctx ends.
func (p *Probe) Run(ctx context.Context) error {
	running.Every(ctx, p.Period, func() {
		asking, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		sent := time.Now()
		err := p.write(asking)
		if ctx.Err() != nil {
			return
		}
		p.Sight.Wrote(sent, err)
		p.tell(ctx, err)
	})
	return nil
}

// write renews the lease, or makes it.
func (p *Probe) write(ctx context.Context) error {
	leases := p.Client.CoordinationV1().Leases(p.Namespace)
	renewed := coordinationv1.LeaseSpec{RenewTime: ptr.To(metav1.NowMicro())}
	patch, err := json.Marshal(map[string]any{"spec": renewed})
	if err != nil {
		return fmt.Errorf("renew lease %s: %w", p.Name, err)
	}
	_, err = leases.Patch(ctx, p.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		lease := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Spec: renewed}
		_, err = leases.Create(ctx, &lease, metav1.CreateOptions{})
	}
	return err
}

// tell logs once that the probe may not write.
func (p *Probe) tell(ctx context.Context, err error) {
	refused := apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
	if refused && !p.refused {
		klog.FromContext(ctx).Error(err, "While no node is heard it is not known whether the API server works: "+
			"no node is declared silent then. Without leader election this needs the rights create and patch for a lease.",
			"lease", klog.KRef(p.Namespace, p.Name))
	}
	p.refused = refused
}
