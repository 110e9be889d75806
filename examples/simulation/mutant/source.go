package mutant

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// A build with one fault would compile each package above it again: ten seconds
// for a test of milliseconds. So all are built in at once. Each function with a
// fault begins with its body as it is with the fault:
//
//	func (q *Queue) Start(n int) bool {
//		if mutantFault == 7 { ... }
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

// A source is a file into which mutations are put.
type source struct {
	path   string
	text   string
	files  *token.FileSet
	file   *ast.File
	faults map[*ast.FuncDecl]string // what the function begins with
}

// readPackage returns the files of a package, without its tests.
func readPackage(folder string) ([]*source, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var all []*source
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		all = append(all, &source{path, string(text), files, file, make(map[*ast.FuncDecl]string)})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: there is no Go file in %s", ErrUnfit, folder)
	}
	return all, nil
}

// add puts in one mutation, which is in place if the environment has its
// number.
func add(sources []*source, number int, m *Mutation) error {
	head, err := parseHead(m.Func)
	if err != nil {
		return err
	}
	s, function, err := find(sources, head)
	if err != nil {
		return err
	}
	named, err := namesIn(head, function)
	if err != nil {
		return err
	}
	r, err := parseRule(m.Rule, named)
	if err != nil {
		return err
	}
	places := r.places(function.Body)
	switch {
	case m.Occurrence > 0 && m.Occurrence <= len(places):
		places = places[m.Occurrence-1:]
	case m.Occurrence != 0 || len(places) != 1:
		return fmt.Errorf("%w: its pattern stands %d times in\n%s",
			ErrUnfit, len(places), s.textOf(function))
	}
	p := places[0]
	end := "return"
	if function.Type.Results != nil {
		end = `panic("no return")`
	}
	// The compiler names the mutation in the place of a file.
	s.faults[function] += fmt.Sprintf("\nif %s == %d {\n//line %s:1\n%s%s%s\n%s\n}", choice, number, m.Name,
		s.between(function.Body.Lbrace+1, p.from.Pos()), p.text(s.textOf),
		s.between(p.to.End(), function.Body.Rbrace), end)
	return nil
}

// find returns the function that begins as a mutation says.
func find(sources []*source, head *ast.FuncDecl) (*source, *ast.FuncDecl, error) {
	var similar []string
	for _, s := range sources {
		for _, declared := range s.file.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if !ok || function.Body == nil {
				continue
			}
			sameName := function.Name.Name == head.Name.Name
			sameType := receiver(function) == receiver(head)
			switch {
			case sameName && sameType:
				return s, function, nil
			case sameName, sameType:
				similar = append(similar, s.textOf(function.Type))
			}
		}
	}
	return nil, nil, fmt.Errorf("%w: there is no such function; of its name or receiver are\n%s",
		ErrUnfit, strings.Join(similar, "\n"))
}

func (s *source) between(from, to token.Pos) string {
	return s.text[s.files.Position(from).Offset:s.files.Position(to).Offset]
}

func (s *source) textOf(node ast.Node) string { return s.between(node.Pos(), node.End()) }

// mutated returns the file with all that was put in. Lines of the source keep
// their numbers.
func (s *source) mutated() []byte {
	text, done := "", s.file.FileStart
	for _, declared := range s.file.Decls {
		function, ok := declared.(*ast.FuncDecl)
		if !ok || s.faults[function] == "" {
			continue
		}
		body := function.Body.Lbrace + 1
		text += fmt.Sprintf("%s%s\n//line %s:%d\n", s.between(done, body), s.faults[function],
			s.path, s.files.Position(body).Line)
		done = body
	}
	return []byte(text + s.between(done, s.file.FileEnd))
}

// parseHead parses how the declaration of a function begins, without the types
// of its parameters.
func parseHead(text string) (*ast.FuncDecl, error) {
	start, ok := strings.CutSuffix(text, ")")
	if ok {
		text = start + " any"
	} else {
		text += "("
	}
	head, err := parseFunction("func " + text + ") {}")
	if err != nil {
		return nil, fmt.Errorf("function: %w", err)
	}
	return head, nil
}

// clause stands before a function, so that it is a file.
const clause = "package p; "

func parseFunction(text string) (*ast.FuncDecl, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", clause+text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	function, ok := file.Decls[0].(*ast.FuncDecl)
	if !ok || len(file.Decls) != 1 {
		return nil, errors.New("want one function, and an expression or statements in it")
	}
	return function, nil
}

// receiver returns the name of the type that a method is of, or nothing.
func receiver(function *ast.FuncDecl) string {
	name := ""
	if function.Recv != nil {
		ast.Inspect(function.Recv.List[0].Type, func(node ast.Node) bool {
			if ident, ok := node.(*ast.Ident); ok && name == "" {
				name = ident.Name // type parameters come later
			}
			return true
		})
	}
	return name
}

// namesIn returns, by the names of a receiver and parameters in a mutation,
// those in the source.
func namesIn(head, function *ast.FuncDecl) (map[string]string, error) {
	named, names := make(map[string]string), parameters(function)
	for i, name := range parameters(head) {
		switch {
		case name == "_":
		case i >= len(names) || names[i] == "_":
			return nil, fmt.Errorf("%w: nothing has a name where it says %s", ErrUnfit, name)
		default:
			named[name] = names[i]
		}
	}
	return named, nil
}

// parameters returns the names of the receiver, if there is one, and of the
// parameters. One without a name is _.
func parameters(function *ast.FuncDecl) []string {
	var names []string
	add := func(list []*ast.Field) {
		for _, field := range list {
			if len(field.Names) == 0 {
				names = append(names, "_")
			}
			for _, ident := range field.Names {
				names = append(names, ident.Name)
			}
		}
	}
	if function.Recv != nil {
		add(function.Recv.List)
	}
	add(function.Type.Params.List)
	return names
}
