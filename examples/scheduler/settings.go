package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/commandline"
	"github.com/kubelife/lifecycle/examples/process/evicting"
	"github.com/kubelife/lifecycle/examples/scheduler/scheduling"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// settings are all flags.
type settings struct {
	process commandline.Process
	// Replica is APIQPS, APIBurst and LeaderElection.
	commandline.Replica
	schedulerName                               string
	concurrentBindings                          int
	initialBackoff, maxBackoff, assumeTimeout   time.Duration
	silentAfter, startupGrace, beat, blindAfter time.Duration
	unhealthyZone                               float64
	templates                                   []string
	evicting                                    evicting.Options // its budgets
}

const intro = `scheduler binds the pods whose spec.schedulerName is --scheduler-name, next to
kube-scheduler, which leaves them alone. It avoids nodes that are silent and zones
that are down before kube-controller-manager has tainted them.

  scheduler --kubeconfig FILE
  scheduler --kubeconfig FILE --scheduler-name=batch --budget-per-node=0.1
  scheduler --kubeconfig FILE --node-template=pool-a.yaml --node-template=pool-b.yaml

It needs a cluster: --kubeconfig, --master, or to run in one. A pod that asks for
inter-pod affinity, topology spread, volumes that depend on the node, host ports or
resource claims is not placed, and its events say so. A scheduling group is not
seen: its pods are placed one by one. Pods of lower priority make room through the
Eviction API, if PodDisruptionBudgets allow it.

While it runs, --secure-port answers callers that may get these paths
  /pending            which pods have no node, and why
  /evictions          which pods have to make room, and what holds them up
                      (?format=json for programs, ?limit=N for the first N)
  /metrics            Prometheus metrics; watch scheduler_pending_pods
  /healthz /readyz    for probes, to every caller
`

// AddFlags adds the program's own flags.
func (s *settings) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.schedulerName, "scheduler-name", "lifecycle-scheduler",
		"The spec.schedulerName of the pods to bind. No other scheduler may have it.")
	flags.IntVar(&s.concurrentBindings, "concurrent-bindings", 16,
		"How many bindings and other writes are under way at a time.")
	s.Replica.AddFlags(flags)
	for name, value := range map[string]string{"kube-api-qps": "50", "kube-api-burst": "100"} { // kube-scheduler's
		flag := flags.Lookup(name)
		flag.DefValue = value
		_ = flag.Value.Set(value)
	}
	flags.DurationVar(&s.initialBackoff, "pod-initial-backoff", time.Second,
		"How long a pod for which there is no node waits at least before it is tried again.")
	flags.DurationVar(&s.maxBackoff, "pod-max-backoff", 10*time.Second,
		"How long it waits at most once a node has changed that fits it. Until then it waits in any case.")
	flags.DurationVar(&s.assumeTimeout, "assume-timeout", 30*time.Second,
		"How long the watch may take to show a binding before the pod is read.")
	flags.DurationVar(&s.silentAfter, "node-silent-after", 25*time.Second,
		"How long a node may be silent and still get pods. It should be less than --node-monitor-grace-period of "+
			"kube-controller-manager, and more than two --node-heartbeat-interval.")
	flags.DurationVar(&s.startupGrace, "node-startup-grace-period", 60*time.Second,
		"How long a node that has never been heard may be silent and still get pods.")
	flags.DurationVar(&s.beat, "node-heartbeat-interval", 10*time.Second,
		"How often nodes renew their leases. Nodes whose heartbeat is late get pods only if no other node fits.")
	flags.DurationVar(&s.blindAfter, "node-blind-after", 6*time.Second,
		"How long after a heartbeat of any node, or an answered write, the silence of nodes still counts. 0 counts all "+
			"time.")
	flags.Float64Var(&s.unhealthyZone, "unhealthy-zone-threshold", 0.55,
		"The share of nodes not ready, at least 3, from which on a zone gets pods only if no other zone fits.")
	flags.StringArrayVar(&s.templates, "node-template", nil,
		"File with a Node that an autoscaler would make: its labels, taints and status.allocatable, in YAML. A pod that "+
			"fits nowhere is told on which new node it would fit, next to the pods of DaemonSets there. It can be given "+
			"several times.")
	s.evicting.AddBudgetFlags(flags)
}

// Check reports what is wrong, in the order in which AddFlags adds the flags.
func (s *settings) Check(c *commandline.Checks) {
	c.That(s.schedulerName != "", "--scheduler-name is empty, want a name")
	c.That(s.concurrentBindings > 0, "--concurrent-bindings is %d, want at least 1", s.concurrentBindings)
	s.Replica.Check(c)
	c.Positive("pod-initial-backoff", s.initialBackoff)
	c.That(s.maxBackoff >= s.initialBackoff, "--pod-max-backoff is %v, want at least --pod-initial-backoff %v",
		s.maxBackoff, s.initialBackoff)
	c.Positive("assume-timeout", s.assumeTimeout)
	c.Positive("node-startup-grace-period", s.startupGrace)
	c.Positive("node-heartbeat-interval", s.beat)
	c.That(s.silentAfter > 2*s.beat, "--node-silent-after is %v, want more than two --node-heartbeat-interval %v",
		s.silentAfter, s.beat)
	c.That(s.blindAfter >= 0, "--node-blind-after is %v, want zero or more", s.blindAfter)
	c.That(s.unhealthyZone >= 0 && s.unhealthyZone <= 1, "--unhealthy-zone-threshold is %v, want 0 to 1",
		s.unhealthyZone)
	s.evicting.CheckBudgets(c)
}

// config returns what the flags mean for the core.
func (s *settings) config() (scheduling.Config, error) {
	thresholds := zone.DefaultThresholds()
	thresholds.Unhealthy = s.unhealthyZone
	backoff := timedqueue.Backoff{Initial: s.initialBackoff, Max: s.maxBackoff}
	evictions := s.evicting.Config()
	evictions.Backoff.Jitter = process.Jitter
	config := scheduling.Config{
		SchedulerName: s.schedulerName,
		Health: nodehealth.Config{
			GracePeriod: s.silentAfter, StartupGracePeriod: s.startupGrace,
			SightTimeout: s.blindAfter, UnbrokenPeriod: 2 * s.beat,
		},
		FreshFor:      s.beat + s.beat/5,
		Zone:          zone.Config{State: thresholds.State, StabilizationWindow: s.silentAfter},
		Evictions:     evictions,
		Backoff:       backoff,
		AssumeTimeout: s.assumeTimeout,
		RequestLimit:  rate.Limit(s.APIQPS),
		RequestBurst:  s.APIBurst,
	}
	for _, name := range s.templates {
		node, err := readTemplate(name)
		if err != nil {
			return scheduling.Config{}, err
		}
		config.Templates = append(config.Templates, node)
	}
	return config, nil
}

func readTemplate(name string) (*corev1.Node, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read --node-template: %w", err)
	}
	node := &corev1.Node{}
	if err := yaml.UnmarshalStrict(text, node); err != nil {
		return nil, fmt.Errorf("read --node-template %s: %w", name, err)
	}
	return node, nil
}
