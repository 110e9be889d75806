package heartbeat

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

var scheduleEpoch = time.Date(2026, time.May, 1, 10, 0, 0, 0, time.UTC)

func newTestSchedule(t testing.TB, config Config) *schedule {
	t.Helper()
	config = config.withDefaults()
	if config.Rand == nil {
		config.Rand = func() float64 { return 0 }
	}
	s, err := newSchedule(config, scheduleEpoch)
	require.NoError(t, err)
	return s
}

func noStatus(context.Context) (corev1.NodeStatus, error) { return corev1.NodeStatus{}, nil }

// take starts the task that has to be next, at its time.
func take(t *testing.T, s *schedule, at time.Duration, kind beatKind, cause reportCause) beatTask {
	t.Helper()
	now := scheduleEpoch.Add(at)
	next, ok := s.Next(now)
	require.True(t, ok)
	require.False(t, next.After(now), "the next task is due in %v", next.Sub(now))
	task, ok := s.Start(now)
	require.True(t, ok)
	require.Equal(t, kind, task.kind)
	require.Equal(t, cause.String(), task.cause.String())
	return task
}

// end ends a task that took no time.
func end(s *schedule, at time.Duration, task beatTask, outcome timedqueue.Outcome, reported reportCause) {
	now := scheduleEpoch.Add(at)
	s.Finish(now, task, beatResult{started: now, outcome: outcome, reported: reported})
}

const (
	done   = timedqueue.OutcomeDone
	failed = timedqueue.OutcomeFailed
)

// withhold takes and ends the beat that has to be next, and must not be sent.
func withhold(t *testing.T, s *schedule, at time.Duration, kind beatKind, why error) {
	t.Helper()
	task := take(t, s, at, kind, notDue)
	require.Equal(t, why, task.withheld)
	end(s, at, task, timedqueue.OutcomePostponed, notDue)
}

func requireNothingElse(t *testing.T, s *schedule, at time.Duration) {
	t.Helper()
	_, found := s.Next(scheduleEpoch.Add(at))
	require.False(t, found)
}

func requireNext(t *testing.T, s *schedule, at, want time.Duration) {
	t.Helper()
	next, ok := s.Next(scheduleEpoch.Add(at))
	require.True(t, ok)
	require.Equal(t, want.String(), next.Sub(scheduleEpoch).String())
}

func TestH7ScheduleOfALease(t *testing.T) {
	random := 0.5
	s := newTestSchedule(t, Config{Rand: func() float64 { return random }})
	require.True(t, s.add(scheduleEpoch, Node{Name: "a"}, true))
	require.False(t, s.add(scheduleEpoch, Node{Name: "a"}, true))

	task := take(t, s, 0, leaseBeat, notDue)
	_, ok := s.Next(scheduleEpoch)
	require.False(t, ok, "nothing else to do")
	end(s, 0, task, done, notDue)
	requireNext(t, s, 0, 5*time.Second) // cut at a random place
	end(s, 5*time.Second, take(t, s, 5*time.Second, leaseBeat, notDue), done, notDue)
	requireNext(t, s, 5*time.Second, 15200*time.Millisecond) // 10 s and half of 4 %

	// From start to start: a call of 3 s is not added.
	task = take(t, s, 15200*time.Millisecond, leaseBeat, notDue)
	s.Finish(scheduleEpoch.Add(18200*time.Millisecond), task, beatResult{
		outcome: done, started: scheduleEpoch.Add(15200 * time.Millisecond),
	})
	requireNext(t, s, 18200*time.Millisecond, 25400*time.Millisecond)

	// One that took longer than the interval is not made up for.
	task = take(t, s, 25400*time.Millisecond, leaseBeat, notDue)
	s.Finish(scheduleEpoch.Add(50*time.Second), task, beatResult{
		outcome: done, started: scheduleEpoch.Add(25400 * time.Millisecond),
	})
	end(s, 50*time.Second, take(t, s, 50*time.Second, leaseBeat, notDue), done, notDue)
	requireNext(t, s, 50*time.Second, 60200*time.Millisecond)
}

// The zero result is that of a beat that panics.
func TestQ11AZeroResultOfABeatHasFailed(t *testing.T) {
	s := newTestSchedule(t, Config{Rand: func() float64 { return 0 }})
	s.add(scheduleEpoch, Node{Name: "a"}, true)
	s.Finish(scheduleEpoch, take(t, s, 0, leaseBeat, notDue), beatResult{})
	requireNext(t, s, 0, 156250*time.Microsecond)
	require.Equal(t, 1, take(t, s, time.Second, leaseBeat, notDue).failures)
}

func TestH7ScheduleOfAFailingBeat(t *testing.T) {
	for _, random := range []float64{0, 0.999999} {
		s := newTestSchedule(t, Config{Rand: func() float64 { return random }})
		s.add(scheduleEpoch, Node{Name: "a"}, true)
		at := time.Duration(0)
		for i, seconds := range []float64{0.3125, 0.625, 1.25, 2.5, 5, 10, 10, 10} {
			task := take(t, s, at, leaseBeat, notDue)
			require.Equal(t, i, task.failures)
			end(s, at, task, failed, notDue)
			next, ok := s.Next(scheduleEpoch)
			require.True(t, ok)
			wait := next.Sub(scheduleEpoch.Add(at))
			require.InDelta(t, seconds*(0.5+random/2), wait.Seconds(), 0.001)
			require.LessOrEqual(t, wait, 10*time.Second)
			at += wait
		}
		end(s, at, take(t, s, at, leaseBeat, notDue), done, notDue)
		require.Zero(t, s.kinds[leaseBeat].queue.Len()-1)
		next, _ := s.Next(scheduleEpoch)
		task := take(t, s, next.Sub(scheduleEpoch), leaseBeat, notDue)
		require.Zero(t, task.failures, "forgotten after a beat that came through")
	}
}

func TestH7ScheduleOfReports(t *testing.T) {
	random := 0.5
	s := newTestSchedule(t, Config{
		Rand:           func() float64 { return random },
		StatusInterval: 10 * time.Second, ReportInterval: time.Minute,
	})
	s.add(scheduleEpoch, Node{Name: "a", Status: noStatus}, false)
	check := func(at time.Duration, cause, reported reportCause) {
		t.Helper()
		end(s, at, take(t, s, at, statusBeat, cause), done, reported)
	}
	random = 0
	check(0, firstReport, firstReport) // the next is half a period away
	check(0, notDue, notDue)
	check(10*time.Second, notDue, notDue)
	check(20*time.Second, notDue, notDue)
	requireNext(t, s, 20*time.Second, 30*time.Second)
	random = 0.5
	check(30*time.Second, periodReport, periodReport) // now one whole period
	random = 0
	for at := 40200 * time.Millisecond; at < 90*time.Second; at += 10 * time.Second {
		check(at, notDue, notDue)
	}
	requireNext(t, s, 80200*time.Millisecond, 90*time.Second) // not at the next check
	random = 0.75
	check(90*time.Second, periodReport, periodReport)
	check(100300*time.Millisecond, notDue, statusChange) // 1.25 periods from here
	random = 0
	for at := 110600 * time.Millisecond; at < 175300*time.Millisecond; at += 10 * time.Second {
		check(at, notDue, notDue)
	}
	requireNext(t, s, 170600*time.Millisecond, 175300*time.Millisecond)
}

func TestH7ScheduleExpeditesAChange(t *testing.T) {
	s := newTestSchedule(t, Config{})
	s.add(scheduleEpoch, Node{Name: "a", Status: noStatus}, false)
	require.True(t, s.changed(scheduleEpoch, "a"))
	require.False(t, s.changed(scheduleEpoch, "b"))
	task := take(t, s, 0, statusBeat, firstReport)
	require.True(t, s.changed(scheduleEpoch, "a"), "during the task")
	_, ok := s.Start(scheduleEpoch)
	require.False(t, ok, "not two at a time")
	end(s, time.Second, task, failed, notDue)
	task = take(t, s, time.Second, statusBeat, firstReport) // without a pause
	end(s, time.Second, task, done, firstReport)
	requireNext(t, s, time.Second, time.Second) // the first interval, cut at 0
	end(s, time.Second, take(t, s, time.Second, statusBeat, notDue), done, notDue)
	requireNext(t, s, time.Second, 11*time.Second)
}

func TestH7AReassertionThatFailsStaysDue(t *testing.T) {
	s := newTestSchedule(t, Config{})
	s.add(scheduleEpoch, Node{Name: "a", Status: noStatus}, false)
	end(s, 0, take(t, s, 0, statusBeat, firstReport), done, firstReport)
	s.setAlive(scheduleEpoch, "a", scheduleEpoch)
	withhold(t, s, 0, statusBeat, errSilent)
	at := time.Minute
	s.setAlive(scheduleEpoch.Add(at), "a", time.Time{})
	end(s, at, take(t, s, at, statusBeat, reassertion), failed, notDue)
	at += 156250 * time.Microsecond
	end(s, at, take(t, s, at, statusBeat, reassertion), failed, notDue)
	at += 312500 * time.Microsecond
	end(s, at, take(t, s, at, statusBeat, reassertion), done, reassertion)
	end(s, at, take(t, s, at, statusBeat, notDue), done, notDue) // the first interval, cut at 0
	at += 10 * time.Second
	end(s, at, take(t, s, at, statusBeat, notDue), done, notDue)
}

func TestH7ASilentNodeCostsNothingAndReturnsAtOnceWithItsLeaseFirst(t *testing.T) {
	s := newTestSchedule(t, Config{Rand: func() float64 { return 0.5 }})
	s.add(scheduleEpoch, Node{Name: "a", Status: noStatus}, true)
	end(s, 0, take(t, s, 0, leaseBeat, notDue), done, notDue)
	end(s, 0, take(t, s, 0, statusBeat, firstReport), done, firstReport)
	known, returns := s.setAlive(scheduleEpoch, "a", scheduleEpoch.Add(5*time.Second))
	require.True(t, known)
	require.False(t, returns)
	at := 5 * time.Second // the very moment at which its time is over
	requireNext(t, s, 0, at)
	require.Zero(t, s.silent)
	withhold(t, s, at, leaseBeat, errSilent)
	require.Equal(t, 1, s.silent)
	withhold(t, s, at, statusBeat, errSilent)
	require.True(t, s.changed(scheduleEpoch.Add(at), "a"))
	requireNothingElse(t, s, at)
	require.Equal(t, 1, s.silent)

	at = time.Hour
	_, returns = s.setAlive(scheduleEpoch.Add(at), "a", scheduleEpoch.Add(at+time.Minute))
	require.True(t, returns)
	require.Zero(t, s.silent)
	lease, status := take(t, s, at, leaseBeat, notDue), take(t, s, at, statusBeat, reassertion)
	require.NoError(t, lease.withheld)
	end(s, at, lease, done, notDue)
	end(s, at, status, done, reassertion)
	requireNext(t, s, at, at+5*time.Second) // one report, and then the first interval again
}

// No heartbeat was missed, so the caller that is a little late costs nothing.
func TestH7AliveForThatComesBeforeTheNextBeatChangesNothing(t *testing.T) {
	s := newTestSchedule(t, Config{Rand: func() float64 { return 0.5 }})
	s.add(scheduleEpoch, Node{Name: "a"}, true)
	end(s, 0, take(t, s, 0, leaseBeat, notDue), done, notDue)
	s.setAlive(scheduleEpoch, "a", scheduleEpoch.Add(time.Second))
	at := scheduleEpoch.Add(4 * time.Second)
	_, returns := s.setAlive(at, "a", at.Add(time.Minute))
	require.False(t, returns)
	requireNext(t, s, 4*time.Second, 5*time.Second)
}

// The result of a beat that was withheld comes after its node has returned.
func TestH7ANodeThatReturnsWhileABeatIsWithheldBeats(t *testing.T) {
	s := newTestSchedule(t, Config{Rand: func() float64 { return 0.5 }})
	s.add(scheduleEpoch, Node{Name: "a", Status: noStatus}, true)
	s.setAlive(scheduleEpoch, "a", scheduleEpoch)
	lease, status := take(t, s, 0, leaseBeat, notDue), take(t, s, 0, statusBeat, notDue)
	s.setAlive(scheduleEpoch, "a", time.Time{})
	end(s, 0, lease, timedqueue.OutcomePostponed, notDue)
	end(s, 0, status, timedqueue.OutcomePostponed, notDue)
	lease, status = take(t, s, 0, leaseBeat, notDue), take(t, s, 0, statusBeat, firstReport)
	require.NoError(t, lease.withheld)
	require.NoError(t, status.withheld)
}

func TestH7TheLeaseOfANodeThatIsGoneWaitsForAReport(t *testing.T) {
	s := newTestSchedule(t, Config{Rand: func() float64 { return 0.5 }})
	s.add(scheduleEpoch, Node{Name: "a", Status: noStatus}, true)
	lease, status := take(t, s, 0, leaseBeat, notDue), take(t, s, 0, statusBeat, firstReport)
	end(s, 0, lease, done, notDue)
	s.Finish(scheduleEpoch, status, beatResult{started: scheduleEpoch, outcome: failed, err: errNodeGone})
	at := 234375 * time.Microsecond
	status = take(t, s, at, statusBeat, firstReport) // retried as any failure
	withhold(t, s, 5*time.Second, leaseBeat, errNodeGone)
	requireNothingElse(t, s, 5*time.Second)

	// Silence and its end change nothing of that.
	s.setAlive(scheduleEpoch, "a", scheduleEpoch)
	at = time.Minute
	s.setAlive(scheduleEpoch.Add(at), "a", time.Time{})
	withhold(t, s, at, leaseBeat, errNodeGone)
	requireNothingElse(t, s, at)
	end(s, at, status, done, firstReport)
	lease = take(t, s, at, leaseBeat, notDue)
	require.NoError(t, lease.withheld)
}

func TestH7TheEndOfAFormerNodesTurnIsNotTheNewOnes(t *testing.T) {
	s := newTestSchedule(t, Config{})
	s.add(scheduleEpoch, Node{Name: "a"}, true)
	former := take(t, s, 0, leaseBeat, notDue)
	s.remove("a")
	s.add(scheduleEpoch.Add(time.Second), Node{Name: "a", UID: "new"}, true)
	_, ok := s.Start(scheduleEpoch.Add(time.Second))
	require.False(t, ok, "before the former one's task has ended")
	end(s, 2*time.Second, former, failed, notDue)
	task := take(t, s, 2*time.Second, leaseBeat, notDue)
	require.Equal(t, "new", string(task.item.Value.node.UID))
	require.Zero(t, task.failures)
}

func TestH7SilenceIsFollowedByOneReportNotTwo(t *testing.T) {
	s := newTestSchedule(t, Config{ReportInterval: 2 * time.Minute})
	s.add(scheduleEpoch, Node{Name: "a", Status: noStatus}, true)
	// both takes both beats, and has the lease's come to its end first.
	both := func(at time.Duration, cause reportCause) {
		t.Helper()
		lease, status := take(t, s, at, leaseBeat, notDue), take(t, s, at, statusBeat, cause)
		end(s, at, lease, done, notDue)
		end(s, at, status, done, cause)
	}
	both(0, firstReport)
	both(0, notDue)

	// A process that was stopped for long enough: both are due, the report for its
	// period.
	at := time.Minute
	both(at, periodReport)
	requireNext(t, s, at, at+10*time.Second)
	both(at+10*time.Second, notDue)

	// The report that comes through first makes the silence end as well.
	at = 3 * time.Minute
	lease := take(t, s, at, leaseBeat, notDue)
	end(s, at, take(t, s, at, statusBeat, periodReport), done, periodReport)
	end(s, at, lease, done, notDue)
	requireNext(t, s, at, at+10*time.Second)
}

// Random operations. No node has two tasks of a kind at a time, and none is
// lost or late. None acts after its removal. Beats are withheld when a
// reference says so, and only then. The number of workers is kept.
func TestH7ScheduleUnderRandomOperations(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const workers, names = 3, 12
	s := newTestSchedule(t, Config{Workers: workers, Rand: random.Float64})
	now := scheduleEpoch
	type acting struct {
		task    beatTask
		started time.Time
	}
	type reference struct {
		record  *record
		until   time.Time // zero: without end
		silent  bool
		gone    bool
		waiting [beatKinds]bool // was withheld, and nothing has ended that
	}
	var under []acting
	nodes := map[string]*reference{} // that are there
	withheld := 0
	for range 20_000 {
		name := fmt.Sprint(random.IntN(names))
		node, known := nodes[name]
		switch random.IntN(8) {
		case 0:
			require.Equal(t, !known, s.add(now, Node{Name: name, Status: noStatus}, true))
			if !known {
				item, _ := s.kinds[leaseBeat].queue.Get(name)
				nodes[name] = &reference{record: item.Value}
			}
		case 1:
			if random.IntN(3) > 0 {
				continue
			}
			require.Equal(t, known, s.remove(name))
			delete(nodes, name)
		case 2:
			require.Equal(t, known, s.changed(now, name))
		case 3:
			now = now.Add(time.Duration(random.Int64N(int64(2 * time.Second))))
		case 4:
			var until time.Time
			if random.IntN(3) > 0 {
				until = now.Add(time.Duration(random.Int64N(int64(20*time.Second))) - 5*time.Second)
			}
			found, returns := s.setAlive(now, name, until)
			require.Equal(t, known, found)
			if !known {
				continue
			}
			alive := until.IsZero() || until.After(now)
			require.Equal(t, alive && node.silent, returns)
			node.until, node.silent = until, !alive || node.silent && !returns
			if returns {
				node.waiting = [beatKinds]bool{}
			}
		default:
			if len(under) == 0 {
				continue
			}
			i := random.IntN(len(under))
			a := under[i]
			under = append(under[:i], under[i+1:]...)
			node, known := nodes[a.task.item.Key]
			known = known && node.record == a.task.item.Value
			outcomes := []timedqueue.Outcome{done, failed, ""}
			result := beatResult{started: a.started, outcome: outcomes[random.IntN(len(outcomes))]}
			switch {
			case a.task.withheld != nil:
				result.outcome, result.err = timedqueue.OutcomePostponed, a.task.withheld
			case a.task.kind == leaseBeat:
			case result.outcome == done:
				result.reported = max(a.task.cause, reportCause(random.IntN(2))*statusChange)
				if known && result.reported != notDue {
					if node.gone && !node.silent {
						node.waiting[leaseBeat] = false
					}
					node.gone = false
				}
			case random.IntN(3) == 0:
				result.err = errNodeGone
				if known {
					node.gone = true
				}
			}
			s.Finish(now, a.task, result)
		}
		for {
			task, ok := s.Start(now)
			if !ok {
				break
			}
			under = append(under, acting{task, now})
			node := nodes[task.item.Key]
			require.NotNil(t, node, "a node that is not there")
			require.Same(t, node.record, task.item.Value)
			require.False(t, node.waiting[task.kind], "a silent node is left alone")
			var want error
			switch {
			case !node.until.IsZero() && !now.Before(node.until):
				node.silent, want = true, errSilent
			case node.gone && task.kind == leaseBeat:
				want = errNodeGone
			}
			require.Equal(t, want, task.withheld)
			node.waiting[task.kind] = want != nil
			if want != nil {
				withheld++
			}
		}
		kinds := map[beatKind]int{}
		type beat struct {
			name string
			kind beatKind
		}
		busy := map[beat]bool{}
		for _, a := range under {
			kinds[a.task.kind]++
			acts := beat{a.task.item.Key, a.task.kind}
			require.False(t, busy[acts], "two tasks of a kind for one node")
			busy[acts] = true
		}
		silent := 0
		for name, node := range nodes {
			if node.silent {
				silent++
			}
			for kind := range beatKinds {
				item, ok := s.kinds[kind].queue.Get(name)
				require.True(t, ok, "lost")
				require.LessOrEqual(t, item.Due.Sub(now), 10400*time.Millisecond, "late")
				if !busy[beat{name, kind}] {
					require.Equal(t, node.waiting[kind], item.Due.IsZero(), "it never beats again")
				}
			}
		}
		require.Equal(t, silent, s.silent)
		for kind := range beatKinds {
			require.LessOrEqual(t, kinds[kind], workers)
			require.Equal(t, workers-kinds[kind], s.kinds[kind].free)
		}
	}
	require.Greater(t, withheld, 500)
	for len(under) > 0 { // all end, and nothing stays of what is gone
		s.Finish(now, under[0].task, beatResult{outcome: done, started: now})
		under = under[1:]
	}
	for kind := range beatKinds {
		require.Equal(t, len(nodes), s.kinds[kind].queue.Len())
		require.Equal(t, workers, s.kinds[kind].free)
	}
}

// The cost of one beat's decisions, its start and its end, among 10,000 nodes.
func BenchmarkH7OneBeatAmong10000Nodes(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	s := newTestSchedule(b, Config{Rand: random.Float64})
	for i := range 10_000 {
		s.add(scheduleEpoch, Node{Name: fmt.Sprint("node-", i), Status: noStatus}, true)
	}
	now := scheduleEpoch
	b.ReportAllocs()
	for b.Loop() {
		if next, _ := s.Next(now); next.After(now) {
			now = next
		}
		task, ok := s.Start(now)
		if !ok {
			b.Fatal("nothing to start")
		}
		result := beatResult{outcome: done, started: now}
		if task.kind == statusBeat {
			result.reported = task.cause
		}
		s.Finish(now, task, result)
	}
}

// The cost of checking a status that has not changed. It makes no call.
func BenchmarkH7CheckOfAnUnchangedStatus(b *testing.B) {
	desired := fullStatus("a")
	for i := range 50 { // the kubelet reports up to 50 images
		desired.Images = append(
			desired.Images, corev1.ContainerImage{Names: []string{fmt.Sprint("image-", i)}},
		)
	}
	r := reporter(*desired.DeepCopy(), desired)
	b.ReportAllocs()
	for b.Loop() {
		if changed, err := r.changed(&desired); changed || err != nil {
			b.Fatal(changed, err)
		}
	}
}
