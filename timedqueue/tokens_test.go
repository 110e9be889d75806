package timedqueue

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// demand.md, timedqueue: upstream calls TryAccept before it checks ProcessAt,
// so a poll of a queue with nothing due spends a token.
func TestQ3NothingDueSpendsNoToken(t *testing.T) {
	q := newTestQueue(t, limited(0.1, 0))
	for i := range 100 {
		mustHold(t, q, at(time.Duration(i)*time.Millisecond)) // empty
	}
	q.Add("a", 0, at(time.Second))
	q.Add("b", 0, at(time.Second))
	for i := range 900 {
		mustHold(t, q, at(time.Duration(i)*time.Millisecond)) // nothing due
	}
	mustStart(t, q, at(time.Second), "a")
	mustHold(t, q, at(10*time.Second))
	mustStart(t, q, at(11*time.Second), "b")
}

// demand.md, timedqueue: in upstream a node that is gone or ready again costs a
// token, ten seconds at the default rate.
func TestQ3SkippedReturnsTheToken(t *testing.T) {
	q := newTestQueue(t, limited(0.1, 0))
	for _, key := range []string{"gone", "ready", "failing", "next"} {
		q.Add(key, 0, at(0))
	}
	for _, key := range []string{"gone", "ready"} {
		item := mustStart(t, q, at(0), key)
		mustHold(t, q, at(0))
		q.Finish(at(0), item, Result{Outcome: OutcomeSkipped})
	}
	require.Equal(t, 2, q.Len(), "what had nothing to do has left the queue")
	mustStart(t, q, at(0), "failing")
	mustHold(t, q, at(9*time.Second))
	mustStart(t, q, at(10*time.Second), "next")
}

func TestQ3DoneReturnsNothing(t *testing.T) {
	q := newTestQueue(t, limited(1, 0))
	q.Add("a", 0, at(0))
	q.Add("b", 0, at(0))
	q.Finish(at(0), mustStart(t, q, at(0), "a"), Result{Outcome: OutcomeDone})
	mustHold(t, q, at(999*time.Millisecond))
	mustStart(t, q, at(time.Second), "b")
}

// A bucket holds its burst and no more, also while the token that would come
// next has been earned in part.
func TestQ3ReturnedTokensNeverExceedBurst(t *testing.T) {
	for _, test := range []struct {
		name  string
		burst int
		after time.Duration // from the start of the actions that do nothing to their end
		early int           // how many may start then
		next  time.Duration // when one more may
	}{
		{"at once", 1, 0, 1, time.Second},
		{"a token is nearly earned again", 1, 900 * time.Millisecond, 1, 1900 * time.Millisecond},
		{"it is earned again", 1, time.Second, 1, 2 * time.Second},
		{"all are earned again", 3, time.Hour, 3, time.Hour + time.Second},
		{"half are earned again", 4, 2500 * time.Millisecond, 4, 3500 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := newTestQueue(t, limited(1, test.burst))
			keys := []string{"a", "b", "c", "d"}[:test.burst]
			var items []Item[string, int]
			for _, key := range keys {
				q.Add(key, 0, at(0))
				items = append(items, mustStart(t, q, at(0), key))
			}
			for _, item := range items {
				q.Finish(at(test.after), item, Result{Outcome: OutcomeSkipped})
			}
			for i := range 10 {
				q.Add(string(rune('0'+i)), 0, at(0))
			}
			require.Len(t, startAll(q, at(test.after)), test.early)
			mustHold(t, q, at(test.next-time.Millisecond))
			require.Len(t, startAll(q, at(test.next)), 1)
		})
	}
}

// It is added again like any other, though another one was earned meanwhile:
// what was acting when a stretch began counts on top of the burst.
func TestQ3TokenThatComesBackLateIsAddedUpToTheBurst(t *testing.T) {
	q := newTestQueue(t, limited(0.1, 0))
	for _, key := range []string{"a", "b", "c", "d"} {
		q.Add(key, 0, at(0))
	}
	a := mustStart(t, q, at(0), "a")
	b := mustStart(t, q, at(10*time.Second), "b")
	q.Finish(at(10*time.Second), a, Result{Outcome: OutcomeSkipped})
	mustStart(t, q, at(10*time.Second), "c")
	q.Finish(at(20*time.Second), b, Result{Outcome: OutcomeSkipped})
	mustStart(t, q, at(20*time.Second), "d")
	q.Add("e", 0, at(0))
	mustHold(t, q, at(29999*time.Millisecond)) // the burst is one
	mustStart(t, q, at(30*time.Second), "e")
}

// An action that was started without a limit spent no token and has none to
// return.
func TestQ3SkippedReturnsNoTokenThatItDidNotSpend(t *testing.T) {
	q := newTestQueue(t, limited(1, 2))
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		q.Add(key, 0, at(0))
	}
	setLimit(q, at(0), rate.Inf)
	a, b := mustStart(t, q, at(0), "a"), mustStart(t, q, at(0), "b")
	setLimit(q, at(0), 1)
	c := mustStart(t, q, at(0), "c")
	mustStart(t, q, at(0), "d")
	mustHold(t, q, at(0))
	q.Finish(at(0), a, Result{Outcome: OutcomeSkipped})
	q.Finish(at(0), b, Result{Outcome: OutcomeSkipped})
	mustHold(t, q, at(0))
	q.Finish(at(0), c, Result{Outcome: OutcomeSkipped})
	mustStart(t, q, at(0), "e")
	mustHold(t, q, at(999*time.Millisecond))
}

func TestQ3FailureSpends(t *testing.T) {
	q := newTestQueue(t, limited(0.1, 0))
	q.Add("a", 0, at(0))
	q.Add("b", 0, at(0))
	q.Finish(at(0), mustStart(t, q, at(0), "a"), Result{Outcome: OutcomeFailed})
	require.Equal(t, 2, q.Len())
	mustHold(t, q, at(9999*time.Millisecond))
	mustStart(t, q, at(10*time.Second), "b")
	mustHold(t, q, at(19*time.Second))
	mustStart(t, q, at(20*time.Second), "a")
}

// The result for a removed key no longer matters, except for its tokens.
func TestQ3SkippedReturnsTheTokenAlsoAfterRemove(t *testing.T) {
	q := newTestQueue(t, limited(0.1, 0))
	q.Add("a", 0, at(0))
	q.Add("b", 0, at(0))
	item := mustStart(t, q, at(0), "a")
	q.Remove("a")
	q.Finish(at(0), item, Result{Outcome: OutcomeSkipped})
	mustStart(t, q, at(0), "b")
}

func TestQ3RateHoldsOverTime(t *testing.T) {
	q := newTestQueue(t, limited(10, 5))
	for i := range 1000 {
		q.Add(string(rune('a'))+time.Duration(i).String(), 0, at(0))
	}
	started := 0
	for now := time.Duration(0); now <= 20*time.Second; now += 7 * time.Millisecond {
		started += len(startAll(q, at(now)))
		require.LessOrEqual(t, float64(started), 5+10*now.Seconds()+1e-6)
		require.Greater(t, float64(started), 4+10*now.Seconds()-1e-6)
	}
}

// Any number of tokens may come back. Those at hand are those of a replay in
// whole units.
func TestQ3ManyReturnedTokensAreAtHandAgain(t *testing.T) {
	for seed := range uint64(sized(5, 20)) {
		random := rand.New(rand.NewPCG(seed, 3))
		r := newReturns(t, 1000, 10)
		for r.start() {
			r.mayReturn = append(r.mayReturn, r.open...)
			r.open = nil
		}
		require.Len(t, r.mayReturn, 1000)
		random.Shuffle(len(r.mayReturn), func(i, j int) {
			r.mayReturn[i], r.mayReturn[j] = r.mayReturn[j], r.mayReturn[i]
		})
		for len(r.mayReturn) > 0 {
			r.finish(r.mayReturn[0], skipped)
			r.mayReturn = r.mayReturn[1:]
			for range random.IntN(3) {
				r.start()
			}
			if random.IntN(3) == 0 {
				r.pass(time.Duration(random.IntN(200)) * time.Millisecond)
			}
			if random.IntN(20) == 0 && len(r.open) > 0 {
				r.finish(r.open[0], done)
				r.open = r.open[1:]
			}
		}
		r.check()
		r.pass(time.Hour)
		r.check()
		require.LessOrEqual(t, r.want.budgets[0].historyOf("").excess(1000), int64(0))
	}
}

// Long actions end in any order and in any way.
func TestQ3TokensThatAreOutForLongComeBack(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 4))
		r := newReturns(t, 1+random.IntN(30), walkLimits[1+random.IntN(6)])
		for range 1500 {
			switch random.IntN(4) {
			case 0, 1:
				r.start()
			case 2:
				r.pass(time.Duration(random.IntN(500)) * time.Millisecond)
			default:
				if n := len(r.open); n > 0 && (n > 60 || random.IntN(3) == 0) {
					i := random.IntN(n)
					r.finish(r.open[i], []Result{done, skipped, skipped}[random.IntN(3)])
					r.open[i] = r.open[n-1]
					r.open = r.open[:n-1]
				}
			}
			if random.IntN(10) == 0 {
				r.check()
			}
		}
	}
}

// returns is a queue with one budget and the log of what was taken.
type returns struct {
	*testing.T
	queue     *Queue[int, work]
	want      *reference
	share     *refShare
	now       time.Time
	open      []Item[int, work]
	mayReturn []Item[int, work]
}

func newReturns(t *testing.T, burst int, limit rate.Limit) *returns {
	t.Helper()
	q, err := NewQueue(QueueConfig[int, work]{Budgets: []Budget[int, work]{{Limit: limit,
		Burst: burst}}}, epoch)
	require.NoError(t, err)
	b := &refBudget{limit: limit, burst: burst}
	r := &returns{T: t, queue: q, now: epoch, want: &reference{now: epoch, budgets: []*refBudget{b}}}
	r.share = r.want.share(b, "")
	for key := range 10_000 {
		r.queue.Add(key, work{}, epoch)
	}
	return r
}

// start starts one item, if the replay has a token for it, and only then.
func (r *returns) start() bool {
	item, ok := r.queue.Start(r.now)
	require.Equal(r, r.want.tokens(r.share) >= refToken, ok, "at %v", r.now.Sub(epoch))
	if ok {
		r.open = append(r.open, item)
		r.want.start(&refItem{key: item.Key}, item)
	}
	return ok
}

func (r *returns) finish(item Item[int, work], result Result) {
	r.queue.Finish(r.now, item, result)
	r.want.finish(item, result)
	if result == skipped {
		r.queue.Add(item.Key, work{}, epoch)
	}
}

func (r *returns) pass(d time.Duration) {
	r.now = r.now.Add(d)
	r.want.advance(r.now)
	r.queue.Advance(r.now)
}

func (r *returns) check() {
	b := &r.queue.limits.overall[0].shares[""].bucket
	b.earn(r.queue.clock.now)
	want := float64(r.want.tokens(r.share)) / float64(refToken)
	if diff := b.tokens - want; diff > 1e-6 || diff < -1e-6 {
		require.Failf(r, "tokens", "%v at hand, want %v", b.tokens, want)
	}
}
