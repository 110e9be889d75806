package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const output = `upstream: v1.37.1
load-before: 0.50
goos: linux
goarch: amd64
pkg: some/bench
cpu: Some CPU
BenchmarkQueue/remove_a_key/ours/waiting=1000-2
BenchmarkQueue/remove_a_key/ours/waiting=1000-2         	  193095	       310.0 cpu-ns/op	       320.5 ns/op	       0 B/op	       0 allocs/op
BenchmarkQueue/remove_a_key/upstream/waiting=1000-2     	   29792	     62000 cpu-ns/op	     18073 ns/op	      80 B/op	       1 allocs/op
E1121 20:30:33 event.go:477] "something is logged: in between"
Benchmark results are not what a line with these words is
BenchmarkHealth/observe/ours/nodes=100-2                	 1000000	        41.00 cpu-ns/op	        50.00 ns/op	       0 B/op	       0 allocs/op
BenchmarkMemory/timer/ours/pending=1000000-2            	       1	       366.44 B/pending	54841376 B/op	  110421 allocs/op
BenchmarkMemory/timer/upstream/pending=1000000-2        	       1	       475.0 B/pending	66990568 B/op	 1100541 allocs/op
PASS
load-after: 1.25
ok  	some/bench	12.3s
`

func tableOf(t *testing.T, input string) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, run(strings.NewReader(input), &out))
	return out.String()
}

func rowOf(t *testing.T, input, work string) string {
	t.Helper()
	for line := range strings.Lines(tableOf(t, input)) {
		if strings.HasPrefix(line, "| "+work) {
			return strings.TrimSpace(line)
		}
	}
	require.Fail(t, "no such row", work)
	return ""
}

func TestTheTable(t *testing.T) {
	require.Equal(t, `linux/amd64, Some CPU, 2 processors, load average 0.50 before and 1.25 after

| work | ours | upstream v1.37.1 | ours ÷ upstream |
| --- | --- | --- | --- |
| Queue: remove a key, waiting=1000 | 310 ns, 0 allocs, 0 B | 62 µs, 1 allocs, 80 B | 1/200, 0, 0 |
| Health: observe, nodes=100 | 41 ns, 0 allocs, 0 B | – | – |
| Memory: timer, pending=1000000 | 366 B each | 475 B each | 0.77 |

`+legend+"\n", tableOf(t, output))
}

func TestSeveralRunsGiveTheirMedian(t *testing.T) {
	line := "BenchmarkA/b/ours/n=1-2 10 "
	odd := line + "30 ns/op\n" + line + "10 ns/op\n" + line + "20000 ns/op\n"
	require.Contains(t, rowOf(t, odd, "A: b"), "| 30 ns wall |")
	require.Contains(t, rowOf(t, odd+line+"50 ns/op\n", "A: b"), "| 40 ns wall |")
}

func TestSidesAreComparedInAUnitThatBothHave(t *testing.T) {
	input := "BenchmarkA/b/ours/n=1-2 10 5 cpu-ns/op 40 ns/op 7 B/op\nBenchmarkA/b/upstream/n=1-2 10 20 ns/op\n"
	require.Equal(t, "| A: b, n=1 | 40 ns wall | 20 ns wall | 2 |", rowOf(t, input, "A: b"))
}

func TestAWorkThatOnlyUpstreamHasIsShown(t *testing.T) {
	input := "BenchmarkA/b/upstream/n=1 10 20 ns/op\n" // one processor: no suffix
	require.Equal(t, "| A: b, n=1 | – | 20 ns wall | – |", rowOf(t, input, "A: b"))
}

const good = "BenchmarkA/b/ours/n=1-2 10 20 ns/op\n"

func TestBadInputIsAnErrorAndWhatIsKnownIsShown(t *testing.T) {
	for name, c := range map[string]struct {
		input string
		want  string
	}{
		"failed":                {"--- FAIL: BenchmarkA/b/upstream/n=1-2\n", "--- FAIL: BenchmarkA/b/upstream/n=1"},
		"test failed":           {"--- FAIL: TestA (0.00s)\n", "--- FAIL: TestA"},
		"did not build":         {"FAIL\tsome/bench [build failed]\n", "build failed"},
		"interrupted":           {"signal: interrupt\nFAIL\tsome/bench\t1.2s\nFAIL\n", "FAIL\tsome/bench"},
		"panic":                 {"panic: oh\n", "panic: oh"},
		"no side":               {"BenchmarkA/b-2 10 20 ns/op\n", "neither"},
		"no unit":               {"BenchmarkA/b/ours-2 10 20 ns/op 3\n", "without a unit"},
		"no number":             {"BenchmarkA/b/ours-2 10 many ns/op\n", "not a number"},
		"a line without an end": {strings.Repeat("x", 2<<20), "read: "},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := run(strings.NewReader(good+c.input), &out)
			require.ErrorIs(t, err, errIncomplete)
			require.ErrorContains(t, err, c.want)
			require.Contains(t, out.String(), "| A: b, n=1 | 20 ns wall | ")
			require.Contains(t, out.String(), "\n[1] ")
			require.Contains(t, out.String(), c.want)
			require.NotContains(t, out.String(), "[2]")
		})
	}
}

func TestAFailedBenchmarkSaysSo(t *testing.T) {
	var out strings.Builder
	require.Error(t, run(strings.NewReader(
		good+"--- FAIL: BenchmarkA/b/upstream/n=1-2\n    it did not\n--- FAIL: BenchmarkA-2\n"), &out))
	require.Contains(t, out.String(), `
| A: b, n=1 | 20 ns wall | failed | – |

[1] --- FAIL: BenchmarkA/b/upstream/n=1-2

[2] --- FAIL: BenchmarkA-2
`)
}

func TestInputWithoutResultsIsAnError(t *testing.T) {
	for _, input := range []string{"", "PASS\nok some/bench 1s\n", "panic: oh\n"} {
		var out strings.Builder
		require.ErrorIs(t, run(strings.NewReader(input), &out), errNoResults)
		require.Empty(t, out.String())
	}
}

func TestRatios(t *testing.T) {
	for _, c := range []struct {
		mine, theirs float64
		want         string
	}{
		{0, 0, "1"}, {5, 5, "1"}, {0, 3, "0"}, {3, 0, "∞"}, {1, 2, "0.5"}, {1, 10, "0.1"},
		{1, 11, "1/11"}, {2, 25_000, "1/12,500"}, {3, 2, "1.5"}, {40, 3, "13.3"},
	} {
		require.Equal(t, c.want, ratio(c.mine, c.theirs), "%v ÷ %v", c.mine, c.theirs)
	}
}

func TestNumbersAreShort(t *testing.T) {
	for ns, want := range map[float64]string{
		0: "0 ns", 0.5: "0.5 ns", 512.4: "512 ns", 999.9: "1 µs", 1234: "1.23 µs", 45_678: "45.7 µs", 107e6: "107 ms",
		2.5e9: "2.5 s",
	} {
		require.Equal(t, want, duration(ns))
	}
	for n, want := range map[float64]string{0: "0 B", 727: "727 B", 1000: "1 kB", 52_000_000: "52 MB",
		2.345e9: "2.35 GB"} {
		require.Equal(t, want, bytes(n))
	}
	for n, want := range map[float64]string{1: "1", 593_000: "593,000", 1_234_567: "1,234,567", 99.96: "100",
		9.996: "10"} {
		require.Equal(t, want, short(n))
	}
}
