package eviction_test

import (
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
)

// since is a taint that starts at a time.
func since(spec string, start float64) eviction.Taint {
	return eviction.Taint{Taint: taintList(spec)[0], Start: at(start)}
}

// resident is a pod that has been on its node for long.
func resident(tolerations ...string) eviction.Pod {
	return eviction.Pod{Tolerations: tolerationList(tolerations...), Arrived: at(-1000)}
}

func TestE1Decide(t *testing.T) {
	stays := math.NaN()
	for name, test := range map[string]struct {
		on     []eviction.Taint
		pod    eviction.Pod
		reason eviction.Reason
		due    float64
		taint  string
	}{
		"no taints": {
			pod: resident(), reason: eviction.ReasonNoTaints, due: stays,
		},
		"no taints, an empty list": {
			on: []eviction.Taint{}, pod: resident("a:0"), reason: eviction.ReasonNoTaints, due: stays,
		},
		"untolerated": {
			on: []eviction.Taint{since("a", 3)}, pod: resident("b"), reason: eviction.ReasonUntolerated,
			due: 3, taint: "a",
		},
		"untolerated, but the pod came later": {
			on:  []eviction.Taint{since("a", 3)},
			pod: eviction.Pod{Arrived: at(20)}, reason: eviction.ReasonUntolerated, due: 20,
			taint: "a",
		},
		"tolerated for ever": {
			on: []eviction.Taint{since("a", 3)}, pod: resident("a"), reason: eviction.ReasonTolerated,
			due: stays,
		},
		"tolerated for some time": {
			on: []eviction.Taint{since("a", 3)}, pod: resident("a:60"),
			reason: eviction.ReasonTolerationEnds, due: 63, taint: "a",
		},
		"the pod came after the taint": {
			on:     []eviction.Taint{since("a", 3)},
			pod:    eviction.Pod{Tolerations: tolerationList("a:60"), Arrived: at(100)},
			reason: eviction.ReasonTolerationEnds, due: 160, taint: "a",
		},
		"zero seconds": {
			on: []eviction.Taint{since("a", 11)}, pod: resident("a:0"),
			reason: eviction.ReasonTolerationEnds, due: 11, taint: "a",
		},
		"negative seconds": {
			on: []eviction.Taint{since("a", 11)}, pod: resident("a:-5"),
			reason: eviction.ReasonTolerationEnds, due: 11, taint: "a",
		},
		"the least seconds": {
			on: []eviction.Taint{since("a", 11)}, pod: resident("a:" + strconv.FormatInt(math.MinInt64,
				10)), reason: eviction.ReasonTolerationEnds, due: 11, taint: "a",
		},
		"the most seconds are a century": {
			on: []eviction.Taint{since("a", 11)}, pod: resident("a:" + strconv.FormatInt(math.MaxInt64,
				10)), reason: eviction.ReasonTolerationEnds, due: 11 + 36500*86400, taint: "a",
		},
		"the earliest of several ends": {
			on:  []eviction.Taint{since("a", 0), since("b", 30), since("c", 40)},
			pod: resident("a:90", "b:20", "c:50"), reason: eviction.ReasonTolerationEnds, due: 50,
			taint: "b",
		},
		"seconds of one, for ever for the other": {
			on:  []eviction.Taint{since("a", 0), since("b", 30)},
			pod: resident("a", "b:20"), reason: eviction.ReasonTolerationEnds, due: 50, taint: "b",
		},
		"one of several untolerated": {
			on:  []eviction.Taint{since("a", 0), since("b", 30), since("c", 40)},
			pod: resident("a:90", "c:50"), reason: eviction.ReasonUntolerated, due: 30, taint: "b",
		},
		"the earliest of several untolerated": {
			on:  []eviction.Taint{since("a", 50), since("b", 30)},
			pod: resident(), reason: eviction.ReasonUntolerated, due: 30, taint: "b",
		},
		"it had to leave before the untolerated one came": {
			on:  []eviction.Taint{since("a", 50), since("b", 0)},
			pod: resident("b:20"), reason: eviction.ReasonTolerationEnds, due: 20, taint: "b",
		},
		"another value": {
			on: []eviction.Taint{since("a=x", 3)}, pod: resident("a=y"),
			reason: eviction.ReasonUntolerated, due: 3, taint: "a=x",
		},
		"the key that is any": {
			on: []eviction.Taint{since("a=x", 3)}, pod: resident("*:5"),
			reason: eviction.ReasonTolerationEnds, due: 8, taint: "a=x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			decision := eviction.Decide(test.on, test.pod, taints.Matcher{})
			require.Equal(t, test.reason, decision.Reason)
			if math.IsNaN(test.due) {
				require.Equal(t, eviction.Decision{Reason: test.reason}, decision)
				require.False(t, decision.Leaves())
				require.False(t, decision.DueAt(at(1e9)))
				return
			}
			require.Equal(t, test.due, decision.Due.Sub(at(0)).Seconds())
			require.True(t, decision.Leaves())
			require.True(t, decision.DueAt(decision.Due))
			require.False(t, decision.DueAt(decision.Due.Add(-1)))
			require.Equal(t, taintList(test.taint)[0].ToString(), decision.Taint.ToString())
			require.Equal(t, test.reason == eviction.ReasonTolerationEnds, decision.Toleration != nil)
		})
	}
}

// demand.md, eviction, zero-taints trap: of several tolerations that match, the
// first counts, so their order matters.
func TestE1FirstMatchingTolerationCounts(t *testing.T) {
	on := []eviction.Taint{since("a=x", 0)}
	for _, test := range []struct {
		tolerations []string
		due         float64
	}{
		{[]string{"a:60", "a:10"}, 60},
		{[]string{"a:10", "a:60"}, 10},
		{[]string{"b:1", "a=y:2", "a:10", "*:60"}, 10},
		{[]string{"*:60", "a=x:10"}, 60},
	} {
		decision := eviction.Decide(on, resident(test.tolerations...), taints.Matcher{})
		require.Equal(t, test.due, decision.Due.Sub(at(0)).Seconds(), "%v", test.tolerations)
	}
	require.False(t, eviction.Decide(on, resident("a", "a:10"), taints.Matcher{}).Leaves())
	require.True(t, eviction.Decide(on, resident("a:10", "a"), taints.Matcher{}).Leaves())
}

// demand.md, eviction, zero-taints trap: upstream's function evicts at once if
// it is called for a node without taints. Whatever a pod tolerates, without
// them it stays.
func TestE1WithoutTaintsNoPodLeaves(t *testing.T) {
	for _, tolerations := range [][]string{nil, {"a"}, {"a:0"}, {"*:-1"}, {"a:60", "*"}} {
		for _, on := range [][]eviction.Taint{nil, {}} {
			require.Equal(t, eviction.Decision{Reason: eviction.ReasonNoTaints},
				eviction.Decide(on, resident(tolerations...), taints.Matcher{}))
		}
		c := running(t, newPod("p", tolerates(tolerations...)))
		c.node(5, "n1", "a:NoSchedule", "b:PreferNoSchedule")
		c.node(6, "n1")
		c.stays("p", eviction.ReasonNoTaints)
		c.idle(1e6)
	}
}

func TestE1TolerationOfAnotherEffectIsNone(t *testing.T) {
	on := []eviction.Taint{since("a", 0)}
	pod := resident("a")
	pod.Tolerations[0].Effect = corev1.TaintEffectNoSchedule
	require.Equal(t, eviction.ReasonUntolerated, eviction.Decide(on, pod, taints.Matcher{}).Reason)
	pod.Tolerations[0].Effect = ""
	require.Equal(t, eviction.ReasonTolerated, eviction.Decide(on, pod, taints.Matcher{}).Reason)
}

func TestE1NumbersAreComparedBehindTheSwitch(t *testing.T) {
	on := []eviction.Taint{since("load=90", 0)}
	pod := resident("load=100:60")
	pod.Tolerations[0].Operator = corev1.TolerationOpLt
	require.Equal(t, eviction.ReasonUntolerated, eviction.Decide(on, pod, taints.Matcher{}).Reason)
	require.Equal(t, eviction.ReasonTolerationEnds,
		eviction.Decide(on, pod, taints.Matcher{EnableComparisonOperators: true}).Reason)
}

// With all times zero Decide still returns a pod that leaves.
func TestE1LeavesDoesNotDependOnTheDate(t *testing.T) {
	on := []eviction.Taint{{Taint: taintList("a")[0]}}
	decision := eviction.Decide(on, eviction.Pod{}, taints.Matcher{})
	require.Equal(t, eviction.ReasonUntolerated, decision.Reason)
	require.True(t, decision.Leaves())
	require.True(t, decision.DueAt(at(0)))
}

func TestE1DecideDoesNotModifyItsArguments(t *testing.T) {
	on := []eviction.Taint{since("a@3", 3), since("b", 3)}
	pod := resident("a:60", "b:70")
	taintsBefore, tolerationsBefore := slices.Clone(on), slices.Clone(pod.Tolerations)
	eviction.Decide(on, pod, taints.Matcher{})
	require.Equal(t, taintsBefore, on)
	require.Equal(t, tolerationsBefore, pod.Tolerations)
}

func TestE2StartTime(t *testing.T) {
	const missing = math.MaxFloat64
	for name, test := range map[string]struct {
		stored, seen float64
		appeared     bool
		want         float64
	}{
		"stored in whole seconds":              {100, 100.25, true, 100.25},
		"the same, found at our start":         {100, 100.25, false, 100.25},
		"stored in the second that it is seen": {100, 100, true, 100},
		"missing":                              {missing, 100.25, true, 100.25},
		"missing, found":                       {missing, 100.25, false, 100.25},
		"in the future":                        {101, 100.25, true, 100.25},
		"in the future, found":                 {101, 100.25, false, 100.25},
		"a year in the future, found":          {31_536_000, 100.25, false, 100.25},
		"ten seconds ago":                      {90, 100, true, 91},
		"eleven seconds ago":                   {89, 100, true, 90},
		"more than eleven seconds ago":         {88, 100.25, true, 90.25},
		"stored in the second before":          {100, 101.25, true, 101},
		"an hour ago":                          {-3500, 100, true, 90},
		"more than ten seconds ago, found":     {89, 100, false, 90},
		"an hour ago, found":                   {-3500, 100, false, -3499},
	} {
		t.Run(name, func(t *testing.T) {
			stored := stamp(0)
			*stored = *stamp(min(test.stored, 1e9))
			if test.stored == missing {
				stored = nil
			}
			began := eviction.StartTime(stored, at(test.seen), test.appeared)
			require.Equal(t, test.want, began.Sub(at(0)).Seconds())
			if stored != nil {
				return
			}
			stored = stamp(0)
			stored.Time = time.Time{} // how protobuf decodes an empty field
			require.Equal(t, began, eviction.StartTime(stored, at(test.seen), test.appeared))
		})
	}
}

// A mistyped time is only a time long past.
func TestE2StartTimeOfTheFirstYearsIsLongAgo(t *testing.T) {
	for _, year := range []int{-100, 0, 1, 2, 1000, 1733} {
		stored := stamp(0)
		stored.Time = time.Date(year, 12, 31, 23, 59, 59, 0, time.UTC)
		require.Equal(t, at(-10), eviction.StartTime(stored, at(0), true), "%d", year)
		began := eviction.StartTime(stored, at(0), false)
		require.False(t, began.IsZero(), "%d", year)
		require.True(t, began.Before(at(-86400*365*200)), "%d", year)
	}
}

// Wall clocks are set while we run. What was counted from a stored time must
// not move then, so it keeps the monotonic reading of when it was seen.
func TestE2StartTimeKeepsTheMonotonicReading(t *testing.T) {
	seen := time.Now()
	stored := stamp(0)
	stored.Time = seen.Round(0).Add(-5 * time.Second)
	began := eviction.StartTime(stored, seen, true)
	require.Equal(t, -4*time.Second, began.Sub(seen))
	require.Contains(t, began.String(), " m=")
}
