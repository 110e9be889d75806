package architecture

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// A caller of one core knows how the next one is made.
func TestConstructorsOfCoresAreAlike(t *testing.T) {
	var findings []placedFinding
	for _, folder := range typedFolders(t, nil) {
		findings = append(findings, checkConstructors(readTyped(t, folder), edgeFiles)...)
	}
	report(t, checkExceptions("unlikeConstructors", unlikeConstructors, findings))
}

// checkConstructors reports exported functions New... of a core that leave the
// convention: a config first, then now if time matters, and (T, error) back.
func checkConstructors(p typedPackage, edges map[string]string) []placedFinding {
	var findings []placedFinding
	for _, src := range p.sources {
		if _, edge := edges[src.path]; edge {
			continue
		}
		for _, decl := range src.file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil {
				continue
			}
			for _, complaint := range constructorComplaints(p, fn) {
				place := p.folder + " " + fn.Name.Name
				findings = append(findings, placedFinding{place, p.at(fn.Pos(), fn.Name.Name+" "+complaint)})
			}
		}
	}
	return findings
}

func constructorComplaints(p typedPackage, fn *ast.FuncDecl) []string {
	made, ok := strings.CutPrefix(fn.Name.Name, "New")
	if !ok || made != "" && !startsWord(made) {
		return nil
	}
	var complaints []string
	if made == "" {
		complaints = append(complaints, "does not say what it makes: want NewX")
	}
	signature, ok := p.info.Defs[fn.Name].Type().(*types.Signature)
	if !ok {
		return complaints
	}
	if !returnsValueAndError(p, signature.Results()) {
		complaints = append(complaints, "does not return (T, error) or (*T, error)")
	}
	return append(complaints, parameterComplaints(made, signature.Params())...)
}

func returnsValueAndError(p typedPackage, results *types.Tuple) bool {
	failure := types.Universe.Lookup("error").Type()
	if results.Len() != 2 || !types.Identical(results.At(1).Type(), failure) {
		return false
	}
	named := namedType(results.At(0).Type())
	return named != nil && named.Obj().Pkg() == p.pkg
}

func parameterComplaints(made string, params *types.Tuple) []string {
	var complaints []string
	if params.Len() == 0 || !isConfig(params.At(0).Type(), made) {
		complaints = append(complaints, fmt.Sprintf("does not take a struct Config or %sConfig first",
			made))
	}
	for i := range params.Len() {
		param := params.At(i)
		if isTimeType(param.Type(), "Time") && (i != 1 || param.Name() != "now") {
			complaints = append(complaints, "takes a time that is not its second parameter, now")
		}
	}
	return complaints
}

func isConfig(t types.Type, made string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return false
	}
	_, isStruct := named.Underlying().(*types.Struct)
	return isStruct && slices.Contains([]string{"Config", made + "Config"}, named.Obj().Name())
}

// namedType returns the named type that t is or points to, or nil.
func namedType(t types.Type) *types.Named {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}
