package demonstration

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ErrNotHeld says that the controller did something that it should not have.
var ErrNotHeld = errors.New("the summary does not hold")

// MostNamed is how many exceptions of a claim are named.
const MostNamed = 20

// A Claim is something that holds if there is no exception to it.
type Claim struct {
	Says       string
	Exceptions []string
}

// Claims are what a summary says.
type Claims []Claim

// Add appends a claim. Its exceptions come first, and then its format and
// arguments.
func (c *Claims) Add(exceptions []string, format string, args ...any) {
	*c = append(*c, Claim{Says: fmt.Sprintf(format, args...), Exceptions: exceptions})
}

// Unless returns a text as the only exception, or none if it holds.
func Unless(holds bool, format string, args ...any) (exceptions []string) {
	if holds {
		return nil
	}
	return []string{fmt.Sprintf(format, args...)}
}

// A Finding is something that a judge of the program has found to be wrong.
type Finding[Rule ~string] struct {
	Rule Rule
	Text string
}

// Findings are the findings that no claim has told yet.
type Findings[Rule ~string] []Finding[Rule]

// Take removes the findings against some rules whose text contains about, and
// returns their texts, which are exceptions of a claim.
func (f *Findings[Rule]) Take(about string, rules ...Rule) (texts []string) {
	*f = slices.DeleteFunc(*f, func(one Finding[Rule]) bool {
		taken := slices.Contains(rules, one.Rule) && strings.Contains(one.Text, about)
		if taken {
			texts = append(texts, one.Text+";")
		}
		return taken
	})
	return texts
}

// Rest returns the texts of the findings that are left, with their rules.
func (f Findings[Rule]) Rest() (texts []string) {
	for _, one := range f {
		texts = append(texts, fmt.Sprintf("%s: %s;", one.Rule, one.Text))
	}
	return texts
}

// PrintClaims writes a line for each claim, and its exceptions below. It
// returns [ErrNotHeld] if a claim has any, and if there is no claim.
func PrintClaims(out io.Writer, claims Claims) error {
	fmt.Fprintln(out, "\nWhat that proves:")
	held := len(claims) > 0
	for _, c := range claims {
		held = c.print(out) && held
	}
	if !held {
		return ErrNotHeld
	}
	return nil
}

// print reports whether the claim holds.
func (c Claim) print(out io.Writer) bool {
	if len(c.Exceptions) == 0 {
		fmt.Fprintf(out, "ok    %s\n", c.Says)
		return true
	}
	fmt.Fprintf(out, "FAIL  %s\n", c.Says)
	const margin = "     "
	line := fmt.Sprintf("%s except for %d:", margin, len(c.Exceptions))
	named := c.Exceptions[:min(len(c.Exceptions), MostNamed)]
	for word := range strings.FieldsSeq(strings.Join(named, " ")) {
		if Width(line)+1+Width(word) > Columns {
			fmt.Fprintln(out, line)
			line = margin
		}
		line += " " + word
	}
	fmt.Fprintln(out, line)
	if more := len(c.Exceptions) - MostNamed; more > 0 {
		fmt.Fprintf(out, "%s and %d more\n", margin, more)
	}
	return false
}
