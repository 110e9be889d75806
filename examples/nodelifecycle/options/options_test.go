package options_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/options"
	"github.com/kubelife/lifecycle/examples/process/commandline"
	"github.com/kubelife/lifecycle/examples/process/evicting"
	"github.com/kubelife/lifecycle/zone"
)

func flagsOf(o *options.Options) *pflag.FlagSet {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SortFlags = false
	o.AddFlags(flags)
	return flags
}

// parsed returns the options that a command line gives.
func parsed(t *testing.T, args ...string) *options.Options {
	t.Helper()
	var o options.Options
	require.NoError(t, flagsOf(&o).Parse(args))
	return &o
}

// The defaults are those of kube-controller-manager v1.37, where it has the
// flag.
func TestDefaults(t *testing.T) {
	var o options.Options
	flags := flagsOf(&o)
	want := map[string]string{
		"node-monitor-period": "5s", "node-monitor-grace-period": "50s", "node-startup-grace-period": "1m0s",
		"node-eviction-rate": "0.1", "secondary-node-eviction-rate": "0.01", "large-cluster-size-threshold": "50",
		"unhealthy-zone-threshold": "0.55", "kube-api-qps": "20", "kube-api-burst": "30", "leader-elect": "true",
		"leader-elect-lease-duration": "15s", "leader-elect-renew-deadline": "10s", "leader-elect-retry-period": "2s",
		// Ours.
		"eviction-mode": "taint", "pod-eviction-timeout": "5m0s",
		"node-recovery-period": "0s", "node-blind-after": "6s", "node-declare-unconfirmed": "false",
		"node-heartbeat-interval": "10s", "concurrent-node-syncs": "16",
		"node-eviction-zone-share": "0", "pause-while-zone-down": "false", "min-healthy-share": "0",
		"resume-healthy-share": "0", "resume-delay": "0s",
		"action": "delete", "evict-for": "30m0s", "confirm": "false",
		"budget-overall": "0", "budget-per-node": "0", "budget-per-namespace": "0", "budget-burst": "1",
		"low-priority-first": "false",
		"spare-mirror-pods":  "true", "spare-finished-pods": "false", "spare-daemonset-pods": "false",
	}
	flags.VisitAll(func(flag *pflag.Flag) {
		require.Equal(t, want[flag.Name], flag.DefValue, flag.Name)
		require.NotEmpty(t, flag.Usage, flag.Name)
		delete(want, flag.Name)
	})
	require.Empty(t, want)
	require.NoError(t, o.Validate())
	config := o.Controller()
	require.NoError(t, config.Validate())
	require.InDelta(t, 0.1, config.Zone.Rate(zone.Normal, zone.Counts{Ready: 10}), 0)
	require.InDelta(t, 0.1, config.Zone.Rate(zone.FullDisruption, zone.Counts{NotReady: 10}), 0)
	require.InDelta(t, 0, config.Zone.Rate(zone.PartialDisruption, zone.Counts{NotReady: 50}), 0)
	require.InDelta(t, 0.01, config.Zone.Rate(zone.PartialDisruption, zone.Counts{NotReady: 51}), 0)
}

// Each flag sets one field, and no other.
func TestEachFlagSetsItsField(t *testing.T) {
	require.Equal(t, &options.Options{
		ConcurrentSyncs: 1,
		Replica: commandline.Replica{
			APIQPS:   2,
			APIBurst: 3,
			LeaderElection: commandline.LeaderElection{
				Elect: false, LeaseDuration: 6 * time.Second, RenewDeadline: 5 * time.Second, RetryPeriod: 4 * time.Second,
			},
		},
		MonitorPeriod:          7 * time.Second,
		MonitorGracePeriod:     18 * time.Second,
		StartupGracePeriod:     9 * time.Second,
		RecoveryPeriod:         21 * time.Second,
		BlindAfter:             22 * time.Second,
		DeclareUnconfirmed:     true,
		EvictionRate:           10,
		SecondaryEvictionRate:  11,
		LargeClusterSize:       12,
		EvictionZoneShare:      0.23,
		UnhealthyZoneThreshold: 0.13,
		PauseWhileZoneDown:     true,
		MinHealthyShare:        0.24,
		ResumeHealthyShare:     0.25,
		ResumeDelay:            26 * time.Second,
		HeartbeatInterval:      14 * time.Second,
		HeartbeatIntervalGiven: true,
		EvictionMode:           "node",
		PodEvictionTimeout:     20 * time.Second,
		Evicting: evicting.Options{
			Action: evicting.Evict, EvictFor: 15 * time.Second, Confirm: true,
			BudgetOverall: 16, BudgetPerNode: 17, BudgetPerNamespace: 18, BudgetBurst: 19, LowPriorityFirst: true,
			SpareMirrorPods: false, SpareFinishedPods: false, SpareDaemonSetPods: true,
		},
	}, parsed(t,
		"--concurrent-node-syncs=1", "--kube-api-qps=2", "--kube-api-burst=3",
		"--leader-elect=false", "--leader-elect-retry-period=4s", "--leader-elect-renew-deadline=5s",
		"--leader-elect-lease-duration=6s",
		"--node-monitor-period=7s", "--node-monitor-grace-period=18s", "--node-startup-grace-period=9s",
		"--node-recovery-period=21s", "--node-blind-after=22s", "--node-declare-unconfirmed", "--node-eviction-rate=10",
		"--secondary-node-eviction-rate=11", "--large-cluster-size-threshold=12",
		"--node-eviction-zone-share=0.23", "--pause-while-zone-down", "--min-healthy-share=0.24",
		"--resume-healthy-share=0.25", "--resume-delay=26s",
		"--unhealthy-zone-threshold=0.13", "--node-heartbeat-interval=14s",
		"--eviction-mode=node", "--pod-eviction-timeout=20s",
		"--action=evict", "--evict-for=15s", "--confirm", "--budget-overall=16", "--budget-per-node=17",
		"--budget-per-namespace=18",
		"--budget-burst=19", "--low-priority-first", "--spare-mirror-pods=false", "--spare-daemonset-pods",
	))
}

func TestControllerMeansWhatTheFlagsSay(t *testing.T) {
	config := parsed(t, "--node-monitor-grace-period=40s", "--node-startup-grace-period=30s",
		"--node-heartbeat-interval=20s",
		"--node-eviction-rate=3", "--secondary-node-eviction-rate=2", "--large-cluster-size-threshold=7",
		"--unhealthy-zone-threshold=0.9").Controller()
	require.Equal(t, 40*time.Second, config.Health.GracePeriod)
	require.Equal(t, 30*time.Second, config.Health.StartupGracePeriod)
	sight := func(args ...string) time.Duration { return parsed(t, args...).Controller().Health.SightTimeout }
	require.Equal(t, 6*time.Second, sight())
	require.Equal(t, 7*time.Second, sight("--node-blind-after=7s"))
	require.Equal(t, 21*time.Second, sight("--leader-elect-retry-period=10s", "--leader-elect-renew-deadline=14s"))
	require.Zero(t, sight("--node-blind-after=0s"))
	require.Equal(t, 20*time.Second, parsed(t, "--node-recovery-period=20s").Controller().Health.RecoveryPeriod)
	require.Equal(t, 40*time.Second, config.Zone.StabilizationWindow)
	require.Equal(t, 22*time.Second, *config.Zone.ObservationWindow, "and a tenth more")
	require.InDelta(t, 3, config.Zone.Rate(zone.Normal, zone.Counts{Ready: 1}), 0)
	require.InDelta(t, 0, config.Zone.Rate(zone.PartialDisruption, zone.Counts{NotReady: 7}), 0)
	require.InDelta(t, 2, config.Zone.Rate(zone.PartialDisruption, zone.Counts{NotReady: 8}), 0)
	require.Equal(t, zone.Normal, config.Zone.State(zone.Counts{Ready: 2, NotReady: 8}))
	require.Equal(t, zone.PartialDisruption, config.Zone.State(zone.Counts{Ready: 1, NotReady: 9}))

	require.Empty(t, config.Eviction.Budgets)
	require.True(t, config.Eviction.Exempt(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "hash"}},
	}))
	require.Nil(t, parsed(t, "--spare-mirror-pods=false").Controller().Eviction.Exempt)

	config = parsed(t, "--budget-per-node=5", "--low-priority-first").Controller()
	require.Len(t, config.Eviction.Budgets, 1)
	require.True(t, config.Eviction.LowPriorityFirst)
	require.NotNil(t, config.Eviction.Exempt)

	require.Equal(t, controller.EvictionModeTaint, config.EvictionMode)
	config = parsed(t, "--eviction-mode=node", "--pod-eviction-timeout=7m").Controller()
	require.Equal(t, controller.EvictionModeNode, config.EvictionMode)
	require.Equal(t, 7*time.Minute, config.PodEvictionTimeout)

	config = parsed(t, "--node-heartbeat-interval=0s").Controller()
	require.Zero(t, *config.Zone.ObservationWindow, "no wait")
	_, err := controller.New(config, time.Unix(0, 0))
	require.NoError(t, err)
}

// The flags of a pause do not take the place of the suspension.
func TestThePausesOfTheFlags(t *testing.T) {
	phase := func(c zone.Cluster, args ...string) zone.Phase { return parsed(t, args...).Controller().Zone.Phase(c) }
	down := zone.Cluster{Counts: zone.Counts{Ready: 6, NotReady: 4}, Zones: 3, FullyDisrupted: 1}
	require.Equal(t, zone.PhaseActive, phase(down))
	require.Equal(t, zone.PhasePaused, phase(down, "--pause-while-zone-down"))
	require.Equal(t, zone.PhaseActive, phase(down, "--min-healthy-share=0.6"))
	require.Equal(t, zone.PhasePaused, phase(down, "--min-healthy-share=0.61"))
	require.Equal(t, zone.PhaseActive, phase(down, "--min-healthy-share=0.6", "--resume-healthy-share=0.8"))
	down.Stopped = true
	require.Equal(t, zone.PhaseActive, phase(down, "--min-healthy-share=0.6"))
	require.Equal(t, zone.PhasePaused, phase(down, "--min-healthy-share=0.6", "--resume-healthy-share=0.8"))
	all := zone.Cluster{Counts: zone.Counts{NotReady: 9}, Zones: 1, FullyDisrupted: 1}
	require.Equal(t, zone.PhaseSuspended, phase(all, "--pause-while-zone-down", "--min-healthy-share=1"))
	require.Equal(t, zone.PhaseActive, phase(zone.Cluster{}, "--pause-while-zone-down", "--min-healthy-share=1"))

	require.Equal(t, 50*time.Second, parsed(t, "--resume-delay=49s").Controller().Zone.StabilizationWindow)
	require.Equal(t, time.Minute, parsed(t, "--resume-delay=1m").Controller().Zone.StabilizationWindow)
	config := parsed(t, "--node-eviction-zone-share=0.01").Controller()
	require.InDelta(t, 3, config.Zone.Rate(zone.Normal, zone.Counts{Ready: 300}), 1e-9)
	require.InDelta(t, 0.1, config.Zone.Rate(zone.Normal, zone.Counts{Ready: 3}), 1e-9)
	require.EqualError(t, parsed(t, "--min-healthy-share=0.6", "--resume-healthy-share=0.5").Validate(),
		"--resume-healthy-share is 0.5, want 0, or --min-healthy-share to 1")
}

func TestWrongValues(t *testing.T) {
	for args, says := range map[string]string{
		"--concurrent-node-syncs=0": "--concurrent-node-syncs is 0, want at least 1",
		"--kube-api-qps=0":          "--kube-api-qps is 0, want more than 0",
		"--kube-api-burst=0":        "--kube-api-burst is 0, want at least 1",
		"--leader-elect-renew-deadline=15s": "--leader-elect-renew-deadline 15s must be less than " +
			"--leader-elect-lease-duration 15s",
		"--leader-elect-renew-deadline=2s": "--leader-elect-renew-deadline 2s must be more than 1.2 times " +
			"--leader-elect-retry-period 2s",
		"--leader-elect-retry-period=0s":    "--leader-elect-retry-period is 0s, want a positive duration",
		"--node-monitor-period=0s":          "--node-monitor-period is 0s, want a positive duration",
		"--node-monitor-grace-period=0s":    "--node-monitor-grace-period is 0s, want a positive duration",
		"--node-startup-grace-period=-1s":   "--node-startup-grace-period is -1s, want a positive duration",
		"--node-eviction-rate=-1":           "--node-eviction-rate is -1, want zero or more",
		"--node-eviction-rate=NaN":          "--node-eviction-rate is NaN, want zero or more",
		"--secondary-node-eviction-rate=-1": "--secondary-node-eviction-rate is -1, want zero or more",
		"--large-cluster-size-threshold=-1": "--large-cluster-size-threshold is -1, want zero or more",
		"--unhealthy-zone-threshold=0":      "--unhealthy-zone-threshold is 0, want more than 0 and at most 1",
		"--unhealthy-zone-threshold=55":     "--unhealthy-zone-threshold is 55, want more than 0 and at most 1",
		"--node-eviction-zone-share=-1":     "--node-eviction-zone-share is -1, want 0 to 1",
		"--min-healthy-share=60":            "--min-healthy-share is 60, want 0 to 1",
		"--resume-healthy-share=1.1":        "--resume-healthy-share is 1.1, want 0, or --min-healthy-share to 1",
		"--resume-delay=-1s":                "--resume-delay is -1s, want zero or more",
		"--node-recovery-period=-1s":        "--node-recovery-period is -1s, want zero or more",
		"--node-blind-after=-1s":            "--node-blind-after is -1s, want zero or more",
		"--node-heartbeat-interval=-1s":     "--node-heartbeat-interval is -1s, want zero or more",
		"--eviction-mode=":                  `--eviction-mode is "", want taint or node`,
		"--eviction-mode=pod":               `--eviction-mode is "pod", want taint or node`,
		"--pod-eviction-timeout=0s":         "--pod-eviction-timeout is 0s, want a positive duration",
		"--budget-burst=0":                  "--budget-burst is 0, want at least 1",
	} {
		require.EqualError(t, parsed(t, args).Validate(), says)
	}
	for _, args := range []string{
		"--node-eviction-rate=0", "--secondary-node-eviction-rate=0", "--large-cluster-size-threshold=0",
		"--unhealthy-zone-threshold=1", "--node-heartbeat-interval=0s", "--concurrent-node-syncs=1",
	} {
		require.NoError(t, parsed(t, args).Validate(), args)
	}
}

// A grace period that is not longer than the interval of heartbeats declares
// nodes that live. It is refused if both are given. If the interval is the
// default, the flag is one that kube-controller-manager takes, and is taken.
func TestAGracePeriodIsLongerThanTheIntervalOfHeartbeats(t *testing.T) {
	for _, grace := range []string{"1s", "5s", "10s"} {
		flag := "--node-monitor-grace-period=" + grace
		require.EqualError(t, parsed(t, flag, "--node-heartbeat-interval=10s").Validate(),
			flag[:len(flag)-len(grace)-1]+" is "+grace+", want more than --node-heartbeat-interval, 10s")
		o := parsed(t, flag)
		require.NoError(t, o.Validate())
		config := o.Controller()
		require.Equal(t, 15*time.Second, config.Health.GracePeriod)
		require.Equal(t, 15*time.Second, config.Zone.StabilizationWindow)
		require.Contains(t, o.Warnings(), flag[:len(flag)-len(grace)-1]+" is "+grace+
			", and heartbeats are 10s apart (--node-heartbeat-interval): nodes may be silent for 15s, "+
			"so that none that lives is declared.")
	}
	require.NoError(t, parsed(t, "--node-monitor-grace-period=1s", "--node-heartbeat-interval=0s").Validate())
}

// What is valid, and yet cannot be meant, is told.
func TestOddFlagsAreToldOf(t *testing.T) {
	for args, says := range map[string]string{
		"": "",
		"--node-monitor-grace-period=20s --node-heartbeat-interval=5s": "",
		"--node-monitor-grace-period=17s":                              "",
		"--node-monitor-grace-period=12s --node-heartbeat-interval=10s --node-blind-after=0s": "--node-monitor-grace-period " +
			"is 12s, and heartbeats are 10s apart (--node-heartbeat-interval): nodes may be silent for 15s",
		"--node-blind-after=40s": "An API server that does not answer for up to 40s is not noticed",
		"--leader-elect-retry-period=20s --leader-elect-renew-deadline=30s --leader-elect-lease-duration=1m": "An API server " +
			"that does not answer for up to 41s is not noticed",
		"--node-eviction-rate=0.005": "--secondary-node-eviction-rate is 0.01, more than --node-eviction-rate, 0.005",
	} {
		warnings := parsed(t, strings.Fields(args)...).Warnings()
		if says == "" {
			require.Empty(t, warnings, args)
			continue
		}
		require.Len(t, warnings, 1, args)
		require.True(t, strings.HasPrefix(warnings[0], says), "%s: %s", args, warnings[0])
	}
}

// All that is wrong is said at once, each time in the order of the flags.
func TestErrorsComeInTheOrderOfTheFlags(t *testing.T) {
	var wrong options.Options // zero, of which some values are allowed
	wrong.EvictionRate, wrong.SecondaryEvictionRate, wrong.LargeClusterSize, wrong.HeartbeatInterval = -1, -1, -1, -1
	wrong.RecoveryPeriod, wrong.BlindAfter, wrong.ResumeDelay = -1, -1, -1
	wrong.EvictionZoneShare, wrong.MinHealthyShare, wrong.ResumeHealthyShare = -1, -1, -1
	wrong.Evicting.BudgetOverall, wrong.Evicting.BudgetPerNode, wrong.Evicting.BudgetPerNamespace = -1, -1, -1
	var want []string
	flagsOf(&options.Options{}).VisitAll(func(flag *pflag.Flag) {
		if flag.Value.Type() != "bool" {
			want = append(want, "--"+flag.Name)
		}
	})
	for range 20 {
		var said []string
		for line := range strings.Lines(wrong.Validate().Error()) {
			flag, _, _ := strings.Cut(line, " ")
			if len(said) == 0 || said[len(said)-1] != flag {
				said = append(said, flag)
			}
		}
		require.Equal(t, want, said)
	}
}
