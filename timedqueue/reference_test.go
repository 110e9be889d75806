package timedqueue

import (
	"slices"
	"time"
)

// A reference does what a Queue promises, slowly and plainly: one slice of
// items and one of actions, each searched from its beginning. It has no code in
// common with the package. Its tokens are in reference_tokens_test.go.
//
// A queue may choose when it creates a share and when it drops a full one. The
// reference takes that choice and checks that it was allowed.
type reference struct {
	backoff Backoff
	ranked  bool // Less orders by rank
	now     time.Time
	serial  int // the last number
	items   []*refItem
	actions []*refAction
	budgets []*refBudget
}

// work is the value of an item in the random tests.
type work struct {
	zone, team, kind string
	rank             int
}

type refItem struct {
	number   int // by insertion, zero for none yet
	key      int
	value    work
	due      time.Time
	idle     bool // it has no due time
	attempts int
}

type refAction struct {
	key       int
	of        *refItem // that it was started for; it may be gone
	overtaken bool     // its result no longer matters to the item
	spent     []refSpent
	started   Item[int, work]
}

func (r *reference) advance(now time.Time) {
	if r.now.Before(now) {
		r.now = now
	}
}

func (r *reference) nextNumber() int {
	r.serial++
	return r.serial
}

func (r *reference) find(key int) *refItem {
	for _, item := range r.items {
		if item.key == key {
			return item
		}
	}
	return nil
}

func (r *reference) acting(key int) *refAction {
	for _, action := range r.actions {
		if action.key == key {
			return action
		}
	}
	return nil
}

// pending counts the items that have a due time or are acted on.
func (r *reference) pending() int {
	n := 0
	for _, item := range r.items {
		if !item.idle || r.acting(item.key) != nil {
			n++
		}
	}
	return n
}

func (r *reference) keep(key int, value work) bool {
	if r.find(key) != nil {
		return false
	}
	r.items = append(r.items, &refItem{key: key, value: value, idle: true})
	return true
}

func (r *reference) add(key int, value work, due time.Time) bool {
	isNew := r.keep(key, value)
	if isNew {
		r.reschedule(key, due)
	}
	return isNew
}

func (r *reference) remove(key int) bool {
	item := r.find(key)
	r.drop(item)
	return item != nil
}

func (r *reference) drop(gone *refItem) {
	r.items = slices.DeleteFunc(r.items, func(item *refItem) bool { return item == gone })
}

func (r *reference) setValue(key int, value work) bool {
	item := r.find(key)
	if item == nil {
		return false
	}
	for _, b := range r.budgets {
		if b.of != nil && b.of(item.value) != b.of(value) {
			r.inherit(b, b.of(value), b.of(item.value))
		}
	}
	item.value = value
	return true
}

func (r *reference) reschedule(key int, due time.Time) bool {
	item := r.find(key)
	if item == nil {
		return false
	}
	if item.number == 0 {
		item.number = r.nextNumber()
	}
	item.due, item.idle = due, false
	r.overtake(item)
	return true
}

func (r *reference) unschedule(key int) {
	item := r.find(key)
	if item == nil {
		return
	}
	item.idle, item.attempts, item.number = true, 0, 0
	r.overtake(item)
}

// overtake makes the result of the action on an item irrelevant.
func (r *reference) overtake(item *refItem) {
	if action := r.acting(item.key); action != nil && action.of == item {
		action.overtaken = true
	}
}

// waiting returns the items that are due and not acted on, in order.
func (r *reference) waiting() []*refItem {
	var waiting []*refItem
	for _, item := range r.items {
		if !item.idle && !item.due.After(r.now) && r.acting(item.key) == nil {
			waiting = append(waiting, item)
		}
	}
	slices.SortFunc(waiting, func(a, b *refItem) int {
		switch {
		case !a.due.Equal(b.due):
			return a.due.Compare(b.due)
		case r.ranked && a.value.rank != b.value.rank:
			return a.value.rank - b.value.rank
		}
		return a.number - b.number
	})
	return waiting
}

// startable returns those of the waiting items for which each budget has a
// token.
func (r *reference) startable() []*refItem {
	return slices.DeleteFunc(r.waiting(), func(item *refItem) bool {
		return slices.ContainsFunc(r.budgets, func(b *refBudget) bool { return !r.hasToken(b, item) })
	})
}

// next returns the earliest time at which something can start.
func (r *reference) next() (time.Time, bool) {
	var earliest time.Time
	found := false
	for _, item := range r.items {
		if item.idle || r.acting(item.key) != nil {
			continue
		}
		when, ok := r.when(item)
		if ok && (!found || when.Before(earliest)) {
			earliest, found = when, true
		}
	}
	return earliest, found
}

// when returns the earliest time at which an item can start.
func (r *reference) when(item *refItem) (time.Time, bool) {
	when := item.due
	for _, b := range r.budgets {
		wait, ok := r.wait(b, b.nameOf(item.value))
		if !ok {
			return time.Time{}, false
		}
		if at := r.now.Add(wait); wait > 0 && at.After(when) {
			when = at
		}
	}
	return when, true
}

func (r *reference) start(item *refItem, got Item[int, work]) {
	action := &refAction{key: item.key, of: item, started: got}
	for _, b := range r.budgets {
		action.spent = append(action.spent, r.take(b, b.nameOf(item.value)))
	}
	r.actions = append(r.actions, action)
}

func (r *reference) finish(started Item[int, work], result Result) {
	i := slices.IndexFunc(r.actions, func(action *refAction) bool { return action.started == started })
	if i < 0 {
		return
	}
	action := r.actions[i]
	r.actions = slices.Delete(r.actions, i, i+1)
	if result.Outcome == OutcomeSkipped || result.Outcome == OutcomePostponed {
		for _, spent := range action.spent {
			spent.forget()
		}
	}
	if slices.Contains(r.items, action.of) && !action.overtaken {
		r.conclude(action.of, result)
	}
}

func (r *reference) conclude(item *refItem, result Result) {
	switch result.Outcome {
	case OutcomeDone, OutcomeSkipped:
		r.drop(item)
	case OutcomeRequeued, OutcomePostponed:
		if result.Outcome == OutcomeRequeued {
			item.attempts = 0
		}
		item.due, item.idle = result.At, result.At.IsZero()
	default:
		item.due = r.now.Add(r.retryAfter(item, result))
		item.attempts++
	}
}

func (r *reference) retryAfter(item *refItem, result Result) time.Duration {
	if result.RetryAfter > 0 {
		return result.RetryAfter
	}
	wait := r.backoff.Initial
	for range item.attempts {
		wait = min(2*wait, r.backoff.Max)
	}
	return wait
}

// near reports whether a time is one that a queue does not round.
func near(t time.Time) bool {
	return t.Sub(epoch).Abs() < 200*365*24*time.Hour
}
