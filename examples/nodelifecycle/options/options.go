// Package options holds the flags that say how the controller behaves, so that
// every program that runs it, on a cluster or in a simulation, understands the
// same flags with the same defaults and refuses the same values with the same
// words. How to reach a cluster is not among them.
package options

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/zone"
)

// Options are the flags. Names and defaults are those of kube-controller-manager
// v1.37, where it has the flag. The zero value is not valid: AddFlags sets the
// defaults.
type Options struct {
	// ConcurrentSyncs is how many actions are under way at a time.
	ConcurrentSyncs int
	// APIQPS and APIBurst limit the requests to the API server.
	APIQPS   float32
	APIBurst int

	LeaderElection LeaderElection

	// MonitorPeriod is how often the controller's Reevaluate is called.
	MonitorPeriod time.Duration
	// MonitorGracePeriod and StartupGracePeriod are how long a node may be silent.
	MonitorGracePeriod, StartupGracePeriod time.Duration
	// EvictionRate and SecondaryEvictionRate are in nodes a second.
	EvictionRate, SecondaryEvictionRate float64
	// LargeClusterSize is compared with the nodes of each zone.
	LargeClusterSize int
	// UnhealthyZoneThreshold is a share, more than 0 and at most 1.
	UnhealthyZoneThreshold float64
	// HeartbeatInterval is how far apart the heartbeats of a node are. Zero means not
	// to wait until the state of a zone is known.
	HeartbeatInterval time.Duration
	// ConfirmEvictions asks for eviction.DeleteConfig.Confirm.
	ConfirmEvictions bool
}

// LeaderElection says how replicas agree on which of them acts.
type LeaderElection struct {
	Elect                                     bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// AddFlags adds the flags and sets the options to their defaults.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.ConcurrentSyncs, "concurrent-node-syncs", 16, "How many writes to the API server are under way at a time.")
	flags.Float32Var(&o.APIQPS, "kube-api-qps", 20, "Requests a second to the API server, heartbeats of the leader's lease and events apart.")
	flags.IntVar(&o.APIBurst, "kube-api-burst", 30, "Requests to the API server that may come at once.")

	leader := &o.LeaderElection
	flags.BoolVar(&leader.Elect, "leader-elect", true, "Act only while holding a lease, so that several replicas can run.")
	flags.DurationVar(&leader.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "How long others wait before they take over a lease that is not renewed.")
	flags.DurationVar(&leader.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "How long the leader tries to renew its lease before it stops. Less than the lease duration.")
	flags.DurationVar(&leader.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "How long to wait between attempts to acquire or renew the lease.")

	flags.DurationVar(&o.MonitorPeriod, "node-monitor-period", 5*time.Second, "How often every node is looked at again, for safety. Nothing waits for it: nodes that fall silent are found when their grace period ends.")
	flags.DurationVar(&o.MonitorGracePeriod, "node-monitor-grace-period", 50*time.Second, "How long a running node may be silent before it is marked unhealthy. It must be several times the interval of its heartbeats.")
	flags.DurationVar(&o.StartupGracePeriod, "node-startup-grace-period", 60*time.Second, "How long a starting node may be silent before it is marked unhealthy.")
	flags.Float64Var(&o.EvictionRate, "node-eviction-rate", 0.1, "Nodes a second whose pods are evicted in a zone that is healthy (see --unhealthy-zone-threshold).")
	flags.Float64Var(&o.SecondaryEvictionRate, "secondary-node-eviction-rate", 0.01, "Nodes a second whose pods are evicted in a zone that is unhealthy and has more nodes than --large-cluster-size-threshold. In smaller ones it is 0.")
	flags.IntVar(&o.LargeClusterSize, "large-cluster-size-threshold", 50, "See --secondary-node-eviction-rate. It is compared with the nodes of each zone.")
	flags.Float64Var(&o.UnhealthyZoneThreshold, "unhealthy-zone-threshold", 0.55, "The share of nodes not ready, at least 3, from which on a zone is unhealthy.")
	flags.DurationVar(&o.HeartbeatInterval, "node-heartbeat-interval", 10*time.Second, "How far apart the heartbeats of a node are. After the first expiry in a zone no node of it is tainted NoExecute for so long and a tenth more, because only then the state of the zone is known.")
	flags.BoolVar(&o.ConfirmEvictions, "confirm-evictions", false, "Read pod and node from the API server and decide again just before a pod is evicted. It costs two reads a pod and helps when caches are behind.")
}

// Validate reports everything that is wrong with the options, a line each, in the
// order in which AddFlags adds the flags.
func (o *Options) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	positive := func(flag string, value time.Duration) {
		check(value > 0, "--%s is %v, want a positive duration", flag, value)
	}
	check(o.ConcurrentSyncs > 0, "--concurrent-node-syncs is %d, want at least 1", o.ConcurrentSyncs)
	check(o.APIQPS > 0, "--kube-api-qps is %v, want more than 0", o.APIQPS)
	check(o.APIBurst > 0, "--kube-api-burst is %d, want at least 1", o.APIBurst)

	leader := &o.LeaderElection
	positive("leader-elect-lease-duration", leader.LeaseDuration)
	positive("leader-elect-renew-deadline", leader.RenewDeadline)
	check(leader.RenewDeadline < leader.LeaseDuration, "--leader-elect-renew-deadline %v must be less than --leader-elect-lease-duration %v", leader.RenewDeadline, leader.LeaseDuration)
	check(leader.RenewDeadline > jittered(leader.RetryPeriod), "--leader-elect-renew-deadline %v must be more than 1.2 times --leader-elect-retry-period %v", leader.RenewDeadline, leader.RetryPeriod)
	positive("leader-elect-retry-period", leader.RetryPeriod)

	positive("node-monitor-period", o.MonitorPeriod)
	positive("node-monitor-grace-period", o.MonitorGracePeriod)
	positive("node-startup-grace-period", o.StartupGracePeriod)
	check(o.EvictionRate >= 0, "--node-eviction-rate is %v, want zero or more", o.EvictionRate)
	check(o.SecondaryEvictionRate >= 0, "--secondary-node-eviction-rate is %v, want zero or more", o.SecondaryEvictionRate)
	check(o.LargeClusterSize >= 0, "--large-cluster-size-threshold is %d, want zero or more", o.LargeClusterSize)
	check(o.UnhealthyZoneThreshold > 0 && o.UnhealthyZoneThreshold <= 1, "--unhealthy-zone-threshold is %v, want more than 0 and at most 1", o.UnhealthyZoneThreshold)
	check(o.HeartbeatInterval >= 0, "--node-heartbeat-interval is %v, want zero or more", o.HeartbeatInterval)
	return errors.Join(errs...)
}

// jittered is what client-go's leader election lengthens the retry period to.
func jittered(retry time.Duration) time.Duration { return retry + retry/5 }

// Controller returns what the options mean for the reducer.
func (o *Options) Controller() controller.Config {
	thresholds := zone.DefaultThresholds()
	thresholds.Unhealthy = o.UnhealthyZoneThreshold
	rates := zone.Rates{Normal: o.EvictionRate, Secondary: o.SecondaryEvictionRate, LargeZone: o.LargeClusterSize}
	interval := o.HeartbeatInterval + o.HeartbeatInterval/10 // see zone.Config
	if interval == 0 {
		interval = -1 // no wait
	}
	return controller.Config{
		Health: nodehealth.Config{Grace: o.MonitorGracePeriod, StartupGrace: o.StartupGracePeriod},
		Zone:   zone.Config{State: thresholds.State, Rate: rates.Rate, Grace: o.MonitorGracePeriod, Interval: interval},
	}
}
