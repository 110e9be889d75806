package timedqueue

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// tell passes the time to both.
func (w *walk) tell() {
	w.want.advance(w.now)
	w.queue.Advance(w.now)
}

func (w *walk) passTime(operation int) {
	switch operation {
	case 27, 28: // to the next thing
		w.want.advance(w.now)
		next, ok := w.queue.Next(w.now)
		if ok && near(next) && next.After(w.now) {
			w.now = next.Add(time.Millisecond - 1).Truncate(time.Millisecond)
		}
	case 29, 30:
		w.now = w.now.Add(time.Duration(w.choose.IntN(400)) * time.Millisecond)
	default: // backwards, or back from there
		if w.choose.IntN(2) == 0 {
			w.now = w.latest
		} else {
			w.now = w.now.Add(-time.Duration(w.choose.IntN(3000)) * time.Millisecond)
			w.reach("clock set back", true)
		}
	}
	if w.now.After(w.latest) {
		w.latest = w.now
	}
	w.did("now")
}

// startSome starts one item, some, or all that can start.
func (w *walk) startSome() error {
	for range choice(w, 1, 2, 100) {
		if started, err := w.start(); err != nil || !started {
			return err
		}
	}
	return nil
}

func (w *walk) start() (bool, error) {
	kind := ""
	if len(w.kinds) > 0 && w.choose.IntN(2) == 0 {
		kind = choice(w, w.kinds...)
	}
	return w.startOf(kind)
}

// startOf starts an item of a kind, or of any for the empty one.
func (w *walk) startOf(kind string) (bool, error) {
	w.want.advance(w.now)
	source := Source[Item[int, work]](w.queue)
	if kind != "" {
		source = w.queue.OfKind(kind)
	}
	next, some := source.Next(w.now)
	item, ok := source.Start(w.now)
	w.did("Start of %q: %d, %v", kind, item.Key, ok)
	w.want.started = true
	if ok && (!some || next.After(w.latest)) {
		return ok, fmt.Errorf("started key %d, and Next was %v, %v", item.Key, next, some)
	}
	if err := w.followShares(); err != nil {
		return ok, err
	}
	could := w.startable(kind)
	if err := w.sameLimits(); err != nil {
		return ok, err
	}
	if !ok {
		w.reach("no token", len(w.want.waiting()) > 0)
		w.countSlots()
		return false, same("the number of items that could start", 0, len(w.startable(kind)))
	}
	w.reach("started by kind", kind != "")
	w.open = append(w.open, item)
	if !slices.ContainsFunc(could, func(o *refItem) bool { return o.key == item.Key }) {
		could = w.startable(kind)
	}
	i := slices.IndexFunc(could, func(o *refItem) bool { return o.key == item.Key })
	if i < 0 {
		return true, fmt.Errorf("started key %d, which could not start", item.Key)
	}
	if i > 0 {
		return true, fmt.Errorf("started key %d before key %d, which comes first",
			item.Key, could[0].key)
	}
	want := could[i]
	if item.Value != want.value || item.Attempts != want.attempts || near(want.due()) &&
		!item.Due.Equal(want.due()) {
		return true, fmt.Errorf("started %+v, want %+v", item, *want)
	}
	w.countOrder(want, could)
	w.want.start(want, item)
	return true, w.follow()
}

// startable returns what could start of a kind, or of any for the empty one.
func (w *walk) startable(kind string) []*refItem {
	isOther := !slices.Contains([]string{"", "a", "b"}, kind)
	return slices.DeleteFunc(w.want.startable(), func(o *refItem) bool {
		if isOther {
			return o.value.kind == "a" || o.value.kind == "b"
		}
		return kind != "" && o.value.kind != kind
	})
}

func (w *walk) countOrder(started *refItem, could []*refItem) {
	w.reach("Start", true)
	w.reach("overtaken for want of a token", w.want.waiting()[0] != started)
	w.countHolder(started)
	for _, o := range could {
		if o == started || !o.due().Equal(started.due()) {
			continue
		}
		ranks := w.want.ranked && o.value.rank != started.value.rank
		w.reach("started by rank", ranks)
		w.reach("started by insertion", !ranks)
	}
}

// countHolder counts items that start although no slot is free, since their
// holder acts.
func (w *walk) countHolder(started *refItem) {
	for _, b := range w.want.budgets {
		holders := w.want.holders(b, started.value)
		joined := b.holderOf != nil && b.most > 0 && len(holders) >= b.most
		w.reach("joined its holder", joined)
	}
}

// countSlots counts items that wait only for a slot.
func (w *walk) countSlots() {
	for _, item := range w.want.waiting() {
		only, lacks := true, false
		for _, b := range w.want.budgets {
			without := *b
			without.most = 0
			only = only && w.want.hasToken(&without, item)
			lacks = lacks || !w.want.hasSlot(b, item.value)
		}
		w.reach("no slot", only && lacks)
	}
}

var walkOutcomes = append(slices.Clone(allOutcomes), OutcomeDone, OutcomeSkipped, OutcomeFailed)

func (w *walk) result() Result {
	result := Result{Outcome: choice(w, walkOutcomes...)}
	if w.choose.IntN(4) == 0 {
		result.RetryAfter = time.Duration(w.choose.IntN(20)-3) * 50 * time.Millisecond
	}
	if w.choose.IntN(3) > 0 {
		result.At = w.due()
	}
	result.Idle = result.At.IsZero() != (w.choose.IntN(6) == 0)
	if w.choose.IntN(6) == 0 {
		result.Err = errTest
	}
	return result
}

func (w *walk) finish() {
	result := w.result()
	if len(w.ended) > 0 && w.choose.IntN(4) == 0 { // once more, or late
		item := choice(w, w.ended...)
		w.did("late Finish(%d, %v)", item.Key, result)
		w.queue.Finish(w.now, item, result)
		w.tell() // it may have told the time or not
		w.reach("late Finish", true)
		return
	}
	if len(w.open) == 0 {
		return
	}
	i := w.choose.IntN(len(w.open))
	item := w.open[i]
	w.did("Finish(%d, %v)", item.Key, result)
	w.open = slices.Delete(w.open, i, i+1)
	w.ended = append(w.ended, item)
	w.queue.Finish(w.now, item, result)
	w.want.advance(w.now)
	action := w.want.acting(item.Key)
	w.reach("failed after a call said when", action.overtaken && !action.of.idle &&
		refOutcome(result) == OutcomeFailed && slices.Contains(w.want.items, action.of))
	w.want.finish(item, result)
	w.countFinish(result)
}

func (w *walk) countFinish(result Result) {
	outcome := refOutcome(result)
	w.reach("Finish "+string(result.Outcome), result.Outcome == outcome)
	w.reach("no outcome", result.Outcome == "" || result.Outcome == "Unknown")
	w.reach("RetryAfter", result.RetryAfter > 0 && outcome == OutcomeFailed)
	w.reach("Err", result.Err != nil && result.Outcome != outcome)
	at := result.Outcome == OutcomeContinued || result.Outcome == OutcomePostponed
	w.reach("At", at && at == (outcome != OutcomeFailed) && !result.At.IsZero())
	w.reach("Idle", at && outcome != OutcomeFailed && result.Idle)
	w.reach("no At", at && result.At.IsZero() && !result.Idle)
	w.reach("At and Idle", at && !result.At.IsZero() && result.Idle)
}

// sleep acts as a dispatcher until something starts: it calls Start again when
// Next says so. It must neither oversleep nor wake often.
func (w *walk) sleep() error {
	w.now = w.latest
	for range walkKeys*(len(w.want.budgets)+1) + len(walkZones)*len(walkTeams) {
		if started, err := w.startOf(""); err != nil || started {
			w.reach("slept", started)
			return err
		}
		due, some := w.want.next()
		next, ok := w.queue.Next(w.now)
		switch {
		case !ok:
			return same("whether something can start after an endless sleep", some, false)
		case !next.After(w.now):
			return fmt.Errorf("Next is %v, but nothing can start", next.Sub(epoch))
		case some && next.After(due.Add(10*time.Nanosecond)):
			return fmt.Errorf("Next is %v, want %v", next.Sub(epoch), due.Sub(epoch))
		case !near(next):
			return nil
		}
		w.now = next.Add(time.Millisecond - 1).Truncate(time.Millisecond)
		w.latest = w.now
		w.did("slept")
	}
	return fmt.Errorf("it wakes again and again, and starts nothing")
}

// follow takes the queue's choice of when a share is created and dropped.
func (w *walk) follow() error {
	if err := w.followShares(); err != nil {
		return err
	}
	return w.sameLimits()
}

func (w *walk) followShares() error {
	for _, b := range w.want.budgets {
		shares := w.queue.limits.budget(b.name).shares
		for _, s := range slices.Clone(b.shares) {
			if err := w.followDropped(b, s, shares[s.name]); err != nil {
				return err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(shares)) {
			if b.find(name) != nil {
				continue
			}
			asked := slices.ContainsFunc(w.want.waiting(),
				func(item *refItem) bool { return b.nameOf(item.value) == name })
			if !asked {
				return fmt.Errorf("share %s of %s is there, but no due item has it", name, b.name)
			}
			w.want.share(b, name).seen = shares[name]
		}
	}
	return nil
}

func (w *walk) followDropped(b *refBudget, s *refShare, seen *share[int, work]) error {
	if s.seen == nil || s.empty && seen != nil { // it may have been dropped right before
		s.seen = seen
	}
	s.empty = false
	if seen != nil && s.seen == seen {
		return nil
	}
	full := w.want.tokens(s) >= s.burst
	if s.own || w.want.acts(s) || !full && s.limit > 0 || b.of == nil {
		return fmt.Errorf("share %s of %s was dropped, but not unused", s.name, b.name)
	}
	w.reach("swept", true)
	w.reach("swept while it was held", !full)
	b.forget(s)
	return nil
}

// sameLimits compares the limits of all shares.
func (w *walk) sameLimits() error {
	for _, b := range w.want.budgets {
		for _, s := range b.shares {
			limit, _ := w.queue.Limit(b.name, s.name)
			if err := same("limit of "+s.name, limit, s.limit); err != nil {
				return err
			}
			w.reach("kept its own limit", s.own)
		}
	}
	return nil
}
