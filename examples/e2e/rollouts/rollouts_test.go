package rollouts

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

func TestFlags(t *testing.T) {
	o := new(options)
	c, err := o.measurement().Parse(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 500, o.nodes)
	require.Equal(t, []mode{calm, killed, handover}, c.Scenarios)
	c, err = o.measurement().Parse([]string{"--scenario=handover,calm", "--nodes=20"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 20, o.nodes)
	require.Equal(t, []mode{calm, handover}, c.Scenarios)

	for want, args := range map[string][]string{
		`--scenario: there is no "upset", only calm, killed, handover`: {"--scenario=upset"},
		"--nodes is 19, want at least 20":                              {"--nodes=19"},
		"--scenario handover needs both subjects":                      {"--subject=ours"},
	} {
		_, err := o.measurement().Parse(args, io.Discard)
		require.EqualError(t, err, want)
	}
}

func played(of mode, s sidebyside.Subject, took time.Duration, found facts) *sidebyside.Column[mode, result] {
	return &sidebyside.Column[mode, result]{Scenario: of, Subject: s, Records: []*result{{
		steps: []stepResult{{name: "create", took: took, facts: found}},
		calls: map[string]int{"create": 1500, "update": 3, "watch": 5, events: 1_234_567},
		cpu:   1234 * time.Millisecond,
	}}}
}

func TestTheRows(t *testing.T) {
	columns := []*sidebyside.Column[mode, result]{
		played(calm, ours, 1250*time.Millisecond, facts{"pods on a": "1"}),
		played(calm, upstream, 2*time.Second, facts{"pods on a": "1"}),
	}
	require.NoError(t, judge(columns))
	require.Empty(t, tell(columns))
	var rows []string
	for _, f := range (&options{nodes: fewestNodes}).figures(columns) {
		value, known := f.Of(columns[0].Records[0])
		if known {
			rows = append(rows, f.Title+": "+f.Format(value))
		} else {
			rows = append(rows, f.Title)
		}
	}
	require.Equal(t, "create on 20 nodes: 1.2 s\nroll out, maxUnavailable 10 %\nroll out, maxSurge 10 %\n"+
		"`kubectl rollout undo`\n2 nodes added\n2 nodes tainted NoSchedule, 2 NoExecute\n2 nodes removed\n"+
		`2 nodes recreated under their names, one with its pod
all steps: 1.2 s
CPU time of the controller: 1.23 s
API calls: create: 1,500
API calls: delete: 0
API calls: patch: 0
API calls: update: 3
API calls: all four, which write: 1,503
API calls: get: 0
API calls: list: 0
API calls: watch: 5
API calls about Events: 1,234,567`, strings.Join(rows, "\n"))

	notOver := &result{steps: columns[0].Records[0].steps}
	for _, f := range (&options{nodes: fewestNodes}).figures(columns)[1:] {
		_, known := f.Of(notOver)
		require.False(t, known, f.Title)
	}
}

func TestDifferencesAreNamedAndAreAnError(t *testing.T) {
	columns := []*sidebyside.Column[mode, result]{
		played(calm, ours, 0, facts{"pods on a": "1", "set: generation": "1"}),
		played(calm, upstream, 0, facts{"pods on a": "2", "set: generation": "1"}),
	}
	require.Equal(t, []string{`calm, create: pods on a: "1" with ours, "2" with upstream`}, tell(columns))
	require.ErrorIs(t, judge(columns), errDiffer)
	require.ErrorIs(t, judge(columns), sidebyside.ErrOursFailed)
	require.ErrorContains(t, judge(columns), "the subjects differ (differences: 1)")

	many := facts{}
	for _, node := range names("node", mostDifferences+3) {
		many["pods on "+node] = "1"
	}
	columns = []*sidebyside.Column[mode, result]{played(calm, ours, 0, many), played(calm, upstream, 0, nil)}
	lines := tell(columns)
	require.Len(t, lines, mostDifferences+1)
	require.Equal(t, "calm, create: 3 more", lines[mostDifferences])
	require.ErrorContains(t, judge(columns), "the subjects differ (differences: 23)")
}

func TestModesAreComparedApart(t *testing.T) {
	require.NoError(t, judge([]*sidebyside.Column[mode, result]{
		played(calm, upstream, 0, facts{"pods on a": "1"}), played(killed, ours, 0, facts{"pods on a": "2"}),
	}))
}

func TestDisturbancesOfAHandoverAreAnError(t *testing.T) {
	require.NoError(t, faults(&result{}, true))
	disturbed := &result{disturbed: []string{"pod a was written to"}}
	require.ErrorIs(t, faults(disturbed, true), errDiffer)
	columns := []*sidebyside.Column[mode, result]{{Scenario: handover, Records: []*result{disturbed}}}
	require.Equal(t, []string{"pod a was written to"}, tell(columns))
	rows := new(options).figures(columns)
	require.Len(t, rows, 1)
	n, _ := rows[0].Of(disturbed)
	require.Equal(t, []any{true, 1.0}, []any{rows[0].Fault, n})
}

// TestBothComeToTheSameStates plays the script with both controllers, which are
// killed in the middle of each step. Pods, status, revisions and what kubectl
// says are the same after each. On another cluster the controllers take turns,
// and no pod or revision is touched. The long tier also plays the script
// without a kill.
func TestBothComeToTheSameStates(t *testing.T) {
	scenarios := "killed,handover"
	if os.Getenv("LIFECYCLE_E2E") == "full" {
		scenarios = "calm,killed,handover"
	}
	o := new(options)
	m := o.measurement()
	c, err := m.Parse([]string{"--nodes=30", "--scenario=" + scenarios}, t.Output())
	require.NoError(t, err)
	c.Parallel = 2
	both, err := m.Measure(t.Context(), c, t.Output())
	require.NoError(t, err)
	require.NoError(t, both.Err(), "%q", tell(both.Columns))
	require.Len(t, both.Columns, 2*len(c.Scenarios)-1)
	for _, column := range both.Columns {
		require.Len(t, column.Records, 1, column.Name())
		if column.Scenario == handover {
			continue
		}
		played := column.Records[0]
		require.Len(t, played.steps, len((&play{options: o}).steps()))
		for _, s := range played.steps {
			require.Greater(t, len(s.facts), 30*o.nodes, "%s: %s", column.Name(), s.name)
		}
		// Each template was rolled out: a creation for each node is the least.
		require.GreaterOrEqual(t, played.calls["create"], 4*o.nodes, column.Name())
	}
}
