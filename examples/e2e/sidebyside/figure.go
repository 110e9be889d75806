package sidebyside

import (
	"fmt"
	"slices"
	"strings"
)

// A Figure is a number that is measured in each play, and a row of the table.
type Figure[R any] struct {
	Title string
	// Format writes a value with its unit.
	Format func(float64) string
	// Of returns the value of a play, and false if it has none.
	Of func(*R) (float64, bool)
	// Fault says that it must be zero.
	Fault bool
	// Main says that the short table has it too, as it has all faults.
	Main bool
	// NoRatio says that ours means nothing in relation to that of another.
	NoRatio bool
}

// Number is a figure that each play has.
func Number[R any](title string, format func(float64) string, of func(*R) float64) Figure[R] {
	return Figure[R]{Title: title, Format: format, Of: func(r *R) (float64, bool) { return of(r), true }}
}

// Format returns a function that writes a value in a format of package fmt.
func Format(format string) func(float64) string {
	return func(v float64) string { return fmt.Sprintf(format, v) }
}

// Count writes a whole number with commas.
func Count(v float64) string { return Thousands(int(v + 0.5)) }

// Seconds writes seconds with one digit of their tenths.
func Seconds(v float64) string { return fmt.Sprintf("%.1f s", v) }

// Thousands writes a number with commas.
func Thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", Thousands(n/1000), n%1000)
}

// A spread is what a figure has come to in several repetitions.
type spread struct {
	median, least, most float64
	// n is how many repetitions there are. Zero: the others mean nothing.
	n int
}

// spreadOf returns the spread of values. The median of an even number is the
// mean of the two in the middle.
func spreadOf(values []float64) spread {
	n := len(values)
	if n == 0 {
		return spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return spread{median: (sorted[(n-1)/2] + sorted[n/2]) / 2, least: sorted[0], most: sorted[n-1], n: n}
}

// spread returns what the figure has come to in some plays.
func (f Figure[R]) spread(records []*R) spread {
	var values []float64
	for _, r := range records {
		if value, known := f.Of(r); known {
			values = append(values, value)
		}
	}
	return spreadOf(values)
}

// text writes a spread: its median, and its least and most if they differ. The
// mark follows the median.
func (f Figure[R]) text(s spread, mark string) string {
	text := f.Format(s.median)
	if f.Fault && s.most > 0 {
		text = "**" + text + "**"
	}
	text += mark
	if least, most := f.Format(s.least), f.Format(s.most); least != most {
		unit := "" // with the space before it
		if at := strings.LastIndexByte(most, ' '); at >= 0 {
			unit = most[at:]
		}
		text += fmt.Sprintf(" (%s–%s)", strings.TrimSuffix(least, unit), most)
	}
	return text
}

// Ratio returns the median of one column's figure to that of another, and false
// if there is none.
func Ratio[S Scenario, R any](f Figure[R], of, to *Column[S, R]) (float64, bool) {
	if of == nil || to == nil || f.NoRatio {
		return 0, false
	}
	ours, theirs := f.spread(of.Shown()), f.spread(to.Shown())
	return ours.median / theirs.median, ours.n > 0 && theirs.n > 0 && theirs.median > 0
}

// ColumnOf returns the column of a subject, or nil if there is none.
func ColumnOf[S Scenario, R any](columns []*Column[S, R], subject string) *Column[S, R] {
	for _, c := range columns {
		if c.Subject.Name == subject {
			return c
		}
	}
	return nil
}
