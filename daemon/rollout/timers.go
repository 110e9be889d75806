package rollout

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// timers are what waits for a time: nodes whose situation changes with it, and
// pods of which the watch has not shown one of our writes.
//
// A watch delivers our own writes late and occasionally drops an event. Until a
// write is shown, the answer of the API server counts. After the timeout the pod
// is read. So it is after a deletion without an answer that is not sent again.
// kube-controller-manager counts the expectations of a set, and stops the set
// for five minutes when one is lost. Here a lost event delays only its own
// node.
//
// A watch that is late for long shows nothing of any pod. So a write is read once:
// the read counts as if the watch had shown it. Until then the write counts
// against Burst, which bounds these reads.
type timers struct {
	timeout time.Duration
	nodes   *timedqueue.Queue[string, *nodeState]
	pods    *timedqueue.Queue[string, *podState] // nil until a pod waits: most sets rest
}

func newTimers(timeout time.Duration, now time.Time) (timers, error) {
	nodes, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, *nodeState]{
		Less: func(a, b *nodeState) bool { return a.name < b.name },
	}, now)
	return timers{timeout: timeout, nodes: nodes}, err
}

// wake makes a node due when its situation changes with time; zero: never. The
// time may be that of a condition, by a wall clock that was set since the queue
// was made. So what counts is how far it is from now.
func (t *timers) wake(now time.Time, n *nodeState, until time.Time) {
	switch {
	case until.IsZero() && n.until.IsZero(): // as are most nodes
	case until.IsZero():
		t.nodes.Remove(n.name)
	default:
		t.nodes.Set(n.name, n, now.Add(until.Sub(now)))
	}
	n.until = until
}

// keep has a pod in the queue of pods to read while it may be read. Waits reports
// whether it might until now.
func (t *timers) keep(now time.Time, s *podState, waits bool) {
	switch {
	case s.mayRead():
		if t.pods == nil { // no error: newTimers has refused a zero time
			t.pods, _ = timedqueue.NewQueue(timedqueue.QueueConfig[string, *podState]{}, now)
		}
		t.pods.Set(s.pod.Name, s, s.readAt)
	case waits:
		t.pods.Remove(s.pod.Name)
	}
}

// due removes and returns a node that is due, or nil.
func (t *timers) due(now time.Time) *nodeState { return take(t.nodes, now) }

// unseen removes and returns a pod that is to be read now, or nil.
func (t *timers) unseen(now time.Time) *podState { return take(t.pods, now) }

// next returns when the first node or pod is due, and false if none is.
func (t *timers) next(now time.Time) (time.Time, bool) {
	next, waits := t.nodes.Next(now)
	if t.pods == nil || t.pods.Len() == 0 { // as mostly
		return next, waits
	}
	pod, ok := t.pods.Next(now)
	if ok && (!waits || pod.Before(next)) {
		return pod, true
	}
	return next, waits
}

func take[V any](from *timedqueue.Queue[string, *V], now time.Time) *V {
	if from == nil || from.Len() == 0 { // as mostly
		return nil
	}
	item, ok := from.Start(now)
	if !ok {
		return nil
	}
	from.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
	return item.Value
}

// earlier returns the earlier of two times, where zero means none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
