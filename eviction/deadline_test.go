package eviction_test

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

func TestE1UntoleratedLeavesAtOnce(t *testing.T) {
	c := running(t, newPod("p", tolerates("b")))
	c.node(10, "n1", "a@3", "b")
	task := c.start(10, "p")[0]
	require.Equal(t, eviction.Key{Namespace: "ns", Name: "p", UID: "p"}, task.Pod)
	require.Equal(t, "ns/p", task.Pod.String())
	require.Equal(t, "n1", task.Node)
	require.Equal(t, eviction.ReasonUntolerated, task.Decision.Reason)
	require.Equal(t, "a", task.Decision.Taint.Key)
	require.Equal(t, int64(7), task.Generation)
	require.False(t, task.HasDisruptionTarget)
}

func TestE1OnlyNoExecuteEvicts(t *testing.T) {
	c := running(t, newPod("p"))
	c.node(10, "n1", "a:NoSchedule", "b:PreferNoSchedule", "NR:NoSchedule")
	c.stays("p", eviction.ReasonNoTaints)
	c.idle(1000)
}

// demand.md, eviction, zero-taints trap: upstream's code for one pod would
// delete it at once when its node has no taints.
func TestE1NoTaintsEvictNoPod(t *testing.T) {
	c := running(t, newPod("bare"), newPod("tolerant", tolerates("a:0", "*:0")),
		newPod("elsewhere", on("n9")))
	c.node(10, "n1")
	c.pod(11, newPod("late"))
	c.node(12, "n1", "a@12")
	c.node(12, "n1")
	c.pod(13, newPod("bare"))
	for _, name := range []string{"bare", "tolerant", "late", "elsewhere"} {
		c.stays(newPod(name).UID, eviction.ReasonNoTaints)
	}
	c.idle(1e6)
}

func TestE1EarliestTolerationEnds(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:90", "b:20", "c")))
	c.node(10, "n1", "a@10", "b@10", "c@10")
	c.leavesAt("p", 30)
	task := c.startOne(30, "p")
	require.Equal(t, eviction.ReasonTolerationEnds, task.Decision.Reason)
	require.Equal(t, "b", task.Decision.Taint.Key)
	require.EqualValues(t, 20, *task.Decision.Toleration.TolerationSeconds)
}

func TestE1ToleratedForEverStays(t *testing.T) {
	c := running(t, newPod("p", tolerates("a")))
	c.node(10, "n1", "a@10")
	c.stays("p", eviction.ReasonTolerated)
	c.idle(1e6)
}

func TestE1ZeroAndNegativeSecondsLeaveAtOnce(t *testing.T) {
	for _, seconds := range []string{"0", "-1", strconv.FormatInt(math.MinInt64, 10)} {
		c := running(t, newPod("p", tolerates("a:"+seconds)))
		c.node(10.3, "n1", "a@10")
		c.leavesAt("p", 10.3)
		c.start(10.3, "p")
	}
}

func TestE1HugeSecondsLastACentury(t *testing.T) {
	for _, seconds := range []int64{math.MaxInt64, math.MaxInt64 / int64(time.Second),
		math.MaxInt64/int64(time.Second) + 1, 36500 * 86400} {
		c := running(t, newPod("p", tolerates("a:"+strconv.FormatInt(seconds, 10))))
		c.node(10, "n1", "a@10")
		c.leavesAt("p", 10+36500*86400)
		c.start(9 + 36500*86400)
		c.startOne(10+36500*86400, "p")
	}
}

// The node is tainted for long. A pod that tolerates that for 60 seconds would
// be evicted on arrival, and so would each one that replaces it.
func TestE1PodThatArrivesLateGetsItsTime(t *testing.T) {
	c := startUp(t, 0)
	c.node(0, "n1", "a@-5000")
	c.MarkSynced()
	c.pod(101.4, newPod("p", bound(100), tolerates("a:60")))
	c.leavesAt("p", 161)
	for _, restarted := range []float64{120, 160.5, 300} {
		again := startUp(t, restarted)
		again.pod(restarted, newPod("p", bound(100), tolerates("a:60")))
		again.node(restarted, "n1", "a@-5000")
		again.MarkSynced()
		again.leavesAt("p", 161)
	}
	c.startOne(161, "p")
}

func TestE1PodBoundBeforeTheTaintCountsFromTheTaint(t *testing.T) {
	c := startUp(t, 0)
	c.node(0, "n1", "a@-50")
	c.pod(0, newPod("p", bound(-5000), tolerates("a:60")))
	c.MarkSynced()
	c.leavesAt("p", 11)
}

func TestE1PodWithoutPodScheduledCountsFromFirstSight(t *testing.T) {
	c := startUp(t, 0)
	c.node(0, "n1", "a@-5000")
	scheduled := newPod("unsure", bound(-30), tolerates("a:60"))
	scheduled.Status.Conditions[0].Status = corev1.ConditionFalse
	timeless := newPod("timeless", bound(-30), tolerates("a:60"))
	timeless.Status.Conditions[0].LastTransitionTime = metav1.Time{}
	c.pod(5, newPod("p", unbound, tolerates("a:60")))
	c.pod(5, scheduled)
	c.pod(5, timeless)
	c.MarkSynced()
	c.leavesAt("p", 65)
	c.leavesAt("unsure", 65)
	c.leavesAt("timeless", 65)

	c.pod(7, newPod("p", bound(6), tolerates("a:60"))) // it comes late; the pod was there already
	c.leavesAt("p", 65)
}

// A pod counts from its binding, not from its creation. The time in which it
// was not schedulable does not shorten its toleration.
func TestE1PodIsFirstSeenWhenItIsBound(t *testing.T) {
	c := running(t)
	c.node(0, "n1", "a@-5000")
	c.pod(1, newPod("p", on(""), unbound, tolerates("a:60")))
	_, known := c.Decision("p")
	require.False(t, known)
	c.pod(50, newPod("p", unbound, tolerates("a:60")))
	c.leavesAt("p", 110)
}

// The clock of the scheduler is behind by a minute. The pod appears.
func TestE1BindingTimeOfAClockThatIsBehindIsNotBelieved(t *testing.T) {
	c := running(t)
	c.node(0, "n1", "a@-5000")
	c.pod(100, newPod("p", bound(40), tolerates("a:60")))
	c.leavesAt("p", 150)
}

func TestE1ExemptPodsStay(t *testing.T) {
	exempt := func(pod *corev1.Pod) bool { return pod.Labels["exempt"] == "yes" }
	label := func(value string) podOption {
		return func(p *corev1.Pod) { p.Labels = map[string]string{"exempt": value} }
	}
	c := runningWith(t, eviction.Config{Exempt: exempt}, newPod("p", label("yes")),
		newPod("q", label("no")))
	c.node(10, "n1", "a")
	c.stays("p", eviction.ReasonExempt)
	c.start(10, "q")
	c.pod(20, newPod("p", label("no")))
	c.leavesAt("p", 10)
	c.pod(21, newPod("p", label("yes")))
	c.start(22)
	c.pod(23, newPod("p", label("no")))
	c.start(23, "p")
}

func TestE1TerminatingPodsAreLeftAlone(t *testing.T) {
	c := running(t, newPod("p", terminating), newPod("q"), newPod("m", terminating, marked))
	c.node(10, "n1", "a")
	c.stays("p", eviction.ReasonGone)
	c.stays("m", eviction.ReasonGone)
	c.pod(10, newPod("q", terminating))
	c.idle(1000)
	c.node(1003, "n1") // the condition of a terminating pod stays
	c.idle(1004)
}

// The API server's store was restored from a backup of before the eviction, with
// the same UID and whatever resource version: what it says now is true.
func TestE5APodThatIsRestoredIsEvictedAgain(t *testing.T) {
	t.Run("it was seen terminating", func(t *testing.T) {
		c := running(t, newPod("p"))
		c.node(10, "n1", "a@10")
		c.finish(10, c.start(10, "p")[0], eviction.OutcomeEvicted)
		c.pod(11, newPod("p", terminating))
		c.node(20, "n1")
		c.pod(20, newPod("p"))
		c.stays("p", eviction.ReasonNoTaints)
		c.node(30, "n1", "a@30")
		c.start(30, "p")
	})
	t.Run("while it is handed out", func(t *testing.T) {
		c := running(t, newPod("p"))
		c.node(10, "n1", "a@10")
		task := c.start(10, "p")[0]
		c.pod(11, newPod("p", terminating))
		require.True(t, task.Canceled())
		c.pod(12, newPod("p"))
		require.False(t, task.Canceled())
		c.finish(12, task, eviction.OutcomeFailed)
		c.start(100, "p")
	})
	// Only the watch may be behind then, for the longest wait.
	t.Run("it was never seen terminating", func(t *testing.T) {
		c := runningWith(t, twoSeconds, newPod("p"))
		c.node(10, "n1", "a@10")
		c.Finish(at(10), c.start(10, "p")[0], eviction.Result{Outcome: eviction.OutcomeEvicted})
		c.pod(11, newPod("p"))
		c.stays("p", eviction.ReasonGone)
		longest := twoSeconds.Backoff.Longest().Seconds()
		c.start(9 + longest)
		c.startOne(10+longest, "p")
	})
	t.Run("from before its binding", func(t *testing.T) {
		c := running(t, newPod("p", tolerates("a:60")))
		c.node(10, "n1", "a@10")
		c.pod(20, newPod("p", on("")))
		c.idle(1000)
		_, pods := c.Len()
		require.Zero(t, pods)
	})
}

// Everything due together leaves in one order, whatever the order of maps.
func TestE1OrderIsDueThenInsertion(t *testing.T) {
	for range 20 {
		c := running(t)
		c.node(0, "n1", "a@0")
		c.node(0, "n2", "a@0")
		c.pod(1, newPod("third", tolerates("a:60")))
		c.pod(1, newPod("fourth", on("n2"), tolerates("a:60")))
		c.pod(1, newPod("fifth", tolerates("a:60")))
		c.pod(1, newPod("second", tolerates("a:59")))
		c.pod(1, newPod("first", on("n2"), tolerates("a:58")))
		c.start(61, "first", "second", "third", "fourth", "fifth")
	}
}

func TestMatcherOfTheConfigCounts(t *testing.T) {
	pod := newPod("p", tolerates("load=100:60"))
	pod.Spec.Tolerations[0].Operator = corev1.TolerationOpLt
	var config eviction.Config
	config.Matcher.EnableComparisonOperators = true
	c := runningWith(t, config, pod)
	c.node(0, "n1", "load=90@0")
	c.leavesAt("p", 60)
}

func TestConfigIsValidated(t *testing.T) {
	_, err := eviction.NewTracker(eviction.Config{Backoff: timedqueue.Backoff{Initial: -1}}, at(0))
	require.ErrorIs(t, err, eviction.ErrInvalidConfig)
	require.ErrorIs(t, err, timedqueue.ErrInvalidConfig)
	_, err = eviction.NewTracker(eviction.Config{}, time.Time{})
	require.ErrorIs(t, err, eviction.ErrInvalidConfig)
	require.ErrorContains(t, err, "now is zero")
	_, err = eviction.NewDeleter(eviction.DeleterConfig{})
	require.ErrorIs(t, err, eviction.ErrInvalidConfig)
}

func TestConfigReportsAllProblemsAtOnce(t *testing.T) {
	err := eviction.Config{
		Backoff: timedqueue.Backoff{Initial: -1},
		Budgets: []eviction.Budget{{Name: "a", Limit: -2, Burst: -3}, {Name: "a"}, {}},
	}.Validate()
	require.ErrorIs(t, err, eviction.ErrInvalidConfig)
	for _, problem := range []string{
		"Backoff.Initial is -1ns", `budget "a": Limit is -2, want`, `budget "a": Burst is -3, want`,
		`two budgets have the name "a"`, "Name is empty",
	} {
		require.ErrorContains(t, err, problem)
	}
	_, err = eviction.NewTracker(eviction.Config{Backoff: timedqueue.Backoff{Initial: -1}},
		time.Time{})
	require.ErrorContains(t, err, "Backoff.Initial is -1ns")
	require.ErrorContains(t, err, "now is zero")
}

// Metrics and logs show the outcomes by these names.
func TestOutcomesHaveNames(t *testing.T) {
	names := map[eviction.Outcome]string{
		eviction.OutcomeEvicted: "Evicted", eviction.OutcomeGone: "Gone",
		eviction.OutcomeNotDue:  "NotDue",
		eviction.OutcomeFailed:  "Failed",
		eviction.OutcomeBlocked: "Blocked",
		eviction.OutcomeDryRun:  "DryRun",
	}
	for outcome, name := range names {
		require.Equal(t, name, string(outcome))
	}
}
