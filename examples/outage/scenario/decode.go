package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder sets Go values from YAML nodes. The decoders of the libraries take 5
// for a string and yes for true, know nothing that must be there, and say no
// path; most of them stop at the first value of a wrong type.
type decoder struct {
	file     string
	places   map[string]*yaml.Node
	problems []Problem
	// failed lists the paths of what could not be read. What is not as it should
	// be there, or because of that, is not reported once more.
	failed []string
}

func (d *decoder) problem(node *yaml.Node, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{
		File: d.file, Line: node.Line, Column: node.Column,
		Path: path, Message: fmt.Sprintf(format, args...),
	})
}

func (d *decoder) fail(node *yaml.Node, path, format string, args ...any) {
	d.problem(node, path, format, args...)
	d.failed = append(d.failed, path)
}

// value reads the node into v. Where v is a pointer, something is there
// afterwards even if it could not be read. A fault that is wrong is still the
// fault that the step was to have.
func (d *decoder) value(path string, node *yaml.Node, v reflect.Value) {
	if _, known := d.places[path]; !known {
		d.places[path] = node
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	null := node.ShortTag() == "!!null"
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		d.fail(node, path, "anchors and aliases are not part of the language; write it out")
	case node.Style&yaml.TaggedStyle != 0:
		d.fail(node, path, "tags are not part of the language; leave out %s", node.Tag)
	case isScalar(v.Type()):
		d.scalar(path, node, v)
	case isBounds(v.Type()) && node.Kind == yaml.ScalarNode && !null:
		value := boundOf(v.Type())
		d.scalar(path, node, value)
		setExact(v, value)
	case null:
		d.fail(node, path, "has no value; %s", insteadOfNothing(path, v.Type()))
	case v.Kind() == reflect.Slice:
		d.list(path, node, v)
	case v.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		d.mapping(path, node, "names and values", func(at string, key, value *yaml.Node) {
			entry := reflect.New(v.Type().Elem()).Elem()
			d.value(at, value, entry)
			v.SetMapIndex(reflect.ValueOf(key.Value), entry)
		})
		if v.Len() == 0 {
			v.SetZero() // as if it had been left out, so that there is one empty map only
		}
	default:
		d.structure(path, node, v)
	}
}

// insteadOfNothing says what to write instead of nothing at all.
func insteadOfNothing(path string, t reflect.Type) string {
	required := func(f field) bool { return !f.optional }
	if t.Kind() != reflect.Struct || mustSay(t) || slices.ContainsFunc(fieldsOf(t), required) {
		return "give it one or leave it out"
	}
	return fmt.Sprintf("for the default write %s: {}", strings.TrimPrefix(path[len(parent(path)):], "."))
}

// mustSay reports whether all fields of the struct are optional and yet one of
// them has to be there.
func mustSay(t reflect.Type) bool {
	return t == reflect.TypeFor[Nodes]() || strings.HasPrefix(t.Name(), "Expect") || isBounds(t)
}

func (d *decoder) scalar(path string, node *yaml.Node, v reflect.Value) {
	if node.Kind != yaml.ScalarNode {
		d.fail(node, path, "want a single value, not %s", kindOf(node))
	} else if complaint := tagComplaint(v.Type(), node.ShortTag(), node.Value); complaint != "" {
		d.fail(node, path, "%s", complaint)
	} else if err := setScalar(v, node.Value); err != nil {
		d.fail(node, path, "%v", err)
	}
}

func kindOf(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "fields"
	case yaml.SequenceNode:
		return "a list"
	}
	return shown(node.Value)
}

func (d *decoder) list(path string, node *yaml.Node, v reflect.Value) {
	if node.Kind != yaml.SequenceNode {
		d.fail(node, path, "want a list, not %s", kindOf(node))
		return
	}
	if len(node.Content) == 0 {
		return // nil, as if it had been left out, so that there is one empty list only
	}
	v.Set(reflect.MakeSlice(v.Type(), len(node.Content), len(node.Content)))
	for i, content := range node.Content {
		d.value(item(path, i), content, v.Index(i))
	}
}

// mapping calls each for every key that occurs for the first time.
func (d *decoder) mapping(path string, node *yaml.Node, want string, each func(at string, key, value *yaml.Node)) {
	if node.Kind != yaml.MappingNode {
		d.fail(node, path, "want %s, not %s", want, kindOf(node))
		return
	}
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			d.fail(key, path, "want the name of a field before the colon, not %s", kindOf(key))
			continue
		}
		at := child(path, key.Value)
		if first := seen[key.Value]; first != nil {
			d.problem(key, at, "is given twice; the first time in line %d", first.Line)
			continue
		}
		seen[key.Value] = key
		if value.Kind != yaml.ScalarNode {
			d.places[at] = key // the line with its name, not the line after it
		}
		each(at, key, value)
	}
}

func (d *decoder) structure(path string, node *yaml.Node, v reflect.Value) {
	fields, given := fieldsOf(v.Type()), map[string]bool{}
	want := "{}"
	if len(fields) > 0 {
		want = fmt.Sprintf("fields (%s)", listed(namesOf(fields)))
	}
	d.mapping(path, node, want, func(at string, key, value *yaml.Node) {
		f := fieldNamed(fields, key.Value)
		if f == nil {
			given[d.unknown(path, key, namesOf(fields))] = true
			return
		}
		given[f.name] = true
		target := v.FieldByIndex(f.Index)
		d.value(at, value, target)
		if means := f.zeroMeans(); means != "" && target.IsZero() && !d.hasFailed(at) {
			d.fail(value, at, "%s is the same as leaving it out, which means %s; leave it out or give it another value",
				zeroOf(value), means)
		}
	})
	for _, f := range fields {
		if node.Kind == yaml.MappingNode && !f.optional && !given[f.name] {
			d.fail(d.place(path), child(path, f.name), "is missing")
		}
	}
}

// anyField is the name of a field that could be any: an unknown one.
const anyField = "*"

// unknown reports a key that is no field, and returns the one that was meant if
// that can be told: it is not missing then.
func (d *decoder) unknown(path string, key *yaml.Node, names []string) string {
	message := missing("field", key.Value, "", names)
	if len(names) == 0 {
		message = "there are no fields here; write {}"
	}
	d.fail(key, child(path, key.Value), "%s", message)
	d.failed = append(d.failed, child(path, anyField))
	meant := nearest(key.Value, names)
	if meant != "" {
		d.failed = append(d.failed, child(path, meant))
	}
	return meant
}

func zeroOf(value *yaml.Node) string {
	switch value.Kind {
	case yaml.SequenceNode:
		return "an empty list"
	case yaml.MappingNode:
		return "no time at all"
	}
	return shown(value.Value)
}

// hasFailed reports whether the path or a part of what is there could not be
// read.
func (d *decoder) hasFailed(path string) bool {
	return slices.ContainsFunc(d.failed, func(failed string) bool { return below(failed, path) })
}

// place is where in the file the path is or, if it is not there, what lacks it.
func (d *decoder) place(path string) *yaml.Node {
	for ; ; path = parent(path) {
		if node := d.places[path]; node != nil {
			return node
		}
	}
}
