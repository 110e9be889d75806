package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/kubelife/lifecycle/examples/outage/blast"
	"github.com/kubelife/lifecycle/examples/outage/report"
)

// progress shows how far a run is, and about how long the rest takes, once it
// takes long. On a terminal it is drawn in place, elsewhere it is a line now
// and then. The runs of a comparison share one.
type progress struct {
	out      io.Writer
	terminal bool
	all      time.Duration // of the scenarios of all runs
	past     time.Duration // of those of the runs that are over
	title    string        // of the run
	total    time.Duration // of its scenario

	started, drawn time.Time // by the clock on the wall
	visible        bool      // on the terminal
}

const (
	// longRun is when a run begins to take long. Then it is drawn again on a
	// terminal every redrawEvery, and elsewhere a line follows every lineEvery.
	longRun     = time.Second
	redrawEvery = 200 * time.Millisecond
	lineEvery   = 10 * time.Second
	barWidth    = 30
)

// newProgress returns the progress of runs that last so long together, in time
// of their scenarios.
func newProgress(out io.Writer, all time.Duration) *progress {
	return &progress{out: out, terminal: terminal(out), all: all}
}

func terminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// begin says that the next run begins. Its title is empty if it is alone.
func (p *progress) begin(title string, total time.Duration) {
	p.past += p.total
	p.title, p.total = title, total
}

// at says that at a time on the wall so much of the scenario is done.
func (p *progress) at(now time.Time, done time.Duration) {
	if p.started.IsZero() {
		p.started = now
	}
	text := fmt.Sprintf("%s of %s", report.SecondsOf(done).Clock(), report.SecondsOf(p.total).Clock())
	if p.title != "" {
		text += " " + p.title
	}
	text += p.left(now, float64(p.past+done)/float64(max(p.all, 1)))
	p.show(now, text, float64(done)/float64(max(p.total, 1)))
}

// runs says at a time on the wall how many runs are over. The share counts what
// others of them have done.
func (p *progress) runs(now time.Time, of blast.Progress) {
	if p.started.IsZero() {
		p.started = now
	}
	p.show(now, fmt.Sprintf("%d of %d runs", of.Done, of.Of)+p.left(now, of.Share), of.Share)
}

// listed says at a time on the wall how many objects of a kind have come, and
// how many there are if that is known. How long the other kinds take is not.
func (p *progress) listed(now time.Time, resource string, objects, of int) {
	if p.started.IsZero() {
		p.started = now
	}
	text := "listing " + resource
	if of > 0 {
		text += fmt.Sprintf(", %d of %d", objects, of)
	}
	p.show(now, text, float64(objects)/float64(max(of, 1)))
}

// show draws the progress, or writes a line of it, if it is time.
func (p *progress) show(now time.Time, text string, share float64) {
	pause := lineEvery
	if p.terminal {
		pause = redrawEvery
	}
	if now.Sub(p.started) < longRun || now.Sub(p.drawn) < pause {
		return
	}
	p.drawn = now
	if !p.terminal {
		fmt.Fprintf(p.out, "outage: %s\n", text)
		return
	}
	p.visible = true
	full := int(barWidth * share)
	fmt.Fprintf(p.out, "\r[%s%s] %s\x1b[K", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), text)
}

// leastDone is the share of all runs from which on the rest is estimated.
// Before, the estimate would be of days.
const leastDone = 0.005

// left says how long the rest of all runs takes on the wall, when that can be
// estimated. It supposes that they go on as fast as they went up to now.
func (p *progress) left(now time.Time, done float64) string {
	if done < leastDone {
		return ""
	}
	rest := time.Duration(float64(now.Sub(p.started)) * (1 - done) / done)
	return fmt.Sprintf(", about %s left", max(rest.Round(time.Second), time.Second))
}

// clear takes it away from a terminal, so that something else can be written.
func (p *progress) clear() {
	if p.visible {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.visible, p.drawn = false, time.Time{}
	}
}
