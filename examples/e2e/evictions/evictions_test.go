package evictions

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestThereAreSixScenariosAndTwoSubjects(t *testing.T) {
	c, err := measurement().Parse(nil, io.Discard)
	require.NoError(t, err)
	require.Len(t, c.Scenarios, 6)
	require.Len(t, c.Subjects, 2)
	require.Equal(t, 2, c.Parallel)

	c, err = measurement().Parse([]string{"--scenario=budget,denied", "--ours=--confirm --v=4"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []string{"denied", "budget"}, []string{c.Scenarios[0].Name, c.Scenarios[1].Name})
	require.Contains(t, c.Scenarios[0].Title(), " (ours with `--confirm --v=4`);")
	require.Contains(t, c.Scenarios[1].Title(), " (ours with `--action=evict --confirm --v=4`);")
}

func TestTheTable(t *testing.T) {
	require.Equal(t, "nothing happens; late after 3 s",
		scenario{title: "nothing happens", late: 3 * time.Second}.heading(""))
	require.Equal(t, "a fault (ours with `--confirm`); late after 60 s",
		scenario{title: "a fault", ours: []string{"--confirm"}, late: time.Minute}.heading(""))
	n := Counts{Must: 9, Evicted: 6, Early: 1, Late: 2, Latest: 70 * time.Second, Lost: 3, Wrong: 4}
	require.Equal(t, []string{
		"pods that must be evicted: 9", "evicted when due or later: 6", "the last of them after: 70.0 s",
		"early: 1", "late: 2", "lost: 3", "wrong: 4",
	}, n.record().Rows())
}

// TestOursEvictsExactlyThePodsThatMustLeave plays every scenario with our
// program: none early, none late, none lost, none wrong. Two at a time it takes
// about two minutes.
func TestOursEvictsExactlyThePodsThatMustLeave(t *testing.T) {
	m := measurement()
	c, err := m.Parse([]string{"--subject=ours", "--dir=" + t.TempDir()}, t.Output())
	require.NoError(t, err)
	r, err := m.Measure(t.Context(), c, t.Output())
	require.NoError(t, err)
	require.NoError(t, r.Err())
	require.Len(t, r.Columns, 6)
	for _, column := range r.Columns {
		require.Len(t, column.Records, 1, column.Name())
		require.Empty(t, column.Records[0].Faults(), column.Name())
	}
}
