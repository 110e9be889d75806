package simulation

import (
	"errors"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

// errFenced is what a write gets that comes when the process may no longer
// lead.
var errFenced = errors.New("not sent: the leader's lease is not valid any more")

// election is a process's part in deciding which one leads. It does with the
// lease what client-go's leaderelection v0.37 does, whose loops wait for real
// time: a test plays the same faults through both. The timeouts and the fence
// are those of package process. One that loses the lease does not release it.
type election struct {
	// seen is the lease as it was read or written last, and seenAt when it was
	// found to have changed.
	seen   model.Lock
	seenAt time.Duration
	readAt time.Time // when it was read last, zero if it was not
	// until is until when the lease is ours by the time of day.
	until time.Time
	leads bool
	// renewals counts those that have succeeded.
	renewals int
	random   *rand.Rand
}

// acquireJitter is by which share a process that does not lead may lengthen a
// retry period. Source: JitterFactor of leaderelection.
const acquireJitter = 1.2

// elect begins to take part in the election, or acts without one.
func (r *Replica) elect() {
	settings := r.sim.options.LeaderElection
	if !settings.Elect {
		r.lead()
		r.every(settings.RetryPeriod, r.probe)
		return
	}
	r.election.random = r.sim.world.Random("election/" + r.identity())
	r.acquire()
}

// acquire tries to get the lease, again and again. What fails together does not
// come back together.
func (r *Replica) acquire() {
	r.attempt(func(won bool) {
		period := float64(r.sim.options.LeaderElection.RetryPeriod)
		if !won {
			period *= 1 + acquireJitter*r.election.random.Float64()
			r.after(time.Duration(period), r.acquire)
			return
		}
		r.lead()
		r.after(time.Duration(period), r.keep)
	})
}

// keep renews the lease, and ends the process if it does not succeed in time,
// however often it tries and whatever its calls wait for.
func (r *Replica) keep() {
	settings, renewals := r.sim.options.LeaderElection, r.election.renewals
	r.after(settings.RenewDeadline, func() {
		if r.election.renewals == renewals {
			r.end("lost the leader's lease")
		}
	})
	var try func()
	try = func() {
		next := r.sim.world.Elapsed() + settings.RetryPeriod
		r.attempt(func(renewed bool) {
			if renewed {
				r.election.renewals++
				r.after(settings.RetryPeriod, r.keep)
				return
			}
			r.after(next-r.sim.world.Elapsed(), try)
		})
	}
	try()
}

// after does something in this life of the process, unless it ends before.
func (r *Replica) after(wait time.Duration, do func()) {
	r.client.At(r.sim.world.Elapsed()+max(wait, 0), do)
}

// attempt tries once to get or to keep the lease. A leader writes at once; if
// that fails, it looks who has the lease, as the others do. It is still itself
// if only the answer was lost.
func (r *Replica) attempt(done func(won bool)) {
	now := r.sim.world.Elapsed()
	if !r.holds() || !r.isValid(now) {
		r.readLock(now, done)
		return
	}
	r.writeLock(func(written bool) {
		if written {
			done(true)
			return
		}
		r.readLock(now, done)
	})
}

// readLock reads the lease, and writes it if it may.
func (r *Replica) readLock(since time.Duration, done func(won bool)) {
	r.callLease(&model.Call{Verb: model.Get}, func(answer *model.Call) {
		e := &r.election
		if answer.Err != nil {
			done(false)
			return
		}
		if e.seen != answer.Lock {
			if !e.readAt.IsZero() { // another process could write since then
				r.core.Answered(e.readAt, e.readAt)
			}
			e.seen, e.seenAt = answer.Lock, r.sim.world.Elapsed()
		}
		e.readAt = r.now()
		if e.seen.Holder != "" && !r.holds() && r.isValid(since) {
			done(false)
			return
		}
		r.writeLock(done)
	})
}

// writeLock makes the lease ours. A leader whose lease has ended by then was
// suspended, and ends.
func (r *Replica) writeLock(done func(written bool)) {
	if r.election.leads && !r.now().Round(0).Before(r.election.until.Round(0)) {
		r.end("the leader's lease has ended")
		return
	}
	until := r.now().Add(r.sim.options.LeaderElection.LeaseDuration)
	lock := model.Lock{Holder: r.identity(), Version: r.election.seen.Version}
	r.callLease(&model.Call{Verb: model.Update, Lock: lock}, func(answer *model.Call) {
		if answer.Err == nil {
			e := &r.election
			e.seen, e.seenAt = answer.Lock, r.sim.world.Elapsed()
			e.until = until
		}
		done(answer.Err == nil)
	})
}

func (r *Replica) holds() bool { return r.election.seen.Holder == r.identity() }

// isValid reports whether the lease as it was seen last may have been valid.
func (r *Replica) isValid(at time.Duration) bool {
	return at < r.election.seenAt+r.sim.options.LeaderElection.LeaseDuration
}

// probe writes a lease of its own, for what the answer tells.
func (r *Replica) probe() { r.callLease(&model.Call{Verb: model.Patch}, func(*model.Call) {}) }

// leaseTimeout is how long a process waits for an answer about the lease.
func (s *Simulation) leaseTimeout() time.Duration {
	if settings := s.options.LeaderElection; settings.Elect {
		return settings.RenewDeadline / 2
	}
	return model.CallTimeout
}

// callLease sends a call about the lease, and tells the core what comes of it,
// as package process does: that a write was answered or a call has failed.
func (r *Replica) callLease(call *model.Call, answered func(*model.Call)) {
	call.Kind, call.Timeout = model.LeaderLease, r.sim.leaseTimeout()
	sent := r.now()
	r.call(call, func(answer *model.Call) {
		now := r.now()
		switch conflict := apierrors.IsConflict(answer.Err); {
		case answer.Err != nil && !conflict:
			r.core.Unanswered(now)
		case answer.Verb != model.Get:
			r.core.Answered(now, sent)
		}
		answered(answer)
		r.wake()
	})
}

// forbids reports whether a call is a write that must not be sent, because
// another process may lead by now.
func (r *Replica) forbids(call *model.Call) bool {
	if call.Verb == model.Get || !r.sim.options.LeaderElection.Elect || r.sim.splitBrain > 0 {
		return false
	}
	return r.now().Round(0).UnixNano() >= r.election.until.UnixNano()
}
