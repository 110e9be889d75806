package architecture

import (
	"cmp"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// Time is an argument of what decides, and a simulator drives it.
func TestCoresOnlyDecide(t *testing.T) {
	acts := func(src source) bool { return edgeFiles[src.path] != "" }
	files(t, programEdges...) // they exist
	report(t, checkCore(slices.DeleteFunc(roomFiles(t), acts)), nil)
	report(t, checkCore(slices.DeleteFunc(files(t, programCores...), isProgramEdge)), nil)
}

// A simulator drives these edges, so they neither wait nor read a clock. They
// may take a context, to pass it on, and name what client-go has.
func TestTimelessEdgesOnlyCallOut(t *testing.T) {
	calls := func(f finding) bool {
		return strings.Contains(f.text, "imports k8s.io/client-go") || strings.Contains(f.text, "takes a context")
	}
	report(t, slices.DeleteFunc(checkCore(files(t, timelessEdges...)), calls), nil)
}

func isProgramEdge(src source) bool {
	return slices.ContainsFunc(programEdges, func(edge string) bool { return below(src.path, edge) })
}

// An entry whose file is gone, or would pass as a core, has outlived its
// reason.
func TestEdgeTableHoldsNothingStale(t *testing.T) {
	for name, reason := range edgeFiles {
		if len(checkCore(files(t, name))) == 0 || reason == "" {
			t.Errorf("edgeFiles lists %s, which does nothing that a core may not, or has no reason", name)
		}
	}
}

func TestCoreCheckSeesWhatActs(t *testing.T) { expect(t, "core.go", checkCore) }

// checkCore reports what a file that only decides may not do.
func checkCore(sources []source) []finding {
	var findings []finding
	for _, src := range sources {
		ast.Inspect(src.file, func(node ast.Node) bool {
			if isSilentLogger(src, node) {
				return false
			}
			complaint := cmp.Or(importsComplaint(node), contextComplaint(src, node), coreComplaint(src, node))
			if complaint != "" {
				findings = append(findings, src.at(node, "a core %s", complaint))
			}
			return true
		})
	}
	return findings
}

// isSilentLogger recognizes klog.Logger{}, which logs nothing. Some pure
// functions of k8s.io/component-helpers want a logger.
func isSilentLogger(src source, node ast.Node) bool {
	literal, ok := node.(*ast.CompositeLit)
	if !ok {
		return false
	}
	imported, name := src.selected(literal.Type)
	return imported == "k8s.io/klog/v2" && name == "Logger"
}

func importsComplaint(node ast.Node) string {
	spec, ok := node.(*ast.ImportSpec)
	if !ok {
		return ""
	}
	if spec.Name != nil && (spec.Name.Name == "." || spec.Name.Name == "_") {
		return "imports as " + spec.Name.Name + ", which hides what it uses"
	}
	for brings, paths := range coreImports {
		if slices.ContainsFunc(paths, func(path string) bool { return below(importPath(spec), path) }) {
			return "imports " + importPath(spec) + ", which brings in " + brings
		}
	}
	return ""
}

// coreComplaint says what is wrong with one node, "" when nothing is.
func coreComplaint(src source, node ast.Node) string {
	switch n := node.(type) {
	case *ast.GoStmt:
		return "starts a goroutine"
	case *ast.SelectStmt:
		return "selects on channels"
	case *ast.SendStmt:
		return "sends on a channel"
	case *ast.ChanType:
		return "has a channel"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "receives from a channel"
		}
	case *ast.CallExpr:
		if fn, ok := n.Fun.(*ast.Ident); ok && (fn.Name == "print" || fn.Name == "println") {
			return "prints"
		}
	case *ast.SelectorExpr:
		imported, name := src.selected(n)
		denied, only := deniedNames[imported], onlyNames[imported]
		if denied != nil && denied.MatchString(name) || only != nil && !only.MatchString(name) {
			return "uses " + name + " of " + imported
		}
	}
	return ""
}

// contextComplaint is about functions with a body. An interface or a callback
// type that an edge will call may name a context in a core.
func contextComplaint(src source, node ast.Node) string {
	var params *ast.FieldList
	switch n := node.(type) {
	case *ast.FuncDecl:
		params = n.Type.Params
	case *ast.FuncLit:
		params = n.Type.Params
	default:
		return ""
	}
	for _, param := range params.List {
		if imported, _ := src.selected(param.Type); imported == "context" {
			return "takes a context, as if it waited or called out"
		}
	}
	return ""
}
