package timedqueue

import (
	"errors"
	"fmt"
	"slices"
)

// ErrInvalidConfig is wrapped by each error that a constructor of this package
// returns.
var ErrInvalidConfig = errors.New("invalid timedqueue config")

// QueueConfig says how fast a [Queue] hands out its items and how it retries
// them. The zero value has no budget: items start when they are due.
type QueueConfig[K comparable, V any] struct {
	// Budgets limit how fast items start. None is no limit.
	Budgets []Budget[K, V]

	// Less orders items that are due at the same time. Nil means in the order of
	// their insertion, which also orders equals. It must be a pure function.
	Less func(a, b V) bool

	// Backoff is the wait after a failed action.
	Backoff Backoff

	// Kinds are the kinds of work that [Queue.OfKind] tells apart, next to all
	// others. They exclude budgets with ShareOf or HolderOf.
	Kinds []string

	// KindOf returns an item's kind of work. It must be a pure function. Required
	// with Kinds.
	KindOf func(key K, value V) string
}

// Validate joins all that is wrong with the config.
func (c QueueConfig[K, V]) Validate() error {
	problems := []error{validateBudgets(c.Budgets), c.Backoff.Validate()}
	complain := func(format string, args ...any) {
		problems = append(problems,
			fmt.Errorf("%w: QueueConfig.%s", ErrInvalidConfig, fmt.Sprintf(format, args...)))
	}
	if len(c.Kinds) > 0 && c.KindOf == nil {
		complain("KindOf is nil, want a function, since Kinds are set")
	}
	for _, b := range c.Budgets {
		if len(c.Kinds) > 0 && !b.overall() {
			complain("Kinds are set and budget %q has ShareOf or HolderOf, want one of them", b.Name)
		}
	}
	return errors.Join(problems...)
}

// kinds returns the names of the kinds that are told apart, in order.
func (c QueueConfig[K, V]) kinds() []string {
	return slices.Compact(slices.Sorted(slices.Values(c.Kinds)))
}
