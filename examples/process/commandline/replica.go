package commandline

import (
	"time"

	"github.com/spf13/pflag"
)

// Replica says how a replica sends requests to the API server, and how it
// agrees with others on which of them acts.
type Replica struct {
	// APIQPS and APIBurst limit the requests to the API server.
	APIQPS   float32
	APIBurst int
	// EventQPS and EventBurst limit those about Events. Zero means that APIQPS and
	// APIBurst do.
	EventQPS   float32
	EventBurst int

	LeaderElection LeaderElection
}

// LeaderElection says how replicas agree on which of them acts.
type LeaderElection struct {
	Elect                                     bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
}

// AddFlags adds the flags and sets their fields to the defaults, which are
// those of kube-controller-manager v1.37.
func (r *Replica) AddFlags(flags *pflag.FlagSet) {
	flags.Float32Var(&r.APIQPS, "kube-api-qps", 20, "Requests a second to the API server, besides the leader's lease, "+
		"events, watches and questions about callers of the pages. Each kind of work has a part of them: a flood of one "+
		"does not delay the others.")
	flags.IntVar(&r.APIBurst, "kube-api-burst", 30, "Requests to the API server that may come at once.")

	r.LeaderElection.AddFlags(flags)
}

// AddFlags adds the flags and sets their fields to the defaults, which are
// those of kube-controller-manager v1.37. It is for a program whose requests no
// flag limits; others have them from [Replica.AddFlags].
func (leader *LeaderElection) AddFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&leader.Elect, "leader-elect", true, "Act only while holding a lease, so that several replicas can run.")
	flags.DurationVar(&leader.LeaseDuration, "leader-elect-lease-duration", 15*time.Second,
		"How long others wait before they take over a lease that is not renewed.")
	flags.DurationVar(&leader.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second,
		"How long the leader tries to renew its lease before it stops. Less than the lease duration.")
	flags.DurationVar(&leader.RetryPeriod, "leader-elect-retry-period", 2*time.Second,
		"How long to wait between attempts to acquire or renew the lease.")
}

// Check reports what is wrong, in the order in which AddFlags adds the flags.
func (r *Replica) Check(c *Checks) {
	c.That(r.APIQPS > 0, "--kube-api-qps is %v, want more than 0", r.APIQPS)
	c.That(r.APIBurst > 0, "--kube-api-burst is %d, want at least 1", r.APIBurst)
	r.LeaderElection.Check(c)
}

// Check reports what is wrong, in the order in which AddFlags adds the flags.
func (leader *LeaderElection) Check(c *Checks) {
	c.Positive("leader-elect-lease-duration", leader.LeaseDuration)
	c.Positive("leader-elect-renew-deadline", leader.RenewDeadline)
	c.That(leader.RenewDeadline < leader.LeaseDuration, "--leader-elect-renew-deadline %v must be less than "+
		"--leader-elect-lease-duration %v", leader.RenewDeadline, leader.LeaseDuration)
	c.That(leader.RenewDeadline > jittered(leader.RetryPeriod), "--leader-elect-renew-deadline %v must be more than 1.2 "+
		"times --leader-elect-retry-period %v", leader.RenewDeadline, leader.RetryPeriod)
	c.Positive("leader-elect-retry-period", leader.RetryPeriod)
}

// jittered is what client-go's leader election lengthens the retry period to.
func jittered(retry time.Duration) time.Duration { return retry + retry/5 }
