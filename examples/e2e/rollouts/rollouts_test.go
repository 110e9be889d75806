package rollouts

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

func modes(c *sidebyside.Choice) (all []mode) {
	for _, s := range c.Scenarios {
		all = append(all, mode(s.Name))
	}
	return all
}

func TestFlags(t *testing.T) {
	o := new(options)
	c, err := o.measurement().Parse(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 500, o.nodes)
	require.Equal(t, []mode{calm, killed, handover}, modes(c))
	c, err = o.measurement().Parse([]string{"--scenario=handover,calm", "--nodes=20"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 20, o.nodes)
	require.Equal(t, []mode{calm, handover}, modes(c))

	for want, args := range map[string][]string{
		`--scenario: there is no "upset", only calm, killed, handover, trouble`: {"--scenario=upset"},
		"--nodes is 19, want at least 20":                                       {"--nodes=19"},
		"--scenario handover needs both subjects":                               {"--subject=ours"},
	} {
		_, err := o.measurement().Parse(args, io.Discard)
		require.EqualError(t, err, want)
	}
}

// requests are so many of a verb.
func requests(n int, verb, resource string) []controlplane.Request {
	return slices.Repeat([]controlplane.Request{{Verb: verb, Resource: resource}}, n)
}

func TestTheRows(t *testing.T) {
	p := &play{all: 1250 * time.Millisecond}
	p.costs = sidebyside.Costs{CPU: 1234 * time.Millisecond, Calls: slices.Concat(
		requests(1500, "create", "pods"), requests(3, "update", "daemonsets"), requests(5, "watch", "pods"),
		requests(7, "create", "events"),
	)}
	p.steps.Add("create on 20 nodes", sidebyside.Seconds, 1.25)
	record := p.record()
	require.Equal(t, `create on 20 nodes: 1.2 s
all steps: 1.2 s
CPU time of the controller: 1.23 s
API calls, without those about Events: 1,508
of these, which write: 1,503
API calls: create events: 7
API calls: create pods: 1,500
API calls: update daemonsets: 3
API calls: watch pods: 5`, strings.Join(record.Rows(), "\n"))
	require.Empty(t, record.Faults())

	var titles []string
	for _, s := range (&play{options: &options{nodes: fewestNodes}}).script() {
		titles = append(titles, s.title)
	}
	require.Equal(t, "create on 20 nodes\nroll out, maxUnavailable 10 %\nroll out, maxSurge 10 %\n"+
		"`kubectl rollout undo`\n2 nodes added\n2 nodes tainted NoSchedule, 2 NoExecute\n2 nodes removed\n"+
		"2 nodes recreated under their names, one with its pod", strings.Join(titles, "\n"))
}

func TestTheRowsOfTrouble(t *testing.T) {
	p := &play{}
	costs := sidebyside.Costs{Calls: slices.Concat(
		requests(12, "create", "pods"), requests(3, "get", "daemonsets"), requests(7, "create", "events"),
		slices.Repeat([]controlplane.Request{{Verb: "patch", Resource: "daemonsets", Subresource: "status"}}, 2),
	)}
	require.NoError(t, p.addTrouble(t.Context(), step{title: "roll out"}, 1250*time.Millisecond, costs))
	require.Equal(t, []string{
		"roll out: 1.2 s", "roll out: writes of a status: 2", "roll out: GETs: 3", "roll out: API calls: 17",
	}, p.steps.Rows())
}

// TestTroubleIsMeasured plays the scenario with ours alone, which says nothing of
// how it is next to upstream.
func TestTroubleIsMeasured(t *testing.T) {
	if os.Getenv("LIFECYCLE_E2E") != "full" {
		t.Skip("long tier: set LIFECYCLE_E2E=full")
	}
	m := new(options).measurement()
	c, err := m.Parse([]string{"--nodes=20", "--scenario=trouble", "--subject=ours"}, t.Output())
	require.NoError(t, err)
	r, err := m.Measure(t.Context(), c, t.Output())
	require.NoError(t, err)
	require.NoError(t, r.Err())
	rows := strings.Join(r.Columns[0].Records[0].Rows(), "\n")
	for _, want := range []string{
		"create on 20 nodes: ", "adopt 20 orphans: ", "roll out, kube-apiserver killed and started midway: ",
		"roll out with 20 calls a second: ", "create 50 sets on 2 nodes: ", "roll out 50 sets: ",
		"cannot go on: maxSurge, hostPort: pods lost: 0\n", "cannot go on: maxSurge, hostPort: Events that warn: 1\n",
	} {
		require.Contains(t, rows, want)
	}
}

func TestDisturbancesOfAHandoverAreFaults(t *testing.T) {
	require.Empty(t, new(play).handoverRecord().Faults())
	record := (&play{disturbed: []string{"pod a was written to"}}).handoverRecord()
	require.Equal(t, []string{"pods and revisions disturbed by a change of the controller: 1"}, record.Faults())
	require.Equal(t, []string{"pod a was written to"}, record.Told)
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
	require.NoError(t, both.Write(t.Output()))
	require.NoError(t, both.Err())
	require.Len(t, both.Columns, 2*len(c.Scenarios)-1)
	for _, column := range both.Columns {
		require.Len(t, column.Records, 1, column.Name())
		if column.Scenario.Name == string(handover) {
			continue
		}
		record := column.Records[0]
		require.Len(t, record.States, len((&play{options: o}).script()))
		for _, state := range record.States {
			require.Greater(t, len(state.Facts), 30*o.nodes, "%s: %s", column.Name(), state.Step)
		}
		// Each template was rolled out.
		for i, version := range []int{1, 2, 3, 2} {
			require.Equal(t, image(version),
				record.States[i].Facts["pod 1 on node-0000: spec.containers[0].image"], column.Name())
		}
	}
}
