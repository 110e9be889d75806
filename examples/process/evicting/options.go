// Package evicting holds what programs that evict pods have in common. Flags
// say how pods are made to leave, how fast, and which are exempt;
// [Options.Config] translates them for package eviction. It has no clock and no
// client of its own, so that a simulator can use the same flags.
//
// Package evictionreport, below it, is what such programs show of their
// evictions: metrics, a page about the pods that wait, and the log.
package evicting

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// Actions, the values of --action.
const (
	// Delete deletes pods, as kube-controller-manager does.
	Delete = "delete"
	// Evict asks the Eviction API, which respects PodDisruptionBudgets.
	Evict = "evict"
	// EvictThenDelete evicts, and deletes what could not be evicted in time.
	EvictThenDelete = "evict-then-delete"
	// DryRun only tells.
	DryRun = "dry-run"
)

// actions are all of them.
func actions() []string { return []string{Delete, Evict, EvictThenDelete, DryRun} }

// Options are the flags. The zero value is not valid: AddFlags sets the
// defaults, which are what kube-controller-manager v1.37 does, except that
// mirror pods are spared.
type Options struct {
	// Action is one of Delete, Evict, EvictThenDelete and DryRun.
	Action string
	// EvictFor is how long EvictThenDelete evicts before it deletes.
	EvictFor time.Duration
	// Confirm has pod and node read from the API server just before an action.
	Confirm bool

	// BudgetOverall, BudgetPerNode and BudgetPerNamespace are in evictions a
	// second. Zero is no budget.
	BudgetOverall, BudgetPerNode, BudgetPerNamespace float64
	// BudgetBurst is how many evictions may come at once, of each budget.
	BudgetBurst int
	// LowPriorityFirst is for pods that are due together.
	LowPriorityFirst bool

	SpareMirrorPods, SpareFinishedPods, SpareDaemonSetPods bool
}

// AddFlags adds the flags and sets the options to their defaults.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Action, "action", Delete, "How pods are made to leave: delete (mark and delete, as "+
		"kube-controller-manager), evict (through the Eviction API: a PodDisruptionBudget may make it wait), "+
		"evict-then-delete (see --evict-for), or dry-run (only tell).")
	flags.DurationVar(&o.EvictFor, "evict-for", 30*time.Minute, "How long after a pod had to leave "+
		"--action=evict-then-delete goes on asking for its eviction before it deletes the pod.")
	flags.BoolVar(&o.Confirm, "confirm", false, "Read pod and node from the API server and decide again just before a "+
		"pod is evicted. It costs two reads a pod and helps when caches are behind.")
	o.AddBudgetFlags(flags)
	flags.BoolVar(&o.LowPriorityFirst, "low-priority-first", false,
		"Of pods that have to leave at the same time, evict those of lower priority first. Else the order is that in which "+
			"they were seen.")
	flags.BoolVar(&o.SpareMirrorPods, "spare-mirror-pods", true,
		"Do not evict mirror pods. To delete one stops nothing, because its kubelet makes another. kube-controller-manager "+
			"evicts those that do not tolerate a taint, which only a hostile kubelet makes.")
	flags.BoolVar(&o.SpareFinishedPods, "spare-finished-pods", false, "Do not evict pods that have succeeded or failed.")
	flags.BoolVar(&o.SpareDaemonSetPods, "spare-daemonset-pods", false,
		"Do not evict pods of DaemonSets, whatever they tolerate.")
}

// AddBudgetFlags adds only the flags of the budgets, for a program whose action
// is fixed.
func (o *Options) AddBudgetFlags(flags *pflag.FlagSet) {
	flags.Float64Var(&o.BudgetOverall, "budget-overall", 0, "Evictions a second, of all pods together. 0 is no limit.")
	flags.Float64Var(&o.BudgetPerNode, "budget-per-node", 0, "Evictions a second from each node. 0 is no limit.")
	flags.Float64Var(&o.BudgetPerNamespace, "budget-per-namespace", 0,
		"Evictions a second in each namespace. 0 is no limit.")
	flags.IntVar(&o.BudgetBurst, "budget-burst", 1,
		"How many evictions may come at once after a time without any, for each of the budgets.")
}

// Check reports what is wrong, in the order in which AddFlags adds the flags.
func (o *Options) Check(c *commandline.Checks) {
	all := actions()
	last := len(all) - 1
	c.That(slices.Contains(all, o.Action), "--action is %q, want %s or %s", o.Action, strings.Join(all[:last], ", "),
		all[last])
	c.Positive("evict-for", o.EvictFor)
	o.CheckBudgets(c)
}

// CheckBudgets is Check of the flags of AddBudgetFlags.
func (o *Options) CheckBudgets(c *commandline.Checks) {
	for _, budget := range []struct {
		flag string
		rate float64
	}{
		{"budget-overall", o.BudgetOverall},
		{"budget-per-node", o.BudgetPerNode},
		{"budget-per-namespace", o.BudgetPerNamespace},
	} {
		c.That(budget.rate >= 0 && !math.IsInf(budget.rate, 1), "--%s is %v, want a number that is zero or more", budget.flag,
			budget.rate)
	}
	c.That(o.BudgetBurst > 0, "--budget-burst is %d, want at least 1", o.BudgetBurst)
}
