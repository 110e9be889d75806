package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/blast"
	"github.com/kubelife/lifecycle/examples/outage/page"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenarios"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/process/atomicfile"
)

// tiny is a rack of two nodes that fall silent for five minutes.
const tiny = `name: tiny
description: Two of ten nodes fall silent.
duration: 12m
seed: 3
cluster:
  zones:
  - {name: a, nodes: 10}
  - {name: b, nodes: 5}
  workloads:
  - {name: web, replicas: 30, tolerationSeconds: 60}
script:
- at: 2m
  for: 5m
  silence: {names: [a-0, a-1]}
`

// call runs the program.
func call(t *testing.T, in string, args ...string) (code int, out, diagnostics string) {
	t.Helper()
	var o, d bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(in), &o, &d)
	return code, o.String(), d.String()
}

// file writes a scenario and returns its name.
func file(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "mine.yaml")
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	return name
}

// A wrong call or scenario ends at once, with what is wrong and where, and
// nothing on standard output.
func TestWrongCalls(t *testing.T) {
	invalid := file(t, strings.Replace(tiny, "nodes: 10", "nodez: 10", 1)+"- {at: 1h, crash: {}}\n")
	for name, test := range map[string]struct {
		args []string
		says []string
	}{
		"unknown flag":    {[]string{"rack-loss", "--xyz=3"}, []string{"unknown flag: --xyz\n", "--help"}},
		"misspelled flag": {[]string{"rack-loss", "--htm", "x"}, []string{"unknown flag: --htm; did you mean --html?"}},
		"a flag of the controller": {[]string{"rack-loss", "--node-eviction-rate", "1"},
			[]string{"unknown flag: --node-eviction-rate; did you mean --set node-eviction-rate=1?"}},
		"misspelled command": {[]string{"blst"}, []string{"did you mean blast?"}},
		"misspelled command of a cluster": {[]string{"blst", "--from", "x.json"},
			[]string{"there is no command blst; did you mean blast?"}},
		"command after flags": {[]string{"--from", "x.json", "blast"}, []string{"blast wants to be the first argument"}},
		"two scenarios": {[]string{"rack-loss", "zone-loss"},
			[]string{`takes one scenario, got ["rack-loss" "zone-loss"]`}},
		"flags alone":       {[]string{"--json"}, []string{"takes one scenario, got []"}},
		"list and scenario": {[]string{"rack-loss", "--list"}, []string{"--list takes no scenario"}},
		"no number":         {[]string{"rack-loss", "--seed=x"}, []string{"--seed"}},
		"no such scenario": {[]string{"something"},
			[]string{"something is neither a file nor a scenario that ships; those are ", "zone-loss"}},
		"misspelled scenario": {[]string{"zone-los"},
			[]string{"zone-los is neither a file nor a scenario that ships; did you mean zone-loss?"}},
		"a folder": {[]string{t.TempDir()}, []string{"is a directory"}},
		"unknown setting": {[]string{"rack-loss", "--set", "node-evicton-rate=1"},
			[]string{"--set node-evicton-rate=1", "did you mean node-eviction-rate?"}},
		"no assignment": {[]string{"rack-loss", "--set", "node-eviction-rate"}, []string{"--set", "is no assignment"}},
		"contradictory": {[]string{"rack-loss", "--set", "duration=1m"},
			[]string{"with --set duration=1m", "script[0].at: is 5m, but the scenario ends after 1m"}},
		"unknown to compare": {[]string{"rack-loss", "--compare", "duration=1h,x=1"},
			[]string{"--compare x=1: there is no flag or field x"}},
		"nothing to compare": {[]string{"rack-loss", "--compare", ""}, []string{"--compare", "is no assignment"}},
		"invalid file": {[]string{invalid}, []string{invalid + ":7:15: cluster.zones[0].nodez: there is no field " +
			"nodez; did you mean nodes?", invalid + ":15:8: script[1].at: is 1h"}},
		"invalid on the input": {[]string{"-"}, []string{"standard input:1:1: the file is empty"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, diagnostics := call(t, "", test.args...)
			require.Equal(t, exitUsage, code)
			require.Empty(t, out)
			require.True(t, strings.HasPrefix(diagnostics, "outage: "), diagnostics)
			for _, want := range test.says {
				require.Contains(t, diagnostics, want)
			}
		})
	}
}

func TestHelpTeaches(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"-h"}} {
		code, out, diagnostics := call(t, "", args...)
		require.Zero(t, code)
		require.Empty(t, out)
		for _, want := range append(scenarios.Names(), "--compare a=b,c=d ", "--set", "jq", "Exit codes",
			"outage/scenario/doc.go", fmt.Sprintf("\n%d that ship do.", len(scenarios.Names()))) {
			require.Contains(t, diagnostics, want)
		}
	}
	for _, name := range scenarios.Names() {
		s, err := scenarios.Read(name)
		require.NoError(t, err)
		require.NotNil(t, s.Expect, "the help says that those that ship expect something")
	}
	code, out, diagnostics := call(t, "", "blast", "--help")
	require.Zero(t, code)
	require.Empty(t, out)
	require.True(t, strings.HasPrefix(diagnostics, "outage blast "), diagnostics)
	require.Contains(t, diagnostics, "--longest")
	require.Contains(t, diagnostics, "Exit codes")
	require.NotContains(t, diagnostics, "Scenarios that ship")
	require.NotContains(t, diagnostics, "--compare")
}

func TestListNamesWhatShips(t *testing.T) {
	code, out, diagnostics := call(t, "", "--list")
	require.Zero(t, code)
	require.Empty(t, diagnostics)
	require.Len(t, strings.Split(strings.TrimSpace(out), "\n"), len(scenarios.Names()))
	for _, name := range scenarios.Names() {
		require.Contains(t, out, "  "+name+"  ")
	}
	require.Contains(t, out, "One of three zones is cut off for 25 minutes, and comes back over two.\n")
	require.Equal(t, "First.", firstSentence(" First. Second\nthird."))
	require.Equal(t, "First of two lines.", firstSentence("First of\ntwo lines.\n\nMore."))
}

// The scenario comes from a file, from standard input, or ships.
func TestAScenarioRuns(t *testing.T) {
	code, fromFile, diagnostics := call(t, "", file(t, tiny))
	require.Zero(t, code, diagnostics)
	require.NotContains(t, diagnostics, "\r", "nothing is drawn in place where there is no terminal")
	inOrder := []string{
		"tiny, seed 3: 12m of a cluster with 15 nodes in 2 zones.", "Two of ten nodes fall silent.",
		"0:02:00  fault         begins: silence", "0:02:00  zone a        2 nodes silent (a-0, a-1)",
		"2 nodes declared Unknown", "2 nodes tainted NoExecute", "pods evicted from 2 nodes", "2 nodes ready again",
		"zone a  zone b  cluster", "nodes declared Unknown", "pods spared", "delete pods",
	}
	rest := fromFile
	for _, want := range inOrder {
		_, after, found := strings.Cut(rest, want)
		require.True(t, found, "%s\nis not there in its order:\n%s", want, fromFile)
		rest = after
	}
	require.NotContains(t, fromFile, "nvariant", "it was not checked")
	require.NotContains(t, fromFile, "\x1b")

	code, fromInput, _ := call(t, tiny, "-")
	require.Zero(t, code)
	require.Equal(t, fromFile, fromInput)

	code, shipped, _ := call(t, "", "rack-loss")
	require.Zero(t, code)
	code, path, _ := call(t, "", filepath.Join("scenarios", "rack-loss.yaml"))
	require.Zero(t, code)
	require.Equal(t, shipped, path)
}

// decode reads one JSON document and refuses unknown fields.
func decode[T any](t *testing.T, out string) T {
	t.Helper()
	var document T
	decoder := json.NewDecoder(strings.NewReader(out))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&document), out)
	require.False(t, decoder.More(), "there is one document")
	return document
}

func TestJSONIsOneDocumentAndTheSameEachTime(t *testing.T) {
	args := []string{"-", "--json", "--set", "node-eviction-rate=1", "--set", "cluster.zones[1].nodes=7"}
	code, out, _ := call(t, tiny, args...)
	require.Zero(t, code)
	document := decode[report.Document](t, out)
	require.Equal(t, "tiny", document.Scenario)
	require.EqualValues(t, 3, document.Seed)
	require.Equal(t, []string{"node-eviction-rate=1", "cluster.zones[1].nodes=7"}, document.Settings)
	require.Equal(t, 7, document.Summary.Zones[1].Nodes)
	require.Positive(t, document.Summary.Cluster.Pods.Evicted)
	require.False(t, document.Checked)
	require.Contains(t, out, `"violations": []`)

	_, again, _ := call(t, tiny, args...)
	require.Equal(t, out, again)
	code, other, _ := call(t, tiny, append(args, "--seed", "4")...)
	require.Zero(t, code)
	require.EqualValues(t, 4, decode[report.Document](t, other).Seed)
	require.NotEqual(t, document.Timeline, decode[report.Document](t, other).Timeline)
	_, zero, _ := call(t, tiny, append(args, "--seed", "0")...)
	require.Zero(t, decode[report.Document](t, zero).Seed, "zero is a seed too")
}

func TestCompareShowsBothSideBySide(t *testing.T) {
	args := []string{"-", "--set", "duration=15m", "--compare", "node-eviction-rate=1,node-monitor-grace-period=30s"}
	code, out, diagnostics := call(t, tiny, args...)
	require.Zero(t, code, diagnostics)
	require.Contains(t, out, "Changed: node-eviction-rate=1, node-monitor-grace-period=30s\n")
	require.Contains(t, out, "as given")
	require.NotContains(t, out, "0:02:00", "no timeline")
	require.NotContains(t, out, "nvariant")

	code, out, _ = call(t, tiny, append(args, "--json")...)
	require.Zero(t, code)
	comparison := decode[report.Comparison](t, out)
	require.Equal(t, []string{"node-eviction-rate=1", "node-monitor-grace-period=30s"}, comparison.Settings)
	require.Equal(t, []string{"duration=15m"}, comparison.Given.Settings)
	require.Equal(t, []string{"duration=15m", "node-eviction-rate=1", "node-monitor-grace-period=30s"},
		comparison.Changed.Settings)
	require.Less(t, comparison.Changed.Summary.Cluster.Drain.First, comparison.Given.Summary.Cluster.Drain.First)
	require.NotEmpty(t, comparison.Differences)
	require.Equal(t, comparison.Given.Timeline, plain(t, "--set", "duration=15m").Timeline,
		"the first is the run as given")
}

func plain(t *testing.T, args ...string) report.Document {
	t.Helper()
	_, out, _ := call(t, tiny, append(args, "-", "--json")...)
	return decode[report.Document](t, out)
}

func TestCheckAsksAJudge(t *testing.T) {
	code, out, diagnostics := call(t, tiny, "-", "--check")
	require.Zero(t, code, "%s\n%s", out, diagnostics)
	require.True(t, strings.HasSuffix(out, "Every invariant held.\n"), out)
	require.True(t, decode[report.Document](t,
		func() string { _, out, _ := call(t, tiny, "-", "--check", "--json"); return out }()).Checked)

	code, out, _ = call(t, tiny, "-", "--check", "--compare", "node-eviction-rate=1")
	require.Zero(t, code)
	require.Equal(t, 2, strings.Count(out, "Every invariant held."))
}

// The judge knows the recovery period: taints stay for so long.
func TestCheckWithARecoveryPeriod(t *testing.T) {
	code, out, diagnostics := call(t, "", "flapping-pool", "--check", "--set", "node-recovery-period=30s")
	require.Zero(t, code, "%s\n%s", out, diagnostics)
}

// Flags that are valid, and cannot be right together, are told of.
func TestOddFlagsAreToldOf(t *testing.T) {
	code, _, diagnostics := call(t, tiny, "-", "--set", "node-monitor-grace-period=10s")
	require.Zero(t, code)
	require.Contains(t, diagnostics, "outage: warning: --node-monitor-grace-period is 10s, and heartbeats are 10s apart")
}

// strict is a judge that reports a violation in every run.
func strict(*simulation.Simulation) func(bool) []report.Violation {
	return func(bool) []report.Violation {
		return []report.Violation{{At: 61, Invariant: "never early", Text: "pod web-3"}}
	}
}

// What does not hold is told in full, and as a failure.
func TestABrokenPromiseIsAFailure(t *testing.T) {
	for _, args := range [][]string{{"-", "--check"}, {"-", "--check", "--json"},
		{"-", "--check", "--compare", "duration=9m"}} {
		var out, diagnostics bytes.Buffer
		s, err := parse(args, &diagnostics)
		require.NoError(t, err)
		s.judge = strict
		err = s.perform(t.Context(), strings.NewReader(tiny), &out, &diagnostics)
		require.ErrorIs(t, err, errBroken)
		require.NotErrorAs(t, err, new(usageError))
		runs := 1
		if len(s.compare) > 0 {
			runs = 2
		}
		require.Equal(t, runs, strings.Count(out.String(), "never early"), out.String())
		require.Contains(t, out.String(), "web-3")
	}
}

// interrupted is a context that ends after some looks at it.
type interrupted struct {
	context.Context
	looks *int
}

func (c interrupted) Err() error {
	if *c.looks--; *c.looks < 0 {
		return context.Canceled
	}
	return nil
}

func TestAnInterruptedRunSaysWhatIsKnown(t *testing.T) {
	stop := func(looks int, args ...string) (int, string, string) {
		var out, diagnostics bytes.Buffer
		code := run(interrupted{t.Context(), &looks}, args, strings.NewReader(tiny), &out, &diagnostics)
		return code, out.String(), diagnostics.String()
	}
	code, out, diagnostics := stop(8, "-")
	require.Equal(t, exitFailed, code)
	require.Regexp(t, `(?m)^outage: interrupted at 0:0\d:\d\d of 0:12:00\n$`, diagnostics)
	require.Contains(t, out, "fault         begins")
	require.Contains(t, out, "nodes declared Unknown")

	code, out, _ = stop(8, "-", "--json")
	require.Equal(t, exitFailed, code)
	document := decode[report.Document](t, out)
	require.Greater(t, document.Reached, report.Seconds(0))
	require.Less(t, document.Reached, document.Duration)

	whole := 0
	for code = exitFailed; code == exitFailed; whole++ { // how often a whole run looks
		code, _, _ = stop(whole, "-", "--json")
	}
	code, out, _ = stop(whole+3, "-", "--json", "--compare", "node-eviction-rate=1")
	require.Equal(t, exitFailed, code)
	comparison := decode[report.Comparison](t, out)
	require.True(t, comparison.Interrupted)
	require.Empty(t, comparison.Differences)
	require.Equal(t, comparison.Given.Duration, comparison.Given.Reached, "the first of the two is complete")
	require.Less(t, comparison.Changed.Reached, comparison.Changed.Duration)
	code, out, _ = stop(whole+3, "-", "--compare", "node-eviction-rate=1")
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "Nothing was compared: the run with node-eviction-rate=1 was interrupted.\n\nAs given:\n")
	require.Regexp(t, `\nChanged, up to 0:0\d:\d\d of 0:12:00:\n`, out)
	require.Equal(t, 2, strings.Count(out, "nodes declared Unknown"), "what is known of both")

	code, out, _ = stop(8, "-", "--compare", "node-eviction-rate=1")
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "Nothing was compared: the run with node-eviction-rate=1 did not begin.\n\nAs given, up to ")
	require.Equal(t, 1, strings.Count(out, "nodes declared Unknown"))
	code, out, _ = stop(8, "-", "--compare", "node-eviction-rate=1", "--json")
	require.Equal(t, exitFailed, code)
	require.Nil(t, decode[report.Comparison](t, out).Changed)
}

// TestMain makes the test binary the program, for a test that runs it.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

const asProgram = "OUTAGE_TEST_AS_PROGRAM"

// The reader of the text may go, as head does. The page is complete all the
// same.
func TestAPageIsWrittenWithoutAReaderOfTheText(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	from, to, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, from.Close())
	name := filepath.Join(t.TempDir(), "report.html")
	for _, args := range [][]string{{"-", "--html", name}, {"-", "--html", name, "--compare", "node-eviction-rate=1"}} {
		command := exec.CommandContext(t.Context(), program, args...)
		command.Env = append(os.Environ(), asProgram+"=1")
		var diagnostics bytes.Buffer
		command.Stdin, command.Stdout, command.Stderr = strings.NewReader(tiny), to, &diagnostics
		require.Error(t, command.Run())
		require.Equal(t, exitFailed, command.ProcessState.ExitCode(), command.ProcessState)
		require.Contains(t, diagnostics.String(), "broken pipe")
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Contains(t, string(content), "</html>")
		entries, err := os.ReadDir(filepath.Dir(name))
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.NoError(t, os.Remove(name))
	}
	require.NoError(t, to.Close())
}

// broken cannot be written to.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestOutputThatIsLostIsAFailure(t *testing.T) {
	for _, args := range [][]string{{"-"}, {"-", "--json"}, {"-", "--compare", "duration=9m"}, {"--list"}} {
		var diagnostics bytes.Buffer
		require.Equal(t, exitFailed, run(t.Context(), args, strings.NewReader(tiny), broken{}, &diagnostics), args)
		require.Contains(t, diagnostics.String(), "no space left on device")
	}
}

func TestProgressIsShownOnceARunTakesLong(t *testing.T) {
	var out bytes.Buffer
	p := &progress{out: &out, terminal: true, all: 2 * time.Hour}
	p.begin("as given", time.Hour)
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p.at(begun, 0)
	p.at(begun.Add(longRun-1), 20*time.Minute)
	p.clear()
	require.Empty(t, out.String())

	p.at(begun.Add(longRun), 30*time.Minute)
	require.Equal(t, "\r["+strings.Repeat("#", 15)+strings.Repeat(".", 15)+
		"] 0:30:00 of 1:00:00 as given, about 3s left\x1b[K", out.String(), "half an hour of two in a second")
	out.Reset()
	p.at(begun.Add(longRun+redrawEvery-1), 31*time.Minute)
	require.Empty(t, out.String(), "not drawn with each look")
	p.clear()
	p.clear()
	require.Equal(t, "\r\x1b[K", out.String(), "taken away once")
	out.Reset()
	p.at(begun.Add(longRun+redrawEvery-1), time.Hour)
	require.Contains(t, out.String(), "["+strings.Repeat("#", barWidth)+"] 1:00:00", "back at once after a line")
	p.clear()
	out.Reset()
	p.begin("changed", time.Hour)
	p.at(begun.Add(10*time.Second), 0)
	require.Contains(t, out.String(), "0:00:00 of 1:00:00 changed, about 10s left", "the first run took ten")
}

// An estimate from the first moments would be of days.
func TestProgressEstimatesNothingFromTooLittle(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, 0)
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p.runs(begun, blast.Progress{Of: 9})
	p.runs(begun.Add(2*time.Second), blast.Progress{Of: 9, Share: 0.00001})
	p.runs(begun.Add(20*time.Second), blast.Progress{Of: 9, Share: 0.1})
	require.Equal(t, "outage: 0 of 9 runs\noutage: 0 of 9 runs, about 3m0s left\n", out.String())
}

func TestProgressIsALineNowAndThenWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, time.Hour)
	require.False(t, p.terminal)
	p.begin("", time.Hour)
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for wall := time.Duration(0); wall <= 15*time.Second; wall += 100 * time.Millisecond {
		p.at(begun.Add(wall), 30*wall)
		p.clear()
	}
	require.Equal(t, "outage: 0:00:30 of 1:00:00, about 1m59s left\noutage: 0:05:30 of 1:00:00, about 1m49s left\n",
		out.String())
	out.Reset()
	p = newProgress(&out, time.Hour)
	p.begin("", time.Hour)
	p.at(begun, 0)
	p.at(begun.Add(longRun), 0)
	require.Equal(t, "outage: 0:00:00 of 1:00:00\n", out.String(), "nothing is known yet")
}

// A page is complete or not there. It is there also for a run that was
// interrupted, with what is known of both of a comparison.
func TestAPageIsWritten(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "report.html")
	read := func() string {
		t.Helper()
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Len(t, entries, 1, "and nothing else")
		return string(content)
	}
	code, plainOut, _ := call(t, tiny, "-")
	require.Zero(t, code)
	code, out, diagnostics := call(t, tiny, "-", "--html", name)
	require.Zero(t, code, diagnostics)
	require.Equal(t, plainOut, out, "the text is there as well")
	one := read()
	require.Contains(t, one, "tiny, seed 3: 12m of a cluster with 15 nodes in 2 zones.")
	require.NotContains(t, one, "as given")

	code, _, diagnostics = call(t, tiny, "-", "--json", "--html", name, "--compare", "node-eviction-rate=1")
	require.Zero(t, code, diagnostics)
	both := read()
	require.Contains(t, both, "Timeline, as given")
	require.Contains(t, both, "Timeline, changed")
	require.Contains(t, both, "<code>node-eviction-rate=1</code>")
	require.Contains(t, both, ">difference</th>")

	stop := func(looks int, args ...string) string {
		t.Helper()
		var out, diagnostics bytes.Buffer
		require.Equal(t, exitFailed, run(interrupted{t.Context(), &looks}, append(args, "-", "--html", name),
			strings.NewReader(tiny), &out, &diagnostics))
		return read()
	}
	stopped := stop(8)
	require.Regexp(t, `Interrupted at 0:0\d:\d\d of 0:12:00: what follows`, stopped)
	require.Contains(t, stopped, "nodes declared Unknown")
	first := stop(8, "--compare", "node-eviction-rate=1")
	require.NotContains(t, first, "Timeline, changed", "it has not begun")
	require.Contains(t, first, "Timeline, as given")
	require.Contains(t, first, "Nothing was compared: the run with node-eviction-rate=1 did not begin.")
	whole := 0
	for code = exitFailed; code == exitFailed; whole++ { // how often a whole run looks
		looks := whole
		code = run(interrupted{t.Context(), &looks}, []string{"-"}, strings.NewReader(tiny), &bytes.Buffer{},
			&bytes.Buffer{})
	}
	second := stop(whole+3, "--compare", "node-eviction-rate=1")
	require.Regexp(t, `Interrupted at 0:0\d:\d\d of 0:12:00 \(changed\)`, second)
	require.Contains(t, second, "Timeline, as given")
	require.NotContains(t, second, ">difference</th>")
	require.Contains(t, second, "Nothing was compared: the run with node-eviction-rate=1 was interrupted.")
}

// That there can be no page is known before the run.
func TestAPageThatCannotBe(t *testing.T) {
	folder := t.TempDir()
	for name, says := range map[string]string{
		"": "--html wants the name of a file", folder: "it is not a file",
		filepath.Join(folder, "missing", "x.html"): "no such file or directory",
	} {
		code, out, diagnostics := call(t, tiny, "-", "--html", name)
		require.Equal(t, exitUsage, code)
		require.Empty(t, out)
		require.Contains(t, diagnostics, says)
	}
	code, _, diagnostics := call(t, "", "--list", "--html", "x.html")
	require.Equal(t, exitUsage, code)
	require.Contains(t, diagnostics, "--list runs nothing")

	name := filepath.Join(folder, "report.html")
	require.NoError(t, os.WriteFile(name, []byte("of before"), 0o600))
	code, _, _ = call(t, tiny, "-", "--html", name, "--set", "duration=1m")
	require.Equal(t, exitUsage, code)
	kept, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "of before", string(kept))
	file, err := atomicfile.NewFile("--html", name)
	require.NoError(t, err)
	require.ErrorContains(t, writePage(file, &page.Page{}), "it has 0 runs")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// expecting is tiny with what must come out of it: two nodes, and a taint for
// each.
const expecting = tiny + `expect:
  declared: {living: 0, dead: 2}
  tainted: {nodes: 2, times: 2}
  evicted: {workloads: {web: {atLeast: 1}}}
  suspended: false
`

func TestCheckComparesWhatTheScenarioExpects(t *testing.T) {
	code, out, diagnostics := call(t, expecting, "-", "--check")
	require.Zero(t, code, diagnostics)
	require.Contains(t, squeezed(out), "expect.tainted.times 2 2 ")

	wrong := strings.NewReplacer("dead: 2", "dead: {atLeast: 3}", "suspended: false", "suspended: true").Replace(expecting)
	code, out, diagnostics = call(t, wrong, "-", "--check", "--seed=9")
	require.Equal(t, exitFailed, code)
	require.Contains(t, diagnostics, "what came out is not what the scenario expects (tiny, seed 9):\n"+
		"  expect.declared.dead: expected at least 3, came out 2\n  expect.suspended: expected true, came out false\n")
	require.Contains(t, squeezed(out), "expect.declared.dead at least 3 2 NO ")
	require.Contains(t, out, "Every invariant held.")

	code, out, _ = call(t, wrong, "-")
	require.Zero(t, code, "only --check fails")
	require.Contains(t, squeezed(out), "expect.declared.dead at least 3 2 NO ")

	code, out, _ = call(t, wrong, "-", "--check", "--set", "node-eviction-rate=1")
	require.Zero(t, code, "it was derived for other flags")
	require.Contains(t, out, "was not compared: the settings change what must come out")
	code, _, _ = call(t, wrong, "-", "--check", "--set", "seed=4", "--set", "expect.declared.dead=2")
	require.Equal(t, exitFailed, code)

	code, out, diagnostics = call(t, wrong, "-", "--check", "--compare", "node-eviction-rate=1")
	require.Equal(t, exitFailed, code)
	require.Contains(t, squeezed(out), "expect.declared.dead at least 3 2 NO ")
	require.Equal(t, 1, strings.Count(diagnostics, "expect.suspended"), "as given, not as changed")

	code, out, _ = call(t, wrong, "-", "--json")
	require.Zero(t, code)
	var document report.Document
	require.NoError(t, json.Unmarshal([]byte(out), &document))
	require.Equal(t, report.Expectation{Path: "expect.declared.dead", Want: "at least 3", Got: "2"},
		document.Expectations[1])
}

// squeezed makes all space between words one blank.
func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

// With the kubelets of hollownode the same must come out.
func TestKubeletsAreRealIfAskedFor(t *testing.T) {
	code, out, diagnostics := call(t, expecting, "-", "--kubelets", "--check", "--json")
	require.Zero(t, code, diagnostics)
	document := decode[report.Document](t, out)
	require.Equal(t, []string{"cluster.kubelets=true"}, document.Settings)
	require.NotEmpty(t, document.Expectations)
	require.Empty(t, document.Violations)
	require.NotEqual(t, plain(t).Timeline, document.Timeline, "heartbeats fall at other times")

	code, out, diagnostics = call(t, expecting, "-", "--compare", "cluster.kubelets=true")
	require.Zero(t, code, diagnostics)
	require.NotContains(t, out, "was not compared")
	name := filepath.Join(t.TempDir(), "real.yaml")
	code, _, diagnostics = call(t, tiny, "-", "--kubelets", "--save", name)
	require.Zero(t, code, diagnostics)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Contains(t, string(text), "kubelets: true\n")
}
