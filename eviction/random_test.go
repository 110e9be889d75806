package eviction_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Random schedules against the reference. A schedule that fails is replayed with
// -run TestTrackerAgainstReference/seed=N, and tells its steps.
func TestTrackerAgainstReference(t *testing.T) {
	seeds := 2000
	if testing.Short() {
		seeds = 300
	}
	reached, ran := map[string]int{}, 0
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := newSchedule(t, uint64(seed), reached)
			for range 70 {
				s.step()
				s.check()
			}
			s.end()
			ran++
		})
	}
	t.Log(reached)
	if ran < seeds {
		return // a replay, or a failure
	}
	for _, what := range []string{
		"Untolerated", "TolerationEnds", "unmark", "marked", "retry", "due together", "late result",
		"second finish", "restart", "clock set back", "hold", "lineage goes on", "set again",
	} {
		require.Greater(t, reached[what], seeds/10, what)
	}
}

// A schedule is a cluster to which random things happen, a tracker that observes
// it, and the history of what it has observed.
type schedule struct {
	*testing.T
	random  *rand.Rand
	tracker *eviction.Tracker
	history *history
	now     time.Time // the latest that the tracker was told

	nodes    map[string]*corev1.Node
	pods     map[types.UID]*corev1.Pod
	inFlight map[types.UID]flight
	done     []eviction.Work // finished, to be finished again
	uids     int
	log      []string
	reached  map[string]int
}

type flight struct {
	work  eviction.Work
	count int // of the history when it was handed out
}

func newSchedule(t *testing.T, seed uint64, reached map[string]int) *schedule {
	s := &schedule{
		T:       t,
		random:  rand.New(rand.NewPCG(seed, 0)),
		now:     at(0.25),
		nodes:   map[string]*corev1.Node{},
		pods:    map[types.UID]*corev1.Pod{},
		reached: reached,
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, line := range s.log {
				t.Log(line)
			}
		}
	})
	for range 3 {
		s.changeNode()
		s.createPod()
	}
	s.restart()
	return s
}

func (s *schedule) say(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf("%8.3f ", s.now.Sub(at(0)).Seconds())+fmt.Sprintf(format, args...))
}

func (s *schedule) chance(percent int) bool { return s.random.IntN(100) < percent }

func pick[T any](s *schedule, from ...T) T { return from[s.random.IntN(len(from))] }

func (s *schedule) step() {
	switch n := s.random.IntN(100); {
	case n < 25:
		s.pass()
	case n < 40:
		s.changeNode()
	case n < 52:
		s.changePod()
	case n < 62:
		s.createPod()
	case n < 66:
		s.removePod()
	case n < 68:
		s.removeNode()
	case n < 71:
		s.hold()
	case n < 73:
		s.restart()
	case n < 85:
		s.start()
	default:
		s.finish()
	}
}

// pass lets time go by.
func (s *schedule) pass() {
	elapsed := pick(s, 0, 1, time.Millisecond, 300*time.Millisecond, time.Second, 7*time.Second, 20*time.Second)
	s.now = s.now.Add(elapsed + time.Duration(s.random.IntN(4))*time.Second)
}

// told is the now that the tracker is told. Seldom it is an earlier one than it
// was told before, and does not count.
func (s *schedule) told() time.Time {
	if s.chance(5) {
		s.reached["clock set back"]++
		s.tracker.ForgetNode(s.now, "unknown")
		return s.now.Add(-time.Duration(s.random.IntN(100)) * time.Second)
	}
	return s.now
}

func (s *schedule) start() {
	var expected []step
	for _, uid := range s.history.known() {
		if _, acting := s.inFlight[uid]; acting {
			continue
		}
		if next, ok := s.history.step(uid, s.now); ok && !next.at.After(s.now) {
			expected = append(expected, next)
		}
	}
	if !s.history.synced {
		expected = nil
	}
	some := pick(s, 1, 2, 100)
	for range some {
		work, ok := s.tracker.Start(s.told())
		require.Equal(s, len(expected) > 0, ok, "started %v, want one of %v", work, expected)
		if !ok {
			return
		}
		s.say("start %s (%s) unmark=%v", work.Pod.UID, work.Verdict.Reason, work.Unmark)
		i := slices.IndexFunc(expected, func(e step) bool { return e.uid == work.Pod.UID })
		require.GreaterOrEqual(s, i, 0, "%v was handed out, which is not due or in flight", work.Pod)
		want := expected[i]
		expected = slices.Delete(expected, i, i+1)
		s.compare(want, work)
		for _, other := range expected {
			s.inOrder(want, other)
		}
		s.inFlight[want.uid] = flight{work, s.history.count}
	}
}

func (s *schedule) compare(want step, work eviction.Work) {
	require.Equal(s, want.unmark, work.Unmark)
	require.Equal(s, want.marked, work.Marked)
	switch {
	case want.unmark:
		s.reached["unmark"]++
	case want.marked:
		s.reached["marked"]++
	default:
		s.reached[string(want.why)]++
	}
	if want.at.After(want.due) {
		s.reached["retry"]++
	}
	require.Equal(s, want.why, work.Verdict.Reason)
	require.True(s, want.due.Equal(work.Verdict.Due), "due at %v, want %v", work.Verdict.Due, want.due)
	if !work.Unmark {
		require.False(s, work.Verdict.Due.After(s.now), "handed out before its deadline")
	}
	pod := s.history.podStay(want.uid)[0].object
	require.Equal(s, pod.Name, work.Pod.Name)
	require.Equal(s, pod.Spec.NodeName, work.Node)
}

// inOrder checks that one step may be taken before the other: by its time, then
// by how long it waits. Marks, which are urgent, are taken back at any time.
func (s *schedule) inOrder(first, other step) {
	if first.marked || other.marked {
		return
	}
	require.False(s, first.at.After(other.at), "%v before %v", first, other)
	if first.at.Equal(other.at) {
		s.reached["due together"]++
		require.LessOrEqual(s, first.since, other.since, "%v before %v", first, other)
	}
}

func (s *schedule) finish() {
	if len(s.done) > 0 && s.chance(20) {
		s.reached["second finish"]++
		s.say("a second finish")
		s.tracker.Finish(s.told(), pick(s, s.done...), eviction.Report{Outcome: eviction.Outcome(s.random.IntN(5))})
	}
	if len(s.inFlight) == 0 {
		return
	}
	uid := pick(s, slices.Sorted(maps.Keys(s.inFlight))...)
	f := s.inFlight[uid]
	delete(s.inFlight, uid)
	outcome := pick(s, eviction.Evicted, eviction.AlreadyGone, eviction.NotDue, eviction.Failed, eviction.Failed)
	if f.work.Unmark && s.chance(70) {
		outcome = eviction.Unmarked
	}
	report := eviction.Report{Outcome: outcome, Wait: pick(s, 0, 0, -time.Second, 500*time.Millisecond, 9*time.Second)}
	s.say("finish %s: %v", uid, report)
	s.tracker.Finish(s.told(), f.work, report)
	s.done = append(s.done, f.work)
	s.history.count++
	if looks := s.history.podStay(uid); looks == nil || looks[0].count > f.count {
		s.reached["late result"]++ // it is not that pod any more
		return
	}
	s.history.attempts[uid] = append(s.history.attempts[uid], attempt{s.now, s.history.count, outcome, report.Wait})
	if outcome == eviction.Unmarked || outcome == eviction.NotDue {
		delete(s.history.waits, uid) // it goes to the end of those that are due then
	}
}

// check compares all that the tracker says with what the history says.
func (s *schedule) check() {
	var first time.Time
	some, pending := false, 0
	for _, uid := range s.history.known() {
		verdict, known := s.tracker.Verdict(uid)
		require.True(s, known)
		why, due := s.history.deadline(uid)
		require.Equal(s, why, verdict.Reason, "%s", uid)
		require.True(s, due.Equal(verdict.Due), "%s is due at %v, want %v", uid, verdict.Due, due)

		f, acting := s.inFlight[uid]
		itself := acting && s.history.podStay(uid)[0].count <= f.count
		next, ok := s.history.step(uid, s.now)
		switch {
		case itself:
			pending++
			continue
		case !ok && acting:
			delete(s.history.waits, uid)
			pending++ // until the end of what was begun before it was forgotten
			continue
		case !ok:
			delete(s.history.waits, uid)
			continue
		case s.history.waits[uid] == 0:
			s.history.waits[uid] = s.history.count
		}
		pending++
		if !acting && (!some || next.at.Before(first)) {
			first, some = next.at, true
		}
	}
	require.Equal(s, pending, s.tracker.Waiting(), "pending")
	wantNodes, wantPods := s.history.sizes()
	nodes, pods := s.tracker.Len()
	require.Equal(s, []int{wantNodes, wantPods}, []int{nodes, pods}, "known nodes and pods")

	next, ok := s.tracker.Next(s.told())
	require.Equal(s, some && s.history.synced, ok, "something comes next")
	if ok {
		require.True(s, latest(next, s.now).Equal(latest(first, s.now)), "next is at %v, want %v", next, first)
	}
}

// end finishes and forgets everything.
func (s *schedule) end() {
	for len(s.inFlight) > 0 {
		s.finish()
	}
	for _, uid := range s.history.known() {
		s.tracker.ForgetPod(uid)
	}
	for name := range s.history.nodes {
		s.tracker.ForgetNode(s.now, name)
	}
	nodes, pods := s.tracker.Len()
	require.Equal(s, []int{0, 0, 0}, []int{nodes, pods, s.tracker.Waiting()})
	_, ok := s.tracker.Next(s.now.Add(1e6 * time.Hour))
	require.False(s, ok)
}

// restart forgets all that was known, works in flight too, and looks at what the
// API server has.
func (s *schedule) restart() {
	s.say("restart")
	constant := timedqueue.Backoff{First: 2 * time.Second, Max: 2 * time.Second}
	exempt := func(pod *corev1.Pod) bool { return pod.Labels["exempt"] == "yes" }
	tracker, err := eviction.NewTracker(eviction.Config{Exempt: exempt, Retry: constant}, s.now)
	require.NoError(s, err)
	s.tracker, s.history = tracker, newHistory()
	s.inFlight, s.done = map[types.UID]flight{}, nil
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		s.observeNode(name)
	}
	for _, uid := range slices.Sorted(maps.Keys(s.pods)) {
		s.observePod(uid)
	}
	s.reached["restart"]++
	s.check()
	if s.chance(80) {
		s.synced()
	}
}

func (s *schedule) synced() {
	s.say("all is observed")
	s.tracker.Synced()
	s.history.synced = true
}
