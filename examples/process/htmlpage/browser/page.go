package browser

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"
)

// Value returns what an expression of JavaScript comes to.
func Value[T any](b *Browser, expression string) T {
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
func (b *Browser) settle() {
	b.t.Helper()
	Value[bool](b, `new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(
		() => done(true))), 20))`)
}

// Open shows the page in a file and waits until its plots are drawn.
func (b *Browser) Open(name string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": (&url.URL{Scheme: "file", Path: name}).String()}, nil)
	for range 200 {
		b.settle()
		if Value[string](b, `document.documentElement?.dataset.drawn || ""`) != "" {
			return
		}
	}
	require.Fail(b.t, "the page does not draw its plots", "%v", b.faults)
}

// Focus gives the focus to an element.
func (b *Browser) Focus(selector string) {
	b.t.Helper()
	require.True(b.t, Value[bool](b, fmt.Sprintf(
		`(() => { const e = document.querySelector(%q); e.focus(); return document.activeElement === e; })()`, selector)),
		"%s takes the focus", selector)
}

// Press presses keys one after the other.
func (b *Browser) Press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		for _, kind := range []string{"rawKeyDown", "keyUp"} {
			b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key}, nil)
		}
		b.settle()
	}
}

// Mouse sends an event of the mouse over a plot, at a fraction of its width.
// The kind is one of the protocol's: mouseMoved, mousePressed, mouseReleased.
func (b *Browser) Mouse(kind, plot string, at float64) {
	b.t.Helper()
	place := Value[struct{ X, Y, W, H float64 }](b, fmt.Sprintf(`(() => {
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
func (b *Browser) dragging() bool {
	return Value[bool](b, `[...document.querySelectorAll(".u-select")].some((e) => e.offsetWidth > 0)`)
}

// Readout returns what a screen reader reads out.
func (b *Browser) Readout() string {
	return Value[string](b, `document.getElementById("readout").textContent`)
}

// Current returns which line of a timeline is marked, -1 if none.
func (b *Browser) Current(timeline int) int {
	return Value[int](b, fmt.Sprintf(
		`[...document.querySelectorAll("#timeline-%d li")].findIndex((li) => li.hasAttribute("aria-current"))`, timeline))
}

// Cursors returns where the plots show the cursor, from the left.
func (b *Browser) Cursors() []float64 {
	return Value[[]float64](b, `[...document.querySelectorAll(".u-cursor-x")].map(
		(e) => e.classList.contains("u-off") ? -1 : new DOMMatrix(getComputedStyle(e).transform).e)`)
}

// Shoot keeps a picture of the page where LIFECYCLE_BROWSER_SHOTS says.
func (b *Browser) Shoot(name string) {
	b.t.Helper()
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot)
	b.keep(name, shot.Data)
}

// Print prints the page and returns the PDF. It is also kept where
// LIFECYCLE_BROWSER_SHOTS says.
func (b *Browser) Print(name string) []byte {
	b.t.Helper()
	var printed struct{ Data string }
	b.call("Page.printToPDF", map[string]any{"printBackground": true}, &printed)
	b.settle()
	return b.keep(name, printed.Data)
}

// keep writes what the protocol has encoded into the folder for pictures, if
// there is one, and returns it.
func (b *Browser) keep(name, data string) []byte {
	b.t.Helper()
	content, err := base64.StdEncoding.DecodeString(data)
	require.NoError(b.t, err)
	if folder := os.Getenv("LIFECYCLE_BROWSER_SHOTS"); folder != "" {
		require.NoError(b.t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	return content
}

// Resize makes the window so wide and high, in pixels.
func (b *Browser) Resize(width, height int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.settle()
}

// Media shows the page as on screen or in print.
func (b *Browser) Media(media string) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": media}, nil)
	b.settle()
}

// Theme makes the reader prefer light or dark.
func (b *Browser) Theme(scheme string) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	}, nil)
	b.settle()
}

// Overlaps returns which parts of the page that follow each other overlap, by
// the beginning of the text of the later one. What is scrolled out of sight
// covers nothing.
func (b *Browser) Overlaps() []string {
	b.t.Helper()
	return Value[[]string](b, `(() => {
		const seen = (e, r) => {
			const list = e.closest(".timeline");
			return !list || getComputedStyle(list).overflowY === "visible" || r.bottom <= list.getBoundingClientRect().bottom;
		};
		const shown = [...document.querySelectorAll("h1, h2, h3, p, li, tr, .plot")].map((e) => [e, e.getBoundingClientRect()])
			.filter(([e, r]) => r.height > 0 && !e.closest(".u-legend") && seen(e, r));
		return shown.slice(1).filter(([e, r], i) => r.top < shown[i][1].bottom - 1 && r.left < shown[i][1].right - 1)
			.map(([e]) => e.textContent.slice(0, 40));
	})()`)
}

// Inks returns how many pixels of each plot are not background.
func (b *Browser) Inks() []int {
	b.t.Helper()
	return Value[[]int](b, `[...document.querySelectorAll(".plot canvas")].map((c) => {
		const pixels = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		let ink = 0;
		for (let i = 3; i < pixels.length; i += 4) if (pixels[i] > 0) ink++;
		return ink;
	})`)
}

// RequireDrawn requires so many plots, each with something in it.
func (b *Browser) RequireDrawn(plots int) {
	b.t.Helper()
	inks := b.Inks()
	require.Len(b.t, inks, plots)
	for i, ink := range inks {
		require.Greater(b.t, ink, 500, "plot %d", i)
	}
}

// RequireNoFaults requires that nothing went wrong in the pages so far. The
// name tells which page it was.
func (b *Browser) RequireNoFaults(name string) {
	b.t.Helper()
	require.Empty(b.t, b.faults, name)
}
