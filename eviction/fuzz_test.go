package eviction_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
)

// A tape turns the bytes of a fuzzer into values, and into zeros when they end.
type tape struct{ bytes []byte }

func (t *tape) next() byte {
	if len(t.bytes) == 0 {
		return 0
	}
	b := t.bytes[0]
	t.bytes = t.bytes[1:]
	return b
}

func (t *tape) number() int64 {
	var buffer [8]byte
	for i := range buffer {
		buffer[i] = t.next()
	}
	return int64(binary.LittleEndian.Uint64(buffer[:]))
}

func (t *tape) text() string { return []string{"", "a", "b", "7", "90"}[t.next()%5] }

// moment is a time within some months or, seldom, within a century.
func (t *tape) moment() time.Time {
	if t.next()%8 == 0 {
		return at(0).Add(time.Duration(t.number()) / 3)
	}
	return at(float64(int8(t.next()))*60 + float64(t.next()))
}

func (t *tape) seconds() *int64 {
	var seconds int64
	switch t.next() % 8 {
	case 0:
		return nil
	case 1:
		seconds = t.number()
	case 2:
		seconds = 0
	case 3:
		seconds = math.MaxInt64 - int64(t.next())
	default:
		seconds = int64(int8(t.next())) * 10
	}
	return &seconds
}

func (t *tape) taint() eviction.Taint {
	return eviction.Taint{
		Taint: corev1.Taint{Key: t.text(), Value: t.text(), Effect: corev1.TaintEffectNoExecute},
		Start: t.moment(),
	}
}

func (t *tape) toleration() corev1.Toleration {
	operators := []corev1.TolerationOperator{"", corev1.TolerationOpExists, corev1.TolerationOpExists,
		corev1.TolerationOpEqual, corev1.TolerationOpLt, corev1.TolerationOpGt, "nonsense"}
	effects := []corev1.TaintEffect{"", corev1.TaintEffectNoExecute, corev1.TaintEffectNoExecute,
		corev1.TaintEffectNoSchedule}
	return corev1.Toleration{
		Key: t.text(), Value: t.text(), TolerationSeconds: t.seconds(),
		Operator: operators[int(t.next())%len(operators)],
		Effect:   effects[int(t.next())%len(effects)],
	}
}

func FuzzDecide(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{2, 2, 1, 1, 0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1, 4, 3, 1, 1, 1, 1, 5, 6, 1, 1})
	f.Add([]byte{3, 1, 1, 1, 1, 1, 10, 0, 1, 10, 0, 1, 1, 1, 0, 0, 1, 2, 1, 1, 1, 5, 6, 1, 5, 6, 0, 1,
		1, 1})
	f.Add([]byte("a tainted node and a pod that tolerates some of that for a while, " +
		"or not at all, it varies"))
	f.Fuzz(requireLaws)
}

// The same with random bytes, so that every run of the tests has some.
func TestE1LawsOfDecide(t *testing.T) {
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 0))
		bytes := make([]byte, 150)
		for i := range bytes {
			bytes[i] = byte(random.Uint32())
		}
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { requireLaws(t, bytes) }) {
			return
		}
	}
}

// requireLaws checks what holds for every decision: one more taint never gives
// a pod more time, and a longer toleration never less.
func requireLaws(t *testing.T, bytes []byte) {
	tape := &tape{bytes}
	matcher := taints.Matcher{EnableComparisonOperators: tape.next()%2 == 0}
	var on []eviction.Taint
	for range tape.next() % 5 {
		on = append(on, tape.taint())
	}
	pod := eviction.Pod{Arrived: tape.moment()}
	for range tape.next() % 5 {
		pod.Tolerations = append(pod.Tolerations, tape.toleration())
	}
	decision := eviction.Decide(on, pod, matcher)
	requireSound(t, on, pod, matcher, decision)

	more := slices.Insert(slices.Clone(on), int(tape.next())%(len(on)+1), tape.taint())
	requireNotLater(t, eviction.Decide(more, pod, matcher), decision, "one more taint")

	for i := range pod.Tolerations {
		longer := pod
		longer.Tolerations = slices.Clone(pod.Tolerations)
		longer.Tolerations[i].TolerationSeconds = lengthened(pod.Tolerations[i].TolerationSeconds,
			tape.seconds())
		requireNotLater(t, decision, eviction.Decide(on, longer, matcher), "a longer toleration")
	}
}

// requireSound checks one decision against the promises.
func requireSound(t *testing.T, on []eviction.Taint, pod eviction.Pod, matcher taints.Matcher,
	decision eviction.Decision) {
	t.Helper()
	require.Equal(t, decision.Leaves(), decision.Reason == eviction.ReasonUntolerated ||
		decision.Reason == eviction.ReasonTolerationEnds)
	require.Equal(t, len(on) == 0, decision.Reason == eviction.ReasonNoTaints)
	switch decision.Reason {
	case eviction.ReasonNoTaints, eviction.ReasonTolerated:
		require.Equal(t, eviction.Decision{Reason: decision.Reason}, decision)
		for i := range on {
			toleration := matcher.First(pod.Tolerations, &on[i].Taint)
			require.NotNil(t, toleration)
			require.Nil(t, toleration.TolerationSeconds)
		}
	case eviction.ReasonUntolerated:
		require.Contains(t, on, decision.Taint)
		require.Nil(t, matcher.First(pod.Tolerations, &decision.Taint.Taint))
		require.False(t, decision.Due.Before(decision.Taint.Start), "before the taint counts")
		require.False(t, decision.Due.Before(pod.Arrived), "before the pod arrived")
	case eviction.ReasonTolerationEnds:
		require.Contains(t, on, decision.Taint)
		require.Same(t, matcher.First(pod.Tolerations, &decision.Taint.Taint), decision.Toleration)
		if *decision.Toleration.TolerationSeconds > 0 {
			require.True(t, decision.Due.After(decision.Taint.Start), "before the taint's start")
			require.True(t, decision.Due.After(pod.Arrived), "before the pod's arrival")
		}
	default:
		require.Fail(t, "no such reason for Decide", "%v", decision)
	}
}

func requireNotLater(t *testing.T, sooner, later eviction.Decision, why string) {
	t.Helper()
	if later.Leaves() {
		require.True(t, sooner.Leaves(), why)
		require.False(t, sooner.Due.After(later.Due), "%s: %v, and not after %v", why, sooner, later)
	}
}

// lengthened is the longer of the two, where nil is endless.
func lengthened(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	longer := max(*a, *b)
	return &longer
}

// The whole of a Tracker's rule, with a node that is evicted as a whole at some
// time. The decision about a pod is that of Decide, or ReasonNodeEvicted if the
// pod leaves sooner by that. Canceling the node's eviction leaves nothing of
// it.
func FuzzNodeEvicted(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 3, 9, 1, 1, 1, 40, 2, 1, 1, 1, 3, 4, 5, 6, 7, 8, 9, 20, 30})
	f.Add([]byte("a node that is evicted, and a pod that tolerates all of its taints for a while"))
	f.Fuzz(requireNodeEvicted)
}

// The same with random bytes, so that every run of the tests has some.
func TestE9LawsOfNodeEvicted(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 9))
		bytes := make([]byte, 150)
		for i := range bytes {
			bytes[i] = byte(random.Uint32())
		}
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { requireNodeEvicted(t, bytes) }) {
			return
		}
	}
}

func requireNodeEvicted(t *testing.T, bytes []byte) {
	tape := &tape{bytes}
	node, pod := newNode("n1"), newPod("p")
	for range tape.next() % 4 {
		taint := tape.taint().Taint
		taint.TimeAdded = &metav1.Time{Time: tape.moment().Truncate(time.Second)}
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
	for range tape.next() % 4 {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, tape.toleration())
	}
	bound(float64(int8(tape.next())) * 60)(pod)
	if tape.next()%4 == 0 {
		ofDaemonSet(pod)
	}
	// Each event comes some time after the one before, or at the same time.
	now := at(0)
	instant := func() time.Time {
		now = now.Add(time.Duration(tape.next()) * time.Second)
		return now
	}
	c := startUp(t, 0)
	podFirst := tape.next()%2 == 0
	var podSeen, evicted time.Time
	if podFirst {
		podSeen = instant()
		c.ObservePod(podSeen, pod)
	}
	c.ObserveNode(instant(), node)
	if !podFirst {
		podSeen = instant()
		c.ObservePod(podSeen, pod)
	}
	before, _ := c.Decision("p")
	require.NotEqual(t, eviction.ReasonNodeEvicted, before.Reason)

	evicted = instant()
	c.EvictNode(evicted, "n1", eviction.NodeRequest{Reason: "drain"})
	during, _ := c.Decision("p")
	switch {
	case eviction.IsDaemonSetPod(pod), before.Leaves() && !before.Due.After(evicted):
		require.Equal(t, before, during)
	default:
		require.Equal(t, eviction.Decision{Reason: eviction.ReasonNodeEvicted, Due: evicted,
			Request: "drain"}, during)
	}
	c.ObservePod(instant(), pod)
	c.ObserveNode(instant(), node)
	c.EvictNode(instant(), "n1", eviction.NodeRequest{Reason: "drain"})
	again, _ := c.Decision("p")
	require.Equal(t, during, again, "observing it again changes nothing")
	c.MarkSynced()
	task, ok := c.Start(now)
	require.Equal(t, during.DueAt(now), ok)
	if ok {
		require.Equal(t, during, task.Decision)
		live := task.Reevaluate(pod, node, now)
		require.Equal(t, during.Reason, live.Reason)
		require.True(t, during.Due.Equal(live.Due))
	}
	c.CancelNodeEviction(instant(), "n1")
	after, _ := c.Decision("p")
	require.Equal(t, before, after, "nothing is left of it")
	require.Equal(t, ok && !before.DueAt(now), task.Canceled())
}

func FuzzStartTime(f *testing.F) {
	f.Add(int64(0), int64(0), true, true)
	f.Add(int64(-11), int64(500_000_000), true, true)
	f.Add(int64(-11), int64(500_000_000), true, false)
	f.Add(int64(math.MaxInt64), int64(0), true, false)
	f.Add(int64(math.MinInt64), int64(1), false, false)
	f.Fuzz(func(t *testing.T, ago, nanos int64, there, appeared bool) {
		seen := at(0).Add(time.Duration(nanos) / 3) // some 97 years to either side
		stored := &metav1.Time{Time: time.Unix(seen.Unix()-ago, 0)}
		if !there {
			stored = nil
		}
		began := eviction.StartTime(stored, seen, appeared)
		require.Equal(t, began, eviction.StartTime(stored, seen, appeared))
		require.False(t, began.After(seen), "after it was seen")
		if !there || stored.IsZero() || stored.After(seen) {
			require.Equal(t, seen, began)
			return
		}
		require.False(t, began.Before(seen) && began.Before(stored.Add(time.Second)),
			"before the end of the second in which it can have been")
		if appeared {
			require.False(t, began.Before(seen.Add(-10*time.Second)), "a wrong clock was believed")
			return
		}
		if seen.Sub(stored.Time) < 290*365*24*time.Hour {
			end := stored.Add(time.Second)
			require.True(t, began.Equal(end) || end.After(seen), "a restart restarts the clock")
		}
	})
}
