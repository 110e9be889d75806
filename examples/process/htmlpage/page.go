// Package htmlpage writes what happened over time as one HTML file: plots, a
// timeline and tables.
//
//	runs := []htmlpage.Run{run}
//	err := htmlpage.Write(out, &htmlpage.Page{Name: "zone-loss", Runs: runs})
//
// The file needs no network and no other file. It carries the chart library
// uPlot, and its Content-Security-Policy allows its own scripts alone, and no
// request. It follows the reader's light or dark theme, and prints in light.
//
// Two runs, as of a comparison, are plotted on the same axes. The plots and the
// timelines have one cursor, which the mouse, the arrow keys and the lines of a
// timeline move. What cannot be seen is read out.
//
// Texts are clipped. Lines, rows, notes and settings beyond the limits below
// are left out, and the page says how many. How much plots hold is for the
// caller to bound.
package htmlpage

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
)

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
	mostNotes      = 100
	longestNote    = 400
)

// Page is what to write.
type Page struct {
	// About ends the title in the browser, after Name.
	Name, About string
	// Intro and Description stand below the name. Description is paragraphs, which
	// blank lines separate.
	Intro, Description string
	// Notes say what to know of the page, for example what it leaves out. They are
	// a list below the settings of the runs.
	Notes []string
	// Warning says what is wrong with the page as a whole, empty if nothing is.
	Warning string
	// Runs are one or two.
	Runs []Run
	// Summary stands before the plots, and Tables after them, before those of the
	// runs.
	Summary, Tables []Table
	Plots           []Plot
	// PlotsLeft says what has no plots, for example "3 more zones". Empty if all
	// have.
	PlotsLeft string
	// Program is what the page was written by, and Whole where everything is that
	// was left out, for example "--json has all."
	Program, Whole string
}

// Run is what happened once, or on one of two sides.
type Run struct {
	// Name tells two runs apart.
	Name     string
	Settings []string
	// Duration is how long it lasts, and Stopped when it was interrupted, zero if
	// it was not.
	Duration, Stopped time.Duration
	// Verdicts stand above everything else.
	Verdicts []Verdict
	// At are the times of the points of all plots, in seconds from the start.
	At []float64
	// Timeline is its title, "Timeline" if empty.
	Timeline string
	Lines    []Line
	Tables   []Table
	Findings []Findings
}

// Verdict says in a sentence how a run went.
type Verdict struct {
	Text string
	// Wrong makes it stand out.
	Wrong bool
}

// Line is one line of a timeline.
type Line struct {
	// At is from the start.
	At            time.Duration
	Subject, Text string
}

// Table is a table.
type Table struct {
	Title  string
	Header []string
	Rows   []Row
	// Left says what was left out of it already, for example "3 zones not shown".
	Left string
}

// Row is a row of a table. One cell alone is a heading.
type Row struct {
	Cells []string
	// Wrong are the numbers of the cells that stand out, from 0.
	Wrong []int
}

// Findings are what must not have happened.
type Findings struct {
	Title string
	Lines []Line
	// None is what to say if there are no lines.
	None string
}

// Plot is one pair of axes.
type Plot struct {
	Title string  `json:"title"`
	Lines []Curve `json:"lines"`
}

// Curve is one number over time.
type Curve struct {
	Name  string `json:"name"`
	Color Color  `json:"color"`
	// State says that values are as at the point. Others are of the time before.
	State bool `json:"state"`
	// Values are those of each run, one for each of Run.At. They are slices of
	// numbers. Empty where a run has none.
	Values []any `json:"values"`
}

// Color is one of the colors of page.css, in the theme of the reader.
type Color string

// The colors.
const (
	ColorReady    Color = "ready"
	ColorSilent   Color = "silent"
	ColorNotReady Color = "notready"
	ColorTainted  Color = "tainted"
	ColorWaiting  Color = "waiting"
	ColorBlocked  Color = "blocked"
	ColorEvicted  Color = "evicted"
	ColorRate     Color = "rate"
	ColorLimit    Color = "limit"
)

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

// Clock returns a time as a clock shows it that was started at zero:
// hours:minutes:seconds.
func Clock(d time.Duration) string {
	whole := int(d / time.Second)
	return fmt.Sprintf("%d:%02d:%02d", whole/3600, whole/60%60, whole%60)
}

// sum is how a Content-Security-Policy names a script.
func sum(script string) string {
	of := sha256.Sum256([]byte(script))
	return base64.StdEncoding.EncodeToString(of[:])
}

// Clip shortens a text to so many characters.
func Clip(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// first returns the first elements of a list, and how many more there are.
func first[T any](list []T, most int) (shown []T, more int) {
	return list[:min(len(list), most)], max(len(list)-most, 0)
}

// firstClipped returns the first texts, each clipped, and how many more there
// are.
func firstClipped(texts []string, most, longest int) (shown []string, more int) {
	shown, more = first(texts, most)
	return clipped(shown, longest), more
}

func clipped(texts []string, most int) []string {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = Clip(text, most)
	}
	return list
}

func text(of string) string { return Clip(strings.TrimSpace(of), longestText) }
