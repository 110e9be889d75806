package blindness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// wrong is a living node with one wrong declaration.
func wrong(at time.Time, silence, down time.Duration) Counts {
	return Counts{Living: 1, Wrong: 1, Declarations: []declaration{{at: at, silence: silence, down: down}}}
}

// beats are stored 100 ms after they were sent.
func beats(seconds ...float64) []fleet.Beat {
	var all []fleet.Beat
	for _, s := range seconds {
		all = append(all, fleet.Beat{Sent: at(s), Acknowledged: at(s + 0.1)})
	}
	return all
}

// faultWith is from 10 s to 70 s. The grace period is 20 s.
func faultWith(down span) fault { return fault{down: down, clear: at(70), end: at(140)} }

func TestADeclarationIsWrongWithinTheGracePeriodOfAStoredBeat(t *testing.T) {
	for name, test := range map[string]struct {
		node node
		down span
		want Counts
	}{
		"never declared": {
			node: node{beats: beats(0, 5, 10)},
			want: Counts{Living: 1},
		},
		"declared 19.9 s after a beat": {
			node: node{beats: beats(0, 5), declared: []time.Time{at(24.9)}, unknown: true},
			want: wrong(at(24.9), 19900*time.Millisecond, 0),
		},
		"declared 20 s after a beat": {
			node: node{beats: beats(0, 5), declared: []time.Time{at(25)}},
			want: Counts{Living: 1, Silent: 1},
		},
		"a beat that was acknowledged after the declaration does not count": {
			node: node{beats: []fleet.Beat{{Sent: at(5), Acknowledged: at(5.1)}, {Sent: at(20), Acknowledged: at(25.5)}}, declared: []time.Time{at(25)}},
			want: Counts{Living: 1, Silent: 1},
		},
		"beats in any order": {
			node: node{beats: beats(20, 0, 5), declared: []time.Time{at(30)}},
			want: wrong(at(30), 10*time.Second, 0),
		},
		"the time of an outage is no silence of a living node": {
			node: node{beats: beats(5), declared: []time.Time{at(75)}},
			down: span{at(10), at(70)},
			want: wrong(at(75), 10*time.Second, time.Minute),
		},
		"an outage counts until the declaration": {
			node: node{beats: beats(5), declared: []time.Time{at(65)}},
			down: span{at(10), at(70)},
			want: wrong(at(65), 5*time.Second, 55*time.Second),
		},
		"after an outage a living node that stays silent may be declared": {
			node: node{beats: beats(5), declared: []time.Time{at(85)}},
			down: span{at(10), at(70)},
			want: Counts{Living: 1, Silent: 1},
		},
		"the time of an outage is silence of a dead node": {
			node: node{beats: beats(5), died: at(12), declared: []time.Time{at(75)}, unknown: true},
			down: span{at(10), at(70)},
			want: Counts{Dead: 1, Latest: 70 * time.Second, LatestDown: time.Minute},
		},
		"a dead node may be declared wrongly too, and is not missed by that": {
			node: node{beats: beats(5), died: at(12), declared: []time.Time{at(15)}, unknown: true},
			want: Counts{
				Dead: 1, Wrong: 1, Latest: 10 * time.Second,
				Declarations: []declaration{{at: at(15), silence: 10 * time.Second}},
			},
		},
		"damage to a living node": {
			node: node{beats: beats(5), declared: []time.Time{at(6), at(7)}, tainted: true, evicted: 3},
			want: Counts{
				Living: 1, Wrong: 1, Tainted: 1, Evicted: 3,
				Declarations: []declaration{{at: at(6), silence: time.Second}, {at: at(7), silence: 2 * time.Second}},
			},
		},
		"a taint without a declaration is damage": {
			node: node{beats: beats(5), tainted: true},
			want: Counts{Living: 1, Tainted: 1},
		},
		"a dead node's taint and pods are no damage": {
			node: node{
				beats: beats(5), died: at(12), declared: []time.Time{at(26)},
				unknown: true, tainted: true, evicted: 3,
			},
			want: Counts{Dead: 1, Latest: 21 * time.Second},
		},
		"a living node that was really silent is no damage": {
			node: node{beats: beats(5), declared: []time.Time{at(26)}, tainted: true, evicted: 3},
			want: Counts{Living: 1, Silent: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := count([]node{test.node}, faultWith(test.down))
			require.NoError(t, err)
			require.Equal(t, &test.want, got)
		})
	}
}

func TestADeadNodeIsMissedWhenItIsNotDeclaredInTime(t *testing.T) {
	never := node{name: "a", beats: beats(5), died: at(12)}
	got, err := count([]node{never}, faultWith(span{}))
	require.NoError(t, err)
	require.Equal(t, &Counts{Dead: 1, Missed: 1}, got)

	late := never
	late.declared, late.unknown = []time.Time{at(130.1)}, true
	got, err = count([]node{late}, faultWith(span{}))
	require.NoError(t, err)
	require.Equal(t, &Counts{Dead: 1, Missed: 1, Latest: 125100 * time.Millisecond}, got)
	late.declared = []time.Time{at(130)}
	got, err = count([]node{late}, faultWith(span{}))
	require.NoError(t, err)
	require.Zero(t, got.Missed)

	early := faultWith(span{})
	early.end = at(129.9)
	_, err = count([]node{never}, early)
	require.ErrorIs(t, err, errTooSoon)
	require.ErrorContains(t, err, "node a")

	lastBeat := node{beats: beats(5, 81), died: at(82), declared: []time.Time{at(26)}, unknown: true}
	got, err = count([]node{lastBeat}, faultWith(span{}))
	require.NoError(t, err)
	require.Zero(t, got.Latest, "it was Unknown when it died, and need not be declared again")

	again := lastBeat
	again.declared = []time.Time{at(26), at(115), at(110)}
	got, err = count([]node{again}, faultWith(span{}))
	require.NoError(t, err)
	require.Equal(t, &Counts{Dead: 1, Latest: 29 * time.Second}, got, "the first after its last beat")
	again.declared = []time.Time{at(141)}
	inTime := faultWith(span{})
	inTime.end = at(142)
	got, err = count([]node{again}, inTime)
	require.NoError(t, err)
	require.Zero(t, got.Missed, "the time begins with its last beat, which was after the fault")
}

func TestTheLatestOfTheDead(t *testing.T) {
	down := span{at(10), at(70)}
	got, err := count([]node{
		{beats: beats(5), died: at(12), declared: []time.Time{at(30), at(26)}, unknown: true},
		{beats: beats(5), died: at(12), declared: []time.Time{at(75)}, unknown: true},
		{beats: beats(65), died: at(66), declared: []time.Time{at(90)}, unknown: true},
	}, faultWith(down))
	require.NoError(t, err)
	require.Equal(t, &Counts{Dead: 3, Latest: 70 * time.Second, LatestDown: time.Minute}, got)
}

func TestWhatCannotBeJudgedIsAnError(t *testing.T) {
	_, err := count([]node{{declared: []time.Time{at(1)}}}, faultWith(span{}))
	require.ErrorIs(t, err, errNoBeat)
	_, err = count([]node{{died: at(1)}}, faultWith(span{}))
	require.ErrorIs(t, err, errNoBeat)
	_, err = count(nil, fault{})
	require.ErrorIs(t, err, errNoFault)
}
