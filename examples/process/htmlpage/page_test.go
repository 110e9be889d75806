package htmlpage_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/process/htmlpage"
)

func written(t *testing.T, p *htmlpage.Page) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, htmlpage.Write(&out, p))
	return out.String()
}

func TestAPageShowsWhatItIsGiven(t *testing.T) {
	text := written(t, &htmlpage.Page{
		Name: "name", About: "about", Intro: "intro", Description: "is <this>\nescaped\n\n  and more\n",
		Program: "program", Notes: []string{"one <note>", "another"},
		Whole: "the file has all.", PlotsLeft: "3 more zones",
		Runs: []htmlpage.Run{{
			Duration: time.Hour, Stopped: 61 * time.Second, At: []float64{0, 1.5}, Timeline: "Differences",
			Lines: []htmlpage.Line{{At: 90*time.Second + time.Millisecond, Subject: "n1", Text: "tainted"}},
			Tables: []htmlpage.Table{{
				Title: "Table", Header: []string{"a", "b"}, Left: "2 columns not shown",
				Rows: []htmlpage.Row{
					{Cells: []string{"heading"}}, {Cells: []string{"x", "y"}}, {Cells: []string{"u", "v"}, Wrong: []int{1}},
				},
			}},
			Verdicts: []htmlpage.Verdict{{Text: "Good."}, {Text: "Bad.", Wrong: true}},
			Findings: []htmlpage.Findings{{Title: "Faults", None: "None were found."}},
		}},
		Warning: "nothing compared", Summary: []htmlpage.Table{{Title: "First"}},
		Tables: []htmlpage.Table{{Title: "Second"}},
		Plots: []htmlpage.Plot{{Title: "Nodes", Lines: []htmlpage.Curve{
			{Name: "ready", Color: htmlpage.ColorReady, State: true, Values: []any{[]int{3, 4}}},
		}}},
	})
	for _, want := range []string{
		"<title>name: about</title>",
		`<p class="description">is &lt;this&gt; escaped</p>` + "\n" + `<p class="description">and more</p>`,
		`<p class="warning" role="alert">nothing compared</p>`, "<p>Good.</p>", `<p class="warning">Bad.</p>`,
		"<ul>\n<li>one &lt;note&gt;</li>\n<li>another</li>\n</ul>",
		"Interrupted at 0:01:01 of 1:00:00", ">Differences</h2>",
		`<li data-at="90.001"><span class="at">0:01:30</span> <span class="subject">n1</span> <span>tainted</span></li>`,
		`<th scope="rowgroup" class="group" colspan="2">heading</th>`,
		`<tr><th scope="row">x</th><td>y</td></tr>`, `<tr><th scope="row">u</th><td class="wrong">v</td></tr>`,
		"<p>2 columns not shown; the file has all.</p>",
		"<h2>Faults</h2>\n<p>None were found.</p>", "Written by <code>program</code>",
		`{"runs":[""],"at":[[0,1.5]],"duration":3600,"plots":[{"title":"Nodes","lines":[{"name":"ready","color":"ready",` +
			`"state":true,"values":[[3,4]]}]}],"left":"3 more zones"}`,
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "broken lines", "of one run")
	require.Regexp(t, `(?s)>First</h2>.*>Over time</h2>.*>Second</h2>.*>Table</h2>`, text,
		"the summary is before the plots")
	text = written(t, &htmlpage.Page{Runs: []htmlpage.Run{{Name: "as given"}, {Name: "changed"}}})
	require.Contains(t, text, "<p>Full lines are as given, broken lines changed.</p>")
	require.NotContains(t, text, "<details class=\"notes\"", "there are none")
	require.NotContains(t, text, "not shown")
}

// What is beyond the limits is left out, and the page says how much.
func TestAPageIsBounded(t *testing.T) {
	long := strings.Repeat("é<", 10_000)
	run := htmlpage.Run{Settings: make([]string, 1000)}
	lines := make([]htmlpage.Line, 1000)
	for i := range lines {
		lines[i] = htmlpage.Line{Subject: long, Text: long}
		run.Settings[i] = long
	}
	table := htmlpage.Table{Title: "Table", Header: []string{long, long}}
	for range 1000 {
		table.Rows = append(table.Rows, htmlpage.Row{Cells: []string{long, long}})
	}
	run.Lines, run.Tables = lines, []htmlpage.Table{table}
	run.Findings = []htmlpage.Findings{{Title: "Faults", Lines: lines}}
	text := written(t, &htmlpage.Page{
		Name: long, Intro: long, Description: long, Notes: run.Settings, Runs: []htmlpage.Run{run, run},
		Whole: "JSON has all.",
	})
	require.Less(t, len(text), 3<<19)
	for _, want := range []string{
		"700 more lines not shown; JSON has all.", "700 rows not shown; JSON has all.",
		"<p>900 more not shown; JSON has all.</p>\n\n", "</code>; 950 more not shown; JSON has all.",
	} {
		require.Equal(t, 2, strings.Count(text, want), want)
	}
	require.Contains(t, text, "<p>900 more not shown; JSON has all.</p>\n</details>", "notes")
}

func TestAPageIsOfOneOrTwoRuns(t *testing.T) {
	for _, runs := range []int{0, 3} {
		err := htmlpage.Write(&bytes.Buffer{}, &htmlpage.Page{Runs: make([]htmlpage.Run, runs)})
		require.EqualError(t, err, fmt.Sprintf("write page: it has %d runs, want 1 or 2", runs))
	}
}

// The library is the one that its README says, with its licence.
func TestTheLibraryIsUnchanged(t *testing.T) {
	readme, err := os.ReadFile("uplot/README.md")
	require.NoError(t, err)
	for _, name := range []string{"LICENSE", "uPlot.iife.min.js", "uPlot.min.css"} {
		content, err := os.ReadFile(filepath.Join("uplot", name))
		require.NoError(t, err)
		require.Contains(t, string(readme), fmt.Sprintf("| `%s` | `%x` |", name, sha256.Sum256(content)))
	}
	require.Contains(t, written(t, &htmlpage.Page{Runs: make([]htmlpage.Run, 1)}), "The MIT License",
		"the licence goes with each copy")
}
