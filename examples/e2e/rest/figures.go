package main

import (
	"fmt"
	"io"
	"time"
)

// The subjects, in the order of their figures.
const (
	ours = iota
	baseline
	subjects
)

// parts is how many parts of the time have figures of their own. They show how
// even the figures are.
const parts = 5

// figures are the CPU times that were read, one more than there are parts.
type figures struct {
	used  [][subjects]time.Duration
	took  time.Duration
	beats int64
}

// between returns what the subjects used from one reading to another, and the
// ratio.
func (f *figures) between(from, to int) (used [subjects]time.Duration, ratio float64) {
	for i := range used {
		used[i] = f.used[to][i] - f.used[from][i]
	}
	return used, float64(used[ours]) / float64(used[baseline])
}

// write prints the figures and returns the ratio over the whole time.
func (f *figures) write(out io.Writer) float64 {
	fmt.Fprintf(out, "%.0f heartbeats a second were stored\n\n", float64(f.beats)/f.took.Seconds())
	fmt.Fprintln(out, "| CPU time | examples/nodelifecycle | the same informers alone | ratio |")
	fmt.Fprintln(out, "| --- | --- | --- | --- |")
	row := func(title string, from, to int) float64 {
		used, ratio := f.between(from, to)
		fmt.Fprintf(out, "| %s | %.2f s | %.2f s | %.3f |\n",
			title, used[ours].Seconds(), used[baseline].Seconds(), ratio)
		return ratio
	}
	for i := range parts {
		row(fmt.Sprintf("part %d of %d", i+1, parts), i, i+1)
	}
	return row(fmt.Sprintf("all %.0f s", f.took.Seconds()), 0, parts)
}
