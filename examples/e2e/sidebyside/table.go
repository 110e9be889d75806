package sidebyside

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kubelife/lifecycle/examples/process/htmlpage"
)

var (
	// ErrOursFailed means that ours has a fault, or could not be judged.
	ErrOursFailed = errors.New("ours has failed")
	// ErrIncomplete means that a cell of the table has no value.
	ErrIncomplete = errors.New("the table is incomplete")
)

// A table is one in Markdown. What is wrong in it is bold.
type table struct {
	heads []string
	rows  []row
}

type row struct {
	cells []string
	// short says that the short table has it too.
	short bool
}

// tables returns the tables, and adds the reasons of what is missing to notes.
func (r *Results[S, R]) tables(notes *notes) []table {
	groups := r.groups()
	if r.of.Show == nil {
		var tables []table
		for _, columns := range groups {
			tables = append(tables, table{r.heads(columns), r.rows(columns, notes)})
		}
		return tables
	}
	t := table{heads: []string{r.of.Corner}}
	for _, s := range r.Subjects {
		t.heads = append(t.heads, s.Title)
	}
	for _, columns := range groups {
		t.rows = append(t.rows, textRow(columns[0].heading.Title, columns, func(c *Column[S, R]) string {
			return c.words(r.of.Show, notes)
		}))
	}
	return []table{t}
}

// groups returns the columns of each table. Those of a table follow each other.
func (r *Results[S, R]) groups() [][]*Column[S, R] {
	var groups [][]*Column[S, R]
	key := func(c *Column[S, R]) string { return cmp.Or(c.heading.Table, c.heading.Name) }
	for i, c := range r.Columns {
		if i == 0 || key(c) != key(r.Columns[i-1]) {
			groups = append(groups, nil)
		}
		last := &groups[len(groups)-1]
		*last = append(*last, c)
	}
	return groups
}

// heads returns the heads of a table of figures.
func (r *Results[S, R]) heads(columns []*Column[S, R]) []string {
	cells := []string{cmp.Or(columns[0].heading.Table, columns[0].heading.Title)}
	for _, c := range columns {
		if c.heading.Table == "" {
			cells = append(cells, c.Subject.Title)
		} else {
			cells = append(cells, c.Subject.Title+", "+c.heading.Name)
		}
	}
	if r.hasRatio(columns) {
		cells = append(cells, "ours to "+r.of.Ratio+"'s")
	}
	return cells
}

// rows returns the rows of a table of figures.
func (r *Results[S, R]) rows(columns []*Column[S, R], notes *notes) []row {
	rows := []row{textRow("repetitions", columns, func(c *Column[S, R]) string {
		return strings.TrimSpace(fmt.Sprint(len(c.Records)) + c.mark(notes))
	})}
	if r.of.Disturbed != nil {
		rows = append(rows, textRow("played again, because living nodes were silent", columns,
			func(c *Column[S, R]) string { return fmt.Sprint(c.disturbed) }))
	}
	for _, f := range r.of.Figures(columns) {
		line := textRow(f.Title, columns, func(c *Column[S, R]) string { return c.cell(f, notes) })
		line.short = f.Main || f.Fault
		if r.hasRatio(columns) {
			text := "–"
			if ratio, known := Ratio(f, ColumnOf(columns, Ours), ColumnOf(columns, r.of.Ratio)); known {
				text = fmt.Sprintf("%.2f", ratio)
			}
			line.cells = append(line.cells, text)
		}
		rows = append(rows, line)
	}
	rows = append(rows, textRow("load average before", columns, func(c *Column[S, R]) string {
		return strings.Join(c.loads, ", ")
	}))
	for i := range rows {
		for len(rows[i].cells) < len(r.heads(columns)) {
			rows[i].cells = append(rows[i].cells, "")
		}
	}
	return rows
}

func textRow[S Scenario, R any](title string, columns []*Column[S, R], cell func(*Column[S, R]) string) row {
	line := row{cells: []string{title}}
	for _, c := range columns {
		line.cells = append(line.cells, cell(c))
	}
	return line
}

// hasRatio reports whether a table has both sides of the ratio.
func (r *Results[S, R]) hasRatio(columns []*Column[S, R]) bool {
	return ColumnOf(columns, Ours) != nil && ColumnOf(columns, r.of.Ratio) != nil
}

// mark returns the mark of the reason why the column has no more records.
func (c *Column[S, R]) mark(notes *notes) string {
	if c.Err == nil {
		return ""
	}
	return " " + notes.add(c.Err)
}

// cell writes a figure of the column, and why it is not that of a complete
// play.
func (c *Column[S, R]) cell(f Figure[R], notes *notes) string {
	s := f.spread(c.Shown())
	if s.n == 0 {
		return "–" + c.mark(notes)
	}
	if len(c.Records) == 0 {
		return f.text(s, c.mark(notes))
	}
	return f.text(s, "")
}

// words writes the records of the column in a few words each.
func (c *Column[S, R]) words(show func(*R) string, notes *notes) string {
	var all []string
	for _, record := range c.Records {
		all = append(all, show(record))
	}
	switch {
	case c.Err == nil:
	case errors.Is(c.Err, errNotPlayed) || errors.Is(c.Err, errInterrupted):
		all = append(all, c.Err.Error())
	default:
		all = append(all, "not judged "+notes.add(c.Err))
	}
	return strings.Join(all, " · ")
}

// Write writes the tables in Markdown, how to read them, the reasons of what is
// missing, and what the measurement tells besides.
func (r *Results[S, R]) Write(out io.Writer) error {
	var text strings.Builder
	var notes notes
	line := func(cells []string) {
		text.WriteString(strings.ReplaceAll("| "+strings.Join(cells, " | ")+" |\n", "|  |", "| |"))
	}
	for _, t := range r.tables(&notes) {
		line(t.heads)
		text.WriteString("|" + strings.Repeat(" --- |", len(t.heads)) + "\n")
		for _, one := range t.rows {
			line(one.cells)
		}
		text.WriteString("\n")
	}
	text.WriteString(r.of.Legend())
	for i, reason := range notes {
		fmt.Fprintf(&text, "\n[%d] %s\n", i+1, reason)
	}
	if r.of.Tell != nil {
		for i, told := range r.of.Tell(r.Columns) {
			if i == 0 {
				text.WriteString("\n")
			}
			fmt.Fprintf(&text, "- %s\n", told)
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// Page returns the same as a page, or nil if no play has a record. Cells that
// are words become a run for each subject, with a sentence for each scenario.
func (r *Results[S, R]) Page() *htmlpage.Page {
	if !slices.ContainsFunc(r.Columns, func(c *Column[S, R]) bool { return len(c.Shown()) > 0 }) {
		return nil
	}
	p := &htmlpage.Page{
		Name: names(r.Subjects, func(s Subject) string { return s.Title }), About: r.of.Name,
		Description: strings.ReplaceAll(r.of.Legend(), "\n", " "),
		Program:     r.of.Name, Whole: "The table on standard output has all.",
	}
	var notes notes
	tables := r.tables(&notes)
	switch {
	case r.of.Show != nil:
		for i, subject := range tables[0].heads[1:] {
			run := htmlpage.Run{Name: subject}
			for _, one := range tables[0].rows {
				run.Verdicts = append(run.Verdicts, htmlpage.Verdict{
					Text: one.cells[0] + ": " + plain(one.cells[i+1]), Wrong: isWrong(one.cells[i+1]),
				})
			}
			p.Runs = append(p.Runs, run)
		}
	default:
		p.Summary = []htmlpage.Table{onPage("Comparison in short", tables, notes, true)}
		p.Tables = []htmlpage.Table{onPage("Comparison", tables, notes, false)}
		if r.of.Chart != nil {
			p.Runs, p.Plots = r.of.Chart(r.Columns)
		}
	}
	if len(p.Runs) == 0 {
		p.Runs = []htmlpage.Run{{Name: p.Name}}
	}
	return p
}

// onPage returns all tables as one of a page, or of each the short rows.
func onPage(title string, tables []table, notes notes, short bool) htmlpage.Table {
	page := htmlpage.Table{
		Title: title, Header: append([]string{""}, tables[0].heads[1:]...), Left: strings.Join(notes, "; "),
	}
	for _, t := range tables {
		page.Rows = append(page.Rows, htmlpage.Row{Cells: t.heads[:1]})
		for _, one := range t.rows {
			if short && !one.short {
				continue
			}
			var line htmlpage.Row
			for k, cell := range one.cells {
				if isWrong(cell) {
					line.Wrong = append(line.Wrong, k)
				}
				line.Cells = append(line.Cells, plain(cell))
			}
			page.Rows = append(page.Rows, line)
		}
	}
	return page
}

// isWrong reports whether a part of a cell is bold.
func isWrong(cell string) bool { return strings.Contains(cell, "**") }

// plain returns a text without what makes parts of it bold.
func plain(text string) string { return strings.ReplaceAll(text, "**", "") }

// Err returns what the exit code is to say: ErrOursFailed, ErrIncomplete, both,
// or nil. Faults of other subjects are none. What ours has not played, and what
// the machine has spoilt, is no fault of it either.
func (r *Results[S, R]) Err() error {
	var problems []error
	for _, c := range r.Columns {
		if c.isOurs() {
			problems = append(problems, r.faults(c))
		}
		if c.Err != nil {
			problems = append(problems, fmt.Errorf("%w: %s: %w", ErrIncomplete, c.Name(), c.Err))
		}
	}
	if r.of.Judge != nil {
		problems = append(problems, r.of.Judge(r.Columns))
	}
	return errors.Join(problems...)
}

// faults returns what ours has done wrong in a column.
func (r *Results[S, R]) faults(c *Column[S, R]) error {
	var problems []error
	for i, record := range c.Records {
		if err := r.of.Faults(record, true); err != nil {
			problems = append(problems, fmt.Errorf("%w: %s, repetition %d: %w", ErrOursFailed, c.heading.Name, i+1, err))
		}
	}
	if c.Partial != nil {
		if err := r.of.Faults(c.Partial, false); err != nil {
			problems = append(problems,
				fmt.Errorf("%w: %s, in the play that is not complete: %w", ErrOursFailed, c.heading.Name, err))
		}
	}
	excused := errors.Is(c.Err, errNotPlayed) || errors.Is(c.Err, errInterrupted) ||
		r.of.Disturbed != nil && errors.Is(c.Err, r.of.Disturbed)
	if c.Err != nil && !excused {
		problems = append(problems, fmt.Errorf("%w: %s could not be judged", ErrOursFailed, c.heading.Name))
	}
	return errors.Join(problems...)
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
