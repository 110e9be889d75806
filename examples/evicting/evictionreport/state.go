// Package evictionreport is what programs that evict pods show of it: Prometheus metrics
// with the names of kube-controller-manager ([Metrics]), a page about the pods that
// wait, when they leave and why ([NewPage]), and lines in the log ([Log]).
package evictionreport

import (
	"iter"
	"time"

	"github.com/kubelife/lifecycle/eviction"
)

// State is what there is to show. An eviction.Tracker is one.
type State interface {
	// Pending goes through all pods that wait to be evicted, in no order.
	Pending() iter.Seq[eviction.Pending]
}

var _ State = (*eviction.Tracker)(nil)

// A Read lets its argument look at the state while nobody else uses it, and returns
// when that is done. A program takes the lock of its dispatcher for it.
type Read func(look func(State))

// tally is what a look at the state counts.
type tally struct {
	pending, acting, overdue int
	oldest                   time.Time // when what is overdue the longest was due
	waits                    map[string]int
}

// count looks at all that is pending, once.
func count(state State, now time.Time) tally {
	t := tally{waits: map[string]int{}}
	for p := range state.Pending() {
		t.pending++
		if p.Acting {
			t.acting++
		}
		if p.Budget != "" {
			t.waits[p.Budget]++
		}
		if !p.Decision.DueAt(now) {
			continue
		}
		t.overdue++
		if t.oldest.IsZero() || p.Decision.Due.Before(t.oldest) {
			t.oldest = p.Decision.Due
		}
	}
	return t
}
