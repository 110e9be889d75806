package page_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/page"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenarios"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
)

// played runs a scenario that ships.
func played(t *testing.T, name string) *report.Document {
	t.Helper()
	description, err := scenarios.Read(name)
	require.NoError(t, err)
	s, err := simulation.New(description)
	require.NoError(t, err)
	recorder := report.Watch(s, nil)
	s.Run()
	return recorder.Document()
}

func written(t *testing.T, p *page.Page) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, page.Write(&out, p))
	return out.String()
}

// data returns what the page's script draws.
func data(t *testing.T, written string) (d struct {
	Runs  []string
	At    [][]float64
	Plots []struct {
		Title string
		Lines []struct {
			Name   string
			Values [][]float64
		}
	}
	Duration float64
	Left     string
}) {
	t.Helper()
	_, rest, found := strings.Cut(written, `id="data">`)
	require.True(t, found)
	text, _, found := strings.Cut(rest, "</script>")
	require.True(t, found)
	require.NoError(t, json.Unmarshal([]byte(text), &d))
	return d
}

func TestAPageHasPlotsTimelineAndTable(t *testing.T) {
	document := played(t, "zone-loss")
	text := written(t, &page.Page{
		Name: "zone-loss", Intro: "An hour.", Description: "A zone <is> lost.", Runs: []page.Run{{Document: document}},
	})
	for _, line := range document.Timeline {
		require.Contains(t, text, fmt.Sprintf("<span class=\"at\">%s</span> <span class=\"subject\">%s</span>",
			line.At.Clock(), line.Subject()))
	}
	for _, want := range []string{"A zone &lt;is&gt; lost.", "nodes declared Unknown", "zone b", "An hour."} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "Interrupted")
	d := data(t, text)
	var titles []string
	for _, p := range d.Plots {
		titles = append(titles, p.Title)
		for _, l := range p.Lines {
			require.Len(t, l.Values, 1)
			require.Len(t, l.Values[0], len(d.At[0]))
		}
	}
	require.Equal(t, []string{
		"Nodes by state, cluster", "Pods, cluster", "API calls a second",
		"Nodes by state, zone a", "NoExecute taints in a minute, zone a",
		"Nodes by state, zone b", "NoExecute taints in a minute, zone b",
		"Nodes by state, zone c", "NoExecute taints in a minute, zone c",
	}, titles)
	evicted := d.Plots[1].Lines[2]
	require.Equal(t, "evicted so far", evicted.Name)
	require.EqualValues(t, document.Summary.Cluster.Pods.Evicted, evicted.Values[0][len(d.At[0])-1])
	require.Equal(t, text, written(t, &page.Page{
		Name: "zone-loss", Intro: "An hour.", Description: "A zone <is> lost.", Runs: []page.Run{{Document: document}},
	}))
}

func TestTwoRunsAreOnTheSameAxes(t *testing.T) {
	given, changed := played(t, "rack-loss"), played(t, "rack-loss")
	changed.Settings = []string{"node-eviction-rate=1"}
	runs := []page.Run{{Name: "as given", Document: given}, {Name: "changed", Document: changed}}
	text := written(t, &page.Page{Name: "x", Runs: runs, Comparison: report.Compare(changed.Settings, given, changed)})
	d := data(t, text)
	require.Equal(t, []string{"as given", "changed"}, d.Runs)
	for _, p := range d.Plots {
		for _, l := range p.Lines {
			require.Len(t, l.Values, 2)
		}
	}
	require.Equal(t, 1, strings.Count(text, "<h2>Summary"), "one table with both")
	require.Regexp(t, `(?s)<h2>Summary, both runs</h2>.*<h2>Over time</h2>.*<h2>Zones, both runs</h2>.*>zone a</th>`, text)
	require.Contains(t, text, ">difference</th>")
	require.Contains(t, text, `id="timeline-1"`)

	changed.Reached = 61
	text = written(t, &page.Page{Name: "x", Runs: runs})
	require.Equal(t, 2, strings.Count(text, "<h2>Summary"), "a table each")
	require.Contains(t, text, "Interrupted at 0:01:01 of 0:30:00 (changed)")
}

func TestFindingsAreShown(t *testing.T) {
	document := played(t, "rack-loss")
	document.Checked = true
	require.Contains(t, written(t, &page.Page{Runs: []page.Run{{Document: document}}}), "Every invariant held.")
	document.Violations = []report.Violation{{At: 61, Invariant: "never early", Text: "pod web-3"}}
	document.Expectations = []report.Expectation{{Path: "expect.calls", Want: "1", Got: "2"}}
	text := written(t, &page.Page{Runs: []page.Run{{Document: document}}})
	require.Contains(t, text, "0:01:01</span> never early: pod web-3")
	require.Contains(t, text, `<tr><th scope="row" class="wrong">expect.calls</th><td>1</td><td class="wrong">2</td>`+
		`<td class="wrong">NO</td>`)
	require.Contains(t, text, `<p class="warning">Invariants did not hold, 1 time.</p>`)
	require.Contains(t, text, `<p class="warning">1 of 1 results are not as the scenario expects.</p>`)
}

func TestAPageIsOfOneOrTwoRuns(t *testing.T) {
	require.ErrorContains(t, page.Write(&bytes.Buffer{}, &page.Page{}), "it has 0 runs, want 1 or 2")
}

// The file names no other file and no host that a browser would ask. The
// comments and the licence of the library name its home.
func TestAPageNeedsNothingElse(t *testing.T) {
	text := written(t, &page.Page{Name: "x", Runs: []page.Run{{Document: played(t, "rack-loss")}}})
	require.Contains(t, text, `content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-`)
	asks := regexp.MustCompile(`(?i)<(link|img|iframe|object|embed|base)\b|\bsrc=|\bhref=|@import|url\(`)
	require.NotRegexp(t, asks, text)
	require.Equal(t, 1, strings.Count(text, "https://"), "the library's own comment")
	require.NotContains(t, text, "http://")
}

// largest is a run that has more of everything than a page shows.
func largest(zones string) *report.Document {
	long := strings.Repeat("<&\"é", 2000)
	d := &report.Document{Duration: 99_999_999, Reached: 99_999_998, Checked: true}
	for range 1000 {
		d.Settings = append(d.Settings, long)
		d.Timeline = append(d.Timeline, report.Line{At: 99_999_999, Zone: long, Text: long})
		d.Violations = append(d.Violations, report.Violation{At: 99_999_999, Invariant: long, Text: long})
		d.Expectations = append(d.Expectations, report.Expectation{Path: long, Want: long, Got: long})
		z := report.Zone{Name: fmt.Sprintf("%s%d", strings.Repeat(zones, 63), len(d.Summary.Zones)), Nodes: 100_000}
		z.Declared = report.Hits{Nodes: 100_000, Times: 1_000_000}
		for i := range 50 {
			z.Calls = append(z.Calls, report.Calls{Kind: fmt.Sprint("patch things/status", i), Sent: 123_456_789, Failed: 99})
		}
		d.Summary.Zones = append(d.Summary.Zones, z)
	}
	d.Summary.Cluster = d.Summary.Zones[0]
	ints, floats := make([]int, report.MostPoints), make([]float64, report.MostPoints)
	for i := range ints {
		ints[i], floats[i] = 100_000+i, 1000.25+float64(i)
	}
	for _, z := range d.Summary.Zones {
		d.Series.Zones = append(d.Series.Zones, report.ZoneSeries{
			Name: z.Name, Ready: ints, Silent: ints, NotReady: ints, Tainted: ints, Tainting: ints, Limit: floats,
			Waiting: ints, Blocked: ints, Evicted: ints,
		})
	}
	for i := range ints {
		d.Series.At = append(d.Series.At, report.Seconds(i*100_000))
	}
	d.Series.Calls = floats
	return d
}

func TestAPageIsSmallHoweverLargeTheRunIs(t *testing.T) {
	one, two := largest("y"), largest("z")
	long := strings.Repeat("x<", 100_000)
	runs := []page.Run{{Name: "as given", Document: one}, {Name: "changed", Document: two}}
	for _, p := range []*page.Page{
		{Name: long, Intro: long, Description: long, Runs: runs[:1]},
		{Name: long, Intro: long, Description: long, Runs: runs},
		{Name: long, Intro: long, Description: long, Runs: runs, Comparison: report.Compare(nil, one, two)},
	} {
		text := written(t, p)
		t.Logf("%d bytes", len(text))
		require.LessOrEqual(t, len(text), page.MostBytes)
		require.Contains(t, text, "700 more lines not shown; --json has all.")
		require.Contains(t, text, "900 more not shown; --json has all.")
		require.Contains(t, text, "not shown; --json has all.</p>")
		d := data(t, text)
		require.Equal(t, fmt.Sprintf("%d more zones without plots; --json has all.", 1000*len(p.Runs)-8), d.Left)
		require.Len(t, d.Plots, 3+2*8)
	}
	for _, name := range []string{"slow-recovery", "storm-recovery", "zone-drain"} {
		text := written(t, &page.Page{Name: name, Runs: []page.Run{{Document: played(t, name)}}})
		require.LessOrEqual(t, len(text), page.MostBytes/8, name)
	}
}
