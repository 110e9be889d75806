package eviction_test

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

// reading is what time.Now would return so many seconds after the start, by a
// clock whose time of day is ahead by some seconds. Package time has no way to
// make such a time, so this relies on the layout that time.Time has had since
// Go 1.9. TestReadingHasTwoHands fails if that changes.
func reading(elapsed, ahead float64) time.Time {
	wall := at(elapsed + ahead)
	since1885 := uint64(wall.Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
	read := struct {
		wall     uint64 // a flag, 33 bits of seconds since 1885, 30 bits of nanoseconds
		ext      int64  // monotonic nanoseconds
		location *time.Location
	}{1<<63 | since1885<<30 | uint64(wall.Nanosecond()), int64(elapsed * float64(time.Second)), time.UTC}
	return *(*time.Time)(unsafe.Pointer(&read))
}

func TestReadingHasTwoHands(t *testing.T) {
	before, after := reading(10, 0), reading(15, 3600)
	require.Equal(t, 5*time.Second, after.Sub(before))
	require.Equal(t, 3605*time.Second, after.Round(0).Sub(before.Round(0)))
	require.True(t, at(3615).Equal(after))
	require.Equal(t, time.Second, before.Add(time.Second).Sub(before))
}

// A machine is a tracker whose times have two hands.
type machine struct {
	*testing.T
	*eviction.Tracker
	ahead float64 // of its time of day
}

// boot returns a machine that knows an untainted node n1 and the pods since 0,
// and has been told the API server's time of day.
func boot(t *testing.T, pods ...*corev1.Pod) *machine {
	t.Helper()
	m := unanswered(t)
	m.ObserveNode(m.at(0), newNode("n1"))
	for _, pod := range pods {
		m.ObservePod(m.at(0), pod)
	}
	m.MarkSynced()
	m.date(0, 0)
	return m
}

// unanswered returns a machine that knows nothing, not even the time of day.
func unanswered(t *testing.T) *machine {
	t.Helper()
	tracker, err := eviction.NewTracker(twoSeconds, reading(0, 0))
	require.NoError(t, err)
	return &machine{t, tracker, 0}
}

func (m *machine) at(elapsed float64) time.Time { return reading(elapsed, m.ahead) }

// date tells it the API server's time of day, which is in whole seconds.
func (m *machine) date(elapsed, date float64) {
	m.ObserveDate(m.at(elapsed), m.at(elapsed-0.01), at(date).Truncate(time.Second))
}

// leavesAt checks after how many monotonic seconds a pod is due, and that Start
// hands it out then and not earlier.
func (m *machine) leavesAt(uid types.UID, elapsed float64) {
	m.Helper()
	decision, known := m.Decision(uid)
	require.True(m, known)
	require.True(m, decision.Leaves(), "decision is %v", decision.Reason)
	require.InDelta(m, elapsed, decision.Due.Sub(reading(0, 0)).Seconds(), 1e-6, "monotonic seconds")
}

// next checks after how many monotonic seconds Start is to be called next.
func (m *machine) next(now, elapsed float64) {
	m.Helper()
	next, ok := m.Next(m.at(now))
	for ok && !next.After(m.at(now)) && elapsed > now {
		_, started := m.Start(m.at(now))
		require.False(m, started, "it is handed out too early")
		next, ok = m.Next(m.at(now))
	}
	require.True(m, ok)
	require.InDelta(m, elapsed, next.Sub(reading(0, 0)).Seconds(), 1e-6, "monotonic seconds")
}

// starts drains the tracker.
func (m *machine) starts(elapsed float64) (names []string) {
	for range 100 {
		if task, ok := m.Start(m.at(elapsed)); ok {
			names = append(names, task.Pod.Name)
		}
	}
	return names
}

// Issue 13: a machine that was suspended for an hour evicts as soon as the API
// server has answered. The time of day alone is not believed.
func TestE2SuspendedMachineEvictsOnTime(t *testing.T) {
	m := boot(t, newPod("p", tolerates("a:300")), newPod("q", tolerates("a:4000")))
	m.ObserveNode(m.at(10.25), newNode("n1", "a@10"))
	m.leavesAt("p", 311)

	m.ahead = 3600
	m.leavesAt("p", 311)
	require.Empty(t, m.starts(12), "nothing has confirmed the time of day")
	m.date(12, 12) // an answer from before the suspension
	require.Empty(t, m.starts(12))
	m.date(13, 3613)
	m.leavesAt("p", 311-3600)
	m.leavesAt("q", 4011-3600)
	require.Equal(t, []string{"p"}, m.starts(13))
	m.next(13, 411)

	decision, _ := m.Decision("q")
	require.True(t, at(4011).Equal(decision.Due.Round(0)), "it shows the time of day: %v", decision.Due)
	require.True(t, at(11).Equal(decision.Taint.Start.Round(0)), "%v", decision.Taint.Start)
	for pending := range m.PodsOn("n1") {
		if pending.Pod.Name == "q" {
			require.True(t, at(4011).Equal(pending.NextAttempt.Round(0)), "%v", pending.NextAttempt)
		}
	}
}

// The arrival of a pod is a time of the API as well.
func TestE2SuspendedMachineKnowsWhenPodsArrived(t *testing.T) {
	m := boot(t)
	m.ObserveNode(m.at(10.25), newNode("n1", "a@10"))
	m.ObservePod(m.at(100.25), newPod("p", bound(100), tolerates("a:300")))
	m.ObservePod(m.at(100.25), newPod("unbound", unbound, tolerates("a:300")))
	m.leavesAt("p", 401)
	m.ahead = 200
	m.date(110, 310)
	m.leavesAt("p", 201)
	m.leavesAt("unbound", 400.25)
	m.next(110, 201)
}

// A host whose time of day is set wrong, and right again.
func TestE2StepOfTheClockEvictsNothingEarly(t *testing.T) {
	for _, hour := range []float64{3600, -3600} {
		t.Run(fmt.Sprint(hour), func(t *testing.T) {
			m := boot(t, newPod("p", tolerates("*:300")))
			m.ObserveNode(m.at(10.25), newNode("n1", "a@10"))
			m.ahead = hour
			m.date(12, 12)
			m.leavesAt("p", 311)
			m.ObserveNode(m.at(20.25), newNode("n1", "b@20")) // what is new counts right, too
			m.leavesAt("p", 321)
			m.ObservePod(m.at(30.25), newPod("q", bound(30), tolerates("*:300")))
			m.leavesAt("q", 331)
			m.ahead = 0
			m.date(40, 40)
			m.leavesAt("p", 321)
			m.leavesAt("q", 331)
			require.Empty(t, m.starts(320.9))
			require.Equal(t, []string{"p"}, m.starts(321))
		})
	}
}

// The time of day was wrong since the start, is set right, and the API server
// confirms it. Then deadlines of its times follow, later or earlier.
func TestE2DeadlinesFollowTheConfirmedTimeOfDay(t *testing.T) {
	for _, hour := range []float64{3600, -3600} {
		t.Run(fmt.Sprint(hour), func(t *testing.T) {
			m := boot(t, newPod("p", tolerates("a:7200", "b")), newPod("q", tolerates("b:7200", "a")))
			m.ObserveNode(m.at(10.25), newNode("n1", "a@10", "b"))
			m.leavesAt("p", 7211)
			m.ahead = hour
			m.date(20, 20+hour) // so is the API server's
			m.leavesAt("p", min(7211-hour, 7210.25))
			m.leavesAt("q", 7210.25)
			m.next(20, min(7211-hour, 7210.25))
			m.ahead = 0
			m.date(30, 30)
			m.leavesAt("p", 7211)
			m.next(30, 7210.25)
		})
	}
}

// Steps that together stay within a second do not matter.
func TestE2ASecondDoesNotPartTheClocks(t *testing.T) {
	m := boot(t, newPod("p", tolerates("a:300")))
	m.ObserveNode(m.at(10.25), newNode("n1", "a@10"))
	for _, step := range []struct{ ahead, due float64 }{
		{0.5, 311}, {1, 311}, {1.25, 309.75}, {0.5, 309.75}, {0.25, 309.75}, {0, 311},
	} {
		m.ahead = step.ahead
		m.date(12, 12+step.ahead)
		m.leavesAt("p", step.due)
	}
}

// Which answers confirm the time of day.
func TestE2DateAgreesWithinTwoSecondsAndTheCall(t *testing.T) {
	for _, test := range []struct {
		name       string
		took, date float64
		agrees     bool
	}{
		{"the same", 0.01, 3700, true},
		{"two seconds ahead", 0.01, 3702, true},
		{"three seconds ahead", 0.01, 3703, false},
		{"two seconds behind", 0.01, 3698, true},
		{"three seconds behind", 0.01, 3697, false},
		{"at the beginning of a long call", 20, 3680, true},
		{"before a long call", 20, 3677, false},
		{"after a long call", 20, 3703, false},
		{"an hour behind", 0.01, 100, false},
		{"an hour ahead", 0.01, 7300, false},
		{"sent in the future", -20, 3700, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := boot(t, newPod("p", tolerates("a:5000")))
			m.ObserveNode(m.at(10.25), newNode("n1", "a@10"))
			m.ahead = 3600
			m.ObserveDate(m.at(100), m.at(100-test.took), at(test.date))
			if test.agrees {
				m.leavesAt("p", 5011-3600)
			} else {
				m.leavesAt("p", 5011)
			}
		})
	}
}

// A machine is suspended, or its clock set right, before the API server has
// answered for the first time. What it had listed until then counts right, too.
func TestE2FirstAnswerMovesWhatWasObservedBefore(t *testing.T) {
	for _, hour := range []float64{3600, -3600} {
		t.Run(fmt.Sprint(hour), func(t *testing.T) {
			m := unanswered(t)
			m.ObserveNode(m.at(0), newNode("n1", "a@-100"))
			m.ObservePod(m.at(0), newPod("p", bound(-200), tolerates("a:7200")))
			m.MarkSynced()
			m.leavesAt("p", 7200-99)
			m.ahead = hour
			m.leavesAt("p", 7200-99)
			m.date(10, 10+hour)
			due := 7200 - max(99+hour, 0)
			if hour < 0 {
				due = 7200 // the taint is of the future, by the clock that counts
			}
			m.leavesAt("p", due)
			m.next(10, due)
		})
	}
}

// Without ObserveDate the time of day of the start counts, and a deadline does
// not move. A time that is of the future by it counts from first sight.
func TestE2WithoutADateTheTimeOfDayIsThatOfTheStart(t *testing.T) {
	m := unanswered(t)
	m.ObserveNode(m.at(0), newNode("n1"))
	m.ObservePod(m.at(0), newPod("p", tolerates("a:300", "b:300")))
	m.MarkSynced()
	m.ObserveNode(m.at(10.25), newNode("n1", "a@10"))
	m.ahead = 3600
	m.leavesAt("p", 311)
	m.ObserveNode(m.at(20.25), newNode("n1", "b@3620"))
	m.leavesAt("p", 320.25)
	m.date(30, 3630)
	m.leavesAt("p", 321)
	m.ahead = 3700
	m.date(31, 3731)
	m.leavesAt("p", 221)
}

// The lineage of not-ready and unreachable has one start, which moves as one.
func TestE2LineageMovesWithTheClock(t *testing.T) {
	for name, second := range map[string][]string{
		"one after the other": {"UN@100"},
		"both":                {"UN@5", "NR@10"},
		"both, in order":      {"NR@10", "UN@5"},
	} {
		t.Run(name, func(t *testing.T) {
			start := 6.0
			m := boot(t, newPod("p", tolerates("NR", "UN:1000")), newPod("q", tolerates("NR:1000", "UN")))
			if len(second) == 1 {
				start = 11
				m.ObserveNode(m.at(10.25), newNode("n1", "NR@10"))
				m.ObserveNode(m.at(100.25), newNode("n1", second...))
			} else {
				m.ObserveNode(m.at(10.25), newNode("n1", second...))
				m.leavesAt("q", start+1000)
			}
			m.leavesAt("p", start+1000)
			m.ahead = 200
			m.date(110, 310)
			m.leavesAt("p", start+800)
			if len(second) > 1 {
				m.leavesAt("q", start+800)
			}
			m.ObserveNode(m.at(111), newNode("n1", append(second, "other:NoSchedule")...))
			m.leavesAt("p", start+800)
			m.next(111, start+800)
		})
	}
}

// Waits, requests and first sights are of the tracker's own time.
func TestE2WhatIsNoTimeOfTheAPIDoesNotMove(t *testing.T) {
	m := boot(t, newPod("failed"), newPod("asked", on("n2"), tolerates("*")), newPod("seen", tolerates("a:300")))
	m.ObserveNode(m.at(10.25), newNode("n1", "a"))
	require.True(t, m.EvictPod(m.at(10), "asked", "wanted", m.at(500)))
	task, ok := m.Start(m.at(11))
	require.True(t, ok)
	m.Finish(m.at(11), task, eviction.Result{Outcome: eviction.OutcomeFailed})
	m.next(11, 13) // twoSeconds
	m.ahead = 3600
	m.date(12, 3612)
	m.leavesAt("asked", 500)
	m.leavesAt("seen", 310.25)
	m.next(12, 13)
}

// An action that is under way for a deadline that was moved into the future is
// told at once.
func TestE2MovedDeadlineCancelsTheActionUnderWay(t *testing.T) {
	m := boot(t, newPod("p", tolerates("a:1000")))
	m.ObserveNode(m.at(10.25), newNode("n1", "a@10"))
	m.ahead = 3600
	m.date(20, 3620)
	task, ok := m.Start(m.at(20))
	require.True(t, ok)
	require.False(t, task.Canceled())
	m.ahead = 0
	m.date(21, 21)
	require.True(t, task.Canceled())
	m.Finish(m.at(22), task, eviction.Result{Outcome: eviction.OutcomeNotDue})
	m.next(22, 1011)
}

// A live read is decided by the clock that counts, also while the machine shows
// another time of day.
func TestE6ReevaluateGoesByTheClockThatCounts(t *testing.T) {
	m := boot(t, newPod("p"))
	m.ObserveNode(m.at(10.25), newNode("n1", "b"))
	m.ahead = 3600
	task, ok := m.Start(m.at(20))
	require.True(t, ok)
	live := newPod("p", tolerates("a:300"))
	decision := task.Reevaluate(live, newNode("n1", "a@15"), m.at(20))
	require.Equal(t, 316*time.Second, decision.Due.Sub(reading(0, 0)))
	decision = task.Reevaluate(live, newNode("n1", "a@3615"), m.at(20))
	require.Equal(t, 320*time.Second, decision.Due.Sub(reading(0, 0)), "that time is in the future")
	m.Finish(m.at(20), task, eviction.Result{Outcome: eviction.OutcomeNotDue})
	m.date(21, 3621)
	task, ok = m.Start(m.at(30))
	require.True(t, ok)
	decision = task.Reevaluate(live, newNode("n1", "a@3625"), m.at(30))
	require.Equal(t, 326*time.Second, decision.Due.Sub(reading(0, 0)))
}

// A taint is set while the machine sleeps. It is observed before the API server
// has confirmed the time of day, or after that.
func TestE2TaintThatWasSetDuringASuspension(t *testing.T) {
	for _, confirmed := range []bool{false, true} {
		t.Run(fmt.Sprintf("confirmed=%v", confirmed), func(t *testing.T) {
			m := boot(t, newPod("p", tolerates("a:3600")))
			for elapsed := range 100 {
				m.NodesCurrent(m.at(float64(elapsed)))
			}
			m.ahead = 3600
			if confirmed {
				m.date(101, 3701)
			}
			m.ObserveNode(m.at(102), newNode("n1", "a@2000"))
			m.NodesCurrent(m.at(102))
			if !confirmed {
				m.leavesAt("p", 3702) // the time is in the future
				m.date(103, 3703)
			}
			m.leavesAt("p", 2001+3600-3600)
			m.next(103, 2001)
		})
	}
}

// What a caller counts itself moves like a taint.
func TestE2StartOfAChangeThatACallerCounts(t *testing.T) {
	m := boot(t)
	stored := metav1.NewTime(at(95))
	stores, sees := m.NodeChanged(m.at(100), &stored), m.NodeChanged(m.at(100), nil)
	starts := func(o eviction.Origin) float64 { return m.StartOf(o).Sub(reading(0, 0)).Seconds() }
	require.InDelta(t, 96, starts(stores), 1e-6)
	require.InDelta(t, 100, starts(sees), 1e-6)
	m.ahead = 3600
	require.True(t, m.ObserveDate(m.at(101), m.at(101), at(3701)))
	require.InDelta(t, 96-3600, starts(stores), 1e-6)
	require.InDelta(t, 100, starts(sees), 1e-6, "a suspension does not count in a first sight")
	require.False(t, m.ObserveDate(m.at(102), m.at(102), at(3702)))
	slow := metav1.NewTime(at(3660))
	m.NodesCurrent(m.at(150))
	m.NodesCurrent(m.at(159))
	m.NodesCurrent(m.at(168))
	require.InDelta(t, 169, starts(m.NodeChanged(m.at(169), &slow)), 1e-6, "of a slow clock")
}

// Issue 13: a taint that was written during a gap of the watch acts in time.
// One that a slow clock has written still gets its seconds.
func TestE2TenSecondsCountBackFromWhenTheWatchWasCurrent(t *testing.T) {
	for _, test := range []struct {
		name         string
		heard        []float64
		stored, seen float64
		start        float64
	}{
		{"no calls", nil, 60, 100, 100},
		{"one list at the start", []float64{0}, 60, 100, 61},
		{"an event each second", []float64{97, 98, 99}, 60, 100, 100},
		{"an event each second, in time", []float64{97, 98, 99}, 95, 100, 96},
		{"a gap of a minute", []float64{38, 39, 40}, 60, 100, 61},
		{"written before the gap, in time", []float64{38, 39, 40}, 31, 100, 32},
		{"written before the gap by a slow clock", []float64{38, 39, 40}, 29, 100, 100},
		{"not the first after the gap", []float64{38, 39, 40, 99, 99.5}, 60, 100, 61},
		{"written before the gap, not the first after it", []float64{38, 39, 40, 99}, 29, 100, 100},
		{"ten seconds after the gap", []float64{38, 39, 40, 90, 95}, 60, 100, 100},
		{"nearly ten seconds after the gap", []float64{38, 39, 40, 90.5, 95}, 60, 100, 61},
		{"quiet, but alive", []float64{0, 40, 80}, 75, 130, 76},
		{"quiet, but alive, by a slow clock", []float64{0, 40, 80}, 69, 130, 130},
		{"the event itself is told first", []float64{38, 39, 40, 100}, 60, 100, 61},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := running(t, newPod("p", tolerates("a:60")))
			for _, seconds := range test.heard {
				c.NodesCurrent(at(seconds))
				c.PodsCurrent(at(seconds))
			}
			c.node(test.seen, "n1", fmt.Sprintf("a@%v", test.stored))
			c.leavesAt("p", test.start+60)

			c.node(200, "n2", "a@0") // and the same of a binding
			other := running(t)
			other.node(1, "n1", "a@0")
			for _, seconds := range test.heard {
				other.PodsCurrent(at(seconds))
			}
			other.pod(test.seen, newPod("p", bound(test.stored), tolerates("a:60")))
			other.leavesAt("p", test.start+60)
		})
	}
}
