package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	timer  = "Eviction: timer, set and cancel, pending=10"
	memory = "Eviction: memory of a timer, pending=10"
)

type byProcessor = map[string]map[string]float64

// sides are what ours and upstream took in one run.
type sides [2]float64

// measured is the output of runs of one row on Some CPU, in CPU time.
func measured(row string, runs ...sides) string {
	return measuredIn("cpu-ns/op", row, runs...)
}

func measuredIn(unit, row string, runs ...sides) string {
	group, rest, _ := strings.Cut(strings.ReplaceAll(row, " ", "_"), ":_")
	at := strings.LastIndex(rest, ",_")
	text := "cpu: Some CPU\n"
	for _, run := range runs {
		for i, side := range []string{ours, upstream} {
			text += fmt.Sprintf("Benchmark%s/%s/%s/%s-2 10 %v %s 999 ns/op\n",
				group, rest[:at], side, rest[at+2:], run[i], unit)
		}
	}
	return text
}

func resultsOf(t *testing.T, outputs ...string) *results {
	t.Helper()
	return parse(strings.NewReader(strings.Join(outputs, "")))
}

func listOf(ratio float64) *list {
	return &list{Rows: []string{timer}, Processors: byProcessor{"Some CPU": {timer: ratio}}}
}

func TestARowHoldsUpToItsRatioTimesTheSpare(t *testing.T) {
	for _, c := range []struct {
		ours, upstream float64
		slower, faster bool
	}{
		{ours: 160, upstream: 100, slower: true},
		{ours: 1_000, upstream: 100, slower: true},
		{ours: 150, upstream: 100},
		{ours: 100, upstream: 100},
		{ours: 70, upstream: 100},
		{ours: 60, upstream: 100, faster: true},
		{ours: 140_000, upstream: 100_000}, // how long it takes is never judged
	} {
		results := resultsOf(t, measured(timer, sides{c.ours, c.upstream}))
		verdicts, err := compare(results, listOf(1), []string{timer})
		require.NoError(t, err)
		require.Len(t, verdicts, 1)
		require.Equal(t, c.slower, verdicts[0].slower(), "%v", c)
		require.Equal(t, c.faster, verdicts[0].faster(), "%v", c)
	}
}

func TestTheBestRunOfEachSideCounts(t *testing.T) {
	results := resultsOf(t, measured(timer, sides{900, 1000}, sides{50, 4000}, sides{70, 100}))
	found, err := results.bestRatio(timer)
	require.NoError(t, err)
	require.Equal(t, 0.5, found)
}

func TestMemoryIsComparedInBytes(t *testing.T) {
	found, err := resultsOf(t, measuredIn("B/pending", memory, sides{200, 400})).bestRatio(memory)
	require.NoError(t, err)
	require.Equal(t, 0.5, found)
}

func TestWhatCannotBeJudgedIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		output string
		list   *list
		want   string
	}{
		"no such benchmark": {measured(memory, sides{1, 1}), listOf(1), "no benchmark has this name"},
		"one side": {
			"BenchmarkEviction/timer,_set_and_cancel/ours/pending=10 1 5 cpu-ns/op\n", listOf(1), "not both sides",
		},
		"wall-clock time":  {measuredIn("other", timer, sides{1, 1}), listOf(1), "not both sides"},
		"no time at all":   {measured(timer, sides{0, 1}), listOf(1), "not both sides"},
		"recorded nowhere": {measured(timer, sides{1, 1}), &list{Rows: []string{timer}}, "record one"},
		"another row only": {measured(timer, sides{1, 1}), &list{
			Rows: []string{timer, memory}, Processors: byProcessor{"Some CPU": {memory: 1}},
		}, "record one"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compare(resultsOf(t, c.output), c.list, []string{timer})
			require.ErrorContains(t, err, timer+": ")
			require.ErrorContains(t, err, c.want)
		})
	}
}

// script is a measure that answers with one output after the other, and records
// the rows that it is asked for.
type script struct {
	outputs []string
	asked   [][]string
}

func (s *script) measure(_ context.Context, rows []string) (*results, error) {
	s.asked = append(s.asked, rows)
	output := s.outputs[0]
	s.outputs = s.outputs[1:]
	results := parse(strings.NewReader(output))
	return results, results.err()
}

// listFile writes a list with both rows, each with the ratio 1 on Some CPU.
func listFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ratios.json")
	l := &list{Rows: []string{timer, memory}, Processors: byProcessor{"Some CPU": {timer: 1, memory: 1}}}
	require.NoError(t, l.write(path))
	return path
}

func checked(t *testing.T, path string, outputs ...string) (asked [][]string, out string, err error) {
	t.Helper()
	s := &script{outputs: outputs}
	var text strings.Builder
	err = checkList(t.Context(), path, s.measure, &text)
	require.Empty(t, s.outputs, "not everything was measured that the test expects")
	return s.asked, text.String(), err
}

func TestACheckThatHoldsMeasuresOnce(t *testing.T) {
	asked, out, err := checked(t, listFile(t),
		measured(timer, sides{120, 100})+measured(memory, sides{1, 2}))
	require.NoError(t, err)
	require.Equal(t, [][]string{{timer, memory}}, asked)
	require.Equal(t, `Some CPU, 2 processors

| work | ours ÷ upstream | recorded | at most | |
| --- | --- | --- | --- | --- |
| `+timer+` | 1.2 | 1 | 1.5 | holds |
| `+memory+` | 0.5 | 1 | 1.5 | faster |

The check would not notice if these rows lost again what they have gained:
  `+memory+`
Record them, from the root, on a quiet machine:
  go -C examples/e2e run ./bench/table --record
`, out)
}

func TestARowThatIsSlowerIsMeasuredAgain(t *testing.T) {
	first := measured(timer, sides{200, 100}) + measured(memory, sides{1, 1})

	asked, out, err := checked(t, listFile(t), first, measured(timer, sides{120, 100}))
	require.NoError(t, err)
	require.Equal(t, [][]string{{timer, memory}, {timer}}, asked)
	require.Contains(t, out, "| "+timer+" | 2, then 1.2 | 1 | 1.5 | holds |\n")

	_, out, err = checked(t, listFile(t), first, measured(timer, sides{160, 100}))
	require.ErrorIs(t, err, errSlower)
	require.ErrorContains(t, err, timer+": ours ÷ upstream was 2 and then 1.6, recorded is 1, at most 1.5")
	require.NotContains(t, err.Error(), memory)
	require.Contains(t, out, "| "+timer+" | 2, then 1.6 | 1 | 1.5 | SLOWER |\n")
	require.Contains(t, out, "| "+memory+" | 1 | 1 | 1.5 | holds |\n")
}

func TestAnotherProcessorIsComparedWithTheLoosest(t *testing.T) {
	l := listOf(0.2)
	l.Processors = byProcessor{"A": {timer: 0.2}, "B": {timer: 0.4}, "C": {timer: 0.3}}
	path := filepath.Join(t.TempDir(), "ratios.json")
	require.NoError(t, l.write(path))

	_, out, err := checked(t, path, measured(timer, sides{50, 100}))
	require.NoError(t, err)
	require.Contains(t, out, "| "+timer+" | 0.5 | 0.4 | 0.6 | holds |\n")
	require.Contains(t, out, "Nothing is recorded for Some CPU.")
	require.Contains(t, out, "\n  "+timer+" (B)\n")
	require.Contains(t, out, recordCommand)

	slow := measured(timer, sides{70, 100})
	_, _, err = checked(t, path, slow, slow)
	require.ErrorIs(t, err, errSlower)

	// How much faster it is than another processor says nothing.
	_, out, err = checked(t, path, measured(timer, sides{1, 100}))
	require.NoError(t, err)
	require.NotContains(t, out, "faster")
}

func TestAProcessorWithoutANameIsThatOfItsArchitecture(t *testing.T) {
	require.Equal(t, "linux/arm64", resultsOf(t, "goos: linux\ngoarch: arm64\n").processor())
}

func TestARunThatFailsIsNoVerdict(t *testing.T) {
	_, out, err := checked(t, listFile(t),
		measured(timer, sides{1, 1})+"--- FAIL: BenchmarkEviction/x/ours/n=1\n")
	require.ErrorIs(t, err, errIncomplete)
	require.Empty(t, out)
}

func TestARecordingIsTheMedianOfThree(t *testing.T) {
	path := listFile(t)
	l, err := readList(path)
	require.NoError(t, err)
	l.Processors["Another CPU"] = map[string]float64{timer: 7}
	delete(l.Processors["Some CPU"], memory)
	require.NoError(t, l.write(path))

	s := &script{}
	for _, ours := range []float64{90, 12.3456, 10} {
		s.outputs = append(s.outputs, measured(timer, sides{ours, 100})+measured(memory, sides{2, 1}))
	}
	var out strings.Builder
	require.NoError(t, recordInList(t.Context(), path, s.measure, &out))
	require.Equal(t, "Some CPU\n\n| work | recorded | before |\n| --- | --- | --- |\n"+
		"| "+timer+" | 0.12 | 1 |\n| "+memory+" | 2 | – |\n", out.String())

	l, err = readList(path)
	require.NoError(t, err)
	require.Equal(t, byProcessor{
		"Some CPU": {timer: 0.123, memory: 2}, "Another CPU": {timer: 7},
	}, l.Processors)
}

func TestTheFirstProcessorIsRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ratios.json")
	require.NoError(t, (&list{Rows: []string{timer}}).write(path))
	output := measured(timer, sides{1, 2})
	s := &script{outputs: []string{output, output, output}}
	require.NoError(t, recordInList(t.Context(), path, s.measure, &strings.Builder{}))
	l, err := readList(path)
	require.NoError(t, err)
	require.Equal(t, listOf(0.5), l)
}

func TestAListThatMakesNoSenseIsRejected(t *testing.T) {
	for content, want := range map[string]string{
		`{}`:                                   "no rows",
		`{"rows": ["A: b, n=1", "A: b, n=1"]}`: "stands there twice",
		`{"rows": ["A: b, n=1"], "processors": {"P": {"A: c, n=1": 1}}}`: "is not one of the rows",
		`{"rows": ["A: b, n=1"], "processors": {"P": {"A: b, n=1": 0}}}`: "want more than 0",
		`[]`: "cannot unmarshal",
	} {
		path := filepath.Join(t.TempDir(), "ratios.json")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := readList(path)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
	}
}

func TestTheCommittedListHasARatioOfEachRow(t *testing.T) {
	l, err := readList(filepath.Join("..", "ratios.json"))
	require.NoError(t, err)
	for _, row := range l.Rows {
		_, _, ok := l.ratioOf("an unknown processor", row)
		require.True(t, ok, row)
	}
}

func TestAPatternRunsExactlyTheRows(t *testing.T) {
	pattern, err := patternOf([]string{timer, "Zone: a+b, nodes=1"})
	require.NoError(t, err)
	require.Equal(t, `^BenchmarkEviction$/^timer,_set_and_cancel$/^(ours|upstream)$/^pending=10$|`+
		`^BenchmarkZone$/^a\+b$/^(ours|upstream)$/^nodes=1$`, pattern)
	for _, row := range []string{"", "Zone", "Zone: states", "states, nodes=1"} {
		_, err := patternOf([]string{row})
		require.ErrorContains(t, err, "is not the name of a row")
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		args []string
		in   string
		want int
		says string
	}{
		{args: []string{"--help"}, want: 0, says: "--record"},
		{in: good, want: 0, says: "| A: b, n=1 |"},
		{in: "", want: 1, says: errNoResults.Error()},
		{args: []string{"--chekc"}, want: 2, says: "--help"},
		{args: []string{"--check", "--record"}, want: 2, says: "exclude"},
		{args: []string{"queue"}, want: 2, says: `"queue"`},
	} {
		var out strings.Builder
		code := command(t.Context(), c.args, strings.NewReader(c.in), &out, &out)
		require.Equal(t, c.want, code, "%q", c.args)
		require.Contains(t, out.String(), c.says)
	}
}
