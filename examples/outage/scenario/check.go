package scenario

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Validate reports everything that is wrong with the scenario: each value for
// itself, and what contradicts each other. The error joins a [Problem] for
// each, in the order of the fields.
func (s *Scenario) Validate() error {
	c := newChecker(s, "", nil)
	c.run()
	return join(c.problems)
}

// checker collects what is wrong with a scenario. It first reads each value
// from the file, if there is one.
type checker struct {
	*Scenario
	file     string
	entries  map[string]entry
	problems []Problem
	// unread lists the paths of what could not be read, and wrong those of what is
	// not as it should be.
	unread, wrong paths
	// first says where a key was first, and names what there is of a kind.
	first map[string]string
	names map[string][]string
}

func newChecker(s *Scenario, file string, root *yaml.Node) *checker {
	return &checker{
		Scenario: s, file: file, entries: map[string]entry{"": {value: root}},
		first: map[string]string{}, names: map[string][]string{},
	}
}

// run visits what rules look at before the rules: the types are in that order.
func (c *checker) run() { walk("", &field{}, reflect.ValueOf(c.Scenario).Elem(), c.decode, c.check) }

func (c *checker) report(at *yaml.Node, path, format string, args ...any) {
	c.problems = append(c.problems, Problem{c.file, at.Line, at.Column, path, fmt.Sprintf(format, args...)})
}

// paths are those of values that have something in common.
type paths []string

// within reports whether one of them is the path or that of a part of what is
// there.
func (p paths) within(path string) bool {
	return slices.ContainsFunc(p, func(one string) bool { return below(one, path) })
}

// around reports whether the path is one of them or that of a part of what is
// there.
func (p paths) around(path string) bool {
	return slices.ContainsFunc(p, func(one string) bool { return below(path, one) })
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
	if p.unread.around(at) {
		return
	}
	for need := range strings.FieldsSeq(needs) {
		path := p.in(need)
		if p.unread.around(path) || p.unread.within(path) || need[0] != '/' && slices.Contains(p.wrong, path) {
			return
		}
	}
	p.report(p.position(at), at, format, args...)
	p.wrong = append(p.wrong, at)
}

// unique reports the part if the key has been there before, and first where.
func (p place) unique(part, key, format string, args ...any) {
	if first, known := p.first[key]; known {
		p.unless(false, part+" "+part, format, append([]any{first}, args...)...)
	} else {
		p.first[key] = p.path
	}
}

// check checks what the tags of a field say of a value, and the rules of its
// type.
func (c *checker) check(path string, f *field, v reflect.Value) {
	c.zero(path, f, v)
	p := place{c, path}
	switch {
	case v.Kind() == reflect.Map && f.tag("names") != "":
		for _, key := range sortedKeys(v) {
			place{c, child(path, key.String())}.exists(f.tag("names"), key.String())
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
		p.value(f, v)
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

// value checks a single value.
func (p place) value(f *field, v reflect.Value) {
	text := fmt.Sprint(v.Interface())
	if noun := f.tag("names"); noun != "" && v.Kind() == reflect.String {
		p.exists(noun, text)
	}
	if noun, words, ok := strings.Cut(f.tag("oneOf"), ": "); ok {
		list := strings.Split(words, ", ")
		p.unless(slices.Contains(list, text), ".", "%s", missing(noun, text, list))
	}
	noun, isKey := f.tag("defines"), f.tag("is") == "key"
	if complaint := complaint(f.tag("is"), v); complaint != "" {
		p.unless(false, ".", "%s", complaint)
	} else if isKey {
		holder := place{p.checker, parent(p.path)}
		holder.unique(f.name, noun+" "+text, "%s has this name already")
	}
	if noun != "" && (isKey || !slices.Contains(p.names[noun], text)) {
		p.names[noun] = append(p.names[noun], text)
	}
	p.bound(v, f.tag("min"), cmp.Or(f.tag("want"), "want at least "+f.tag("min")), 1)
	p.bound(v, f.tag("max"), "at most "+f.tag("max"), -1)
}

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
