package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

func TestFlags(t *testing.T) {
	o, err := parse(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []int{1000, 10_000, 100, 3}, []int{o.nodes, o.pods, o.cut, o.repetitions})
	require.Len(t, o.scenarios, 2)
	require.Len(t, o.subjects, 2)
	require.Equal(t, map[string]int{"a": 300, "b": 300, "c": 300, "d": 100}, o.zones())
	o, err = parse([]string{"--scenario=zones", "--subject=upstream", "--html=page.html"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "zones", sidebyside.Names(o.scenarios))
	require.Equal(t, "upstream", sidebyside.Names(o.subjects))

	for want, args := range map[string][]string{
		`takes no arguments, got ["now"]`:                                          {"now"},
		"--nodes is 9, want at least 10":                                           {"--nodes=9", "--pods=9", "--cut=1"},
		"--pods is 5, want a multiple of --nodes, 10, and at most 110 for each":    {"--nodes=10", "--pods=5", "--cut=1"},
		"--pods is 15, want a multiple of --nodes, 10, and at most 110 for each":   {"--nodes=10", "--pods=15", "--cut=1"},
		"--pods is 1110, want a multiple of --nodes, 10, and at most 110 for each": {"--nodes=10", "--pods=1110", "--cut=1"},
		"--cut is 201, want 1 to 200, a fifth of the nodes":                        {"--cut=201"},
		"--cut is 0, want 1 to 200, a fifth of the nodes":                          {"--cut=0"},
		"--repetitions is 0 and --rest is 1m0s, want at least 1 and 37.5s":         {"--repetitions=0"},
		"--repetitions is 3 and --rest is 37s, want at least 1 and 37.5s":          {"--rest=37s"},
		`--scenario: there is no "racks", only cut, zones`:                         {"--scenario=racks"},
		`--subject: there is no "kwok", only ours, upstream`:                       {"--subject=kwok"},
	} {
		_, err := parse(args, io.Discard)
		require.EqualError(t, err, want)
	}
}

func TestExitCodes(t *testing.T) {
	require.Equal(t, 2, sidebyside.ExitCode(run(t.Context(), []string{"--nodes=1"}, io.Discard, io.Discard)))
	missing := filepath.Join(t.TempDir(), "none", "page.html")
	err := run(t.Context(), []string{"--html=" + missing}, io.Discard, io.Discard)
	require.ErrorContains(t, err, "--html "+missing)
	require.Equal(t, 2, sidebyside.ExitCode(err))
	require.NoError(t, coded(nil))
	require.Equal(t, 2, sidebyside.ExitCode(coded(sidebyside.ErrIncomplete)))
	require.Equal(t, 1, sidebyside.ExitCode(coded(errors.Join(sidebyside.ErrOursFailed, sidebyside.ErrIncomplete))), "the worse one")
}

func TestHelpTeaches(t *testing.T) {
	var text strings.Builder
	err := run(t.Context(), []string{"--help"}, io.Discard, &text)
	require.Error(t, err)
	for _, want := range []string{
		"go -C examples/e2e run ./compare", "Exit code: 0", "-repetitions often", "cut    --cut",
	} {
		require.Contains(t, text.String(), want)
	}
}

// An interruption leaves the tables without plays, and a page of before.
func TestAnInterruptionIsIncomplete(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	page := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(page, []byte("of before"), 0o600))
	o, err := parse([]string{"--html=" + page}, io.Discard)
	require.NoError(t, err)
	for i := range o.subjects {
		o.subjects[i].build = func(context.Context, string, io.Writer) (string, error) { return "", nil }
	}
	var out strings.Builder
	err = o.compare(ctx, &out, io.Discard)
	require.ErrorIs(t, err, sidebyside.ErrIncomplete)
	require.Equal(t, 2, sidebyside.ExitCode(coded(err)))
	require.Contains(t, out.String(), "| Unknown, first | – [1] | – [1] |")
	require.Contains(t, out.String(), "\n[1] interrupted\n")
	content, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, "of before", string(content))
}

func TestPodsOfANode(t *testing.T) {
	o := options{nodes: 10, pods: 100, times: times{patient: time.Minute}}
	require.Len(t, o.kinds(), 10)
	require.Equal(t, 8, o.leaving())
	o.pods = 30
	require.Equal(t, 2, o.leaving(), "one at once, one that is patient, and one that stays")
	require.Equal(t, "patient1", o.kinds()[1].pod().Name)
	require.Equal(t, int64(60), *o.kinds()[1].pod().Tolerations[0].TolerationSeconds)
	require.Nil(t, o.kinds()[2].pod().Tolerations[0].TolerationSeconds)
}
