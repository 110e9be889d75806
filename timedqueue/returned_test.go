package timedqueue

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// Any number of returned tokens are as if never taken: the tokens at hand are
// those of a replay without them.
func TestQ3ManyReturnedTokensAreAsIfNeverTaken(t *testing.T) {
	for seed := range uint64(20) {
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
	}
}

// Long actions end in any order and in any way.
func TestQ3TokensThatAreOutForLongAreAsIfNeverTaken(t *testing.T) {
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
	b := &r.queue.gates[0].shares[""].bucket
	b.earn(r.queue.now)
	want := float64(r.want.tokens(r.share)) / float64(refToken)
	if diff := b.tokens - want; diff > 1e-6 || diff < -1e-6 {
		require.Failf(r, "tokens", "%v at hand, want %v", b.tokens, want)
	}
}

// A token from a share that was merged into another since is returned to
// neither.
func TestQ3TokenThatComesBackAfterAMergeRaisesNothing(t *testing.T) {
	q := newZones(t, perZone(0.1, 1))
	for _, key := range []string{"a1", "a2", "a3"} {
		q.Add(key, in("a"), at(0))
	}
	q.Add("b1", in("b"), seconds(10))
	out := mustStart(t, q, at(0), "a1")
	q.InheritShare(at(0), "zone", "b", "a")
	for _, key := range []string{"a2", "a3"} {
		q.SetValue(key, in("held"))
	}
	q.SetLimit(at(0), "zone", "held", 0)
	q.Finish(seconds(10), mustStart(t, q, seconds(10), "b1"), done)
	q.RemoveShare(seconds(10), "zone", "b")
	q.Finish(seconds(10), out, skipped)
	q.SetValue("a2", in("a"))
	mustHold(t, q, seconds(19.999)) // b1 has used what there was
	mustStart(t, q, seconds(20), "a2")
}
