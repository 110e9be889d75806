package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	errNoResults  = errors.New("no benchmark results in the input")
	errIncomplete = errors.New("the table is incomplete")
)

// results is what the output of a run of benchmarks says.
type results struct {
	// settings are its "key: value" lines, and the number of processors.
	settings map[string]string
	// works are the rows, in the order in which they were run.
	works []*row
	// failures are lines about failed tests, and why a line is no result.
	failures []string
}

// row is one piece of work at one size, by side. A side that does not have it is
// empty.
type row struct {
	work   string
	sides  map[string]samples
	failed map[string]bool
}

// The sides.
const ours, upstream = "ours", "upstream"

// samples are the values of each unit.
type samples map[string][]float64

// median returns the middle value of a unit, and false if there is none.
func (s samples) median(unit string) (float64, bool) {
	values := slices.Sorted(slices.Values(s[unit]))
	switch n := len(values); {
	case n == 0:
		return 0, false
	case n%2 == 1:
		return values[n/2], true
	default:
		return (values[n/2-1] + values[n/2]) / 2, true
	}
}

// parse reads results in the format of Go's benchmarks, until the end of the
// input. What it does not know it skips: a program under test may log between
// them.
func parse(in io.Reader) *results {
	r := &results{settings: map[string]string{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		r.line(lines.Text())
	}
	if err := lines.Err(); err != nil {
		r.fail(fmt.Sprintf("read: %v", err))
	}
	return r
}

func (r *results) line(line string) {
	name, failed := strings.CutPrefix(line, "--- FAIL: ")
	switch {
	case failed:
		r.fail(line)
		name, _, _ = strings.Cut(name, " ")
		// A benchmark with parts has no side, and a test has none either.
		if work, side, err := r.split(name); err == nil {
			r.row(work).failed[side] = true
		}
	case strings.HasPrefix(line, "FAIL\t"), strings.HasPrefix(line, "panic:"):
		r.fail(line)
	case strings.HasPrefix(line, "Benchmark"):
		if err := r.result(line); err != nil {
			r.fail(err.Error())
		}
	default:
		r.setting(line)
	}
}

func (r *results) fail(failure string) { r.failures = append(r.failures, failure) }

// err returns why there is no table, or no complete one.
func (r *results) err() error {
	var none, incomplete error
	if len(r.works) == 0 {
		none = errNoResults
	}
	if len(r.failures) > 0 {
		incomplete = fmt.Errorf("%w: %s", errIncomplete, r.failures[0])
	}
	return errors.Join(none, incomplete)
}

var settingLine = regexp.MustCompile(`^([a-z][a-z-]*): (.+)$`)

func (r *results) setting(line string) {
	match := settingLine.FindStringSubmatch(line)
	if match == nil {
		return
	}
	key, value := match[1], match[2]
	if _, known := r.settings[key]; known && key == loadBefore {
		return // of several runs in one input, the load before the first
	}
	r.settings[key] = value
}

// result takes a line such as
//
//	BenchmarkQueue/remove/ours/waiting=10-2  30000  510 ns/op  0 B/op
//
// A line with a name only is that of a benchmark that has begun. One without a
// number of runs is not a result either.
func (r *results) result(line string) error {
	words := strings.Fields(line)
	if len(words) < 4 {
		return nil
	}
	if _, err := strconv.ParseUint(words[1], 10, 64); err != nil {
		return nil //nolint:nilerr // it is another line that begins with this word
	}
	values := map[string]float64{}
	for rest := words[2:]; len(rest) > 0; rest = rest[2:] {
		if len(rest) < 2 {
			return fmt.Errorf("value without a unit: %s", line)
		}
		value, err := strconv.ParseFloat(rest[0], 64)
		if err != nil {
			return fmt.Errorf("not a number: %q: %s", rest[0], line)
		}
		values[rest[1]] = value
	}
	work, side, err := r.split(words[0])
	if err != nil {
		return err
	}
	samples := r.row(work).sides[side]
	for unit, value := range values {
		samples[unit] = append(samples[unit], value)
	}
	return nil
}

var processors = regexp.MustCompile(`-(\d+)$`)

// split takes the name of a benchmark apart into the work and its side.
func (r *results) split(name string) (work, side string, err error) {
	name = strings.TrimPrefix(name, "Benchmark")
	if match := processors.FindStringSubmatch(name); match != nil {
		r.settings["processors"] = match[1]
		name = strings.TrimSuffix(name, match[0])
	}
	parts := strings.Split(name, "/")
	at := slices.IndexFunc(parts, func(part string) bool { return part == ours || part == upstream })
	if at < 1 {
		return "", "", fmt.Errorf("the name of a benchmark says neither %q nor %q: %s", ours, upstream, name)
	}
	side = parts[at]
	parts = slices.Delete(parts, at, at+1)
	work = parts[0] + ": " + strings.Join(parts[1:], ", ")
	return strings.ReplaceAll(work, "_", " "), side, nil
}

const loadBefore = "load-before"

func (r *results) row(work string) *row {
	for _, known := range r.works {
		if known.work == work {
			return known
		}
	}
	r.works = append(r.works, &row{
		work: work, sides: map[string]samples{ours: {}, upstream: {}}, failed: map[string]bool{},
	})
	return r.works[len(r.works)-1]
}
