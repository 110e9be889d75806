package scenario

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Validate reports everything that is wrong with the scenario: each value for
// itself, and what contradicts each other. The error joins a [Problem] for
// each, in the order of the fields.
func (s *Scenario) Validate() error { return join(s.problems(nil)) }

// problems leaves out what is, or may be, only a consequence of the paths that
// could not be read.
func (s *Scenario) problems(failed []string) []Problem {
	c := &checker{Scenario: s, failed: failed, first: map[string]string{}, names: s.Cluster.names()}
	walk("", &field{}, reflect.ValueOf(s).Elem(), nothing, c.visit)
	return c.found
}

// checker collects what is wrong with a scenario.
type checker struct {
	*Scenario
	failed []string
	found  []Problem
	// first says where a key was first, and names what there is of a kind.
	first map[string]string
	names map[string][]string
}

// ruled is a type with rules for several of its fields together. They run after
// those of each field.
type ruled interface{ check(at place) }

// place is where in the scenario a rule looks.
type place struct {
	*checker
	path string
}

// in is the path of a part of what is at the place: a field, "." for the whole,
// or what begins with a slash, counted from the scenario.
func (p place) in(part string) string {
	if whole, ok := strings.CutPrefix(part, "/"); ok {
		return whole
	}
	if part == "." {
		return p.path
	}
	return child(p.path, part)
}

// unless reports the first of the parts, which stand between blanks, if ok is
// false. The others are what else the rule looks at. It is silent if one of
// them all could not be read, or if another of the same struct is wrong itself.
// What follows from a fault is not reported too.
func (p place) unless(ok bool, parts, format string, args ...any) {
	if ok {
		return
	}
	part, needs, _ := strings.Cut(parts, " ")
	at := p.in(part)
	if slices.ContainsFunc(p.failed, func(failed string) bool { return below(at, failed) }) {
		return
	}
	for need := range strings.FieldsSeq(needs) {
		path := p.in(need)
		wrong := func(found Problem) bool { return found.Path == path && need[0] != '/' }
		unread := func(failed string) bool { return below(failed, path) || below(path, failed) }
		if slices.ContainsFunc(p.failed, unread) || slices.ContainsFunc(p.found, wrong) {
			return
		}
	}
	p.found = append(p.found, Problem{Path: at, Message: fmt.Sprintf(format, args...)})
}

// clean reports whether nothing is wrong with what is at the place.
func (p place) clean() bool {
	return !slices.ContainsFunc(p.found, func(found Problem) bool { return below(found.Path, p.path) })
}

// unique reports the part if the key has been there before, and first where.
func (p place) unique(part, key, format string, args ...any) {
	if first, known := p.first[key]; known {
		p.unless(false, part+" "+part, format, append([]any{first}, args...)...)
	} else {
		p.first[key] = p.path
	}
}

// visit checks what the tags of a field say of a value, and the rules of its
// type.
func (c *checker) visit(path string, f *field, v reflect.Value) {
	p := place{c, path}
	switch noun := f.tag("names"); {
	case v.Kind() == reflect.Map && noun != "":
		for _, name := range sortedKeys(v) {
			place{c, child(path, name)}.exists(noun, name)
		}
	case v.Kind() == reflect.Slice && isScalar(v.Type().Elem()):
		for i := range v.Len() {
			place{c, item(path, i)}.unique(".", fmt.Sprintf("%s=%v", path, v.Index(i)),
				"%[2]v is in the list already, as %[1]s", v.Index(i))
		}
	case v.Kind() == reflect.Struct:
		p.says(v)
		if rules, ok := reflect.TypeAssert[ruled](v.Addr()); ok {
			rules.check(p)
		}
	case isScalar(v.Type()) && !(f.optional && v.Type() == f.Type && v.IsZero()):
		p.scalar(f, v)
	}
}

// says reports an expectation that has to say something and does not.
func (p place) says(v reflect.Value) {
	var names []string
	for _, f := range fields(v.Type()) {
		if kind := f.Type.Kind(); kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map {
			names = append(names, f.name)
			if value := v.FieldByIndex(f.Index); !value.IsNil() && (kind == reflect.Pointer || value.Len() > 0) {
				return
			}
		}
	}
	if last := len(names) - 1; below(p.path, expectPath) {
		one := strings.Join(names[:last], ", ") + " or " + names[last]
		if isBounds(v.Type()) {
			one = "a value, or " + one
		}
		p.unless(false, ". .", "says nothing; give it %s", one)
	}
}

func (p place) scalar(f *field, v reflect.Value) {
	text := fmt.Sprint(v.Interface())
	if noun := f.tag("names"); noun != "" && v.Kind() == reflect.String {
		p.exists(noun, text)
	}
	if noun, words, ok := strings.Cut(f.tag("oneOf"), ": "); ok {
		list := strings.Split(words, ", ")
		p.unless(slices.Contains(list, text), ".", "%s", missing(noun, text, list))
	}
	if complaint := complaint(f.tag("is"), v); complaint != "" {
		p.unless(false, ".", "%s", complaint)
	} else if f.tag("is") == "key" {
		scope, holder := itemNumber.ReplaceAllString(p.path, ""), place{p.checker, parent(p.path)}
		holder.unique(f.name, scope+"="+text, "%s has this name already")
	}
	p.bound(v, f.tag("min"), cmp.Or(f.tag("want"), "want at least "+f.tag("min")), 1)
	p.bound(v, f.tag("max"), "at most "+f.tag("max"), -1)
}

// itemNumber matches what the scope of a name leaves out of its path: groups of
// all zones share theirs.
var itemNumber = regexp.MustCompile(`\[[0-9]+\]`)

// exists reports a name of something that the scenario does not have.
func (p place) exists(noun, name string) {
	if !slices.Contains(p.names[noun], name) {
		of := " /cluster.zones"
		if noun == "workload" {
			of = " /cluster.workloads"
		}
		p.unless(false, "."+of, "%s", missing(noun, name, p.names[noun]))
	}
}

// bound checks a number against a tag's limit. The sign is that of what the
// number may be more.
func (p place) bound(v reflect.Value, tag, want string, sign int) {
	limit := reflect.New(v.Type()).Elem()
	if text, _, _ := strings.Cut(tag, ","); text == "" {
		return
	} else if err := setScalar(limit, text); err != nil {
		panic(err) // a test reads the limits of all fields
	}
	p.unless(cmp.Compare(v.Int(), limit.Int()) != -sign, ".", "is %v; %s", v.Interface(), want)
}

// complaint says what is wrong with a value of the kind, if anything is.
func complaint(kind string, v reflect.Value) string {
	text := v.String()
	switch kind {
	case "share":
		if share := v.Float(); !(share > 0 && share <= 1) { // also what is no number
			return fmt.Sprintf("is %v; want more than 0 and at most 1", share)
		}
	case "clock":
		if v.IsZero() {
			return "is 0s; say by how much the clock steps, as in 5m or -5m"
		}
	case "text":
		if !utf8.ValidString(text) {
			return "is no text in UTF-8"
		}
	case "name", "key", "label":
		return nameComplaint(text, kind != "name")
	case "taintKey":
		return unlike(validation.IsQualifiedName, text,
			"key of a taint; write it like maintenance or example.com/maintenance")
	case "value of a taint", "value of a label":
		return unlike(validation.IsValidLabelValue, text, kind+": at most 63 letters, digits, dashes, underscores and dots")
	case "timeAdded":
		return timeAddedComplaint(text)
	}
	return ""
}

// nameComplaint is about a name that is only shown, or becomes a label.
func nameComplaint(name string, label bool) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	switch {
	case strings.TrimSpace(name) == "":
		return "is empty; give it a name"
	case label:
		return unlike(validation.IsDNS1123Label, name,
			"DNS label: at most 63 lower-case letters, digits and dashes, no dash first or last")
	case !utf8.ValidString(name) || strings.ContainsFunc(name, hidden):
		return fmt.Sprintf("%.80q holds what cannot be shown in one line", name)
	}
	return ""
}

// unlike says what a text is not, if it is not valid.
func unlike(problems func(string) []string, text, what string) string {
	if len(problems(text)) == 0 {
		return ""
	}
	return shown(text) + " is no " + what
}

func timeAddedComplaint(added string) string {
	off, err := time.ParseDuration(added)
	switch {
	case added == TimeAddedNow || added == TimeAddedMissing:
	case err != nil:
		return shown(added) + " is neither now nor missing nor a duration like -1h"
	case off.Abs() > maxClockStep.D():
		return fmt.Sprintf("is %s; at most %v, forwards or back", added, maxClockStep)
	}
	return ""
}
