package timedqueue

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/time/rate"
)

// A Budget limits how fast a [Queue] hands out its items: all of them together,
// or those of each share, for example of each zone. Each share earns tokens at
// the budget's limit, up to its burst, and each action spends one. A budget can
// also bound how many act at once.
//
// An item starts when each budget of the queue has a token for it, and then
// takes one of each. An item that waits for a token does not delay items of
// other shares. So an item that needs tokens of two scarce shares may be
// overtaken by items that need one.
//
// Over any stretch of time, a share starts at most Limit times the stretch,
// plus Burst, plus what was acting when the stretch began. Actions whose tokens
// are returned do not count.
type Budget[K comparable, V any] struct {
	// Name identifies the budget in SetLimit, Delayed and Blocking. It is unique
	// within a queue and may be empty.
	Name string

	// ShareOf returns the name of the share that an item belongs to. Each share
	// has tokens of its own. Nil means that all items have one share, whose name
	// is empty. ShareOf must be a pure function. It is called often.
	ShareOf func(key K, value V) string

	// Limit is how many actions of a share start a second. [rate.Inf] is no limit.
	// Required unless the budget is Held.
	Limit rate.Limit

	// Held says that each share holds its items until [Queue.SetLimit] gives it a
	// limit. Limit must be zero then. A forgotten Limit would hold everything and
	// look like a quiet cluster, so this has to be said.
	Held bool

	// Burst is how many tokens a share can save up. Zero means 1. A share begins
	// with all of them. One that SetLimit creates after the first Start, or that
	// is new to a key which moves there, begins empty. Else each new name of a
	// zone would allow a burst.
	Burst int

	// MaxActing is how many holders of a share act at a time. Zero is no bound.
	MaxActing int

	// HolderOf names what counts as one for MaxActing, for example the node of a
	// pod: with MaxActing 1 and a share for each zone, the pods of one node of a
	// zone start, and those of the next node once no action of the first is under
	// way. Nil means that each item counts. It must be a pure function.
	HolderOf func(key K, value V) string
}

// Validate joins all that is wrong with the budget.
func (b Budget[K, V]) Validate() error {
	var problems []error
	complain := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		problems = append(problems, fmt.Errorf("%w: budget %q: %s", ErrInvalidConfig, b.Name, text))
	}
	switch {
	case b.Held && b.Limit != 0:
		complain("Limit is %v and Held is set, want one of them", b.Limit)
	case !b.Held && !isLimit(b.Limit):
		complain("Limit is %v, want more than zero, rate.Inf for no limit, or Held", b.Limit)
	}
	if b.Burst < 0 {
		complain("Burst is %d, want zero or more", b.Burst)
	}
	if b.MaxActing < 0 {
		complain("MaxActing is %d, want zero or more", b.MaxActing)
	}
	if b.HolderOf != nil && b.MaxActing == 0 {
		complain("HolderOf is set and MaxActing is 0, want at least 1")
	}
	return errors.Join(problems...)
}

// isLimit reports whether a limit lets something start. A NaN does not.
func isLimit(limit rate.Limit) bool { return limit > 0 && !math.IsNaN(float64(limit)) }

func validateBudgets[K comparable, V any](budgets []Budget[K, V]) error {
	var problems []error
	names := make(map[string]bool)
	for _, b := range budgets {
		problems = append(problems, b.Validate())
		if names[b.Name] {
			problems = append(problems,
				fmt.Errorf("%w: two budgets have the name %q, want one of each", ErrInvalidConfig, b.Name))
		}
		names[b.Name] = true
	}
	return errors.Join(problems...)
}

// overall reports whether the items need not be told apart. While such a budget
// admits nothing, no item can start.
func (b Budget[K, V]) overall() bool { return b.ShareOf == nil && b.HolderOf == nil }

func (b Budget[K, V]) shareOf(e *Entry[K, V]) string {
	if b.ShareOf == nil {
		return ""
	}
	return b.ShareOf(e.key, e.value)
}

func (b Budget[K, V]) holderOf(e *Entry[K, V]) string {
	if b.HolderOf == nil {
		return ""
	}
	return b.HolderOf(e.key, e.value)
}
