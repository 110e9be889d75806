package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/blindness/judge"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

func TestFlagsSelectScenariosAndSubjects(t *testing.T) {
	o, err := parse(nil, io.Discard)
	require.NoError(t, err)
	require.Len(t, o.scenarios, 9)
	require.Len(t, o.subjects, 2)

	o, err = parse([]string{"--scenario=stop,rolling", "--subject=upstream"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "rolling, stop", sidebyside.Names(o.scenarios))
	require.Equal(t, "upstream", sidebyside.Names(o.subjects))

	for want, args := range map[string][]string{
		`there is no "flood"`:             {"--scenario=flood"},
		`there is no "theirs"`:            {"--subject=theirs"},
		"want at least 1":                 {"--parallel=0"},
		`takes no arguments, got ["now"]`: {"now"},
	} {
		_, err := parse(args, io.Discard)
		require.ErrorContains(t, err, want)
	}
}

func TestTheTableShowsEachCount(t *testing.T) {
	both := newTable(
		[]scenario{{Name: "a", Title: "nothing happens"}},
		[]subject{{Name: "ours", Title: "ours"}, {Name: "upstream", Title: "theirs"}},
		times{beat: 5 * time.Second, grace: 20 * time.Second},
	)
	counts := []judge.Counts{{
		Living: 97, Dead: 3, Latest: 24120 * time.Millisecond,
	}, {
		Living: 97, Dead: 3, Wrong: 4, Silent: 1, Tainted: 3, Evicted: 2, Missed: 1,
		Latest: 80 * time.Second, LatestDown: time.Minute,
	}}
	both.Play(t.Context(), 1, io.Discard, func(_ context.Context, _, k int) (judge.Counts, error) {
		return counts[k], nil
	})
	var out strings.Builder
	require.NoError(t, both.Write(&out))
	head, tail, _ := strings.Cut(out.String(), "\n\n")
	require.Equal(t, `| while nodes beat | ours | theirs |
| --- | --- | --- |
| nothing happens | declared 0 of 97 living, 0 tainted, 0 pods evicted; `+
		`missed 0 of 3 dead, the last after 24.1 s | `+
		`declared **4** of 97 living (and 1 that were silent for as long), `+
		`**3** tainted, **2** pods evicted; missed **1** of 3 dead, the last after 80.0 s, `+
		`60.0 s of them without the API server |`, head)
	require.Contains(t, tail, "a grace period of 20 s, beats every 5 s,")
	require.NoError(t, both.Err(), "the faults of upstream are no error")
}

func TestAPlayThatFailsIsACellAndNotTheEndOfTheTable(t *testing.T) {
	broken := errors.New("no such compiler")
	build := func(context.Context, string, io.Writer) (string, error) { return "", broken }
	o := options{
		scenarios: []scenario{{Name: "a", Title: "nothing happens"}},
		subjects:  []subject{{Name: "ours", Title: "ours", Build: build}},
		parallel:  1,
	}
	played := o.playAll(t.Context(), t.TempDir(), io.Discard)
	var out strings.Builder
	require.NoError(t, played.Write(&out))
	require.Contains(t, out.String(), "| nothing happens | not judged [1] |")
	require.Contains(t, out.String(), "\n[1] no such compiler\n")
	require.ErrorIs(t, played.Err(), sidebyside.ErrOursFailed, "what cannot be judged is no success")
}

func TestDeclarationsAreTheAuditLogsAndThoseThatOnlyTheWitnessSaw(t *testing.T) {
	at := func(seconds int) time.Time { return time.Date(2026, 6, 1, 12, 0, seconds, 0, time.UTC) }
	times := func(seconds ...int) []time.Time {
		var all []time.Time
		for _, s := range seconds {
			all = append(all, at(s))
		}
		return all
	}
	saw := func(seconds ...int) []witness.Sighting {
		var all []witness.Sighting
		for _, s := range seconds {
			all = append(all, witness.Sighting{At: at(s)})
		}
		return all
	}
	for name, test := range map[string]struct {
		writes []time.Time
		seen   []witness.Sighting
		want   []time.Time
	}{
		"nothing":                  {},
		"each was seen":            {times(1, 10), saw(2, 11), times(1, 10)},
		"an unseen write counts":   {times(10, 1), nil, times(1, 10)},
		"one sighting of two":      {times(1, 2), saw(3), times(1, 2)},
		"no write":                 {nil, saw(3), times(3)},
		"a second without a write": {times(1), saw(2, 9), times(1, 9)},
		"seen before the write":    {times(5), saw(2), times(5, 2)},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, declared(test.writes, test.seen)) })
	}
}
