package architecture

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strings"
	"testing"
)

// A caller of one package knows how the things of the next one are made.
func TestConstructorsAreAlike(t *testing.T) {
	report(t, checkConstructors(roomFiles(t)), unlikeConstructors)
}

// A caller learns of all mistakes in a config at once.
func TestValidateJoinsAllProblems(t *testing.T) {
	report(t, checkValidate(append(roomFiles(t), files(t, reducers...)...)), nil)
}

// A reader of another package knows what OutcomeDone is a value of.
func TestExportedEnumsCarryTheNameOfTheirType(t *testing.T) {
	report(t, checkEnums(roomFiles(t)), unprefixedEnums)
}

// Importers cannot change a package for one another.
func TestNothingIsGlobal(t *testing.T) { report(t, checkGlobals(roomFiles(t)), nil) }

func TestConventionChecksSeeWhatLeavesThem(t *testing.T) {
	expect(t, "constructors.go", checkConstructors)
	expect(t, "validate.go", checkValidate)
	expect(t, "enums.go", checkEnums)
	expect(t, "globals.go", checkGlobals)
}

var typeArguments = regexp.MustCompile(`\[.*`)

// receiverName is the name of the type that has a method, "" for a function.
func receiverName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	name := types.ExprString(fn.Recv.List[0].Type)
	return typeArguments.ReplaceAllString(strings.TrimPrefix(name, "*"), "")
}

// constructor is the signature of one: a config first, then now if time
// matters, and (T, error) or (*T, error) back, with a T of the same package.
var constructor = regexp.MustCompile(`^func\(config (\w+)(\[[^]]*\])?(, now time\.Time)?((, \w+ .*)?)\) ` +
	`\(\*?[A-Z]\w*(\[[^]]*\])?, error\)$`)

// checkConstructors reports exported functions New... that leave the
// convention, and such whose config cannot be validated.
func checkConstructors(sources []source) []finding {
	var findings []finding
	validated := map[string]bool{} // types, by folder and name
	inspect(sources, func(src source, node ast.Node) {
		if fn, ok := node.(*ast.FuncDecl); ok && fn.Name.Name == "Validate" {
			validated[src.folder()+"."+receiverName(fn)] = true
		}
	})
	inspect(sources, func(src source, node ast.Node) {
		fn, ok := node.(*ast.FuncDecl)
		if !ok || fn.Recv != nil {
			return
		}
		made, constructs := strings.CutPrefix(fn.Name.Name, "New")
		if !constructs || made != "" && !word.MatchString(made) {
			return
		}
		signature := types.ExprString(fn.Type)
		parts := constructor.FindStringSubmatch(signature)
		var complaint string
		switch {
		case made == "":
			complaint = "does not say what it makes"
		case parts == nil || strings.Contains(parts[4], "time.Time") || parts[1] != "Config" && parts[1] != made+"Config":
			complaint = "has the signature " + signature
		case !validated[src.folder()+"."+parts[1]]:
			complaint = "takes a " + parts[1] + " without a method Validate"
		default:
			return
		}
		findings = append(findings, src.at(fn, "%s %s; want NewX(config XConfig or Config, now time.Time) (*X, error)",
			fn.Name.Name, complaint))
	})
	return findings
}

// word is the beginning of the next word of a name.
var word = regexp.MustCompile(`^[A-Z0-9]`)

// checkValidate reports methods Validate with several failing returns that are
// no errors.Join: such a method returns the first problem only.
func checkValidate(sources []source) []finding {
	var findings []finding
	inspect(sources, func(src source, node ast.Node) {
		fn, ok := node.(*ast.FuncDecl)
		if !ok || fn.Name.Name != "Validate" || !token.IsExported(receiverName(fn)) {
			return
		}
		failing, unjoined := 0, false
		ast.Inspect(fn.Body, func(node ast.Node) bool {
			if returned, ok := node.(*ast.ReturnStmt); ok && src.textOf(returned) != "return nil" {
				failing++
				unjoined = unjoined || !strings.HasPrefix(src.textOf(returned), "return errors.Join(")
			}
			_, inner := node.(*ast.FuncLit)
			return !inner
		})
		if failing > 1 && unjoined {
			findings = append(findings, src.at(fn, "%s.Validate has %d failing returns; want errors.Join of all problems",
				receiverName(fn), failing))
		}
	})
	return findings
}

// checkEnums reports exported constants of an exported type of strings or
// integers. Their names must begin with that of the type, its last word or what
// precedes that. Those of WaitReason begin with WaitReason, Reason or Wait.
func checkEnums(sources []source) []finding {
	var findings []finding
	kinds := map[string]string{} // of types, by folder and name
	inspect(sources, func(src source, node ast.Node) {
		if spec, ok := node.(*ast.TypeSpec); ok {
			kinds[src.folder()+"."+spec.Name.Name] = types.ExprString(spec.Type)
		}
	})
	enum := ""
	inspect(sources, func(src source, node ast.Node) {
		constant, ok := node.(*ast.ValueSpec)
		if !ok {
			return
		}
		if constant.Type != nil {
			enum = types.ExprString(constant.Type)
		} else if constant.Values != nil { // without either it goes on with iota
			enum = ""
		}
		if !enumKind.MatchString(kinds[src.folder()+"."+enum]) || !token.IsExported(enum) {
			return
		}
		last := lastWord.FindString(enum)
		for _, name := range constant.Names {
			begins := func(prefix string) bool {
				rest, ok := strings.CutPrefix(name.Name, prefix)
				return ok && prefix != "" && word.MatchString(rest)
			}
			if name.IsExported() && !begins(enum) && !begins(last) && !begins(strings.TrimSuffix(enum, last)) {
				findings = append(findings, src.at(name, "constant %s does not begin with its type, %s", name.Name, enum))
			}
		}
	})
	return findings
}

var (
	enumKind = regexp.MustCompile(`^(string|u?int(8|16|32|64)?)$`)
	lastWord = regexp.MustCompile(`[A-Z][^A-Z]*$`)
)

// checkGlobals reports init functions, which run whether wanted or not, and
// variables that every importer could change for all others.
func checkGlobals(sources []source) []finding {
	var findings []finding
	for _, src := range sources {
		for _, decl := range src.file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				findings = append(findings, src.at(fn, "an init function"))
			}
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				variables := spec.(*ast.ValueSpec) // a var declaration holds nothing else
				for i, name := range variables.Names {
					sentinel := i < len(variables.Values) &&
						strings.HasPrefix(src.textOf(variables.Values[i]), "errors.New(")
					if name.IsExported() && !sentinel {
						findings = append(findings, src.at(name, "%s: only errors made by errors.New may be exported variables",
							name.Name))
					}
				}
			}
		}
	}
	return findings
}
