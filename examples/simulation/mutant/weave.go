package mutant

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// A build with one fault would compile each package above it again: ten seconds
// for a test of milliseconds. So all are built in at once. Each
// function with a fault begins with a choice, and what it chooses is a copy of
// the function with the fault:
//
//	func (q *Queue) Start(n int) bool {
//		if mutantFault == 7 { return q.Start_fault7(n) }
//
// Another file of the package reads the number of the fault from the
// environment.
const (
	choice      = "mutantFault"
	environment = "MUTANT_FAULT"
	chosenFile  = "mutant_fault.go"
)

// chosen returns the file that reads which fault is in place.
func chosen(pkg string) []byte {
	return fmt.Appendf(nil, "package %s\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\n"+
		"var %s, _ = strconv.Atoi(os.Getenv(%q))\n", pkg, choice, environment)
}

// woven is a source file into which mutations are put.
type woven struct {
	source  string
	files   *token.FileSet
	file    *ast.File
	changes []change
	copies  []string
	named   map[*ast.FuncDecl]bool // have names for all parameters
}

// A change puts a text in the place of some characters of the source.
type change struct {
	from, to int // bytes of the source
	text     string
}

func parse(path, source string) (*woven, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &woven{source: source, files: files, file: file, named: make(map[*ast.FuncDecl]bool)}, nil
}

func (w *woven) pkg() string { return w.file.Name.Name }

// add puts in one mutation, which is in place if the environment has its
// number.
func (w *woven) add(number int, m *Mutation) error {
	from, err := onlyPlace(w.source, m.Old)
	if err != nil {
		return err
	}
	function := w.functionAround(from, from+len(m.Old))
	if function == nil {
		return fmt.Errorf("what it replaces is not within one function: %w:\n%s", ErrUnfit, m.Old)
	}
	begin, end := w.offset(function.Pos()), w.offset(function.End())
	if from < begin {
		begin = w.offset(function.Doc.Pos())
	}
	mutated := w.source[begin:from] + m.With + w.source[from+len(m.Old):max(end, from+len(m.Old))]
	name := function.Name.Name + "_fault" + strconv.Itoa(number)
	renamed, err := rename(mutated, name)
	if err != nil {
		return err
	}
	// The compiler names the mutation in the place of a file.
	w.copies = append(w.copies, "\n//line "+m.Name+":1\n"+renamed+"\n")
	w.nameParameters(function)
	brace := w.offset(function.Body.Lbrace) + 1
	w.changes = append(w.changes, change{brace, brace, choose(function, name, number)})
	return nil
}

// functionAround returns the function of which these bytes are a part, with its
// comment and the space behind it.
func (w *woven) functionAround(from, to int) *ast.FuncDecl {
	for _, declared := range w.file.Decls {
		function, ok := declared.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		begin, end := w.offset(function.Pos()), w.offset(function.End())
		if function.Doc != nil {
			begin = w.offset(function.Doc.Pos())
		}
		behind := len(w.source[end:]) - len(strings.TrimLeft(w.source[end:], " \t\n"))
		if begin <= from && to <= end+behind {
			return function
		}
	}
	return nil
}

func (w *woven) offset(at token.Pos) int { return w.files.Position(at).Offset }

// rename returns the text of a function with another name.
func rename(function, name string) (string, error) {
	const head = "package p\n"
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", head+function, parser.SkipObjectResolution)
	if err != nil {
		return "", fmt.Errorf("with it in place: %w", err)
	}
	if len(file.Decls) != 1 {
		return "", fmt.Errorf("with it in place there are %d declarations: %w", len(file.Decls), ErrUnfit)
	}
	renamed, ok := file.Decls[0].(*ast.FuncDecl)
	if !ok {
		return "", fmt.Errorf("with it in place there is no function: %w", ErrUnfit)
	}
	from := files.Position(renamed.Name.Pos()).Offset - len(head)
	return function[:from] + name + function[from+len(renamed.Name.Name):], nil
}

// nameParameters gives a name to the receiver and the parameters that have
// none.
func (w *woven) nameParameters(function *ast.FuncDecl) {
	if w.named[function] {
		return
	}
	w.named[function] = true
	for _, p := range parameters(function) {
		at := w.offset(p.at)
		switch {
		case p.ident == nil:
			w.changes = append(w.changes, change{at, at, p.name + " "})
		case p.ident.Name == "_":
			w.changes = append(w.changes, change{at, at + 1, p.name})
		}
	}
}

// A parameter is one of a function, or its receiver.
type parameter struct {
	ident *ast.Ident // nil if it has no name
	at    token.Pos  // where its name is, or would be
	name  string     // by which the choice passes it on
	dots  string     // behind the name
}

// parameters returns the receiver, if there is one, and the parameters.
func parameters(function *ast.FuncDecl) []parameter {
	var all []parameter
	add := func(ident *ast.Ident, at token.Pos, dots string) {
		name := "mutant" + strconv.Itoa(len(all))
		if ident != nil && ident.Name != "_" {
			name = ident.Name
		}
		all = append(all, parameter{ident, at, name, dots})
	}
	var fields []*ast.Field
	if function.Recv != nil {
		fields = append(fields, function.Recv.List...)
	}
	for _, field := range append(fields, function.Type.Params.List...) {
		dots := ""
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			dots = "..."
		}
		if len(field.Names) == 0 {
			add(nil, field.Type.Pos(), dots)
		}
		for _, ident := range field.Names {
			add(ident, ident.Pos(), dots)
		}
	}
	return all
}

// choose returns the statement that goes on with the copy of the function if
// that fault is in place.
func choose(function *ast.FuncDecl, name string, number int) string {
	passed := parameters(function)
	callee := name
	if function.Recv != nil {
		callee, passed = passed[0].name+"."+name, passed[1:]
	}
	var arguments []string
	for _, p := range passed {
		arguments = append(arguments, p.name+p.dots)
	}
	call := callee + typeArguments(function) + "(" + strings.Join(arguments, ", ") + ")"
	if function.Type.Results == nil {
		call += "; return"
	} else {
		call = "return " + call
	}
	return fmt.Sprintf(" if %s == %d { %s }; ", choice, number, call)
}

func typeArguments(function *ast.FuncDecl) string {
	if function.Type.TypeParams == nil {
		return ""
	}
	var names []string
	for _, field := range function.Type.TypeParams.List {
		for _, ident := range field.Names {
			names = append(names, ident.Name)
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// text returns the file with all that was put in. Lines of the source stay
// where they are.
func (w *woven) text() []byte {
	slices.SortStableFunc(w.changes, func(a, b change) int { return a.from - b.from })
	var text bytes.Buffer
	done := 0
	for _, c := range w.changes {
		text.WriteString(w.source[done:c.from] + c.text)
		done = c.to
	}
	text.WriteString(w.source[done:])
	for _, function := range w.copies {
		text.WriteString(function)
	}
	return text.Bytes()
}
