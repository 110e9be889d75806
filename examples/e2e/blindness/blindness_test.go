package blindness

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

func TestThereAreTenScenariosAndTwoSubjects(t *testing.T) {
	c, err := measurement().Parse(nil, io.Discard)
	require.NoError(t, err)
	require.Len(t, c.Scenarios, 10)
	require.Len(t, c.Subjects, 2)
	require.Equal(t, 2, c.Parallel)
	require.Contains(t, c.Subjects[0].Args, "--node-heartbeat-interval=5s")
	require.NotContains(t, c.Subjects[1].Args, "--node-heartbeat-interval=5s", "upstream has no such flag")
	require.Contains(t, c.Subjects[1].Args, "--kube-api-qps=200")
	require.Contains(t, measurement().Legend(), "a grace period of 20 s, beats every 5 s,")
}

func TestTheTableShowsEachCount(t *testing.T) {
	wrong := &Counts{
		Living: 97, Dead: 3, Wrong: 4, Silent: 1, Tainted: 5, Evicted: 2, Missed: 1,
		Latest: 80 * time.Second, LatestDown: time.Minute,
	}
	require.Equal(t, []string{
		"living nodes: 97", "declared: 4", "declared after a silence as long as the grace period: 1", "tainted: 5",
		"their pods evicted: 2", "dead nodes: 3", "missed: 1", "the last declared after: 80.0 s",
		"of that without the API server: 60.0 s",
	}, wrong.record().Rows())
	for _, spoil := range []func(*Counts){
		func(c *Counts) { c.Wrong = 1 }, func(c *Counts) { c.Tainted = 1 }, func(c *Counts) { c.Evicted = 1 },
		func(c *Counts) { c.Missed = 1 }, func(c *Counts) { c.Living = 0 }, func(c *Counts) { c.Dead = 0 },
	} {
		spoiled := Counts{Living: 97, Dead: 3, Silent: 1, Latest: time.Hour}
		require.Empty(t, spoiled.record().Faults())
		spoil(&spoiled)
		require.NotEmpty(t, spoiled.record().Faults(), "%+v", spoiled)
	}
}

func TestTheLastNodeOfEachZoneDies(t *testing.T) {
	nodes := []string{"b-1", "a-2", "a-0", "b-0", "a-1"}
	require.Equal(t, []string{"a-2", "b-1"}, doomed(nodes))
	require.Equal(t, []string{"a-0", "b-0", "a-1"}, lasting(nodes), "in their order")
	require.Equal(t, []string{"b-1", "a-2", "a-0", "b-0", "a-1"}, nodes, "unchanged")
}

func TestAnOutageEndsWithTheFirstBeatThatIsStored(t *testing.T) {
	killed := time.Now()
	at := func(seconds int) time.Time { return killed.Add(time.Duration(seconds) * time.Second) }
	beats := map[string][]fleet.Beat{
		"a": {{Received: at(64), Answered: at(66)}},
		"b": {{Received: at(60), Answered: at(67)}, {Received: at(61), Answered: at(65)}},
	}
	require.Equal(t, at(65), firstAnswer(beats, at(70)))
	require.Equal(t, at(63), firstAnswer(beats, at(63)), "it was ready before a beat")
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

// TestOursDeclaresTheDeadAndNoneOfTheLivingAfterAnOutage kills the API server
// for two grace periods. Silence counts only while it could have been heard
// (H4). The test fails when all silence counts and no lease is read before a
// declaration; each of the two alone saves the living here.
func TestOursDeclaresTheDeadAndNoneOfTheLivingAfterAnOutage(t *testing.T) {
	if os.Getenv("LIFECYCLE_E2E") != "full" {
		t.Skip("long tier: set LIFECYCLE_E2E=full")
	}
	m := measurement()
	c, err := m.Parse([]string{"--subject=ours", "--dir=" + t.TempDir()}, t.Output())
	require.NoError(t, err)
	// With shorter periods all nodes are back before any of them is declared.
	short := outage("outage", "two grace periods", 2*grace, 1)
	short.zones = map[string]int{"a": 12, "b": 12, "c": 12}
	c.Scenarios = []sidebyside.Scenario{short.onStage()}
	r, err := m.Measure(t.Context(), c, t.Output())
	require.NoError(t, err)
	require.NoError(t, r.Err())
	rows := r.Columns[0].Records[0].Rows()
	for _, want := range []string{"living nodes: 33", "declared: 0", "dead nodes: 3", "missed: 0"} {
		require.Contains(t, rows, want)
	}
}
