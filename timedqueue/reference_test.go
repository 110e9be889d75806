package timedqueue

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// A reference does what a Group promises, slowly and plainly: one slice of
// items and one of actions, each searched from its beginning, and tokens counted
// in whole units. It shares no code with the package. A Queue is a reference
// with one queue.
//
// The order in which several queues that could start something are asked is not
// promised, so the reference takes the tested group's choice and says whether it
// was one of those allowed.
type reference struct {
	backoff Backoff
	limit   rate.Limit // of a queue that is new
	burst   int
	now     time.Time
	added   int // items so far
	items   []*refItem
	actions []*refAction
	queues  []*refQueue
}

type refItem struct {
	number     int // by insertion
	key, value int
	due        time.Time
	tries      int
	queue      *refQueue
}

type refAction struct {
	key     int
	of      *refItem // that it was started for; it may have gone
	moot    bool     // its result no longer matters to the item, which was rescheduled
	payer   *refQueue
	spent   *refTurn // nil if it spent no token
	started Item[int, int]
}

type refQueue struct {
	name    int
	limit   rate.Limit
	tokens  int64 // of refToken units
	log     []*refTurn
	retired bool
}

// refTurn is when the limit of a queue was set, or a token taken.
type refTurn struct {
	at    time.Time
	limit rate.Limit // from then on
	taken int64      // refToken or zero
}

// refToken is how many units are one token: a limit of 0.1 earns one unit a
// nanosecond, and the limits that are used are multiples of that.
const refToken = int64(10 * time.Second)

func (r *reference) advance(now time.Time) {
	if r.now.Before(now) {
		r.now = now
	}
}

// earn brings a queue's tokens up to now, by going through all that has happened.
func (r *reference) earn(q *refQueue) {
	q.tokens = int64(r.burst) * refToken
	for i, turn := range q.log {
		q.tokens -= turn.taken
		until := r.now
		if i+1 < len(q.log) {
			until = q.log[i+1].at
		}
		q.tokens = r.earned(q.tokens, turn.limit, until.Sub(turn.at))
	}
}

func (r *reference) earned(tokens int64, limit rate.Limit, elapsed time.Duration) int64 {
	full := int64(r.burst) * refToken
	if limit == rate.Inf {
		if elapsed > 0 {
			return full
		}
		return tokens
	}
	units := int64(float64(limit)*10 + 0.5)
	if units > 0 && int64(elapsed) > full/units {
		return full
	}
	return min(tokens+units*int64(elapsed), full)
}

// turn notes what happens to a queue's tokens.
func (r *reference) turn(q *refQueue, taken int64) *refTurn {
	turn := &refTurn{r.now, q.limit, taken}
	q.log = append(q.log, turn)
	return turn
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

// named returns the queue of that name, which now is there if it was not.
func (r *reference) named(name int) *refQueue {
	for _, q := range r.queues {
		if q.name == name {
			q.retired = false
			return q
		}
	}
	q := &refQueue{name: name, limit: r.limit}
	r.turn(q, 0)
	r.queues = append(r.queues, q)
	return q
}

// used reports whether a queue holds something: a key, or an action that will
// come back to it.
func (r *reference) used(q *refQueue) bool {
	return slices.ContainsFunc(r.items, func(item *refItem) bool { return item.queue == q }) ||
		slices.ContainsFunc(r.actions, func(action *refAction) bool { return action.payer == q })
}

func (r *reference) sweep() {
	r.queues = slices.DeleteFunc(r.queues, func(q *refQueue) bool { return q.retired && !r.used(q) })
}

func (r *reference) add(queue, key, value int, due time.Time) bool {
	if r.find(key) != nil {
		return false
	}
	r.added++
	r.items = append(r.items, &refItem{number: r.added, key: key, value: value, due: due, queue: r.named(queue)})
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

func (r *reference) refresh(key, value int) bool {
	item := r.find(key)
	if item != nil {
		item.value = value
	}
	return item != nil
}

func (r *reference) reschedule(key int, due time.Time) bool {
	item := r.find(key)
	if item == nil {
		return false
	}
	item.due = due
	if action := r.acting(key); action != nil && action.of == item {
		action.moot = true
	}
	return true
}

func (r *reference) move(key, queue int) bool {
	item := r.find(key)
	if item == nil {
		return false
	}
	item.queue = r.named(queue)
	return true
}

func (r *reference) retire(name int) {
	for _, q := range r.queues {
		if q.name == name {
			q.retired = true
		}
	}
}

func (r *reference) setLimit(now time.Time, queue int, limit rate.Limit) {
	r.advance(now)
	q := r.named(queue)
	q.limit = limit
	r.turn(q, 0)
}

// first returns a queue's first item of those that do not wait for an action.
func (r *reference) first(q *refQueue) *refItem {
	var first *refItem
	for _, item := range r.items {
		if item.queue != q || r.acting(item.key) != nil {
			continue
		}
		if first == nil || item.due.Before(first.due) || item.due.Equal(first.due) && item.number < first.number {
			first = item
		}
	}
	return first
}

// when returns when a queue can start something; false means not by itself.
func (r *reference) when(q *refQueue) (time.Time, bool) {
	first := r.first(q)
	if first == nil || q.limit == 0 {
		return time.Time{}, false
	}
	r.earn(q)
	if q.limit == rate.Inf || q.tokens >= refToken {
		return first.due, true
	}
	units := int64(float64(q.limit)*10 + 0.5)
	at := r.now.Add(time.Duration((refToken - q.tokens + units - 1) / units))
	if at.Before(first.due) {
		at = first.due
	}
	return at, true
}

// next returns the earliest when of all queues.
func (r *reference) next(now time.Time) (time.Time, bool) {
	r.advance(now)
	var earliest time.Time
	found := false
	for _, q := range r.queues {
		if at, ok := r.when(q); ok && (!found || at.Before(earliest)) {
			earliest, found = at, true
		}
	}
	return earliest, found
}

// start follows what the tested group has started, and tells what was wrong.
func (r *reference) start(now time.Time, got Item[int, int], ok bool) error {
	r.advance(now)
	var could []*refItem
	unlimited := true
	for _, q := range r.queues {
		if at, can := r.when(q); can && !at.After(r.now) {
			could = append(could, r.first(q))
		}
		unlimited = unlimited && q.limit == rate.Inf
	}
	if !ok || len(could) == 0 {
		if ok || len(could) > 0 {
			return fmt.Errorf("started %v (key %d), but %d queues could start something", ok, got.Key, len(could))
		}
		return nil
	}
	item := r.find(got.Key)
	if item == nil || !slices.Contains(could, item) {
		return fmt.Errorf("started key %d, which was not the first of a queue that could start", got.Key)
	}
	if unlimited && slices.ContainsFunc(could, func(o *refItem) bool {
		return o.due.Before(item.due) || o.due.Equal(item.due) && o.number < item.number
	}) {
		return fmt.Errorf("started key %d before another that comes first, and no queue has a limit", got.Key)
	}
	if got.Value != item.value || got.Tries != item.tries || near(item.due) && !got.Due.Equal(item.due) {
		return fmt.Errorf("started %+v, want %+v", got, *item)
	}
	action := &refAction{key: item.key, of: item, payer: item.queue, started: got}
	if item.queue.limit != rate.Inf {
		action.spent = r.turn(item.queue, refToken)
	}
	r.actions = append(r.actions, action)
	return nil
}

func (r *reference) finish(now time.Time, started Item[int, int], result Result) {
	i := slices.IndexFunc(r.actions, func(action *refAction) bool { return action.started == started })
	if i < 0 {
		return
	}
	r.advance(now)
	action := r.actions[i]
	r.actions = slices.Delete(r.actions, i, i+1)
	if result.Outcome == Nothing && action.spent != nil { // as if it had never been taken
		payer := action.payer
		payer.log = slices.DeleteFunc(payer.log, func(turn *refTurn) bool { return turn == action.spent })
	}
	item := action.of
	if !slices.Contains(r.items, item) || action.moot {
		return
	}
	if result.Outcome != Failed {
		r.drop(item)
		return
	}
	wait := result.Wait
	if wait <= 0 {
		wait = r.backoff.First
		for range item.tries {
			wait = min(2*wait, r.backoff.Max)
		}
	}
	item.tries++
	item.due = r.now.Add(wait)
}

// near reports whether a time is one that a queue does not round.
func near(t time.Time) bool {
	return t.Sub(epoch).Abs() < 200*365*24*time.Hour
}
