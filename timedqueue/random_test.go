package timedqueue

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// Run one seed again: go test -run 'Random' -timedqueue.seed=N
var seedFlag = flag.Uint64("timedqueue.seed", 0, "run only this seed of the random tests")

// subject is what the random tests drive: a Group, or a Queue as a group with
// one queue.
type subject interface {
	Core[Item[int, int], Result]
	Add(queue, key, value int, due time.Time) bool
	Move(key, queue int) bool
	Refresh(key, value int) bool
	Reschedule(key int, due time.Time) bool
	Remove(key int) bool
	Get(key int) (Item[int, int], int, bool)
	Len() int
	LenOf(queue int) int
	SetLimit(now time.Time, queue int, limit rate.Limit)
	Retire(queue int)
}

// queueSubject is a Queue as a subject.
type queueSubject struct{ *Queue[int, int] }

func (q queueSubject) Add(_, key, value int, due time.Time) bool { return q.Queue.Add(key, value, due) }

func (q queueSubject) Get(key int) (Item[int, int], int, bool) {
	item, ok := q.Queue.Get(key)
	return item, 0, ok
}

func (q queueSubject) SetLimit(now time.Time, _ int, limit rate.Limit) { q.Queue.SetLimit(now, limit) }
func (q queueSubject) LenOf(int) int                                   { return q.Len() }
func (q queueSubject) Move(int, int) bool                              { panic("a queue has no Move") }
func (q queueSubject) Retire(int)                                      { panic("a queue has no Retire") }

// chooser is where a walk takes its choices from: a random generator, or the
// bytes that a fuzzer made.
type chooser interface {
	// IntN returns one of 0 to n-1.
	IntN(n int) int
	// Ended says that there is no choice left.
	Ended() bool
}

type randomChooser struct {
	*rand.Rand
	steps int
}

func (c *randomChooser) Ended() bool { c.steps--; return c.steps < 0 }

// walkLimits are multiples of 0.1 that divide a second into whole milliseconds,
// so that the reference can count in integers.
var walkLimits = []rate.Limit{0, 0.1, 0.5, 1, 2, 10, 100, 1000, rate.Inf}

const walkKeys = 8

// A walk does the same things to a subject and to the reference, and compares
// all that can be seen after each.
type walk struct {
	choose  chooser
	subject subject
	want    *reference
	queues  int
	now     time.Time
	latest  time.Time
	open    []Item[int, int] // started and not finished
	ended   []Item[int, int] // finished, for Finish again
	log     []string
}

func newWalk(choose chooser, grouped, onlyUnlimited bool) (*walk, error) {
	config := Config{
		Limit:   walkLimits[choose.IntN(len(walkLimits))],
		Burst:   1 + choose.IntN(4),
		Backoff: Backoff{First: 100 * time.Millisecond, Max: time.Second},
	}
	if onlyUnlimited {
		config.Limit = rate.Inf
	}
	w := &walk{choose: choose, queues: 1, now: epoch, latest: epoch, want: &reference{
		backoff: config.Backoff, limit: config.Limit, burst: config.Burst, now: epoch,
	}}
	if grouped {
		g, err := NewGroup[int, int, int](config, epoch)
		w.subject, w.queues = g, 4
		return w, err
	}
	w.want.named(0)
	q, err := New[int, int](config, epoch)
	w.subject = queueSubject{q}
	return w, err
}

func (w *walk) did(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%8v ", w.now.Sub(epoch))+fmt.Sprintf(format, args...))
}

// run walks until the choices end; the error says what differed.
func (w *walk) run(onlyUnlimited bool) error {
	for !w.choose.Ended() {
		if err := w.step(onlyUnlimited); err != nil {
			return err
		}
		w.want.sweep()
		if err := w.compare(); err != nil {
			return err
		}
	}
	return w.empty()
}

func (w *walk) step(onlyUnlimited bool) error {
	key, queue, value := w.choose.IntN(walkKeys), w.choose.IntN(w.queues), w.choose.IntN(1000)
	switch operation := w.choose.IntN(20); operation {
	case 0, 1, 2:
		due := w.due()
		w.did("Add(%d, %d, %d, %v)", queue, key, value, due.Sub(epoch))
		return same("Add", w.subject.Add(queue, key, value, due), w.want.add(queue, key, value, due))
	case 3:
		w.did("Remove(%d)", key)
		return same("Remove", w.subject.Remove(key), w.want.remove(key))
	case 4:
		due := w.due()
		w.did("Reschedule(%d, %v)", key, due.Sub(epoch))
		return same("Reschedule", w.subject.Reschedule(key, due), w.want.reschedule(key, due))
	case 5:
		w.did("Refresh(%d, %d)", key, value)
		return same("Refresh", w.subject.Refresh(key, value), w.want.refresh(key, value))
	case 6:
		if onlyUnlimited {
			return nil
		}
		limit := walkLimits[w.choose.IntN(len(walkLimits))]
		w.did("SetLimit(%d, %v)", queue, limit)
		w.subject.SetLimit(w.now, queue, limit)
		w.want.setLimit(w.now, queue, limit)
	case 7, 8:
		if w.queues > 1 {
			w.did("Move(%d, %d)", key, queue)
			return same("Move", w.subject.Move(key, queue), w.want.move(key, queue))
		}
	case 9:
		if w.queues > 1 {
			w.did("Retire(%d)", queue)
			w.subject.Retire(queue)
			w.want.retire(queue)
		}
	case 10, 11, 12, 13:
		return w.start()
	case 14, 15, 16:
		w.finish()
	default:
		w.passTime(operation)
	}
	return nil
}

// due is mostly about now, and sometimes far away.
func (w *walk) due() time.Time {
	switch w.choose.IntN(16) {
	case 0:
		return time.Time{}
	case 1:
		return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	default:
		return w.now.Add(time.Duration(w.choose.IntN(40)-20) * 50 * time.Millisecond)
	}
}

func (w *walk) passTime(operation int) {
	switch operation {
	case 17: // to the next thing
		next, ok := w.tell()
		if ok && near(next) && next.After(w.now) {
			w.now = next.Add(time.Millisecond - 1).Truncate(time.Millisecond)
		}
	case 18:
		w.now = w.now.Add(time.Duration(w.choose.IntN(400)) * time.Millisecond)
	default: // backwards, or back from there
		if w.choose.IntN(2) == 0 {
			w.now = w.latest
		} else {
			w.now = w.now.Add(-time.Duration(w.choose.IntN(3000)) * time.Millisecond)
		}
	}
	if w.now.After(w.latest) {
		w.latest = w.now
	}
	w.did("now")
}

// tell tells both the time and returns the subject's Next.
func (w *walk) tell() (time.Time, bool) {
	w.want.advance(w.now)
	return w.subject.Next(w.now)
}

func (w *walk) start() error {
	item, ok := w.subject.Start(w.now)
	w.did("Start: %d, %v", item.Key, ok)
	if ok {
		w.open = append(w.open, item)
	}
	return w.want.start(w.now, item, ok)
}

func (w *walk) finish() {
	result := Result{Outcome: Outcome(w.choose.IntN(3))}
	if w.choose.IntN(4) == 0 {
		result.Wait = time.Duration(w.choose.IntN(20)) * 50 * time.Millisecond
	}
	if len(w.ended) > 0 && w.choose.IntN(4) == 0 { // once more, or late
		item := w.ended[w.choose.IntN(len(w.ended))]
		w.did("late Finish(%d, %v)", item.Key, result)
		w.subject.Finish(w.now, item, result)
		w.tell() // it may have told the time or not
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
	w.subject.Finish(w.now, item, result)
	w.want.finish(w.now, item, result)
}

func same[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}

func (w *walk) compare() error {
	if err := same("Len", w.subject.Len(), len(w.want.items)); err != nil {
		return err
	}
	for key := range walkKeys {
		if err := w.compareKey(key); err != nil {
			return err
		}
	}
	for queue := range w.queues {
		n := 0
		for _, item := range w.want.items {
			if item.queue.name == queue {
				n++
			}
		}
		if err := same(fmt.Sprintf("LenOf(%d)", queue), w.subject.LenOf(queue), n); err != nil {
			return err
		}
	}
	if w.choose.IntN(3) == 0 { // Next tells the time as well; let it not be told always
		return nil
	}
	return w.compareNext()
}

func (w *walk) compareKey(key int) error {
	got, queue, ok := w.subject.Get(key)
	item := w.want.find(key)
	if !ok || item == nil {
		return same(fmt.Sprintf("Get(%d)", key), ok, item != nil)
	}
	if got.Value != item.value || got.Tries != item.tries || queue != item.queue.name {
		return fmt.Errorf("Get(%d) is %+v in %d, want %+v in %d", key, got, queue, *item, item.queue.name)
	}
	if near(item.due) && !got.Due.Equal(item.due) {
		return fmt.Errorf("Get(%d).Due is %v, want %v", key, got.Due, item.due)
	}
	return nil
}

func (w *walk) compareNext() error {
	got, ok := w.subject.Next(w.now)
	want, wantOK := w.want.next(w.now)
	if !ok || !wantOK {
		return same("whether there is a Next", ok, wantOK)
	}
	// When something can start already, any time that is not after now says so.
	if !got.After(w.want.now) && !want.After(w.want.now) || !near(want) {
		return nil
	}
	if got.Sub(want).Abs() > 10*time.Nanosecond {
		return fmt.Errorf("Next is %v, want %v", got.Sub(epoch), want.Sub(epoch))
	}
	return nil
}

// empty takes everything out and looks for what is left over.
func (w *walk) empty() error {
	for _, item := range w.open {
		w.subject.Finish(w.now, item, Result{})
	}
	for key := range walkKeys {
		w.subject.Remove(key)
	}
	g, grouped := w.subject.(*Group[int, int, int])
	if !grouped {
		q := w.subject.(queueSubject).Queue
		return same("what is left", len(q.entries)+len(q.waiting.places)+q.Len(), 0)
	}
	for queue := range w.queues {
		g.Retire(queue)
	}
	return same("what is left", len(g.home)+len(g.moving)+len(g.lanes)+len(g.ready.places)+g.Len(), 0)
}

func testRandom(t *testing.T, grouped bool) {
	seeds := 2000
	if testing.Short() {
		seeds = 300
	}
	first := rand.Uint64N(1 << 40)
	if *seedFlag != 0 {
		first, seeds = *seedFlag, 1
	}
	for i := range seeds {
		seed := first + uint64(i)
		choose := &randomChooser{rand.New(rand.NewPCG(seed, 7)), 50 + int(seed%200)}
		onlyUnlimited := seed%5 == 0
		w, err := newWalk(choose, grouped, onlyUnlimited)
		if err == nil {
			err = w.run(onlyUnlimited)
		}
		if err != nil {
			for _, line := range w.log[max(0, len(w.log)-60):] {
				t.Log(line)
			}
			t.Fatalf("seed %d (run it again with -timedqueue.seed=%d): %v", seed, seed, err)
		}
	}
}

func TestRandomQueueDoesAsTheReference(t *testing.T) { testRandom(t, false) }

func TestRandomGroupDoesAsTheReference(t *testing.T) { testRandom(t, true) }
