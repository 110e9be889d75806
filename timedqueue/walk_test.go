package timedqueue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// walkLimits are multiples of 0.1 that divide a second into whole milliseconds,
// so that the reference can count in integers.
var walkLimits = []rate.Limit{0, 0.1, 0.5, 1, 2, 10, 100, 1000, rate.Inf}

const walkKeys = 9

var (
	walkZones = []string{"x", "y", "z", "w"}
	walkTeams = []string{"t", "u", "v"}
	walkTasks = []string{"a", "b", "c"}
)

// A walk applies the same operations to a queue and to the reference. After
// each it compares all that a caller can observe.
type walk struct {
	choose  chooser
	queue   *Queue[int, work]
	want    *reference
	now     time.Time
	latest  time.Time
	sweeps  bool              // each step drops the unused shares
	open    []Item[int, work] // started and not finished
	ended   []Item[int, work] // finished, for Finish again
	kinds   []string          // that are started apart, now and then
	handles []walkHandle      // from Keep and Find
	log     []string
	reached map[string]int
}

// A walkHandle is an entry and the item that it was given for.
type walkHandle struct {
	entry *Entry[int, work]
	item  *refItem
}

func newWalk(choose chooser, kind walkKind) (*walk, error) {
	w := &walk{choose: choose, now: epoch, latest: epoch, reached: map[string]int{}}
	config := QueueConfig[int, work]{Backoff: Backoff{Initial: 100 * time.Millisecond,
		Max: time.Second}}
	w.want = &reference{backoff: config.Backoff, now: epoch, ranked: choose.IntN(5) < 3}
	if w.want.ranked {
		config.Less = func(a, b work) bool { return a.rank < b.rank }
	}
	w.sweeps = choose.IntN(2) == 0
	config.Budgets = w.budgets(kind)
	config.KindOf = func(_ int, v work) string { return v.kind }
	shared := slices.ContainsFunc(config.Budgets,
		func(b Budget[int, work]) bool { return b.ShareOf != nil || b.HolderOf != nil })
	if !shared && w.choose.IntN(3) == 0 {
		config.Kinds = []string{"b", "a"}
		w.kinds = []string{"a", "b", "c or another"}
	}
	for _, b := range config.Budgets {
		w.did("budget %q: %v, burst %d, at most %d act", b.Name, b.Limit, b.Burst, b.MaxActing)
		budget := &refBudget{name: b.Name, limit: b.Limit, burst: max(b.Burst, 1), most: b.MaxActing}
		if b.ShareOf != nil {
			budget.of = func(v work) string { return b.ShareOf(0, v) }
		}
		if b.HolderOf != nil {
			budget.holderOf = func(v work) string { return b.HolderOf(0, v) }
		}
		w.want.budgets = append(w.want.budgets, budget)
		if budget.of == nil {
			w.want.share(budget, "")
		}
	}
	q, err := NewQueue(config, epoch)
	w.queue = q
	return w, err
}

func (w *walk) budgets(kind walkKind) []Budget[int, work] {
	if kind == walkUnlimited {
		return nil
	}
	all := []Budget[int, work]{{Name: "overall"}, {Name: "cap"}}
	if kind >= walkShares {
		all = append(all,
			Budget[int, work]{Name: "zone", ShareOf: func(_ int, v work) string { return v.zone }},
			Budget[int, work]{Name: "team", ShareOf: func(_ int, v work) string { return v.team }})
	}
	var budgets []Budget[int, work]
	for _, b := range all {
		if w.choose.IntN(10) < 3 {
			continue
		}
		b.Limit, b.Burst = choice(w, walkLimits...), w.choose.IntN(5)
		b.Held = b.Limit == 0
		if kind == walkSlots {
			b.MaxActing = w.choose.IntN(3)
		}
		if b.MaxActing > 0 {
			b.HolderOf = choice(w, nil,
				func(_ int, v work) string { return v.zone },
				func(_ int, v work) string { return v.team },
				func(_ int, v work) string { return v.kind })
		}
		budgets = append(budgets, b)
	}
	return budgets
}

func choice[T any](w *walk, from ...T) T { return from[w.choose.IntN(len(from))] }

func (w *walk) did(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%8v ", w.now.Sub(epoch))+fmt.Sprintf(format, args...))
}

func (w *walk) reach(what string, really bool) {
	if really {
		w.reached[what]++
	}
}

// run walks until the choices end; the error says what differed.
func (w *walk) run() error {
	for !w.choose.Ended() {
		if w.sweeps {
			w.queue.dropIdle()
		}
		err := w.follow() // a share may be dropped and made again in a step
		if err == nil {
			err = w.step()
		}
		if err == nil {
			err = w.follow()
		}
		if err == nil {
			err = w.compare()
		}
		if err != nil {
			return err
		}
	}
	return w.empty()
}

func (w *walk) step() error {
	key := w.choose.IntN(walkKeys)
	switch operation := w.choose.IntN(32); operation {
	case 0, 1, 2, 3:
		return w.add(key)
	case 4:
		acting := w.want.acting(key)
		w.did("Remove(%d)", key)
		removed := w.queue.Remove(key)
		w.reach("Remove", removed)
		w.reach("Remove of what acts", removed && acting != nil)
		return same("Remove", removed, w.want.remove(key))
	case 5, 6, 7:
		return w.set(key)
	case 8:
		return w.retry(key)
	case 9:
		return w.keep(key)
	case 10, 11, 12:
		return w.useEntry()
	case 13, 14:
		return w.changeShare()
	case 15, 16, 17, 18, 19:
		return w.startSome()
	case 20, 21, 22, 23, 24:
		w.finish()
	case 25, 26:
		return w.sleep()
	default:
		w.passTime(operation)
	}
	return nil
}

func (w *walk) value() work {
	return work{choice(w, walkZones...), choice(w, walkTeams...), choice(w, walkTasks...),
		w.choose.IntN(3)}
}

// due is mostly about now, often the same, and sometimes far away.
func (w *walk) due() time.Time {
	switch w.choose.IntN(16) {
	case 0:
		return choice(w, time.Time{}, time.Time{}, time.Time{}.Add(1))
	case 1:
		return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	case 2, 3, 4:
		return epoch
	default:
		return w.now.Add(time.Duration(w.choose.IntN(40)-20) * 50 * time.Millisecond)
	}
}

func (w *walk) add(key int) error {
	value, due := w.value(), w.due()
	w.did("Add(%d, %v, %v)", key, value, due.Sub(epoch))
	acting := w.want.acting(key)
	added := w.queue.Add(key, value, due)
	w.reach("Add", added)
	w.reach("Add again", !added)
	w.reach("Add of what acts and was removed", added && acting != nil)
	return same("Add", added, w.want.add(key, value, due))
}

func (w *walk) set(key int) error {
	value, due := w.value(), w.due()
	w.did("Set(%d, %v, %v)", key, value, due.Sub(epoch))
	item, acting := w.want.find(key), w.want.acting(key)
	if e, known := w.queue.entries.byKey[key]; known && item != nil {
		w.reach("changed its share while it waited for a token", e.state == ready &&
			value.zone != e.value.zone)
		w.reach("Set", true)
		w.reach("Set of what acts", acting != nil)
		w.reach("Set during a backoff", item.until.After(due) && item.until.After(w.want.now))
	}
	isNew := w.queue.Set(key, value, due)
	w.reach("Set of a new key", isNew)
	return same("Set", isNew, w.want.set(key, value, due))
}

func (w *walk) retry(key int) error {
	w.did("Retry(%d)", key)
	item := w.want.find(key)
	w.reach("Retry", item != nil && item.until.After(w.want.now))
	return same("Retry", w.queue.Retry(key), w.want.retry(key))
}

func (w *walk) keep(key int) error {
	var e *Entry[int, work]
	if w.choose.IntN(2) == 0 {
		found, ok := w.queue.Find(key)
		w.did("Find(%d): %v", key, ok)
		if !ok || w.want.find(key) == nil {
			return same("Find", ok, w.want.find(key) != nil)
		}
		e = found
		w.reach("Find", true)
	} else {
		value := w.value()
		kept, isNew := w.queue.Keep(key, value)
		w.did("Keep(%d, %v): %v", key, value, isNew)
		if want := w.want.keep(key, value); isNew != want {
			return same("Keep", isNew, want)
		}
		e = kept
		w.reach("Keep", isNew)
	}
	w.handles = append(w.handles, walkHandle{e, w.want.find(key)})
	return same("Key", e.Key(), key)
}

// useEntry performs an operation on an entry, which may be stale.
func (w *walk) useEntry() error {
	if len(w.handles) == 0 {
		return nil
	}
	h := choice(w, w.handles...)
	key, there := h.item.key, slices.Contains(w.want.items, h.item)
	if !there && w.queue.entries.byKey[key] == h.entry {
		return nil // the key came back to its place during its action
	}
	w.reach("stale entry", !there)
	acts := there && w.want.acting(key) != nil
	switch w.choose.IntN(4) {
	case 3:
		if !there {
			return nil // the caller may not use it again
		}
		w.did("Release(%d)", key)
		w.queue.Release(h.entry)
		w.want.remove(key)
		w.reach("Release", true)
		w.reach("Release of what acts", acts)
		w.handles = slices.DeleteFunc(w.handles, func(o walkHandle) bool { return o.entry == h.entry })
	case 0:
		due := w.due()
		w.did("Schedule(%d, %v), there: %v", key, due.Sub(epoch), there)
		w.queue.Schedule(h.entry, due)
		if there {
			w.want.schedule(key, due)
			w.reach("Schedule", true)
		}
	case 1:
		w.did("Unschedule(%d), there: %v", key, there)
		w.queue.Unschedule(h.entry)
		if there {
			w.want.unschedule(key)
			w.reach("Unschedule", true)
			w.reach("Unschedule of what acts", acts)
		}
	default:
		value := w.value()
		w.did("Refile(%d, %v), there: %v", key, value, there)
		*h.entry.Value() = value
		w.queue.Refile(h.entry)
		if there {
			w.want.setValue(key, value)
			w.reach("Refile", true)
		}
	}
	return nil
}

func (w *walk) changeShare() error {
	if len(w.want.budgets) == 0 {
		return same("SetLimit", w.queue.SetLimit(w.now, "zone", "x", 1), false)
	}
	b := choice(w, w.want.budgets...)
	names := append(slices.Clone(walkZones), walkTeams...)
	for _, s := range b.shares {
		names = append(names, s.name)
	}
	name := choice(w, names...)
	if w.choose.IntN(2) == 0 {
		return w.setLimit(b, name)
	}
	w.did("RemoveShare(%q, %s)", b.name, name)
	w.queue.RemoveShare(w.now, b.name, name)
	w.tell()
	return w.removedShare(b, name)
}

func (w *walk) setLimit(b *refBudget, name string) error {
	limit := choice(w, walkLimits...)
	w.did("SetLimit(%q, %s, %v)", b.name, name, limit)
	if b.of == nil {
		name = ""
	}
	before, _ := w.queue.Limit(b.name, name)
	w.reach("held", limit == 0 && before != 0)
	w.reach("released", limit != 0 && before == 0)
	ok := w.queue.SetLimit(w.now, b.name, name, limit)
	w.want.advance(w.now)
	w.want.setLimit(b, name, limit)
	return same("SetLimit", ok, true)
}

// removedShare applies RemoveShare. A share in which an item may wait stays.
func (w *walk) removedShare(b *refBudget, name string) error {
	s := b.find(name)
	if s == nil || b.of == nil {
		return nil
	}
	w.reach("RemoveShare", true)
	w.want.removeShare(b, s)
	_, stays := w.queue.limits.budget(b.name).shares[name]
	asNew := s.limit == 0 || w.want.tokens(s) == s.burst
	inUse := slices.ContainsFunc(w.want.waiting(),
		func(item *refItem) bool { return b.of(item.value) == name })
	switch {
	case stays && !w.want.acts(s) && !inUse && asNew:
		return fmt.Errorf("share %s of %s stays after RemoveShare", name, b.name)
	case stays:
	case w.want.acts(s):
		return errors.New("a share was removed that has actions under way")
	case !asNew:
		return errors.New("a share that is not full was removed")
	}
	return nil
}
