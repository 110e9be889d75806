package detection

import (
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/detection/judge"
)

// A series is what a play has come to over time, at each whole second after the
// first death.
type series struct {
	// Dead, unknown and tainted are dead nodes, and evicted pods, so far.
	dead, unknown, tainted, evicted []int
	// calls are those of the second before.
	calls []int
}

// newSeries counts what happened in a play, from the first death to the end.
func newSeries(nodes []judge.Node, calls []controlplane.Request, first, end time.Time) series {
	n := int(end.Sub(first)/time.Second) + 2 // the last one is not before the end
	s := series{
		dead: make([]int, n), unknown: make([]int, n), tainted: make([]int, n), evicted: make([]int, n),
		calls: make([]int, n),
	}
	add := func(to []int, at time.Time) {
		if second := secondAfter(first, at); !at.IsZero() && second < n {
			to[second]++
		}
	}
	addFirst := func(to []int, spans []judge.Span) {
		if len(spans) > 0 {
			add(to, spans[0].From)
		}
	}
	for i := range nodes {
		node := &nodes[i]
		add(s.dead, node.Died)
		if !node.Died.IsZero() {
			addFirst(s.unknown, node.Unknown)
			addFirst(s.tainted, node.Tainted)
		}
		for k := range node.Pods {
			add(s.evicted, node.Pods[k].Evicted)
		}
	}
	for i := range calls {
		add(s.calls, calls[i].Received)
	}
	for _, counts := range [][]int{s.dead, s.unknown, s.tainted, s.evicted} {
		for i := range counts[1:] {
			counts[i+1] += counts[i]
		}
	}
	return s
}

// secondAfter returns the first whole second that is not before a time. What
// was before the start counts at the start.
func secondAfter(start, at time.Time) int {
	return int((max(at.Sub(start), 0) + time.Second - 1) / time.Second)
}

// extended returns counts up to n seconds, with a value for those after the
// end.
func extended(counts []int, n, after int) []int {
	longer := append(make([]int, 0, n), counts...)
	for len(longer) < n {
		longer = append(longer, after)
	}
	return longer
}
