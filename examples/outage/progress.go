package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/kubelife/lifecycle/examples/outage/report"
)

// progress shows on a terminal how far a run is, once it takes long. The zero
// value shows nothing.
type progress struct {
	out   io.Writer // nil shows nothing
	title string
	total time.Duration // of the scenario

	started, drawn time.Time // by the clock on the wall
	visible        bool
}

const (
	// longRun is when a run begins to take long, redrawEvery how often it is drawn
	// again.
	longRun     = time.Second
	redrawEvery = 200 * time.Millisecond
	barWidth    = 30
)

// newProgress shows nothing unless out is a terminal.
func newProgress(out io.Writer, title string, total time.Duration) *progress {
	p := &progress{title: title, total: total}
	if terminal(out) {
		p.out = out
	}
	return p
}

func terminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// at says that at a time on the wall so much of the scenario is done.
func (p *progress) at(now time.Time, done time.Duration) {
	if p.started.IsZero() {
		p.started = now
	}
	if p.out == nil || now.Sub(p.started) < longRun || now.Sub(p.drawn) < redrawEvery {
		return
	}
	p.drawn, p.visible = now, true
	full := int(barWidth * done / max(p.total, 1))
	fmt.Fprintf(p.out, "\r[%s%s] %s of %s %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full),
		report.SecondsOf(done).Clock(), report.SecondsOf(p.total).Clock(), p.title)
}

// clear takes it away, so that something else can be written.
func (p *progress) clear() {
	if p.visible {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.visible, p.drawn = false, time.Time{}
	}
}
