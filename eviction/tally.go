package eviction

import (
	"fmt"
	"math"
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// A tally counts things by the second in which they are due, so that how many
// are overdue is known without a walk. A change costs O(log n) of the different
// seconds. Time goes on with each change, so that few seconds pass in one.
type tally struct {
	epoch   time.Time
	future  *timedqueue.Queue[second, *tallied]
	past    *timedqueue.Queue[second, *tallied]
	overdue int      // in past
	unused  *tallied // for reuse, so that a second that comes and goes costs none
}

// A second is a time in whole seconds from the epoch, rounded up. Zero stands
// for none: the seconds before the first are one less.
type second int32

// tallied is what is due in one second.
type tallied struct {
	things int
	first  time.Time // the earliest due time of those that were counted
}

func newTally(epoch time.Time) (*tally, error) {
	var config timedqueue.QueueConfig[second, *tallied]
	future, err := timedqueue.NewQueue(config, epoch)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	past, err := timedqueue.NewQueue(config, epoch)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	return &tally{epoch: epoch, future: future, past: past}, nil
}

// secondOf returns the second of a due time. Those that are too far away to
// tell apart are one.
func (c *tally) secondOf(due time.Time) second {
	d := due.Sub(c.epoch)
	whole := int64(d / time.Second)
	if d > 0 && d%time.Second != 0 {
		whole++
	}
	if whole <= 0 {
		whole--
	}
	return second(min(max(whole, math.MinInt32), math.MaxInt32))
}

func (c *tally) timeOf(s second) time.Time {
	if s < 0 {
		s++
	}
	return c.epoch.Add(time.Duration(s) * time.Second)
}

// add counts a thing that is due, and returns its second.
func (c *tally) add(now, due time.Time) second {
	c.advance(now)
	at := c.secondOf(due)
	in, item := c.find(at)
	switch in {
	case nil:
		item.Value = c.newTallied(due)
		c.future.Add(at, item.Value, c.timeOf(at))
		defer c.advance(now)
	case c.past:
		c.overdue++
	}
	item.Value.things++
	item.Value.first = earlier(item.Value.first, due)
	return at
}

// remove takes back that a thing was counted in a second.
func (c *tally) remove(at second) {
	in, item := c.find(at)
	switch in {
	case nil:
		return
	case c.past:
		c.overdue--
	}
	if item.Value.things--; item.Value.things == 0 {
		in.Remove(at)
		c.unused = item.Value
	}
}

// find returns what is due in a second, and the queue that holds it.
func (c *tally) find(at second) (
	in *timedqueue.Queue[second, *tallied], item timedqueue.Item[second, *tallied],
) {
	for _, in := range [...]*timedqueue.Queue[second, *tallied]{c.past, c.future} {
		if item, has := in.Get(at); has {
			return in, item
		}
	}
	return nil, item
}

func (c *tally) newTallied(first time.Time) *tallied {
	s := c.unused
	if c.unused = nil; s == nil {
		s = new(tallied)
	}
	*s = tallied{first: first}
	return s
}

// advance puts the seconds that have begun among the past ones.
func (c *tally) advance(now time.Time) {
	for item, ok := c.future.Start(now); ok; item, ok = c.future.Start(now) {
		c.past.Add(item.Key, item.Value, item.Due)
		c.overdue += item.Value.things
		c.future.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
	}
}

// due returns how many things are due, and since when the first of them is. It
// is exact to a second, because a thing counts from the next whole second on.
func (c *tally) due(now time.Time) (things int, since time.Time) {
	c.advance(now)
	next, some := c.past.Next(now)
	if !some {
		return 0, time.Time{}
	}
	first, _ := c.past.Get(c.secondOf(next))
	return c.overdue, first.Value.first
}
