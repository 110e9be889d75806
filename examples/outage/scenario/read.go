package scenario

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Read reads a scenario from a file's content. The name of the file is only for
// errors, "scenario" if it is empty. What is left out stays zero: see
// [Scenario.Defaulted].
//
// The error joins a [Problem] for everything that is wrong, in the order of the
// file. If the file is no YAML it is only the first thing that makes it so.
func Read(file string, data []byte) (*Scenario, error) {
	if file == "" {
		file = "scenario"
	}
	root, problem := parse(data)
	if problem != nil {
		problem.File = file
		return nil, join([]Problem{*problem})
	}
	d := &decoder{file: file, places: map[string]*yaml.Node{}}
	s := &Scenario{}
	d.value("", root, reflect.ValueOf(s).Elem())
	if !slices.Contains(d.failed, "") {
		for _, p := range s.problems(d.failed) {
			d.problem(d.place(p.Path), p.Path, "%s", p.Message)
		}
	}
	if len(d.problems) == 0 {
		return s, nil
	}
	slices.SortStableFunc(d.problems, func(a, b Problem) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column)
	})
	return nil, join(d.problems)
}

// parse returns the one document of the file, or what keeps it from being YAML.
func parse(data []byte) (*yaml.Node, *Problem) {
	if problem := notText(data); problem != nil {
		return nil, problem
	}
	empty := &Problem{Line: 1, Column: 1, Message: "the file is empty; a scenario has at least name, duration and cluster"}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, empty
	} else if err != nil {
		return nil, syntaxProblem(data, err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil,
			&Problem{Line: second.Line, Column: second.Column, Message: "there is a second document; a file holds one scenario"}
	case !errors.Is(err, io.EOF):
		return nil, syntaxProblem(data, err)
	}
	if root := document.Content[0]; root.ShortTag() != "!!null" {
		return root, nil
	}
	return nil, empty
}

// notText finds bytes that are not UTF-8, of which the parser would not say
// where they are.
func notText(data []byte) *Problem {
	rest := data
	for len(rest) > 0 {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			text := data[:len(data)-len(rest)]
			column := 1 + utf8.RuneCount(text[bytes.LastIndexByte(text, '\n')+1:])
			return &Problem{Line: 1 + bytes.Count(text, []byte("\n")), Column: column, Message: "this is no text in UTF-8"}
		}
		rest = rest[size:]
	}
	return nil
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): (?s)(.*)$`)

// syntaxProblem takes the line out of the parser's message, which has no
// column.
func syntaxProblem(data []byte, err error) *Problem {
	line, message := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1]) // the pattern lets only digits through
		line, message = max(line, 1), m[2]
	}
	lines := strings.Split(string(data), "\n")
	// The parser notices some mistakes a line late.
	for _, near := range lines[min(max(line-2, 0), len(lines)):min(line+1, len(lines))] {
		if indent := near[:len(near)-len(strings.TrimLeft(near, " \t"))]; strings.Contains(indent, "\t") {
			message += "; indent with spaces, not with tabs"
			break
		}
	}
	return &Problem{Line: line, Column: 1, Message: fmt.Sprintf("this is no YAML: %s", message)}
}
