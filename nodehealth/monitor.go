package nodehealth

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// A Monitor finds the keys that have been silent for longer than their grace
// period, and those of them that are heard again. A key is whatever sends
// heartbeats: a device, a cluster, an agent; [NodeMonitor] is the instance for
// nodes. A [timedqueue.Dispatcher] can drive it.
//
// Only the time at which a heartbeat is observed counts, never a time that its
// sender wrote, so clocks of senders do not matter.
//
// Observing is O(1) and allocates nothing for a known key. A heartbeat of a key
// that is alive does not move its expiry. When the expiry comes, a key that was
// heard is scheduled again, at most once in a grace period. A Monitor holds
// about 250 bytes a key.
//
// Now never goes backwards inside a Monitor: an earlier now than the last one
// counts as the last one. It is not safe for concurrent use.
type Monitor[K comparable] struct {
	config Config
	expiry *timedqueue.Queue[K, *record[K]] // in seen time
	sight  sight
}

// NewMonitor returns a monitor that watches no key. Now must not be the zero
// time.
func NewMonitor[K comparable](config Config, now time.Time) (*Monitor[K], error) {
	var combine, creation, grace error
	if config.GracePeriodOf != nil {
		grace = fmt.Errorf("%w: Config.GracePeriodOf is set, want nil for a Monitor: its keys are no nodes",
			ErrInvalidConfig)
	}
	if config.Combine != nil {
		combine = fmt.Errorf(
			"%w: Config.Combine is set, want nil for a Monitor: its keys have one source",
			ErrInvalidConfig)
	}
	if config.StartupFromCreation {
		creation = fmt.Errorf(
			"%w: Config.StartupFromCreation is true, want false for a Monitor: its keys are no nodes",
			ErrInvalidConfig)
	}
	if err := errors.Join(combine, creation, grace); err != nil {
		return nil, err
	}
	return newMonitor[K](config, now)
}

func newMonitor[K comparable](config Config, now time.Time) (*Monitor[K], error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if now.IsZero() {
		return nil, fmt.Errorf("%w: now is zero, want the present time", ErrInvalidConfig)
	}
	queue := timedqueue.QueueConfig[K, *record[K]]{Backoff: config.Retry}
	expiry, err := timedqueue.NewQueue(queue, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	config = config.withDefaults()
	return &Monitor[K]{config: config, expiry: expiry, sight: newSight(config, now)}, nil
}

// An Observation is what the caller's own record of a key shows. The zero value
// is that of a new key.
type Observation struct {
	// Reported says that the key has reported before, so that GracePeriod counts
	// instead of StartupGracePeriod. It holds until the key is forgotten.
	Reported bool
	// Silent says that the key is recorded as silent.
	Silent bool
	// GracePeriod is that of this key. Zero or less means Config.GracePeriod, or
	// what the Detector says. Another one than before acts at once: a longer one
	// takes back a silence that is not recorded yet. A key that is recorded as
	// silent stays so until it is heard.
	GracePeriod time.Duration
}

// Observe takes what the caller's record of a key shows. Call it when that
// changes; more calls do no harm. It does not count as a heartbeat.
//
// A key that is observed for the first time is watched, with its whole grace
// period from now on. If it is recorded as silent already, it stays silent
// until it is heard. If the record of a silent key shows another state, though
// the key was not heard, the key is handed out again after a backoff.
func (m *Monitor[K]) Observe(now time.Time, key K, seen Observation) {
	now = m.advance(now)
	if r, known := m.record(key); known {
		m.grant(now, r, seen.GracePeriod)
		m.report(r, seen.Reported)
		m.applyRecord(now, r, seen.Silent)
		return
	}
	m.watch(now, key, &record[K]{}, seen)
}

// Heartbeat takes a heartbeat of a key. It proves that heartbeats can be heard.
// Else a key that is not watched is ignored: a heartbeat may outlive its sender.
func (m *Monitor[K]) Heartbeat(now time.Time, key K) {
	now = m.hear(now)
	if r, known := m.record(key); known {
		m.report(r, true)
		m.beat(now, r)
	}
}

// Forget drops a key that is gone.
func (m *Monitor[K]) Forget(now time.Time, key K) {
	m.advance(now)
	if r, known := m.record(key); known {
		m.forget(r)
	}
}

// Answered says that a write of the caller was answered, which was sent at a
// time: the API server has stored it, or refused it for what it has stored. That
// proves, as a heartbeat does, that heartbeats could be heard. A read proves
// nothing: a store without space or without a leader may be read while no sender
// can write to it. Nor does an answer that took longer than a heartbeat
// interval, half of UnbrokenPeriod: senders give up by then.
//
// With Config.SightTimeout such writes are to be sent more often than that. If
// it is longer from one proof to the sending of the next, that time is blind,
// and counts in no grace period; see [Monitor.Blindnesses].
func (m *Monitor[K]) Answered(now, sent time.Time) {
	m.sight.answer(now, sent)
	m.advance(now)
}

// Unanswered says that such a write has failed, or was not answered in time. No
// key is found silent while more than two of five fail, the last ten or so
// counting most: so do the heartbeats of living keys, though others are heard.
func (m *Monitor[K]) Unanswered(now time.Time) { m.sight.fail(now) }

// Blind returns how much time was blind up to the last proof that heartbeats can
// be heard, and whether that is longer ago than Config.SightTimeout.
func (m *Monitor[K]) Blind(now time.Time) (time.Duration, bool) {
	return m.sight.blind, m.sight.isBlind(now)
}

// Blindnesses counts the blindnesses that have ended. When it has changed, what
// was alive before may be dead now; see [Monitor.HeardSinceBlindness].
func (m *Monitor[K]) Blindnesses() uint32 { return m.sight.blindnesses }

// Sight returns whether keys can be found silent now, and since when not.
func (m *Monitor[K]) Sight(now time.Time) Sight { return m.sight.at(now) }

// Silent reports whether a key counts as silent. It does so from the moment at
// which Start finds its grace period over, until it has been heard again for
// Config.RecoveryPeriod. It is false for a key that is not watched.
func (m *Monitor[K]) Silent(key K) bool {
	r, known := m.record(key)
	return known && r.state.countsAsSilent()
}

// Expired reports whether the grace period of a key is over, by all that is
// known now. After Start has handed out a key, it may turn out that the last
// moments were blind. So a caller that acts on a task later asks again. It is
// false whenever silence does not count; see [Monitor.Sight].
func (m *Monitor[K]) Expired(now time.Time, key K) bool {
	r, known := m.record(key)
	return known && m.expired(now, r)
}

func (m *Monitor[K]) expired(now time.Time, r *record[K]) bool {
	return m.sight.counts(now) && m.sight.seen(now).Sub(r.since) >= m.gracePeriod(r)
}

// LastHeartbeat returns when a key was last heard, by the observer's clock, or
// when it was first seen if it was not heard since.
func (m *Monitor[K]) LastHeartbeat(key K) (time.Time, bool) {
	r, known := m.record(key)
	if !known {
		return time.Time{}, false
	}
	return r.since.Add(r.blind), true
}

// HeardSinceBlindness reports whether a key was heard, or first seen, since the
// monitor was last blind. What was alive before may be dead now. What reaches
// the caller late, for example by a list after an outage, counts as heard.
func (m *Monitor[K]) HeardSinceBlindness(key K) bool {
	r, known := m.record(key)
	return known && m.heardSinceBlindness(r)
}

func (m *Monitor[K]) heardSinceBlindness(r *record[K]) bool { return r.blind == m.sight.blind }

// Start hands out a key that has been silent for longer than its grace period,
// or one that was and is heard again. It hands out nothing while silence does
// not count; see [Monitor.Sight].
//
// When the expiries of thousands of keys come that were heard, Start may hand
// out nothing although it could. Next then returns now, and the next Start goes
// on.
func (m *Monitor[K]) Start(now time.Time) (Task[K], bool) {
	visits := mostVisited
	return m.StartWithin(now, &visits)
}

// mostVisited bounds the keys that one Start visits: the caller holds a lock.
const mostVisited = 3_000

// StartWithin is Start for a caller that holds a lock for several calls. It
// visits at most visits keys, and subtracts those that it has visited. With
// none left, it may have handed out nothing although it could.
func (m *Monitor[K]) StartWithin(now time.Time, visits *int) (Task[K], bool) {
	if !m.sight.counts(now) {
		return Task[K]{}, false
	}
	now = m.advance(now)
	for ; *visits > 0; *visits-- {
		item, ok := m.expiry.Start(now)
		if !ok {
			return Task[K]{}, false
		}
		r := item.Value
		switch end := m.graceEnd(r); {
		case !now.Before(end):
			*visits--
			r.enter(expired)
			return m.task(item, StateSilent), true
		case r.state == returning && !now.Before(r.recovered):
			*visits--
			r.enter(announced)
			return m.task(item, StateAlive), true
		default: // it was heard since its expiry was set
			m.expiry.Finish(now, item, timedqueue.Result{
				Outcome: timedqueue.OutcomePostponed, At: m.due(r),
			})
		}
	}
	return Task[K]{}, false
}

// Finish takes the result of a task that Start handed out. If the key was heard
// or forgotten meanwhile, that counts more.
func (m *Monitor[K]) Finish(now time.Time, task Task[K], result Result) {
	now = m.advance(now)
	next := timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	if r := task.record; r != nil && r.round == task.round {
		switch {
		case r.state.handedOutAsSilent():
			next = m.finishSilent(now, r, result)
		case r.state == announced:
			next = m.finishAlive(now, task, result)
		}
	}
	m.expiry.Finish(now, task.item, next) // ignores an item of an earlier round
}

// Next returns when Start should be called next. While the monitor is blind, or
// requests fail, only an answer makes a difference.
func (m *Monitor[K]) Next(now time.Time) (time.Time, bool) {
	next, ok := m.expiry.Next(m.sight.seen(now))
	if !ok || m.sight.isBlind(now) || !m.sight.failingAt.IsZero() {
		return time.Time{}, false
	}
	next = m.sight.real(next)
	if from := m.sight.countsFrom(); next.Before(from) {
		next = from
	}
	return next, true
}

func (m *Monitor[K]) task(item timedqueue.Item[K, *record[K]], state State) Task[K] {
	r := item.Value
	r.round++
	return Task[K]{
		Key: item.Key, State: state, Since: r.since.Add(r.blind), GracePeriod: m.gracePeriod(r),
		Attempts: item.Attempts, record: r, round: r.round, item: item,
	}
}

// finishSilent takes the result of a task StateSilent. A heartbeat meanwhile
// counts more than what the record shows, and that more than the result.
func (m *Monitor[K]) finishSilent(
	now time.Time, r *record[K], result Result,
) timedqueue.Result {
	outcome := result.outcome()
	if outcome == OutcomeAlive {
		m.beat(now, r)
	}
	switch {
	case r.state == returned:
		r.enter(returning)
		return timedqueue.Result{Outcome: timedqueue.OutcomeContinued, At: m.due(r)}
	case r.state == undone:
		return timedqueue.Result{Outcome: timedqueue.OutcomeContinued, At: m.enterSetBack(now, r)}
	case r.state == recorded || outcome == OutcomeDone:
		r.enter(silent)
		return timedqueue.Result{Outcome: timedqueue.OutcomeContinued, Idle: true}
	default:
		r.enter(failed)
		return timedqueue.Result{Outcome: timedqueue.OutcomeFailed}
	}
}

// finishAlive takes the result of a task StateAlive. Its next attempt is at the
// end of the grace period at the latest, because the key may be silent then.
func (m *Monitor[K]) finishAlive(
	now time.Time, task Task[K], result Result,
) timedqueue.Result {
	r := task.record
	if result.outcome() != OutcomeFailed {
		r.enter(beating)
		return timedqueue.Result{Outcome: timedqueue.OutcomeContinued, At: m.due(r)}
	}
	r.enter(returning)
	wait := max(min(m.config.Retry.Delay(task.Attempts), m.graceEnd(r).Sub(now)), 1)
	return timedqueue.Result{Outcome: timedqueue.OutcomeFailed, RetryAfter: wait}
}

// record returns the record of a key that is watched.
func (m *Monitor[K]) record(key K) (*record[K], bool) {
	entry, known := m.expiry.Find(key)
	if !known {
		return nil, false
	}
	return *entry.Value(), true
}

// watch starts to watch a key, whose grace period began at since. A record that
// was forgotten goes on counting its rounds.
func (m *Monitor[K]) watch(since time.Time, key K, r *record[K], seen Observation) {
	entry, _ := m.expiry.Keep(key, r)
	*r = record[K]{
		entry: entry, since: since, blind: m.sight.blind, reported: seen.Reported,
		uid: r.uid, round: r.round, grace: max(seen.GracePeriod, 0),
	}
	if m.config.Detector != nil {
		r.detector = m.config.Detector()
	}
	if seen.Silent {
		r.enter(silent)
		return
	}
	r.enter(beating)
	m.expiry.Schedule(entry, m.due(r))
}

func (m *Monitor[K]) forget(r *record[K]) {
	m.expiry.Remove(r.entry.Key())
	r.enter(absent)
}

// beat takes a heartbeat. A key that is alive keeps its expiry, which is too
// late only if its detector has shortened the grace period.
func (m *Monitor[K]) beat(now time.Time, r *record[K]) { m.beatAt(now, r, now) }

// beatAt takes a heartbeat of a time that may have passed. A silent key returns
// only if its grace period from then on has not ended.
func (m *Monitor[K]) beatAt(now time.Time, r *record[K], at time.Time) {
	r.since, r.blind, r.heard, r.setBacks = at, m.sight.blind, true, 0
	if r.detector != nil {
		r.detector.Heartbeat(at)
		m.expedite(r)
	}
	if now.Sub(at) < m.gracePeriod(r) {
		m.comeBack(now, r)
	}
}

// comeBack ends the silence of a key whose grace period has not ended.
func (m *Monitor[K]) comeBack(now time.Time, r *record[K]) {
	switch r.state {
	case expired, recorded, undone:
		r.enter(returned)
		r.recovered = now.Add(m.config.RecoveryPeriod)
	case failed, silent:
		r.enter(returning)
		r.recovered = now.Add(m.config.RecoveryPeriod)
		m.expiry.Unschedule(r.entry) // forgets failed attempts
		m.expiry.Schedule(r.entry, m.due(r))
	case absent, beating, returned, returning, announced:
	}
}

// report records that a key has reported, which may shorten its grace period.
func (m *Monitor[K]) report(r *record[K], reported bool) {
	if r.reported || !reported {
		return
	}
	r.reported = true
	m.expedite(r)
}

// grant records the grace period that a key has of its own. A longer one takes
// back a silence that is not recorded yet, as a heartbeat does.
func (m *Monitor[K]) grant(now time.Time, r *record[K], own time.Duration) {
	own = max(own, 0)
	if r.grace == own {
		return
	}
	r.grace = own
	shown := r.state == recorded || r.state == silent
	if !shown && now.Sub(r.since) < m.gracePeriod(r) {
		m.comeBack(now, r)
	}
	m.expedite(r)
}

// expedite shortens the wait of a key to the end of its grace period.
func (m *Monitor[K]) expedite(r *record[K]) {
	if r.state != beating && r.state != returning {
		return
	}
	due, waits := m.expiry.Due(r.entry)
	if !waits { // an action of its predecessor is under way
		m.expiry.Schedule(r.entry, m.due(r))
	} else if end := m.graceEnd(r); due.After(end) {
		m.expiry.Retry(r.entry.Key()) // an announcement may have failed
		m.expiry.Schedule(r.entry, end)
	}
}

// applyRecord takes whether the caller's record of a key shows it as silent.
func (m *Monitor[K]) applyRecord(now time.Time, r *record[K], asSilent bool) {
	switch r.state {
	case expired, undone:
		if asSilent {
			r.enter(recorded)
		}
	case recorded:
		if !asSilent {
			r.enter(undone)
		}
	case failed:
		if asSilent {
			r.enter(silent)
			m.expiry.Unschedule(r.entry)
		}
	case silent:
		if !asSilent {
			m.expiry.Schedule(r.entry, m.enterSetBack(now, r))
		}
	case absent, beating, returned, returning, announced:
	}
}

// enterSetBack makes a key wait until its silence is recorded again, and
// returns when. The wait grows, so that a client which sets the record back
// each time does not determine the rate.
func (m *Monitor[K]) enterSetBack(now time.Time, r *record[K]) time.Time {
	r.enter(failed)
	retry := now.Add(m.config.Retry.Delay(int(r.setBacks)))
	if r.setBacks < math.MaxUint8 {
		r.setBacks++
	}
	if end := m.graceEnd(r); end.After(retry) {
		return end
	}
	return retry
}

// due returns when Start has to visit a key that is alive or returning.
func (m *Monitor[K]) due(r *record[K]) time.Time {
	end := m.graceEnd(r)
	if r.state == returning && r.recovered.Before(end) {
		return r.recovered
	}
	return end
}

// graceEnd returns when the grace period of a key ends, unless it is heard.
func (m *Monitor[K]) graceEnd(r *record[K]) time.Time { return r.since.Add(m.gracePeriod(r)) }

func (m *Monitor[K]) gracePeriod(r *record[K]) time.Duration {
	if !r.reported {
		return m.config.StartupGracePeriod
	}
	if r.grace > 0 {
		return r.grace
	}
	if r.detector != nil {
		if period := r.detector.GracePeriod(); period > 0 {
			return period
		}
	}
	return m.config.GracePeriod
}

// advance returns now as a seen time (see sight), or the latest that was passed
// in before if that is later. A caller's times may be late, and with or without
// a monotonic reading. Each time that the monitor keeps comes from here, so
// that the monitor and its queue compare them alike and Start terminates.
func (m *Monitor[K]) advance(now time.Time) time.Time {
	return m.expiry.Advance(m.sight.seen(now))
}

// hear is advance when a heartbeat has come, of whatever sender.
func (m *Monitor[K]) hear(now time.Time) time.Time {
	m.sight.prove(now, now)
	return m.advance(now)
}
