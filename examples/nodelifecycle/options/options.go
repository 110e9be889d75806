// Package options holds the flags that say how the controller behaves. Every
// program that runs it, on a cluster or in a simulation, has the same flags and
// defaults, and refuses the same values. How to reach a cluster is not among
// them.
package options

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/time/rate"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/process/commandline"
	"github.com/kubelife/lifecycle/examples/process/evicting"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/zone"
)

// Options are the flags. Names and defaults are those of
// kube-controller-manager v1.37, where it has the flag. The zero value is not
// valid: AddFlags sets the defaults.
type Options struct {
	// ConcurrentSyncs is how many actions are under way at a time.
	ConcurrentSyncs int
	// Replica is APIQPS, APIBurst and LeaderElection.
	commandline.Replica

	// MonitorPeriod is how often the controller's Reevaluate is called.
	MonitorPeriod time.Duration
	// MonitorGracePeriod and StartupGracePeriod are how long a node may be silent.
	// See also GracePeriod.
	MonitorGracePeriod, StartupGracePeriod time.Duration
	// BlindAfter is how long after an answer of the API server silence still
	// counts. Zero means that all silence does.
	BlindAfter time.Duration
	// DeclareUnconfirmed declares a silent node without a live read of its lease.
	DeclareUnconfirmed bool
	// RecoveryPeriod is how long a node that was silent is heard before its taints
	// are removed. Zero means that its first heartbeat is enough.
	RecoveryPeriod time.Duration
	// EvictionRate and SecondaryEvictionRate are in nodes a second.
	EvictionRate, SecondaryEvictionRate float64
	// LargeClusterSize is compared with the nodes of each zone.
	LargeClusterSize int
	// EvictionZoneShare raises EvictionRate to a share of a zone's nodes a second.
	EvictionZoneShare float64
	// UnhealthyZoneThreshold is a share, more than 0 and at most 1.
	UnhealthyZoneThreshold float64
	// PauseWhileZoneDown pauses while a zone has no ready node, MinHealthyShare
	// while a smaller share of all nodes is ready. Then ResumeHealthyShare must
	// be; zero means MinHealthyShare.
	PauseWhileZoneDown                  bool
	MinHealthyShare, ResumeHealthyShare float64
	// ResumeDelay is for how long no node is acted against after a pause, a
	// suspension and the start. It lasts MonitorGracePeriod at least.
	ResumeDelay time.Duration
	// HeartbeatInterval is how far apart the heartbeats of a node are. Zero means
	// not to wait until the state of a zone is known. HeartbeatIntervalGiven says
	// that the flag was set: a grace period that is not longer is refused then.
	HeartbeatInterval      time.Duration
	HeartbeatIntervalGiven bool
	// EvictionMode is "taint" or "node", PodEvictionTimeout how long a node is not
	// ready before its pods leave in the second.
	EvictionMode       string
	PodEvictionTimeout time.Duration
	// Evicting says how pods are made to leave.
	Evicting evicting.Options
}

// AddFlags adds the flags and sets the options to their defaults.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.IntVar(&o.ConcurrentSyncs, "concurrent-node-syncs", 16,
		"How many writes to the API server are under way at a time.")
	o.Replica.AddFlags(flags)
	flags.DurationVar(&o.MonitorPeriod, "node-monitor-period", 5*time.Second,
		"How often every node is checked again, for safety. Nothing waits for it: nodes that fall silent are found when "+
			"their grace period ends.")
	flags.DurationVar(&o.MonitorGracePeriod, "node-monitor-grace-period", 50*time.Second,
		"How long a running node may be silent before it is marked unhealthy. It must be several times the interval of its "+
			"heartbeats; a node may be silent for one and a half of them in any case.")
	flags.DurationVar(&o.StartupGracePeriod, "node-startup-grace-period", 60*time.Second,
		"How long a starting node may be silent before it is marked unhealthy.")
	flags.DurationVar(&o.RecoveryPeriod, "node-recovery-period", 0,
		"How long a node that was silent must be heard again, without another silence, before its not-ready and "+
			"unreachable taints are removed. With 0 its first heartbeat is enough.")
	flags.DurationVar(&o.BlindAfter, "node-blind-after", 6*time.Second,
		"How long after a heartbeat of any node, or an answered write, the silence of nodes still counts. While nothing "+
			"is heard, as in an outage of the API server, the time does not count in a grace period. No node is tainted "+
			"NoExecute meanwhile, nor a pod evicted for that, until each node had time to be heard again; so it is after a "+
			"start. It is at least twice --leader-elect-retry-period and a second. 0 counts all time, as "+
			"kube-controller-manager does.")
	flags.BoolVar(&o.DeclareUnconfirmed, "node-declare-unconfirmed", false,
		"Declare a silent node without reading its lease from the API server first. Living nodes are declared then while "+
			"the watch of leases is behind.")
	flags.Float64Var(&o.EvictionRate, "node-eviction-rate", 0.1,
		"Nodes a second whose pods are evicted in a zone that is healthy (see --unhealthy-zone-threshold).")
	flags.Float64Var(&o.SecondaryEvictionRate, "secondary-node-eviction-rate", 0.01,
		"Nodes a second whose pods are evicted in a zone that is unhealthy and has more nodes than "+
			"--large-cluster-size-threshold. In smaller ones it is 0.")
	flags.IntVar(&o.LargeClusterSize, "large-cluster-size-threshold", 50,
		"See --secondary-node-eviction-rate. It is compared with the nodes of each zone.")
	flags.Float64Var(&o.EvictionZoneShare, "node-eviction-zone-share", 0,
		"Raises --node-eviction-rate in large zones to this share of the zone's nodes a second: 0.001 is 3 nodes a second "+
			"in a zone of 3000.")
	flags.Float64Var(&o.UnhealthyZoneThreshold, "unhealthy-zone-threshold", 0.55,
		"The share of nodes not ready, at least 3, from which on a zone is unhealthy.")
	flags.BoolVar(&o.PauseWhileZoneDown, "pause-while-zone-down", false,
		"Act against no node while any zone has nodes and none is ready. Evictions for the taints that are set wait.")
	flags.Float64Var(&o.MinHealthyShare, "min-healthy-share", 0,
		"Act against no node while a smaller share of the cluster's nodes is ready. Evictions for the taints that are set "+
			"wait.")
	flags.Float64Var(&o.ResumeHealthyShare, "resume-healthy-share", 0,
		"The share of nodes that must be ready to act again after a pause or the start, at least --min-healthy-share. 0 "+
			"means --min-healthy-share.")
	flags.DurationVar(&o.ResumeDelay, "resume-delay", 0, "How long what asks for a pause or a suspension must be over, "+
		"without another, before nodes are acted against again. It counts at the start too, and is at least "+
		"--node-monitor-grace-period.")
	o.HeartbeatInterval, o.HeartbeatIntervalGiven = 10*time.Second, false
	flags.Var(givenDuration{&o.HeartbeatInterval, &o.HeartbeatIntervalGiven}, "node-heartbeat-interval",
		"How far apart the heartbeats of a node are. After the first expiry in a zone no node of it is tainted NoExecute "+
			"for so long and a tenth more, because only then the state of the zone is known.")
	flags.StringVar(&o.EvictionMode, "eviction-mode", string(controller.EvictionModeTaint),
		"What makes pods leave a node that is not ready: taint (a NoExecute taint, which pods can tolerate), or node (all "+
			"its pods leave after --pod-eviction-timeout, but those of DaemonSets). --node-eviction-rate holds for both.")
	flags.DurationVar(&o.PodEvictionTimeout, "pod-eviction-timeout", 5*time.Minute,
		"How long a node is not ready before its pods leave with --eviction-mode=node.")
	o.Evicting.AddFlags(flags)
}

// givenDuration is a flag's duration that notes that it was given.
type givenDuration struct {
	value *time.Duration
	given *bool
}

func (d givenDuration) String() string {
	if d.value == nil { // pflag asks a zero value
		return ""
	}
	return d.value.String()
}

// Type is the flag's type, as the help shows it.
func (d givenDuration) Type() string { return "duration" }

// Set takes the text that was given.
func (d givenDuration) Set(text string) (err error) {
	*d.given = true
	*d.value, err = time.ParseDuration(text)
	return err
}

// Validate reports everything that is wrong with the options, a line each, in
// the order in which AddFlags adds the flags.
func (o *Options) Validate() error {
	var c commandline.Checks
	o.Check(&c)
	return c.Err()
}

// Check is Validate for a program that has more flags.
func (o *Options) Check(c *commandline.Checks) {
	c.That(o.ConcurrentSyncs > 0, "--concurrent-node-syncs is %d, want at least 1", o.ConcurrentSyncs)
	o.Replica.Check(c)
	c.Positive("node-monitor-period", o.MonitorPeriod)
	c.Positive("node-monitor-grace-period", o.MonitorGracePeriod)
	c.That(!o.HeartbeatIntervalGiven || o.MonitorGracePeriod <= 0 || o.MonitorGracePeriod > o.HeartbeatInterval,
		"--node-monitor-grace-period is %v, want more than --node-heartbeat-interval, %v",
		o.MonitorGracePeriod, o.HeartbeatInterval)
	c.Positive("node-startup-grace-period", o.StartupGracePeriod)
	c.That(o.RecoveryPeriod >= 0, "--node-recovery-period is %v, want zero or more", o.RecoveryPeriod)
	c.That(o.BlindAfter >= 0, "--node-blind-after is %v, want zero or more", o.BlindAfter)
	c.That(o.EvictionRate >= 0, "--node-eviction-rate is %v, want zero or more", o.EvictionRate)
	c.That(o.SecondaryEvictionRate >= 0, "--secondary-node-eviction-rate is %v, want zero or more",
		o.SecondaryEvictionRate)
	c.That(o.LargeClusterSize >= 0, "--large-cluster-size-threshold is %d, want zero or more", o.LargeClusterSize)
	c.That(o.EvictionZoneShare >= 0 && o.EvictionZoneShare <= 1, "--node-eviction-zone-share is %v, want 0 to 1",
		o.EvictionZoneShare)
	c.That(o.UnhealthyZoneThreshold > 0 && o.UnhealthyZoneThreshold <= 1,
		"--unhealthy-zone-threshold is %v, want more than 0 and at most 1", o.UnhealthyZoneThreshold)
	c.That(o.MinHealthyShare >= 0 && o.MinHealthyShare <= 1, "--min-healthy-share is %v, want 0 to 1", o.MinHealthyShare)
	c.That(o.ResumeHealthyShare == 0 || o.ResumeHealthyShare >= max(o.MinHealthyShare, 0) && o.ResumeHealthyShare <= 1,
		"--resume-healthy-share is %v, want 0, or --min-healthy-share to 1", o.ResumeHealthyShare)
	c.That(o.ResumeDelay >= 0, "--resume-delay is %v, want zero or more", o.ResumeDelay)
	c.That(o.HeartbeatInterval >= 0, "--node-heartbeat-interval is %v, want zero or more", o.HeartbeatInterval)
	c.That(o.EvictionMode == string(controller.EvictionModeTaint) || o.EvictionMode == string(controller.EvictionModeNode),
		"--eviction-mode is %q, want %s or %s", o.EvictionMode, controller.EvictionModeTaint, controller.EvictionModeNode)
	c.Positive("pod-eviction-timeout", o.PodEvictionTimeout)
	o.Evicting.Check(c)
}

// GracePeriod is how long a node may be silent: MonitorGracePeriod, or one and
// a half heartbeat intervals if that is longer. With less, nodes that live
// would be declared between two heartbeats. kube-controller-manager takes such
// a flag, so a program that stands in for it must not refuse it.
func (o *Options) GracePeriod() time.Duration {
	return max(o.MonitorGracePeriod, o.HeartbeatInterval+o.HeartbeatInterval/2)
}

// Warnings returns what is odd about options that are valid, a sentence each.
func (o *Options) Warnings() (warnings []string) {
	warn := func(odd bool, format string, args ...any) {
		if odd {
			warnings = append(warnings, fmt.Sprintf(format, args...))
		}
	}
	grace, sight := o.GracePeriod(), o.sightTimeout()
	warn(grace > o.MonitorGracePeriod,
		"--node-monitor-grace-period is %v, and heartbeats are %v apart (--node-heartbeat-interval): "+
			"nodes may be silent for %v, so that none that lives is declared.",
		o.MonitorGracePeriod, o.HeartbeatInterval, grace)
	warn(sight > 0 && sight+o.HeartbeatInterval >= grace,
		"An API server that does not answer for up to %v is not noticed (--node-blind-after), "+
			"and nodes may be silent for %v only (--node-monitor-grace-period): "+
			"nodes that live may be declared after such an outage.", sight, grace)
	warn(o.SecondaryEvictionRate > o.EvictionRate,
		"--secondary-node-eviction-rate is %v, more than --node-eviction-rate, %v: "+
			"pods leave a zone that is unhealthy faster than one that is healthy.",
		o.SecondaryEvictionRate, o.EvictionRate)
	return warnings
}

// sightTimeout is BlindAfter, or what it takes at least. The API server is
// asked once in a retry period, which leader election lengthens by a fifth.
func (o *Options) sightTimeout() time.Duration {
	if o.BlindAfter == 0 {
		return 0
	}
	return max(o.BlindAfter, 2*o.LeaderElection.RetryPeriod+time.Second)
}

// StabilizationWindow is ResumeDelay, or what it takes at least.
func (o *Options) StabilizationWindow() time.Duration {
	return max(o.GracePeriod(), o.ResumeDelay)
}

// phase returns what the cluster as a whole calls for.
func (o *Options) phase() func(zone.Cluster) zone.Phase {
	zoneDown, least, resume := o.PauseWhileZoneDown, o.MinHealthyShare, o.ResumeHealthyShare
	return func(c zone.Cluster) zone.Phase {
		phase, ready := zone.DefaultPhase(c), c.Counts.ReadyFraction()
		if phase == zone.PhaseActive &&
			(zoneDown && c.FullyDisrupted > 0 || ready < least || c.Stopped && ready < resume) {
			return zone.PhasePaused
		}
		return phase
	}
}

// Controller returns what the options mean for the reducer.
func (o *Options) Controller() controller.Config {
	thresholds := zone.DefaultThresholds()
	thresholds.Unhealthy = o.UnhealthyZoneThreshold
	rates := zone.Rates{Normal: o.EvictionRate, Secondary: o.SecondaryEvictionRate, LargeZone: o.LargeClusterSize,
		Fraction: o.EvictionZoneShare}
	window := o.HeartbeatInterval + o.HeartbeatInterval/10 // see zone.Config
	return controller.Config{
		Health: nodehealth.Config{
			GracePeriod: o.GracePeriod(), StartupGracePeriod: o.StartupGracePeriod, RecoveryPeriod: o.RecoveryPeriod,
			SightTimeout: o.sightTimeout(), UnbrokenPeriod: 2 * o.HeartbeatInterval,
		},
		Zone: zone.Config{
			State: thresholds.State, Rate: rates.Rate, Phase: o.phase(),
			StabilizationWindow: o.StabilizationWindow(), ObservationWindow: &window,
		},
		Eviction: o.Evicting.Config(),

		Requests: controller.RequestBudget{
			PerSecond: rate.Limit(o.APIQPS), Burst: o.APIBurst, Eviction: o.Evicting.Requests(),
		},

		DeclareUnconfirmed: o.DeclareUnconfirmed,

		EvictionMode:       controller.EvictionMode(o.EvictionMode),
		PodEvictionTimeout: o.PodEvictionTimeout,
	}
}
