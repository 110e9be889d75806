package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// none is what a table shows where there is no number.
const none = "-"

// mostColumns is how many zones a table has room for.
const mostColumns = 8

// table is text in columns: the first to the left, the others to the right.
type table [][]string

func (t *table) row(cells ...string) { *t = append(*t, cells) }

// WriteTable writes rows of text in columns, the first to the left and the
// others to the right.
func WriteTable(out io.Writer, rows [][]string) error { return table(rows).write(out) }

// write writes the table.
func (t table) write(out io.Writer) error {
	var widths []int
	for _, row := range t {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range t {
		var line strings.Builder
		for i, cell := range row {
			if i == 0 {
				fmt.Fprintf(&line, "%-*s", widths[i], cell)
			} else {
				fmt.Fprintf(&line, "  %*s", widths[i], cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// Rows returns the summary for people as a table with a header: a column a zone
// and one for the cluster. It also returns how many zones have none. If there
// are too many zones, only those in which something happened have a column. If
// these are too many, the first of them have one.
func (s *Summary) Rows() (rows [][]string, left int) {
	zones, left := s.columns()
	all := slices.Concat(zones, []*Zone{&s.Cluster})
	var t table
	header := []string{""}
	for _, z := range zones {
		header = append(header, "zone "+z.Name)
	}
	t.row(append(header, "cluster")...)
	for _, m := range worthy(all) {
		row := []string{m.name}
		for _, z := range all {
			row = append(row, m.text(z))
		}
		t.row(row...)
	}
	return t, left
}

// Shown returns the names of the zones that have a column.
func (s *Summary) Shown() []string {
	zones, _ := s.columns()
	names := make([]string, len(zones))
	for i, z := range zones {
		names[i] = z.Name
	}
	return names
}

// Write writes the summary for people; see [Summary.Rows].
func (s *Summary) Write(out io.Writer) error {
	rows, left := s.Rows()
	if err := table(rows).write(out); err != nil {
		return err
	}
	if left == 0 {
		return nil
	}
	_, err := fmt.Fprintf(out, "%s not shown; --json has all.\n", Some(left, "zone"))
	return err
}

func (m *measure) text(z *Zone) string {
	if v, ok := m.of(z); ok {
		return m.show(v)
	}
	return none
}

// columns returns the zones that have a column, and how many have none.
func (s *Summary) columns() (zones []*Zone, left int) {
	crowded := len(s.Zones) > mostColumns
	for i := range s.Zones {
		z := &s.Zones[i]
		if crowded && (len(zones) == mostColumns || z.quiet()) {
			left++
			continue
		}
		zones = append(zones, z)
	}
	return zones, left
}

// quiet reports whether nothing was done in the zone.
func (z *Zone) quiet() bool {
	return z.Declared.Times+z.Tainted.Times == 0 && z.Pods == Pods{}
}

// WriteViolations writes what was found to be wrong, or that nothing was.
func (d *Document) WriteViolations(out io.Writer) error {
	if !d.Checked {
		return nil
	}
	var b strings.Builder
	if len(d.Violations) == 0 {
		b.WriteString("Every invariant held.\n")
	}
	for i, v := range d.Violations {
		if i == 0 {
			fmt.Fprintf(&b, "Invariants that did not hold, %s:\n", Some(len(d.Violations), "time"))
		}
		fmt.Fprintf(&b, "%s  %s: %s\n", v.At.Clock(), v.Invariant, v.Text)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
