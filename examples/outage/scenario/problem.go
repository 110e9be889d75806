package scenario

import (
	"errors"
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with a scenario. Errors of this package
// are Problems joined by [errors.Join], even if it is only one: errors.AsType
// finds the first, and Unwrap() []error all of them.
type Problem struct {
	// File, Line and Column say where it is, counted from 1, if the scenario was
	// read from a file. Of a field that is missing it is the place of what lacks
	// it.
	File         string
	Line, Column int
	// Path says where it is in the scenario, such as script[3].silence.zone. It is
	// empty if the scenario is wrong as a whole.
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
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// parent is the path of what the path's last element is a part of.
func parent(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }

// child is the path of a field of what is at the path. What is in brackets is
// an item.
func child(path, field string) string {
	if path == "" || strings.HasPrefix(field, "[") {
		return path + field
	}
	return path + "." + field
}

// item is the path of an item of the list at the path.
func item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
