package heartbeat

import (
	"errors"
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// schedule decides which beat is sent: the core of [Sender]. It has a queue for
// each kind of beat. The dispatcher that drives it is also its lock. Renewals
// and status reports have their own workers, so that neither can delay the
// other.
type schedule struct {
	kinds          [beatKinds]kindQueue
	silent         int // nodes
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
	return s, nil
}

// add makes the first beats of a node due now. It reports whether the name is
// new.
func (s *schedule) add(now time.Time, node Node, withLease bool) bool {
	if _, known := s.get(node.Name); known {
		return false
	}
	r := &record{node: node}
	if withLease {
		s.kinds[leaseBeat].queue.Add(node.Name, r, now)
	}
	if node.Status != nil {
		s.kinds[statusBeat].queue.Add(node.Name, r, now)
	}
	return true
}

func (s *schedule) remove(name string) bool {
	r, known := s.get(name)
	if !known {
		return false
	}
	if r.silent {
		s.silent--
	}
	for kind := range s.kinds {
		s.kinds[kind].queue.Remove(name)
	}
	return true
}

// changed makes the next check of the node's status due now.
func (s *schedule) changed(now time.Time, name string) bool {
	r, known := s.get(name)
	if known {
		s.expedite(now, statusBeat, r)
	}
	return known
}

// setAlive has a node fall silent at a time. Zero means never. It reports
// whether the node is known, and whether it was silent and is not any more.
func (s *schedule) setAlive(now time.Time, name string, until time.Time) (known, returns bool) {
	r, known := s.get(name)
	if !known {
		return false, false
	}
	r.aliveUntil = until
	alive := r.alive(now)
	if !alive {
		s.fallSilent(r)
	}
	returns = alive && r.silent
	if returns {
		s.comeBack(now, r)
	}
	return true, returns
}

// fallSilent leaves the node's beats where they are. Each is withheld when it
// is due, and then waits for comeBack.
func (s *schedule) fallSilent(r *record) {
	if !r.silent {
		r.silent = true
		s.silent++
	}
}

// comeBack makes the beats of a silent node due now, and has its status
// reported. Nodes that return together are spread like those that are added
// together.
func (s *schedule) comeBack(now time.Time, r *record) {
	r.silent, r.reassert = false, true
	s.silent--
	for kind := range beatKinds {
		r.beats[kind].spread = false
		s.expedite(now, kind, r)
	}
}

// get returns the record of a node that has been added.
func (s *schedule) get(name string) (*record, bool) {
	for kind := range s.kinds {
		if item, ok := s.kinds[kind].queue.Get(name); ok {
			return item.Value, true
		}
	}
	return nil, false
}

// expedite makes a node's next beat of a kind due now, if the node has such
// beats. One that is under way is followed by another, whatever its result is.
// The beats of a silent node are due when it returns.
func (s *schedule) expedite(now time.Time, kind beatKind, r *record) {
	queue := s.kinds[kind].queue
	if e, has := queue.Find(r.node.Name); has && !r.silent {
		queue.Schedule(e, now)
	}
}

// Start hands out the next beat that is due.
func (s *schedule) Start(now time.Time) (beatTask, bool) {
	for kind := range beatKinds {
		k := &s.kinds[kind]
		if k.free == 0 {
			continue
		}
		if item, ok := k.queue.Start(now); ok {
			k.free--
			return s.task(now, kind, item), true
		}
	}
	return beatTask{}, false
}

func (s *schedule) task(
	now time.Time, kind beatKind, item timedqueue.Item[string, *record],
) beatTask {
	r := item.Value
	task := beatTask{kind: kind, item: item, failures: r.beats[kind].failures, random: s.rand()}
	switch {
	case !r.alive(now):
		s.fallSilent(r)
		task.withheld = errSilent
	case kind == statusBeat:
		task.cause = r.reportCause(now)
		r.reassert, r.reporting = false, task.cause != notDue
	case r.gone:
		task.withheld = errNodeGone
	}
	return task
}

// reportCause returns why a report is due whatever the status is.
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
	k, name, r := &s.kinds[task.kind], task.item.Key, task.item.Value
	k.free++
	ended := timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	// The result of a node that was removed meanwhile does not matter, even if
	// another one of its name was added.
	if item, ok := k.queue.Get(name); ok && item.Value == r {
		ended = timedqueue.Result{Outcome: timedqueue.OutcomePostponed, Idle: true} // until it is expedited
		if task.withheld == nil {
			s.recordResult(now, task, result)
			ended = timedqueue.Result{Outcome: timedqueue.OutcomeContinued, At: s.next(now, task, result)}
		}
	}
	k.queue.Finish(now, task.item, ended)
}

// Next returns when Start can next hand something out.
func (s *schedule) Next(now time.Time) (next time.Time, found bool) {
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
	if task.kind == statusBeat {
		r.reporting = false
	}
	if result.outcome != timedqueue.OutcomeDone {
		beat.failures++
		r.gone = r.gone || errors.Is(result.err, errNodeGone)
		r.reassert = r.reassert || task.cause == reassertion
		return
	}
	beat.failures = 0
	if task.kind == leaseBeat {
		s.renewed(now, r)
		return
	}
	s.statusChecked(now, task, result)
}

// renewed has the status reported at once when the lease may have expired
// because no renewal succeeded.
func (s *schedule) renewed(now time.Time, r *record) {
	expired := !r.lastSuccess.IsZero() && now.Sub(r.lastSuccess) > s.leaseDuration
	r.lastSuccess = now
	r.reassert = r.reassert || expired && !r.reporting
	if r.reassert {
		s.expedite(now, statusBeat, r)
	}
}

// statusChecked sets when the next report is due. It does so as the kubelet:
// after a report that was due for its period, the next one follows a period
// later. After any other it follows 0.5 to 1.5 periods later (calculateDelay in
// pkg/kubelet/kubelet_node_status.go).
func (s *schedule) statusChecked(now time.Time, task beatTask, result beatResult) {
	r := task.item.Value
	if result.reported == notDue {
		return
	}
	if r.gone {
		r.gone = false
		s.expedite(now, leaseBeat, r)
	}
	r.lastSuccess = now
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
