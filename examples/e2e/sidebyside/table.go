package sidebyside

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Write writes a table in Markdown for each scenario, how to read them, what is
// missing, what records tell, and where the states of subjects differ.
func (r *Results) Write(out io.Writer) error {
	var text strings.Builder
	for _, columns := range r.groups() {
		for i, cells := range r.lines(columns) {
			text.WriteString(strings.ReplaceAll("| "+strings.Join(cells, " | ")+" |\n", "|  |", "| |"))
			if i == 0 {
				text.WriteString("|" + strings.Repeat(" --- |", len(cells)) + "\n")
			}
		}
		text.WriteString("\n")
	}
	text.WriteString(r.of.Legend() + "\n")
	for _, c := range r.Columns {
		for _, record := range c.Records {
			for _, line := range record.Told {
				fmt.Fprintf(&text, "- %s: %s\n", c.Name(), line)
			}
		}
		if c.Err != nil {
			reason, _, _ := strings.Cut(c.Err.Error(), "\n") // which the log of a process may follow
			fmt.Fprintf(&text, "- %s is not complete: %s\n", c.Name(), reason)
		}
	}
	differences, _ := r.differences()
	for _, line := range differences {
		fmt.Fprintf(&text, "- %s\n", line)
	}
	_, err := io.WriteString(out, strings.TrimRight(text.String(), "\n")+"\n")
	return err
}

// lines returns the table of a scenario. What is wrong in it is bold.
func (r *Results) lines(columns []*Column) (lines [][]string) {
	ours, other := r.sides(columns)
	add := func(title, ratio string, cell func(*Column) string) {
		cells := []string{title}
		for _, c := range columns {
			cells = append(cells, cell(c))
		}
		if other != nil {
			cells = append(cells, ratio)
		}
		lines = append(lines, cells)
	}
	title, ratios := "", ""
	if of := columns[0].Scenario.Title; of != nil {
		title = of()
	}
	if other != nil {
		ratios = "ours to " + other.Subject.Name + "'s"
	}
	add(title, ratios, func(c *Column) string { return c.Subject.Title })
	add("repetitions", "", func(c *Column) string { return fmt.Sprint(len(c.Records)) })
	if slices.ContainsFunc(columns, func(c *Column) bool { return c.disturbed > 0 }) {
		add("played again, because the machine had spoilt it", "",
			func(c *Column) string { return fmt.Sprint(c.disturbed) })
	}
	for _, row := range rowsOf(columns) {
		add(row.title, ratioCell(row, ours, other), func(c *Column) string {
			s, wrong := c.spread(row.title)
			return s.text(row.format, wrong)
		})
	}
	add("load average before", "", func(c *Column) string { return strings.Join(c.loads, ", ") })
	return lines
}

// rowsOf returns one row of each title that any record has. A title that only
// some have follows the one that it follows there.
func rowsOf(columns []*Column) (rows []*Row) {
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

// spread returns what the row of a title has come to, and whether it is wrong in
// any repetition.
func (c *Column) spread(title string) (s spread, wrong bool) {
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

// sides returns the column of ours and the one that it is put to, or nil twice
// if there are no ratios or not both.
func (r *Results) sides(columns []*Column) (ours, other *Column) {
	for _, c := range columns {
		if c.Subject.Name == Ours {
			ours = c
		} else {
			other = c
		}
	}
	if !r.of.Ratios || ours == nil || other == nil {
		return nil, nil
	}
	return ours, other
}

// ratio returns the median of a row of ours to that of another column, and false
// if there is none. To nothing it is infinite where ours may not have more.
func ratio(row *Row, ours, other *Column) (float64, bool) {
	if other == nil {
		return 0, false
	}
	mine, _ := ours.spread(row.title)
	theirs, _ := other.spread(row.title)
	toNothing := theirs.median == 0 && (mine.median == 0 || row.mostTimes == 0)
	return mine.median / theirs.median, !row.noRatio && mine.n > 0 && theirs.n > 0 && !toNothing
}

// isTooMuch reports whether ours is at fault by its ratio to the other.
func (w *Row) isTooMuch(ratio float64) bool { return w.mostTimes > 0 && ratio > w.mostTimes }

func ratioCell(row *Row, ours, other *Column) string {
	value, known := ratio(row, ours, other)
	switch text := fmt.Sprintf("%.2f", value); {
	case !known:
		return "–"
	case row.isTooMuch(value):
		return bold(text)
	default:
		return text
	}
}
