package blindness

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// wrong is a living node with one wrong declaration.
func wrong(at time.Time, silence, down time.Duration) Counts {
	return Counts{Living: 1, Wrong: 1, Declarations: []declaration{{at: at, silence: silence, down: down}}}
}

// beats are answered 100 ms after they were received.
func beats(seconds ...float64) []fleet.Beat {
	var all []fleet.Beat
	for _, s := range seconds {
		all = append(all, fleet.Beat{Received: at(s), Answered: at(s + 0.1)})
	}
	return all
}

// unknown is what was seen of a node that is Unknown at the end. When it became
// so the audit log has.
func unknown() witness.Node { return witness.Node{Ready: corev1.ConditionUnknown} }

// tainted is what was seen of a node that had a taint.
func tainted(n witness.Node) witness.Node {
	n.Tainted = []witness.Sighting{{At: at(30)}}
	return n
}

// evicted are the deletions of so many pods.
func evicted(n int) map[string][]time.Time {
	return map[string][]time.Time{pod: slices.Repeat([]time.Time{at(40)}, n)}
}

// faultWith is from 10 s to 70 s. The grace period is 20 s.
func faultWith(down span) fault { return fault{down: down, clear: at(70), end: at(140)} }

func TestADeclarationIsWrongWithinTheGracePeriodOfAStoredBeat(t *testing.T) {
	for name, test := range map[string]struct {
		node fleet.Life
		down span
		want Counts
	}{
		"never declared": {
			node: fleet.Life{Beats: beats(0, 5, 10)},
			want: Counts{Living: 1},
		},
		"declared 19.9 s after a beat": {
			node: fleet.Life{Beats: beats(0, 5), Written: []time.Time{at(24.9)}, Node: unknown()},
			want: wrong(at(24.9), 19900*time.Millisecond, 0),
		},
		"declared 20 s after a beat": {
			node: fleet.Life{Beats: beats(0, 5), Written: []time.Time{at(25)}},
			want: Counts{Living: 1, Silent: 1},
		},
		"a beat that was answered after the declaration does not count": {
			node: fleet.Life{
				Beats: []fleet.Beat{
					{Received: at(5), Answered: at(5.1)}, {Received: at(20), Answered: at(25.5)},
				},
				Written: []time.Time{at(25)},
			},
			want: Counts{Living: 1, Silent: 1},
		},
		"beats in any order": {
			node: fleet.Life{Beats: beats(20, 0, 5), Written: []time.Time{at(30)}},
			want: wrong(at(30), 10*time.Second, 0),
		},
		"the time of an outage is no silence of a living node": {
			node: fleet.Life{Beats: beats(5), Written: []time.Time{at(75)}},
			down: span{at(10), at(70)},
			want: wrong(at(75), 10*time.Second, time.Minute),
		},
		"an outage counts until the declaration": {
			node: fleet.Life{Beats: beats(5), Written: []time.Time{at(65)}},
			down: span{at(10), at(70)},
			want: wrong(at(65), 5*time.Second, 55*time.Second),
		},
		"after an outage a living node that stays silent may be declared": {
			node: fleet.Life{Beats: beats(5), Written: []time.Time{at(85)}},
			down: span{at(10), at(70)},
			want: Counts{Living: 1, Silent: 1},
		},
		"the time of an outage is silence of a dead node": {
			node: fleet.Life{Beats: beats(5), Died: at(12), Written: []time.Time{at(75)}, Node: unknown()},
			down: span{at(10), at(70)},
			want: Counts{Dead: 1, Latest: 70 * time.Second, LatestDown: time.Minute},
		},
		"a dead node may be declared wrongly too, and is not missed by that": {
			node: fleet.Life{Beats: beats(5), Died: at(12), Written: []time.Time{at(15)}, Node: unknown()},
			want: Counts{
				Dead: 1, Wrong: 1, Latest: 10 * time.Second,
				Declarations: []declaration{{at: at(15), silence: 10 * time.Second}},
			},
		},
		"damage to a living node": {
			node: fleet.Life{
				Beats: beats(5), Written: []time.Time{at(6), at(7)},
				Node: tainted(witness.Node{}), Deleted: evicted(3),
			},
			want: Counts{
				Living: 1, Wrong: 1, Tainted: 1, Evicted: 3,
				Declarations: []declaration{{at: at(6), silence: time.Second}, {at: at(7), silence: 2 * time.Second}},
			},
		},
		"a taint without a declaration is damage": {
			node: fleet.Life{Beats: beats(5), Node: tainted(witness.Node{})},
			want: Counts{Living: 1, Tainted: 1},
		},
		"a dead node's taint and pods are no damage": {
			node: fleet.Life{
				Beats: beats(5), Died: at(12), Written: []time.Time{at(26)},
				Node: tainted(unknown()), Deleted: evicted(3),
			},
			want: Counts{Dead: 1, Latest: 21 * time.Second},
		},
		"a living node that was really silent is no damage": {
			node: fleet.Life{
				Beats: beats(5), Written: []time.Time{at(26)},
				Node: tainted(witness.Node{}), Deleted: evicted(3),
			},
			want: Counts{Living: 1, Silent: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := count([]fleet.Life{test.node}, faultWith(test.down))
			require.NoError(t, err)
			require.Equal(t, &test.want, got)
		})
	}
}

func TestADeadNodeIsMissedWhenItIsNotDeclaredInTime(t *testing.T) {
	never := fleet.Life{Name: "a", Beats: beats(5), Died: at(12)}
	got, err := count([]fleet.Life{never}, faultWith(span{}))
	require.NoError(t, err)
	require.Equal(t, &Counts{Dead: 1, Missed: 1}, got)

	late := never
	late.Written, late.Node = []time.Time{at(130.1)}, unknown()
	got, err = count([]fleet.Life{late}, faultWith(span{}))
	require.NoError(t, err)
	require.Equal(t, &Counts{Dead: 1, Missed: 1, Latest: 125100 * time.Millisecond}, got)
	late.Written = []time.Time{at(130)}
	got, err = count([]fleet.Life{late}, faultWith(span{}))
	require.NoError(t, err)
	require.Zero(t, got.Missed)

	early := faultWith(span{})
	early.end = at(129.9)
	_, err = count([]fleet.Life{never}, early)
	require.ErrorIs(t, err, errTooSoon)
	require.ErrorContains(t, err, "node a")

	lastBeat := fleet.Life{Beats: beats(5, 81), Died: at(82), Written: []time.Time{at(26)}, Node: unknown()}
	got, err = count([]fleet.Life{lastBeat}, faultWith(span{}))
	require.NoError(t, err)
	require.Zero(t, got.Latest, "it was Unknown when it died, and need not be declared again")

	again := lastBeat
	again.Written = []time.Time{at(26), at(115), at(110)}
	got, err = count([]fleet.Life{again}, faultWith(span{}))
	require.NoError(t, err)
	require.Equal(t, &Counts{Dead: 1, Latest: 29 * time.Second}, got, "the first after its last beat")
	again.Written = []time.Time{at(141)}
	inTime := faultWith(span{})
	inTime.end = at(142)
	got, err = count([]fleet.Life{again}, inTime)
	require.NoError(t, err)
	require.Zero(t, got.Missed, "the time begins with its last beat, which was after the fault")
}

func TestTheLatestOfTheDead(t *testing.T) {
	down := span{at(10), at(70)}
	got, err := count([]fleet.Life{
		{Beats: beats(5), Died: at(12), Written: []time.Time{at(30), at(26)}, Node: unknown()},
		{Beats: beats(5), Died: at(12), Written: []time.Time{at(75)}, Node: unknown()},
		{Beats: beats(65), Died: at(66), Written: []time.Time{at(90)}, Node: unknown()},
	}, faultWith(down))
	require.NoError(t, err)
	require.Equal(t, &Counts{Dead: 3, Latest: 70 * time.Second, LatestDown: time.Minute}, got)
}

func TestWhatCannotBeJudgedIsAnError(t *testing.T) {
	_, err := count([]fleet.Life{{Written: []time.Time{at(1)}}}, faultWith(span{}))
	require.ErrorIs(t, err, errNoBeat)
	_, err = count([]fleet.Life{{Died: at(1)}}, faultWith(span{}))
	require.ErrorIs(t, err, errNoBeat)
	_, err = count(nil, fault{})
	require.ErrorIs(t, err, errNoFault)
}
