package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// decoder sets values from YAML nodes. The decoders of the libraries take 5 for
// a string and yes for true, and they demand nothing. They name no path, and
// their words are those of Go.
type decoder struct {
	file string
	// nodes are what the file has, by path, and places where it begins.
	nodes, places map[string]*yaml.Node
	problems      []Problem
	// failed lists the paths of what could not be read. What is not as it should
	// be there, or because of that, is not reported once more.
	failed []string
}

func (d *decoder) problem(node *yaml.Node, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{d.file, node.Line, node.Column, path, fmt.Sprintf(format, args...)})
}

func (d *decoder) fail(node *yaml.Node, path, format string, args ...any) {
	d.problem(node, path, format, args...)
	d.failed = append(d.failed, path)
}

// hasFailed reports whether the path or a part of what is there could not be
// read.
func (d *decoder) hasFailed(path string) bool {
	return slices.ContainsFunc(d.failed, func(failed string) bool { return below(failed, path) })
}

// place is where in the file the path is or, if it is not there, what lacks it.
func (d *decoder) place(path string) *yaml.Node {
	for d.places[path] == nil {
		path = parent(path)
	}
	return d.places[path]
}

// value reads the node at the path into v, except for its parts: it says which
// node is at the path of each. Where v is a pointer, something is there
// afterwards even if it could not be read. A fault that is wrong is still the
// fault that the step was to have.
func (d *decoder) value(path string, _ *field, v reflect.Value) {
	node := d.nodes[path]
	switch {
	case node == nil:
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		d.fail(node, path, "anchors and aliases are not part of the language; write it out")
	case node.Style&yaml.TaggedStyle != 0:
		d.fail(node, path, "tags are not part of the language; leave out %s", node.Tag)
	case isScalar(v.Type()):
		d.scalar(path, node, v)
	case node.ShortTag() == "!!null":
		d.fail(node, path, "has no value; %s", insteadOfNothing(path, v.Type()))
	case isBounds(v.Type()) && node.Kind == yaml.ScalarNode:
		exactly(v, func(value reflect.Value) { d.scalar(path, node, value) })
	case v.Kind() == reflect.Slice && node.Kind == yaml.SequenceNode:
		v.Grow(len(node.Content)) // nil if it is empty, so that there is one empty list only
		v.SetLen(len(node.Content))
		for i, content := range node.Content {
			d.nodes[item(path, i)], d.places[item(path, i)] = content, content
		}
	case v.Kind() != reflect.Slice && node.Kind == yaml.MappingNode:
		d.mapping(path, node, v)
	default:
		d.fail(node, path, "want %s, not %s", wanted(v.Type()), kindOf(node))
	}
}

// zero refuses a zero that is the same as leaving the field out.
func (d *decoder) zero(path string, f *field, v reflect.Value) {
	node := d.nodes[path]
	if node == nil || v.Type() != f.Type || !v.IsZero() || f.zeroMeans() == "" || d.hasFailed(path) {
		return
	}
	zero := shown(node.Value)
	switch node.Kind {
	case yaml.SequenceNode:
		zero = "an empty list"
	case yaml.MappingNode:
		zero = "no time at all"
	}
	d.fail(node, path, "%s is the same as leaving it out, which means %s; leave it out or give it another value", zero,
		f.zeroMeans())
}

// mapping says which nodes the fields of a struct or the entries of a map are.
func (d *decoder) mapping(path string, node *yaml.Node, v reflect.Value) {
	if v.Kind() == reflect.Map && len(node.Content) > 0 {
		v.Set(reflect.MakeMap(v.Type())) // else nil, so that there is one empty map only
	}
	var parts []field
	if v.Kind() == reflect.Struct {
		parts = fields(v.Type())
	}
	names, lines := fieldNames(parts), map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		at, name := child(path, key.Value), key.Value
		switch {
		case key.Kind != yaml.ScalarNode:
			d.fail(key, path, "want the name of a field before the colon, not %s", kindOf(key))
			continue
		case lines[name] > 0:
			d.problem(key, at, "is given twice; the first time in line %d", lines[name])
			continue
		case v.Kind() == reflect.Map:
			v.SetMapIndex(reflect.ValueOf(name), reflect.Zero(v.Type().Elem()))
			d.nodes[at] = value
		case slices.Contains(names, name):
			d.nodes[at] = value
		default:
			d.unknown(path, key, names)
		}
		lines[name], d.places[at] = key.Line, value
		if value.Kind != yaml.ScalarNode {
			d.places[at] = key // the line with its name, not the line after it
		}
	}
	for _, f := range parts {
		if at := child(path, f.name); !f.optional && lines[f.name] == 0 && !d.hasFailed(at) {
			d.fail(d.place(path), at, "is missing")
		}
	}
}

// anyField is the name of a field that could be any: an unknown one.
const anyField = "*"

// unknown reports a key that is no field. The one that was meant, if that can
// be told, is not missing then.
func (d *decoder) unknown(path string, key *yaml.Node, names []string) {
	message := missing("field", key.Value, names)
	if len(names) == 0 {
		message = "there are no fields here; write {}"
	}
	d.fail(key, child(path, key.Value), "%s", message)
	d.failed = append(d.failed, child(path, anyField))
	if meant := nearest(key.Value, names); meant != "" {
		d.failed = append(d.failed, child(path, meant))
	}
}

// insteadOfNothing says what to write instead of nothing at all. A part that
// says nothing is no default of expectations and of nodes.
func insteadOfNothing(path string, t reflect.Type) string {
	required := func(f field) bool { return !f.optional }
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[Nodes]() || below(path, expectPath) ||
		slices.ContainsFunc(fields(t), required) {
		return "give it one or leave it out"
	}
	return fmt.Sprintf("for the default write %s: {}", strings.TrimPrefix(path[len(parent(path)):], "."))
}

// wanted says what is written for a type that is no single value.
func wanted(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Map:
		return "names and values"
	case t.NumField() == 0:
		return "{}"
	}
	return fmt.Sprintf("fields (%s)", listed(fieldNames(fields(t))))
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

// scalar is strict about the type that YAML takes a single value for, so that a
// file means what it looks like.
func (d *decoder) scalar(path string, node *yaml.Node, v reflect.Value) {
	want, tags := scalarOf(v.Kind())
	tag := node.ShortTag()
	_, notNumber := strconv.ParseFloat(node.Value, 64)
	switch {
	case node.Kind != yaml.ScalarNode:
		d.fail(node, path, "want a single value, not %s", kindOf(node))
	case tag == "!!null":
		d.fail(node, path, "has no value; give it one or leave it out")
	case takesText(v.Type()) || strings.Contains(tags, tag):
		if err := setScalar(v, node.Value); err != nil {
			d.fail(node, path, "%v", err)
		}
	case v.Kind() == reflect.String:
		d.fail(node, path, "want a string; write %q, in quotes", node.Value)
	case tag == "!!str" && (notNumber == nil || node.Value == "true" || node.Value == "false"):
		d.fail(node, path, "want %s, not %q in quotes", want, node.Value)
	default:
		d.fail(node, path, "want %s, not %s", want, shown(strings.TrimSpace(node.Value)))
	}
}
