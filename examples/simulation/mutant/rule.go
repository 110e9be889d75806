package mutant

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"reflect"
	"strings"
)

// A rule says what stands in the place of expressions or statements.
type rule struct {
	pattern     []ast.Stmt
	replacement []ast.Stmt
	text        string // of the replacement
	// named are the names that receivers and parameters have in the source, by
	// those that they have in the rule.
	named map[string]string
}

// A place is one that the pattern of a rule fits.
type place struct {
	rule     *rule // nil compares as written: no name stands for another
	from, to ast.Node
	bound    map[string]ast.Node // by the small letter of the rule
}

func parseRule(text string, named map[string]string) (*rule, error) {
	pattern, replacement, ok := strings.Cut(text, "->")
	if !ok {
		return nil, fmt.Errorf("rule %q has no ->", text)
	}
	r := &rule{text: strings.TrimSpace(replacement), named: named}
	var err error
	if r.pattern, err = parseStatements(pattern); err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	if r.replacement, err = parseStatements(r.text); err != nil {
		return nil, fmt.Errorf("replacement: %w", err)
	}
	if len(r.pattern) == 0 {
		return nil, errors.New("the pattern is empty")
	}
	return r, nil
}

// opening stands before statements, so that they are a function.
const opening = "func _() {"

func parseStatements(text string) ([]ast.Stmt, error) {
	function, err := parseFunction(opening + text + "\n}")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.TrimSpace(text), err)
	}
	return function.Body.List, nil
}

// expression returns the expression that the statements are, or nil.
func expression(statements []ast.Stmt) ast.Expr {
	if len(statements) != 1 {
		return nil
	}
	if only, ok := statements[0].(*ast.ExprStmt); ok {
		return only.X
	}
	return nil
}

// places returns all places of a function that the pattern fits, in order.
func (r *rule) places(body *ast.BlockStmt) []place {
	var all []place
	try := func(pattern, source any, from, to ast.Node) {
		p := place{r, from, to, make(map[string]ast.Node)}
		if p.fits(reflect.ValueOf(pattern), reflect.ValueOf(source)) {
			all = append(all, p)
		}
	}
	wanted := expression(r.pattern)
	if expression(r.replacement) == nil {
		wanted = nil
	}
	tryStatements := func(list []ast.Stmt) {
		for n := len(r.pattern); wanted == nil && len(list) >= n; list = list[1:] {
			try(r.pattern, list[:n:n], list[0], list[n-1])
		}
	}
	fields := make(map[ast.Node]bool)
	ast.Inspect(body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BlockStmt:
			tryStatements(node.List)
		case *ast.CaseClause:
			tryStatements(node.Body)
		case *ast.CommClause:
			tryStatements(node.Body)
		case *ast.SelectorExpr:
			fields[node.Sel] = true
		}
		if source, ok := node.(ast.Expr); ok && wanted != nil && !fields[node] {
			try(wanted, source, node, node)
		}
		return true
	})
	return all
}

// fits reports whether a part of the pattern fits a part of the source. White
// space does not count, and comments are not parsed.
func (p *place) fits(pattern, source reflect.Value) bool {
	if pattern.Kind() == reflect.Interface {
		pattern, source = pattern.Elem(), source.Elem()
	}
	if !pattern.IsValid() || !source.IsValid() {
		return pattern.IsValid() == source.IsValid()
	}
	switch part := pattern.Interface().(type) {
	case *ast.Ident:
		if part != nil && p.isVariable(part.Name) {
			node, ok := reflect.TypeAssert[ast.Expr](source)
			return ok && !source.IsNil() && p.binds(part.Name, node)
		}
	case *ast.SelectorExpr: // a field or a method has its own name
		other, ok := reflect.TypeAssert[*ast.SelectorExpr](source)
		return ok && part.Sel.Name == other.Sel.Name &&
			p.fits(reflect.ValueOf(part.X), reflect.ValueOf(other.X))
	case token.Pos: // whether it is there counts: the dots of a call have only that
		return pattern.IsZero() == source.IsZero()
	}
	return pattern.Type() == source.Type() && p.partsFit(pattern, source)
}

// partsFit does the same for all parts of two that have one type.
func (p *place) partsFit(pattern, source reflect.Value) bool {
	switch pattern.Kind() {
	case reflect.Pointer:
		return p.fits(pattern.Elem(), source.Elem())
	case reflect.Slice:
		for i := range min(pattern.Len(), source.Len()) {
			if !p.fits(pattern.Index(i), source.Index(i)) {
				return false
			}
		}
		return pattern.Len() == source.Len()
	case reflect.Struct:
		for i := range pattern.NumField() {
			if !p.fits(pattern.Field(i), source.Field(i)) {
				return false
			}
		}
		return true
	default:
		return pattern.Equal(source)
	}
}

// isVariable reports whether a name of the pattern is another in the source.
func (p *place) isVariable(name string) bool {
	isLetter := len(name) == 1 && 'a' <= name[0] && name[0] <= 'z'
	return p.rule != nil && (isLetter || p.rule.named[name] != "")
}

// binds reports whether a name of the pattern can stand for an expression.
func (p *place) binds(name string, node ast.Expr) bool {
	if local := p.rule.named[name]; local != "" {
		ident, ok := node.(*ast.Ident)
		return ok && ident.Name == local
	}
	former, known := p.bound[name]
	if !known {
		p.bound[name] = node
		return true
	}
	return new(place).fits(reflect.ValueOf(former), reflect.ValueOf(node))
}

// text returns what stands in the place, with the parts of the source that the
// small letters of the rule stand for.
func (p *place) text(textOf func(ast.Node) string) string {
	text, done := "", 0
	fields := make(map[ast.Node]bool)
	for _, statement := range p.rule.replacement {
		ast.Inspect(statement, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.SelectorExpr:
				fields[node.Sel] = true
			case *ast.Ident:
				instead := p.rule.named[node.Name]
				if bound := p.bound[node.Name]; bound != nil {
					instead = enclosed(bound, textOf(bound))
				}
				if instead == "" || fields[node] {
					break
				}
				at := int(node.Pos()) - 1 - len(clause+opening)
				text += p.rule.text[done:at] + instead
				done = at + len(node.Name)
			}
			return true
		})
	}
	text += p.rule.text[done:]
	if whole := expression(p.rule.replacement); whole != nil {
		return enclosed(whole, text)
	}
	return text
}

// enclosed puts an expression with an operator into parentheses, so that it
// stays one expression wherever it stands.
func enclosed(node ast.Node, text string) string {
	switch node.(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr, *ast.StarExpr:
		return "(" + text + ")"
	}
	return text
}
