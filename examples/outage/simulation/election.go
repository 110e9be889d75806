package simulation

import (
	"errors"
	"time"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

// errFenced is what a write gets that comes when the process may no longer
// lead.
var errFenced = errors.New("not sent: the leader's lease is not valid any more")

// election is a process's part in deciding which one leads. It is what
// client-go's leader election does with a lease, and the fence that
// nodelifecycle puts before writes.
type election struct {
	// seen is the lease as it was read last, changedAt when it had changed.
	seen      model.Lock
	looked    bool
	changedAt time.Duration
	// until is until when the lease is ours by the time of day.
	until time.Time
	leads bool
	// renewing says that it is trying to renew the lease, renewals how often it
	// has.
	renewing bool
	renewals int
}

// elect tries to get or to keep the leader's lease, again and again.
func (r *Replica) elect() {
	if r.gone() {
		return
	}
	settings := r.sim.options.LeaderElection
	if !settings.Elect {
		r.lead()
		r.every(settings.RetryPeriod, r.probe)
		return
	}
	again := func() { r.client.At(r.sim.world.Now()+settings.RetryPeriod, r.elect) }
	if r.election.leads {
		r.setDeadline(settings.RenewDeadline)
		r.renew(r.election.seen.Version, again)
		return
	}
	r.call(&model.Call{Verb: model.Get, Kind: model.LeaderLease}, func(answer *model.Call) {
		r.sighted(answer)
		if answer.Err == nil && r.free(answer.Lock, settings.LeaseDuration) {
			r.renew(answer.Lock.Version, again)
			return
		}
		again()
	})
}

// setDeadline ends the process if it does not succeed in time to renew the
// lease, however often it tries and whatever its calls wait for.
func (r *Replica) setDeadline(deadline time.Duration) {
	if r.election.renewing {
		return
	}
	r.election.renewing = true
	client, renewals := r.client, r.election.renewals
	client.At(r.sim.world.Now()+deadline, func() {
		if r.client == client && r.election.renewals == renewals {
			r.end("lost the leader's lease")
		}
	})
}

// free reports whether the lease may be taken: no process holds it, or it has
// not changed for as long as it is valid.
func (r *Replica) free(lock model.Lock, duration time.Duration) bool {
	now := r.sim.world.Now()
	if !r.election.looked || r.election.seen != lock {
		r.election.looked, r.election.seen, r.election.changedAt = true, lock, now
	}
	return lock.Holder == "" || now-r.election.changedAt >= duration
}

// renew writes the lease, and leads if that succeeds.
func (r *Replica) renew(version uint64, then func()) {
	until := r.now().Add(r.sim.options.LeaderElection.LeaseDuration)
	write := &model.Call{Verb: model.Update, Kind: model.LeaderLease,
		Lock: model.Lock{Holder: r.identity(), Version: version}}
	r.call(write, func(answer *model.Call) {
		r.sighted(answer)
		switch {
		case answer.Err == nil:
			r.election.seen, r.election.until = answer.Lock, until
			r.election.renewing = false
			r.election.renewals++
			r.lead()
		case r.election.leads:
			// The answer to the last renewal may have been lost: whose is it now?
			r.reread(then)
			return
		}
		then()
	})
}

func (r *Replica) reread(then func()) {
	r.call(&model.Call{Verb: model.Get, Kind: model.LeaderLease}, func(answer *model.Call) {
		r.sighted(answer)
		if answer.Err == nil {
			if answer.Lock.Holder != r.identity() {
				r.end("another process leads")
				return
			}
			r.election.seen = answer.Lock
		}
		then()
	})
}

// probe asks for the lease, for what the answer tells about the API server.
func (r *Replica) probe() {
	r.call(&model.Call{Verb: model.Get, Kind: model.LeaderLease}, r.sighted)
}

// sighted tells the core that the API server has answered, if it has, and what
// time of day the answer tells, in whole seconds.
func (r *Replica) sighted(answer *model.Call) {
	if answer.Err == nil {
		r.core.Sighted(r.now())
		if now := r.sim.world.Now(); answer.SentAt >= r.resumedAt {
			sent := r.now().Add(answer.SentAt - now)
			date := r.sim.world.Wall().Add(answer.ProcessedAt - now).Truncate(time.Second)
			r.core.ObserveDate(r.now(), sent, date)
		}
		r.wake()
	}
}

// forbids reports whether a call is a write that must not be sent, because
// another process may lead by now.
func (r *Replica) forbids(call *model.Call) bool {
	if call.Verb == model.Get || !r.sim.options.LeaderElection.Elect || r.sim.splitBrain > 0 {
		return false
	}
	return r.now().Round(0).UnixNano() >= r.election.until.UnixNano()
}
