package main

import (
	"context"
	"fmt"
	"io"
)

// recordings is of how many ratios the median is recorded.
const recordings = 3

// recordInList writes the ratios of this machine into the list at path, and to
// out what changes.
func recordInList(ctx context.Context, path string, measure measure, out io.Writer) error {
	l, err := readList(path)
	if err != nil {
		return err
	}
	var processor string
	ratios := samples{}
	for range recordings {
		results, err := measure(ctx, l.Rows)
		if err != nil {
			return err
		}
		processor = results.processor()
		for _, row := range l.Rows {
			found, err := results.bestRatio(row)
			if err != nil {
				return err
			}
			ratios[row] = append(ratios[row], found)
		}
	}
	former, recorded := l.Processors[processor], map[string]float64{}
	fmt.Fprintf(out, "%s\n\n| work | recorded | before |\n| --- | --- | --- |\n", processor)
	for _, row := range l.Rows {
		median, _ := ratios.median(row)
		recorded[row] = rounded(median)
		before := nothing
		if old, ok := former[row]; ok {
			before = ratio(old, 1)
		}
		fmt.Fprintf(out, "| %s | %s | %s |\n", row, ratio(recorded[row], 1), before)
	}
	if l.Processors == nil {
		l.Processors = map[string]map[string]float64{}
	}
	l.Processors[processor] = recorded
	return l.write(path)
}
