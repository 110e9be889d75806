// Package judge says from the history of pods what a controller that evicts
// them has done well and what not. It knows no controller and no API server,
// only what should have happened and what did.
package judge

import (
	"errors"
	"fmt"
	"time"
)

// Life is one pod, from its arrival on a node to its end. A pod that is created
// again under its name is another life.
type Life struct {
	// Pod names it in errors.
	Pod string
	// Left is when the request that made it leave was received; zero: it is still
	// there.
	Left time.Time
	// By is the user that sent that request.
	By string
}

// Duty is what should become of a pod. The zero value is that it stays.
type Duty struct {
	// Due is when its toleration ends. Zero means that it must not be evicted at
	// all.
	Due time.Time
	// Allowed is from when on a budget allows its eviction. It may have been
	// possible before that, and then it was wrong. Zero means that there is no
	// budget.
	Allowed time.Time
	// Possible is when nothing prevented its eviction any longer: a refusal or an
	// outage was over. Nothing is late before that. Zero means that nothing did.
	Possible time.Time
}

// from is the time from which on lateness counts.
func (d Duty) from() time.Time {
	from := d.Due
	for _, t := range []time.Time{d.Allowed, d.Possible} {
		if t.After(from) {
			from = t
		}
	}
	return from
}

// Case is a pod, what should have become of it, and what has.
type Case struct {
	Life Life
	Duty Duty
}

// Rules are what a history is judged by.
type Rules struct {
	// Subject is the user whose evictions are judged.
	Subject string
	// Late is how long after the time at which a pod must and can be evicted it is
	// still in time.
	Late time.Duration
	// Lost is how long after that time a pod that is still there counts as lost.
	Lost time.Duration
	// At is when the history ends.
	At time.Time
}

// Counts is the verdict. Each pod that must be evicted is either Evicted,
// Early, Lost, or one of the Wrong.
type Counts struct {
	// Must is how many pods have to be evicted.
	Must int
	// Evicted is how many of them were, when they were due or later.
	Evicted int
	// Early is how many were evicted before they were due.
	Early int
	// Late is how many of the Evicted came too late, or were so late that another
	// client's deletion came first. Latest is how late the last of the Evicted
	// was.
	Late   int
	Latest time.Duration
	// Lost is how many are still there.
	Lost int
	// Wrong is how many were evicted that must stay, or before their budget
	// allowed it.
	Wrong int
}

var (
	errUnexplained = errors.New("no request explains that it left")
	errTooSoon     = errors.New("the history ends too soon to tell whether it is lost")
)

// Count judges a history. It fails when the history does not allow a verdict.
func Count(cases []Case, rules Rules) (Counts, error) {
	var counts Counts
	for _, c := range cases {
		if err := counts.add(c, rules); err != nil {
			return Counts{}, fmt.Errorf("pod %s: %w", c.Life.Pod, err)
		}
	}
	return counts, nil
}

func (n *Counts) add(c Case, rules Rules) error {
	left := !c.Life.Left.IsZero()
	if left && c.Life.By == "" {
		return errUnexplained
	}
	evicted := left && c.Life.By == rules.Subject
	switch {
	case c.Duty.Due.IsZero():
		if evicted {
			n.Wrong++
		}
		return nil
	case !left:
		return n.addMissing(c.Duty, rules)
	case !evicted:
		n.addTaken(c, rules)
		return nil
	}
	n.Must++
	n.addEvicted(c, rules)
	return nil
}

// addMissing is about a pod that must leave and is still there.
func (n *Counts) addMissing(duty Duty, rules Rules) error {
	if rules.At.Before(duty.from().Add(rules.Lost)) {
		return errTooSoon
	}
	n.Must++
	n.Lost++
	return nil
}

// addTaken is about a pod that another client deleted. A deletion by another
// client before it is too late ends the duty.
func (n *Counts) addTaken(c Case, rules Rules) {
	if c.Life.Left.Sub(c.Duty.from()) <= rules.Late {
		return
	}
	n.Must++
	n.Late++
}

func (n *Counts) addEvicted(c Case, rules Rules) {
	switch {
	case c.Life.Left.Before(c.Duty.Due):
		n.Early++
		return
	case c.Life.Left.Before(c.Duty.Allowed):
		n.Wrong++
		return
	}
	n.Evicted++
	late := c.Life.Left.Sub(c.Duty.from())
	n.Latest = max(n.Latest, late)
	if late > rules.Late {
		n.Late++
	}
}

// Clean says whether exactly the pods that had to be evicted were, each in its
// time. A history without such pods proves nothing, and is not clean.
func (n Counts) Clean() bool {
	return n.Must > 0 && n.Evicted == n.Must && n.Early == 0 && n.Late == 0 && n.Lost == 0 && n.Wrong == 0
}
