package timedqueue

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"golang.org/x/time/rate"
)

// A Budget limits how fast a [Queue] hands out its items: all of them together,
// or those of each share, for example of each zone. Each share earns tokens at
// the budget's limit, up to its burst, and each action spends one.
//
// An item starts when each budget of the queue has a token for it, and then
// takes one of each. An item that waits for a token does not delay items of
// other shares. So an item that needs tokens of two scarce shares may be
// overtaken by items that need one.
type Budget[K comparable, V any] struct {
	// Name identifies the budget in SetLimit and Blocking. It is unique within a
	// queue and may be empty.
	Name string

	// ShareOf returns the name of the share that an item belongs to. Each share
	// has tokens of its own. Nil means that all items have one share, whose name
	// is empty. ShareOf must be a pure function. It is called often.
	ShareOf func(key K, value V) string

	// Limit is how many actions of a share start a second. [rate.Inf] is no limit.
	// Zero, as in package rate, allows none: the share holds its items until
	// [Queue.SetLimit] gives it another limit.
	Limit rate.Limit

	// Burst is how many tokens a share can save up. It starts with all of them.
	// Zero means 1.
	Burst int

	// Reserved gives kinds of work a part of the budget's tokens, so that other
	// work which comes first does not starve them. With 0.2 for "retry", at least
	// every fifth token goes to a retry while there is one. Each part is more than
	// zero, and all together are at most 1. Tokens that are not reserved, or that
	// a kind has no work for, go by the order of the items.
	//
	// A kind has startable work while it has an item for which the other budgets
	// have tokens. Over a stretch of startable work it gets at least its part of
	// the tokens granted, less one. Counted from within the stretch it is less
	// two, because the kind may have been ahead. A gap between two grants does not
	// end the stretch.
	//
	// Only one budget of a queue can reserve parts, and its ShareOf must be nil.
	// QueueConfig.KindOf says which kind an item is of. Kinds without a reserved
	// part are treated as one.
	Reserved map[string]float64
}

// Validate joins all that is wrong with the budget.
func (b Budget[K, V]) Validate() error {
	var problems []error
	complain := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		problems = append(problems, fmt.Errorf("%w: budget %q: %s", ErrInvalidConfig, b.Name, text))
	}
	if b.Limit < 0 || math.IsNaN(float64(b.Limit)) {
		complain("Limit is %v, want zero or more", b.Limit)
	}
	if b.Burst < 0 {
		complain("Burst is %d, want zero or more", b.Burst)
	}
	sum := 0.0
	for _, kind := range slices.Sorted(maps.Keys(b.Reserved)) {
		part := b.Reserved[kind]
		if !(part > 0) { // also NaN
			complain("Reserved[%q] is %v, want more than zero", kind, part)
		}
		sum += part
	}
	if sum > 1+roundingError {
		complain("Reserved adds up to %v, want at most 1", sum)
	}
	if len(b.Reserved) > 0 && b.ShareOf != nil {
		complain("ShareOf and Reserved are set, want one of them at most")
	}
	return errors.Join(problems...)
}

func validateBudgets[K comparable, V any](budgets []Budget[K, V]) error {
	var problems []error
	names := make(map[string]bool)
	reserving := 0
	for _, b := range budgets {
		problems = append(problems, b.Validate())
		if names[b.Name] {
			problems = append(problems,
				fmt.Errorf("%w: two budgets have the name %q, want one of each", ErrInvalidConfig, b.Name))
		}
		names[b.Name] = true
		if len(b.Reserved) > 0 {
			reserving++
		}
	}
	if reserving > 1 {
		problems = append(problems,
			fmt.Errorf("%w: %d budgets have Reserved, want one at most", ErrInvalidConfig, reserving))
	}
	return errors.Join(problems...)
}
