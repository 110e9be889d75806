package architecture

import (
	"fmt"
	"go/types"
	"strings"
	"testing"
)

// A reader of another package knows what OutcomeDone is a value of.
func TestExportedEnumsCarryTheNameOfTheirType(t *testing.T) {
	var findings []placedFinding
	for _, folder := range typedFolders(t, nil) {
		findings = append(findings, checkEnums(readTyped(t, folder))...)
	}
	report(t, checkExceptions("unprefixedEnums", unprefixedEnums, findings))
}

// checkEnums reports exported constants of an exported type of strings or
// integers, whose place is the type. Their names must begin with that of the
// type or with a part of it.
func checkEnums(p typedPackage) []placedFinding {
	var findings []placedFinding
	scope := p.pkg.Scope()
	for _, name := range scope.Names() {
		constant, ok := scope.Lookup(name).(*types.Const)
		if !ok || !constant.Exported() {
			continue
		}
		enum := enumType(p, constant.Type())
		if enum == "" || hasPrefix(name, enumPrefixes(enum)) {
			continue
		}
		complaint := fmt.Sprintf("constant %s of type %s begins with none of %q", name, enum,
			enumPrefixes(enum))
		findings = append(findings, placedFinding{p.folder + " " + enum, p.at(constant.Pos(), complaint)})
	}
	return findings
}

// enumType returns the name of an exported type of this package whose values
// are strings or integers, else "".
func enumType(p typedPackage, t types.Type) string {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() != p.pkg || !named.Obj().Exported() {
		return ""
	}
	basic, ok := named.Underlying().(*types.Basic)
	if !ok || basic.Info()&(types.IsString|types.IsInteger) == 0 {
		return ""
	}
	return named.Obj().Name()
}

// enumPrefixes returns the parts of a type's name with which its constants may
// begin: all of it, its last word and what precedes that. Those of WaitReason
// are WaitReason, Reason and Wait.
func enumPrefixes(enum string) []string {
	words := camelWords(enum)
	last := len(enum) - len(words[len(words)-1])
	if last == 0 {
		return []string{enum}
	}
	return []string{enum, enum[last:], enum[:last]}
}

// hasPrefix reports whether a name is one of the prefixes and a word more.
func hasPrefix(name string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if rest, ok := strings.CutPrefix(name, prefix); ok && startsWord(rest) {
			return true
		}
	}
	return false
}

// startsWord reports whether the rest of a name begins with a capital or a
// digit.
func startsWord(rest string) bool {
	return rest != "" && (rest[0] >= 'A' && rest[0] <= 'Z' || rest[0] >= '0' && rest[0] <= '9')
}
