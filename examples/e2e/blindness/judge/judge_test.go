package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// wrong is a living node with one wrong declaration.
func wrong(at time.Time, silence, down time.Duration) Counts {
	faults := []Fault{{At: at, Silence: silence, Down: down}}
	return Counts{Living: 1, Wrong: 1, Faults: faults}
}

// beats are stored 100 ms after they were sent.
func beats(seconds ...float64) []Beat {
	var all []Beat
	for _, s := range seconds {
		all = append(all, Beat{at(s), at(s + 0.1)})
	}
	return all
}

// rules are those of a fault from 10 s to 70 s, with a grace period of 20 s.
func rules(down ...Span) Rules {
	return Rules{Grace: 20 * time.Second, Down: down, Clear: at(70), Missed: time.Minute, End: at(140)}
}

func TestADeclarationIsWrongWithinTheGracePeriodOfAStoredBeat(t *testing.T) {
	for name, test := range map[string]struct {
		node Node
		down []Span
		want Counts
	}{
		"never declared": {
			node: Node{Beats: beats(0, 5, 10)},
			want: Counts{Living: 1},
		},
		"declared 19.9 s after a beat": {
			node: Node{Beats: beats(0, 5), Declared: []time.Time{at(24.9)}, Unknown: true},
			want: wrong(at(24.9), 19900*time.Millisecond, 0),
		},
		"declared 20 s after a beat": {
			node: Node{Beats: beats(0, 5), Declared: []time.Time{at(25)}},
			want: Counts{Living: 1, Silent: 1},
		},
		"a beat that was acknowledged after the declaration does not count": {
			node: Node{Beats: []Beat{{at(5), at(5.1)}, {at(20), at(25.5)}}, Declared: []time.Time{at(25)}},
			want: Counts{Living: 1, Silent: 1},
		},
		"beats in any order": {
			node: Node{Beats: beats(20, 0, 5), Declared: []time.Time{at(30)}},
			want: wrong(at(30), 10*time.Second, 0),
		},
		"the time of an outage is no silence of a living node": {
			node: Node{Beats: beats(5), Declared: []time.Time{at(75)}},
			down: []Span{{at(10), at(70)}},
			want: wrong(at(75), 10*time.Second, time.Minute),
		},
		"after an outage a living node that stays silent may be declared": {
			node: Node{Beats: beats(5), Declared: []time.Time{at(85)}},
			down: []Span{{at(10), at(70)}},
			want: Counts{Living: 1, Silent: 1},
		},
		"the time of an outage is silence of a dead node": {
			node: Node{Beats: beats(5), Died: at(12), Declared: []time.Time{at(75)}, Unknown: true},
			down: []Span{{at(10), at(70)}},
			want: Counts{Dead: 1, Latest: 70 * time.Second, LatestDown: time.Minute},
		},
		"a dead node may be declared wrongly too, and is not missed by that": {
			node: Node{Beats: beats(5), Died: at(12), Declared: []time.Time{at(15)}, Unknown: true},
			want: Counts{
				Dead: 1, Wrong: 1, Latest: 10 * time.Second,
				Faults: []Fault{{At: at(15), Silence: 10 * time.Second}},
			},
		},
		"damage to a living node": {
			node: Node{Beats: beats(5), Declared: []time.Time{at(6), at(7)}, Tainted: true, Evicted: 3},
			want: Counts{
				Living: 1, Wrong: 1, Tainted: 1, Evicted: 3,
				Faults: []Fault{{At: at(6), Silence: time.Second}, {At: at(7), Silence: 2 * time.Second}},
			},
		},
		"a taint without a declaration is damage": {
			node: Node{Beats: beats(5), Tainted: true},
			want: Counts{Living: 1, Tainted: 1},
		},
		"a dead node's taint and pods are no damage": {
			node: Node{
				Beats: beats(5), Died: at(12), Declared: []time.Time{at(26)},
				Unknown: true, Tainted: true, Evicted: 3,
			},
			want: Counts{Dead: 1, Latest: 21 * time.Second},
		},
		"a living node that was really silent is no damage": {
			node: Node{Beats: beats(5), Declared: []time.Time{at(26)}, Tainted: true, Evicted: 3},
			want: Counts{Living: 1, Silent: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Count([]Node{test.node}, rules(test.down...))
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestADeadNodeIsMissedWhenItIsNotDeclaredInTime(t *testing.T) {
	never := Node{Name: "a", Beats: beats(5), Died: at(12)}
	got, err := Count([]Node{never}, rules())
	require.NoError(t, err)
	require.Equal(t, Counts{Dead: 1, Missed: 1}, got)

	late := never
	late.Declared, late.Unknown = []time.Time{at(130.1)}, true
	got, err = Count([]Node{late}, rules())
	require.NoError(t, err)
	require.Equal(t, Counts{Dead: 1, Missed: 1, Latest: 125100 * time.Millisecond}, got)
	late.Declared = []time.Time{at(130)}
	got, err = Count([]Node{late}, rules())
	require.NoError(t, err)
	require.Zero(t, got.Missed)

	early := rules()
	early.End = at(129.9)
	_, err = Count([]Node{never}, early)
	require.ErrorIs(t, err, errTooSoon)
	require.ErrorContains(t, err, "node a")

	lastBeat := Node{Beats: beats(5, 81), Died: at(82), Declared: []time.Time{at(26)}, Unknown: true}
	got, err = Count([]Node{lastBeat}, rules())
	require.NoError(t, err)
	require.Zero(t, got.Latest, "it was Unknown when it died, and need not be declared again")
}

func TestTheLatestOfTheDead(t *testing.T) {
	down := Span{at(10), at(70)}
	got, err := Count([]Node{
		{Beats: beats(5), Died: at(12), Declared: []time.Time{at(30), at(26)}, Unknown: true},
		{Beats: beats(5), Died: at(12), Declared: []time.Time{at(75)}, Unknown: true},
		{Beats: beats(65), Died: at(66), Declared: []time.Time{at(90)}, Unknown: true},
	}, rules(down))
	require.NoError(t, err)
	require.Equal(t, Counts{Dead: 3, Latest: 70 * time.Second, LatestDown: time.Minute}, got)
}

func TestWhatCannotBeJudgedIsAnError(t *testing.T) {
	_, err := Count([]Node{{Declared: []time.Time{at(1)}}}, rules())
	require.ErrorIs(t, err, errNoBeat)
	_, err = Count([]Node{{Died: at(1)}}, rules())
	require.ErrorIs(t, err, errNoBeat)
	_, err = Count(nil, Rules{})
	require.ErrorIs(t, err, errNoFault)
}

func TestCleanNeedsBothKindsAndNoFault(t *testing.T) {
	clean := Counts{Living: 1, Dead: 1, Silent: 1, Latest: time.Hour}
	require.True(t, clean.Clean())
	for _, spoil := range []func(*Counts){
		func(c *Counts) { c.Living = 0 }, func(c *Counts) { c.Dead = 0 }, func(c *Counts) { c.Wrong = 1 },
		func(c *Counts) { c.Tainted = 1 }, func(c *Counts) { c.Evicted = 1 },
		func(c *Counts) { c.Missed = 1 },
	} {
		spoiled := clean
		spoil(&spoiled)
		require.False(t, spoiled.Clean(), "%+v", spoiled)
	}
}
