package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// BeginCall is called before each call of a node's heartbeats. It returns by
// how much the times in the call are ahead, and an error if the call is not to
// be made. [Edge.BeginCall] is one.
type BeginCall func(ctx context.Context, node string) (skew time.Duration, err error)

// ErrFault is wrapped by the errors of calls that fail because an annotation of
// their node wants it.
var ErrFault = errors.New("the faults of the node want this call to fail")

// BeginCall does to a call of a node what its faults want.
func (e *Edge) BeginCall(ctx context.Context, node string) (time.Duration, error) {
	var call kubelet.Call
	e.config.View(func(time.Time) { call = e.config.Fleet.Call(node) })
	if call.Latency > 0 {
		if err := e.config.Wait(ctx, call.Latency); err != nil {
			return 0, fmt.Errorf("the faults of the node make this call slow: %w", err)
		}
	}
	if call.Fails {
		return 0, ErrFault
	}
	return call.ClockSkew, nil
}

// Leases returns a client that begins each call.
func Leases(client heartbeat.LeaseClient, begin BeginCall) heartbeat.LeaseClient {
	return leases{client, begin}
}

type leases struct {
	client heartbeat.LeaseClient
	begin  BeginCall
}

func (l leases) Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error) {
	if _, err := l.begin(ctx, name); err != nil {
		return nil, err
	}
	return l.client.Get(ctx, name, options)
}

func (l leases) Create(
	ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	skew, err := l.begin(ctx, lease.Name)
	if err != nil {
		return nil, err
	}
	return l.client.Create(ctx, skewedLease(lease, skew), options)
}

func (l leases) Update(
	ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	skew, err := l.begin(ctx, lease.Name)
	if err != nil {
		return nil, err
	}
	return l.client.Update(ctx, skewedLease(lease, skew), options)
}

func skewedLease(lease *coordinationv1.Lease, skew time.Duration) *coordinationv1.Lease {
	if skew == 0 || lease.Spec.RenewTime == nil {
		return lease
	}
	lease = lease.DeepCopy()
	lease.Spec.RenewTime.Time = lease.Spec.RenewTime.Add(skew)
	return lease
}

// Statuses returns a client that begins each call.
func Statuses(client heartbeat.NodeClient, begin BeginCall) heartbeat.NodeClient {
	return statuses{client, begin}
}

type statuses struct {
	client heartbeat.NodeClient
	begin  BeginCall
}

func (s statuses) Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Node, error) {
	if _, err := s.begin(ctx, name); err != nil {
		return nil, err
	}
	return s.client.Get(ctx, name, options)
}

func (s statuses) Patch(
	ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions,
	subresources ...string,
) (*corev1.Node, error) {
	skew, err := s.begin(ctx, name)
	if err != nil {
		return nil, err
	}
	if skew != 0 {
		if data, err = skewedStatus(data, skew); err != nil {
			return nil, err
		}
	}
	return s.client.Patch(ctx, name, kind, data, options, subresources...)
}

// skewedStatus returns a patch of a node's status with the times of another
// clock. Only times of the report itself change: each lastHeartbeatTime, and a
// lastTransitionTime that is equal to it. An older transition has been reported
// by that clock before.
func skewedStatus(patch []byte, skew time.Duration) ([]byte, error) {
	var fields map[string]any
	if err := json.Unmarshal(patch, &fields); err != nil {
		return nil, fmt.Errorf("read the patch of a node status: %w", err)
	}
	status, _ := fields["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, each := range conditions {
		condition, _ := each.(map[string]any)
		shown, _ := condition["lastHeartbeatTime"].(string)
		reported, err := time.Parse(time.RFC3339, shown)
		if err != nil {
			continue // a condition that is removed has none
		}
		for _, name := range []string{"lastHeartbeatTime", "lastTransitionTime"} {
			if condition[name] == shown {
				condition[name] = reported.Add(skew).UTC().Format(time.RFC3339)
			}
		}
	}
	return json.Marshal(fields)
}
