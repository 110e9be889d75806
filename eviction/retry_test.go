package eviction_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

// demand.md #140639: upstream tries five times in 50 ms and then never again.
func TestE6FailedEvictionIsTriedAgainWithBackoff(t *testing.T) {
	config := eviction.Config{Retry: timedqueue.Backoff{First: time.Second, Max: 5 * time.Second}}
	c := runningWith(t, config, newPod("p"))
	c.node(10, "n1", "a@10")
	work := c.start(10, "p")[0]
	now := 10.0
	for tries, wait := range []float64{1, 2, 4, 5, 5, 5, 5} {
		require.Equal(t, tries, work.Tries)
		c.finish(now, work, eviction.Failed)
		now += wait
		work = c.startOne(now, "p")
	}
	c.finish(now, work, eviction.Evicted)
	c.idle(1e6)
}

func TestE6FailureThatKnowsWhenToComeBack(t *testing.T) {
	c := runningWith(t, twoSeconds, newPod("p"))
	c.node(10, "n1", "a@10")
	c.Finish(at(10), c.start(10, "p")[0], eviction.Report{Outcome: eviction.Failed, Wait: 30 * time.Second})
	c.startOne(40, "p")
}

func TestE6OneFailureDoesNotDelayOthers(t *testing.T) {
	c := runningWith(t, twoSeconds, newPod("p", tolerates("a:1")), newPod("q", tolerates("a:2")))
	c.node(10, "n1", "a@10")
	c.finish(12, c.startOne(12, "p"), eviction.Failed)
	c.startOne(13, "q")
	c.startOne(14, "p")
}

// A change neither shortens the backoff nor is lost in it.
func TestE6FailedAttemptKeepsItsBackoffWhileDeadlinesChange(t *testing.T) {
	fail := func(t *testing.T) cluster {
		c := runningWith(t, twoSeconds, newPod("p", tolerates("a:60")))
		c.node(10, "n1", "a@10")
		c.finish(71, c.startOne(71, "p"), eviction.Failed)
		return c
	}
	t.Run("to now", func(t *testing.T) {
		c := fail(t)
		c.node(71.5, "n1", "a@10", "b@71")
		c.startOne(73, "p")
	})
	t.Run("to later than the backoff", func(t *testing.T) {
		c := fail(t)
		c.pod(71.5, newPod("p", tolerates("a:90")))
		c.startOne(101, "p")
	})
	t.Run("to later, but within the backoff", func(t *testing.T) {
		c := fail(t)
		c.pod(71.5, newPod("p", tolerates("a:61")))
		c.startOne(73, "p")
	})
	t.Run("to never", func(t *testing.T) {
		c := fail(t)
		c.node(71.5, "n1")
		c.idle(1e6)
	})
	t.Run("to never and back", func(t *testing.T) {
		c := fail(t)
		c.node(71.5, "n1")
		c.node(72, "n1", "b@72")
		c.startOne(73, "p")
	})
	t.Run("during the attempt", func(t *testing.T) {
		c := fail(t)
		work := c.startOne(73, "p")
		c.pod(74, newPod("p", tolerates("a:300")))
		c.finish(75, work, eviction.Failed)
		c.leavesAt("p", 311)
		c.startOne(311, "p")
	})
	t.Run("to never, during the attempt", func(t *testing.T) {
		c := fail(t)
		work := c.startOne(73, "p")
		c.node(74, "n1")
		c.finish(75, work, eviction.Failed)
		c.idle(1e6)
	})
}

// Tries are those of one eviction. When it is moot they end, but not the wait.
func TestE6TriesCountAnewForAnotherEviction(t *testing.T) {
	c := runningWith(t, twoSeconds, newPod("p"))
	c.node(10, "n1", "a@10")
	c.finish(10, c.start(10, "p")[0], eviction.Failed)
	c.finish(12, c.startOne(12, "p"), eviction.Failed)
	c.node(12.5, "n1")
	c.node(13, "n1", "a@13")
	require.Zero(t, c.startOne(14, "p").Tries)
}

// A closer look found that the pod need not leave. If that does not reach the
// tracker, it is looked at again.
func TestE6NotDueIsLookedAtAgain(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(10, "n1", "a@10")
	c.finish(71, c.startOne(71, "p"), eviction.NotDue)
	work := c.startOne(72, "p")
	c.Finish(at(72), work, eviction.Report{Outcome: eviction.NotDue, Wait: 5 * time.Second})
	work = c.startOne(77, "p")
	require.Zero(t, work.Tries, "it is no failure")
	c.finish(77, work, eviction.Failed)
	work = c.startOne(77.5, "p") // and does not count as one for the backoff
	c.node(77.6, "n1")           // the tracker sees why
	c.finish(77.7, work, eviction.NotDue)
	c.idle(1e6)
}

func TestE6EveryTryIsDecidedFromTheNewestView(t *testing.T) {
	c := runningWith(t, twoSeconds, newPod("p"))
	c.node(10, "n1", "a@10")
	work := c.start(10, "p")[0]
	require.Equal(t, "a", work.Verdict.Taint.Key)
	changed := newPod("p", marked)
	changed.Generation = 8
	c.pod(11, changed)
	c.node(11, "n1", "b@11")
	c.finish(11, work, eviction.Failed)
	work = c.startOne(13, "p")
	require.Equal(t, "b", work.Verdict.Taint.Key)
	require.True(t, work.Marked)
	require.Equal(t, int64(8), work.Generation)
}

// The condition DisruptionTarget says that a pod is about to be evicted. When it
// need not leave any more, somebody has to take that back.
func TestE6MarkedPodThatNeedNotLeaveIsUnmarked(t *testing.T) {
	for name, moot := range map[string]func(c cluster){
		"untainted":        func(c cluster) { c.node(11, "n1") },
		"tolerated":        func(c cluster) { c.pod(11, newPod("p", marked, tolerates("a"))) },
		"tolerated longer": func(c cluster) { c.pod(11, newPod("p", marked, tolerates("a:300"))) },
		"held":             func(c cluster) { c.Hold(at(11), func(*corev1.Taint) bool { return true }) },
		"its node is gone": func(c cluster) { c.ForgetNode(at(11), "n1") },
	} {
		t.Run(name, func(t *testing.T) {
			c := runningWith(t, twoSeconds, newPod("p"))
			c.node(10, "n1", "a@10")
			work := c.start(10, "p")[0]
			c.pod(10, newPod("p", marked))
			c.finish(10, work, eviction.Failed) // marked, but not deleted
			moot(c)
			work = c.startOne(12, "-p")
			require.True(t, work.Marked)
			require.False(t, work.Verdict.DueAt(at(12)))
			c.finish(12, work, eviction.Unmarked)
			c.start(13)
		})
	}
}

// The attempt failed before a restart. Nobody else knows that the mark is moot.
func TestE6MarkFoundAtARestartIsTakenBack(t *testing.T) {
	c := startUp(t, 100)
	c.pod(100, newPod("moot", marked))
	c.pod(100, newPod("later", on("n2"), marked, tolerates("a:60")))
	c.pod(100, newPod("due", on("n2"), marked))
	c.pod(100, newPod("gone", marked, terminating))
	c.pod(100, newPod("lost", on("n3"), marked)) // its node is gone
	c.pod(100, newPod("preempted", disrupted(corev1.ConditionTrue, "PreemptionByScheduler")))
	c.pod(100, newPod("unmarked", disrupted(corev1.ConditionFalse, eviction.ReasonTaint)))
	c.pod(100, newPod("called off", disrupted(corev1.ConditionFalse, eviction.ReasonCalledOff)))
	c.node(100, "n1")
	c.node(100, "n2", "a")
	c.Synced()
	c.start(100, "-moot", "-later", "-lost", "due") // marks first: they mislead whoever owns the pod
}

func TestE6UnmarkedPodThatIsDueLaterIsEvictedThen(t *testing.T) {
	c := running(t)
	c.node(10, "n1", "a@10")
	c.pod(10, newPod("p", marked, tolerates("a:60")))
	work := c.start(11, "-p")[0]
	require.Equal(t, eviction.TolerationEnds, work.Verdict.Reason)
	c.finish(12, work, eviction.Unmarked)
	work = c.startOne(71, "p")
	require.False(t, work.Marked)
}

func TestE6UnmarkedThenDueAgainIsMarkedAgain(t *testing.T) {
	c := running(t, newPod("p", marked))
	work := c.start(1, "-p")[0]
	c.node(2, "n1", "a@2")
	c.finish(3, work, eviction.Unmarked)
	work = c.start(3, "p")[0]
	require.False(t, work.Marked, "it is marked again")
	c.finish(4, work, eviction.Evicted)
	c.idle(1e6)
}

func TestE6UnmarkThatFailedIsTriedAgain(t *testing.T) {
	c := runningWith(t, twoSeconds, newPod("p", marked))
	work := c.start(1, "-p")[0]
	c.finish(1, work, eviction.Failed)
	work = c.startOne(3, "-p")
	require.Equal(t, 1, work.Tries)
	c.finish(3, work, eviction.Failed)
	c.pod(4, newPod("p")) // somebody else has taken it back
	c.idle(1e6)
}

// It is marked and has to leave by now: there is nothing to take back.
func TestE6UnmarkThatBecomesDueIsAnEviction(t *testing.T) {
	c := runningWith(t, twoSeconds, newPod("p", marked, tolerates("a:60")))
	c.node(10, "n1", "a@10")
	c.finish(70, c.start(70, "-p")[0], eviction.Failed)
	work := c.startOne(72, "p")
	require.True(t, work.Marked)
}

// Taking a mark back waits for nothing but a worker, and being looked at does not
// cost it its place.
func TestE6UnmarkDoesNotLoseItsPlace(t *testing.T) {
	c := running(t, newPod("m", marked))
	c.pod(5, newPod("p", on("n2")))
	c.node(5, "n2", "a@5")
	c.pod(9, newPod("m", marked))
	c.node(9, "n1", "b:NoSchedule")
	c.start(10, "-m", "p")
}

func TestE6TwoTrackersAgreeOnWhatOneOfThemHasMarked(t *testing.T) {
	first := runningWith(t, twoSeconds, newPod("p", tolerates("NR:60")))
	first.node(10, "n1", "NR@10")
	first.finish(71, first.startOne(71, "p"), eviction.Failed)

	second := startUp(t, 72)
	second.pod(72, newPod("p", tolerates("NR:60"), marked))
	second.node(72, "n1", "NR@10")
	second.Synced()
	second.Hold(at(72), taints.OwnsNoExecute)
	work := second.start(72, "-p")[0]
	second.Hold(at(73), nil)
	second.finish(73, work, eviction.Failed)
	work = second.startOne(73.5, "p")
	require.True(t, work.Marked)
}

// Found by the simulation (seed 35 of examples/outage/explore, 2026-11-21): a
// delete failed just after its pod had been marked, and the next attempt, before
// the cache had shown the mark, marked it again.
func TestE5MarkIsNotWrittenAgainWhenOnlyTheDeleteFailed(t *testing.T) {
	play(t, sceneOptions{}, func(s *scene) {
		s.before = once("delete", func() error { return apierrors.NewInternalError(errors.New("etcd has no leader")) })
		report := s.acts(eviction.Failed, "patch", "delete")
		require.True(s, eviction.Marked(report.Pod))
		s.tracker.Finish(time.Now(), s.work, report)

		next, ok := s.tracker.Next(time.Now())
		require.True(s, ok)
		time.Sleep(time.Until(next))
		s.work, ok = s.tracker.Start(time.Now())
		require.True(s, ok)
		s.acts(eviction.Evicted, "delete")
	})
}

// What was observed while the action was under way is newer than what it reports of
// its own write.
func TestE5ReportDoesNotOverruleWhatWasObservedSince(t *testing.T) {
	c := runningWith(t, twoSeconds, newPod("p"))
	c.node(10, "n1", "a@10")
	work := c.start(10, "p")[0]
	c.ObservePod(at(11), newPod("p")) // somebody has taken the mark away
	c.Finish(at(12), work, eviction.Report{Outcome: eviction.Failed, Err: errors.New("timeout"), Pod: newPod("p", marked)})
	require.False(t, c.startOne(14, "p").Marked)
}
