package heartbeat

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// schedule decides which beat is sent and which gate is called: the core of
// [Sender]. It has a queue for each kind of beat, and those of the gates. The
// dispatcher that drives it is also its lock. Renewals, status reports and
// gates have their own workers, so that none of them can delay the others.
type schedule struct {
	kinds          [beatKinds]kindQueue
	gates          *gates
	leaseDuration  time.Duration
	reportInterval time.Duration
	jitter         float64
	rand           func() float64
}

type kindQueue struct {
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
		s.kinds[kind] = kindQueue{queue: queue, interval: interval, free: config.Workers}
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

// addBeat has the gate called before the beat becomes due. Otherwise thousands
// that are added together would be visited twice each.
func (s *schedule) addBeat(now time.Time, kind beatKind, r *record) {
	if r.node.Alive == nil {
		s.kinds[kind].queue.Add(r.node.Name, r, now)
		return
	}
	s.kinds[kind].queue.Keep(r.node.Name, r)
	r.beats[kind].phase, r.beats[kind].due = beatGated, now
	s.gates.request(r, kind, now)
}

func (s *schedule) remove(name string) bool {
	known := s.known(name)
	for kind := range s.kinds {
		if item, ok := s.kinds[kind].queue.Get(name); ok {
			s.gates.remove(item.Value)
		}
		s.kinds[kind].queue.Remove(name)
	}
	return known
}

// changed makes the next check of the node's status due now. It does so with a
// withheld renewal too, because the gate may be open again.
func (s *schedule) changed(now time.Time, name string) bool {
	for kind := range beatKinds {
		item, ok := s.kinds[kind].queue.Get(name)
		if !ok || kind == leaseBeat && !item.Value.beats[leaseBeat].withheld {
			continue
		}
		s.expedite(now, kind, item.Value)
		s.gates.request(item.Value, kind, now)
		s.gates.retry(item.Value, now)
	}
	return s.known(name)
}

func (s *schedule) known(name string) bool {
	for kind := range s.kinds {
		if _, ok := s.kinds[kind].queue.Get(name); ok {
			return true
		}
	}
	return false
}

// expedite makes a node's next beat of a kind due now. A beat that waits for
// its gate goes on waiting.
func (s *schedule) expedite(now time.Time, kind beatKind, r *record) {
	beat := &r.beats[kind]
	beat.expedited = true
	if beat.phase != beatGated {
		s.kinds[kind].queue.Set(r.node.Name, r, now)
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
	k := &s.kinds[kind]
	for k.free > 0 {
		item, ok := k.queue.Start(now)
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
			k.free--
			return s.task(now, kind, item, permission), true
		}
		beat.phase = beatGated
		k.queue.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomePostponed, Idle: true})
		if r.gate.call == nil {
			s.gates.request(r, kind, now)
		}
	}
	return beatTask{}, false
}

// admit makes the beats that waited for a node's gate due now.
func (s *schedule) admit(now time.Time, r *record) {
	for kind := range beatKinds {
		if r.beats[kind].phase == beatGated {
			r.beats[kind].phase = beatScheduled
			s.kinds[kind].queue.Set(r.node.Name, r, now)
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
	beat.phase, beat.expedited, beat.due = beatActing, false, time.Time{}
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
	k, name, r := &s.kinds[task.kind], task.item.Key, task.item.Value
	k.free++
	ended := timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	// The result of a node that was removed meanwhile does not matter, even if
	// another one of its name was added.
	if item, ok := k.queue.Get(name); ok && item.Value == r {
		s.recordResult(now, task, result)
		next := s.next(now, task, result)
		ended = timedqueue.Result{Outcome: timedqueue.OutcomeContinued, At: next}
		s.gates.request(r, task.kind, next)
	}
	k.queue.Finish(now, task.item, ended)
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
			s.expedite(now, kind, r)
		}
	}
}

// Next returns when Start can next hand something out.
func (s *schedule) Next(now time.Time) (time.Time, bool) {
	next, found := s.gates.next(now)
	for kind := range s.kinds {
		if s.kinds[kind].free == 0 {
			continue // the end of a task makes the difference
		}
		if at, ok := s.kinds[kind].queue.Next(now); ok && (!found || at.Before(next)) {
			next, found = at, true
		}
	}
	return next, found
}

// recordResult records a result. The caller determines the next beat.
func (s *schedule) recordResult(now time.Time, task beatTask, result beatResult) {
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
	s.statusChecked(now, task, result)
}

// renewed has the status reported at once when the node was silent. Its gate
// was shut, or its lease may have expired because no renewal succeeded.
func (s *schedule) renewed(now time.Time, r *record) {
	silent := !r.lastSuccess.IsZero() && now.Sub(r.lastSuccess) > s.leaseDuration
	r.lastSuccess = now
	r.reassert = r.reassert || silent && !r.reporting
	if r.reassert {
		s.expediteIfAdded(now, statusBeat, r)
	}
}

// expediteIfAdded is expedite for a node that may have no beat of the kind.
func (s *schedule) expediteIfAdded(now time.Time, kind beatKind, r *record) {
	if item, ok := s.kinds[kind].queue.Get(r.node.Name); ok && item.Value == r {
		s.expedite(now, kind, r)
	}
}

// statusChecked sets when the next report is due. It does so as the kubelet:
// after a report that was due for its period, the next one follows a period
// later. After any other it follows 0.5 to 1.5 periods later (calculateDelay in
// pkg/kubelet/kubelet_node_status.go).
func (s *schedule) statusChecked(now time.Time, task beatTask, result beatResult) {
	r := task.item.Value
	if lease := r.beats[leaseBeat]; lease.withheld && lease.phase == beatScheduled {
		s.expediteIfAdded(now, leaseBeat, r) // the Node exists again
	}
	if result.reported == notDue {
		return
	}
	r.lastSuccess, r.gone = now, false
	factor := 1.0
	if result.reported != periodReport {
		factor = 0.5 + task.random
	}
	r.reportDue = result.started.Add(scale(s.reportInterval, factor))
}

// next returns when the node's next beat of the kind is due. An interval runs
// from start to start, so that slow calls do not make the beats rarer.
//
// The first interval is shortened at random. So nodes that were added together
// are spread evenly after their first beats. The jitter alone would take hours
// to spread them.
func (s *schedule) next(now time.Time, task beatTask, result beatResult) time.Time {
	r, interval := task.item.Value, s.kinds[task.kind].interval
	beat := &r.beats[task.kind]
	if beat.expedited {
		return now
	}
	if beat.failures > 0 {
		return now.Add(retryWait(interval, beat.failures, task.random))
	}
	factor := 1 + s.jitter*task.random
	if !beat.spread {
		beat.spread = true
		factor = task.random
	}
	next := result.started.Add(scale(interval, factor))
	if task.kind == statusBeat && !r.reportDue.IsZero() && r.reportDue.Before(next) {
		return r.reportDue
	}
	return next
}
