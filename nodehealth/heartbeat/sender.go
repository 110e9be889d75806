package heartbeat

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// Sender sends the heartbeats of any number of nodes: it renews their leases
// and reports their statuses, as a kubelet does for one. It is made for virtual
// kubelets and for fleets of simulated nodes.
//
// A renewal is one call, an Update of the lease as we last wrote it. The lease
// is read again only when another client has written it. A check of a status
// that has not changed makes no call. A report is one call, a patch that is
// guarded by the Node's UID and resource version. When the guard fails, the
// Node is read again.
//
// A beat that fails is retried soon, after a random and growing pause of up to
// its interval. No other beat waits for it unless all workers of its kind hang,
// and each beat ends after Timeout. A node costs an entry in each of two heaps
// and no goroutine or timer. A Sender keeps its lease and its status as the API
// server last showed them.
//
// A beat may be late by a hundredth of the shorter of RenewInterval and
// StatusInterval. So those of many nodes are sent together, and not each by a
// wake-up of its own.
//
// When a node was silent, or its renewals failed for LeaseDuration, its status
// is reported with the next beat. The node lifecycle controller may have set
// Ready to Unknown by then, and only a report sets it back.
//
// When the API server has no Node of the name, or one with another UID, the
// node's lease is no longer renewed. It would keep the other node alive. The
// Sender finds that when it writes a status, and then reads the Node again as
// after a failure. The caller must remove a node without Status.
//
// Methods are safe for concurrent use.
type Sender struct {
	config     Config
	schedule   *schedule // used with dispatcher locked
	dispatcher *timedqueue.Dispatcher
	running    atomic.Bool
}

// slackPart is by which part of an interval a beat may be late. It is a quarter
// of the jitter.
const slackPart = 100

// NewSender returns a sender without nodes. It starts nothing.
func NewSender(config Config) (*Sender, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	if config.Rand == nil {
		config.Rand = rand.Float64
	}
	schedule, err := newSchedule(config, time.Now())
	if err != nil {
		return nil, err
	}
	s := &Sender{config: config, schedule: schedule}
	act := actor{config: config, now: time.Now}.act
	s.dispatcher, err = timedqueue.NewDispatcher(schedule, act, timedqueue.DispatcherConfig{
		Workers: int(beatKinds) * config.Workers, // the schedule allots them
		Slack:   min(config.RenewInterval, config.StatusInterval) / slackPart,
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Run sends beats until ctx ends, then waits for those under way and returns
// nil. Their context ends too, so the wait is as long as the clients and the
// functions of the nodes take to notice that. Leases expire then, as those of a
// kubelet that stops. Run may be called again after it has returned, but not
// twice at a time.
//
// A panic in a client or in a function of a node ends Run as well. The error
// then wraps [timedqueue.ErrPanic].
func (s *Sender) Run(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer s.running.Store(false)
	return s.dispatcher.Run(ctx)
}

// Add starts the heartbeats of a node, the first one at once when Run runs. The
// caller must have created its Node object. Add may be called before Run and
// during it. O(log n).
func (s *Sender) Add(node Node) error {
	if err := s.config.validateNode(node); err != nil {
		return err
	}
	added := false
	s.dispatcher.Update(func() { added = s.schedule.add(time.Now(), node, s.config.Leases != nil) })
	if !added {
		return fmt.Errorf("%w: %s", ErrDuplicateNode, node.Name)
	}
	return nil
}

// Remove stops the heartbeats of a node, and reports whether it was added. The
// lease stays and expires. A beat that is under way may still arrive. If
// another node is added under the name, that beat ends before the first one of
// its kind. So a caller need not wait for it. O(log n).
func (s *Sender) Remove(name string) (found bool) {
	s.dispatcher.Update(func() { found = s.schedule.remove(name) })
	return found
}

// Changed makes the next check of a node's status due now. The status is
// reported if it differs from what the API server has. Changed is for nodes
// that know when their status changes; other changes are found within
// StatusInterval. It ends no silence: a silent node reports its status when it
// returns. Changed reports whether the node was added, and does not block.
// O(log n).
func (s *Sender) Changed(name string) (found bool) {
	s.dispatcher.Update(func() { found = s.schedule.changed(time.Now(), name) })
	return found
}

// Pause makes a node fall silent, like a machine without power: from now on no
// heartbeat of it begins, neither a lease nor a status. One that is under way
// may still arrive, within [Config.Timeout]. Pause reports whether the node was
// added. O(1).
func (s *Sender) Pause(name string) (found bool) { return s.AliveFor(name, 0) }

// Resume makes a node alive without end, as after Add. If it was silent, its
// lease is renewed and its status reported at once. Resume reports whether the
// node was added. O(log n).
func (s *Sender) Resume(name string) (found bool) {
	return s.setAlive(name, time.Time{})
}

// AliveFor makes a node alive for the time d from now. When d is over, no
// heartbeat of the node begins until AliveFor or Resume is called. It is for
// nodes whose check can hang: call it after each check that succeeds, and once
// right after Add, because the first check may hang too. Then a check that
// hangs silences its node and delays no other. Let d span several checks.
//
// If the node was silent, its lease is renewed and its status reported at once,
// as by Resume. If d is zero or less, AliveFor does what Pause does. Of
// AliveFor, Pause and Resume, the last call counts.
//
// A heartbeat that begins just before d is over may arrive up to
// [Config.Timeout] later. It is not cut short, because a slow API server would
// then silence nodes that are alive. The time d is measured on the monotonic
// clock. AliveFor reports whether the node was added. It is made to be called
// often: it allocates nothing and is O(1), or O(log n) if the node was silent.
func (s *Sender) AliveFor(name string, d time.Duration) (found bool) {
	return s.setAlive(name, time.Now().Add(d))
}

// setAlive makes the dispatcher poll only if a node returns, because AliveFor
// is called often.
func (s *Sender) setAlive(name string, until time.Time) (found bool) {
	s.dispatcher.UpdateIf(func() (returns bool) {
		found, returns = s.schedule.setAlive(time.Now(), name, until)
		return returns
	})
	return found
}

// Silent returns how many nodes are silent. A paused node counts at once. One
// whose time by AliveFor is over counts from the first heartbeat that it does
// not send. O(1).
func (s *Sender) Silent() (nodes int) {
	s.dispatcher.View(func() { nodes = s.schedule.silent })
	return nodes
}
