package program

import (
	"errors"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// errFenced is what a write gets that comes when the process may no longer
// lead.
var errFenced = errors.New("not sent: the leader's lease is not valid any more")

// ElectionConfig is how a process takes part in deciding which one leads.
type ElectionConfig struct {
	// Elect is false for a process that leads from the beginning, and writes a
	// lease of its own each RetryPeriod for what the answer tells.
	Elect bool
	// LeaseDuration, RenewDeadline and RetryPeriod are those of leaderelection.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// Lead is called when the process begins to lead.
	Lead func()
	// Lost ends the process.
	Lost func(why string)
	// Answered and Unanswered tell what comes of calls about the lease, as package
	// process does.
	Answered   func(now, sent time.Time)
	Unanswered func(now time.Time)
}

// CallTimeout is how long a process waits for an answer about the lease.
func (c *ElectionConfig) CallTimeout() time.Duration {
	if c.Elect {
		return c.RenewDeadline / 2
	}
	return network.CallTimeout
}

// Election is a process's part in deciding which one leads. It does with the
// lease what client-go's leaderelection v0.37 does, whose loops wait for real
// time: a test plays the same faults through both. The timeouts and the fence
// are those of package process. One that loses the lease does not release it.
type Election struct {
	process *Process
	config  ElectionConfig
	// seen is the lease as it was read or written last, and seenAt when it was
	// found to have changed.
	seen   network.Lock
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

// Elect begins to take part in the election, or leads without one.
func (p *Process) Elect(config ElectionConfig, random *rand.Rand) *Election {
	e := &Election{process: p, config: config, random: random}
	if config.Elect {
		e.acquire()
		return e
	}
	e.lead()
	p.Every(config.RetryPeriod, e.probe)
	return e
}

// Leads reports whether the process leads.
func (e *Election) Leads() bool { return e != nil && e.leads }

// lead begins to act.
func (e *Election) lead() {
	if e.leads {
		return
	}
	e.leads = true
	e.config.Lead()
	e.process.network.Note(network.Note{Kind: network.Leads, Client: e.process.Client})
	e.process.Wake()
}

// acquire tries to get the lease, again and again. What fails together does not
// come back together.
func (e *Election) acquire() {
	e.attempt(func(won bool) {
		period := float64(e.config.RetryPeriod)
		if !won {
			period *= 1 + acquireJitter*e.random.Float64()
			e.process.After(time.Duration(period), e.acquire)
			return
		}
		e.lead()
		e.process.After(time.Duration(period), e.keep)
	})
}

// keep renews the lease, and ends the process if it does not succeed in time,
// however often it tries and whatever its calls wait for.
func (e *Election) keep() {
	renewals := e.renewals
	e.process.After(e.config.RenewDeadline, func() {
		if e.renewals == renewals {
			e.config.Lost("lost the leader's lease")
		}
	})
	var try func()
	try = func() {
		next := e.elapsed() + e.config.RetryPeriod
		e.attempt(func(renewed bool) {
			if renewed {
				e.renewals++
				e.process.After(e.config.RetryPeriod, e.keep)
				return
			}
			e.process.After(next-e.elapsed(), try)
		})
	}
	try()
}

func (e *Election) elapsed() time.Duration { return e.process.network.Elapsed() }

// attempt tries once to get or to keep the lease. A leader writes at once; if
// that fails, it looks who has the lease, as the others do. It is still itself
// if only the answer was lost.
func (e *Election) attempt(done func(won bool)) {
	now := e.elapsed()
	if !e.holds() || !e.isValid(now) {
		e.readLock(now, done)
		return
	}
	e.writeLock(func(written bool) {
		if written {
			done(true)
			return
		}
		e.readLock(now, done)
	})
}

// readLock reads the lease, and writes it if it may.
func (e *Election) readLock(since time.Duration, done func(won bool)) {
	e.call(&network.Call{Verb: network.Get}, func(answer *network.Call) {
		if answer.Err != nil {
			done(false)
			return
		}
		if e.seen != answer.Lock {
			if !e.readAt.IsZero() { // another process could write since then
				e.config.Answered(e.readAt, e.readAt)
			}
			e.seen, e.seenAt = answer.Lock, e.elapsed()
		}
		e.readAt = e.process.Now()
		if e.seen.Holder != "" && !e.holds() && e.isValid(since) {
			done(false)
			return
		}
		e.writeLock(done)
	})
}

// writeLock makes the lease ours. A leader whose lease has ended by then was
// suspended, and ends.
func (e *Election) writeLock(done func(written bool)) {
	if e.leads && !e.process.Now().Round(0).Before(e.until.Round(0)) {
		e.config.Lost("the leader's lease has ended")
		return
	}
	until := e.process.Now().Add(e.config.LeaseDuration)
	lock := network.Lock{Holder: e.process.Identity(), Version: e.seen.Version}
	e.call(&network.Call{Verb: network.Update, Lock: lock}, func(answer *network.Call) {
		if answer.Err == nil {
			e.seen, e.seenAt = answer.Lock, e.elapsed()
			e.until = until
		}
		done(answer.Err == nil)
	})
}

func (e *Election) holds() bool { return e.seen.Holder == e.process.Identity() }

// isValid reports whether the lease as it was seen last may have been valid.
func (e *Election) isValid(at time.Duration) bool { return at < e.seenAt+e.config.LeaseDuration }

// probe writes a lease of its own, for what the answer tells.
func (e *Election) probe() { e.call(&network.Call{Verb: network.Patch}, func(*network.Call) {}) }

// call sends a call about the lease, and tells what comes of it: that a write
// was answered or a call has failed.
func (e *Election) call(call *network.Call, answered func(*network.Call)) {
	call.Kind, call.Timeout = network.LeaderLease, e.config.CallTimeout()
	sent := e.process.Now()
	e.process.Call(call, func(answer *network.Call) {
		now := e.process.Now()
		switch conflict := apierrors.IsConflict(answer.Err); {
		case answer.Err != nil && !conflict:
			e.config.Unanswered(now)
		case answer.Verb != network.Get:
			e.config.Answered(now, sent)
		}
		answered(answer)
		e.process.Wake()
	})
}

// Forbid returns an error for a write that must not be sent, because another
// process may lead by now.
func (e *Election) Forbid(call *network.Call) error {
	if call.Verb == network.Get || !e.config.Elect {
		return nil
	}
	if e.process.Now().Round(0).UnixNano() >= e.until.UnixNano() {
		return errFenced
	}
	return nil
}
