package heartbeat

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// schedule decides which beat is sent and which gate is called: the pure core
// of [Sender]. It has a queue for each kind of beat and those of the gates, and
// is the core of one dispatcher, which is also its lock. Renewals, status
// reports and gates each have workers of their own, so that none of them can
// delay the others.
type schedule struct {
	lanes          [beatKinds]lane
	gates          *gates
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
	var err error
	s.gates, err = newGates(config, now)
	return s, err
}

// add makes the first beats of a node due now. It reports whether the name is
// new.
func (s *schedule) add(now time.Time, node Node, withLease bool) bool {
	if s.known(node.Name) {
		return false
	}
	r := &record{node: node}
	if node.Alive != nil {
		s.gates.add(r)
	}
	if withLease {
		s.addBeat(now, leaseBeat, r)
	}
	if node.Status != nil {
		s.addBeat(now, statusBeat, r)
	}
	return true
}

// addBeat has the gate called before the beat even becomes due: thousands that
// are added together would be looked at twice each.
func (s *schedule) addBeat(now time.Time, kind beatKind, r *record) {
	if r.node.Alive == nil {
		s.lanes[kind].queue.Add(r.node.Name, r, now)
		return
	}
	s.lanes[kind].queue.Keep(r.node.Name, r)
	r.beats[kind].phase, r.beats[kind].due = beatGated, now
	s.gates.want(r, kind, now)
}

func (s *schedule) remove(name string) bool {
	known := s.known(name)
	for kind := range s.lanes {
		if item, ok := s.lanes[kind].queue.Get(name); ok {
			s.gates.remove(item.Value)
		}
		s.lanes[kind].queue.Remove(name)
	}
	return known
}

// changed makes the next look at the node's status due now, and its renewal too
// if it is being withheld, because the gate may be open again.
func (s *schedule) changed(now time.Time, name string) bool {
	for kind := range beatKinds {
		item, ok := s.lanes[kind].queue.Get(name)
		if !ok || kind == leaseBeat && !item.Value.beats[leaseBeat].withheld {
			continue
		}
		s.hurry(now, kind, item.Value)
		s.gates.want(item.Value, kind, now)
		s.gates.retry(item.Value, now)
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

// hurry makes a node's next beat of a kind due now. One that waits for its gate
// goes on waiting.
func (s *schedule) hurry(now time.Time, kind beatKind, r *record) {
	beat := &r.beats[kind]
	beat.hurried = true
	if beat.phase != beatGated {
		s.lanes[kind].queue.Reschedule(r.node.Name, now)
	}
}

// Start hands out the next gate to call, or else the next beat to send.
func (s *schedule) Start(now time.Time) (beatTask, bool) {
	for {
		r, found := s.gates.expire(now)
		if !found {
			break
		}
		if r != nil {
			s.admit(now, r)
		}
	}
	if call := s.gates.start(now, s.rand); call != nil {
		return beatTask{call: call}, true
	}
	for kind := range beatKinds {
		if task, ok := s.startBeat(now, kind); ok {
			return task, true
		}
	}
	return beatTask{}, false
}

// startBeat hands out the next beat of a kind that need not wait for its gate.
func (s *schedule) startBeat(now time.Time, kind beatKind) (beatTask, bool) {
	lane := &s.lanes[kind]
	for lane.free > 0 {
		item, ok := lane.queue.Start(now)
		if !ok {
			break
		}
		r := item.Value
		beat := &r.beats[kind]
		if beat.due.IsZero() {
			beat.due = item.Due
		}
		permission := s.gates.permit(now, r)
		if permission != permitWait {
			lane.free--
			return s.task(now, kind, item, permission), true
		}
		beat.phase = beatGated
		lane.queue.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomePostponed})
		if r.gate.call == nil {
			s.gates.want(r, kind, now)
		}
	}
	return beatTask{}, false
}

// admit lets a node's beats go on that waited for its gate.
func (s *schedule) admit(now time.Time, r *record) {
	for kind := range beatKinds {
		if r.beats[kind].phase == beatGated {
			r.beats[kind].phase = beatScheduled
			s.lanes[kind].queue.Reschedule(r.node.Name, now)
		}
	}
}

func (s *schedule) task(
	now time.Time, kind beatKind, item timedqueue.Item[string, *record], permission permission,
) beatTask {
	r := item.Value
	beat := &r.beats[kind]
	task := beatTask{
		kind: kind, item: item, due: beat.due, failures: beat.failures, random: s.rand(),
	}
	beat.phase, beat.hurried, beat.due = beatActing, false, time.Time{}
	if permission == permitWithhold {
		task.withheld = r.gate.err
	}
	if kind == leaseBeat {
		if r.gone {
			task.withheld = errNodeGone
		}
		return task
	}
	task.cause = r.reportCause(now)
	r.reassert, r.reporting = false, task.cause != notDue
	return task
}

func (r *record) reportCause(now time.Time) reportCause {
	switch {
	case r.reportDue.IsZero():
		return firstReport
	case r.reassert:
		return reassertion
	case !now.Before(r.reportDue):
		return periodReport
	}
	return notDue
}

// Finish takes the result of a task and makes the node's next beat due.
func (s *schedule) Finish(now time.Time, task beatTask, result beatResult) {
	if task.call != nil {
		s.finishCall(now, task.call, result)
		return
	}
	lane, name, r := &s.lanes[task.kind], task.item.Key, task.item.Value
	lane.free++
	ended := timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	// The result of a node that was removed meanwhile does not matter, even if
	// another one of its name was added.
	if item, ok := lane.queue.Get(name); ok && item.Value == r {
		s.learn(now, task, result)
		next := s.next(now, task, result)
		ended = timedqueue.Result{Outcome: timedqueue.OutcomeRequeued, At: next}
		s.gates.want(r, task.kind, next)
	}
	lane.queue.Finish(now, task.item, ended)
}

// finishCall takes a gate's answer. Beats that were withheld need not wait for
// their next times when the gate has opened.
func (s *schedule) finishCall(now time.Time, call *gateCall, result beatResult) {
	opened := s.gates.finish(now, call, result)
	r := call.record
	if !s.gates.has(r) {
		return
	}
	s.admit(now, r)
	for kind := range beatKinds {
		if beat := r.beats[kind]; opened && beat.withheld && beat.phase == beatScheduled {
			s.hurry(now, kind, r)
		}
	}
}

// Next returns when Start can next hand something out.
func (s *schedule) Next(now time.Time) (time.Time, bool) {
	next, found := s.gates.next(now)
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

// learn records what a result says besides when the next beat is.
func (s *schedule) learn(now time.Time, task beatTask, result beatResult) {
	r := task.item.Value
	beat := &r.beats[task.kind]
	beat.phase, beat.withheld = beatScheduled, result.outcome == outcomeWithheld
	if task.kind == statusBeat {
		r.reporting = false
	}
	if result.outcome != outcomeDone {
		beat.failures++
		lost := task.cause == reassertion
		r.gone = r.gone || result.outcome == outcomeGone
		r.reassert = r.reassert || lost || beat.withheld
		return
	}
	beat.failures = 0
	if task.kind == leaseBeat {
		s.renewed(now, r)
		return
	}
	s.looked(now, task, result)
}

// renewed has the status reported at once when the node was silent: its gate
// was shut, or no renewal succeeded for so long that its lease may have
// expired.
func (s *schedule) renewed(now time.Time, r *record) {
	silent := !r.heard.IsZero() && now.Sub(r.heard) > s.leaseDuration
	r.heard = now
	r.reassert = r.reassert || silent && !r.reporting
	if r.reassert {
		s.hurryBeat(now, statusBeat, r)
	}
}

// hurryBeat is hurry for a node that may have no beat of the kind.
func (s *schedule) hurryBeat(now time.Time, kind beatKind, r *record) {
	if item, ok := s.lanes[kind].queue.Get(r.node.Name); ok && item.Value == r {
		s.hurry(now, kind, r)
	}
}

// looked sets when the next report is due. As with the kubelet, only a report
// that was due for its period keeps to the period. After any other the next one
// is 0.5 to 1.5 periods away (calculateDelay in
// pkg/kubelet/kubelet_node_status.go).
func (s *schedule) looked(now time.Time, task beatTask, result beatResult) {
	r := task.item.Value
	if lease := r.beats[leaseBeat]; lease.withheld && lease.phase == beatScheduled {
		s.hurryBeat(now, leaseBeat, r) // the Node is there again
	}
	if result.reported == notDue {
		return
	}
	r.heard, r.gone = now, false
	share := 1.0
	if result.reported != periodReport {
		share = 0.5 + task.random
	}
	r.reportDue = result.started.Add(scale(s.reportInterval, share))
}

// next returns when the node's next beat of the kind is due. An interval runs
// from start to start, so that slow calls do not make the beats rarer.
//
// The first interval is cut at a random place. Nodes that were added together
// have their first beats together, as fast as the workers go, and are spread
// evenly from then on. The jitter alone would take hours to spread them.
func (s *schedule) next(now time.Time, task beatTask, result beatResult) time.Time {
	r, interval := task.item.Value, s.lanes[task.kind].interval
	beat := &r.beats[task.kind]
	if beat.hurried {
		return now
	}
	if beat.failures > 0 {
		return now.Add(retryWait(interval, beat.failures, task.random))
	}
	share := 1 + s.jitter*task.random
	if !beat.spread {
		beat.spread = true
		share = task.random
	}
	next := result.started.Add(scale(interval, share))
	if task.kind == statusBeat && !r.reportDue.IsZero() && r.reportDue.Before(next) {
		return r.reportDue
	}
	return next
}
