package main

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/zone"
)

// options are the flags. Names and defaults are those of kube-controller-manager
// v1.37, where it has the flag.
type options struct {
	kubeconfig, master string
	bindAddress        string
	verbosity          int
	concurrentSyncs    int
	apiQPS             float32
	apiBurst           int
	leader             leaderOptions

	monitorPeriod, gracePeriod, startupGracePeriod time.Duration
	evictionRate, secondaryEvictionRate            float64
	largeClusterSize                               int
	unhealthyZone                                  float64
	heartbeatInterval                              time.Duration
	confirmEvictions                               bool
}

type leaderOptions struct {
	elect                                     bool
	leaseDuration, renewDeadline, retryPeriod time.Duration
	name, namespace                           string
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "Path to a kubeconfig file with authorization and API server location. With neither it nor --master, and outside a cluster, a demonstration runs on a cluster in memory.")
	flags.StringVar(&o.master, "master", "", "The address of the Kubernetes API server. It overrides the one in the kubeconfig.")
	flags.StringVar(&o.bindAddress, "metrics-bind-address", ":10270", "The address on which /metrics, /healthz and /readyz are served.")
	flags.IntVarP(&o.verbosity, "v", "v", 0, "Log verbosity: 2 tells about each write, 4 about each decision.")
	flags.IntVar(&o.concurrentSyncs, "concurrent-node-syncs", 16, "How many writes to the API server are under way at a time.")
	flags.Float32Var(&o.apiQPS, "kube-api-qps", 20, "Requests a second to the API server, heartbeats of the leader's lease and events apart.")
	flags.IntVar(&o.apiBurst, "kube-api-burst", 30, "Requests to the API server that may come at once.")

	flags.BoolVar(&o.leader.elect, "leader-elect", true, "Act only while holding a lease, so that several replicas can run.")
	flags.DurationVar(&o.leader.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "How long others wait before they take over a lease that is not renewed.")
	flags.DurationVar(&o.leader.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "How long the leader tries to renew its lease before it stops. Less than the lease duration.")
	flags.DurationVar(&o.leader.retryPeriod, "leader-elect-retry-period", 2*time.Second, "How long to wait between attempts to acquire or renew the lease.")
	flags.StringVar(&o.leader.name, "leader-elect-resource-name", "nodelifecycle", "The name of the lease.")
	flags.StringVar(&o.leader.namespace, "leader-elect-resource-namespace", "kube-system", "The namespace of the lease.")

	flags.DurationVar(&o.monitorPeriod, "node-monitor-period", 5*time.Second, "How often every node is looked at again, for safety. Nothing waits for it: nodes that fall silent are found when their grace period ends.")
	flags.DurationVar(&o.gracePeriod, "node-monitor-grace-period", 50*time.Second, "How long a running node may be silent before it is marked unhealthy. It must be several times the interval of its heartbeats.")
	flags.DurationVar(&o.startupGracePeriod, "node-startup-grace-period", 60*time.Second, "How long a starting node may be silent before it is marked unhealthy.")
	flags.Float64Var(&o.evictionRate, "node-eviction-rate", 0.1, "Nodes a second whose pods are evicted in a zone that is healthy (see --unhealthy-zone-threshold).")
	flags.Float64Var(&o.secondaryEvictionRate, "secondary-node-eviction-rate", 0.01, "Nodes a second whose pods are evicted in a zone that is unhealthy and has more nodes than --large-cluster-size-threshold. In smaller ones it is 0.")
	flags.IntVar(&o.largeClusterSize, "large-cluster-size-threshold", 50, "See --secondary-node-eviction-rate. It is compared with the nodes of each zone.")
	flags.Float64Var(&o.unhealthyZone, "unhealthy-zone-threshold", 0.55, "The share of nodes not ready, at least 3, from which on a zone is unhealthy.")
	flags.DurationVar(&o.heartbeatInterval, "node-heartbeat-interval", 10*time.Second, "How far apart the heartbeats of a node are. After the first expiry in a zone no node of it is tainted NoExecute for so long and a tenth more, because only then the state of the zone is known.")
	flags.BoolVar(&o.confirmEvictions, "confirm-evictions", false, "Read pod and node from the API server and decide again just before a pod is evicted. It costs two reads a pod and helps when caches are behind.")
}

func (o *options) validate() error {
	positive := map[string]time.Duration{
		"--node-monitor-period":         o.monitorPeriod,
		"--node-monitor-grace-period":   o.gracePeriod,
		"--node-startup-grace-period":   o.startupGracePeriod,
		"--leader-elect-lease-duration": o.leader.leaseDuration,
		"--leader-elect-renew-deadline": o.leader.renewDeadline,
		"--leader-elect-retry-period":   o.leader.retryPeriod,
	}
	var errs []error
	for name, value := range positive {
		if value <= 0 {
			errs = append(errs, fmt.Errorf("%s is %v, want a positive duration", name, value))
		}
	}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.evictionRate >= 0, "--node-eviction-rate is %v, want zero or more", o.evictionRate)
	check(o.secondaryEvictionRate >= 0, "--secondary-node-eviction-rate is %v, want zero or more", o.secondaryEvictionRate)
	check(o.unhealthyZone > 0 && o.unhealthyZone <= 1, "--unhealthy-zone-threshold is %v, want more than 0 and at most 1", o.unhealthyZone)
	check(o.largeClusterSize >= 0, "--large-cluster-size-threshold is %d, want zero or more", o.largeClusterSize)
	check(o.heartbeatInterval >= 0, "--node-heartbeat-interval is %v, want zero or more", o.heartbeatInterval)
	check(o.concurrentSyncs > 0, "--concurrent-node-syncs is %d, want at least 1", o.concurrentSyncs)
	check(o.apiQPS > 0, "--kube-api-qps is %v, want more than 0", o.apiQPS)
	check(o.apiBurst > 0, "--kube-api-burst is %d, want at least 1", o.apiBurst)
	check(o.leader.renewDeadline < o.leader.leaseDuration, "--leader-elect-renew-deadline %v must be less than --leader-elect-lease-duration %v", o.leader.renewDeadline, o.leader.leaseDuration)
	check(o.leader.renewDeadline > leaderJitter(o.leader.retryPeriod), "--leader-elect-renew-deadline %v must be more than 1.2 times --leader-elect-retry-period %v", o.leader.renewDeadline, o.leader.retryPeriod)
	if _, _, err := net.SplitHostPort(o.bindAddress); err != nil {
		errs = append(errs, fmt.Errorf("--metrics-bind-address: %w", err))
	}
	return errors.Join(errs...)
}

// leaderJitter is what client-go's leader election lengthens the retry period to.
func leaderJitter(retry time.Duration) time.Duration { return retry + retry/5 }

// controller returns what the flags mean for the controller.
func (o *options) controller() controller.Config {
	thresholds := zone.DefaultThresholds()
	thresholds.Unhealthy = o.unhealthyZone
	rates := zone.Rates{Normal: o.evictionRate, Secondary: o.secondaryEvictionRate, LargeZone: o.largeClusterSize}
	interval := o.heartbeatInterval + o.heartbeatInterval/10 // see zone.Config
	if interval == 0 {
		interval = -1 // no wait
	}
	return controller.Config{
		Health: nodehealth.Config{Grace: o.gracePeriod, StartupGrace: o.startupGracePeriod},
		Zone:   zone.Config{State: thresholds.State, Rate: rates.Rate, Grace: o.gracePeriod, Interval: interval},
	}
}
