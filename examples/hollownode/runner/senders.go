package runner

import (
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// senders send the heartbeats of all nodes. There is one, or one for leases and
// one for statuses.
type senders []*heartbeat.Sender

// newSenders returns those of a session.
func (s *session) newSenders() (senders, error) {
	both := s.config.Heartbeat
	leases := s.config.Beating.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	both.Leases = skewedLeases{leases, func(node string) time.Duration { return s.edge.Skew(node) }}
	both.Nodes = s.config.Acting.CoreV1().Nodes()
	both.Cache = s.ofNodes.Core().V1().Nodes().Lister()
	both.Metrics = s.config.Beats
	configs := []heartbeat.Config{both}
	if s.config.SeparateReports {
		configs = []heartbeat.Config{both, both}
		configs[0].Nodes, configs[1].Leases = nil, nil
	}
	var all senders
	for _, config := range configs {
		sender, err := heartbeat.NewSender(config)
		if err != nil {
			return nil, err
		}
		all = append(all, sender)
	}
	return all, nil
}

// Add adds a node to each.
func (s senders) Add(node heartbeat.Node) error {
	var problems []error
	for i, sender := range s {
		half := node
		if i < len(s)-1 {
			half.Status = nil // that of leases has none
		}
		problems = append(problems, sender.Add(half))
	}
	return errors.Join(problems...)
}

// Remove reports whether any has had the node.
func (s senders) Remove(name string) bool {
	return s.each(name, (*heartbeat.Sender).Remove)
}

// Changed makes a node beat at once.
func (s senders) Changed(name string) bool {
	return s.each(name, (*heartbeat.Sender).Changed)
}

func (s senders) each(name string, do func(*heartbeat.Sender, string) bool) (known bool) {
	for _, sender := range s {
		known = do(sender, name) || known
	}
	return known
}

// skewedLeases writes leases as nodes would whose clocks are wrong.
type skewedLeases struct {
	heartbeat.LeaseClient
	skew func(node string) time.Duration
}

func (l skewedLeases) Create(
	ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	return l.LeaseClient.Create(ctx, l.skewed(lease), options)
}

func (l skewedLeases) Update(
	ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	return l.LeaseClient.Update(ctx, l.skewed(lease), options)
}

func (l skewedLeases) skewed(lease *coordinationv1.Lease) *coordinationv1.Lease {
	skew := l.skew(lease.Name)
	if skew == 0 || lease.Spec.RenewTime == nil {
		return lease
	}
	lease = lease.DeepCopy()
	lease.Spec.RenewTime.Time = lease.Spec.RenewTime.Add(skew)
	return lease
}
