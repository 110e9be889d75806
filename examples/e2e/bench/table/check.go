package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// spare is how many times its recorded ratio a row may take. What other work
// does to a ratio stays well below it.
const spare = 1.5

var errSlower = errors.New("slower than recorded")

// measure runs the benchmarks of rows, each side several times.
type measure func(ctx context.Context, rows []string) (*results, error)

// A verdict is what a check says of a row.
type verdict struct {
	row string
	// found is the ratio ours ÷ upstream, and before what it was before it was
	// measured again, or 0.
	found, before float64
	// recorded is the ratio that the list has, for the processor of.
	recorded float64
	of       string
}

// most is the ratio up to which the row holds.
func (v verdict) most() float64 { return v.recorded * spare }

func (v verdict) slower() bool { return v.found > v.most() }

// faster reports whether the row has gained so much that the list would not
// notice if it lost it again.
func (v verdict) faster() bool { return v.found*spare < v.recorded }

// compare judges rows by the best run of each side. A row that has not been
// measured, or that no processor has, is an error and never holds.
func compare(r *results, l *list, rows []string) ([]verdict, error) {
	verdicts := make([]verdict, len(rows))
	var problems []error
	for i, row := range rows {
		found, err := r.bestRatio(row)
		if err != nil {
			problems = append(problems, err)
		}
		recorded, of, ok := l.ratioOf(r.processor(), row)
		if !ok {
			problems = append(problems, fmt.Errorf("%s: no processor has a ratio of it, record one", row))
		}
		verdicts[i] = verdict{row: row, found: found, recorded: recorded, of: of}
	}
	return verdicts, errors.Join(problems...)
}

// processor returns the name of the processor, which Go does not know of each.
func (r *results) processor() string {
	return cmp.Or(r.settings["cpu"], r.settings["goos"]+"/"+r.settings["goarch"])
}

// bestRatio returns ours ÷ upstream of a row, in what it keeps if the row is
// about that, else in CPU time.
func (r *results) bestRatio(work string) (float64, error) {
	at := slices.IndexFunc(r.works, func(known *row) bool { return known.work == work })
	if at < 0 {
		return 0, fmt.Errorf("%s: no benchmark has this name", work)
	}
	for _, u := range []unit{each, cpu} {
		mine, theirs := r.works[at].sides[ours][u.name], r.works[at].sides[upstream][u.name]
		if len(mine) > 0 && len(theirs) > 0 && slices.Min(mine) > 0 && slices.Min(theirs) > 0 {
			return slices.Min(mine) / slices.Min(theirs), nil
		}
	}
	return 0, fmt.Errorf("%s: not both sides have been measured", work)
}

// checkList compares the rows of the list at path with what is measured now,
// and writes the verdicts. Rows that are slower are measured a second time. The
// error names those that are slower again.
func checkList(ctx context.Context, path string, measure measure, out io.Writer) error {
	l, err := readList(path)
	if err != nil {
		return err
	}
	judged := func(rows []string) (*results, []verdict, error) {
		results, err := measure(ctx, rows)
		if err != nil {
			return nil, nil, err
		}
		verdicts, err := compare(results, l, rows)
		return results, verdicts, err
	}
	results, verdicts, err := judged(l.Rows)
	if err != nil {
		return err
	}
	var slow []string
	for _, v := range verdicts {
		if v.slower() {
			slow = append(slow, v.row)
		}
	}
	var slower strings.Builder
	if len(slow) > 0 {
		_, again, err := judged(slow)
		if err != nil {
			return err
		}
		for _, v := range again {
			at := slices.Index(l.Rows, v.row)
			v.before = verdicts[at].found
			verdicts[at] = v
			if v.slower() {
				fmt.Fprintf(&slower, "\n  %s: ours ÷ upstream was %s and then %s, recorded is %s, at most %s",
					v.row, ratio(v.before, 1), ratio(v.found, 1), ratio(v.recorded, 1), ratio(v.most(), 1))
			}
		}
	}
	if _, err := io.WriteString(out, report(results, verdicts)); err != nil {
		return err
	}
	if slower.Len() > 0 {
		return fmt.Errorf("%w:%s", errSlower, slower.String())
	}
	return nil
}

// report shows the verdicts as a Markdown table, and below it what to do.
func report(r *results, verdicts []verdict) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n", r.circumstances())
	text.WriteString("| work | ours ÷ upstream | recorded | at most | |\n| --- | --- | --- | --- | --- |\n")
	var borrowed, faster []string
	for _, v := range verdicts {
		found, says := ratio(v.found, 1), "holds"
		if v.before > 0 {
			found = fmt.Sprintf("%s, then %s", ratio(v.before, 1), found)
		}
		switch {
		case v.slower():
			says = "SLOWER"
		case v.faster() && v.of == r.processor():
			says = "faster"
			faster = append(faster, v.row)
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s |\n",
			v.row, found, ratio(v.recorded, 1), ratio(v.most(), 1), says)
		if v.of != r.processor() {
			borrowed = append(borrowed, fmt.Sprintf("%s (%s)", v.row, v.of))
		}
	}
	if len(borrowed) > 0 {
		fmt.Fprintf(&text, "\nNothing is recorded for %s. These rows are compared with the loosest\n"+
			"ratio of another processor:\n  %s\n"+
			"Record them, from the root, on a revision that is known to be good:\n  %s\n",
			r.processor(), strings.Join(borrowed, "\n  "), recordCommand)
	}
	if len(faster) > 0 {
		fmt.Fprintf(&text, "\nThe check would not notice if these rows lost again what they have gained:\n  %s\n"+
			"Record them, from the root, on a quiet machine:\n  %s\n",
			strings.Join(faster, "\n  "), recordCommand)
	}
	return text.String()
}

const recordCommand = "go -C examples/e2e run ./bench/table --record"
