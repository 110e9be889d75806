package sidebyside

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

var (
	// ErrOursFailed means that ours has a fault, or could not be judged.
	ErrOursFailed = errors.New("ours has failed")
	// ErrIncomplete means that a play is missing in the table.
	ErrIncomplete = errors.New("the table is incomplete")
)

// Err returns what the exit code is to say: ErrOursFailed, ErrIncomplete, both,
// or nil. Faults of other subjects are none. What ours has not played, and what
// the machine has spoilt, is no fault of it either.
func (r *Results) Err() error {
	var problems []error
	for _, c := range r.Columns {
		if c.isOurs() {
			for _, fault := range c.faults() {
				problems = append(problems, fmt.Errorf("%w: %s", ErrOursFailed, fault))
			}
		}
		if c.Err != nil {
			problems = append(problems, fmt.Errorf("%w: %s: %w", ErrIncomplete, c.Name(), c.Err))
		}
	}
	for _, columns := range r.groups() {
		ours, other := r.sides(columns)
		for _, row := range rowsOf(columns) {
			if value, known := ratio(row, ours, other); known && row.isTooMuch(value) {
				problems = append(problems,
					fmt.Errorf("%w: %s: %.2f times %s's", ErrOursFailed, row.title, value, other.Subject.Name))
			}
		}
	}
	if _, n := r.differences(); n > 0 {
		problems = append(problems, fmt.Errorf("%w: the subjects differ (differences: %d)", ErrOursFailed, n))
	}
	return errors.Join(problems...)
}

// faults returns what is wrong in a column of ours.
func (c *Column) faults() (all []string) {
	for i, record := range c.Records {
		if faults := record.Faults(); len(faults) > 0 {
			all = append(all, fmt.Sprintf("%s, repetition %d: %s", c.Scenario.Name, i+1, strings.Join(faults, ", ")))
		}
	}
	if c.Err != nil && !c.isCut() && !errors.Is(c.Err, ErrDisturbed) {
		all = append(all, c.Scenario.Name+" could not be judged")
	}
	return all
}

// mostDifferences is how many of a step are listed.
const mostDifferences = 20

// differences returns where the states of the subjects of a scenario differ, each
// with its name as far as they are listed, and how many there are.
func (r *Results) differences() (lines []string, n int) {
	for i, b := range r.Columns {
		if i == 0 || b.Scenario.Name != r.Columns[i-1].Scenario.Name {
			continue
		}
		a := r.Columns[i-1]
		for k := range min(len(a.Records), len(b.Records)) {
			for s, state := range b.Records[k].States {
				found := Compare(a.Subject.Name, a.Records[k].States[s].Facts, b.Subject.Name, state.Facts)
				n += len(found)
				for _, d := range found[:min(len(found), mostDifferences)] {
					lines = append(lines, fmt.Sprintf("%s, %s: %s", b.Scenario.Name, state.Step, d))
				}
				if more := len(found) - mostDifferences; more > 0 {
					lines = append(lines, fmt.Sprintf("%s, %s: %d more", b.Scenario.Name, state.Step, more))
				}
			}
		}
	}
	return lines, n
}

// Compare returns the differences between the facts of two names, a line for
// each in the order of the facts.
func Compare(nameA string, a map[string]string, nameB string, b map[string]string) (lines []string) {
	valueIn := func(facts map[string]string, name string) string {
		if value, known := facts[name]; known {
			return strconv.Quote(value)
		}
		return "none"
	}
	all := map[string]string{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	for _, fact := range slices.Sorted(maps.Keys(all)) {
		if x, y := valueIn(a, fact), valueIn(b, fact); x != y {
			lines = append(lines, fmt.Sprintf("%s: %s with %s, %s with %s", fact, x, nameA, y, nameB))
		}
	}
	return lines
}
