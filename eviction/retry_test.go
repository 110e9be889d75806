package eviction_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// demand.md #140639: upstream tries five times in 50 ms and then never again.
func TestE6FailedEvictionIsTriedAgainWithBackoff(t *testing.T) {
	config := eviction.Config{Backoff: timedqueue.Backoff{Initial: time.Second, Max: 5 * time.Second}}
	c := runningWith(t, config, newPod("p"))
	c.node(10, "n1", "a@10")
	task := c.start(10, "p")[0]
	now := 10.0
	for tries, wait := range []float64{1, 2, 4, 5, 5, 5, 5} {
		require.Equal(t, tries, task.Attempts)
		c.finish(now, task, eviction.OutcomeFailed)
		now += wait
		task = c.startOne(now, "p")
	}
	c.finish(now, task, eviction.OutcomeEvicted)
	c.idle(1e6)
}

func TestE6FailureThatKnowsWhenToComeBack(t *testing.T) {
	c := running(t, newPod("p"))
	c.node(10, "n1", "a@10")
	c.Finish(at(10), c.start(10, "p")[0], eviction.Result{Outcome: eviction.OutcomeFailed,
		RetryAfter: 30 * time.Second})
	c.startOne(40, "p")
}

// Q11: the zero value of a result is a failure, and so is any success with an
// error. Forgetting the pod would lose its eviction.
func TestE6ResultThatIsNoSuccessIsAFailure(t *testing.T) {
	require.Empty(t, eviction.Result{}.Outcome)
	failed := errors.New("failed")
	for _, result := range []eviction.Result{
		{}, {Err: failed}, {Outcome: "Unknown"}, {Outcome: eviction.OutcomeEvicted, Err: failed},
		{Outcome: eviction.OutcomeGone, Err: failed},
		{Outcome: eviction.OutcomeNotDue, Err: failed}, {Outcome: eviction.OutcomeDryRun, Err: failed},
	} {
		c := runningWith(t, twoSeconds, newPod("p"))
		c.node(10, "n1", "a@10")
		c.Finish(at(10), c.start(10, "p")[0], result)
		require.Equal(t, 1, c.startOne(12, "p").Attempts, "%+v", result)
	}
	c := runningWith(t, twoSeconds, newPod("p"))
	c.node(10, "n1", "a@10")
	c.Finish(at(10), c.start(10, "p")[0], eviction.Result{Outcome: eviction.OutcomeBlocked,
		Err: failed})
	require.Zero(t, c.startOne(12, "p").Attempts, "the refusal of a budget is its error")
}

func TestE6OneFailureDoesNotDelayOthers(t *testing.T) {
	c := runningWith(t, twoSeconds, newPod("p", tolerates("a:1")), newPod("q", tolerates("a:2")))
	c.node(10, "n1", "a@10")
	c.finish(11, c.startOne(11, "p"), eviction.OutcomeFailed)
	c.startOne(12, "q")
	c.startOne(13, "p")
}

// A change neither shortens the backoff nor is lost in it.
func TestE6FailedAttemptKeepsItsBackoffWhileDeadlinesChange(t *testing.T) {
	fail := func(t *testing.T) cluster {
		c := runningWith(t, twoSeconds, newPod("p", tolerates("a:60")))
		c.node(10, "n1", "a@10")
		c.finish(70, c.startOne(70, "p"), eviction.OutcomeFailed)
		return c
	}
	t.Run("to now", func(t *testing.T) {
		c := fail(t)
		c.node(71.5, "n1", "a@10", "b@71")
		c.startOne(72, "p")
	})
	t.Run("to later than the backoff", func(t *testing.T) {
		c := fail(t)
		c.pod(71.5, newPod("p", tolerates("a:90")))
		c.startOne(100, "p")
	})
	t.Run("to later, but within the backoff", func(t *testing.T) {
		c := fail(t)
		c.pod(71.5, newPod("p", tolerates("a:61")))
		c.startOne(72, "p")
	})
	t.Run("to never", func(t *testing.T) {
		c := fail(t)
		c.node(71.5, "n1")
		c.idle(1e6)
	})
	t.Run("to never and back", func(t *testing.T) {
		c := fail(t)
		c.node(71.5, "n1")
		c.node(71.75, "n1", "b@71")
		c.startOne(72, "p")
	})
	t.Run("during the attempt", func(t *testing.T) {
		c := fail(t)
		task := c.startOne(72, "p")
		c.pod(74, newPod("p", tolerates("a:300")))
		c.finish(75, task, eviction.OutcomeFailed)
		c.leavesAt("p", 310)
		c.startOne(310, "p")
	})
	t.Run("to never, during the attempt", func(t *testing.T) {
		c := fail(t)
		task := c.startOne(72, "p")
		c.node(74, "n1")
		c.finish(75, task, eviction.OutcomeFailed)
		c.idle(1e6)
	})
}

// Tries are those of one eviction. When it is moot they end, but not the wait.
func TestE6AttemptsCountFromZeroForAnotherEviction(t *testing.T) {
	c := runningWith(t, twoSeconds, newPod("p"))
	c.node(10, "n1", "a@10")
	c.finish(10, c.start(10, "p")[0], eviction.OutcomeFailed)
	c.finish(12, c.startOne(12, "p"), eviction.OutcomeFailed)
	c.node(12.5, "n1")
	c.node(13, "n1", "a@13")
	require.Zero(t, c.startOne(14, "p").Attempts)
}

// The action found that the pod need not leave. If that does not reach the
// tracker, the pod is handed out again.
func TestE6NotDueIsHandedOutAgain(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(10, "n1", "a@10")
	c.finish(70, c.startOne(70, "p"), eviction.OutcomeNotDue)
	task := c.startOne(71, "p")
	c.Finish(at(72), task, eviction.Result{Outcome: eviction.OutcomeNotDue,
		RetryAfter: 5 * time.Second})
	task = c.startOne(77, "p")
	require.Zero(t, task.Attempts, "it is no failure")
	c.finish(77, task, eviction.OutcomeFailed)
	task = c.startOne(77.5, "p") // and does not count as one for the backoff
	c.node(77.6, "n1")           // the tracker sees why
	c.finish(77.7, task, eviction.OutcomeNotDue)
	c.idle(1e6)
}

func TestE6EveryTryIsDecidedFromTheNewestView(t *testing.T) {
	c := runningWith(t, twoSeconds, newPod("p"))
	c.node(10, "n1", "a@10")
	task := c.start(10, "p")[0]
	require.Equal(t, "a", task.Decision.Taint.Key)
	changed := newPod("p", marked)
	changed.Generation = 8
	c.pod(11, changed)
	c.node(11, "n1", "b@11")
	c.finish(11, task, eviction.OutcomeFailed)
	task = c.startOne(13, "p")
	require.Equal(t, "b", task.Decision.Taint.Key)
	require.True(t, task.HasDisruptionTarget)
	require.Equal(t, int64(8), task.Generation)
}

// Found by the simulation (seed 35 of examples/outage/explore, 2026-11-21): a
// delete failed just after its pod had been marked. The next attempt came
// before the cache had shown the mark, and marked the pod again.
func TestE5MarkIsNotWrittenAgainWhenOnlyTheDeleteFailed(t *testing.T) {
	play(t, sceneOptions{}, func(s *scene) {
		s.before = once("delete",
			func() error { return apierrors.NewInternalError(errors.New("etcd has no leader")) })
		result := s.acts(eviction.OutcomeFailed, "patch", "delete")
		require.True(s, isDisrupted(result.Pod))
		s.tracker.Finish(time.Now(), s.work, result)

		next, ok := s.tracker.Next(time.Now())
		require.True(s, ok)
		time.Sleep(time.Until(next))
		s.work, ok = s.tracker.Start(time.Now())
		require.True(s, ok)
		s.acts(eviction.OutcomeEvicted, "delete")
	})
}

// What was observed while the action was under way is newer than what it
// reports of its own write.
func TestE5ReportDoesNotOverruleWhatWasObservedSince(t *testing.T) {
	c := runningWith(t, twoSeconds, newPod("p"))
	c.node(10, "n1", "a@10")
	task := c.start(10, "p")[0]
	c.ObservePod(at(11), newPod("p")) // another client has cleared the condition
	c.Finish(at(12), task, eviction.Result{Outcome: eviction.OutcomeFailed, Err: errors.New("timeout"),
		Pod: newPod("p", marked)})
	require.False(t, c.startOne(14, "p").HasDisruptionTarget)
}

// The error is that of the last attempt, which has found that the pod need not
// leave, or has reported it.
func TestE10ErrorEndsWithTheNextAttempt(t *testing.T) {
	for _, outcome := range []eviction.Outcome{eviction.OutcomeNotDue, eviction.OutcomeDryRun} {
		c := runningWith(t, twoSeconds, newPod("p"))
		c.node(10, "n1", "a@10")
		c.Finish(at(10), c.start(10, "p")[0], eviction.Result{Err: errors.New("denied")})
		c.finish(12, c.startOne(12, "p"), outcome)
		for p := range c.PodsOn("n1") {
			require.NoError(t, p.Err, outcome)
		}
	}
}

// E12: no answer of a server makes a pod wait for longer than the longest wait.
func TestE12NoAnswerParksAPod(t *testing.T) {
	const age = 68 * 365 * 24 * time.Hour
	for _, outcome := range []eviction.Outcome{
		eviction.OutcomeFailed, eviction.OutcomeBlocked, eviction.OutcomeNotDue, "",
	} {
		c := running(t, newPod("p"))
		c.node(10, "n1", "a@10")
		c.Finish(at(10), c.start(10, "p")[0], eviction.Result{Outcome: outcome, RetryAfter: age})
		next, ok := c.Next(at(10))
		require.True(t, ok)
		require.LessOrEqual(t, next.Sub(at(10)), time.Minute, outcome)
		require.Greater(t, next.Sub(at(10)), 30*time.Second, "it is as long as it may be")
	}
}
