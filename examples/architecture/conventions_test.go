package architecture

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// A caller learns of all mistakes in a config at once.
func TestValidateJoinsAllProblems(t *testing.T) {
	for _, folder := range typedFolders(t, typedPrograms) {
		report(t, checkValidate(readTyped(t, folder)))
	}
}

// A core that starts at the zero time would find everything due.
func TestConstructorsRefuseAZeroNow(t *testing.T) {
	for _, folder := range typedFolders(t, typedPrograms) {
		report(t, checkZeroNow(readTyped(t, folder)))
	}
}

// A caller of one core knows the parameters of the next one.
func TestCoresTakeNowFirst(t *testing.T) {
	for _, folder := range typedFolders(t, typedPrograms) {
		report(t, checkNowFirst(readTyped(t, folder), edgeFiles))
	}
}

// functions returns the exported functions and methods of exported types.
func functions(p typedPackage) []*ast.FuncDecl {
	var found []*ast.FuncDecl
	for _, src := range p.sources {
		for _, decl := range src.file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Name.IsExported() && fn.Body != nil &&
				(fn.Recv == nil || receiver(p, fn).Exported()) {
				found = append(found, fn)
			}
		}
	}
	return found
}

// receiver returns the name of the type whose method a function is.
func receiver(p typedPackage, fn *ast.FuncDecl) *types.TypeName {
	signature := p.info.Defs[fn.Name].Type().(*types.Signature)
	return namedType(signature.Recv().Type()).Obj()
}

// checkValidate reports methods Validate with several failing returns that are
// no errors.Join: such a method returns the first problem only.
func checkValidate(p typedPackage) []string {
	var findings []string
	for _, fn := range functions(p) {
		if fn.Recv == nil || fn.Name.Name != "Validate" {
			continue
		}
		failing := failingReturns(fn)
		unjoined := slices.ContainsFunc(failing, func(e ast.Expr) bool { return !isJoin(e) })
		if len(failing) > 1 && unjoined {
			findings = append(findings, p.at(fn.Pos(), fmt.Sprintf(
				"%s.Validate has %d failing returns; want errors.Join of all problems",
				receiver(p, fn).Name(), len(failing))))
		}
	}
	return findings
}

// failingReturns are what a function returns, except nil.
func failingReturns(fn *ast.FuncDecl) []ast.Expr {
	var failing []ast.Expr
	ast.Inspect(fn.Body, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			for _, result := range n.Results {
				if ident, ok := result.(*ast.Ident); !ok || ident.Name != "nil" {
					failing = append(failing, result)
				}
			}
		}
		return true
	})
	return failing
}

func isJoin(value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return false
	}
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	left, ok := fn.X.(*ast.Ident)
	return ok && left.Name == "errors" && fn.Sel.Name == "Join"
}

// checkZeroNow reports constructors with a parameter now that neither call
// now.IsZero nor pass now on to a function that returns an error.
func checkZeroNow(p typedPackage) []string {
	var findings []string
	for _, fn := range functions(p) {
		if fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "New") {
			continue
		}
		now := nowParameter(p, fn)
		if now == nil || refusesZero(p, fn, now) {
			continue
		}
		findings = append(findings,
			p.at(fn.Pos(), fn.Name.Name+" accepts a zero now; want an error"))
	}
	return findings
}

func nowParameter(p typedPackage, fn *ast.FuncDecl) types.Object {
	signature := p.info.Defs[fn.Name].Type().(*types.Signature)
	for param := range signature.Params().Variables() {
		if param.Name() == "now" && isTimeType(param.Type(), "Time") {
			return param
		}
	}
	return nil
}

func refusesZero(p typedPackage, fn *ast.FuncDecl, now types.Object) bool {
	isNow := func(e ast.Expr) bool {
		ident, ok := e.(*ast.Ident)
		return ok && p.info.Uses[ident] == now
	}
	refuses := false
	ast.Inspect(fn.Body, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		if method, ok := call.Fun.(*ast.SelectorExpr); ok && isNow(method.X) && method.Sel.Name == "IsZero" {
			refuses = true
		}
		if slices.ContainsFunc(call.Args, isNow) && mayFail(p, call) {
			refuses = true
		}
		return true
	})
	return refuses
}

// mayFail reports whether a call returns an error.
func mayFail(p typedPackage, call *ast.CallExpr) bool {
	signature, ok := p.info.TypeOf(call.Fun).(*types.Signature)
	if !ok {
		return false
	}
	failure := types.Universe.Lookup("error").Type()
	for result := range signature.Results().Variables() {
		if types.Identical(result.Type(), failure) {
			return true
		}
	}
	return false
}

// turnMethods are the methods of a core that take a turn of it. Observe and
// Forget may have a noun after them.
var turnMethods = []string{"Start", "Finish", "Next", "Evaluate"}

// checkNowFirst reports methods of cores that take a turn, and do not take now
// first.
func checkNowFirst(p typedPackage, edges map[string]string) []string {
	var findings []string
	for _, fn := range functions(p) {
		_, edge := edges[p.fileOf(fn.Pos())]
		if fn.Recv == nil || edge || !takesTurn(fn.Name.Name) {
			continue
		}
		params := p.info.Defs[fn.Name].Type().(*types.Signature).Params()
		if params.Len() == 0 || params.At(0).Name() != "now" || !isTimeType(params.At(0).Type(), "Time") {
			findings = append(findings, p.at(fn.Pos(), fmt.Sprintf(
				"%s.%s does not take now, a time.Time, first", receiver(p, fn).Name(), fn.Name.Name)))
		}
	}
	return findings
}

func takesTurn(name string) bool {
	for _, verb := range []string{"Observe", "Forget"} {
		if rest, ok := strings.CutPrefix(name, verb); ok && (rest == "" || startsWord(rest)) {
			return true
		}
	}
	return slices.Contains(turnMethods, name)
}
