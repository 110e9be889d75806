package architecture

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"testing"
)

// One heap, one backoff and one comparison of due times with the present are in
// timedqueue. The rooms and reducers of queueUsers put what waits into a Queue.
func TestWhatWaitsWaitsInAQueue(t *testing.T) {
	report(t, checkEngine(files(t, queueUsers...)), engineExceptions)
}

func TestEngineCheckSeesWhatWaits(t *testing.T) { expect(t, "engine.go", checkEngine) }

// checkEngine reports what only the one engine does.
func checkEngine(sources []source) []finding {
	var findings []finding
	heapMethods := map[string]int{} // less and swap, by folder and type
	inspect(sources, func(src source, node ast.Node) {
		complaint := engineComplaint(src, node)
		if fn, ok := node.(*ast.FuncDecl); ok && heapMethod.MatchString(fn.Name.Name) {
			of := src.folder() + "." + receiverName(fn)
			if heapMethods[of]++; heapMethods[of] == 2 { // an order alone is for sorting
				complaint = of + " is a heap: what waits for a time waits in a timedqueue.Queue"
			}
		}
		if complaint != "" {
			findings = append(findings, src.at(node, "%s", complaint))
		}
	})
	return findings
}

var heapMethod = regexp.MustCompile(`^(?i:less|swap)$`)

// engineComplaint says what is wrong with one node, "" when nothing is.
func engineComplaint(src source, node ast.Node) string {
	const growth = "grows a pause, or a number: a timedqueue.Backoff does that for pauses"
	switch n := node.(type) {
	case *ast.ImportSpec:
		if importPath(n) == "container/heap" {
			return "imports container/heap: what waits for a time waits in a timedqueue.Queue"
		}
	case *ast.SelectorExpr:
		imported, name := src.selected(n)
		if imported == "math" && slices.Contains([]string{"Exp", "Exp2", "Ldexp", "Pow"}, name) {
			return growth
		}
	case *ast.AssignStmt:
		if n.Tok == token.SHL_ASSIGN || n.Tok == token.MUL_ASSIGN {
			return growth
		}
	case *ast.BinaryExpr:
		switch n.Op {
		case token.SHL: // of a variable; constants and conversions make numbers
			switch n.X.(type) {
			case *ast.Ident, *ast.SelectorExpr:
				return growth
			}
		case token.LSS, token.LEQ, token.GTR, token.GEQ:
			whole := types.ExprString(n)
			return comparisonComplaint(whole, whole)
		}
	case *ast.CallExpr:
		method, ok := n.Fun.(*ast.SelectorExpr)
		compares := []string{"Before", "After", "Compare", "Equal"}
		if ok && len(n.Args) == 1 && slices.Contains(compares, method.Sel.Name) {
			return comparisonComplaint(types.ExprString(method.X), types.ExprString(n.Args[0]))
		}
	}
	return ""
}

var (
	// dueTime finds the name of a time at which something becomes due, and a time
	// to which something is added.
	dueTime = regexp.MustCompile(`(\b(due|deadline|end|expires|expiry|wake)|` +
		`Due|Deadline|End|Expires|Expiry|Wake)([A-Z]|\b)|(?i:nextAttempt|notBefore|retryAt)|\.Add\(`)
	// present finds names of the present. A field at is of something past.
	present = regexp.MustCompile(`\b(now|Now)\b|(^|[^.\w])at\b`)
)

func comparisonComplaint(left, right string) string {
	if dueTime.MatchString(left) && present.MatchString(right) ||
		present.MatchString(left) && dueTime.MatchString(right) {
		return "compares a due time with the present: timedqueue does that"
	}
	return ""
}
