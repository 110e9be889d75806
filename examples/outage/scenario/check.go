package scenario

import (
	"fmt"
	"math"
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
	c := &checker{Scenario: s, failed: failed, first: map[string]string{}}
	walk("", &field{}, reflect.ValueOf(s).Elem(), c.visit)
	return c.found
}

// checker collects what is wrong with a scenario.
type checker struct {
	*Scenario
	failed []string
	found  []Problem
	first  map[string]string
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

// unless reports the part, if ok is false. Needs are the other parts that the
// rule looks at, between blanks. It is silent if one of them, or the part,
// could not be read, or if one of the same struct is wrong itself: what follows
// from a fault is not reported too.
func (p place) unless(ok bool, part, needs, format string, args ...any) {
	at := p.in(part)
	if ok || slices.ContainsFunc(p.failed, func(failed string) bool { return below(at, failed) }) {
		return
	}
	for need := range strings.FieldsSeq(needs) {
		path := p.in(need)
		if slices.ContainsFunc(p.failed, func(failed string) bool { return below(failed, path) || below(path, failed) }) ||
			need[0] != '/' && slices.ContainsFunc(p.found, func(found Problem) bool { return found.Path == path }) {
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
		p.unless(false, part, part, format, append([]any{first}, args...)...)
		return
	}
	p.first[key] = p.path
}

// visit checks what the tags of a field say of a value, and the rules of its
// type.
func (c *checker) visit(path string, f *field, v reflect.Value) {
	p := place{c, path}
	if keys, noun := v.Type(), f.tag("names"); noun != "" && keys.Kind() == reflect.Map {
		for _, name := range sortedKeys(v) {
			place{c, child(path, name)}.exists(noun, name)
		}
	}
	switch {
	case v.Kind() == reflect.Slice && isScalar(v.Type().Elem()):
		for i := range v.Len() {
			element := place{c, item(path, i)}
			element.unique(".", fmt.Sprintf("%s=%v", path, v.Index(i)), "%[2]v is in the list already, as %[1]s", v.Index(i))
		}
	case v.Kind() == reflect.Struct:
		p.says(v)
		whole := reflect.New(v.Type()) // an entry of a map has no address
		whole.Elem().Set(v)
		if rules, ok := reflect.TypeAssert[ruled](whole); ok {
			rules.check(p)
		}
	case isScalar(v.Type()) && !(f.optional && v.Type() == f.Type && v.IsZero()):
		p.scalar(f, v)
	}
}

// says reports a part that has to say something and does not.
func (p place) says(v reflect.Value) {
	if !below(p.path, expectPath) {
		return
	}
	var names []string
	for _, f := range fieldsOf(v.Type()) {
		if kind := f.Type.Kind(); kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map {
			names = append(names, f.name)
			if value := v.FieldByIndex(f.Index); !value.IsNil() && (kind == reflect.Pointer || value.Len() > 0) {
				return
			}
		}
	}
	last := len(names) - 1
	one := strings.Join(names[:last], ", ") + " or " + names[last]
	if isBounds(v.Type()) {
		one = "a value, or " + one
	}
	p.unless(false, ".", ".", "says nothing; give it %s", one)
}

func (p place) scalar(f *field, v reflect.Value) {
	text := fmt.Sprint(v.Interface())
	if noun := f.tag("names"); noun != "" && v.Kind() == reflect.String {
		p.exists(noun, text)
	}
	if noun, words, ok := strings.Cut(f.tag("oneOf"), ": "); ok {
		list := strings.Split(words, ", ")
		p.unless(slices.Contains(list, text), ".", "", "%s", missing(noun, text, "", list))
	}
	if complaint := complaint(f.tag("is"), v); complaint != "" {
		p.unless(false, ".", "", "%s", complaint)
	} else if f.tag("is") == "key" {
		place{p.checker, parent(p.path)}.unique(f.name, itemNumber.ReplaceAllString(p.path, "")+"="+text, "%s has this name already")
	}
	p.bounds(f, v)
}

// itemNumber matches what the scope of a name leaves out of its path: groups of
// all zones share theirs.
var itemNumber = regexp.MustCompile(`\[[0-9]+\]`)

// exists reports a name of something that the scenario does not have.
func (p place) exists(noun, name string) {
	list, of := p.Cluster.names(noun)
	if !slices.Contains(list, name) {
		p.unless(false, ".", "/"+of, "%s", missing(noun, name, "", list))
	}
}

// bounds checks a number against the least and the most that it may be.
func (p place) bounds(f *field, v reflect.Value) {
	limit := func(text string, or int64) int64 {
		if text == "" {
			return or
		}
		bound := reflect.New(v.Type()).Elem()
		if err := setScalar(bound, text); err != nil {
			panic(err) // a test reads the limits of all fields
		}
		return bound.Int()
	}
	if !v.CanInt() {
		return
	}
	n, value := v.Int(), v.Interface()
	lowest, want := f.tag("min"), f.tag("want")
	if want == "" {
		want = "want at least " + lowest
	}
	within, _, _ := strings.Cut(f.tag("within"), ",")
	most := limit(within, math.MaxInt64)
	p.unless(n >= limit(lowest, math.MinInt64), ".", "", "is %v; %s", value, want)
	p.unless(n <= limit(f.tag("max"), math.MaxInt64), ".", "", "is %v; at most %s", value, f.tag("max"))
	p.unless(n >= -most && n <= most, ".", "", "is %v; at most %s", value, f.tag("within"))
}

// complaint says what is wrong with a value of the kind, if anything is.
func complaint(kind string, v reflect.Value) string {
	text := v.String()
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
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
		if strings.TrimSpace(text) == "" {
			return "is empty; give it a name"
		} else if kind != "name" {
			return unlike(validation.IsDNS1123Label, text,
				"DNS label: at most 63 lower-case letters, digits and dashes, no dash first or last")
		} else if !utf8.ValidString(text) || strings.ContainsFunc(text, hidden) {
			return fmt.Sprintf("%.80q holds what cannot be shown in one line", text)
		}
	case "taintKey":
		return unlike(validation.IsQualifiedName, text, "key of a taint; write it like maintenance or example.com/maintenance")
	case "value of a taint", "value of a label":
		return unlike(validation.IsValidLabelValue, text, kind+": at most 63 letters, digits, dashes, underscores and dots")
	case "timeAdded":
		return timeAddedComplaint(text)
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
