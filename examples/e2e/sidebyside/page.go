package sidebyside

import (
	"slices"
	"strings"

	"github.com/kubelife/lifecycle/examples/process/htmlpage"
)

// Page returns the tables as a page, or nil if no play has a record. Cells that
// are words become a run for each subject, with a sentence for each scenario.
func (r *Results[S]) Page() *htmlpage.Page {
	if !slices.ContainsFunc(r.Columns, func(c *Column[S]) bool { return len(c.Records) > 0 }) {
		return nil
	}
	p := &htmlpage.Page{
		Name: names(r.Subjects, func(s Subject) string { return s.Title }), About: r.of.Name,
		Description: strings.ReplaceAll(r.of.Legend(), "\n", " "),
		Program:     r.of.Name, Whole: "The table on standard output has all.",
	}
	var notes notes
	tables := r.tables(&notes)
	if r.of.Corner == "" {
		p.Runs = []htmlpage.Run{{Name: p.Name}}
		p.Tables = []htmlpage.Table{onPage(tables, notes)}
		return p
	}
	for i, subject := range tables[0].heads[1:] {
		run := htmlpage.Run{Name: subject}
		for _, cells := range tables[0].lines {
			run.Verdicts = append(run.Verdicts, htmlpage.Verdict{
				Text: cells[0] + ": " + plain(cells[i+1]), Wrong: isWrong(cells[i+1]),
			})
		}
		p.Runs = append(p.Runs, run)
	}
	return p
}

// onPage returns all tables as one of a page.
func onPage(tables []table, notes notes) htmlpage.Table {
	page := htmlpage.Table{
		Title: "Comparison", Header: append([]string{""}, tables[0].heads[1:]...), Left: strings.Join(notes, "; "),
	}
	for _, t := range tables {
		page.Rows = append(page.Rows, htmlpage.Row{Cells: t.heads[:1]})
		for _, cells := range t.lines {
			var row htmlpage.Row
			for k, cell := range cells {
				if isWrong(cell) {
					row.Wrong = append(row.Wrong, k)
				}
				row.Cells = append(row.Cells, plain(cell))
			}
			page.Rows = append(page.Rows, row)
		}
	}
	return page
}
