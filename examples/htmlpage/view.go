package htmlpage

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"
)

// view is what the template shows.
type view struct {
	Name, About, Intro, Description string
	Style                           template.CSS
	UPlot, Script                   template.JS
	UPlotSum, ScriptSum             string
	License                         string
	Program, Whole                  string
	Runs                            []runView
	Compared                        *tableView
	Data                            data
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
	Number    int
	Name      string
	Settings  []string
	Stopped   string // when it was interrupted, empty if it was not
	Duration  string
	Timeline  string
	Lines     []lineView
	MoreLines int
	Tables    []*tableView
	Findings  []findingsView
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
	Rows   []Row
	Left   string
}

type findingsView struct {
	Title string
	Lines []lineView
	More  int
	None  string
}

func newView(p *Page) *view {
	v := &view{
		Name: Clip(p.Name, longestCell), About: p.About, Intro: text(p.Intro), Description: text(p.Description),
		Style: template.CSS(uplotCSS + pageCSS), UPlot: template.JS(uplotJS), Script: template.JS(pageJS),
		UPlotSum: sum(uplotJS), ScriptSum: sum(pageJS), License: uplotLicense,
		Program: p.Program, Whole: p.Whole, Data: data{Plots: p.Plots, Left: p.PlotsLeft},
	}
	for i := range p.Runs {
		r := &p.Runs[i]
		v.Runs = append(v.Runs, newRunView(i, r, p.Whole))
		v.Data.Runs = append(v.Data.Runs, r.Name)
		v.Data.At = append(v.Data.At, r.At)
		v.Data.Duration = max(v.Data.Duration, seconds(r.Duration))
	}
	if p.Compared != nil {
		v.Compared = newTable(p.Compared, p.Whole)
	}
	return v
}

func newRunView(number int, r *Run, whole string) runView {
	v := runView{Number: number, Name: r.Name, Duration: Clock(r.Duration), Timeline: r.Timeline}
	if v.Timeline == "" {
		v.Timeline = "Timeline"
	}
	if r.Stopped > 0 {
		v.Stopped = Clock(r.Stopped)
	}
	settings, _ := first(r.Settings, mostSettings)
	v.Settings = clipped(settings, longestSetting)
	v.Lines, v.MoreLines = newLines(r.Lines, mostLines)
	for i := range r.Tables {
		v.Tables = append(v.Tables, newTable(&r.Tables[i], whole))
	}
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

func newTable(t *Table, whole string) *tableView {
	v := &tableView{Title: t.Title, Header: clipped(t.Header, longestCell)}
	rows, more := first(t.Rows, mostRows)
	for _, row := range rows {
		v.Rows = append(v.Rows, Row{Cells: clipped(row.Cells, longestCell), Wrong: row.Wrong})
	}
	var left []string
	if t.Left != "" {
		left = append(left, t.Left)
	}
	if more > 0 {
		left = append(left, fmt.Sprintf("%d rows not shown", more))
	}
	if len(left) > 0 {
		v.Left = strings.Join(left, ", ") + "; " + whole
	}
	return v
}

// seconds returns a time to the millisecond, as a number for the script.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }
