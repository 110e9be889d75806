package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/rollouts/state"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

func TestFlags(t *testing.T) {
	o, err := parse(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, options{nodes: 500, modes: modes()}, o)
	o, err = parse([]string{"--mode=handover,calm", "--nodes=20"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, options{nodes: 20, modes: []mode{calm, handover}}, o)

	for want, args := range map[string][]string{
		`--mode: there is no "upset", only calm, killed, handover`: {"--mode=upset"},
		"--nodes is 19, want at least 20":                          {"--nodes=19"},
		`takes no arguments, got ["now"]`:                          {"now"},
	} {
		_, err := parse(args, io.Discard)
		require.EqualError(t, err, want)
	}
}

// written returns a table of one step in one mode, and what it prints.
func written(t *testing.T, columns ...column) (*table, string) {
	t.Helper()
	both := &table{steps: []step{{Name: "create", Title: "create on 2 nodes"}}, columns: columns}
	both.compare()
	var out strings.Builder
	require.NoError(t, both.write(&out))
	return both, out.String()
}

func played(s subject, took time.Duration, facts state.Facts) column {
	return column{mode: calm, subject: s, result: result{
		steps: []stepResult{{name: "create", took: took, facts: facts}},
		calls: map[string]int{"create": 1500, "update": 3, "watch": 5, events: 1_234_567},
		cpu:   1234 * time.Millisecond,
		load:  "0.50",
	}}
}

func TestTheTable(t *testing.T) {
	both, text := written(t,
		played(ours, 1250*time.Millisecond, state.Facts{"pods on a": "1"}),
		played(upstream, 2*time.Second, state.Facts{"pods on a": "1"}),
	)
	require.NoError(t, both.problem())
	require.Equal(t, `| | examples/daemonset, calm | kube-controller-manager v1.37.1, calm |
| --- | --- | --- |
| create on 2 nodes | 1.2 s | 2.0 s |
| all steps | 1.2 s | 2.0 s |
| CPU time of the controller | 1.23 s | 1.23 s |
| API calls: create | 1,500 | 1,500 |
| API calls: delete | 0 | 0 |
| API calls: patch | 0 | 0 |
| API calls: update | 3 | 3 |
| API calls: all four, which write | 1,503 | 1,503 |
| API calls: get | 0 | 0 |
| API calls: list | 0 | 0 |
| API calls: watch | 5 | 5 |
| API calls about Events | 1,234,567 | 1,234,567 |
| load average before | 0.50 | 0.50 |

`+legend+"\n", text)
}

func TestDifferencesAreNamedAndAreAnError(t *testing.T) {
	both, text := written(t,
		played(ours, 0, state.Facts{"pods on a": "1", "set: generation": "1"}),
		played(upstream, 0, state.Facts{"pods on a": "2", "set: generation": "1"}),
	)
	require.Contains(t, text, "\n- calm, create: pods on a: \"1\" with ours, \"2\" with upstream\n")
	require.ErrorIs(t, both.problem(), errDiffer)
	require.EqualError(t, both.problem(), "the subjects differ (differences: 1)")

	many := state.Facts{}
	for _, node := range names("node", mostDifferences+3) {
		many["pods on "+node] = "1"
	}
	both, text = written(t, played(ours, 0, many), played(upstream, 0, nil))
	require.Len(t, both.differences, mostDifferences+1)
	require.Contains(t, text, "\n- calm, create: 3 more\n")
	require.EqualError(t, both.problem(), fmt.Sprintf("the subjects differ (differences: %d)", mostDifferences+3))
}

func TestModesAreComparedApart(t *testing.T) {
	other := played(ours, 0, state.Facts{"pods on a": "2"})
	other.mode = killed
	both, _ := written(t, played(upstream, 0, state.Facts{"pods on a": "1"}), other)
	require.NoError(t, both.problem())
}

func TestAPlayThatFailsMakesTheTableIncomplete(t *testing.T) {
	failed := column{mode: calm, subject: upstream, err: errors.New("no etcd\nlast lines of a log")}
	both, text := written(t, played(ours, time.Second, nil), failed)
	require.Contains(t, text, "| all steps | 1.0 s | not judged [1] |\n")
	require.Contains(t, text, "\n[1] no etcd\n")
	require.ErrorIs(t, both.problem(), sidebyside.ErrIncomplete)
	require.ErrorContains(t, both.problem(), "calm, upstream")
}
