package judge_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/detection/judge"
)

const grace = 10 * time.Second

var begun = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return begun.Add(time.Duration(seconds * float64(time.Second))) }

// since is a state that begins at a time and lasts.
func since(seconds float64) []judge.Span { return []judge.Span{{From: at(seconds)}} }

// dead is a node that sent its last heartbeat at 0 and died at 2. It was
// Unknown at 12 and tainted at 13.
func dead(pods ...judge.Pod) judge.Node {
	return judge.Node{
		Name: "a-0", Died: at(2), LastBeat: at(0), Unknown: since(12), Tainted: since(13.2), TaintAdded: at(13), Pods: pods,
	}
}

// untimed is a dead node with a taint that does not say when it was added.
func untimed(pod judge.Pod) judge.Node {
	return judge.Node{Died: at(2), LastBeat: at(1), Unknown: since(11), Tainted: since(11), Pods: []judge.Pod{pod}}
}

func living(pods ...judge.Pod) judge.Node {
	return judge.Node{Name: "b-0", LastBeat: at(60), Pods: pods}
}

func judged(t *testing.T, nodes ...judge.Node) judge.Verdict {
	t.Helper()
	v, err := judge.Judge(nodes, grace)
	require.NoError(t, err)
	return v
}

func TestDelaysCountFromTheDeathAndWithoutTheToleration(t *testing.T) {
	v := judged(t, living(judge.Pod{Name: "stays"}), dead(
		judge.Pod{Name: "soon", Evicted: at(14)},
		judge.Pod{Name: "patient", Tolerates: 5 * time.Second, Evicted: at(20)},
		judge.Pod{Name: "tolerant", Tolerates: judge.Forever},
	))
	require.NoError(t, v.Err())
	require.Equal(t, judge.Verdict{
		Living: 1, Dead: 1, Detected: judge.Delays{10 * time.Second},
		Tainted: judge.Delays{11200 * time.Millisecond}, Evicted: judge.Delays{12 * time.Second, 13 * time.Second},
	}, v)
}

func TestWrongEvictions(t *testing.T) {
	const patient = 5 * time.Second
	for name, test := range map[string]struct {
		node judge.Node
		want judge.Wrong // empty: it is right
	}{
		"on a living node":              {living(judge.Pod{Evicted: at(40)}), judge.WrongLiving},
		"tolerant, on a living node":    {living(judge.Pod{Evicted: at(40), Tolerates: judge.Forever}), judge.WrongLiving},
		"tolerant":                      {dead(judge.Pod{Evicted: at(40), Tolerates: judge.Forever}), judge.WrongTolerant},
		"before the node died":          {dead(judge.Pod{Evicted: at(1)}), judge.WrongEarly},
		"before its toleration is over": {dead(judge.Pod{Evicted: at(17.9), Tolerates: patient}), judge.WrongEarly},
		"when its toleration is over":   {dead(judge.Pod{Evicted: at(18), Tolerates: patient}), ""},
		"when the node is tainted":      {dead(judge.Pod{Evicted: at(13)}), ""},
		"before the taint, which says so": {
			dead(judge.Pod{Evicted: at(12.9)}), judge.WrongEarly,
		},
		"within the grace period, of a taint without a time": {
			untimed(judge.Pod{Evicted: at(10.9)}), judge.WrongEarly,
		},
		"within its toleration, of a taint without a time": {
			untimed(judge.Pod{Evicted: at(15.9), Tolerates: patient}), judge.WrongEarly,
		},
		"after the grace period, of a taint without a time": {
			untimed(judge.Pod{Evicted: at(11)}), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := judged(t, test.node, dead(judge.Pod{Evicted: at(14)}))
			if test.want == "" {
				require.NoError(t, v.Err())
				return
			}
			require.Error(t, v.Err())
			require.Equal(t, 1, v.Of(test.want))
			require.Len(t, v.Faults, 1)
		})
	}
}

func TestWhatIsMissed(t *testing.T) {
	pod := judge.Pod{Evicted: at(20)}
	untainted, unseen := dead(pod), dead(pod)
	untainted.Tainted, unseen.Unknown = nil, nil
	v := judged(t, untainted, unseen, dead(pod))
	require.Equal(t, 2, v.Missed)
	require.Len(t, v.Detected, 2)
	require.Len(t, v.Tainted, 2)
	require.ErrorContains(t, v.Err(), "2 dead nodes missed")

	v = judged(t, dead(pod, judge.Pod{}, judge.Pod{Tolerates: judge.Forever}))
	require.Equal(t, 1, v.Left, "a tolerant one stays")
	require.ErrorContains(t, v.Err(), "1 pods left")

	unknown, tainted := living(), living()
	unknown.Unknown, tainted.Tainted = since(50), since(50)
	v = judged(t, dead(pod), unknown, tainted, living())
	require.Equal(t, 2, v.Declared)
	require.ErrorContains(t, v.Err(), "2 living nodes declared")
}

// A node of which a subject has said before its grace period was over that it
// is dead was living then, though it died later.
func TestADeclarationBeforeTheGracePeriodIsOverIsNoDetection(t *testing.T) {
	pod := judge.Pod{Evicted: at(20)}
	early, wrong, again, lucky := dead(pod), dead(pod), dead(pod), dead(pod)
	early.Unknown = since(9.9)
	wrong.Unknown = []judge.Span{{From: at(-60), To: at(-50)}}
	again.Tainted = append([]judge.Span{{From: at(-60), To: at(-50)}}, again.Tainted...)
	lucky.Unknown = since(10)
	v := judged(t, early, wrong, again, lucky)
	require.Equal(t, 3, v.Declared)
	require.Equal(t, 1, v.Missed, "nothing has said since that it is dead")
	require.Equal(t, judge.Delays{8 * time.Second}, v.Detected)
	require.Equal(t, judge.Delays{11200 * time.Millisecond}, v.Tainted)
	require.ErrorContains(t, v.Err(), "3 living nodes declared, 1 dead nodes missed")
}

func TestAHistoryThatProvesNothingIsAnError(t *testing.T) {
	v := judged(t, living(judge.Pod{}))
	require.Error(t, v.Err(), "no node died")
	v = judged(t, dead(judge.Pod{Tolerates: judge.Forever}))
	require.Error(t, v.Err(), "no pod had to leave")
	silent := living()
	silent.Silence = grace - 1
	judged(t, silent)
	silent.Silence = grace
	_, err := judge.Judge([]judge.Node{dead(), silent}, grace)
	require.ErrorIs(t, err, judge.ErrSilent)
	require.ErrorContains(t, err, "b-0 for 10s")
	silent = dead()
	silent.Silence = grace
	_, err = judge.Judge([]judge.Node{silent}, grace)
	require.ErrorIs(t, err, judge.ErrSilent, "before it died")
}

func TestQuantilesAreNearestRanks(t *testing.T) {
	var d judge.Delays
	for i := 200; i >= 1; i-- {
		d = append(d, time.Duration(i))
	}
	for share, want := range map[float64]time.Duration{0: 1, 0.5: 100, 0.99: 198, 1: 200} {
		require.Equal(t, want, d.Quantile(share), share)
	}
	require.Equal(t, time.Duration(200), d[0], "the order stays")
	three := judge.Delays{3, 1, 2}
	require.Equal(t, time.Duration(2), three.Quantile(0.5))
	require.Equal(t, time.Duration(3), three.Quantile(0.99))
	require.Zero(t, judge.Delays(nil).Quantile(0.5))
}
