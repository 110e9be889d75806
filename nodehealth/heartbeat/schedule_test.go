package heartbeat

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
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
func end(s *schedule, at time.Duration, task beatTask, outcome outcome, reported reportCause) {
	now := scheduleEpoch.Add(at)
	s.Finish(now, task, beatResult{started: now, outcome: outcome, reported: reported})
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
	end(s, 0, task, outcomeDone, notDue)
	requireNext(t, s, 0, 5*time.Second) // cut at a random place
	end(s, 5*time.Second, take(t, s, 5*time.Second, leaseBeat, notDue), outcomeDone, notDue)
	requireNext(t, s, 5*time.Second, 15200*time.Millisecond) // 10 s and half of 4 %

	// From start to start: a call of 3 s is not added.
	task = take(t, s, 15200*time.Millisecond, leaseBeat, notDue)
	s.Finish(scheduleEpoch.Add(18200*time.Millisecond), task, beatResult{
		outcome: outcomeDone, started: scheduleEpoch.Add(15200 * time.Millisecond),
	})
	requireNext(t, s, 18200*time.Millisecond, 25400*time.Millisecond)

	// One that took longer than the interval is not made up for.
	task = take(t, s, 25400*time.Millisecond, leaseBeat, notDue)
	s.Finish(scheduleEpoch.Add(50*time.Second), task, beatResult{
		outcome: outcomeDone, started: scheduleEpoch.Add(25400 * time.Millisecond),
	})
	end(s, 50*time.Second, take(t, s, 50*time.Second, leaseBeat, notDue), outcomeDone, notDue)
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
			end(s, at, task, outcomeFailed, notDue)
			next, ok := s.Next(scheduleEpoch)
			require.True(t, ok)
			wait := next.Sub(scheduleEpoch.Add(at))
			require.InDelta(t, seconds*(0.5+random/2), wait.Seconds(), 0.001)
			require.LessOrEqual(t, wait, 10*time.Second)
			at += wait
		}
		end(s, at, take(t, s, at, leaseBeat, notDue), outcomeDone, notDue)
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
		end(s, at, take(t, s, at, statusBeat, cause), outcomeDone, reported)
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
	end(s, time.Second, task, outcomeFailed, notDue)
	task = take(t, s, time.Second, statusBeat, firstReport) // without a pause
	end(s, time.Second, task, outcomeDone, firstReport)
	requireNext(t, s, time.Second, time.Second) // the first interval, cut at 0
	end(s, time.Second, take(t, s, time.Second, statusBeat, notDue), outcomeDone, notDue)
	requireNext(t, s, time.Second, 11*time.Second)
}

func TestH7AReassertionThatFailsStaysDue(t *testing.T) {
	s := newTestSchedule(t, Config{})
	s.add(scheduleEpoch, Node{Name: "a", Status: noStatus}, false)
	end(s, 0, take(t, s, 0, statusBeat, firstReport), outcomeDone, firstReport)
	end(s, 0, take(t, s, 0, statusBeat, notDue), outcomeWithheld, notDue)
	at := 156250 * time.Microsecond
	end(s, at, take(t, s, at, statusBeat, reassertion), outcomeFailed, notDue)
	at += 312500 * time.Microsecond
	end(s, at, take(t, s, at, statusBeat, reassertion), outcomeDone, reassertion)
	at += 10 * time.Second
	end(s, at, take(t, s, at, statusBeat, notDue), outcomeDone, notDue)
}

func TestH7AnOpenGateIsFoundByEitherTurnForBoth(t *testing.T) {
	shut := func() *schedule {
		s := newTestSchedule(t, Config{Rand: func() float64 { return 0.5 }})
		s.add(scheduleEpoch, Node{Name: "a", Status: noStatus}, true)
		for range 8 { // the pauses have grown to 7.5 s
			next, _ := s.Next(scheduleEpoch)
			at := next.Sub(scheduleEpoch)
			lease, _ := s.Start(next)
			status, _ := s.Start(next)
			end(s, at, lease, outcomeWithheld, notDue)
			end(s, at, status, outcomeWithheld, notDue)
		}
		return s
	}
	at := time.Minute
	s := shut()
	lease, status := take(t, s, at, leaseBeat, notDue), take(t, s, at, statusBeat, firstReport)
	end(s, at, lease, outcomeWithheld, notDue)
	end(s, at, status, outcomeDone, firstReport)
	end(s, at, take(t, s, at, leaseBeat, notDue), outcomeDone, notDue)

	s = shut()
	lease, status = take(t, s, at, leaseBeat, notDue), take(t, s, at, statusBeat, firstReport)
	end(s, at, status, outcomeWithheld, notDue)
	end(s, at, lease, outcomeDone, notDue)
	end(s, at, take(t, s, at, statusBeat, firstReport), outcomeDone, firstReport)

	// A node without a status has a lease only, which Changed tries.
	s = newTestSchedule(t, Config{})
	s.add(scheduleEpoch, Node{Name: "a"}, true)
	end(s, 0, take(t, s, 0, leaseBeat, notDue), outcomeWithheld, notDue)
	requireNext(t, s, 0, 156250*time.Microsecond)
	s.changed(scheduleEpoch, "a")
	end(s, 0, take(t, s, 0, leaseBeat, notDue), outcomeDone, notDue)
	end(s, 0, take(t, s, 0, leaseBeat, notDue), outcomeDone, notDue)
	s.changed(scheduleEpoch, "a")
	requireNext(t, s, 0, 10*time.Second)
}

// The change may have come after the gate's answer.
func TestH7AChangeDuringAGateCallHasTheGateCalledAgain(t *testing.T) {
	s := newTestSchedule(t, Config{Rand: func() float64 { return 0.5 }})
	alive := func(context.Context) error { return nil }
	s.add(scheduleEpoch, Node{Name: "a", Alive: alive, Status: noStatus}, true)
	call := func(at time.Duration) beatTask {
		task, ok := s.Start(scheduleEpoch.Add(at))
		require.True(t, ok)
		require.NotNil(t, task.call)
		return task
	}
	first := call(0)
	_, ok := s.Start(scheduleEpoch)
	require.False(t, ok, "lease and status wait for the same call")
	require.True(t, s.changed(scheduleEpoch.Add(time.Second), "a"))
	end(s, 2*time.Second, first, outcomeWithheld, notDue)
	end(s, 2*time.Second, call(2*time.Second), outcomeDone, notDue)
	end(s, 2*time.Second, take(t, s, 2*time.Second, leaseBeat, notDue), outcomeDone, notDue)
	task := take(t, s, 2*time.Second, statusBeat, firstReport)
	require.Zero(t, task.due.Sub(scheduleEpoch), "due since the node was added")
	require.NoError(t, task.withheld)
}

func TestH7TheEndOfAFormerNodesTurnIsNotTheNewOnes(t *testing.T) {
	s := newTestSchedule(t, Config{})
	s.add(scheduleEpoch, Node{Name: "a"}, true)
	former := take(t, s, 0, leaseBeat, notDue)
	s.remove("a")
	s.add(scheduleEpoch.Add(time.Second), Node{Name: "a", UID: "new"}, true)
	_, ok := s.Start(scheduleEpoch.Add(time.Second))
	require.False(t, ok, "before the former one's task has ended")
	end(s, 2*time.Second, former, outcomeFailed, notDue)
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
		end(s, at, lease, outcomeDone, notDue)
		end(s, at, status, outcomeDone, cause)
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
	end(s, at, take(t, s, at, statusBeat, periodReport), outcomeDone, periodReport)
	end(s, at, lease, outcomeDone, notDue)
	requireNext(t, s, at, at+10*time.Second)
}

// Random operations. No node has two tasks of a kind at a time, and none is
// lost or late. None acts after its removal, or beats while its gate is shut.
// The number of workers is kept.
func TestH7ScheduleUnderRandomOperations(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const workers, gateWorkers, quarantine, names = 3, 2, 3, 12
	s := newTestSchedule(t, Config{
		Workers: workers, GateWorkers: gateWorkers, QuarantineWorkers: quarantine, Rand: random.Float64,
	})
	now := scheduleEpoch
	type acting struct {
		task    beatTask
		started time.Time
	}
	var under []acting
	records := map[string]*record{} // of the nodes that are there
	for range 20_000 {
		name := fmt.Sprint(random.IntN(names))
		switch random.IntN(6) {
		case 0:
			node := Node{Name: name, Status: noStatus}
			if random.IntN(3) > 0 {
				node.Alive = func(context.Context) error { return nil }
			}
			_, known := records[name]
			require.Equal(t, !known, s.add(now, node, true))
			item, _ := s.kinds[leaseBeat].queue.Get(name)
			records[name] = item.Value
		case 1:
			if random.IntN(3) > 0 {
				continue
			}
			_, known := records[name]
			require.Equal(t, known, s.remove(name))
			delete(records, name)
		case 2:
			_, known := records[name]
			require.Equal(t, known, s.changed(now, name))
		case 3:
			now = now.Add(time.Duration(random.Int64N(int64(2 * time.Second))))
		default:
			if len(under) == 0 {
				continue
			}
			i := random.IntN(len(under))
			a := under[i]
			under = append(under[:i], under[i+1:]...)
			result := beatResult{started: a.started, outcome: outcome(random.IntN(5))}
			if result.outcome == outcomeDone && a.task.call == nil && a.task.kind == statusBeat {
				result.reported = max(a.task.cause, reportCause(random.IntN(2))*statusChange)
			}
			s.Finish(now, a.task, result)
		}
		for {
			task, ok := s.Start(now)
			if !ok {
				break
			}
			under = append(under, acting{task, now})
			if task.call != nil {
				require.Same(t, records[task.node().Name], task.call.record)
				continue
			}
			r := task.item.Value
			require.Same(t, records[task.item.Key], r, "a node that is not there")
			if r.node.Alive != nil && task.withheld == nil {
				require.Equal(t, gateOpen.String(), r.gate.state.String())
				require.Nil(t, r.gate.call, "it waits for the answer")
				require.LessOrEqual(t, now.Sub(r.gate.asked), 40*time.Second)
			}
		}
		kinds := map[beatKind]int{}
		busy := map[any]bool{}
		calls := 0
		for _, a := range under {
			var key any = fmt.Sprint(a.task.item.Key, a.task.kind)
			if a.task.call == nil {
				kinds[a.task.kind]++
			} else {
				key = a.task.call.record
				calls++
			}
			require.False(t, busy[key], "two tasks of a kind for one node")
			busy[key] = true
		}
		require.Equal(t, gateWorkers+quarantine-calls,
			s.gates.pools[poolPrompt].free+s.gates.pools[poolQuarantine].free)
		for kind := range beatKinds {
			require.LessOrEqual(t, kinds[kind], workers)
			require.Equal(t, workers-kinds[kind], s.kinds[kind].free)
			for name, r := range records {
				item, ok := s.kinds[kind].queue.Get(name)
				require.True(t, ok, "lost")
				require.LessOrEqual(t, item.Due.Sub(now), 10400*time.Millisecond, "late")
				if r.beats[kind].phase == beatGated && r.gate.call == nil {
					require.Equal(t, 0, s.gates.pools[poolPrompt].free, "a gate waits for a worker only")
					gate, ok := s.gates.pools[poolPrompt].queue.Get(r)
					require.True(t, ok)
					require.False(t, gate.Due.IsZero() || gate.Due.After(now), "it is not called")
				}
			}
		}
	}
	for len(under) > 0 { // all end, and nothing stays of what is gone
		s.Finish(now, under[0].task, beatResult{outcome: outcomeDone, started: now})
		under = under[1:]
	}
	for kind := range beatKinds {
		require.Equal(t, len(records), s.kinds[kind].queue.Len())
	}
	gated := 0
	for _, r := range records {
		if r.node.Alive != nil {
			gated++
		}
	}
	require.Equal(
		t, gated, s.gates.pools[poolPrompt].queue.Len()+s.gates.pools[poolQuarantine].queue.Len(),
	)
	require.Equal(t, gateWorkers, s.gates.pools[poolPrompt].free)
	require.Equal(t, quarantine, s.gates.pools[poolQuarantine].free)
	require.Zero(t, s.gates.overdue.Len())
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
		result := beatResult{outcome: outcomeDone, started: now}
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
