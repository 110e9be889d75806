// Package evictionreport is what programs that evict pods show of it. [Metrics]
// are Prometheus metrics with the names of kube-controller-manager. [NewPage]
// is a page about the pods that wait, when they leave and why, and [Log] writes
// lines in the log.
package evictionreport

import (
	"iter"
	"time"

	"github.com/kubelife/lifecycle/eviction"
)

// State is what there is to show. An eviction.Tracker is one, and its methods
// say more. All but Nodes and PendingOn read running counts.
type State interface {
	// Waiting returns how many pods wait to be evicted, now or later, or are being
	// evicted, and Acting how many of them are.
	Waiting() int
	Acting() int
	// Overdue returns since when the one should have left that is overdue the
	// longest, and false if none is.
	Overdue(now time.Time) (since time.Time, is bool)
	// Delayed returns how many are due and wait for a share of a budget.
	Delayed(budget string) int
	// Nodes returns the names of all nodes, and PendingOn the pods of one of them
	// that wait to be evicted.
	Nodes() []string
	PendingOn(node string) iter.Seq[eviction.Pending]
}

var _ State = (*eviction.Tracker)(nil)

// A Read calls its argument with the state while nothing else uses it, and
// returns when that is done. A program takes the lock of its dispatcher for it.
type Read func(use func(State))
