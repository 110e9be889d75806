package architecture

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// A due time is compared in timedqueue only: all other packages put what waits
// into a Queue.
func TestWhatWaitsWaitsInAQueue(t *testing.T) {
	var findings []placedFinding
	for _, folder := range queueUsers {
		findings = append(findings, checkEngine(readTyped(t, folder))...)
	}
	report(t, checkExceptions("engineExceptions", engineExceptions, findings))
}

// placedFinding is a finding in a function, or in another declaration of a
// file. Its place, "folder/file.go function", is how a list of exceptions names
// it.
type placedFinding struct{ place, text string }

// checkExceptions returns the findings that a list does not except, and the
// entries of the list that except nothing or give no reason.
func checkExceptions(list string, exceptions map[string]string, found []placedFinding) []string {
	var findings []string
	needed := map[string]bool{}
	for _, finding := range found {
		needed[finding.place] = true
		if _, excepted := exceptions[finding.place]; !excepted {
			findings = append(findings, finding.text+" (in "+finding.place+")")
		}
	}
	for _, place := range slices.Sorted(maps.Keys(exceptions)) {
		if !needed[place] {
			findings = append(findings, fmt.Sprintf("stale entry: %s lists %q, where nothing is found",
				list, place))
		}
		if exceptions[place] == "" {
			findings = append(findings, fmt.Sprintf("%s gives no reason for %q", list, place))
		}
	}
	return findings
}

// checkEngine reports what only the one engine does: heaps, growing back-offs,
// and comparisons of a due time with the present.
func checkEngine(p typedPackage) []placedFinding {
	var findings []placedFinding
	for _, src := range p.sources {
		for _, decl := range src.file.Decls {
			ast.Inspect(decl, func(node ast.Node) bool {
				if complaint := engineComplaint(p, node); complaint != "" {
					place := src.path + " " + declaredName(decl)
					findings = append(findings, placedFinding{place, p.at(node.Pos(), complaint)})
				}
				return true
			})
		}
	}
	return findings
}

const waitsInAQueue = "what waits for a time waits in a timedqueue.Queue"

// engineComplaint says what is wrong with one node, "" when nothing is.
func engineComplaint(p typedPackage, node ast.Node) string {
	switch n := node.(type) {
	case *ast.ImportSpec:
		if importPath(n) == "container/heap" {
			return "imports container/heap: " + waitsInAQueue
		}
	case *ast.TypeSpec:
		if isHeap(p.info.Defs[n.Name].Type()) {
			return n.Name.Name + " has the methods of a heap: " + waitsInAQueue
		}
	case *ast.SelectorExpr:
		return growthComplaint(p, n)
	case *ast.AssignStmt:
		if (n.Tok == token.SHL_ASSIGN || n.Tok == token.MUL_ASSIGN) && p.isTime(n.Lhs[0], "Duration") {
			return "multiplies a duration in place: a timedqueue.Backoff grows the pauses"
		}
	case *ast.BinaryExpr:
		return operatorComplaint(p, n)
	case *ast.CallExpr:
		return comparisonComplaint(p, n)
	}
	return ""
}

// growthComplaint recognizes the functions that raise a number to a power.
func growthComplaint(p typedPackage, selector *ast.SelectorExpr) string {
	fn := p.info.Uses[selector.Sel]
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "math" {
		return ""
	}
	if slices.Contains([]string{"Exp", "Exp2", "Ldexp", "Pow"}, fn.Name()) {
		return "uses math." + fn.Name() + ": a timedqueue.Backoff grows the pauses"
	}
	return ""
}

// operatorComplaint is about shifts of durations, and about comparisons of
// durations that are derived from a due time and the present.
func operatorComplaint(p typedPackage, binary *ast.BinaryExpr) string {
	switch binary.Op {
	case token.SHL:
		if p.isTime(binary, "Duration") {
			return "shifts a duration: a timedqueue.Backoff grows the pauses"
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		if p.isTime(binary.X, "Duration") && p.namesDueTime(binary) && p.namesPresent(binary) {
			return "compares a due time with the present: timedqueue does that"
		}
	}
	return ""
}

// comparisonComplaint is about the methods of time.Time that compare.
func comparisonComplaint(p typedPackage, call *ast.CallExpr) string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 || !p.isTime(method.X, "Time") {
		return ""
	}
	if !slices.Contains([]string{"Before", "After", "Compare", "Equal"}, method.Sel.Name) {
		return ""
	}
	left, right := method.X, call.Args[0]
	if p.namesDueTime(left) && p.namesPresent(right) || p.namesPresent(left) && p.namesDueTime(right) {
		return "compares a due time with the present: timedqueue does that"
	}
	return ""
}

// namesDueTime reports whether an expression names a time or a duration that is
// called like a due time, or adds a duration to a time.
func (p typedPackage) namesDueTime(expr ast.Expr) bool {
	return p.namesTime(expr, func(ident *ast.Ident) bool {
		return p.isTimeAdd(ident) || isDueName(ident.Name)
	})
}

// namesPresent reports whether an expression names the present.
func (p typedPackage) namesPresent(expr ast.Expr) bool {
	fields := map[*ast.Ident]bool{}
	ast.Inspect(expr, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			fields[selector.Sel] = true
		}
		return true
	})
	return p.namesTime(expr, func(ident *ast.Ident) bool {
		return strings.EqualFold(ident.Name, "now") || ident.Name == "at" && !fields[ident]
	})
}

// namesTime reports whether an identifier in expr fits that stands for a time
// or a duration, or for a function that returns one.
func (p typedPackage) namesTime(expr ast.Expr, fits func(*ast.Ident) bool) bool {
	found := false
	ast.Inspect(expr, func(node ast.Node) bool {
		ident, ok := node.(*ast.Ident)
		if ok && p.standsForTime(ident) && fits(ident) {
			found = true
		}
		return !found
	})
	return found
}

func (p typedPackage) standsForTime(ident *ast.Ident) bool {
	object := p.info.Uses[ident]
	if object == nil || object.Type() == nil {
		return false
	}
	found := object.Type()
	if fn, ok := found.Underlying().(*types.Signature); ok {
		if fn.Results().Len() == 0 {
			return false
		}
		found = fn.Results().At(0).Type()
	}
	return isTimeType(found, "Time") || isTimeType(found, "Duration")
}

func (p typedPackage) isTimeAdd(ident *ast.Ident) bool {
	method, ok := p.info.Uses[ident].(*types.Func)
	return ok && method.FullName() == "(time.Time).Add"
}

// isTime reports whether an expression is of that type of package time, or, as
// metav1.Time is, of a struct that embeds it.
func (p typedPackage) isTime(expr ast.Expr, name string) bool {
	return isTimeType(p.info.Types[expr].Type, name)
}

func isTimeType(t types.Type, name string) bool {
	if pointer, ok := t.(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return false
	}
	if object := named.Obj(); object.Name() == name && object.Pkg() != nil &&
		object.Pkg().Path() == "time" {
		return true
	}
	fields, ok := named.Underlying().(*types.Struct)
	return ok && fields.NumFields() == 1 && fields.Field(0).Embedded() &&
		isTimeType(fields.Field(0).Type(), name)
}

// isDueName reports whether a name says that something becomes due then.
func isDueName(name string) bool {
	words := camelWords(name)
	if slices.ContainsFunc(words, func(word string) bool { return slices.Contains(dueWords, word) }) {
		return true
	}
	joined := strings.Join(words, "")
	return slices.ContainsFunc(duePhrases,
		func(phrase string) bool { return strings.Contains(joined, phrase) })
}

// camelWords splits a name at its capitals; the words are in lower case.
func camelWords(name string) []string {
	var words []string
	start := 0
	runes := []rune(name)
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1]) {
			words = append(words, strings.ToLower(string(runes[start:i])))
			start = i
		}
	}
	return words
}

// isHeap reports whether a type orders its elements and swaps them, under
// exported names or not. What is only sorted needs no type of its own.
func isHeap(t types.Type) bool {
	methods := types.NewMethodSet(types.NewPointer(t))
	less, swap := false, false
	for method := range methods.Methods() {
		name := method.Obj().Name()
		less = less || strings.EqualFold(name, "less")
		swap = swap || strings.EqualFold(name, "swap")
	}
	return less && swap
}

// declaredName is how a list of exceptions names a declaration: a function's
// name, a method's with its type in front, "import", or the first name.
func declaredName(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return d.Name.Name
		}
		return receiverName(d.Recv.List[0].Type) + "." + d.Name.Name
	case *ast.GenDecl:
		if d.Tok == token.IMPORT {
			return "import"
		}
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				return s.Name.Name
			case *ast.ValueSpec:
				return s.Names[0].Name
			}
		}
	}
	return ""
}

func receiverName(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
