package sidebyside

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
)

// A Record is what a play has come to: rows of a table.
type Record struct {
	// States are what the play has come to after each step. They must be the same
	// with all subjects of a scenario.
	States []State
	// Told are lines that stand below the table.
	Told []string

	rows []*Row
}

// A State is the facts after a step, by name.
type State struct {
	Step  string
	Facts map[string]string
}

// A Row is a number of a record, and the row of the table that it stands in.
type Row struct {
	title  string
	format func(float64) string
	value  float64

	wrong, noRatio bool
	// mostTimes is how many times as much as the other ours may have. Zero: any.
	mostTimes float64
}

// Add adds a row.
func (r *Record) Add(title string, format func(float64) string, value float64) *Row {
	row := &Row{title: title, format: format, value: value}
	r.rows = append(r.rows, row)
	return row
}

// AddCalls adds a row for each kind of call: how often it was made.
func (r *Record) AddCalls(title string, calls []controlplane.Request) {
	counts := controlplane.CountBy(calls, func(r controlplane.Request) string {
		return r.Verb + " " + r.FullResource()
	})
	for _, call := range slices.Sorted(maps.Keys(counts)) {
		r.Add(title+": "+call, Count, float64(counts[call]))
	}
}

// Include adds the rows of another record.
func (r *Record) Include(other *Record) { r.rows = append(r.rows, other.rows...) }

// AtMost sets a limit. What is above it is wrong.
func (w *Row) AtMost(limit float64) *Row {
	w.wrong = w.value > limit
	return w
}

// AtLeast sets a limit. What is below it is wrong.
func (w *Row) AtLeast(limit float64) *Row {
	w.wrong = w.value < limit
	return w
}

// NoMoreThan says that ours is at fault when it has more than so many times as
// much as the subject that it is put to.
func (w *Row) NoMoreThan(times float64) *Row {
	w.mostTimes = times
	return w
}

// NoRatio says that ours means nothing in relation to that of another.
func (w *Row) NoRatio() *Row {
	w.noRatio = true
	return w
}

// Format returns a function that writes a value in a format of package fmt.
func Format(format string) func(float64) string {
	return func(v float64) string { return fmt.Sprintf(format, v) }
}

// Count writes a whole number with commas.
func Count(v float64) string { return Thousands(int(v + 0.5)) }

// Seconds writes seconds with one digit of their tenths.
func Seconds(v float64) string { return fmt.Sprintf("%.1f s", v) }

// Percent writes a percentage.
func Percent(v float64) string { return fmt.Sprintf("%.1f %%", v) }

// MiB writes bytes.
func MiB(v float64) string { return fmt.Sprintf("%.0f MiB", v/(1<<20)) }

// Thousands writes a number with commas.
func Thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", Thousands(n/1000), n%1000)
}

// bold marks what is wrong.
func bold(text string) string { return "**" + text + "**" }

// Rows returns the rows as "title: value".
func (r *Record) Rows() (rows []string) {
	for _, row := range r.rows {
		rows = append(rows, row.String())
	}
	return rows
}

func (r *Record) String() string { return strings.Join(r.Rows(), ", ") }

func (w *Row) String() string { return w.title + ": " + w.format(w.value) }

// Faults returns what is wrong with a record.
func (r *Record) Faults() (faults []string) {
	for _, row := range r.rows {
		if row.wrong {
			faults = append(faults, row.String())
		}
	}
	return faults
}

// A spread is what a row has come to in several repetitions.
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

// text writes a spread: its median, in bold if something is wrong, and its least
// and most if they differ.
func (s spread) text(format func(float64) string, wrong bool) string {
	if s.n == 0 {
		return "–"
	}
	text := format(s.median)
	if wrong {
		text = bold(text)
	}
	if least, most := format(s.least), format(s.most); least != most {
		unit := "" // with the space before it
		if at := strings.LastIndexByte(most, ' '); at >= 0 {
			unit = most[at:]
		}
		text += fmt.Sprintf(" (%s–%s)", strings.TrimSuffix(least, unit), most)
	}
	return text
}
