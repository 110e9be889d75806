package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenarios"
)

// browser is a headless Chromium that shows one page. It is driven by the
// DevTools protocol over a pipe.
type browser struct {
	t       *testing.T
	to      io.Writer
	from    *bufio.Reader
	session string
	sent    int
	// faults are what went wrong in the page, and requests for other things than
	// the page.
	faults []string
}

// newBrowser starts what LIFECYCLE_BROWSER names, as .ci/browser does. Without
// it the test is skipped.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	program := os.Getenv("LIFECYCLE_BROWSER")
	if program == "" {
		t.Skip("LIFECYCLE_BROWSER names no Chromium; .ci/browser does")
	}
	args := []string{
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + t.TempDir(), "--disable-gpu", "--disable-quic",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--hide-scrollbars", "--force-color-profile=srgb",
	}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // Chromium refuses root otherwise
	}
	itsIn, to, err := os.Pipe()
	require.NoError(t, err)
	from, itsOut, err := os.Pipe()
	require.NoError(t, err)
	command := exec.Command(program, append(args, "about:blank")...)
	command.ExtraFiles = []*os.File{itsIn, itsOut} // 3 and 4
	require.NoError(t, command.Start())
	require.NoError(t, itsIn.Close())
	require.NoError(t, itsOut.Close())
	b := &browser{t: t, to: to, from: bufio.NewReader(from)}
	t.Cleanup(func() {
		_ = to.Close() // it ends when its pipe does
		ended := time.AfterFunc(10*time.Second, func() { _ = command.Process.Kill() })
		_ = command.Wait()
		ended.Stop()
		_ = from.Close()
	})
	require.NoError(t, from.SetReadDeadline(time.Now().Add(5*time.Minute)))

	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	b.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": 1400, "height": 1000, "deviceScaleFactor": 1, "mobile": false}, nil)
	return b
}

// call calls a method of the protocol. Events that come before the answer are
// looked through for faults.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.sent++
	message, err := json.Marshal(map[string]any{"id": b.sent, "method": method, "params": params, "sessionId": b.session})
	if b.session == "" {
		message, err = json.Marshal(map[string]any{"id": b.sent, "method": method, "params": params})
	}
	require.NoError(b.t, err)
	_, err = b.to.Write(append(message, 0))
	require.NoError(b.t, err)
	for {
		text, err := b.from.ReadBytes(0)
		require.NoError(b.t, err, "waiting for the answer to %s", method)
		var answer struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		require.NoError(b.t, json.Unmarshal(text[:len(text)-1], &answer))
		if answer.ID == 0 {
			b.event(answer.Method, answer.Params)
			continue
		}
		require.Equal(b.t, b.sent, answer.ID)
		require.Nil(b.t, answer.Error, "%s: %v", method, answer.Error)
		if result != nil {
			require.NoError(b.t, json.Unmarshal(answer.Result, result))
		}
		return
	}
}

// event records what must not happen.
func (b *browser) event(method string, params json.RawMessage) {
	switch method {
	case "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Network.webSocketCreated":
		b.faults = append(b.faults, method+" "+string(params))
	case "Log.entryAdded":
		var added struct{ Entry struct{ Level, Text string } }
		require.NoError(b.t, json.Unmarshal(params, &added))
		if added.Entry.Level == "error" { // that this test reads pixels is a warning
			b.faults = append(b.faults, added.Entry.Text)
		}
	case "Network.requestWillBeSent":
		var sent struct{ Request struct{ URL string } }
		require.NoError(b.t, json.Unmarshal(params, &sent))
		if !strings.HasPrefix(sent.Request.URL, "file:///") || !strings.HasSuffix(sent.Request.URL, ".html") {
			b.faults = append(b.faults, "asks for "+sent.Request.URL)
		}
	}
}

// value returns what an expression of JavaScript comes to.
func value[T any](b *browser, expression string) T {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value T }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate",
		map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	require.Empty(b.t, string(answer.ExceptionDetails), expression)
	return answer.Result.Value
}

// settle waits until the page has drawn what was asked for.
func (b *browser) settle() {
	b.t.Helper()
	value[bool](b, `new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(
		() => done(true))), 20))`)
}

// open shows a page and waits until its plots are drawn.
func (b *browser) open(name string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": (&url.URL{Scheme: "file", Path: name}).String()}, nil)
	for range 200 {
		b.settle()
		if value[string](b, `document.documentElement?.dataset.drawn || ""`) != "" {
			return
		}
	}
	require.Fail(b.t, "the page does not draw its plots", "%v", b.faults)
}

// focus gives the focus to an element.
func (b *browser) focus(selector string) {
	b.t.Helper()
	require.True(b.t, value[bool](b, fmt.Sprintf(
		`(() => { const e = document.querySelector(%q); e.focus(); return document.activeElement === e; })()`, selector)),
		"%s takes the focus", selector)
}

// press presses keys one after the other.
func (b *browser) press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		for _, kind := range []string{"rawKeyDown", "keyUp"} {
			b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key}, nil)
		}
		b.settle()
	}
}

// mouse does something with the mouse over a plot, at a fraction of its width.
func (b *browser) mouse(kind, plot string, at float64) {
	b.t.Helper()
	place := value[struct{ X, Y, W, H float64 }](b, fmt.Sprintf(`(() => {
		const over = document.querySelector(%q + " .u-over");
		over.scrollIntoView({ block: "center", behavior: "instant" });
		const r = over.getBoundingClientRect();
		return { X: r.left, Y: r.top, W: r.width, H: r.height };
	})()`, plot))
	buttons := 0
	if kind != "mouseMoved" || b.dragging() {
		buttons = 1
	}
	b.call("Input.dispatchMouseEvent", map[string]any{
		"type": kind, "x": place.X + at*place.W, "y": place.Y + place.H/2, "button": "left", "buttons": buttons,
		"clickCount": 1,
	}, nil)
	b.settle()
}

// dragging reports whether uPlot shows a selection.
func (b *browser) dragging() bool {
	return value[bool](b, `[...document.querySelectorAll(".u-select")].some((e) => e.offsetWidth > 0)`)
}

func (b *browser) readout() string {
	return value[string](b, `document.getElementById("readout").textContent`)
}

// current returns which line of a timeline is marked, -1 if none.
func (b *browser) current(timeline int) int {
	return value[int](b, fmt.Sprintf(
		`[...document.querySelectorAll("#timeline-%d li")].findIndex((li) => li.hasAttribute("aria-current"))`, timeline))
}

// cursors returns where the plots show the cursor, from the left.
func (b *browser) cursors() []float64 {
	return value[[]float64](b, `[...document.querySelectorAll(".u-cursor-x")].map(
		(e) => e.classList.contains("u-off") ? -1 : new DOMMatrix(getComputedStyle(e).transform).e)`)
}

// shoot keeps a picture of the page where LIFECYCLE_BROWSER_SHOTS says.
func (b *browser) shoot(name string) {
	b.t.Helper()
	folder := os.Getenv("LIFECYCLE_BROWSER_SHOTS")
	if folder == "" {
		return
	}
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot)
	b.keep(filepath.Join(folder, name), shot.Data)
}

func (b *browser) keep(name, data string) {
	b.t.Helper()
	content, err := base64.StdEncoding.DecodeString(data)
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(name, content, 0o600))
}

// theme makes the reader prefer light or dark.
func (b *browser) theme(scheme string) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	}, nil)
	b.settle()
}

// inks returns how many pixels of each plot are not background.
func (b *browser) inks() []int {
	b.t.Helper()
	return value[[]int](b, `[...document.querySelectorAll(".plot canvas")].map((c) => {
		const pixels = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		let ink = 0;
		for (let i = 3; i < pixels.length; i += 4) if (pixels[i] > 0) ink++;
		return ink;
	})`)
}

func (b *browser) drawn(plots int) {
	b.t.Helper()
	inks := b.inks()
	require.Len(b.t, inks, plots)
	for i, ink := range inks {
		require.Greater(b.t, ink, 500, "plot %d", i)
	}
}

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
	b := newBrowser(t)
	for _, name := range scenarios.Names() {
		file, out := pageOf(t, name)
		document := decode[report.Document](t, out)
		b.open(file)
		zones := len(document.Series.Zones)
		b.drawn(3 + 2*zones)
		require.Equal(t, len(document.Timeline), value[int](b, `document.querySelectorAll(".timeline li").length`))
		require.Empty(t, b.faults, name)
		b.shoot(name + ".png")
	}
}

// The mouse moves one cursor over all plots and the timeline, and zooms all
// plots. The keyboard does the same, and what it finds is read out.
func TestBrowserHasOneCursorForMouseAndKeyboard(t *testing.T) {
	b := newBrowser(t)
	file, out := pageOf(t, "zone-loss")
	document := decode[report.Document](t, out)
	series := &document.Series
	b.open(file)
	require.Equal(t, -1, b.current(0))

	b.mouse("mouseMoved", "#plot-1", 0.5)
	for i, x := range b.cursors() {
		require.InDelta(t, b.cursors()[1], x, 1, "plot %d", i)
		require.Positive(t, x)
	}
	last := -1
	for i, line := range document.Timeline {
		if line.At <= document.Duration/2+1 {
			last = i
		}
	}
	require.Equal(t, last, b.current(0), "the last line up to the middle")
	legend := value[string](b, `document.querySelector("#plot-0 .u-legend").textContent`)
	require.Contains(t, legend, "0:22:3", "the time at the cursor")
	require.Contains(t, legend, "60", "its values")

	whole := b.inks()
	b.mouse("mousePressed", "#plot-1", 0.2)
	b.mouse("mouseMoved", "#plot-1", 0.3)
	b.mouse("mouseMoved", "#plot-1", 0.4)
	b.mouse("mouseReleased", "#plot-1", 0.4)
	require.NotEqual(t, whole[3], b.inks()[3], "another plot is zoomed as well")
	b.focus("#plot-3")
	b.press("Home")
	require.Regexp(t, `^0:0(8:5\d|9:0\d)\. Nodes by state, zone a: `, b.readout(), "a fifth of 45 minutes")
	b.press("End")
	require.Regexp(t, `^0:1(7:5\d|8:0\d)\. `, b.readout())
	b.shoot("zone-loss-zoomed.png")
	b.press("Escape", "Home")
	require.Regexp(t, `^0:00:00\. `, b.readout())

	a := &series.Zones[0]
	b.press("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft")
	require.Contains(t, b.readout(), fmt.Sprintf("%s. Nodes by state, zone a: ready %d; silent, not noticed %d; "+
		"not ready %d; tainted NoExecute %d. Last: ",
		series.At[2].Clock(), a.Ready[2], a.Silent[2], a.NotReady[2], a.Tainted[2]))
	b.press("End")
	require.Contains(t, b.readout(), "0:45:00. ")
	b.press("+", "+", "Home")
	require.NotContains(t, b.readout(), "0:00:00", "zoomed in at the end")
	b.press("-", "-", "Escape", "Home", "PageDown")
	require.Contains(t, b.readout(), "0:04:30. ")

	b.focus("#timeline-0")
	b.press("ArrowDown", "ArrowDown", "ArrowUp", "ArrowDown")
	require.Positive(t, b.current(0))
	at := document.Timeline[b.current(0)].At
	require.Contains(t, b.readout(), at.Clock()+". Last: "+at.Clock())

	b.focus("#plot-0 .u-series:nth-child(2) th")
	pressed := `document.activeElement.getAttribute("aria-pressed")`
	require.Equal(t, "true", value[string](b, pressed))
	b.press("Enter")
	require.Equal(t, "false", value[string](b, pressed), "a line is hidden")
	require.Empty(t, b.faults)
}

// Both runs are on the same axes; light, dark and on paper.
func TestBrowserComparesAndPrints(t *testing.T) {
	b := newBrowser(t)
	file, _ := pageOf(t, "zone-loss", "--compare", "node-eviction-rate=1,duration=50m")
	b.open(file)
	back := func() string { return value[string](b, `getComputedStyle(document.body).backgroundColor`) }
	b.drawn(9)
	require.Equal(t, "rgb(255, 255, 255)", back())
	b.focus("#plot-1")
	b.press("End")
	require.Regexp(t, `^0:50:00\. .* evicted so far, as given unknown; .* evicted so far, changed \d+`, b.readout())
	require.Regexp(t, `evicted so far, as given\W*--\D`, value[string](b,
		`document.querySelector("#plot-1 .u-legend").textContent`), "the first run was over")
	require.Positive(t, b.current(0))
	require.Positive(t, b.current(1))
	b.shoot("compare-light.png")

	b.theme("dark")
	require.Equal(t, "rgb(13, 17, 23)", back())
	b.drawn(9)
	require.Positive(t, b.cursors()[0], "the cursor stays")
	b.shoot("compare-dark.png")

	var printed struct{ Data string }
	b.call("Page.printToPDF", map[string]any{"printBackground": true}, &printed)
	content, err := base64.StdEncoding.DecodeString(printed.Data)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(content), "%PDF"))
	require.Greater(t, len(content), 20_000)
	if folder := os.Getenv("LIFECYCLE_BROWSER_SHOTS"); folder != "" {
		b.keep(filepath.Join(folder, "compare.pdf"), printed.Data)
	}
	b.settle()
	require.Equal(t, "rgb(13, 17, 23)", back(), "dark again")
	b.drawn(9)
	require.Empty(t, b.faults)
}
