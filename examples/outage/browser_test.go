package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenarios"
	"github.com/kubelife/lifecycle/examples/process/htmlpage/browser"
)

// pageOf writes the page of a run and returns its file and its report.
func pageOf(t *testing.T, args ...string) (name string, out string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "report.html")
	code, out, diagnostics := call(t, "", append(args, "--json", "--html", name)...)
	require.Zero(t, code, diagnostics)
	return name, out
}

// Each scenario that ships has a page that a browser shows without a fault, and
// for which it asks for nothing else.
func TestBrowserShowsEachScenario(t *testing.T) {
	b := browser.Start(t)
	for _, name := range scenarios.Names() {
		file, out := pageOf(t, name)
		document := decode[report.Document](t, out)
		b.Open(file)
		zones := len(document.Series.Zones)
		b.RequireDrawn(3 + 2*zones)
		require.Equal(t, len(document.Timeline), browser.Value[int](b, `document.querySelectorAll(".timeline li").length`))
		b.RequireNoFaults(name)
		b.Shoot(name + ".png")
	}
}

// The mouse moves one cursor over all plots and the timeline, and zooms all
// plots. The keyboard does the same, and what it finds is read out.
func TestBrowserHasOneCursorForMouseAndKeyboard(t *testing.T) {
	b := browser.Start(t)
	file, out := pageOf(t, "zone-loss")
	document := decode[report.Document](t, out)
	series := &document.Series
	b.Open(file)
	require.Equal(t, -1, b.Current(0))

	b.Mouse("mouseMoved", "#plot-1", 0.5)
	for i, x := range b.Cursors() {
		require.InDelta(t, b.Cursors()[1], x, 1, "plot %d", i)
		require.Positive(t, x)
	}
	last := -1
	for i, line := range document.Timeline {
		if line.At <= document.Duration/2+1 {
			last = i
		}
	}
	require.Equal(t, last, b.Current(0), "the last line up to the middle")
	legend := browser.Value[string](b, `document.querySelector("#plot-0 .u-legend").textContent`)
	require.Contains(t, legend, "0:22:3", "the time at the cursor")
	require.Contains(t, legend, "60", "its values")

	whole := b.Inks()
	b.Mouse("mousePressed", "#plot-1", 0.2)
	b.Mouse("mouseMoved", "#plot-1", 0.3)
	b.Mouse("mouseMoved", "#plot-1", 0.4)
	b.Mouse("mouseReleased", "#plot-1", 0.4)
	require.NotEqual(t, whole[3], b.Inks()[3], "another plot is zoomed as well")
	b.Focus("#plot-3")
	b.Press("Home")
	require.Regexp(t, `^0:0(8:5\d|9:0\d)\. Nodes by state, zone a: `, b.Readout(), "a fifth of 45 minutes")
	b.Press("End")
	require.Regexp(t, `^0:1(7:5\d|8:0\d)\. `, b.Readout())
	b.Shoot("zone-loss-zoomed.png")
	b.Press("Escape", "Home")
	require.Regexp(t, `^0:00:00\. `, b.Readout())

	a := &series.Zones[0]
	b.Press("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft")
	require.Contains(t, b.Readout(), fmt.Sprintf("%s. Nodes by state, zone a: ready %d; silent, not noticed %d; "+
		"not ready %d; tainted NoExecute %d. Last: ",
		series.At[2].Clock(), a.Ready[2], a.Silent[2], a.NotReady[2], a.Tainted[2]))
	b.Press("End")
	require.Contains(t, b.Readout(), "0:45:00. ")
	b.Press("+", "+", "Home")
	require.NotContains(t, b.Readout(), "0:00:00", "zoomed in at the end")
	b.Press("-", "-", "Escape", "Home", "PageDown")
	require.Contains(t, b.Readout(), "0:04:30. ")

	b.Focus("#timeline-0")
	b.Press("ArrowDown", "ArrowDown", "ArrowUp", "ArrowDown")
	require.Positive(t, b.Current(0))
	at := document.Timeline[b.Current(0)].At
	require.Contains(t, b.Readout(), at.Clock()+". Last: "+at.Clock())

	b.Focus("#plot-0 .u-series:nth-child(2) th")
	pressed := `document.activeElement.getAttribute("aria-pressed")`
	require.Equal(t, "true", browser.Value[string](b, pressed))
	b.Press("Enter")
	require.Equal(t, "false", browser.Value[string](b, pressed), "a line is hidden")
	b.RequireNoFaults(file)
}

// Both runs are on the same axes; light, dark and on paper.
func TestBrowserComparesAndPrints(t *testing.T) {
	b := browser.Start(t)
	file, _ := pageOf(t, "zone-loss", "--compare", "node-eviction-rate=1,duration=50m")
	b.Open(file)
	back := func() string { return browser.Value[string](b, `getComputedStyle(document.body).backgroundColor`) }
	b.RequireDrawn(9)
	require.Equal(t, "rgb(255, 255, 255)", back())
	b.Focus("#plot-1")
	b.Press("End")
	require.Regexp(t, `^0:50:00\. .* evicted so far, as given unknown; .* evicted so far, changed \d+`, b.Readout())
	require.Regexp(t, `evicted so far, as given\W*--\D`, browser.Value[string](b,
		`document.querySelector("#plot-1 .u-legend").textContent`), "the first run was over")
	require.Positive(t, b.Current(0))
	require.Positive(t, b.Current(1))
	b.Shoot("compare-light.png")

	b.Theme("dark")
	require.Equal(t, "rgb(13, 17, 23)", back())
	b.RequireDrawn(9)
	require.Positive(t, b.Cursors()[0], "the cursor stays")
	b.Shoot("compare-dark.png")

	swatches := browser.Value[[]string](b,
		`[...document.querySelectorAll("#plot-1 .u-marker")].slice(1).map((e) => getComputedStyle(e).borderTopStyle)`)
	require.Equal(t, []string{"solid", "solid", "solid", "dashed", "dashed", "dashed"}, swatches, "as the lines")

	content := b.Print("compare.pdf")
	require.True(t, strings.HasPrefix(string(content), "%PDF"))
	require.Greater(t, len(content), 20_000)
	require.Equal(t, "rgb(13, 17, 23)", back(), "dark again")
	b.RequireDrawn(9)
	b.RequireNoFaults(file)
}

// Nothing covers anything else on paper and on a phone, and legends on paper
// have no values of a cursor that is not there.
func TestBrowserFitsOnPaperAndOnAPhone(t *testing.T) {
	b := browser.Start(t)
	file, out := pageOf(t, "restart-in-mid-storm")
	require.Greater(t, len(decode[report.Document](t, out).Timeline), 30)
	b.Open(file)
	require.Contains(t, browser.Value[string](b, `document.querySelector(".u-legend").innerText`), "--")
	b.Resize(720, 1000)
	b.Media("print")
	require.Empty(t, b.Overlaps())
	require.NotContains(t, browser.Value[string](b, `document.querySelector(".u-legend").innerText`), "--")
	require.Contains(t, browser.Value[string](b, `document.querySelector(".u-legend").innerText`), "ready")
	b.Print("restart-in-mid-storm.pdf")
	b.Media("screen")
	b.Resize(390, 844)
	require.Empty(t, b.Overlaps())
	require.Equal(t, 390, browser.Value[int](b, `document.documentElement.scrollWidth`), "nothing is next to the page")
	b.Shoot("phone.png")
	b.RequireNoFaults(file)
}

// The page of blast has its plots and tables, and one cursor.
func TestBrowserShowsBlast(t *testing.T) {
	b := browser.Start(t)
	file := filepath.Join(t.TempDir(), "blast.html")
	code, _, diagnostics := call(t, "", "blast", "--from", printed, "--set", "action=evict", "--html", file)
	require.Zero(t, code, diagnostics)
	b.Open(file)
	b.RequireDrawn(browser.Value[int](b, `document.querySelectorAll(".plot").length`))
	require.Greater(t, browser.Value[int](b, `document.querySelectorAll(".plot").length`), 2)
	first := `[...document.querySelectorAll("table:not(.u-legend) tbody th[scope=row]")].map((th) => th.textContent)`
	names := browser.Value[[]string](b, first)
	require.Equal(t, "all nodes", names[0], "it hurts most")
	require.Contains(t, names, "  tolerations x2")
	b.Focus("#plot-0")
	b.Press("End")
	require.Contains(t, b.Readout(), "Pods evicted so far, as given: ")
	require.Positive(t, b.Current(0))
	b.Shoot("blast.png")
	b.Theme("dark")
	b.Shoot("blast-dark.png")
	require.True(t, strings.HasPrefix(string(b.Print("blast.pdf")), "%PDF"))
	b.RequireNoFaults(file)
}
