package scenario

import (
	"errors"
	"fmt"
	"strings"

	edlib "github.com/hbollon/go-edlib"
)

// Problem is one thing that is wrong with a scenario. Errors of this package
// are Problems joined by [errors.Join], even if it is only one: [errors.As]
// finds the first, and Unwrap() []error all of them.
type Problem struct {
	// File, Line and Column say where it is, counted from 1, if the scenario was
	// read from a file. A missing field has the place of what lacks it.
	File         string
	Line, Column int
	// Path says where it is in the scenario, such as script[3].silence.zone. It
	// is empty if the whole is wrong.
	Path string
	// Message says what is wrong and what to do.
	Message string
}

// Error returns file:line:column, path and message, as far as they are known.
func (p Problem) Error() string {
	text := p.Message
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	if p.Line > 0 {
		text = fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, text)
	}
	return text
}

func join(problems []Problem) error {
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// below reports whether the path is the other one or a part of what is there.
func below(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || other == "" || rest[0] == '.' || rest[0] == '[')
}

// parent is the path of what the path's last element is a part of.
func parent(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }

// child is the path of a field of what is at the path.
func child(path, field string) string { return strings.TrimPrefix(path+"."+field, ".") }

// item is the path of an item of the list at the path.
func item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// missing says that there is no such thing, and what there is: the one that was
// probably meant, or else all of them. The plural of the noun is made with an
// s.
func missing(noun, name string, existing []string) string {
	text := fmt.Sprintf("there is no %s %s", noun, shown(name))
	if meant := nearest(name, existing); meant != "" {
		return fmt.Sprintf("%s; did you mean %s?", text, meant)
	}
	if len(existing) == 0 {
		return text + "; there are none"
	}
	return fmt.Sprintf("%s; %ss are %s", text, noun, listed(existing))
}

// shown quotes what would be hard to read in a sentence.
func shown(name string) string {
	const plain = "-._0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if name == "" || strings.Trim(name, plain) != "" {
		return fmt.Sprintf("%.80q", name)
	}
	return fmt.Sprintf("%.80s", name)
}

// listed enumerates names, not more than a user would read.
func listed(names []string) string {
	const most = 40
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// nearest returns the name that is like the given one, empty if there is none.
// A third of the letters may be wrong, and case does not count. A part of at
// least four letters, the beginning or the end, stands for the whole if only
// one name has it.
func nearest(name string, existing []string) string {
	lower := strings.ToLower(name)
	best, distance, parts := "", len(lower)/3+1, []string(nil)
	for _, candidate := range existing {
		other := strings.ToLower(candidate)
		if d := edlib.OSADamerauLevenshteinDistance(lower, other); d < distance {
			best, distance = candidate, d
		}
		if len(lower) >= 4 && (strings.HasPrefix(other, lower) || strings.HasSuffix(other, lower)) {
			parts = append(parts, candidate)
		}
	}
	if best == "" && len(parts) == 1 {
		return parts[0]
	}
	return best
}
