package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder sets Go values from YAML nodes. sigs.k8s.io/yaml would go by way of
// JSON, where the places are lost, and stop at the first value of a wrong type.
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
	switch {
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		d.fail(node, path, "anchors and aliases are not part of the language; write it out")
	case node.Style&yaml.TaggedStyle != 0:
		d.fail(node, path, "tags are not part of the language; leave out %s", node.Tag)
	case isScalar(v.Type()):
		d.scalar(path, node, v)
	case isBounds(v.Type()) && node.Kind == yaml.ScalarNode && node.ShortTag() != "!!null":
		d.exact(path, node, v)
	case node.ShortTag() == "!!null":
		d.fail(node, path, "%s", nothingThere(path, v.Type()))
	case v.Kind() == reflect.Slice:
		d.list(path, node, v)
	case v.Kind() == reflect.Map:
		d.mapping(path, node, "names and values", func(key, value *yaml.Node, at string) { d.entry(at, key, value, v) })
	default:
		d.structure(path, node, v)
	}
}

// nothingThere says what to write instead of nothing at all.
func nothingThere(path string, t reflect.Type) string {
	const nothing = "has no value; give it one or leave it out"
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[Nodes]() || below(path, expectPath) {
		return nothing
	}
	required := func(f field) bool { return !f.optional }
	if slices.ContainsFunc(fieldsOf(t), required) {
		return nothing
	}
	return fmt.Sprintf("has no value; for the default write %s: {}", strings.TrimPrefix(path[len(parent(path)):], "."))
}

func (d *decoder) scalar(path string, node *yaml.Node, v reflect.Value) {
	if node.Kind != yaml.ScalarNode {
		d.fail(node, path, "want a single value, not %s", kindOf(node))
		return
	}
	if complaint := tagComplaint(v.Type(), node.ShortTag(), node.Value); complaint != "" {
		d.fail(node, path, "%s", complaint)
		return
	}
	if err := setScalar(v, node.Value); err != nil {
		d.fail(node, path, "%v", err)
	}
}

// exact reads one value for both of two bounds. What is wrong with it is told
// once.
func (d *decoder) exact(path string, node *yaml.Node, v reflect.Value) {
	before := len(d.failed)
	for i := range v.NumField() {
		if len(d.failed) > before {
			return
		}
		value := reflect.New(v.Field(i).Type().Elem())
		d.scalar(path, node, value.Elem())
		v.Field(i).Set(value)
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
func (d *decoder) mapping(path string, node *yaml.Node, want string, each func(key, value *yaml.Node, at string)) {
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
		each(key, value, at)
	}
}

func (d *decoder) entry(at string, key, value *yaml.Node, v reflect.Value) {
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	element := reflect.New(v.Type().Elem()).Elem()
	d.value(at, value, element)
	v.SetMapIndex(reflect.ValueOf(key.Value), element)
}

func (d *decoder) structure(path string, node *yaml.Node, v reflect.Value) {
	fields := fieldsOf(v.Type())
	given := map[string]bool{}
	d.mapping(path, node, wantFields(fields), func(key, value *yaml.Node, at string) {
		f, ok := fieldNamed(fields, key.Value)
		if !ok {
			given[d.unknown(path, key, fields)] = true
			return
		}
		given[f.name] = true
		d.value(at, value, v.FieldByIndex(f.index))
		d.zero(at, value, v.FieldByIndex(f.index), f)
	})
	if node.Kind != yaml.MappingNode {
		return
	}
	for _, f := range fields {
		if !f.optional && !given[f.name] {
			d.fail(d.place(path), child(path, f.name), "is missing")
		}
	}
}

func wantFields(fields []field) string {
	if len(fields) == 0 {
		return "{}"
	}
	return fmt.Sprintf("fields (%s)", listed(namesOf(fields)))
}

// unknown reports a key that is no field, and returns the one that was meant if
// that can be told: it is not missing then.
func (d *decoder) unknown(path string, key *yaml.Node, fields []field) string {
	names := namesOf(fields)
	message := missing("field", key.Value, names)
	if len(names) == 0 {
		message = "there are no fields here; write {}"
	}
	d.fail(key, child(path, key.Value), "%s", message)
	d.failed = append(d.failed, child(path, anyField))
	meant, _ := nearest(key.Value, names)
	if meant != "" {
		d.failed = append(d.failed, child(path, meant))
	}
	return meant
}

// anyField is the name of a field that could be any: an unknown one.
const anyField = "*"

func (d *decoder) zero(at string, value *yaml.Node, v reflect.Value, f field) {
	if f.zero == "" || !v.IsZero() || d.hasFailed(at) {
		return
	}
	d.fail(value, at, "%s is the same as leaving it out, which means %s; leave it out or give it another value",
		zeroOf(value), f.zero)
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

// hasFailed says whether the path or a part of what is there could not be read.
func (d *decoder) hasFailed(path string) bool {
	for _, failed := range d.failed {
		if below(failed, path) {
			return true
		}
	}
	return false
}
