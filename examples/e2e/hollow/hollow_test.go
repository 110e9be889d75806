package hollow

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

func parsed(t *testing.T, args ...string) (*options, *sidebyside.Choice, error) {
	t.Helper()
	o := new(options)
	c, err := o.measurement().Parse(args, io.Discard)
	return o, c, err
}

func TestFlags(t *testing.T) {
	o, c, err := parsed(t)
	require.NoError(t, err)
	require.Equal(t, []int{1000, 5000}, []int{o.nodes, o.pods})
	require.Len(t, c.Subjects, 2)
	o, c, err = parsed(t, "--nodes=7", "--subject=kwok")
	require.NoError(t, err)
	require.Equal(t, 35, o.pods)
	require.Equal(t, kwokName, c.Subjects[0].Name)

	for want, args := range map[string][]string{
		"--nodes is -1 and --pods is -5, want at least 1":     {"--nodes=-1"},
		"--pods is 56, want at most 55 for each node":         {"--nodes=1", "--pods=56"},
		"--rest is 0s and --churn is 1m0s, want at least 1s":  {"--rest=0s"},
		"--rest is 1m0s and --churn is 1s, want at least 1s":  {"--churn=1s"},
		"--rest is 1m0s and --churn is -1s, want at least 1s": {"--churn=-1s"},
	} {
		_, _, err := parsed(t, args...)
		require.ErrorContains(t, err, want)
	}
}

// requests are so many about a resource.
func requests(n int, resource string) []controlplane.Request {
	return slices.Repeat([]controlplane.Request{{Verb: "patch", Resource: resource}}, n)
}

func costs(cpu time.Duration, calls ...[]controlplane.Request) sidebyside.Costs {
	return sidebyside.Costs{CPU: cpu, Took: 10 * time.Second, Calls: slices.Concat(calls...)}
}

func TestTheRows(t *testing.T) {
	o := &options{nodes: 10, pods: 50, churn: time.Minute}
	var record sidebyside.Record
	o.addNodes(&record, costs(time.Second, requests(20, "nodes"), requests(10, "leases")))
	o.addUp(&record, costs(2*time.Second, requests(100, "pods"), requests(10, "leases")))
	o.addRest(&record, costs(time.Second, requests(100, "pods"), requests(10, "leases")), 3<<20)
	o.addEnd(&record, costs(3*time.Second, requests(150, "pods")))
	o.addChurn(&record, costs(2*time.Second), 2000, slices.Repeat([]float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 10))
	addWhole(&record, 4<<20, 5)
	require.Equal(t, `CPU time to make them ready: 1.00 s
API calls for each node: 3.00
CPU time to bring them up: 2.00 s
API calls to bring a pod up: 2.00
CPU at rest, of a core: 10.0 %
calls about leases a second, at rest: 1.0
resident memory at rest: 3 MiB
CPU time to end them: 3.00 s
API calls to end a pod: 3.00
pods that come and go in 1m0s: 2000
of them a second: 200
CPU time for 1,000 of them: 1.00 s
growth of resident memory meanwhile: +0.0 %
most resident memory at any time: 4 MiB
goroutines at the end: 5`, strings.Join(record.Rows(), "\n"))
	require.Empty(t, record.Faults())
}

func TestCostsAboveThoseOfKwokAreAnError(t *testing.T) {
	o := &options{nodes: 10, pods: 50}
	compared := func(ours, kwok time.Duration) error {
		m := o.measurement()
		c, err := m.Parse(nil, io.Discard)
		require.NoError(t, err)
		r := m.Results(c, nil)
		for i, cpu := range []time.Duration{ours, kwok} {
			var record sidebyside.Record
			o.addNodes(&record, costs(cpu))
			o.addUp(&record, costs(cpu, requests(int(cpu/time.Second), "pods")))
			o.addRest(&record, costs(cpu), cpu.Seconds())
			o.addEnd(&record, costs(cpu))
			r.Columns[i].Records = []*sidebyside.Record{&record}
		}
		return r.Err()
	}
	require.NoError(t, compared(2*time.Second, 4*time.Second))
	err := compared(4*time.Second, 2*time.Second)
	for _, row := range []string{
		"CPU time to bring them up", "CPU time to end them", "CPU at rest", "resident memory at rest",
	} {
		require.ErrorContains(t, err, row)
	}
	require.ErrorIs(t, err, sidebyside.ErrOursFailed)
	require.NotContains(t, err.Error(), "API calls", "a kubelet writes more than kwok")
	require.NotContains(t, err.Error(), "to make them ready")
}

func TestMoreCallsThanAKubeletSendsAreAFault(t *testing.T) {
	o := &options{nodes: 10, pods: 50}
	faults := func(up, end int) string {
		var record sidebyside.Record
		o.addNodes(&record, costs(0, requests(990, "nodes")))
		o.addUp(&record, costs(0, requests(up, "pods")))
		o.addEnd(&record, costs(0, requests(end, "pods")))
		return strings.Join(record.Faults(), ", ")
	}
	require.Empty(t, faults(124, 221), "a node is registered once")
	require.Equal(t, "API calls to bring a pod up: 3.00, API calls to end a pod: 5.00", faults(150, 250))
}

func TestGrowthOverManyPodsIsAFault(t *testing.T) {
	o := &options{}
	faults := func(pods float64, last float64) []string {
		var record sidebyside.Record
		o.addChurn(&record, costs(0), pods, append(slices.Repeat([]float64{100}, 90), slices.Repeat([]float64{last}, 10)...))
		return record.Faults()
	}
	require.Empty(t, faults(enoughPods-1, 106), "too few pods")
	require.Empty(t, faults(enoughPods, 105))
	require.Equal(t, []string{"growth of resident memory meanwhile: +6.0 %"}, faults(enoughPods, 106))
}

func TestMemoryAndGoroutinesAreBounded(t *testing.T) {
	o := &options{}
	faults := func(rest, peak, goroutines float64) []string {
		var record sidebyside.Record
		o.addRest(&record, costs(0), rest)
		addWhole(&record, peak, goroutines)
		return record.Faults()
	}
	require.Empty(t, faults(1<<30, 1<<30, 256))
	require.Equal(t, []string{"resident memory at rest: 1025 MiB"}, faults(1025<<20, 0, 0))
	require.Equal(t, []string{"most resident memory at any time: 1025 MiB"}, faults(0, 1025<<20, 0))
	require.Equal(t, []string{"goroutines at the end: 257"}, faults(0, 0, 257))
}

// TestGrowthIsFromTheSecondTenthToTheLast: the start does not count.
func TestGrowthIsFromTheSecondTenthToTheLast(t *testing.T) {
	var of []float64
	for i := range samples {
		of = append(of, []float64{1, 10, 20, 30, 40, 50, 60, 70, 80, 11}[i/10])
	}
	require.InDelta(t, 10, growth(of), 1e-9)
}

func TestGoroutinesAreCountedInTraces(t *testing.T) {
	const log = `I1123 goroutine 7 [of a message]:
SIGQUIT: quit
PC=0x47 m=0 sigcode=0

goroutine 0 gp=0x5d m=0 mp=0x5e [idle]:
runtime.futex(0x57)

goroutine 1 [select, 2 minutes]:
main.main()

goroutine 22 [IO wait]:
created by net/http.(*Server).Serve in goroutine 1
`
	require.Len(t, goroutine.FindAllString(log, -1), 3)
}

func TestKwokIsBuiltOrTheReasonIsGiven(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel() // so that nothing can be built
	_, err := kwok().Build(over, t.TempDir(), io.Discard)
	require.ErrorIs(t, err, context.Canceled)
}

// TestEachIsMeasured plays a small script with each subject. The figures are
// all there, and those that a machine does not change are right. It takes about
// half a minute.
func TestEachIsMeasured(t *testing.T) {
	o := new(options)
	m := o.measurement()
	c, err := m.Parse([]string{"--nodes=20", "--pods=60", "--rest=2s", "--churn=" + shortestChurn.String()}, t.Output())
	require.NoError(t, err)
	c.Parallel = 2
	r, err := m.Measure(t.Context(), c, t.Output())
	require.NoError(t, err)
	for _, column := range r.Columns {
		require.NoError(t, column.Err)
		record := column.Records[0]
		if column.Subject.Name == sidebyside.Ours {
			require.Empty(t, record.Faults())
		}
		rows := strings.Join(record.Rows(), "\n")
		t.Logf("%s:\n%s", column.Name(), rows)
		require.Len(t, record.Rows(), 18)
		// Each pod is reported ready, and removed.
		require.Regexp(t, `API calls to bring a pod up: [123]\.`, rows)
		require.Regexp(t, `API calls to end a pod: [1-5]\.`, rows)
		require.Regexp(t, `pods that come and go in 5s: [1-9]`, rows)
		require.Regexp(t, `most resident memory at any time: [1-9]\d+ MiB`, rows)
		require.Regexp(t, `goroutines at the end: [1-9]\d`, rows)
	}
}
