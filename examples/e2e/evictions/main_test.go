package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/evictions/judge"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

func TestFlagsSelectScenariosAndSubjects(t *testing.T) {
	o, err := parse(nil, io.Discard)
	require.NoError(t, err)
	require.Len(t, o.scenarios, 6)
	require.Len(t, o.subjects, 2)

	o, err = parse([]string{"--scenario=budget,denied", "--subject=upstream", "--ours=--confirm --v=4"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []string{"--action=evict", "--confirm", "--v=4"}, o.scenarios[1].Ours)
	require.Equal(t, "denied, budget", sidebyside.Names(o.scenarios))
	require.Equal(t, "upstream", sidebyside.Names(o.subjects))

	for name, args := range map[string][]string{
		`there is no "flood"`:             {"--scenario=flood"},
		`there is no "theirs"`:            {"--subject=theirs"},
		"want at least 1":                 {"--parallel=0"},
		`takes no arguments, got ["now"]`: {"now"},
	} {
		_, err := parse(args, io.Discard)
		require.ErrorContains(t, err, name)
	}
}

func TestTheTable(t *testing.T) {
	counts := [2][2]judge.Counts{
		{
			{Must: 2, Evicted: 2, Latest: 1240 * time.Millisecond},
			{Must: 2, Lost: 2},
		}, {
			{Must: 9, Evicted: 6, Early: 1, Late: 2, Latest: 70 * time.Second, Lost: 1, Wrong: 3},
			{Must: 1, Evicted: 1, Wrong: 1},
		},
	}
	both := newTable(
		[]scenario{
			{Name: "a", Title: "nothing happens", Late: 3 * time.Second},
			{Name: "b", Title: "a fault", Ours: []string{"--confirm"}, Late: time.Minute},
		},
		[]subject{{Name: "ours", Title: "ours"}, {Name: "upstream", Title: "theirs"}},
	)
	both.Play(t.Context(), 1, io.Discard, func(_ context.Context, i, k int) (judge.Counts, error) {
		return counts[i][k], nil
	})
	var out strings.Builder
	require.NoError(t, both.Write(&out))
	require.Equal(t, `| while pods are evicted | ours | theirs |
| --- | --- | --- |
| nothing happens; late after 3 s | 2 of 2, the last after 1.2 s | 0 of 2; **2 lost** |
| a fault (ours with `+"`--confirm`"+`); late after 60 s | `+
		`6 of 9, the last after 70.0 s; **1 early, 2 late, 1 lost, 3 wrong** | `+
		`1 of 1, the last after 0.0 s; **1 wrong** |

`+legend+"\n", out.String())
	require.EqualError(t, both.Err(), "ours has failed: b")
}

func TestAPlayThatFailsIsACellAndNotTheEndOfTheTable(t *testing.T) {
	broken := errors.New("no such compiler")
	build := func(context.Context, string, io.Writer) (string, error) { return "", broken }
	o := options{
		scenarios: []scenario{{Name: "a", Title: "nothing happens"}},
		subjects:  []subject{{Name: "upstream", Title: "theirs", Build: build}},
		parallel:  1,
	}
	played := o.playAll(t.Context(), t.TempDir(), io.Discard)
	var out strings.Builder
	require.NoError(t, played.Write(&out))
	require.Contains(t, out.String(), "| nothing happens; late after 0 s | not judged [1] |")
	require.Contains(t, out.String(), "\n[1] no such compiler\n")
	require.ErrorIs(t, played.Err(), sidebyside.ErrIncomplete)
}
