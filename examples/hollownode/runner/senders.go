package runner

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/edge"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// senders send the heartbeats of nodes. There is one, or one for leases and one
// for statuses.
type senders []*heartbeat.Sender

// slowWorkers is how many heartbeats of each kind may wait at a time for an API
// that is slow by a fault. With 5 s they are those of 2,000 nodes. Of more
// nodes the heartbeats come later, and those of the other nodes do not.
const slowWorkers = 1000

// newSenders returns the senders of a session. Those of slow nodes have workers
// of their own.
func (s *session) newSenders() (quick, slow senders, err error) {
	config := s.config.Heartbeat
	begin := func(ctx context.Context, node string) (time.Duration, error) { return s.edge.BeginCall(ctx, node) }
	config.Leases = edge.Leases(s.config.Beating.CoordinationV1().Leases(corev1.NamespaceNodeLease), begin)
	config.Nodes = edge.Statuses(s.config.Acting.CoreV1().Nodes(), begin)
	config.Cache = s.ofNodes.Core().V1().Nodes().Lister()
	config.Metrics = s.config.Beats
	if quick, err = s.sendersOf(config); err != nil {
		return nil, nil, err
	}
	config.Workers = max(config.Workers, slowWorkers)
	slow, err = s.sendersOf(config)
	return quick, slow, err
}

// sendersOf returns senders with a config.
func (s *session) sendersOf(both heartbeat.Config) (all senders, err error) {
	configs := []heartbeat.Config{both}
	if s.config.SeparateReports {
		configs = []heartbeat.Config{both, both}
		configs[0].Nodes, configs[1].Leases = nil, nil
	}
	for _, config := range configs {
		sender, err := heartbeat.NewSender(config)
		if err != nil {
			return nil, err
		}
		all = append(all, sender)
	}
	return all, nil
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, period time.Duration) error {
	timer := time.NewTimer(period)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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

// Pause makes a node silent.
func (s senders) Pause(name string) bool {
	return s.each(name, (*heartbeat.Sender).Pause)
}

// Resume ends that.
func (s senders) Resume(name string) bool {
	return s.each(name, (*heartbeat.Sender).Resume)
}

func (s senders) each(name string, do func(*heartbeat.Sender, string) bool) (known bool) {
	for _, sender := range s {
		known = do(sender, name) || known
	}
	return known
}
