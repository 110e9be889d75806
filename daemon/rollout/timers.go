package rollout

import (
	"time"

	"golang.org/x/time/rate"

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
// A watch that is late for long shows nothing of any pod, and its pods would be
// read for ever. So each read that shows what the watch does not doubles the wait
// until the next one of the pod, and a set has a limit for all of them. The first
// read after a write has none: until then the write counts against Burst, which
// bounds these, and creations would wait for minutes.
type timers struct {
	timeout time.Duration
	nodes   *timedqueue.Queue[string, *nodeState]
	pods    *timedqueue.Queue[string, *podState] // nil until a pod waits: most sets rest
}

// The limit of repeated reads of a set is that of refused calls. A few pods are
// read at once.
const (
	byRepetition         = "reads" // the budget, whose shares are these two
	firstRead, readAgain = "first", "again"

	readsPerSecond = 0.5
	readsAtOnce    = 10
	longestWait    = 15 * time.Minute // until a pod is read again
	mostReads      = 100              // that are counted: more make no difference
)

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
			t.pods, _ = timedqueue.NewQueue(timedqueue.QueueConfig[string, *podState]{
				Budgets: []timedqueue.Budget[string, *podState]{{
					Name: byRepetition, Limit: readsPerSecond, Burst: readsAtOnce,
					ShareOf: func(_ string, s *podState) string {
						if s.reads == 0 {
							return firstRead
						}
						return readAgain
					},
				}},
			}, now)
			t.pods.SetLimit(now, byRepetition, firstRead, rate.Inf)
		}
		t.pods.Set(s.pod.Name, s, s.readAt)
	case waits:
		t.pods.Remove(s.pod.Name)
	}
}

// forget takes a pod out of the queue of pods to read, before what its share
// depends on changes.
func (t *timers) forget(s *podState) {
	if t.pods != nil {
		t.pods.Remove(s.pod.Name)
	}
}

// wait returns how long to wait for the watch to show a pod that was read so many
// times.
func (t *timers) wait(reads uint8) time.Duration {
	return timedqueue.Backoff{Initial: t.timeout, Max: max(t.timeout, longestWait)}.Delay(int(reads))
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
