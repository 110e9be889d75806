package evicting

import (
	"slices"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
)

// Names of the budgets, for metrics and for eviction.Tracker's SetLimit.
const (
	Overall      = "overall"
	PerNode      = "node"
	PerNamespace = "namespace"
)

// Config returns what the options mean for an eviction.Tracker: its budgets,
// which pods are exempt, and which leave first. All else is left zero.
func (o *Options) Config() eviction.Config {
	return eviction.Config{
		Budgets:          o.budgets(),
		Exempt:           o.exempt(),
		LowPriorityFirst: o.LowPriorityFirst,
	}
}

func (o *Options) budgets() []eviction.Budget {
	var all []eviction.Budget
	for _, budget := range []struct {
		limit float64
		eviction.Budget
	}{
		{o.BudgetOverall, eviction.Budget{Name: Overall}},
		{o.BudgetPerNode, eviction.Budget{Name: PerNode, ByNode: func(node *corev1.Node) string { return node.Name }}},
		{o.BudgetPerNamespace,
			eviction.Budget{Name: PerNamespace, ByPod: func(pod *corev1.Pod) string { return pod.Namespace }}},
	} {
		if budget.limit == 0 {
			continue // to the library it is a budget that holds all
		}
		budget.Limit, budget.Burst = rate.Limit(budget.limit), o.BudgetBurst
		all = append(all, budget.Budget)
	}
	return all
}

func (o *Options) exempt() func(*corev1.Pod) bool {
	var spared []func(*corev1.Pod) bool
	if o.SpareMirrorPods {
		spared = append(spared, eviction.IsMirrorPod)
	}
	if o.SpareFinishedPods {
		spared = append(spared, eviction.IsTerminal)
	}
	if o.SpareDaemonSetPods {
		spared = append(spared, eviction.IsDaemonSetPod)
	}
	if len(spared) == 0 {
		return nil
	}
	return func(pod *corev1.Pod) bool {
		return slices.ContainsFunc(spared, func(is func(*corev1.Pod) bool) bool { return is(pod) })
	}
}
