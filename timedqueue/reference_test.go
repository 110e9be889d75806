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
	started bool // Start was called
	serial  int  // the last number
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
	asked    time.Time // when it is due, except for its backoff
	until    time.Time // the end of its backoff, zero if it has none
	idle     bool      // it has no due time
	placed   bool      // it has had a due time, or was filed again
	attempts int
}

func (i *refItem) due() time.Time {
	if i.until.After(i.asked) {
		return i.until
	}
	return i.asked
}

type refAction struct {
	key       int
	of        *refItem // that it was started for; it may be gone
	overtaken bool     // a call has said meanwhile when the item is due
	spent     []refSpent
	returned  []*bool // in the histories of the shares
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
		r.schedule(key, due)
	}
	return isNew
}

func (r *reference) set(key int, value work, due time.Time) bool {
	isNew := r.keep(key, value)
	r.setValue(key, value)
	r.schedule(key, due)
	return isNew
}

func (r *reference) retry(key int) bool {
	item := r.find(key)
	if item == nil || item.until.IsZero() {
		return false
	}
	item.until = time.Time{}
	return true
}

func (r *reference) remove(key int) bool {
	item := r.find(key)
	r.drop(item)
	return item != nil
}

func (r *reference) drop(gone *refItem) {
	r.items = slices.DeleteFunc(r.items, func(item *refItem) bool { return item == gone })
}

// setValue changes the value of an item. If that moves it to another share,
// none of its shares begins with tokens.
func (r *reference) setValue(key int, value work) bool {
	item := r.find(key)
	if item == nil {
		return false
	}
	moves := item.placed && slices.ContainsFunc(r.budgets,
		func(b *refBudget) bool { return b.nameOf(item.value) != b.nameOf(value) })
	item.value, item.placed = value, true
	for _, b := range r.budgets {
		if moves && b.of != nil {
			r.shareWithoutTokens(b, b.of(value))
		}
	}
	return true
}

func (r *reference) schedule(key int, due time.Time) {
	item := r.find(key)
	if item == nil {
		return
	}
	if item.number == 0 {
		item.number = r.nextNumber()
	}
	if due.IsZero() {
		due = r.now
	}
	item.asked, item.idle, item.placed = due, false, true
	r.overtake(item)
}

func (r *reference) unschedule(key int) {
	item := r.find(key)
	if item == nil {
		return
	}
	item.idle, item.attempts, item.number, item.until = true, 0, 0, time.Time{}
	r.overtake(item)
}

// overtake makes the result of the action on an item irrelevant, except for the
// backoff after a failure.
func (r *reference) overtake(item *refItem) {
	if action := r.acting(item.key); action != nil && action.of == item {
		action.overtaken = true
	}
}

// waiting returns the items that are due and not acted on, in order.
func (r *reference) waiting() []*refItem {
	var waiting []*refItem
	for _, item := range r.items {
		if !item.idle && !item.due().After(r.now) && r.acting(item.key) == nil {
			waiting = append(waiting, item)
		}
	}
	slices.SortFunc(waiting, func(a, b *refItem) int {
		switch {
		case !a.due().Equal(b.due()):
			return a.due().Compare(b.due())
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
	when := item.due()
	for _, b := range r.budgets {
		wait, ok := r.wait(b, item.value)
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
		spent := r.take(b, item.value)
		action.spent = append(action.spent, spent)
		if spent.counted {
			action.returned = append(action.returned, b.historyOf(spent.share.name).starts(r.now))
		}
	}
	item.asked, item.until = item.due(), time.Time{}
	r.actions = append(r.actions, action)
}

func (r *reference) finish(started Item[int, work], result Result) {
	i := slices.IndexFunc(r.actions, func(action *refAction) bool { return action.started == started })
	if i < 0 {
		return
	}
	action, outcome := r.actions[i], refOutcome(result)
	returns := outcome == OutcomeSkipped || outcome == OutcomePostponed
	for _, returned := range action.returned {
		*returned = returns
	}
	r.actions = slices.Delete(r.actions, i, i+1)
	for _, spent := range action.spent {
		if returns {
			r.putBack(spent)
		}
		if spent.counted {
			spent.budget.historyOf(spent.share.name).ends(r.now)
		}
	}
	switch {
	case !slices.Contains(r.items, action.of):
	case action.overtaken:
		r.concludeLate(action.of, outcome, result)
	default:
		r.conclude(action.of, outcome, result)
	}
}

// refOutcome is what a result counts as.
func refOutcome(result Result) Outcome {
	broken, forgotten := result.Err != nil, result.At.IsZero() && !result.Idle
	contradicts := !result.At.IsZero() && result.Idle
	switch result.Outcome {
	case OutcomeDone, OutcomeSkipped:
		if !broken {
			return result.Outcome
		}
	case OutcomeContinued:
		if !broken && !forgotten && !contradicts {
			return OutcomeContinued
		}
	case OutcomePostponed:
		if !forgotten && !contradicts {
			return OutcomePostponed
		}
	}
	return OutcomeFailed
}

func (r *reference) conclude(item *refItem, outcome Outcome, result Result) {
	switch outcome {
	case OutcomeDone, OutcomeSkipped:
		r.drop(item)
	case OutcomeContinued, OutcomePostponed:
		if outcome == OutcomeContinued {
			item.attempts = 0
		}
		item.asked, item.idle = result.At, result.Idle
	default:
		item.asked, item.until = r.now, r.now.Add(r.retryAfter(item, result))
		item.attempts++
	}
}

func (r *reference) concludeLate(item *refItem, outcome Outcome, result Result) {
	switch {
	case item.idle || outcome != OutcomeFailed && outcome != OutcomePostponed:
		item.attempts = 0
	case outcome == OutcomeFailed:
		item.until = r.now.Add(r.retryAfter(item, result))
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
