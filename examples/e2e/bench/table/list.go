package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// list is the content of ratios.json: how ours compares with upstream on each
// processor on which that has been recorded.
type list struct {
	// Rows are the rows to check, named as in the table.
	Rows []string `json:"rows"`
	// Processors has the ratio of each row, by the name of the processor.
	Processors map[string]map[string]float64 `json:"processors"`
}

func readList(path string) (*list, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var l list
	if err := json.Unmarshal(content, &l); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := l.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &l, nil
}

// write keeps the order that encoding/json gives, so that a new ratio is one
// changed line.
func (l *list) write(path string) error {
	content, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(content, '\n'), 0o644)
}

func (l *list) validate() error {
	var problems []error
	if len(l.Rows) == 0 {
		problems = append(problems, errors.New("no rows: a check of nothing would hold"))
	}
	for i, row := range l.Rows {
		if slices.Contains(l.Rows[:i], row) {
			problems = append(problems, fmt.Errorf("row %q stands there twice", row))
		}
	}
	for processor, ratios := range l.Processors {
		for row, ratio := range ratios {
			if !slices.Contains(l.Rows, row) {
				problems = append(problems, fmt.Errorf("%s: %q is not one of the rows", processor, row))
			}
			if ratio <= 0 {
				problems = append(problems,
					fmt.Errorf("%s: %s: the ratio is %v, want more than 0", processor, row, ratio))
			}
		}
	}
	return errors.Join(problems...)
}

// ratioOf returns the recorded ratio of a row and the processor that has it. If
// this processor has none it is the loosest of the others.
func (l *list) ratioOf(processor, row string) (ratio float64, of string, ok bool) {
	if ratio, ok := l.Processors[processor][row]; ok {
		return ratio, processor, true
	}
	for other, ratios := range l.Processors {
		// Of equal ratios the first name counts, so that the output does not change.
		if c := cmp.Compare(ratios[row], ratio); c > 0 || c == 0 && ratio > 0 && other < of {
			ratio, of = ratios[row], other
		}
	}
	return ratio, of, ratio > 0
}

// rounded returns a ratio with the three digits that are not noise.
func rounded(ratio float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(ratio, 'g', 3, 64), 64) // it was a number
	return short
}
