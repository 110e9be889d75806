package evicting_test

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/commandline"
	"github.com/kubelife/lifecycle/examples/process/evicting"
)

func parsed(t *testing.T, args ...string) *evicting.Options {
	t.Helper()
	var o evicting.Options
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(flags)
	require.NoError(t, flags.Parse(args))
	return &o
}

func check(o *evicting.Options) error {
	var c commandline.Checks
	o.Check(&c)
	return c.Err()
}

// Without flags pods are evicted as kube-controller-manager v1.37 does:
// deleted, as fast as the API server answers. Only mirror pods are spared.
func TestDefaults(t *testing.T) {
	o := parsed(t)
	require.NoError(t, check(o))
	require.Equal(t,
		&evicting.Options{Action: evicting.Delete, EvictFor: 30 * time.Minute, BudgetBurst: 1, SpareMirrorPods: true}, o)
}

// Each flag sets one field, and no other.
func TestEachFlagSetsItsField(t *testing.T) {
	for flag, set := range map[string]func(*evicting.Options){
		"--action=evict":             func(o *evicting.Options) { o.Action = evicting.Evict },
		"--action=evict-then-delete": func(o *evicting.Options) { o.Action = evicting.EvictThenDelete },
		"--action=dry-run":           func(o *evicting.Options) { o.Action = evicting.DryRun },
		"--evict-for=5m":             func(o *evicting.Options) { o.EvictFor = 5 * time.Minute },
		"--confirm":                  func(o *evicting.Options) { o.Confirm = true },
		"--budget-overall=1.5":       func(o *evicting.Options) { o.BudgetOverall = 1.5 },
		"--budget-per-node=2":        func(o *evicting.Options) { o.BudgetPerNode = 2 },
		"--budget-per-namespace=3":   func(o *evicting.Options) { o.BudgetPerNamespace = 3 },
		"--budget-burst=4":           func(o *evicting.Options) { o.BudgetBurst = 4 },
		"--low-priority-first":       func(o *evicting.Options) { o.LowPriorityFirst = true },
		"--spare-mirror-pods=false":  func(o *evicting.Options) { o.SpareMirrorPods = false },
		"--spare-finished-pods":      func(o *evicting.Options) { o.SpareFinishedPods = true },
		"--spare-daemonset-pods":     func(o *evicting.Options) { o.SpareDaemonSetPods = true },
	} {
		want := parsed(t)
		set(want)
		require.Equal(t, want, parsed(t, flag), flag)
		require.NoError(t, check(want), flag)
	}
}

func TestWrongValues(t *testing.T) {
	for flag, says := range map[string]string{
		"--action=shoot":            `--action is "shoot", want delete, evict, evict-then-delete or dry-run`,
		"--action=":                 `--action is "", want delete, evict, evict-then-delete or dry-run`,
		"--evict-for=0s":            "--evict-for is 0s, want a positive duration",
		"--budget-overall=-1":       "--budget-overall is -1, want a number that is zero or more",
		"--budget-overall=Inf":      "--budget-overall is +Inf, want a number that is zero or more",
		"--budget-per-node=NaN":     "--budget-per-node is NaN, want a number that is zero or more",
		"--budget-per-namespace=-2": "--budget-per-namespace is -2, want a number that is zero or more",
		"--budget-burst=0":          "--budget-burst is 0, want at least 1",
	} {
		require.EqualError(t, check(parsed(t, flag)), says)
	}
}
