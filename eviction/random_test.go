package eviction_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Random schedules against the reference. A schedule that fails is replayed
// with
// -run TestTrackerAgainstReference/seed=N, and tells its steps.
func TestTrackerAgainstReference(t *testing.T) {
	seeds := eviction.Sized(60, 2000)
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
		"Untolerated", "TolerationEnds", "marked", "retry", "due together", "late result",
		"second finish", "restart", "clock set back", "hold", "hold of a node", "hold of all",
		"lineage goes on", "set again", "held", "parked", "reopening",
		"NodeEvicted", "Blocked", "DryRun", "shut", "opened", "no token", "token given back", "window",
		"asked", "request taken back", "retried", "no success", "without a UID", "written",
	} {
		require.Greater(t, reached[what], eviction.Sized(0, seeds/10), what)
	}
	for _, what := range []string{
		"Requested", "by priority", "terminating during its action", "evicted beside a hold",
		"awaited",
	} {
		require.Greater(t, reached[what], eviction.Sized(0, seeds/25), what)
	}
}

// A schedule is a cluster to which random things happen, a tracker that
// observes it, and the history of what it has observed.
type schedule struct {
	*testing.T
	random  *rand.Rand
	tracker *eviction.Tracker
	history *history
	now     time.Time // the latest that the tracker was told

	nodes    map[string]*corev1.Node
	pods     map[types.UID]*corev1.Pod
	inFlight map[types.UID]flight
	done     []eviction.Task // finished, to be finished again
	uids     int
	log      []string
	reached  map[string]int
	lowFirst bool
	held     bool // there are holds
}

// idOf is by what the schedule knows a pod: its UID, or the name of one that
// has none.
func idOf(pod eviction.Key) types.UID {
	if pod.UID == "" {
		return types.UID(pod.Namespace + "/" + pod.Name)
	}
	return pod.UID
}

type flight struct {
	work   eviction.Task
	count  int         // of the history when it was handed out
	must   ruling      // then, whatever was held
	tokens []slowToken // that it has spent
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
	s.log = append(s.log, fmt.Sprintf("%8.3f ", s.now.Sub(at(0)).Seconds())+fmt.Sprintf(format,
		args...))
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
	case n < 72:
		if s.held {
			s.hold()
		}
	case n < 73:
		s.restart()
	case n < 76:
		s.evictNode()
	case n < 79:
		s.setLimit()
	case n < 83:
		s.askForPod()
	case n < 84:
		s.retry()
	case n < 89:
		s.start()
	default:
		s.finish()
	}
}

// pass lets time go by.
func (s *schedule) pass() {
	elapsed := pick(s, 0, 1, time.Millisecond, 300*time.Millisecond, time.Second, 7*time.Second,
		20*time.Second)
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
	if s.history.synced {
		s.reached["doubted"] += s.history.doubt(s.now)
	}
	var expected []step
	for _, uid := range s.history.known() {
		if _, acting := s.inFlight[uid]; acting {
			continue
		}
		if next, ok := s.history.stepAt(uid, s.now); ok {
			expected = append(expected, next)
		}
	}
	if !s.history.synced {
		expected = nil
	}
	some := pick(s, 1, 2, 100)
	for range some {
		sure := slices.DeleteFunc(slices.Clone(expected),
			func(e step) bool { return !s.history.has(e, s.now, 1+tolerance) })
		decided := slices.DeleteFunc(slices.Clone(expected), func(e step) bool { return e.since == 0 })
		reopening := s.tracker.Reopening() > 0
		task, ok := s.tracker.Start(s.told())
		if next, some := s.tracker.Next(s.now); !ok && some && !next.After(s.now) {
			require.True(s, s.history.holds, "nothing was started, and Next says now")
			return // it goes on another time
		}
		if !ok {
			require.Empty(s, sure, "nothing was started")
			if len(expected) > 0 {
				s.reached["no token"]++
			}
			return
		}
		s.say("start %s (%s)", task.Pod, task.Decision.Reason)
		i := slices.IndexFunc(expected, func(e step) bool { return e.uid == idOf(task.Pod) })
		require.GreaterOrEqual(s, i, 0, "%v was handed out, which is not due or in flight", task.Pod)
		want := expected[i]
		expected = slices.Delete(expected, i, i+1)
		require.True(s, s.history.has(want, s.now, 1-tolerance), "%v was handed out without a token",
			task.Pod)
		s.compare(want, task)
		for _, other := range sure {
			if !reopening && slices.Contains(decided, want) && slices.Contains(decided, other) {
				s.inOrder(want, other)
			}
		}
		f := flight{work: task, count: s.history.count}
		f.must.why, f.must.due = s.history.deadline(want.uid)
		for _, share := range s.history.shares(want) {
			f.tokens = append(f.tokens, share.take(s.now))
		}
		s.inFlight[want.uid] = f
	}
}

func (s *schedule) compare(want step, task eviction.Task) {
	require.Equal(s, want.marked, task.HasDisruptionTarget)
	if want.marked {
		s.reached["marked"]++
	}
	s.reached[string(want.why)]++
	if why, due := s.history.deadline(want.uid); why != want.why || !due.Equal(want.due) {
		s.reached["evicted beside a hold"]++
	}
	if want.at.After(want.due) {
		s.reached["retry"]++
	}
	require.Equal(s, want.why, task.Decision.Reason)
	require.True(s, want.due.Equal(task.Decision.Due), "due at %v, want %v", task.Decision.Due,
		want.due)
	require.False(s, task.Decision.Due.After(s.now), "handed out before its deadline")
	require.LessOrEqual(s, task.Attempts, s.history.failures(want.uid), "tries")
	pod := s.history.podStay(want.uid)[0].object
	require.Equal(s, eviction.Key{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, task.Pod)
	if pod.UID == "" {
		s.reached["without a UID"]++
	}
	require.Equal(s, pod.Spec.NodeName, task.Node)
}

// inOrder checks that one step may be taken before the other. Time decides, then
// how long a step waits. What was held comes behind what waited meanwhile.
func (s *schedule) inOrder(first, other step) {
	at := first.at
	if s.history.holds { // it may be in its place by a deadline that is held since
		_, due := s.history.deadline(first.uid)
		at = latest(due, s.history.notBefore(first.uid))
	}
	require.False(s, at.After(other.at), "%v before %v", first, other)
	if first.uid == other.uid || !first.at.Equal(other.at) {
		return
	}
	if s.lowFirst && first.rank != other.rank {
		s.reached["by priority"]++
		require.Less(s, first.rank, other.rank, "%v before %v", first, other)
		return
	}
	if !s.history.holds {
		s.reached["due together"]++
		require.LessOrEqual(s, first.since, other.since, "%v before %v", first, other)
	}
}

func (s *schedule) finish() {
	if len(s.done) > 0 && s.chance(20) {
		s.reached["second finish"]++
		s.say("a second finish")
		s.tracker.Finish(s.told(), pick(s, s.done...), eviction.Result{Outcome: pick(s, outcomes...)})
	}
	if len(s.inFlight) == 0 {
		return
	}
	uid := pick(s, slices.Sorted(maps.Keys(s.inFlight))...)
	f := s.inFlight[uid]
	delete(s.inFlight, uid)
	outcome := pick(s, eviction.OutcomeEvicted, eviction.OutcomeGone, eviction.OutcomeNotDue,
		eviction.OutcomeFailed, eviction.OutcomeFailed, eviction.OutcomeBlocked)
	if s.chance(10) {
		outcome = eviction.OutcomeDryRun
	}
	result := eviction.Result{Outcome: outcome, RetryAfter: pick(s, 0, 0, -time.Second,
		500*time.Millisecond, 1500*time.Millisecond, 9*time.Second)}
	if s.chance(5) {
		result.Outcome = pick[eviction.Outcome](s, "", "Unknown")
	}
	if s.chance(8) {
		result.Err = errRandom
	}
	if s.chance(20) {
		result.Pod = s.written(uid)
	}
	s.say("finish %s: %v, %v, written=%v", uid, result.Outcome, result.RetryAfter, result.Pod != nil)
	s.tracker.Finish(s.told(), f.work, result)
	s.done = append(s.done, f.work)
	outcome = countsAs(result)
	if outcome != result.Outcome {
		s.reached["no success"]++
	}
	s.reached[string(outcome)]++
	returns := outcome == eviction.OutcomeGone || outcome == eviction.OutcomeNotDue ||
		outcome == eviction.OutcomeBlocked
	for _, token := range f.tokens {
		token.settle(s.now, returns)
		if returns {
			s.reached["token given back"]++
		}
	}
	s.history.count++
	if observations := s.history.podStay(uid); observations == nil || observations[0].count > f.count {
		s.reached["late result"]++ // it is not that pod any more
		return
	}
	s.history.attempts[uid] = append(s.history.attempts[uid], attempt{
		at: s.now, began: f.count, count: s.history.count, outcome: outcome,
		wait: result.RetryAfter, pod: result.Pod,
	})
	if outcome == eviction.OutcomeDryRun {
		if why, due := s.history.deadline(uid); why == f.must.why && due.Equal(f.must.due) {
			s.history.reported[uid] = f.must
		}
	}
}

// written is what an action says of its last write to a pod. The pod is marked,
// or is not, or the answer was another pod.
func (s *schedule) written(uid types.UID) *corev1.Pod {
	pod := s.pods[uid]
	if pod == nil {
		return nil
	}
	pod = pod.DeepCopy()
	pod.Status.Conditions = nil
	if s.chance(70) {
		marked(pod)
	}
	if s.chance(20) {
		pod.UID = "another"
	} else {
		s.reached["written"]++
	}
	return pod
}

var errRandom = errors.New("random")

// countsAs is the outcome that a result stands for. A refusal counts, and so
// does a success without an error. All else is a failure.
func countsAs(result eviction.Result) eviction.Outcome {
	known := result.Outcome != "" && result.Outcome != "Unknown"
	if result.Outcome == eviction.OutcomeBlocked || known && result.Err == nil {
		return result.Outcome
	}
	return eviction.OutcomeFailed
}

// restart forgets all that was known, actions in flight too, and lists what the
// API server has.
func (s *schedule) restart() {
	s.say("restart")
	if s.history != nil {
		s.windows()
	}
	s.lowFirst, s.held = s.chance(50), s.chance(60)
	s.history = newHistory()
	s.history.epoch = s.now
	if s.chance(20) {
		s.history.ignored = map[string]bool{"b": true}
	}
	config := eviction.Config{
		Exempt:           func(pod *corev1.Pod) bool { return pod.Labels["exempt"] == "yes" },
		Concerns:         func(taint *corev1.Taint) bool { return taint.Key != "b" },
		Backoff:          timedqueue.Backoff{Initial: retryWait, Max: longestWait},
		LowPriorityFirst: s.lowFirst,
		Holds:            someHolds,
	}
	if s.history.ignored == nil {
		config.Concerns = nil
	}
	for _, budget := range []eviction.Budget{
		overall(0, 0), perZone(0, 0),
		{Name: "team", ByPod: func(pod *corev1.Pod) string { return pod.Labels["team"] }},
	} {
		if s.chance(60) {
			continue
		}
		budget.Limit, budget.Burst = pick[rate.Limit](s, 0.3, 2), 1+s.random.IntN(2)
		budget.Held = false
		s.say("    budget %s: %v a second, burst %d", budget.Name, budget.Limit, budget.Burst)
		config.Budgets = append(config.Budgets, budget)
		s.history.budgets = append(s.history.budgets, newSlowBudget(budget.Name, budget.Limit,
			budget.Burst))
	}
	tracker, err := eviction.NewTracker(config, s.now)
	require.NoError(s, err)
	s.tracker = tracker
	s.tracker.SetMost(pick(s, 1, 2, 5, 1000))
	for _, budget := range s.history.budgets { // none of the shares is new when a node moves to it
		for _, key := range []string{"east", "west", "red", "blue", ""} {
			require.True(s, tracker.SetLimit(s.now, budget.name, key, budget.limit))
		}
	}
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
	s.tracker.MarkSynced()
	s.history.synced = true
}
