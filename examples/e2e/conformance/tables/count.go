package tables

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// longestOf returns how many cases the table of a test of the kubelet has. They
// are the elements of the longest list or map of structs in the function.
func longestOf(path, name string) (int, error) {
	most := 0
	err := eachTable(path, name, func(cases int) { most = max(most, cases) })
	return most, err
}

// wholeOf returns how many cases all tests of a file have. A test without a
// table is one.
func wholeOf(path string) (int, error) {
	tests, err := testsOf(path)
	sum := 0
	for _, test := range tests {
		cases, err := longestOf(path, test)
		if err != nil {
			return 0, err
		}
		sum += max(cases, 1)
	}
	return sum, err
}

// testsOf returns the names of the tests of a file.
func testsOf(path string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse a table: %w", err)
	}
	var tests []string
	for _, decl := range file.Decls {
		test, ok := decl.(*ast.FuncDecl)
		if ok && test.Recv == nil && strings.HasPrefix(test.Name.Name, "Test") {
			tests = append(tests, test.Name.Name)
		}
	}
	return tests, nil
}

// sumOf returns how many cases the tables of one of our tests have. The name is
// that of the test, or of the variable that holds its table.
func sumOf(path, name string) (int, error) {
	sum := 0
	err := eachTable(path, name, func(cases int) { sum += cases })
	return sum, err
}

// eachTable tells the number of cases of each table of a function or variable.
// Lists inside a table belong to its cases. A table of tables has those of all.
func eachTable(path, name string, tell func(cases int)) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse a table: %w", err)
	}
	for _, decl := range file.Decls {
		node := declared(decl, name)
		if node == nil {
			continue
		}
		ast.Inspect(node, func(n ast.Node) bool {
			list, ok := n.(*ast.CompositeLit)
			if !ok || !isTable(list) {
				return true
			}
			if cases := nested(list); cases > 0 {
				tell(cases)
			} else {
				tell(len(list.Elts))
			}
			return false
		})
		return nil
	}
	return fmt.Errorf("%s declares no %s", path, name)
}

// declared returns the function or variable of a name, if it is declared here.
func declared(decl ast.Decl, name string) ast.Node {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil && decl.Name.Name == name {
			return decl.Body
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			if values, ok := spec.(*ast.ValueSpec); ok && values.Names[0].Name == name {
				return values
			}
		}
	}
	return nil
}

// isTable reports whether a literal is a list or map of structs, as far as its
// own text tells.
func isTable(list *ast.CompositeLit) bool {
	var elem ast.Expr
	switch kind := list.Type.(type) {
	case *ast.ArrayType:
		elem = kind.Elt
	case *ast.MapType:
		elem = kind.Value
	default:
		return false
	}
	if len(list.Elts) == 0 {
		return false
	}
	switch elem.(type) {
	case *ast.StructType, *ast.Ident:
		return isStruct(list.Elts[0])
	}
	return false
}

func isStruct(element ast.Expr) bool {
	if pair, ok := element.(*ast.KeyValueExpr); ok {
		element = pair.Value
	}
	_, ok := element.(*ast.CompositeLit)
	return ok
}

// nested returns how many cases there are in the tables of a table.
func nested(list *ast.CompositeLit) int {
	sum := 0
	ast.Inspect(list, func(n ast.Node) bool {
		cases, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if kind, ok := cases.Type.(*ast.ArrayType); ok && isNamed(kind.Elt, caseType) {
			sum += len(cases.Elts)
			return false
		}
		return true
	})
	return sum
}

// caseType is the type of the cases of our nested table.
const caseType = "phaseCase"

func isNamed(kind ast.Expr, name string) bool {
	ident, ok := kind.(*ast.Ident)
	return ok && ident.Name == name
}
