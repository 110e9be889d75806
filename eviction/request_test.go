package eviction_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
)

func (c cluster) evictPod(seconds float64, name, reason string, due float64) {
	c.Helper()
	require.True(c, c.EvictPod(at(seconds), newPod(name).UID, reason, at(due)))
}

// demand.md, requests: a descheduler or an administrator wants one pod to
// leave.
func TestE10EvictPodMakesAPodLeaveNow(t *testing.T) {
	for name, due := range map[string]time.Time{"now": at(10), "the zero time": {}} {
		t.Run(name, func(t *testing.T) {
			c := running(t, newPod("p", tolerates("*")), newPod("other"))
			require.True(t, c.EvictPod(at(10), "p", "rebalancing", due))
			task := c.start(10, "p")[0]
			require.Equal(t, eviction.Decision{
				Reason: eviction.ReasonRequested, Due: at(10), Request: "rebalancing",
			}, task.Decision)
			require.False(t, task.Canceled())
			live := task.Reevaluate(newPod("p", tolerates("*")), newNode("n1"), at(11))
			require.Equal(t, task.Decision, live, "a confirmation finds it, too")
			c.finish(11, task, eviction.OutcomeEvicted)
			c.idle(100)
		})
	}
}

func TestE10EvictPodMakesAPodLeaveLater(t *testing.T) {
	c := running(t, newPod("p"))
	c.evictPod(10, "p", "", 60)
	c.leavesAt("p", 60)
	require.Equal(t, 1, c.Waiting())
	c.startOne(60, "p")
}

// It was due before it was asked for, and counts as overdue since then.
func TestE10EvictPodWithADeadlineInThePastIsDue(t *testing.T) {
	c := running(t, newPod("p"))
	c.evictPod(10, "p", "", 5)
	c.leavesAt("p", 5)
	c.start(10, "p")
}

func TestE10TheEarlierOfARequestAndATaintCounts(t *testing.T) {
	for name, test := range map[string]struct {
		requested, want float64
		reason          eviction.Reason
	}{
		"request earlier": {30, 30, eviction.ReasonRequested},
		"taint earlier":   {100, 70, eviction.ReasonTolerationEnds},
		"both at once":    {70, 70, eviction.ReasonTolerationEnds},
	} {
		t.Run(name, func(t *testing.T) {
			c := running(t, newPod("p", tolerates("a:60")))
			c.node(10, "n1", "a@10")
			c.evictPod(20, "p", "asked", test.requested)
			c.leavesAt("p", test.want)
			require.Equal(t, test.reason, c.startOne(test.want, "p").Decision.Reason)
		})
	}
}

func TestE10RequestOutlastsTheTaint(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.evictPod(5, "p", "", 100)
	c.node(10, "n1", "a@10")
	c.leavesAt("p", 70)
	c.node(20, "n1")
	c.leavesAt("p", 100)
	c.ForgetNode(at(30), "n1")
	c.leavesAt("p", 100)
}

func TestE10CanceledRequestIsNoRequest(t *testing.T) {
	c := running(t, newPod("p"), newPod("q", tolerates("a:60")))
	c.evictPod(10, "p", "", 60)
	c.evictPod(10, "q", "", 20)
	c.node(10, "n1", "a:NoSchedule")
	require.True(t, c.CancelPodEviction(at(11), "p"))
	require.False(t, c.CancelPodEviction(at(11), "p"), "there is none any more")
	require.True(t, c.CancelPodEviction(at(11), "q"))
	c.stays("p", eviction.ReasonNoTaints)
	c.idle(1e6)
}

// A request that ends during its action has written the condition. That is
// cleared.
func TestE10RequestThatIsCanceledDuringItsActionDeletesNothing(t *testing.T) {
	server := newAPIServer()
	server.put(newPod("p"))
	deleter, err := eviction.NewDeleter(eviction.DeleterConfig{Pods: server.client})
	require.NoError(t, err)
	c := runningWith(t, twoSeconds, newPod("p"))
	c.evictPod(10, "p", "rebalancing", 10)
	task := c.start(10, "p")[0]
	server.before = once("patch", func() error {
		require.True(t, c.CancelPodEviction(at(10), "p"))
		return nil
	})
	result := deleter.Act(t.Context(), task)
	require.Equal(t, eviction.OutcomeNotDue, result.Outcome, "%v", result.Err)
	require.True(t, task.Canceled())
	require.Contains(t, server.calls[0].patch, `"reason":"EvictionRequested"`)
	require.Contains(t, server.calls[0].patch, `"message":"Evicted from node n1: rebalancing."`)
	c.Finish(at(11), task, result)

	require.Nil(t, server.get("ns", "p").DeletionTimestamp)
	c.idle(1e6)
}

func TestE10AnotherRequestReplacesTheFirst(t *testing.T) {
	c := running(t, newPod("p"))
	c.evictPod(10, "p", "first", 30)
	c.evictPod(11, "p", "second", 90)
	c.leavesAt("p", 90)
	c.evictPod(12, "p", "third", 20)
	require.Equal(t, "third", c.startOne(20, "p").Decision.Request)
	require.True(t, c.CancelPodEviction(at(21), "p"))
	require.False(t, c.CancelPodEviction(at(21), "p"))
}

func TestE10ExemptPodStaysWhateverIsAsked(t *testing.T) {
	config := eviction.Config{
		Exempt: func(pod *corev1.Pod) bool { return pod.Labels["exempt"] == "yes" }}
	exempt := newPod("p")
	exempt.Labels = map[string]string{"exempt": "yes"}
	c := runningWith(t, config, exempt)
	c.evictPod(10, "p", "", 10)
	c.stays("p", eviction.ReasonExempt)
	c.start(20)
	c.pod(30, newPod("p")) // the request still stands
	c.start(30, "p")
}

func TestE10RequestsOfUnknownPodsAreRefused(t *testing.T) {
	c := running(t)
	require.False(t, c.EvictPod(at(10), "p", "", at(10)))
	require.False(t, c.CancelPodEviction(at(10), "p"))
	require.False(t, c.Retry(at(10), "p"))
	c.pod(11, newPod("p"))
	c.stays("p", eviction.ReasonNoTaints)
}

func TestE10RequestEndsWithItsPod(t *testing.T) {
	c := running(t, newPod("p"))
	c.evictPod(10, "p", "", 60)
	c.ForgetPod(at(11), "p")
	require.False(t, c.CancelPodEviction(at(11), "p"))
	c.pod(12, newPod("p"))
	c.stays("p", eviction.ReasonNoTaints)
	c.idle(1e6)
}

func TestE10PodThatIsBeingDeletedIsNotEvictedForARequest(t *testing.T) {
	c := running(t, newPod("p", terminating))
	c.evictPod(10, "p", "", 10)
	c.stays("p", eviction.ReasonGone)
	c.idle(20)
}

// The DaemonSet creates another pod, and that is what the caller may want.
func TestE10PodOfADaemonSetLeavesWhenItIsAskedFor(t *testing.T) {
	c := running(t, newPod("daemon", ofDaemonSet))
	c.EvictNode(at(5), "n1", eviction.NodeRequest{Reason: "drain"})
	c.stays("daemon", eviction.ReasonNoTaints)
	c.evictPod(10, "daemon", "", 10)
	c.start(10, "daemon")
}

func TestE10RetryEndsTheWaitAfterAnAttempt(t *testing.T) {
	for _, outcome := range []eviction.Outcome{eviction.OutcomeFailed, eviction.OutcomeBlocked,
		eviction.OutcomeNotDue} {
		c := runningWith(t, twoSeconds, newPod("p"))
		c.node(10, "n1", "a@10")
		c.finish(10, c.start(10, "p")[0], outcome)
		c.start(10.5)
		require.True(t, c.Retry(at(10.5), "p"))
		c.start(10.5, "p")
		require.True(t, c.Retry(at(10.5), "p"))
		c.start(10.5) // its action is under way
	}
}

// A caller retries all pods of a node, or asks for each, while it lists them.
func TestE10PodsCanBeRetriedWhileTheyAreListed(t *testing.T) {
	c := runningWith(t, twoSeconds)
	names := map[string]bool{}
	for i := range 50 {
		name := fmt.Sprint("p", i)
		names[name] = true
		c.pod(0, newPod(name))
	}
	c.node(10, "n1", "a@10")
	for range names {
		task, ok := c.Start(at(10))
		require.True(t, ok)
		c.finish(10, task, eviction.OutcomeFailed)
	}
	c.start(10)
	listed := map[string]bool{}
	for p := range c.PodsOn("n1") {
		listed[p.Pod.Name] = true
		require.True(t, c.Retry(at(10.5), p.Pod.ID()))
		require.True(t, c.EvictPod(at(10.5), p.Pod.ID(), "", at(10.5)))
		require.True(t, c.CancelPodEviction(at(10.5), p.Pod.ID()))
	}
	require.Equal(t, names, listed)
	for range names {
		_, ok := c.Start(at(10.5))
		require.True(t, ok)
	}
}

func TestE10RetryDoesNotMakeAPodLeaveEarlier(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")), newPod("stays", tolerates("a")))
	c.node(10, "n1", "a@10")
	require.True(t, c.Retry(at(20), "p"))
	require.True(t, c.Retry(at(20), "stays"))
	c.startOne(70, "p")
}

func TestE10RetryOfADryRunReportsAgain(t *testing.T) {
	c := running(t, newPod("p"))
	c.node(10, "n1", "a@10")
	c.finish(10, c.start(10, "p")[0], eviction.OutcomeDryRun)
	c.pod(11, newPod("p"))
	c.node(11, "n1", "a@10", "b:NoSchedule")
	c.idle(1000)
	require.True(t, c.Retry(at(1000), "p"))
	c.finish(1000, c.start(1000, "p")[0], eviction.OutcomeDryRun)
	c.idle(2000)
}

// E10: the pods of one node with what is known of each, also of those that
// stay.
func TestE10PodsOnListsThePodsOfANode(t *testing.T) {
	denied := errors.New("denied")
	c := runningWith(t, twoSeconds, newPod("stays", tolerates("a")), newPod("fails"), newPod("acts"),
		newPod("elsewhere", on("n2")))
	c.node(10, "n1", "a@10")
	c.start(10, "fails", "acts")
	c.Finish(at(10), c.work("fails"), eviction.Result{Outcome: eviction.OutcomeFailed, Err: denied})
	got := map[string]eviction.Pending{}
	for p := range c.PodsOn("n1") {
		require.NotContains(t, got, p.Pod.Name)
		require.Equal(t, "n1", p.Node)
		got[p.Pod.Name] = p
	}
	require.Len(t, got, 3)
	require.Equal(t, eviction.ReasonTolerated, got["stays"].Decision.Reason)
	require.Zero(t, got["stays"].NextAttempt)
	require.Equal(t, denied, got["fails"].Err)
	require.Equal(t, 1, got["fails"].Attempts)
	require.Equal(t, at(12), got["fails"].NextAttempt)
	require.True(t, got["acts"].Acting)
	require.NoError(t, got["acts"].Err)
	for range c.PodsOn("unknown") {
		t.Fatal("it has no pods")
	}
	for range c.PodsOn("n1") {
		break // the loop may end early
	}
}

// The error of an eviction that is not wanted any more is of no interest.
func TestE10ErrorEndsWithItsEviction(t *testing.T) {
	c := runningWith(t, twoSeconds, newPod("p"))
	c.node(10, "n1", "a@10")
	c.Finish(at(10), c.start(10, "p")[0], eviction.Result{Err: errors.New("denied")})
	c.node(11, "n1")
	for p := range c.PodsOn("n1") {
		require.NoError(t, p.Err)
		require.Zero(t, p.Attempts)
	}
}

// E10: a controller for some taints next to kube-controller-manager, which has
// the others.
func TestE10TaintsThatDoNotConcernTheTrackerDoNotCount(t *testing.T) {
	config := eviction.Config{Concerns: func(taint *corev1.Taint) bool { return taint.Key == "ours" }}
	c := runningWith(t, config, newPod("p"), newPod("q", tolerates("ours:60")))
	c.node(10, "n1", "theirs@10")
	c.stays("p", eviction.ReasonNoTaints)
	c.node(20, "n1", "theirs@10", "ours@20")
	require.Equal(t, "ours", c.start(20, "p")[0].Decision.Taint.Key)
	c.leavesAt("q", 80)
	live := c.work("p").Reevaluate(newPod("p"), newNode("n1", "theirs@10"), at(21))
	require.Equal(t, eviction.ReasonNoTaints, live.Reason)
	c.node(30, "n1", "theirs@10")
	require.True(t, c.work("p").Canceled())
}

// A refusal gives its token back: it is waiting, and not failing.
func TestE8RefusalSpendsNoToken(t *testing.T) {
	c := runningWith(t, budgets(overall(0.5, 1)), newPod("p"), newPod("q"))
	c.node(10, "n1", "x@10")
	c.finish(10, c.start(10, "p")[0], eviction.OutcomeBlocked)
	c.start(10, "q")
}

// demand.md, requests: the words are the caller's. Nothing says that the node
// is lost, which may be healthy.
func TestE10EvictedNodeSaysWhatTheCallerSays(t *testing.T) {
	play(t, sceneOptions{nodeMode: true, reason: "drained for an upgrade"}, func(s *scene) {
		s.acts(eviction.OutcomeEvicted, "patch", "delete")
		require.Contains(s, s.calls[0].patch, `"reason":"EvictionRequested"`)
		require.Contains(s, s.calls[0].patch,
			`"message":"All pods are evicted from node n1: drained for an upgrade."`)
		for _, untrue := range []string{"NodeLost", "not ready", "respond", "NodeLifecycle"} {
			require.NotContains(s, s.calls[0].patch, untrue)
		}
		require.Empty(s, s.get("ns", "p").Status.Reason)
	})
}

// The pod of a node that is gone leaves when it is asked for, also when that is
// confirmed. Else it would be handed out each second, for ever.
func TestE10RequestOutlastsTheNodeAlsoWhenItIsConfirmed(t *testing.T) {
	for _, evict := range []bool{false, true} {
		play(t, sceneOptions{confirm: true, evict: evict}, func(s *scene) {
			require.True(s, s.tracker.EvictPod(time.Now(), "p", "moved", time.Time{}))
			delete(s.nodes, "n1")
			s.tracker.ForgetNode(time.Now(), "n1")
			s.fails(eviction.Result{Outcome: eviction.OutcomeFailed})
			require.Equal(s, eviction.ReasonRequested, s.work.Decision.Reason)
			verbs := []string{"get pod", "get node", "patch", "delete"}
			if evict {
				verbs = []string{"get pod", "get node", "evict"}
			}
			result := s.acts(eviction.OutcomeEvicted, verbs...)
			require.Empty(s, result.Reason)
		})
	}
}
