package architecture

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A caller of one package knows how the things of the next one are made and
// driven.
func TestConventions(t *testing.T) {
	rooms := roomFiles(t)
	all := append(slices.Clone(rooms), files(t, reducers...)...)
	t.Run("constructors are alike", func(t *testing.T) { report(t, checkConstructors(rooms), unlikeConstructors) })
	t.Run("constructors refuse a zero now", func(t *testing.T) { report(t, checkZeroNow(all), nil) })
	t.Run("Validate joins all problems", func(t *testing.T) { report(t, checkValidate(all), nil) })
	t.Run("enums carry the name of their type", func(t *testing.T) { report(t, checkEnums(rooms), unprefixedEnums) })
	t.Run("nothing is global", func(t *testing.T) { report(t, checkGlobals(rooms), nil) })
	t.Run("cores take now first", func(t *testing.T) {
		acts := func(src source) bool { return edgeFiles[src.path] != "" }
		report(t, checkNowFirst(slices.DeleteFunc(all, acts)), nil)
	})
}

func TestConventionChecksSeeWhatLeavesThem(t *testing.T) {
	expect(t, "constructors.go", checkConstructors)
	expect(t, "zeronow.go", checkZeroNow)
	expect(t, "validate.go", checkValidate)
	expect(t, "enums.go", checkEnums)
	expect(t, "globals.go", checkGlobals)
	expect(t, "nowfirst.go", checkNowFirst)
}

// function is an exported function, or an exported method of an exported type.
type function struct {
	source
	*ast.FuncDecl
	receiver  string // "" for a function
	name      string
	signature string // like "func(now time.Time) error"
}

// functions returns those of all sources.
func functions(sources []source) []function {
	var all []function
	for _, src := range sources {
		for _, decl := range src.file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				continue
			}
			f := function{src, fn, receiverName(fn), fn.Name.Name, types.ExprString(fn.Type)}
			if f.receiver == "" || token.IsExported(f.receiver) {
				all = append(all, f)
			}
		}
	}
	return all
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
	all := functions(sources)
	for _, f := range all {
		made, constructs := strings.CutPrefix(f.name, "New")
		if !constructs || f.receiver != "" || made != "" && !startsWord(made) {
			continue
		}
		parts := constructor.FindStringSubmatch(f.signature)
		validates := func(other function) bool {
			return other.folder() == f.folder() && other.name == "Validate" && other.receiver == parts[1]
		}
		complaint := ""
		switch {
		case made == "":
			complaint = "does not say what it makes"
		case parts == nil || strings.Contains(parts[4], "time.Time") || parts[1] != "Config" && parts[1] != made+"Config":
			complaint = "has the signature " + f.signature
		case !slices.ContainsFunc(all, validates):
			complaint = "takes a " + parts[1] + " without a method Validate"
		}
		if complaint != "" {
			findings = append(findings, f.at(f, "%s %s; want New%s(config Config or %sConfig, now time.Time) (*%s, error)",
				f.name, complaint, made, made, made))
		}
	}
	return findings
}

// startsWord reports whether the rest of a name begins with a capital or a
// digit.
func startsWord(rest string) bool {
	return rest != "" && (rest[0] >= 'A' && rest[0] <= 'Z' || rest[0] >= '0' && rest[0] <= '9')
}

// refusal is how a constructor refuses a zero now: itself, or by a function
// whose error it returns.
var refusal = regexp.MustCompile(`now\.IsZero\(\)|(?m)^\s*((if )?\w[\w.]*, err(s\[\d\])? :?=|return) [\w.]+(\[.*\])?\(.*\bnow\)$`)

func checkZeroNow(sources []source) []finding {
	var findings []finding
	for _, f := range functions(sources) {
		takesNow := f.receiver == "" && strings.HasPrefix(f.name, "New") && strings.Contains(f.signature, "now time.Time")
		if takesNow && !refusal.MatchString(f.textOf(f.Body)) {
			findings = append(findings, f.at(f, "%s accepts a zero now; want an error", f.name))
		}
	}
	return findings
}

var (
	// turn is the name of a core's method that takes a turn of it.
	turn     = regexp.MustCompile(`^((Observe|Forget)([A-Z].*)?|Start|Finish|Next|Evaluate)$`)
	nowFirst = regexp.MustCompile(`^func\(now(, \w+)* time\.Time`)
)

func checkNowFirst(sources []source) []finding {
	var findings []finding
	for _, f := range functions(sources) {
		if f.receiver != "" && turn.MatchString(f.name) && !nowFirst.MatchString(f.signature) {
			findings = append(findings, f.at(f, "%s.%s does not take now, a time.Time, first", f.receiver, f.name))
		}
	}
	return findings
}

// checkValidate reports methods Validate with several failing returns that are
// no errors.Join: such a method returns the first problem only.
func checkValidate(sources []source) []finding {
	var findings []finding
	for _, f := range functions(sources) {
		if f.receiver == "" || f.name != "Validate" {
			continue
		}
		failing, unjoined := 0, false
		ast.Inspect(f.Body, func(node ast.Node) bool {
			if returned, ok := node.(*ast.ReturnStmt); ok && f.textOf(returned) != "return nil" {
				failing++
				unjoined = unjoined || !strings.HasPrefix(f.textOf(returned), "return errors.Join(")
			}
			_, inner := node.(*ast.FuncLit)
			return !inner
		})
		if failing > 1 && unjoined {
			findings = append(findings, f.at(f, "%s.Validate has %d failing returns; want errors.Join of all problems",
				f.receiver, failing))
		}
	}
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
		if constant.Type != nil || constant.Values != nil { // else it goes on with iota
			enum = declaredType(constant)
		}
		if !enumKind.MatchString(kinds[src.folder()+"."+enum]) || !token.IsExported(enum) {
			return
		}
		last := lastWord.FindString(enum)
		for _, name := range constant.Names {
			begins := func(prefix string) bool {
				rest, ok := strings.CutPrefix(name.Name, prefix)
				return ok && prefix != "" && startsWord(rest)
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

// declaredType returns the type of a constant that its declaration or a
// conversion names, else "".
func declaredType(constant *ast.ValueSpec) string {
	if constant.Type != nil {
		return types.ExprString(constant.Type)
	}
	if call, ok := constant.Values[0].(*ast.CallExpr); ok {
		return types.ExprString(call.Fun)
	}
	return ""
}

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
