package eviction_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
)

func ofDaemonSet(p *corev1.Pod) { controlledBy("DaemonSet", ptr.To(true))(p) }

// E9: before there were taints a node was emptied as a whole.
func TestE9AllPodsOfAnEvictedNodeLeaveAtOnce(t *testing.T) {
	c := running(t,
		newPod("tolerant", tolerates("*")), newPod("later", tolerates("a:300")),
		newPod("daemon", ofDaemonSet, tolerates("a:60")), newPod("going", terminating),
		newPod("elsewhere", on("n2")))
	c.node(5, "n1", "a@5", "b:NoSchedule")
	c.EvictNode(at(10), "n1", eviction.NodeRequest{Reason: "drain"})
	c.EvictNode(at(11), "n1", eviction.NodeRequest{Reason: "drain"}) // once more: nothing moves
	c.leavesAt("tolerant", 10)
	c.leavesAt("later", 10)
	for _, task := range c.start(12, "later", "tolerant") {
		require.Equal(t, eviction.ReasonNodeEvicted, task.Decision.Reason)
		require.Zero(t, task.Decision.Taint)
		require.Nil(t, task.Decision.Toleration)
		require.False(t, task.Canceled())
		c.finish(12, task, eviction.OutcomeEvicted)
	}
	c.stays("going", eviction.ReasonGone)
	c.stays("elsewhere", eviction.ReasonNoTaints)
	c.leavesAt("daemon", 65) // for the taint, as any pod
	c.startOne(65, "daemon")
}

func TestE9PodThatComesToAnEvictedNodeLeavesAtOnce(t *testing.T) {
	c := running(t)
	c.EvictNode(at(10), "n1", eviction.NodeRequest{Reason: "drain"})
	c.idle(100)
	c.pod(100, newPod("p", bound(100), tolerates("*")))
	c.pod(100, newPod("daemon", bound(100), ofDaemonSet))
	c.leavesAt("p", 100)
	c.stays("daemon", eviction.ReasonNoTaints)
	c.start(100, "p")
}

func TestE9WhatWasDueBeforeStaysDueThen(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:10")))
	c.node(0, "n1", "a@0")
	c.EvictNode(at(50), "n1", eviction.NodeRequest{Reason: "drain"})
	c.leavesAt("p", 10)
	require.Equal(t, eviction.ReasonTolerationEnds, c.start(50, "p")[0].Decision.Reason)
}

func TestE9CanceledNodeEvictionKeepsThePods(t *testing.T) {
	c := runningWith(t, twoSeconds, newPod("waits"), newPod("acts"), newPod("fails"),
		newPod("tainted", tolerates("a:60")))
	c.node(1, "n1")
	c.EvictNode(at(10), "n1", eviction.NodeRequest{Reason: "drain"})
	c.ForgetPod(at(1), "waits")
	works := c.start(10, "acts", "fails", "tainted")
	c.pod(10, newPod("waits"))
	c.finish(11, works[1], eviction.OutcomeFailed)
	c.finish(11, works[2], eviction.OutcomeFailed)
	c.node(11, "n1", "a@11")
	c.pod(11, newPod("acts", tolerates("a")))
	c.pod(11, newPod("waits", tolerates("a")))
	c.pod(11, newPod("fails", tolerates("a")))
	require.False(t, works[0].Canceled())

	c.CancelNodeEviction(at(12), "n1")
	c.CancelNodeEviction(at(12), "n1")
	c.CancelNodeEviction(at(12), "unknown")
	require.True(t, works[0].Canceled())
	c.stays("waits", eviction.ReasonTolerated)
	c.leavesAt("tainted", 71)
	c.finish(12, works[0], eviction.OutcomeNotDue)
	c.start(13)
	c.startOne(71, "tainted")
}

// Its successor of the same name is another node; and a node that was not
// observed is none.
func TestE9EvictedNodeThatIsRecreatedOrForgottenIsNotEvicted(t *testing.T) {
	c := running(t, newPod("p"), newPod("stray", on("n9")))
	c.stays("stray", eviction.ReasonNoTaints)

	c.EvictNode(at(2), "n1", eviction.NodeRequest{Reason: "drain"})
	c.leavesAt("p", 2)
	again := newNode("n1")
	again.UID = "another"
	c.ObserveNode(at(3), again)
	c.stays("p", eviction.ReasonNoTaints)
	c.EvictNode(at(4), "n1", eviction.NodeRequest{Reason: "drain"})
	c.leavesAt("p", 4)
	c.ForgetNode(at(5), "n1")
	c.stays("p", eviction.ReasonNoTaints)
	c.ObserveNode(at(6), again)
	c.stays("p", eviction.ReasonNoTaints)
	c.idle(7)
}

// Held taints do not evict; EvictNode is not a taint.
func TestE9HoldOfTaintsIsAboutTaints(t *testing.T) {
	c := running(t, newPod("p"), newPod("q"))
	c.hold(0, "ours", true)
	c.node(1, "n1", "NR@1")
	c.start(2)
	c.EvictNode(at(3), "n1", eviction.NodeRequest{Reason: "drain"})
	for _, task := range c.start(3, "p", "q") {
		require.Equal(t, eviction.ReasonNodeEvicted, task.Decision.Reason)
	}
	c.CancelNodeEviction(at(4), "n1")
	require.True(t, c.work("p").Canceled())

	c.pod(5, newPod("r"))
	c.hold(6, "requests", true)
	c.EvictNode(at(6), "n1", eviction.NodeRequest{Reason: "drain"})
	c.start(7)
	for p := range c.PodsOn("n1") {
		if p.Pod.Name == "r" {
			require.Equal(t, "ours", p.Hold)
		}
	}
	c.hold(8, "requests", false)
	require.Equal(t, eviction.ReasonNodeEvicted, c.start(8, "r")[0].Decision.Reason)
}

// Filters count for whole nodes too.
func TestE9ExemptPodsOfAnEvictedNodeStay(t *testing.T) {
	exempt := func(pod *corev1.Pod) bool { return eviction.IsMirrorPod(pod) || eviction.IsTerminal(pod) }
	c := runningWith(t, eviction.Config{Exempt: exempt}, newPod("mirror", mirror), newPod("done", inPhase(corev1.PodSucceeded)),
		newPod("p"))
	c.EvictNode(at(1), "n1", eviction.NodeRequest{Reason: "drain"})
	c.stays("mirror", eviction.ReasonExempt)
	c.stays("done", eviction.ReasonExempt)
	c.start(1, "p")
}

func TestE9ReevaluateKnowsThatTheNodeIsEvicted(t *testing.T) {
	c := running(t, newPod("p", tolerates("*")))
	c.EvictNode(at(10), "n1", eviction.NodeRequest{Reason: "drain"})
	task := c.start(10, "p")[0]
	for name, test := range map[string]struct {
		live *corev1.Pod
		on   *corev1.Node
		want eviction.Reason
	}{
		"all as it was":   {newPod("p", tolerates("*")), newNode("n1"), eviction.ReasonNodeEvicted},
		"tainted as well": {newPod("p"), newNode("n1", "a"), eviction.ReasonNodeEvicted},
		"of a DaemonSet":  {newPod("p", ofDaemonSet), newNode("n1"), eviction.ReasonNoTaints},
		"no node":         {newPod("p"), nil, eviction.ReasonGone},
	} {
		require.Equal(t, test.want, task.Reevaluate(test.live, test.on, at(11)).Reason, name)
	}
	again := newNode("n1")
	again.UID = "another"
	require.Equal(t, eviction.ReasonNoTaints, task.Reevaluate(newPod("p"), again, at(11)).Reason)
}

// E6: a node that was just read is asked whether its pods should still leave. The
// watch may show seconds later that it should not be emptied any more.
func TestE6NodeThatWasReadDecidesWhetherItIsStillEmptied(t *testing.T) {
	c := running(t, newPod("p", tolerates("a")))
	marked := func(node *corev1.Node) bool { return node.Labels["empty"] == "yes" }
	c.EvictNode(at(10), "n1", eviction.NodeRequest{Reason: "drain", While: marked})
	task := c.start(10, "p")[0]
	still, not := newNode("n1"), newNode("n1")
	still.Labels = map[string]string{"empty": "yes"}
	require.Equal(t, eviction.ReasonNodeEvicted, task.Reevaluate(newPod("p"), still, at(11)).Reason)
	require.Equal(t, eviction.ReasonNoTaints, task.Reevaluate(newPod("p"), not, at(11)).Reason)
	tainted := newNode("n1", "b@5")
	require.Equal(t, "b", task.Reevaluate(newPod("p"), tainted, at(11)).Taint.Key, "a taint needs no request")

	require.True(t, c.EvictNode(at(10), "n9", eviction.NodeRequest{While: marked}))
	c.ObserveNode(at(12), newNode("n9"))
	c.pod(12, newPod("late", on("n9")))
	awaited := c.start(12, "late")[0]
	require.Equal(t, eviction.ReasonNoTaints,
		awaited.Reevaluate(newPod("late", on("n9")), newNode("n9"), at(13)).Reason)
}

// E10: a request for a node that is not known waits for it. It is for one node
// of that name, and ends with it.
func TestE10RequestForANodeThatIsNotKnownWaitsForIt(t *testing.T) {
	c := running(t, newPod("early", on("n9")))
	drain := eviction.NodeRequest{Reason: "drain"}
	require.True(t, c.EvictNode(at(5), "n9", drain))
	require.True(t, c.EvictNode(at(5), "n8", drain))
	require.True(t, c.EvictNode(at(6), "n9", eviction.NodeRequest{Reason: "once more"}))
	awaited := maps.Collect(c.AwaitedNodes())
	drain.Since = at(5)
	require.Equal(t, map[string]eviction.NodeRequest{"n8": drain, "n9": drain}, awaited)
	require.True(t, c.CancelNodeEviction(at(6), "n8"))
	require.False(t, c.CancelNodeEviction(at(6), "n8"))
	c.start(7)

	c.node(10, "n9")
	for range c.AwaitedNodes() {
		t.Fatal("its node is known")
	}
	c.leavesAt("early", 5)
	c.pod(12, newPod("late", on("n9"), unbound))
	c.leavesAt("late", 12)
	task := c.start(12, "early", "late")[0]
	require.Equal(t, "drain", task.Decision.Request)
	again := newNode("n9")
	again.UID = "another"
	c.ObserveNode(at(13), again)
	require.True(t, task.Canceled())
	c.node(14, "n8")
	c.pod(14, newPod("kept", on("n8")))
	c.stays("kept", eviction.ReasonNoTaints)
}

// E10: with a UID it is for that node, whichever has the name now.
func TestE10RequestForANodeByItsUID(t *testing.T) {
	c := running(t, newPod("p"))
	require.True(t, c.EvictNode(at(5), "n1", eviction.NodeRequest{UID: "next"}))
	c.stays("p", eviction.ReasonNoTaints)
	next := newNode("n1")
	next.UID = "next"
	c.ObserveNode(at(8), next)
	c.leavesAt("p", 5)
	require.True(t, c.EvictNode(at(9), "n1", eviction.NodeRequest{UID: "next"}))
	c.leavesAt("p", 5)
	require.True(t, c.CancelNodeEviction(at(10), "n1"))
	require.False(t, c.CancelNodeEviction(at(10), "n1"))
	c.stays("p", eviction.ReasonNoTaints)
}

// E10: a caller that has asked before a restart says since when.
func TestE10RequestSaysSinceWhen(t *testing.T) {
	c := running(t, newPod("p"), newPod("later", bound(20)))
	c.EvictNode(at(100), "n1", eviction.NodeRequest{Since: at(-50)})
	c.leavesAt("p", -50)
	since, overdue := c.Overdue(at(100))
	require.True(t, overdue)
	require.Equal(t, at(-50), since)
	act := eviction.EvictThenDelete(nil, func(context.Context, eviction.Task) eviction.Result {
		return eviction.Result{Outcome: eviction.OutcomeEvicted}
	}, 2*time.Minute)
	result := act(t.Context(), c.start(100, "p", "later")[0])
	require.Equal(t, eviction.OutcomeEvicted, result.Outcome, "it is deleted already")
}

// Requests for nodes that never come use bounded memory, and the caller learns
// that.
func TestE10RequestsThatWaitAreBounded(t *testing.T) {
	c := running(t)
	for i := range 10_000 {
		require.True(t, c.EvictNode(at(1), fmt.Sprint("unknown-", i), eviction.NodeRequest{}))
	}
	require.False(t, c.EvictNode(at(1), "one more", eviction.NodeRequest{}))
	require.True(t, c.EvictNode(at(1), "unknown-1", eviction.NodeRequest{}), "it waits already")
	require.True(t, c.EvictNode(at(1), "n1", eviction.NodeRequest{}), "it is known")
	c.CancelNodeEviction(at(1), "unknown-7")
	require.True(t, c.EvictNode(at(1), "one more", eviction.NodeRequest{}))
}

// Pods that would come back to their node stay.
func TestE9PodsThatWouldComeBackStay(t *testing.T) {
	c := running(t, newPod("mirror", mirror), newPod("daemon", ofDaemonSet), newPod("p"),
		newPod("going", terminating))
	c.EvictNode(at(1), "n1", eviction.NodeRequest{})
	remaining := func() (names []string) {
		for p := range c.RemainingOn("n1") {
			names = append(names, p.Pod.Name)
		}
		slices.Sort(names)
		return names
	}
	require.Equal(t, []string{"going", "p"}, remaining())
	c.finish(1, c.start(1, "p")[0], eviction.OutcomeEvicted)
	require.Equal(t, []string{"going", "p"}, remaining(), "until they are gone")
	c.ForgetPod(at(2), "p")
	c.ForgetPod(at(2), "going")
	require.Empty(t, remaining())
	for range c.RemainingOn("unknown") {
		t.Fatal("it has no pods")
	}
}
