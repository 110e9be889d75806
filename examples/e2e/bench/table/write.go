package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
)

// write writes the run's circumstances, the table and how to read it.
func (r *results) write(out io.Writer) error {
	var text strings.Builder
	if line := r.circumstances(); line != "" {
		fmt.Fprintf(&text, "%s\n\n", line)
	}
	fmt.Fprintf(&text, "| work | ours | %s | ours ÷ upstream |\n| --- | --- | --- | --- |\n",
		strings.TrimSpace("upstream "+strings.TrimPrefix(r.settings["upstream"], "unknown")))
	for _, row := range r.works {
		units := row.units()
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n",
			row.work, row.cell(ours, units), row.cell(upstream, units), row.ratios(units))
	}
	for i, failure := range r.failures {
		fmt.Fprintf(&text, "\n[%d] %s\n", i+1, failure)
	}
	text.WriteString("\n" + legend + "\n")
	_, err := io.WriteString(out, text.String())
	return err
}

const legend = `Each operation in CPU time of all threads (wall-clock time where "wall" says so), allocations and ` +
	`bytes allocated; the ratios in the same order.`

func (r *results) circumstances() string {
	var parts []string
	add := func(format string, keys ...string) {
		values := make([]any, len(keys))
		for i, key := range keys {
			if values[i] = r.settings[key]; values[i] == "" {
				return
			}
		}
		parts = append(parts, fmt.Sprintf(format, values...))
	}
	add("%s/%s", "goos", "goarch")
	add("%s", "cpu")
	add("%s processors", "processors")
	add("load average %s before and %s after", loadBefore, "load-after")
	return strings.Join(parts, ", ")
}

// unit is one that a cell may show.
type unit struct {
	name string
	show func(float64) string
}

var (
	cpu    = unit{"cpu-ns/op", duration}
	wall   = unit{"ns/op", func(ns float64) string { return duration(ns) + " wall" }}
	allocs = unit{"allocs/op", func(n float64) string { return short(n) + " allocs" }}
	size   = unit{"B/op", bytes}
	// each is memory that stays, herd how many goroutines there were at once. They
	// make all other units of a row meaningless.
	each = unit{"B/pending", func(n float64) string { return bytes(n) + " each" }}
	herd = unit{"goroutines", func(n float64) string { return short(n) + " goroutines" }}
)

// units are those to show of a row, the same for both sides, so that they can
// be compared.
func (r *row) units() []unit {
	for _, u := range []unit{each, herd} {
		if r.has(u) {
			return []unit{u}
		}
	}
	var shown []unit
	for _, alternatives := range [][]unit{{cpu, wall}, {allocs}, {size}} {
		for _, u := range alternatives {
			if r.has(u) {
				shown = append(shown, u)
				break
			}
		}
	}
	return shown
}

// has reports whether every side that has results has the unit.
func (r *row) has(u unit) bool {
	for _, side := range r.sides {
		if _, ok := side.median(u.name); !ok && len(side) > 0 {
			return false
		}
	}
	return true
}

const nothing = "–"

func (r *row) cell(side string, units []unit) string {
	if r.failed[side] {
		return "failed"
	}
	var parts []string
	for _, u := range units {
		if value, ok := r.sides[side].median(u.name); ok {
			parts = append(parts, u.show(value))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), nothing)
}

func (r *row) ratios(units []unit) string {
	if len(r.failed) > 0 {
		return nothing
	}
	var parts []string
	for _, u := range units {
		mine, ok := r.sides[ours].median(u.name)
		theirs, both := r.sides[upstream].median(u.name)
		if !ok || !both {
			return nothing
		}
		parts = append(parts, ratio(mine, theirs))
	}
	return cmp.Or(strings.Join(parts, ", "), nothing)
}

// ratio shows mine ÷ theirs, as 1/n when it is small.
func ratio(mine, theirs float64) string {
	switch r := mine / theirs; {
	case mine == theirs:
		return "1"
	case theirs == 0:
		return "∞"
	case mine == 0:
		return "0"
	case r < 0.1:
		return fmt.Sprintf("1/%s", short(1/r))
	default:
		return short(r)
	}
}

func duration(ns float64) string { return scaled(ns, "s", "ms", "µs", "ns") }

func bytes(n float64) string { return scaled(n, "GB", "MB", "kB", "B") }

// scaled shows a number in the largest unit of which it has one, after rounding.
// Each unit is a thousand of the next.
func scaled(n float64, units ...string) string {
	scale := 1e9
	for _, unit := range units {
		if n >= 0.9995*scale || scale == 1 {
			return short(n/scale) + " " + unit
		}
		scale /= 1000
	}
	return ""
}

// short shows a number with three digits that count, or all before the point,
// with commas.
func short(n float64) string {
	decimals := 0
	switch {
	case n == math.Trunc(n):
	case n < 9.995:
		decimals = 2
	case n < 99.95:
		decimals = 1
	}
	text := fmt.Sprintf("%.*f", decimals, n)
	if decimals > 0 {
		return strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
