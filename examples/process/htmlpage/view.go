package htmlpage

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"
)

// view is what the template shows.
type view struct {
	Name, About, Intro, Warning string
	Description                 []string // paragraphs
	Notes                       []string
	MoreNotes                   int
	Style                       template.CSS
	UPlot, Script               template.JS
	UPlotSum, ScriptSum         string
	License                     string
	Program, Whole              string
	Runs                        []runView
	Summary, Tables             []*tableView
	Data                        data
}

// data is what the script draws: for each plot its lines, for each run their
// values.
type data struct {
	// Runs are the names of the runs, and At the times of their points.
	Runs []string    `json:"runs"`
	At   [][]float64 `json:"at"`
	// Duration is that of the longest run, in seconds.
	Duration float64 `json:"duration"`
	Plots    []Plot  `json:"plots"`
	// Left says what has no plots.
	Left string `json:"left"`
}

type runView struct {
	Number       int
	Name         string
	Settings     []string
	MoreSettings int
	Stopped      string // when it was interrupted, empty if it was not
	Duration     string
	Verdicts     []Verdict
	Timeline     string
	Lines        []lineView
	MoreLines    string // empty if there are none
	Tables       []*tableView
	Findings     []findingsView
}

type lineView struct {
	At      float64
	Clock   string
	Subject string
	Text    string
}

type tableView struct {
	Title  string
	Header []string
	Rows   [][]cellView
	Left   string
}

type cellView struct {
	Text  string
	Wrong bool
}

type findingsView struct {
	Title string
	Lines []lineView
	More  int
	None  string
}

func newView(p *Page) *view {
	v := &view{
		Name: Clip(p.Name, longestCell), About: p.About, Intro: text(p.Intro), Warning: text(p.Warning),
		Description: paragraphs(text(p.Description)),
		Summary:     newTables(p.Summary, p.Whole), Tables: newTables(p.Tables, p.Whole),
		Style: template.CSS(uplotCSS + pageCSS), UPlot: template.JS(uplotJS), Script: template.JS(pageJS),
		UPlotSum: sum(uplotJS), ScriptSum: sum(pageJS), License: uplotLicense,
		Program: p.Program, Whole: p.Whole, Data: data{Plots: p.Plots, Left: p.PlotsLeft},
	}
	v.Notes, v.MoreNotes = firstClipped(p.Notes, mostNotes, longestNote)
	for i := range p.Runs {
		r := &p.Runs[i]
		v.Runs = append(v.Runs, newRunView(i, r, p.Whole))
		v.Data.Runs = append(v.Data.Runs, r.Name)
		v.Data.At = append(v.Data.At, r.At)
		v.Data.Duration = max(v.Data.Duration, seconds(r.Duration))
	}
	return v
}

// paragraphs returns the paragraphs of a text, each without the line breaks of
// the file that it comes from.
func paragraphs(text string) []string {
	var all []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if line := strings.Join(strings.Fields(paragraph), " "); line != "" {
			all = append(all, line)
		}
	}
	return all
}

func newRunView(number int, r *Run, whole string) runView {
	v := runView{Number: number, Name: r.Name, Duration: Clock(r.Duration), Verdicts: r.Verdicts, Timeline: r.Timeline}
	if v.Timeline == "" {
		v.Timeline = "Timeline"
	}
	if r.Stopped > 0 {
		v.Stopped = Clock(r.Stopped)
	}
	v.Settings, v.MoreSettings = firstClipped(r.Settings, mostSettings, longestSetting)
	lines, more := newLines(r.Lines, mostLines)
	v.Lines = lines
	if more > 0 {
		v.MoreLines = some(more, "more line")
	}
	v.Tables = newTables(r.Tables, whole)
	for i := range r.Findings {
		f := &r.Findings[i]
		lines, more := newLines(f.Lines, mostFindings)
		v.Findings = append(v.Findings, findingsView{f.Title, lines, more, f.None})
	}
	return v
}

func newLines(lines []Line, most int) (views []lineView, more int) {
	shown, more := first(lines, most)
	for i := range shown {
		l := &shown[i]
		views = append(views, lineView{
			seconds(l.At), Clock(l.At), Clip(l.Subject, longestCell), Clip(l.Text, longestLine),
		})
	}
	return views, more
}

func newTables(tables []Table, whole string) []*tableView {
	var views []*tableView
	for i := range tables {
		views = append(views, newTable(&tables[i], whole))
	}
	return views
}

func newTable(t *Table, whole string) *tableView {
	v := &tableView{Title: t.Title, Header: clipped(t.Header, longestCell)}
	rows, more := first(t.Rows, mostRows)
	for _, row := range rows {
		var cells []cellView
		for i, cell := range row.Cells {
			cells = append(cells, cellView{Clip(cell, longestCell), slices.Contains(row.Wrong, i)})
		}
		v.Rows = append(v.Rows, cells)
	}
	var left []string
	if t.Left != "" {
		left = append(left, t.Left)
	}
	if more > 0 {
		left = append(left, some(more, "row")+" not shown")
	}
	if len(left) > 0 {
		v.Left = strings.Join(left, ", ") + "; " + whole
	}
	return v
}

func some(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// seconds returns a time to the millisecond, as a number for the script.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }
