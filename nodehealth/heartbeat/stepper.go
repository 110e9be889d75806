package heartbeat

import (
	"context"
	"fmt"
	"time"
)

// Stepper sends heartbeats as a [Sender] does, on the goroutine of its caller
// and at the times that it is passed. It is for simulations: with clients in
// virtual time the same calls give the same heartbeats. So Config.Rand is
// required.
//
// Timeout counts for nothing, because a call of a client takes no time here.
// Only the context that Step is passed ends one.
//
// It is not safe for concurrent use.
type Stepper struct {
	config   Config
	schedule *schedule
	actor    actor
	at       time.Time // of the present step
}

// NewStepper returns a stepper without nodes. A zero now is an error.
func NewStepper(config Config, now time.Time) (*Stepper, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Rand == nil {
		return nil, fmt.Errorf("%w: Config.Rand is nil, want a function", ErrInvalidConfig)
	}
	config = config.withDefaults()
	schedule, err := newSchedule(config, now)
	if err != nil {
		return nil, err
	}
	s := &Stepper{config: config, schedule: schedule}
	config.Timeout = 0
	s.actor = actor{config: config, now: func() time.Time { return s.at }}
	return s, nil
}

// Add starts the heartbeats of a node, the first one now. The caller must have
// created its Node object. O(log n).
func (s *Stepper) Add(now time.Time, node Node) error {
	if err := s.config.validateNode(node); err != nil {
		return err
	}
	if !s.schedule.add(now, node, s.config.Leases != nil) {
		return fmt.Errorf("%w: %s", ErrDuplicateNode, node.Name)
	}
	return nil
}

// Remove stops the heartbeats of a node, and reports whether it was added. The
// lease stays and expires. O(log n).
func (s *Stepper) Remove(name string) bool { return s.schedule.remove(name) }

// Changed makes the next check of a node's status due now, as
// [Sender.Changed] does. O(log n).
func (s *Stepper) Changed(now time.Time, name string) bool { return s.schedule.changed(now, name) }

// Pause makes a node fall silent, as [Sender.Pause] does. O(1).
func (s *Stepper) Pause(now time.Time, name string) bool { return s.AliveFor(now, name, 0) }

// Resume ends the silence of a node, as [Sender.Resume] does. O(log n).
func (s *Stepper) Resume(now time.Time, name string) bool {
	found, _ := s.schedule.setAlive(now, name, time.Time{})
	return found
}

// AliveFor makes a node alive for the time d from now, as [Sender.AliveFor]
// does. O(log n).
func (s *Stepper) AliveFor(now time.Time, name string, d time.Duration) bool {
	found, _ := s.schedule.setAlive(now, name, now.Add(d))
	return found
}

// Step sends the next beat that is due, and reports whether there was one. It
// calls the clients and the Status of the node. A failure is logged and retried
// later, as by a Sender.
func (s *Stepper) Step(ctx context.Context, now time.Time) bool {
	task, found := s.schedule.Start(now)
	if !found {
		return false
	}
	s.at = now
	s.schedule.Finish(now, task, s.actor.act(ctx, task))
	return true
}

// Next returns when Step next has something to do, and false without nodes.
func (s *Stepper) Next(now time.Time) (time.Time, bool) { return s.schedule.Next(now) }
