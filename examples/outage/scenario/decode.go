package scenario

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// entry is what a file has at a path, and the name before it, if it has one.
type entry struct{ key, value *yaml.Node }

// position is where in the file the path is or, if it is not there, what lacks
// it.
func (c *checker) position(path string) *yaml.Node {
	for path != "" && c.entries[path].value == nil {
		path = parent(path)
	}
	e := c.entries[path]
	if e.key != nil && e.value.Kind != yaml.ScalarNode {
		return e.key // the line with the name, not the line after it
	}
	return cmp.Or(e.value, &yaml.Node{}) // what was made in Go has no place
}

// fail reports what could not be read.
func (c *checker) fail(node *yaml.Node, path, format string, args ...any) {
	c.report(node, path, format, args...)
	c.unread = append(c.unread, path)
}

// decode reads what the file has at the path into v, except for its parts: it
// says what is at the path of each. Where v is a pointer, something is there
// afterwards even if it could not be read. A fault that is wrong is still the
// fault that the step was to have.
//
// The decoders of the libraries take 5 for a string and yes for true, and they
// demand nothing. They name no path, and their words are those of Go.
func (c *checker) decode(path string, _ *field, v reflect.Value) {
	node := c.entries[path].value
	switch {
	case node == nil:
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		c.fail(node, path, "anchors and aliases are not part of the language; write it out")
	case node.Style&yaml.TaggedStyle != 0:
		c.fail(node, path, "tags are not part of the language; leave out %s", node.Tag)
	case isScalar(v.Type()):
		c.decodeScalar(path, node, v)
	case node.ShortTag() == "!!null":
		c.fail(node, path, "has no value; %s", insteadOfNothing(path, v.Type()))
	case isBounds(v.Type()) && node.Kind == yaml.ScalarNode:
		exactly(v, func(value reflect.Value) { c.decodeScalar(path, node, value) })
	case v.Kind() == reflect.Slice && node.Kind == yaml.SequenceNode:
		v.Grow(len(node.Content)) // nil if it is empty, so that there is one empty list only
		v.SetLen(len(node.Content))
		for i, content := range node.Content {
			c.entries[item(path, i)] = entry{value: content}
		}
	case v.Kind() != reflect.Slice && node.Kind == yaml.MappingNode:
		c.mapping(path, node, v)
	default:
		c.fail(node, path, "want %s, not %s", wanted(v.Type()), kindOf(node))
	}
}

// zero refuses a zero that is the same as leaving the field out.
func (c *checker) zero(path string, f *field, v reflect.Value) {
	node := c.entries[path].value
	if node == nil || v.Type() != f.Type || !v.IsZero() || f.zeroMeans() == "" || c.unread.within(path) {
		return
	}
	zero := shown(node.Value)
	switch node.Kind {
	case yaml.SequenceNode:
		zero = "an empty list"
	case yaml.MappingNode:
		zero = "no time at all"
	}
	c.fail(node, path, "%s is the same as leaving it out, which means %s; leave it out or give it another value", zero,
		f.zeroMeans())
}

// mapping says what the file has for the fields of a struct or the entries of a
// map.
func (c *checker) mapping(path string, node *yaml.Node, v reflect.Value) {
	var parts []field
	if v.Kind() == reflect.Struct {
		parts = fields(v.Type())
	} else if len(node.Content) > 0 {
		v.Set(reflect.MakeMap(v.Type())) // else nil, so that there is one empty map only
	}
	names, lines := fieldNames(parts), map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		name, at := key.Value, child(path, key.Value)
		switch {
		case key.Kind != yaml.ScalarNode:
			c.fail(key, path, "want the name of a field before the colon, not %s", kindOf(key))
			continue
		case lines[name] > 0:
			c.report(key, at, "is given twice; the first time in line %d", lines[name])
			continue
		case v.Kind() == reflect.Map:
			v.SetMapIndex(reflect.ValueOf(name), reflect.Zero(v.Type().Elem()))
			c.entries[at] = entry{key, value}
		case slices.Contains(names, name):
			c.entries[at] = entry{key, value}
		default:
			c.unknown(path, key, names)
		}
		lines[name] = key.Line
	}
	for _, f := range parts {
		if at := child(path, f.name); !f.optional && lines[f.name] == 0 && !c.unread.within(at) {
			c.fail(c.position(path), at, "is missing")
		}
	}
}

// anyField is the name of a field that could be any: an unknown one.
const anyField = "*"

// unknown reports a key that is no field. The one that was meant, if that can
// be told, is not missing then.
func (c *checker) unknown(path string, key *yaml.Node, names []string) {
	message := missing("field", key.Value, names)
	if len(names) == 0 {
		message = "there are no fields here; write {}"
	}
	c.fail(key, child(path, key.Value), "%s", message)
	c.unread = append(c.unread, child(path, anyField))
	if meant := nearest(key.Value, names); meant != "" {
		c.unread = append(c.unread, child(path, meant))
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

// decodeScalar is strict about the type that YAML takes a single value for, so
// that a file means what it looks like.
func (c *checker) decodeScalar(path string, node *yaml.Node, v reflect.Value) {
	scalar, tag := scalars[v.Kind()], node.ShortTag()
	_, notNumber := strconv.ParseFloat(node.Value, 64)
	switch {
	case node.Kind != yaml.ScalarNode:
		c.fail(node, path, "want a single value, not %s", kindOf(node))
	case tag == "!!null":
		c.fail(node, path, "has no value; give it one or leave it out")
	case takesText(v.Type()) || strings.Contains(scalar.tags, tag):
		if err := setScalar(v, node.Value); err != nil {
			c.fail(node, path, "%v", err)
		}
	case v.Kind() == reflect.String:
		c.fail(node, path, "want a string; write %q, in quotes", node.Value)
	case tag == "!!str" && (notNumber == nil || node.Value == "true" || node.Value == "false"):
		c.fail(node, path, "want %s, not %q in quotes", scalar.want, node.Value)
	default:
		c.fail(node, path, "want %s, not %s", scalar.want, shown(strings.TrimSpace(node.Value)))
	}
}
