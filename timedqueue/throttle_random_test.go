package timedqueue

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// A stretch is the time in which a kind has had a task all along.
type stretch struct {
	granted float64 // tokens since it began, to all kinds
	own     float64 // spent by the tasks of the kind
	ahead   float64 // the most that it was ahead of its part
}

// Random kinds, costs, parts and loads. What is spent is bounded by what was
// earned. Each kind starts tasks with its part of the tokens, and no token
// waits that a task could spend. The expectation is counted from outside, one
// token at a time.
func TestQ12RandomTasksUnderAThrottle(t *testing.T) {
	seeds := sized(100, 3000)
	first := rand.Uint64N(1 << 40)
	if *seedFlag != 0 {
		first, seeds = *seedFlag, 1
	}
	started := 0
	for i := range seeds {
		seed := first + uint64(i)
		w, err := newThrottled(seed)
		for step := 0; err == nil && step < 200; step++ {
			err = w.step()
		}
		if err != nil {
			t.Fatalf("seed %d (run it again with -timedqueue.seed=%d): %v", seed, seed, err)
		}
		started += w.started
	}
	t.Logf("%d tasks were started", started)
	require.True(t, seeds == 1 || started > 20*seeds, "%d tasks were started", started)
}

// A throttledWorld is a throttle under random load.
type throttledWorld struct {
	*rand.Rand
	throttle *Throttle
	kinds    []Kind
	supplies []*tasks
	stretch  []stretch
	now      time.Time
	limit    float64
	burst    int
	granted  float64 // tokens that were taken, and not returned
	open     []Job
	started  int
}

// tasks is a source of so many tasks, each of which is the number of its kind.
type tasks struct{ kind, left int }

func (s *tasks) Next(now time.Time) (time.Time, bool) { return now, s.left > 0 }

func (s *tasks) Start(time.Time) (int, bool) {
	s.left--
	return s.kind, true
}

func newThrottled(seed uint64) (*throttledWorld, error) {
	w := &throttledWorld{Rand: rand.New(rand.NewPCG(seed, 21)), now: epoch}
	w.limit, w.burst = float64(walkLimits[2+w.IntN(5)]), 1+w.IntN(6)
	if w.limit > 1e6 {
		w.limit = 1e6
	}
	free := 1.0
	for kind := range 1 + w.IntN(5) {
		source := &tasks{kind: kind}
		part := 0.0
		if w.IntN(4) > 0 {
			part = free * w.Float64()
			free -= part
		}
		w.supplies = append(w.supplies, source)
		w.kinds = append(w.kinds, Kind{
			Name: fmt.Sprint(kind), Source: jobsOf(source), Reserved: part, Cost: 1 + w.IntN(4),
		})
	}
	w.stretch = make([]stretch, len(w.kinds))
	var err error
	w.throttle, err = NewThrottle(ThrottleConfig{
		Limit: rate.Limit(w.limit), Burst: w.burst, Kinds: w.kinds,
	}, w.now)
	return w, err
}

func (w *throttledWorld) step() error {
	switch w.IntN(4) {
	case 0:
		w.now = w.now.Add(time.Duration(w.Float64() * 4 / w.limit * float64(time.Second)))
	case 1:
		w.supplies[w.IntN(len(w.supplies))].left += w.IntN(5)
	case 2:
		if source := w.supplies[w.IntN(len(w.supplies))]; w.IntN(4) == 0 {
			source.left = 0
		}
	default:
		w.settle()
	}
	for range w.IntN(4) {
		if err := w.start(); err != nil {
			return err
		}
	}
	return nil
}

func (w *throttledWorld) settle() {
	if len(w.open) == 0 {
		return
	}
	i := w.IntN(len(w.open))
	job := w.open[i]
	w.open = append(w.open[:i], w.open[i+1:]...)
	unused := w.IntN(tokensOf(job) + 1)
	end(job, w.now, unused)
	w.granted -= float64(unused)
}

// tokensOf is how many tokens a job was granted.
func tokensOf(j Job) int { return j.task.(*job[int, unspent]).charges[0].tokens }

// savedUp is how many tokens are out of the bucket for tasks to come.
func (w *throttledWorld) savedUp() (all int) {
	for i := range w.throttle.kinds {
		all += w.throttle.kinds[i].tokens
	}
	return all
}

func (w *throttledWorld) start() error {
	has := make([]bool, len(w.kinds))
	before := make([]int, len(w.kinds)) // saved up, by kinds that still have a task
	for kind := range w.kinds {
		saved := w.throttle.kinds[kind].tokens
		if has[kind] = w.supplies[kind].left > 0; has[kind] {
			before[kind] = saved
		} else if saved > 0 { // it is returned, and what comes begins again
			w.stretch[kind] = stretch{}
		}
	}
	started, ok := w.throttle.Start(w.now)
	task, spends := 0, 0
	if ok {
		task, spends = started.Task().(int), tokensOf(started)
	}
	tokens := 0 // granted in this Start
	for kind := range w.kinds {
		more := w.throttle.kinds[kind].tokens - before[kind]
		if ok && kind == task {
			more += spends
		}
		tokens += more
	}
	for kind := range w.stretch {
		switch {
		case has[kind]:
			w.stretch[kind].granted += float64(tokens)
		case tokens > 0: // without a grant in between, it has not been away
			w.stretch[kind] = stretch{}
		}
	}
	if ok {
		w.started++
		w.open = append(w.open, started)
		w.granted += float64(spends)
		w.stretch[task].own += float64(spends)
		if spends != w.kinds[task].Cost {
			return fmt.Errorf("a task of cost %d has %d tokens", w.kinds[task].Cost, spends)
		}
	} else if err := w.idle(); err != nil {
		return err
	}
	return w.fault()
}

// idle returns an error if a token waits that a task could spend.
func (w *throttledWorld) idle() error {
	has := false
	for _, source := range w.supplies {
		has = has || source.left > 0
	}
	if next, ok := w.throttle.Next(w.now); has && (!ok || !next.After(w.now)) {
		return fmt.Errorf("nothing was started, and Next is %v, %v", next, ok)
	}
	return nil
}

func (w *throttledWorld) fault() error {
	earned := float64(w.burst) + w.now.Sub(epoch).Seconds()*w.limit
	if all := w.granted + float64(w.savedUp()); all > earned+1e-3 {
		return fmt.Errorf("%v tokens were taken, and %v earned", all, earned)
	}
	for kind := range w.stretch {
		k, part, cost := &w.stretch[kind], w.kinds[kind].Reserved, float64(w.kinds[kind].Cost)
		ahead := k.own - part*k.granted
		if ahead < -cost-1e-6 {
			return fmt.Errorf("kind %d with part %v and cost %v spent %v of %v tokens",
				kind, part, cost, k.own, k.granted)
		}
		if part > 0 && ahead < k.ahead-cost-1-1e-6 {
			return fmt.Errorf("kind %d with part %v and cost %v fell back by %v tokens",
				kind, part, cost, k.ahead-ahead)
		}
		k.ahead = max(k.ahead, ahead)
	}
	return nil
}
