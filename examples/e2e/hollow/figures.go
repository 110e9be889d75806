package hollow

import (
	"errors"
	"fmt"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// A figure is what is measured of a fleet, in the unit of its row.
type figure int

const (
	nodesSeconds figure = iota
	nodesCPU
	nodesCalls
	upSeconds
	upCPU
	upCalls
	restCPU
	restRenewals
	restMemory
	endSeconds
	endCPU
	endCalls
	churnPods
	churnRate
	churnCPU
	churnGrowth
	peakMemory
	goroutines

	// Those of a circle are seconds until a step is over.
	nodesOpen
	podsReady
	nodesTainted
	podsEvicted
	podsReplaced
	staysNotReady
	staysReady
	evictedEnded
	nodesUntainted
	// slowest is the longest time from the return of a node until the pod that
	// stayed on it was ready. Restarts are those of the containers of all such
	// pods.
	slowest
	restarts
)

// figures are those of a play.
type figures map[figure]float64

// row is the row of a figure.
func row(f figure, title, format string) sidebyside.Figure[figures] {
	return sidebyside.Figure[figures]{
		Title: title, Format: sidebyside.Format(format), NoRatio: f == churnGrowth,
		Of: func(of *figures) (float64, bool) {
			value, known := (*of)[f]
			return value, known
		},
	}
}

// judged are the rows in which ours must be at most kwok's.
func judged() []sidebyside.Figure[figures] {
	rows := []sidebyside.Figure[figures]{
		row(upCPU, "CPU time to bring them up", "%.2f s"),
		row(restCPU, "CPU at rest, of a core", "%.1f %%"),
		row(restMemory, "resident memory at rest", "%.0f MiB"),
		row(endCPU, "CPU time to end them", "%.2f s"),
	}
	for i := range rows {
		rows[i].Main = true
	}
	return rows
}

// figures are the rows of the table, in order. Without a churn those of the
// churn are missing.
func (o *options) figures(columns []*sidebyside.Column[scenario, figures]) []sidebyside.Figure[figures] {
	if columns[0].Scenario == circle {
		return o.circleFigures()
	}
	dear := judged()
	rows := []sidebyside.Figure[figures]{
		row(nodesSeconds, sidebyside.Thousands(o.nodes)+" nodes are ready after", "%.1f s"),
		row(nodesCPU, "CPU time to make them ready", "%.2f s"),
		row(nodesCalls, "API calls for each node", "%.2f"),
		row(upSeconds, sidebyside.Thousands(o.pods)+" pods are created and ready after", "%.1f s"),
		dear[0],
		row(upCalls, "API calls to bring a pod up", "%.2f"),
		dear[1],
		row(restRenewals, "calls about leases a second, at rest", "%.1f"),
		dear[2],
		row(endSeconds, "all pods are deleted and gone after", "%.1f s"),
		dear[3],
		row(endCalls, "API calls to end a pod", "%.2f"),
	}
	if o.churn > 0 {
		rows = append(rows,
			row(churnPods, fmt.Sprintf("pods that come and go in %v", o.churn), "%.0f"),
			row(churnRate, "of them a second", "%.0f"),
			row(churnCPU, "CPU time for 1,000 of them", "%.2f s"),
			row(churnGrowth, "growth of resident memory meanwhile", "%+.1f %%"),
		)
	}
	return append(rows,
		row(peakMemory, "most resident memory at any time", "%.0f MiB"),
		row(goroutines, "goroutines at the end", "%.0f"))
}

// circleFigures are the rows of a circle, its steps in order.
func (o *options) circleFigures() []sidebyside.Figure[figures] {
	ready := sidebyside.Thousands(o.pods) + " pods of a ReplicaSet are ready, and one that stays on each node"
	return []sidebyside.Figure[figures]{
		row(nodesOpen, sidebyside.Thousands(o.nodes)+" nodes are ready and take pods", "%.1f s"),
		row(podsReady, ready, "%.1f s"),
		row(nodesTainted, fmt.Sprintf("%d of them silent: all of these are tainted NoExecute", o.silenced()), "%.1f s"),
		row(podsEvicted, "all their pods of the ReplicaSet are evicted", "%.1f s"),
		row(podsReplaced, "as many are ready on other nodes", "%.1f s"),
		row(staysNotReady, "all that stay are shown not ready", "%.1f s"),
		row(staysReady, "the nodes return: all that stayed are ready again", "%.1f s"),
		row(evictedEnded, "the evicted pods have ended", "%.1f s"),
		row(nodesUntainted, "no node has a taint", "%.1f s"),
		row(slowest, "the last pod that stayed is ready, after the return of its node", "%.1f s"),
		row(restarts, "restarts of their containers", "%.0f"),
	}
}

const (
	// mostGrowth is what the memory of ours may grow by, in percent, over as many
	// pods as enoughPods.
	mostGrowth = 5
	enoughPods = 100_000
	// mostMemory is what ours may need, in MiB, whatever it runs.
	mostMemory = 1024
	// mostGoroutines is how many ours may have, whatever it runs. They are the
	// workers of --concurrent-calls, and those of a heartbeat.Sender for renewals,
	// reports and gates. As many again are for connections, informers and the
	// rest.
	mostGoroutines = 2 * (32 + 3*32)
	// kubeletUpCalls and kubeletEndCalls are the API calls about a pod that a
	// kubelet v1.37.1 was measured to send, to bring it up and to end it. It ran
	// as kubemark's hollow node, on 2026-11-26.
	kubeletUpCalls  = 2.48
	kubeletEndCalls = 4.42
)

// faults returns what is wrong with figures of ours.
func (f figures) faults() error {
	var problems []error
	if f[churnPods] >= enoughPods && f[churnGrowth] >= mostGrowth {
		problems = append(problems, fmt.Errorf("%w: memory has grown by %.1f %%, want less than %d %%",
			errTooMuch, f[churnGrowth], mostGrowth))
	}
	if most := max(f[restMemory], f[peakMemory]); most > mostMemory {
		problems = append(problems, fmt.Errorf("%w: %.0f MiB of memory, want at most %d", errTooMuch, most, mostMemory))
	}
	if f[goroutines] > mostGoroutines {
		problems = append(problems, fmt.Errorf("%w: %.0f goroutines, want at most %d",
			errTooMuch, f[goroutines], mostGoroutines))
	}
	for _, calls := range []struct {
		what string
		is   float64
		most float64
	}{{"bring a pod up", f[upCalls], kubeletUpCalls}, {"end a pod", f[endCalls], kubeletEndCalls}} {
		if calls.is > calls.most {
			problems = append(problems, fmt.Errorf("%w: API calls to %s: %.2f, and a kubelet needs %.2f",
				errTooMuch, calls.what, calls.is, calls.most))
		}
	}
	if f[slowest] > returnLimit.Seconds() {
		problems = append(problems, fmt.Errorf("%w: a pod that stayed is ready %.1f s after the return of its node, want %v",
			errTooLate, f[slowest], returnLimit))
	}
	if f[restarts] > 0 {
		problems = append(problems, fmt.Errorf("%.0f containers have restarted", f[restarts]))
	}
	return errors.Join(problems...)
}

// judge returns where ours costs more than kwok.
func (o *options) judge(columns []*sidebyside.Column[scenario, figures]) error {
	ours, other := sidebyside.ColumnOf(columns, sidebyside.Ours), sidebyside.ColumnOf(columns, kwokName)
	var problems []error
	for _, f := range judged() {
		if ratio, known := sidebyside.Ratio(f, ours, other); known && ratio > 1 {
			problems = append(problems, fmt.Errorf("%w: %w: %s: %.2f times kwok's",
				sidebyside.ErrOursFailed, errTooMuch, f.Title, ratio))
		}
	}
	return errors.Join(problems...)
}
