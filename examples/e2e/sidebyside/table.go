package sidebyside

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A table is one in Markdown. What is wrong in it is bold.
type table struct {
	heads []string
	lines [][]string
}

// tables returns the tables, and adds the reasons of what is missing to notes.
func (r *Results[S]) tables(notes *notes) []table {
	if r.of.Corner == "" {
		var tables []table
		for _, columns := range r.sharing() {
			tables = append(tables, table{r.heads(columns), r.lines(columns, notes)})
		}
		return tables
	}
	t := table{heads: []string{r.of.Corner}}
	for _, s := range r.Subjects {
		t.heads = append(t.heads, s.Title)
	}
	for _, columns := range r.sharing() {
		t.lines = append(t.lines, lineOf(columns[0].heading.Title, columns, func(c *Column[S]) string {
			return c.words(notes)
		}))
	}
	return []table{t}
}

// sharing returns the columns of each table.
func (r *Results[S]) sharing() [][]*Column[S] {
	return r.groups(func(c *Column[S]) string { return cmp.Or(c.heading.Table, c.heading.Name) })
}

// heads returns the heads of a table of rows.
func (r *Results[S]) heads(columns []*Column[S]) []string {
	cells := []string{cmp.Or(columns[0].heading.Table, columns[0].heading.Title)}
	for _, c := range columns {
		if c.heading.Table == "" {
			cells = append(cells, c.Subject.Title)
		} else {
			cells = append(cells, c.Subject.Title+", "+c.heading.Name)
		}
	}
	if ours, other := r.sides(columns); ours != nil && other != nil {
		cells = append(cells, "ours to "+r.of.Ratio+"'s")
	}
	return cells
}

// lines returns the lines of a table of rows.
func (r *Results[S]) lines(columns []*Column[S], notes *notes) [][]string {
	lines := [][]string{lineOf("repetitions", columns, func(c *Column[S]) string {
		return strings.TrimSpace(fmt.Sprint(len(c.Records)) + c.mark(notes))
	})}
	if r.of.Disturbed != nil {
		lines = append(lines, lineOf("played again, because living nodes were silent", columns,
			func(c *Column[S]) string { return fmt.Sprint(c.disturbed) }))
	}
	ours, other := r.sides(columns)
	for _, row := range rowsOf(columns) {
		one := lineOf(row.title, columns, func(c *Column[S]) string {
			s, wrong := c.spread(row.title)
			return s.text(row.format, wrong)
		})
		if ours != nil && other != nil {
			one = append(one, ratioCell(row, ours, other))
		}
		lines = append(lines, one)
	}
	lines = append(lines, r.callLines(columns)...)
	lines = append(lines, lineOf("load average before", columns, func(c *Column[S]) string {
		return strings.Join(c.loads, ", ")
	}))
	for i := range lines {
		for len(lines[i]) < len(r.heads(columns)) {
			lines[i] = append(lines[i], "")
		}
	}
	return lines
}

// callLines returns the lines of what any column has called.
func (r *Results[S]) callLines(columns []*Column[S]) (lines [][]string) {
	called := map[string]bool{}
	for _, c := range columns {
		for _, record := range c.Records {
			for call := range record.Calls {
				called[call] = true
			}
		}
	}
	for _, call := range slices.Sorted(maps.Keys(called)) {
		lines = append(lines, lineOf("API calls: "+call, columns, func(c *Column[S]) string {
			var values []float64
			for _, record := range c.Records {
				values = append(values, float64(record.Calls[call]))
			}
			return spreadOf(values).text(Count, false)
		}))
	}
	return lines
}

// rowsOf returns one row of each title that any record has. A title that only
// some have follows the one that it follows there.
func rowsOf[S Scenario](columns []*Column[S]) (rows []*Row) {
	for _, c := range columns {
		for _, record := range c.Records {
			at := 0 // where the next one belongs
			for _, row := range record.rows {
				known := slices.IndexFunc(rows, func(other *Row) bool { return other.title == row.title })
				if known < 0 {
					known = at
					rows = slices.Insert(rows, at, row)
				}
				at = known + 1
			}
		}
	}
	return rows
}

func lineOf[S Scenario](title string, columns []*Column[S], cell func(*Column[S]) string) []string {
	cells := []string{title}
	for _, c := range columns {
		cells = append(cells, cell(c))
	}
	return cells
}

// spread returns what the row of a title has come to, and whether it is wrong in
// any repetition.
func (c *Column[S]) spread(title string) (s spread, wrong bool) {
	var values []float64
	for _, record := range c.Records {
		for _, row := range record.rows {
			if row.title == title {
				values, wrong = append(values, row.value), wrong || row.wrong
			}
		}
	}
	return spreadOf(values), wrong
}

// sides returns the column of ours and the one that it is put to, nil where
// there is none. In a table of several scenarios none is.
func (r *Results[S]) sides(columns []*Column[S]) (ours, other *Column[S]) {
	for _, c := range columns {
		if c.heading.Table != "" {
			return nil, nil
		}
		switch c.Subject.Name {
		case Ours:
			ours = c
		case r.of.Ratio:
			other = c
		}
	}
	return ours, other
}

// ratio returns the median of a row of ours to that of another column, and false
// if there is none. To nothing it is infinite where ours may not have more.
func ratio[S Scenario](row *Row, ours, other *Column[S]) (float64, bool) {
	mine, _ := ours.spread(row.title)
	theirs, _ := other.spread(row.title)
	toNothing := theirs.median == 0 && (mine.median == 0 || row.mostTimes == 0)
	return mine.median / theirs.median, !row.noRatio && mine.n > 0 && theirs.n > 0 && !toNothing
}

// isTooMuch reports whether ours is at fault by its ratio to the other.
func (w *Row) isTooMuch(ratio float64) bool { return w.mostTimes > 0 && ratio > w.mostTimes }

func ratioCell[S Scenario](row *Row, ours, other *Column[S]) string {
	value, known := ratio(row, ours, other)
	switch text := fmt.Sprintf("%.2f", value); {
	case !known:
		return "–"
	case row.isTooMuch(value):
		return Bold(text)
	default:
		return text
	}
}

// mark returns the mark of the reason why the column has no more records.
func (c *Column[S]) mark(notes *notes) string {
	if c.Err == nil {
		return ""
	}
	return " " + notes.add(c.Err)
}

// words returns the sentences of the column.
func (c *Column[S]) words(notes *notes) string {
	var all []string
	for _, record := range c.Records {
		all = append(all, record.Text)
	}
	switch {
	case c.Err == nil:
	case c.isCut():
		all = append(all, c.Err.Error())
	default:
		all = append(all, "not judged"+c.mark(notes))
	}
	return strings.Join(all, " · ")
}

// Write writes the tables in Markdown, how to read them, the reasons of what is
// missing, what records tell, and where the states of subjects differ.
func (r *Results[S]) Write(out io.Writer) error {
	var text strings.Builder
	var notes notes
	write := func(cells []string) {
		text.WriteString(strings.ReplaceAll("| "+strings.Join(cells, " | ")+" |\n", "|  |", "| |"))
	}
	for _, t := range r.tables(&notes) {
		write(t.heads)
		text.WriteString("|" + strings.Repeat(" --- |", len(t.heads)) + "\n")
		for _, one := range t.lines {
			write(one)
		}
		text.WriteString("\n")
	}
	text.WriteString(r.of.Legend())
	for i, reason := range notes {
		fmt.Fprintf(&text, "\n[%d] %s\n", i+1, reason)
	}
	var told []string
	for _, c := range r.Columns {
		for _, record := range c.Records {
			for _, line := range record.Told {
				told = append(told, c.Name()+": "+line)
			}
		}
	}
	differences, _ := r.differences()
	for i, line := range append(told, differences...) {
		if i == 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "- %s\n", line)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// notes are the reasons below a table for cells without values, each once.
type notes []string

// add returns the mark of a reason. Of an error that the log of a process
// follows it keeps the first line.
func (n *notes) add(err error) string {
	reason, _, _ := strings.Cut(err.Error(), "\n")
	at := slices.Index(*n, reason)
	if at < 0 {
		at = len(*n)
		*n = append(*n, reason)
	}
	return fmt.Sprintf("[%d]", at+1)
}
