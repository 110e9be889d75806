package scenario

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Read reads a scenario from a file's content. The name of the file is only for
// errors, "scenario" if it is empty. What is left out stays zero: see
// [Scenario.Defaulted].
//
// The error joins a [Problem] for everything that is wrong, in the order of the
// file. If the file is no YAML it is only the first thing that makes it so.
func Read(file string, data []byte) (*Scenario, error) {
	root, complaint := parse(data)
	c := newChecker(&Scenario{}, cmp.Or(file, "scenario"), root)
	if complaint == "" {
		c.run()
	} else {
		c.report(root, "", "%s", complaint)
	}
	if len(c.problems) == 0 {
		return c.Scenario, nil
	}
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	return nil, join(c.problems)
}

// parse returns the one document of the file, or else the place of what keeps
// it from being one, and why.
func parse(data []byte) (root *yaml.Node, complaint string) {
	if at := notText(string(data)); at != nil {
		return at, "this is no text in UTF-8"
	}
	var documents []yaml.Node
	if err := yaml.Load(data, &documents, yaml.WithAllDocuments()); err != nil {
		return notYAML(data, err)
	}
	switch {
	case len(documents) > 1:
		return &documents[1], "there is a second document; a file holds one scenario"
	case len(documents) == 0 || documents[0].Content[0].ShortTag() == "!!null":
		return &yaml.Node{Line: 1, Column: 1}, "the file is empty; a scenario has at least name, duration and cluster"
	}
	return documents[0].Content[0], ""
}

// notText returns the place of the first byte that is not UTF-8, nil if there
// is none. The parser does not name it.
func notText(text string) *yaml.Node {
	at := &yaml.Node{Line: 1}
	for i, r := range text {
		at.Column++
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(r)) {
			return at
		} else if r == '\n' {
			at.Line, at.Column = at.Line+1, 0
		}
	}
	return nil
}

// notYAML returns the place that the parser names, and what it says. It notices
// what is not closed in the line after the last.
func notYAML(data []byte, err error) (*yaml.Node, string) {
	at, complaint := &yaml.Node{Line: 1, Column: 1}, err.Error()
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	var load *yaml.LoadError
	if errors.As(err, &load) {
		complaint = load.Message
		at.Line, at.Column = min(max(load.Mark.Line, 1), len(lines)), max(load.Mark.Column, 1)
	}
	text := lines[at.Line-1]
	if strings.Contains(text[:len(text)-len(strings.TrimLeft(text, " \t"))], "\t") {
		complaint += "; indent with spaces, not with tabs"
	}
	return at, "this is no YAML: " + complaint
}
