// Package page writes what a run came to as one HTML file: plots over time, the
// timeline and the tables.
//
//	runs := []page.Run{{Document: document}}
//	err := page.Write(file, &page.Page{Name: "zone-loss", Runs: runs})
//
// The file needs no network and no other file. It carries the chart library
// uPlot, and its Content-Security-Policy allows its own scripts alone, and no
// request. It follows the reader's light or dark theme, and prints in light.
//
// Two runs, as of a comparison, are plotted on the same axes. The plots and the
// timelines have one cursor, which the mouse, the arrow keys and the lines of a
// timeline move. What cannot be seen is read out.
//
// However large the cluster and long the run, the file has at most [MostBytes].
// Zones, lines and rows beyond the limits below are left out, and the page says
// how many. The JSON of package report has all.
package page

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/kubelife/lifecycle/examples/outage/report"
)

// MostBytes is how large a page is at most. One of a scenario that ships has a
// twentieth to an eighth of it.
const MostBytes = 2 << 20

// What a page shows at most of each run; lengths are in characters.
const (
	mostLines      = 300
	mostRows       = 300
	mostFindings   = 100
	longestLine    = 200
	longestCell    = 64
	longestText    = 4000
	mostSettings   = 50
	longestSetting = 200
)

// Page is what to write.
type Page struct {
	// Name and Description are those of the scenario, Intro what is played.
	Name, Description, Intro string
	// Runs are one or two.
	Runs []Run
	// Comparison is that of two complete runs. Without it each has its own table.
	Comparison *report.Comparison
}

// Run is one run of the scenario.
type Run struct {
	// Name tells two runs apart: as given, changed.
	Name     string
	Document *report.Document
}

// Write writes a page. The same page gives the same bytes.
func Write(out io.Writer, p *Page) error {
	if len(p.Runs) != 1 && len(p.Runs) != 2 {
		return fmt.Errorf("write page: it has %d runs, want 1 or 2", len(p.Runs))
	}
	parsed, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	if err := parsed.Execute(out, newView(p)); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// view is what the template shows.
type view struct {
	Name, Description, Intro string
	Style                    template.CSS
	UPlot, Script            template.JS
	UPlotSum, ScriptSum      string
	License                  string
	Runs                     []runView
	Compared                 *tableView
	Plots                    plots
}

type runView struct {
	Number       int
	Name         string
	Settings     []string
	Stopped      string // when it was interrupted, empty if it was not
	Duration     string
	Lines        []lineView
	MoreLines    int
	Table        *tableView // nil where the comparison stands for it
	Checked      bool
	Violations   []lineView
	MoreFindings int
	Expectations []report.Expectation
	Skipped      bool
}

type lineView struct {
	At      report.Seconds
	Clock   string
	Subject string
	Text    string
}

// tableView is a table. A row of one cell is a heading.
type tableView struct {
	Title  string
	Header []string
	Rows   [][]string
	Left   string
}

func newView(p *Page) *view {
	v := &view{
		Name: clip(p.Name, longestCell), Description: clip(strings.TrimSpace(p.Description), longestText),
		Intro: clip(p.Intro, longestText), License: uplotLicense,
		Style: template.CSS(uplotCSS + pageCSS), UPlot: template.JS(uplotJS), Script: template.JS(pageJS),
		UPlotSum: sum(uplotJS), ScriptSum: sum(pageJS), Plots: newPlots(p.Runs),
	}
	for i := range p.Runs {
		v.Runs = append(v.Runs, newRunView(i, &p.Runs[i], p.Comparison == nil))
	}
	if p.Comparison != nil {
		v.Compared = newTable("both runs", p.Comparison.Rows(), 0)
	}
	return v
}

// sum is how a Content-Security-Policy names a script.
func sum(script string) string {
	of := sha256.Sum256([]byte(script))
	return base64.StdEncoding.EncodeToString(of[:])
}

func newRunView(number int, r *Run, withTable bool) runView {
	d := r.Document
	v := runView{
		Number: number, Name: r.Name, Duration: d.Duration.Clock(), Checked: d.Checked, Skipped: d.ExpectationsSkipped,
	}
	for _, setting := range d.Settings[:min(len(d.Settings), mostSettings)] {
		v.Settings = append(v.Settings, clip(setting, longestSetting))
	}
	if d.Reached < d.Duration {
		v.Stopped = d.Reached.Clock()
	}
	for i := range d.Timeline[:min(len(d.Timeline), mostLines)] {
		line := &d.Timeline[i]
		v.Lines = append(v.Lines, lineView{
			line.At, line.At.Clock(), clip(line.Subject(), longestCell), clip(line.Text, longestLine),
		})
	}
	v.MoreLines = max(len(d.Timeline)-mostLines, 0)
	for _, found := range d.Violations[:min(len(d.Violations), mostFindings)] {
		v.Violations = append(v.Violations, lineView{
			found.At, found.At.Clock(), clip(found.Invariant, longestCell), clip(found.Text, longestLine),
		})
	}
	v.MoreFindings = max(len(d.Violations)-mostFindings, 0)
	v.Expectations = slices.Clone(d.Expectations[:min(len(d.Expectations), mostFindings)])
	for i := range v.Expectations {
		e := &v.Expectations[i]
		e.Path, e.Want, e.Got = clip(e.Path, longestLine), clip(e.Want, longestCell), clip(e.Got, longestCell)
	}
	if withTable {
		rows, left := d.Summary.Rows()
		v.Table = newTable(r.Name, rows, left)
	}
	return v
}

// newTable bounds a table, whose first row is its header.
func newTable(title string, rows [][]string, zones int) *tableView {
	t := &tableView{Title: title}
	var left []string
	if zones > 0 {
		left = append(left, fmt.Sprintf("%d zones not shown", zones))
	}
	if more := len(rows) - 1 - mostRows; more > 0 {
		left = append(left, fmt.Sprintf("%d rows not shown", more))
		rows = rows[:1+mostRows]
	}
	if len(left) > 0 {
		t.Left = strings.Join(left, ", ") + "; --json has all."
	}
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, cell := range row {
			cells[j] = clip(cell, longestCell)
		}
		if i == 0 {
			t.Header = cells
		} else {
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}

// clip shortens a text to so many characters.
func clip(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
