package heartbeat

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// beatKind is one of the two things that a node does on time.
type beatKind int

const (
	leaseBeat  beatKind = iota // renew the lease
	statusBeat                 // look at the status, and report it when that is due
	beatKinds
)

// outcome is how a task ended.
type outcome int

const (
	// outcomeFailed: to be tried again. It is also the outcome of a panic.
	outcomeFailed outcome = iota
	// outcomeDone: the lease is renewed, the status is looked at.
	outcomeDone
	// outcomeWithheld: the node is not alive and has said nothing.
	outcomeWithheld
	// outcomeGone: the API server has no such node, or another of its name.
	outcomeGone
)

// reportCause is why a status is reported.
type reportCause int

const (
	notDue       reportCause = iota // as far as the schedule knows; the status may have changed
	firstReport                     // nothing has been reported yet
	reassertion                     // we were silent, others may have spoken for us
	periodReport                    // ReportInterval is over
	statusChange                    // the API server has something else
)

// String is for logs.
func (c reportCause) String() string {
	return [...]string{"none", "first", "reassertion", "period", "change"}[c]
}

// A beatTask is one beat of one node. It is the work of the dispatcher.
type beatTask struct {
	kind beatKind
	item timedqueue.Item[string, *record]
	// failures counts the beats of this kind that have failed since the last that
	// did not.
	failures int
	// cause is why a report is due whatever the status is.
	cause reportCause
	// gone: the node was, when its status was last to be written.
	gone bool
	// random is drawn at the start, of which the dispatcher makes one at a time:
	// the ends come in any order, and an injected Rand would not repeat itself.
	random float64
}

// result is what a task reports.
type beatResult struct {
	started time.Time
	outcome outcome
	// reported is why a status was written, notDue when none was.
	reported reportCause
}

// record is what is known of one node. The schedule owns all of it but
// lease and report: these belong to the task of their kind that is under way, of
// which there is one at most.
type record struct {
	node  Node
	beats [beatKinds]beatRecord

	heard     time.Time // when a renewal or report last came through; zero: never
	reportDue time.Time // when the period between reports is over; zero: nothing reported yet
	reassert  bool      // others may have spoken for the node: report next time
	reporting bool      // a task is under way that will report
	gone      bool      // see outcomeGone; a report that arrives ends it

	lease  *coordinationv1.Lease // as we last wrote or read it
	report statusReport
}

// beatRecord is what the schedule remembers of one node's beats of one kind.
type beatRecord struct {
	failures int  // in a row
	acting   bool // one is under way
	withheld bool // the last one was
	spread   bool // the first one is over, and the node has a phase of its own
	hurried  bool // since the last one began, another was asked for at once
}

// schedule decides whose task it is: the pure core of [Sender]. It
// has a heap for each kind of task and is the core of one dispatcher, which is
// also its lock. Each kind has workers of its own, so that reports which hang do
// not hold up renewals.
type schedule struct {
	lanes          [beatKinds]lane
	leaseDuration  time.Duration
	reportInterval time.Duration
	jitter         float64
	rand           func() float64
}

type lane struct {
	queue    *timedqueue.Queue[string, *record]
	interval time.Duration
	free     int // workers
}

// newSchedule takes a config whose defaults are filled in.
func newSchedule(config Config, now time.Time) (*schedule, error) {
	s := &schedule{
		leaseDuration:  config.LeaseDuration,
		reportInterval: config.ReportInterval,
		jitter:         config.Jitter,
		rand:           config.Rand,
	}
	intervals := [beatKinds]time.Duration{config.RenewInterval, config.StatusInterval}
	for kind, interval := range intervals {
		queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[string, *record]{}, now)
		if err != nil {
			return nil, err
		}
		s.lanes[kind] = lane{queue: queue, interval: interval, free: config.Workers}
	}
	return s, nil
}

// add makes the first beats of a node due now. It reports whether the name is new.
func (s *schedule) add(now time.Time, node Node, withLease bool) bool {
	if s.known(node.Name) {
		return false
	}
	state := &record{node: node}
	if withLease {
		s.lanes[leaseBeat].queue.Add(node.Name, state, now)
	}
	if node.Status != nil {
		s.lanes[statusBeat].queue.Add(node.Name, state, now)
	}
	return true
}

func (s *schedule) remove(name string) bool {
	known := s.known(name)
	for kind := range s.lanes {
		s.lanes[kind].queue.Remove(name)
	}
	return known
}

// changed makes the next look at the node's status due now, and its renewal too
// if it is being withheld: what has changed may be that.
func (s *schedule) changed(now time.Time, name string) bool {
	s.hurry(now, statusBeat, name)
	if item, ok := s.lanes[leaseBeat].queue.Get(name); ok && item.Value.beats[leaseBeat].withheld {
		s.hurry(now, leaseBeat, name)
	}
	return s.known(name)
}

func (s *schedule) known(name string) bool {
	for kind := range s.lanes {
		if _, ok := s.lanes[kind].queue.Get(name); ok {
			return true
		}
	}
	return false
}

func (s *schedule) hurry(now time.Time, kind beatKind, name string) {
	item, ok := s.lanes[kind].queue.Get(name)
	if !ok {
		return
	}
	item.Value.beats[kind].hurried = true
	s.lanes[kind].queue.Reschedule(name, now)
}

// Start hands out the next task that is due.
func (s *schedule) Start(now time.Time) (beatTask, bool) {
	for kind := range beatKinds {
		lane := &s.lanes[kind]
		if lane.free == 0 {
			continue
		}
		if item, ok := lane.queue.Start(now); ok {
			lane.free--
			return s.task(now, kind, item), true
		}
	}
	return beatTask{}, false
}

func (s *schedule) task(now time.Time, kind beatKind, item timedqueue.Item[string, *record]) beatTask {
	state := item.Value
	state.beats[kind].acting, state.beats[kind].hurried = true, false
	task := beatTask{kind: kind, item: item, failures: state.beats[kind].failures, random: s.rand()}
	if kind == leaseBeat {
		task.gone = state.gone
		return task
	}
	task.cause = state.reportCause(now)
	state.reassert, state.reporting = false, task.cause != notDue
	return task
}

func (state *record) reportCause(now time.Time) reportCause {
	switch {
	case state.reportDue.IsZero():
		return firstReport
	case state.reassert:
		return reassertion
	case !now.Before(state.reportDue):
		return periodReport
	}
	return notDue
}

// Finish takes the result of a task and makes the node's next one due.
func (s *schedule) Finish(now time.Time, task beatTask, result beatResult) {
	lane, name, state := &s.lanes[task.kind], task.item.Key, task.item.Value
	lane.free++
	// A node that was removed meanwhile, or removed and added anew, does not care.
	ended := timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	if item, ok := lane.queue.Get(name); ok && item.Value == state {
		s.learn(now, task, result)
		ended = timedqueue.Result{Outcome: timedqueue.OutcomeRequeued, At: s.next(now, task, result)}
	}
	lane.queue.Finish(now, task.item, ended)
}

// Next returns when Start can next hand something out.
func (s *schedule) Next(now time.Time) (time.Time, bool) {
	var next time.Time
	var found bool
	for kind := range s.lanes {
		if s.lanes[kind].free == 0 {
			continue // the end of a task makes the difference
		}
		if at, ok := s.lanes[kind].queue.Next(now); ok && (!found || at.Before(next)) {
			next, found = at, true
		}
	}
	return next, found
}

// learn notes what a result says beyond when the next task is.
func (s *schedule) learn(now time.Time, task beatTask, result beatResult) {
	state := task.item.Value
	beats := &state.beats[task.kind]
	beats.acting, beats.withheld = false, result.outcome == outcomeWithheld
	if task.kind == statusBeat {
		state.reporting = false
	}
	if result.outcome != outcomeDone {
		beats.failures++
		lost := task.cause == reassertion
		state.gone = state.gone || result.outcome == outcomeGone
		state.reassert = state.reassert || lost || beats.withheld
		return
	}
	beats.failures = 0
	if task.kind == leaseBeat {
		s.renewed(now, state)
		return
	}
	s.looked(now, task, result)
}

// renewed has the status reported at once when the node was silent: its gate was
// shut, or nothing came through for so long that anyone may take its lease for
// expired.
func (s *schedule) renewed(now time.Time, state *record) {
	silent := !state.heard.IsZero() && now.Sub(state.heard) > s.leaseDuration
	state.heard = now
	state.reassert = state.reassert || silent && !state.reporting
	if state.reassert {
		s.hurry(now, statusBeat, state.node.Name)
	}
}

// looked sets when the next report is due. As with the kubelet, only a report
// that was due for its period keeps to the period; after any other the next one
// is 0.5 to 1.5 periods away (calculateDelay in pkg/kubelet/kubelet_node_status.go).
func (s *schedule) looked(now time.Time, task beatTask, result beatResult) {
	state := task.item.Value
	if lease := state.beats[leaseBeat]; lease.withheld && !lease.acting { // the gate is open again
		s.hurry(now, leaseBeat, state.node.Name)
	}
	if result.reported == notDue {
		return
	}
	state.heard, state.gone = now, false
	share := 1.0
	if result.reported != periodReport {
		share = 0.5 + task.random
	}
	state.reportDue = result.started.Add(scale(s.reportInterval, share))
}

// next is when the node's next beat is due. An interval runs from start to start,
// so that slow calls do not thin out the beats.
//
// The first interval is cut at a random place. Nodes that were added together
// have their first beats together, as fast as the workers go, and are spread
// evenly from then on; the jitter alone would take hours to part them.
func (s *schedule) next(now time.Time, task beatTask, result beatResult) time.Time {
	state, interval := task.item.Value, s.lanes[task.kind].interval
	beats := &state.beats[task.kind]
	if beats.hurried {
		return now
	}
	if beats.failures > 0 {
		return now.Add(retryWait(interval, beats.failures, task.random))
	}
	share := 1 + s.jitter*task.random
	if !beats.spread {
		beats.spread = true
		share = task.random
	}
	next := result.started.Add(scale(interval, share))
	if task.kind == statusBeat && !state.reportDue.IsZero() && state.reportDue.Before(next) {
		return state.reportDue
	}
	return next
}

// retryWait doubles with each failure from a 32nd of the interval up to all of it,
// and is the upper half of that at random. With the kubelet's 10 s: 0.16 to 0.31 s
// after the first failure, 5 to 10 s from the sixth on. (The kubelet tries five
// times without a pause and then waits 10 s: maxUpdateRetries in
// k8s.io/component-helpers/apimachinery/lease/controller.go.)
func retryWait(interval time.Duration, failures int, random float64) time.Duration {
	half := timedqueue.Backoff{Initial: interval / 64, Max: interval / 2}
	return scale(half.Delay(failures-1), 1+random)
}

func scale(d time.Duration, share float64) time.Duration {
	return time.Duration(float64(d) * share)
}
