package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

func TestFlags(t *testing.T) {
	o, err := parse(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 1000, o.nodes)
	require.Equal(t, 5000, o.pods)
	require.Len(t, o.subjects, 3)
	o, err = parse([]string{"--nodes=7", "--subject=kwok"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 35, o.pods)
	require.Equal(t, kwokName, o.subjects[0].name)

	for want, args := range map[string][]string{
		`takes no arguments, got ["now"]`:                     {"now"},
		"--nodes is -1 and --pods is -5, want at least 1":     {"--nodes=-1"},
		"--pods is 56, want at most 55 for each node":         {"--nodes=1", "--pods=56"},
		`there is no "kubemark", only ours, kwok, kubelet`:    {"--subject=kubemark"},
		"--rest is 0s and --churn is 1m0s, want at least 1s":  {"--rest=0s"},
		"--rest is 1m0s and --churn is 1s, want at least 1s":  {"--churn=1s"},
		"--rest is 1m0s and --churn is -1s, want at least 1s": {"--churn=-1s"},
	} {
		_, err := parse(args, io.Discard)
		require.ErrorContains(t, err, want)
	}
}

// measured returns a column in which each figure is the same.
func measured(s subject, value float64) column {
	c := column{subject: s, figures: figures{}, load: "0.50"}
	for f := nodesSeconds; f <= goroutines; f++ {
		c.figures[f] = value
	}
	return c
}

func compared(t *testing.T, columns ...column) (*table, string) {
	t.Helper()
	both := &table{options: options{nodes: 1000, pods: 5000, churn: time.Minute}, columns: columns}
	var out strings.Builder
	require.NoError(t, both.write(&out))
	return both, out.String()
}

func TestTheTable(t *testing.T) {
	both, text := compared(t, measured(subjects()[0], 2), measured(subjects()[1], 4))
	require.NoError(t, both.problem())
	require.Equal(t, `| | examples/hollownode | kwok v0.8.0 | ours to kwok's |
| --- | --- | --- | --- |
| 1,000 nodes are ready after | 2.0 s | 4.0 s | 0.50 |
| CPU time to make them ready | 2.00 s | 4.00 s | 0.50 |
| API calls for each node | 2.00 | 4.00 | 0.50 |
| 5,000 pods are created and ready after | 2.0 s | 4.0 s | 0.50 |
| CPU time to bring them up | 2.00 s | 4.00 s | 0.50 |
| API calls to bring a pod up | 2.00 | 4.00 | 0.50 |
| CPU at rest, of a core | 2.0 % | 4.0 % | 0.50 |
| calls about leases a second, at rest | 2.0 | 4.0 | 0.50 |
| resident memory at rest | 2 MiB | 4 MiB | 0.50 |
| all pods are deleted and gone after | 2.0 s | 4.0 s | 0.50 |
| CPU time to end them | 2.00 s | 4.00 s | 0.50 |
| API calls to end a pod | 2.00 | 4.00 | 0.50 |
| pods that come and go in 1m0s | 2 | 4 | 0.50 |
| of them a second | 2 | 4 | 0.50 |
| CPU time for 1,000 of them | 2.00 s | 4.00 s | 0.50 |
| growth of resident memory meanwhile | +2.0 % | +4.0 % | – |
| most resident memory at any time | 2 MiB | 4 MiB | 0.50 |
| goroutines at the end | 2 | 4 | 0.50 |
| load average before | 0.50 | 0.50 | |
`, text)
}

func TestCostsAboveThoseOfKwokAreAnError(t *testing.T) {
	both, _ := compared(t, measured(subjects()[0], 4), measured(subjects()[1], 2))
	for _, f := range []string{
		"CPU time to bring them up", "CPU time to end them", "CPU at rest", "resident memory at rest",
	} {
		require.ErrorContains(t, both.problem(), f)
	}
	require.ErrorIs(t, both.problem(), errTooMuch)
	require.NotContains(t, both.problem().Error(), "API calls", "a kubelet writes more than kwok")
	require.NotContains(t, both.problem().Error(), "seconds")
}

func TestGrowthOverManyPodsIsAnError(t *testing.T) {
	ours, kwok := measured(subjects()[0], 2), measured(subjects()[1], 2)
	ours.figures[churnGrowth], kwok.figures[churnGrowth] = mostGrowth, 2*mostGrowth
	ours.figures[churnPods], kwok.figures[churnPods] = enoughPods-1, enoughPods
	both, _ := compared(t, ours, kwok)
	require.NoError(t, both.problem(), "too few pods, and kwok's memory is its own")
	ours.figures[churnPods] = enoughPods
	both, _ = compared(t, ours, kwok)
	require.ErrorContains(t, both.problem(), "memory has grown by 5.0 %")
}

func TestAPlayThatFailsLeavesWhatIsKnown(t *testing.T) {
	kwok := column{
		subject: subjects()[1], figures: figures{nodesSeconds: 3}, load: "1.00",
		err: errors.New("no etcd\nlast lines of a log"),
	}
	both, text := compared(t, measured(subjects()[0], 2), kwok)
	require.Contains(t, text, "| 1,000 nodes are ready after | 2.0 s | 3.0 s | 0.67 |\n")
	require.Contains(t, text, "| CPU at rest, of a core | 2.0 % | not measured [1] | – |\n")
	require.Contains(t, text, "\n[1] no etcd\n")
	require.ErrorIs(t, both.problem(), sidebyside.ErrIncomplete)
	require.ErrorContains(t, both.problem(), kwokName)
}

// The kubelet has only calls, on few nodes, and ours needs no more of them.
func TestTheKubeletsCallsAreAColumn(t *testing.T) {
	kubelet := column{
		subject: subjects()[2], figures: figures{nodesCalls: 9, upCalls: 2, endCalls: 2}, load: "1.00",
	}
	all, text := compared(t, measured(subjects()[0], 2), measured(subjects()[1], 2), kubelet)
	require.NoError(t, all.problem())
	require.Contains(t, text, "| | examples/hollownode | kwok v0.8.0 | kubelet v1.37.1, by kubemark | ours to kwok's |\n"+
		"| --- | --- | --- | --- | --- |\n")
	require.Contains(t, text, "| CPU at rest, of a core | 2.0 % | 2.0 % | – | 1.00 |\n")
	require.Contains(t, text, "| API calls to bring a pod up | 2.00 | 2.00 | 2.00 | 1.00 |\n")

	kubelet.figures = figures{nodesCalls: 1, upCalls: 1.5, endCalls: 1.5}
	all, _ = compared(t, measured(subjects()[0], 2), kubelet)
	require.ErrorContains(t, all.problem(), "API calls to bring a pod up: 1.33 times the kubelet's")
	require.ErrorContains(t, all.problem(), "API calls to end a pod: 1.33 times the kubelet's")
	require.NotContains(t, all.problem().Error(), "for each node", "a node is registered once")

	delete(kubelet.figures, endCalls)
	_, text = compared(t, kubelet)
	require.Contains(t, text, "| API calls to end a pod | not measured [1] |\n")

	o := options{nodes: 1000, pods: 5000}
	require.Equal(t, options{nodes: 10, pods: 50}, subjects()[2].sized(o))
	require.Equal(t, o, subjects()[1].sized(o))
	o = options{nodes: 4, pods: 2}
	require.Equal(t, o, subjects()[2].sized(o))
}

func TestMemoryAndGoroutinesAreBounded(t *testing.T) {
	for _, test := range []struct {
		figure figure
		most   float64
		want   string
	}{
		{restMemory, 1024, "1025 MiB of memory, want at most 1024"},
		{peakMemory, 1024, "1025 MiB of memory, want at most 1024"},
		{goroutines, 256, "257 goroutines, want at most 256"},
	} {
		ours := measured(subjects()[0], 2)
		ours.figures[test.figure] = test.most
		alone, _ := compared(t, ours)
		require.NoError(t, alone.problem())
		ours.figures[test.figure]++
		require.ErrorContains(t, alone.problem(), test.want)
		require.ErrorIs(t, alone.problem(), errTooMuch)
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

// One subject does not wait for the programs of the others.
func TestOnlyChosenSubjectsAreBuilt(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel() // so that nothing can be built
	w := workshop{dir: t.TempDir(), ours: "/bin/hollownode", progress: io.Discard}
	for _, s := range subjects() {
		built, err := w.build(over, []subject{s})
		if s.name == sidebyside.Ours {
			require.NoError(t, err)
			require.Equal(t, w.ours, built[0].path)
			continue
		}
		require.ErrorIs(t, err, context.Canceled, s.name)
	}
}
