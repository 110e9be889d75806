package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/blast"
	"github.com/kubelife/lifecycle/examples/outage/cluster"
	"github.com/kubelife/lifecycle/examples/outage/report"
)

// printed is what kubectl has printed of a cluster on a real API server. A test
// of examples/e2e keeps it up to date.
const printed = "cluster/testdata/cluster.json"

// A scenario that was made of a cluster, saved and read is the same, and runs
// the same.
func TestASavedClusterIsTheSameScenario(t *testing.T) {
	folder := t.TempDir()
	saved, again := filepath.Join(folder, "saved.yaml"), filepath.Join(folder, "again.yaml")
	code, out, diagnostics := call(t, "", "--from", printed, "--save", saved)
	require.Zero(t, code, diagnostics)
	require.Empty(t, out)
	require.Contains(t, diagnostics, "outage: pods of kind Job: they are replaced as those of a Deployment are\n")
	require.Contains(t, diagnostics, "outage: saved "+saved+"\n")
	code, _, _ = call(t, "", saved, "--save", again)
	require.Zero(t, code)
	first, err := os.ReadFile(saved)
	require.NoError(t, err)
	second, err := os.ReadFile(again)
	require.NoError(t, err)
	notes, isNoted := strings.CutSuffix(string(first), string(second))
	require.True(t, isNoted, "the rest is the same")
	for line := range strings.Lines(notes) {
		require.Regexp(t, "^# ", line)
	}
	require.Contains(t, notes, "# - pods of kind Job: they are replaced as those of a Deployment are\n")

	code, direct, _ := call(t, "", "--from", printed, "--json")
	require.Zero(t, code)
	code, fromSaved, _ := call(t, "", saved, "--json")
	require.Zero(t, code)
	made, read := decode[report.Document](t, direct), decode[report.Document](t, fromSaved)
	require.Contains(t, made.Notes, "pods of kind Job: they are replaced as those of a Deployment are")
	require.Contains(t, fromSaved, "\"notes\": [],\n")
	made.Notes = read.Notes
	require.Equal(t, made, read)
	require.Positive(t, decode[report.Document](t, direct).Summary.Cluster.Pods.Evicted)

	content, err := os.ReadFile(printed)
	require.NoError(t, err)
	code, fromInput, _ := call(t, string(content), "--from", "-", "--json")
	require.Zero(t, code)
	require.Equal(t, direct, fromInput)
	code, _, diagnostics = call(t, "", "--from", printed, "--check", "--seed", "3")
	require.Zero(t, code, diagnostics)
}

// Whatever is in a note, what is saved can be read.
func TestNotesAreCommentsOfOneLine(t *testing.T) {
	require.Equal(t, "# Made of a cluster. What was left out or changed, and what it means:\n"+
		"# - left out: --x=1 nodes: 3\n# - \n", string(comments([]string{"left out: --x=1\r\n\x00\u2028 nodes: 3", ""})))
	require.Empty(t, comments(nil))
}

// The page of a run of a cluster says what the scenario does not have.
func TestNotesAreInThePage(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page.html")
	for _, args := range [][]string{{"--from", printed}, {"--from", printed, "--compare", "duration=30m"}} {
		code, _, diagnostics := call(t, "", append(args, "--html", name)...)
		require.Zero(t, code, diagnostics)
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(content), "<li>pods of kind Job: they are replaced"))
	}
}

// Settings are in what is saved.
func TestSettingsAreSaved(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "saved.yaml")
	code, _, diagnostics := call(t, tiny, "-", "--set", "node-eviction-rate=0.5", "--seed=9", "--save", saved)
	require.Zero(t, code, diagnostics)
	content, err := os.ReadFile(saved)
	require.NoError(t, err)
	require.Contains(t, string(content), "seed: 9\n")
	require.Contains(t, string(content), "flags: {node-eviction-rate: 0.5}")
	code, _, diagnostics = call(t, tiny, "-", "--save", filepath.Join(t.TempDir(), "missing", "x.yaml"))
	require.Equal(t, exitFailed, code)
	require.Regexp(t, `--save \S+/missing/x.yaml: open `, diagnostics)
}

// What is read is not written over, by whatever name, and what was saved before
// stays until there is something new.
func TestNothingThatIsReadIsLost(t *testing.T) {
	content, err := os.ReadFile(printed)
	require.NoError(t, err)
	folder := t.TempDir()
	t.Chdir(folder)
	require.NoError(t, os.WriteFile("cluster.json", content, 0o600))
	require.NoError(t, os.WriteFile("tiny.yaml", []byte(tiny), 0o600))
	require.NoError(t, os.Symlink("cluster.json", "link"))
	require.NoError(t, os.Link("tiny.yaml", "again.yaml"))
	for _, args := range [][]string{
		{"--from", "cluster.json", "--save", "cluster.json"}, {"--from", "cluster.json", "--save", "./link"},
		{"--from", "link", "--html", filepath.Join(folder, "cluster.json")}, {"tiny.yaml", "--html", "again.yaml"},
		{"tiny.yaml", "--save", "tiny.yaml"}, {"--kubeconfig", "tiny.yaml", "--save", "tiny.yaml"},
		{"tiny.yaml", "--save", "-"}, {"--from", "cluster.json", "--html", "-"}, {"tiny.yaml", "--save", folder},
	} {
		code, out, diagnostics := call(t, "", args...)
		require.NotZero(t, code, args)
		require.Empty(t, out, args)
		require.Regexp(t, `is the file that is read|is not standard output|it is not a file`, diagnostics, args)
	}
	left, err := os.ReadFile("cluster.json")
	require.NoError(t, err)
	require.Equal(t, string(content), string(left))
	left, err = os.ReadFile("tiny.yaml")
	require.NoError(t, err)
	require.Equal(t, tiny, string(left))
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 4, "no other file is left")

	code, _, diagnostics := call(t, "", "--from", "cluster.json", "--save", "tiny.yaml")
	require.Zero(t, code, diagnostics, "another file may be written over")
}

func TestHashedNamesAreInNothingThatIsPrinted(t *testing.T) {
	content, err := os.ReadFile(printed)
	require.NoError(t, err)
	custom := strings.Replace(string(content), `"items": [`,
		`"items": [{"apiVersion": "acme.io/v1", "kind": "AcmeGame", "metadata": {"name": "x"}},`, 1)
	custom = strings.ReplaceAll(custom, "\"kind\": \"Job\",\n      \"name\": \"train\"",
		"\"kind\": \"AcmeGame\",\n      \"name\": \"train\"")
	require.Equal(t, 3, strings.Count(custom, "AcmeGame"))
	for _, args := range [][]string{
		{}, {"--json"}, {"blast", "--longest", "10m"}, {"blast", "--longest", "10m", "--json"},
	} {
		code, out, diagnostics := call(t, custom, append(args, "--from", "-", "--hash-names")...)
		require.Zero(t, code, diagnostics)
		require.Contains(t, out+diagnostics, "kind-")
		for _, name := range []string{"eu-1", "main", "shop", "web", "train", "nvidia", "acme", "Acme"} {
			require.NotContains(t, out+diagnostics, name)
		}
	}
}

func TestBlastPrintsATable(t *testing.T) {
	code, out, diagnostics := call(t, "", "blast", "--from", printed, "--set", "action=evict")
	require.Zero(t, code, diagnostics)
	require.Contains(t, out, "cluster, seed 0, action evict, grace 40s, rate 0.1/s. Times count from the loss.\n")
	// Two of the three pods of db have to be left. Zone b has two of them: with
	// one left, the Eviction API lets neither go.
	require.Regexp(t, `(?m)^zone eu-1b +4 +4 +3 +0 +0:05:\d\d +0:06:\d\d +0 +0 +2 +2$`, out)
	require.Contains(t, out, "  pool gpu: shop-train-job*\n", "there is no other pool for its pods")
	for line := range strings.Lines(out) {
		require.LessOrEqual(t, len(strings.TrimRight(line, "\n")), 120, line)
	}

	code, out, _ = call(t, "", "blast", "--from", printed, "--json", "--longest", "10m", "--set", "node-eviction-rate=1")
	require.Zero(t, code)
	require.Contains(t, out, `"notes": [`)
	require.Contains(t, out, `"pods of kind Job: they are replaced as those of a Deployment are"`)
	require.Contains(t, out, `"settings": [
    "node-eviction-rate=1"
  ]`)
	require.Equal(t, "delete", decode[struct {
		blast.Report
		Settings, Notes []string
	}](t, out).Action)

	code, out, diagnostics = call(t, tiny, "blast", "-", "--longest", "10m")
	require.Zero(t, code, diagnostics)
	require.Contains(t, out, "tiny, seed 3, action delete, grace 50s")
	code, out, _ = call(t, tiny, "blast", "-", "--longest", "10m", "--json")
	require.Zero(t, code)
	require.Contains(t, out, "\"settings\": [],\n  \"notes\": []\n")
}

// Package blast tests that what is known by then is in the report.
func TestAnInterruptedBlastSaysSo(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out, diagnostics bytes.Buffer
	code := run(ctx, []string{"blast", "-"}, strings.NewReader(tiny), &out, &diagnostics)
	require.Equal(t, exitFailed, code)
	require.Equal(t, "outage: interrupted after 0 of 24 runs\n", diagnostics.String())
	require.Contains(t, out.String(), "PARTIAL: 0 of 24 runs; + is so far, ? is not known.\n")
}

func TestBlastIsPlayedAsItsFlagsSay(t *testing.T) {
	s, err := parse([]string{"blast", "rack-loss", "--workers", "3", "--longest", "1h"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, blast.Config{Longest: time.Hour, Workers: 3}, s.blastConfig())
	s, err = parse([]string{"blast", "rack-loss"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, blast.Config{Longest: 6 * time.Hour}, s.blastConfig())
}

func TestProgressOfRuns(t *testing.T) {
	var out bytes.Buffer
	p := &progress{out: &out, terminal: true}
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	none := blast.Progress{Of: 40}
	p.runs(begun, none)
	p.runs(begun.Add(longRun-1), blast.Progress{Done: 4, Of: 40, Share: 0.1})
	require.Empty(t, out.String())
	p.runs(begun.Add(longRun), none)
	require.Equal(t, "\r["+strings.Repeat(".", barWidth)+"] 0 of 40 runs\x1b[K", out.String(), "nothing is known yet")
	out.Reset()
	p.runs(begun.Add(2*time.Second), blast.Progress{Of: 40, Share: 0.25})
	require.Equal(t, "\r["+strings.Repeat("#", 7)+strings.Repeat(".", 23)+"] 0 of 40 runs, about 6s left\x1b[K",
		out.String(), "none is over, but they are on their way")
}

func TestBlastWritesAPage(t *testing.T) {
	name := filepath.Join(t.TempDir(), "blast.html")
	code, out, diagnostics := call(t, "", "blast", "--from", printed, "--longest", "10m",
		"--set", "action=evict", "--html", name)
	require.Zero(t, code, diagnostics)
	require.Contains(t, out, "pool gpu")
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	for _, want := range []string{"<th scope=\"col\">kept by budgets</th>", "pool gpu", "<code>action=evict</code>",
		"pods of kind Job: they are replaced", "outage blast --html"} {
		require.Contains(t, string(content), want)
	}

	ctx, stop := context.WithCancel(t.Context())
	stop()
	var printed bytes.Buffer
	code = run(ctx, []string{"blast", "-", "--html", name}, strings.NewReader(tiny), &printed, &printed)
	require.Equal(t, exitFailed, code)
	content, err = os.ReadFile(name)
	require.NoError(t, err)
	require.Contains(t, string(content), "PARTIAL: 0 of 24 runs", "it has what is known")
}

func TestWrongCallsAboutClusters(t *testing.T) {
	cut := filepath.Join(t.TempDir(), "cut.json")
	content, err := os.ReadFile(printed)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cut, content[:len(content)/2], 0o600))
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"a scenario too":      {[]string{"--from", printed, "rack-loss"}, `make a scenario; leave out ["rack-loss"]`},
		"two clusters":        {[]string{"--from", printed, "--kubeconfig", "x"}, "are two clusters; leave out one of them"},
		"no cluster":          {[]string{"rack-loss", "--hash-names"}, "want --from or --kubeconfig"},
		"no such file":        {[]string{"--from", "missing.json"}, "missing.json: open missing.json: no such file"},
		"no such kubeconfig":  {[]string{"--kubeconfig", "missing"}, "--kubeconfig missing: "},
		"cut off":             {[]string{"blast", "--from", cut}, "it ends in line"},
		"a scenario for JSON": {[]string{"--from", "scenarios/rack-loss.yaml"}, "line 1 is no JSON"},
		"saved and played":    {[]string{"rack-loss", "--save", "x.yaml", "--check"}, "--save plays nothing"},
		"saved to nothing":    {[]string{"rack-loss", "--save", ""}, "--save wants the name of a file"},
		"blast of nothing":    {[]string{"blast"}, "takes one scenario, got []"},
		"blast for no time":   {[]string{"blast", "rack-loss", "--longest", "0"}, "--longest is 0s, want more than 0"},
		"blast on no core":    {[]string{"blast", "rack-loss", "--workers", "0"}, "--workers is 0, want at least 1"},
		"blast that evicts": {[]string{"blast", "rack-loss", "--action=evict"},
			"unknown flag: --action; did you mean --set action=evict?"},
		"blast with no page": {[]string{"blast", "rack-loss", "--html", ""}, "--html wants the name of a file"},
		"blast and a folder": {[]string{"blast", "rack-loss", "--html", "."}, "--html .: it is not a file"},
		"play so long":       {[]string{"rack-loss", "--longest", "1h"}, "unknown flag: --longest"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, diagnostics := call(t, "", test.args...)
			require.Equal(t, exitUsage, code)
			require.Empty(t, out)
			require.Contains(t, diagnostics, test.says)
		})
	}
}

// The commands of the README about clusters do what it says.
func TestTheCommandsOfTheReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(readme), "## Your own cluster\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	require.Contains(t, strings.Join(strings.Fields(section), " "), cluster.Command)
	folder := t.TempDir()
	t.Chdir("..") // where go -C runs them
	commands := 0
	for line := range strings.Lines(section) {
		arguments, isCommand := strings.CutPrefix(line, "go -C examples run ./outage ")
		if !isCommand {
			continue
		}
		commands++
		code, out, diagnostics := call(t, "", strings.Fields(strings.ReplaceAll(arguments, "/tmp/", folder+"/"))...)
		require.Zero(t, code, "%s%s", line, diagnostics)
		require.Equal(t, strings.Contains(line, "action=evict"), strings.Contains(out, " kept by\n"), line)
	}
	require.Equal(t, 3, commands)
	saved, err := os.ReadFile(filepath.Join(folder, "mine.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(saved), "groups:")
}
