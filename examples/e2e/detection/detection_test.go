package detection

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
	"github.com/kubelife/lifecycle/examples/process/commandline"
)

func TestFlags(t *testing.T) {
	o := newOptions()
	c, err := o.measurement().Parse(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, []int{1000, 10_000, 100, 3}, []int{o.nodes, o.pods, o.cut, c.Repetitions})
	require.Len(t, c.Scenarios, 2, "rest is played when it is named")
	require.Len(t, c.Subjects, 2)
	require.Equal(t, map[string]int{"a": 300, "b": 300, "c": 300, "d": 100}, o.zones())
	require.Equal(t, "100 of 1,000 nodes die at once", c.Scenarios[0].Title())
	c, err = o.measurement().Parse([]string{"--scenario=zones", "--subject=upstream"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, "zones", c.Scenarios[0].Name)

	for want, args := range map[string][]string{
		"--nodes is 9, want at least 10":                                            {"--nodes=9", "--pods=9", "--cut=1"},
		"--pods is 5, want a multiple of --nodes, 10, and at most 110 for each":     {"--nodes=10", "--pods=5", "--cut=1"},
		"--pods is 15, want a multiple of --nodes, 10, and at most 110 for each":    {"--nodes=10", "--pods=15", "--cut=1"},
		"--pods is 1110, want a multiple of --nodes, 10, and at most 110 for each":  {"--nodes=10", "--pods=1110", "--cut=1"},
		"--cut is 201, want 1 to 200, a fifth of the nodes":                         {"--cut=201"},
		"--cut is 0, want 1 to 200, a fifth of the nodes":                           {"--cut=0"},
		"--beat is 0s, want more than 0s and at most 10s":                           {"--beat=0s"},
		"--settle is -1s and --rest is 1m0s, want at least 0s, and 1m2.5s together": {"--settle=-1s"},
		"--settle is 25s and --rest is 37s, want at least 0s, and 1m2.5s together":  {"--rest=37s"},
		`--scenario: there is no "racks", only cut, zones, rest`:                    {"--scenario=racks"},
	} {
		_, err := newOptions().measurement().Parse(args, io.Discard)
		require.EqualError(t, err, want)
	}
}

func TestPodsOfANode(t *testing.T) {
	o := newOptions()
	o.nodes, o.pods = 10, 100
	require.Len(t, o.kinds(), 10)
	require.Equal(t, 8, o.leaving())
	o.pods = 30
	require.Equal(t, 2, o.leaving(), "one at once, one that is patient, and one that stays")
	require.Equal(t, "patient1", o.kinds()[1].name)
	require.Equal(t, int64(60), *fleet.Seconds(o.kinds()[1].tolerates))
	require.Nil(t, fleet.Seconds(o.kinds()[2].tolerates))
}

func TestTheInformersAloneKnowTheirFlags(t *testing.T) {
	flags := pflag.NewFlagSet("baseline", pflag.ContinueOnError)
	new(commandline.Process).AddFlags(flags)
	new(commandline.Replica).AddFlags(flags)
	require.NoError(t, flags.Parse(append(baseline().Args, "--kubeconfig=kubeconfig")))
}

var begun = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return begun.Add(time.Duration(seconds * float64(time.Second)))
}

// since is a state that begins so many seconds after the beginning and lasts.
func since(seconds float64) []witness.Sighting { return []witness.Sighting{{At: after(seconds)}} }

func TestAtRestOursIsNextToTheInformersAlone(t *testing.T) {
	used := func(cpu time.Duration) sidebyside.Costs { return sidebyside.Costs{CPU: cpu, Took: 50 * time.Second} }
	var alone, beside, dear sidebyside.Record
	newOptions().addRest(&alone, 32<<20, 25_000, used(11*time.Second))
	require.Equal(t, []string{
		"CPU at rest, of a core: 22.0 %", "resident memory at rest: 32 MiB", "heartbeats stored a second, at rest: 500",
	}, alone.Rows())
	newOptions().addRest(&beside, 32<<20, 25_000, used(11*time.Second), used(10*time.Second))
	require.Equal(t, []string{
		"CPU of the same informers alone, beside it: 20.0 %", "its CPU time to theirs: 1.100",
	}, beside.Rows()[3:])
	require.Empty(t, beside.Faults())
	newOptions().addRest(&dear, 32<<20, 25_000, used(12*time.Second), used(10*time.Second))
	require.Equal(t, []string{"its CPU time to theirs: 1.200"}, dear.Faults())
}

// TestBothAreCompared plays each scenario with each subject on a small cluster.
// It checks what a machine does not change, in about two minutes.
func TestBothAreCompared(t *testing.T) {
	o := newOptions()
	o.beat, o.grace, o.period = time.Second, 12*time.Second, time.Second
	o.patient, o.gap = 3*time.Second, 3*time.Second
	o.settle, o.rest = time.Second, 14*time.Second
	o.most = 100 // a small cluster says nothing of costs
	m := o.measurement()
	c, err := m.Parse([]string{
		"--nodes=20", "--pods=60", "--cut=4", "--repetitions=1", "--scenario=cut,zones,rest",
	}, t.Output())
	require.NoError(t, err)
	c.Parallel = 2
	r, err := m.Measure(t.Context(), c, t.Output())
	require.NoError(t, err)
	require.NoError(t, r.Err())
	require.Len(t, r.Columns, 6)
	var out bytes.Buffer
	require.NoError(t, r.Write(&out))
	for _, want := range []string{
		"| 4 of 20 nodes die at once | examples/nodelifecycle | kube-controller-manager v1.37.1 |\n",
		"| 3 zones of 6 of 20 nodes die, 3 s apart | examples/nodelifecycle | kube-controller-manager v1.37.1 |\n",
		"\n| Unknown, first | ", "\n| NoExecute taint, median | ", "\n| pod evicted, 99 % | ",
		"\n| pods evicted | 8 | ", "\n| pods evicted | 36 | ",
		"\n| pods evicted wrongly: its node lives | 0 | ", "\n| pods evicted wrongly: it is early | 0 | ",
		"\n| pods evicted wrongly: it tolerates the taint for ever | 0 | ",
		"\n| living nodes declared | 0 | ", "\n| dead nodes missed | 0 | ", "\n| pods left that must leave | 0 | ",
		"\n| CPU at rest, of a core | ", "\n| resident memory at rest | ", "\n| heartbeats stored a second, at rest | ",
		"\n| CPU time in the outage | ", "\n| the outage lasts | ", "\n| most resident memory | ",
		"\n| API calls in the outage | ", "\n| API calls: delete pods | 8 | ",
		"\n| 20 nodes at rest | examples/nodelifecycle | kube-controller-manager v1.37.1 |\n",
		"\n| CPU of the same informers alone, beside it | ", "\n| its CPU time to theirs | ",
	} {
		require.Contains(t, out.String(), want)
	}
}
