package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

var errNoReading = errors.New("it was not read")

// The subjects, in the order of their figures.
const (
	ours = iota
	baseline
	subjects
)

// parts is how many parts of the time have figures of their own. They show how
// even the figures are.
const parts = 5

// names are what the table and messages call the subjects.
var names = [subjects]string{"examples/nodelifecycle", "the same informers alone"}

// reading is the CPU time that a subject has used, or why that is not known.
type reading struct {
	used time.Duration
	err  error
}

// figures are the CPU times that were read, one more than there are parts if
// nothing has kept the measurement from its end.
type figures struct {
	readings [][subjects]reading
	took     time.Duration // until the last reading
	beats    int64
	err      error // why there is no further reading
}

// add appends the readings of one time. It reports whether there is a subject
// left to measure.
func (f *figures) add(readings [subjects]reading, took time.Duration, beats int64) bool {
	f.readings, f.took, f.beats = append(f.readings, readings), took, beats
	for _, r := range readings {
		if r.err == nil {
			return true
		}
	}
	return false
}

// between returns what a subject used from one reading to another.
func (f *figures) between(subject, from, to int) (time.Duration, error) {
	if to >= len(f.readings) {
		return 0, cmp.Or(f.err, errNoReading)
	}
	begin, end := f.readings[from][subject], f.readings[to][subject]
	return end.used - begin.used, cmp.Or(begin.err, end.err)
}

// common returns the last reading that has both subjects.
func (f *figures) common() int {
	for i, readings := range slices.Backward(f.readings) {
		if readings[ours].err == nil && readings[baseline].err == nil {
			return i
		}
	}
	return 0
}

// ratio returns that of all parts with both subjects, and false if there is
// none.
func (f *figures) ratio() (float64, bool) {
	last := f.common()
	if last == 0 {
		return 0, false
	}
	mine, _ := f.between(ours, 0, last)
	theirs, _ := f.between(baseline, 0, last)
	return float64(mine) / float64(theirs), true
}

// problem returns why the figures are incomplete, or nil.
func (f *figures) problem() error {
	for k, name := range names {
		if _, err := f.between(k, 0, parts); err != nil {
			return fmt.Errorf("%w: %s: %w", sidebyside.ErrIncomplete, name, err)
		}
	}
	return nil
}

// write prints what is known.
func (f *figures) write(out io.Writer) error {
	var text strings.Builder
	if f.took > 0 {
		fmt.Fprintf(&text, "%.0f heartbeats a second were stored\n\n", float64(f.beats)/f.took.Seconds())
	}
	fmt.Fprintf(&text, "| CPU time | %s | %s | ratio |\n", names[ours], names[baseline])
	text.WriteString("| --- | --- | --- | --- |\n")
	var notes sidebyside.Notes
	row := func(title string, from, to int) {
		fmt.Fprintf(&text, "| %s |", title)
		var used [subjects]time.Duration
		known := true
		for k := range used {
			var err error
			if used[k], err = f.between(k, from, to); err != nil {
				known = false
				fmt.Fprintf(&text, " not measured %s |", notes.Add(err))
				continue
			}
			fmt.Fprintf(&text, " %.2f s |", used[k].Seconds())
		}
		if !known {
			text.WriteString(" – |\n")
			return
		}
		fmt.Fprintf(&text, " %.3f |\n", float64(used[ours])/float64(used[baseline]))
	}
	for i := range parts {
		row(fmt.Sprintf("part %d of %d", i+1, parts), i, i+1)
	}
	switch last := f.common(); last {
	case 0:
	case parts:
		row(fmt.Sprintf("all %.0f s", f.took.Seconds()), 0, parts)
	default:
		row(fmt.Sprintf("the first %d of %d", last, parts), 0, last)
	}
	text.WriteString(notes.String())
	_, err := io.WriteString(out, text.String())
	return err
}
