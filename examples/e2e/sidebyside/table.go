package sidebyside

import (
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

// tables returns the columns of each table.
func (r *Results[S, R]) tables() [][]*Column[S, R] {
	var tables [][]*Column[S, R]
	at := map[string]int{}
	for _, c := range r.Columns {
		key := c.heading.Table
		if key == "" {
			key = c.heading.Name
		}
		i, known := at[key]
		if !known {
			i = len(tables)
			at[key], tables = i, append(tables, nil)
		}
		tables[i] = append(tables[i], c)
	}
	return tables
}

// heads returns the heads of a table.
func (r *Results[S, R]) heads(columns []*Column[S, R]) []string {
	cells := []string{columns[0].heading.Title}
	if columns[0].heading.Table != "" {
		cells[0] = columns[0].heading.Table
	}
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

// A row is one of a table. What is wrong in it is bold.
type row struct {
	cells []string
	// short says that the short table has it too.
	short bool
}

// rows returns the rows of the table of some columns, without its head.
func (r *Results[S, R]) rows(columns []*Column[S, R], notes *Notes) []row {
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
func (c *Column[S, R]) mark(notes *Notes) string {
	if c.Err == nil {
		return ""
	}
	return " " + notes.Add(c.Err)
}

// cell writes a figure of the column, and why it is not that of a complete
// play.
func (c *Column[S, R]) cell(f Figure[R], notes *Notes) string {
	s := f.spread(c.Shown())
	if s.N == 0 {
		return "–" + c.mark(notes)
	}
	if len(c.Records) == 0 {
		return f.text(s, c.mark(notes))
	}
	return f.text(s, "")
}

// words writes the records of the column in a few words each.
func (c *Column[S, R]) words(show func(*R) string, notes *Notes) string {
	var all []string
	for _, record := range c.Records {
		all = append(all, show(record))
	}
	switch {
	case c.Err == nil:
	case errors.Is(c.Err, errNotPlayed) || errors.Is(c.Err, errInterrupted):
		all = append(all, c.Err.Error())
	default:
		all = append(all, "not judged "+notes.Add(c.Err))
	}
	return strings.Join(all, " · ")
}

// Write writes the tables in Markdown, how to read them, the reasons of what is
// missing, and what the measurement tells besides.
func (r *Results[S, R]) Write(out io.Writer) error {
	var text strings.Builder
	var notes Notes
	line := func(cells []string) {
		text.WriteString(strings.ReplaceAll("| "+strings.Join(cells, " | ")+" |\n", "|  |", "| |"))
	}
	if r.of.Show != nil {
		heads := []string{r.of.Corner}
		for _, s := range r.Subjects {
			heads = append(heads, s.Title)
		}
		line(heads)
		text.WriteString("|" + strings.Repeat(" --- |", len(heads)) + "\n")
		for _, columns := range r.tables() {
			line(textRow(columns[0].heading.Title, columns, func(c *Column[S, R]) string {
				return c.words(r.of.Show, &notes)
			}).cells)
		}
		text.WriteString("\n")
	} else {
		for _, columns := range r.tables() {
			heads := r.heads(columns)
			line(heads)
			text.WriteString("|" + strings.Repeat(" --- |", len(heads)) + "\n")
			for _, one := range r.rows(columns, &notes) {
				line(one.cells)
			}
			text.WriteString("\n")
		}
	}
	text.WriteString(r.of.Legend() + notes.String())
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

// Page returns the same as a page, or nil if no play has a record.
func (r *Results[S, R]) Page() *htmlpage.Page {
	if !slices.ContainsFunc(r.Columns, func(c *Column[S, R]) bool { return len(c.Shown()) > 0 }) {
		return nil
	}
	p := &htmlpage.Page{
		Name: names(r.Subjects, func(s Subject) string { return s.Title }), About: r.of.Name,
		Description: strings.ReplaceAll(r.of.Legend(), "\n", " "),
		Program:     r.of.Name, Whole: "The table on standard output has all.",
	}
	if r.of.Chart != nil {
		p.Runs, p.Plots = r.of.Chart(r.Columns)
	}
	if r.of.Show != nil {
		p.Runs = r.verdicts()
	} else {
		p.Summary = []htmlpage.Table{r.page("Comparison in short", true)}
		p.Tables = []htmlpage.Table{r.page("Comparison", false)}
	}
	if len(p.Runs) == 0 {
		p.Runs = []htmlpage.Run{{Name: p.Name}}
	}
	return p
}

// verdicts returns a run for each subject, with a sentence for each scenario.
func (r *Results[S, R]) verdicts() []htmlpage.Run {
	var runs []htmlpage.Run
	for _, s := range r.Subjects {
		run := htmlpage.Run{Name: s.Title}
		var notes Notes
		for _, c := range r.Columns {
			if c.Subject.Name == s.Name {
				words := c.words(r.of.Show, &notes)
				run.Verdicts = append(run.Verdicts, htmlpage.Verdict{
					Text: c.heading.Title + ": " + plain(words), Wrong: strings.Contains(words, "**"),
				})
			}
		}
		runs = append(runs, run)
	}
	return runs
}

// page returns all tables as one, or of each the main rows.
func (r *Results[S, R]) page(title string, short bool) htmlpage.Table {
	t := htmlpage.Table{Title: title}
	var notes Notes
	for i, columns := range r.tables() {
		heads := r.heads(columns)
		if i == 0 {
			t.Header = append([]string{""}, heads[1:]...)
		}
		t.Rows = append(t.Rows, htmlpage.Row{Cells: heads[:1]})
		for _, one := range r.rows(columns, &notes) {
			if short && !one.short {
				continue
			}
			var line htmlpage.Row
			for k, cell := range one.cells {
				if strings.Contains(cell, "**") {
					line.Wrong = append(line.Wrong, k)
				}
				line.Cells = append(line.Cells, plain(cell))
			}
			t.Rows = append(t.Rows, line)
		}
	}
	t.Left = strings.Join(notes, "; ")
	return t
}

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

// Notes are the reasons below a table for cells without values, each once.
type Notes []string

// Add returns the mark of a reason. Of an error that the log of a process
// follows it keeps the first line.
func (n *Notes) Add(err error) string {
	reason, _, _ := strings.Cut(err.Error(), "\n")
	at := slices.Index(*n, reason)
	if at < 0 {
		at = len(*n)
		*n = append(*n, reason)
	}
	return fmt.Sprintf("[%d]", at+1)
}

// String returns a paragraph for each reason, after an empty line.
func (n Notes) String() string {
	var text strings.Builder
	for i, reason := range n {
		fmt.Fprintf(&text, "\n[%d] %s\n", i+1, reason)
	}
	return text.String()
}
