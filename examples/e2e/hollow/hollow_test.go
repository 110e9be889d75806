package hollow

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

func parsed(t *testing.T, args ...string) (*options, *sidebyside.Choice[scenario], error) {
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

func TestFlagsOfACircle(t *testing.T) {
	o, c, err := parsed(t, "--circle")
	require.NoError(t, err)
	require.Equal(t, []int{2000, 4000, 200}, []int{o.nodes, o.pods, o.silenced()})
	require.Equal(t, []scenario{circle}, c.Scenarios)
	require.Len(t, c.Subjects, 1, "kwok is not built")
	for _, silent := range []string{"0", "51", "1"} {
		_, _, err := parsed(t, "--circle", "--nodes=99", "--silent="+silent)
		require.ErrorContains(t, err, "--silent is "+silent)
	}
}

// column returns one in which each figure is the same.
func column(o *options, of scenario, subject string, value float64) *sidebyside.Column[scenario, figures] {
	f := figures{}
	for _, row := range []*figure{
		nodesSeconds, nodesCPU, nodesCalls, upSeconds, upCPU, upCalls, restCPU, restRenewals, restMemory,
		endSeconds, endCPU, endCalls, churnPods, churnRate, churnCPU, churnGrowth, peakMemory, goroutines,
	} {
		f[row] = value
	}
	for _, s := range o.measurement().Subjects {
		if s.Name == subject {
			return &sidebyside.Column[scenario, figures]{Scenario: of, Subject: s, Records: []*figures{&f}}
		}
	}
	return nil
}

func compared(ours, kwok float64) (*options, []*sidebyside.Column[scenario, figures]) {
	o := &options{nodes: 1000, pods: 5000, churn: time.Minute}
	return o, []*sidebyside.Column[scenario, figures]{
		column(o, alone, sidebyside.Ours, ours), column(o, alone, kwokName, kwok),
	}
}

func TestTheRows(t *testing.T) {
	o, columns := compared(2, 4)
	var rows []string
	for _, f := range o.figures(columns) {
		value, known := f.Of(columns[1].Records[0])
		require.True(t, known)
		rows = append(rows, f.Title+": "+f.Format(value))
	}
	require.Equal(t, `1,000 nodes are ready after: 4.0 s
CPU time to make them ready: 4.00 s
API calls for each node: 4.00
5,000 pods are created and ready after: 4.0 s
CPU time to bring them up: 4.00 s
API calls to bring a pod up: 4.00
CPU at rest, of a core: 4.0 %
calls about leases a second, at rest: 4.0
resident memory at rest: 4 MiB
all pods are deleted and gone after: 4.0 s
CPU time to end them: 4.00 s
API calls to end a pod: 4.00
pods that come and go in 1m0s: 4
of them a second: 4
CPU time for 1,000 of them: 4.00 s
growth of resident memory meanwhile: +4.0 %
most resident memory at any time: 4 MiB
goroutines at the end: 4`, strings.Join(rows, "\n"))
	for _, f := range o.figures(columns) {
		ratio, known := sidebyside.Ratio(f, columns[0], columns[1])
		require.Equal(t, f.Title != "growth of resident memory meanwhile", known, f.Title)
		if known {
			require.InDelta(t, 0.5, ratio, 1e-9)
		}
	}
	require.NoError(t, o.judge(columns))
}

func TestTheStepsOfACircle(t *testing.T) {
	o := &options{nodes: 2000, pods: 4000, silent: 10}
	var rows []string
	for _, f := range o.figures([]*sidebyside.Column[scenario, figures]{{Scenario: circle}}) {
		rows = append(rows, f.Title+": "+f.Format(7))
	}
	require.Equal(t, `2,000 nodes are ready and take pods: 7.0 s
4,000 pods of a ReplicaSet are ready, and one that stays on each node: 7.0 s
200 of them silent: all of these are tainted NoExecute: 7.0 s
all their pods of the ReplicaSet are evicted: 7.0 s
as many are ready on other nodes: 7.0 s
all that stay are shown not ready: 7.0 s
the nodes return: all that stayed are ready again: 7.0 s
the evicted pods have ended: 7.0 s
no node has a taint: 7.0 s
the last pod that stayed is ready, after the return of its node: 7.0 s
restarts of their containers: 7`, strings.Join(rows, "\n"))

	require.NoError(t, figures{slowest: returnLimit.Seconds()}.faults())
	require.ErrorIs(t, figures{slowest: returnLimit.Seconds() + 0.001}.faults(), errTooLate)
	require.ErrorContains(t, figures{restarts: 1}.faults(), "1 containers have restarted")
}

func TestCostsAboveThoseOfKwokAreAnError(t *testing.T) {
	o, columns := compared(4, 2)
	err := o.judge(columns)
	for _, f := range []string{
		"CPU time to bring them up", "CPU time to end them", "CPU at rest", "resident memory at rest",
	} {
		require.ErrorContains(t, err, f)
	}
	require.ErrorIs(t, err, errTooMuch)
	require.ErrorIs(t, err, sidebyside.ErrOursFailed)
	require.NotContains(t, err.Error(), "API calls", "a kubelet writes more than kwok")
	require.NotContains(t, err.Error(), "seconds")
	require.NoError(t, o.judge(columns[:1]), "alone there is nothing to compare with")
}

func TestMoreCallsThanAKubeletSendsAreAnError(t *testing.T) {
	f := figures{nodesCalls: 99, upCalls: kubeletUpCalls, endCalls: kubeletEndCalls}
	require.NoError(t, f.faults(), "a node is registered once")
	f[upCalls], f[endCalls] = 3, 5
	require.ErrorIs(t, f.faults(), errTooMuch)
	require.ErrorContains(t, f.faults(), "API calls to bring a pod up: 3.00, and a kubelet needs 2.48")
	require.ErrorContains(t, f.faults(), "API calls to end a pod: 5.00, and a kubelet needs 4.42")
}

func TestGrowthOverManyPodsIsAnError(t *testing.T) {
	require.NoError(t, figures{churnGrowth: mostGrowth, churnPods: enoughPods - 1}.faults(), "too few pods")
	require.ErrorContains(t, figures{churnGrowth: mostGrowth, churnPods: enoughPods}.faults(), "memory has grown by 5.0 %")
}

func TestMemoryAndGoroutinesAreBounded(t *testing.T) {
	for _, test := range []struct {
		figure *figure
		most   float64
		want   string
	}{
		{restMemory, 1024, "1025 MiB of memory, want at most 1024"},
		{peakMemory, 1024, "1025 MiB of memory, want at most 1024"},
		{goroutines, 256, "257 goroutines, want at most 256"},
	} {
		f := figures{test.figure: test.most}
		require.NoError(t, f.faults())
		f[test.figure]++
		require.ErrorContains(t, f.faults(), test.want)
		require.ErrorIs(t, f.faults(), errTooMuch)
	}
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

// One subject does not wait for the programs of the others, and the circle's
// are built only for it.
func TestOnlyChosenProgramsAreBuilt(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel() // so that nothing can be built
	_, err := kwok().Build(over, t.TempDir(), io.Discard)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, new(options).prepare(over, t.TempDir(), io.Discard))
	require.ErrorIs(t, (&options{circle: true}).prepare(over, t.TempDir(), io.Discard), context.Canceled)
}

// TestReadinessIsTheLastTimeThatAPodBecameReady: each change to ready counts,
// and no other change does.
func TestReadinessIsTheLastTimeThatAPodBecameReady(t *testing.T) {
	pod := func(label, node string, ready corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": label}},
			Spec:       corev1.PodSpec{NodeName: node},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := &readiness{last: map[string]time.Time{}}
	become := func(label, node string, after time.Duration, from, to corev1.ConditionStatus) {
		r.see(pod(label, node, from), pod(label, node, to), start.Add(after))
	}
	become(stays, "a", 1*time.Second, corev1.ConditionFalse, corev1.ConditionTrue)
	become(stays, "a", 2*time.Second, corev1.ConditionTrue, corev1.ConditionFalse)
	become(stays, "a", 5*time.Second, corev1.ConditionFalse, corev1.ConditionTrue)
	become(stays, "a", 7*time.Second, corev1.ConditionTrue, corev1.ConditionTrue)
	become(app, "b", 9*time.Second, corev1.ConditionFalse, corev1.ConditionTrue)

	returned := map[string]time.Time{"a": start.Add(time.Second)}
	slowest, err := r.slowest(returned)
	require.NoError(t, err)
	require.Equal(t, 4*time.Second, slowest)

	returned["b"] = start
	_, err = r.slowest(returned)
	require.ErrorIs(t, err, errMissing, "only a pod of the ReplicaSet was seen there")
}

// TestTheWholeCircle plays it with few nodes. It takes a minute or two, and
// mostly waits.
func TestTheWholeCircle(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := Run(t.Context(), []string{"--circle", "--nodes=40"}, &out, t.Output())
	if !errors.Is(err, errTooLate) { // which a busy machine decides, not the fleet
		require.NoError(t, err)
	}
	require.Contains(t, out.String(), "| the evicted pods have ended |")
	require.Contains(t, out.String(), "| restarts of their containers | 0 |")
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
		f := *column.Records[0]
		if column.Subject.Name == sidebyside.Ours {
			require.NoError(t, f.faults())
		}
		for _, row := range o.figures(r.Columns) {
			_, known := row.Of(&f)
			require.True(t, known, row.Title)
		}
		require.GreaterOrEqual(t, f[upCalls], 1.0, "each pod is reported ready")
		require.Less(t, f[upCalls], 4.0)
		require.GreaterOrEqual(t, f[endCalls], 1.0, "each pod is removed")
		require.Less(t, f[endCalls], 6.0)
		require.Positive(t, f[churnPods])
		require.Greater(t, f[peakMemory], 10.0)
		require.Greater(t, f[goroutines], 10.0)
	}
}
