package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// field is a field of a struct as the language sees it. The types and their
// tags are the only list of fields and of what each may be:
//
//	json     its name; omitempty or omitzero if it may be left out
//	default  what it is if it is left out, as YAML
//	zero     what leaving it out means; a file must not write its zero then
//	min, max the least and the most that it may be, and within, either way of 0
//	want     the words of the complaint about less than min
//	oneOf    a noun and the words that it may be
//	names    what it names that has to exist: a zone, pool, group or workload
//	is       a kind of value: the tags of shared, or a form of text
//	fault    of a step: what kind of fault it is
//
// Of a list or a map they say it of each item; names says it of a map's keys.
type field struct {
	reflect.StructField
	name string
	// optional fields are left out when they are zero.
	optional bool
}

// tag returns what the field's tag says, or that of its kind of value.
func (f *field) tag(key string) string {
	if own := f.Tag.Get(key); own != "" {
		return own
	}
	return shared(f.Tag.Get("is")).Get(key)
}

// shared are the tags that several fields have in common. Of a time, at most 30
// days pass, so that sums do not overflow. What is repeated more often than
// every 100 ms is a slip of the pen, and its simulation would not come to an
// end. The codes are what an API server, or a proxy before it,
// answers to requests that are well formed.
func shared(kind string) reflect.StructTag {
	switch kind {
	case "time":
		return `min:"0s" max:"720h" want:"time does not run backwards"`
	case "interval":
		return `min:"100ms" max:"720h"`
	case "clock":
		return reflect.StructTag(fmt.Sprintf(`within:"%v, forwards or back"`, maxClockStep))
	case "replica":
		return `min:"0" want:"replicas are counted from 0"`
	case "effect":
		return `oneOf:"effect: NoSchedule, PreferNoSchedule, NoExecute"`
	case "caller":
		return `oneOf:"caller: all, controllers, kubelets" default:"all"`
	case "object":
		return `oneOf:"kind: nodes, leases, pods" default:"[nodes, leases, pods]" zero:"all kinds"`
	case "verb":
		return `oneOf:"verb: get, patch, delete, evict, update" default:"[get, patch, delete, evict, update]"`
	case "code":
		return `oneOf:"code: 403, 404, 409, 422, 429, 500, 503, 504"` +
			` default:"[409, 429, 500, 503]" zero:"409, 429, 500 and 503"`
	}
	return ""
}

// zeroMeans says what the zero of the field stands for if a file must not write
// it. Go cannot tell a zero that is written from one that is not, so a user who
// writes it may want something else.
func (f *field) zeroMeans() string {
	if words := f.tag("zero"); words != "" || f.Type.Kind() == reflect.String || f.Type.Kind() == reflect.Slice {
		return words
	}
	return f.tag("default")
}

// fieldsOf returns the fields of a struct type, those of embedded structs among
// them.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields = append(fields, field{StructField: f, name: name, optional: rest != ""})
		}
	}
	return fields
}

func namesOf(fields []field) []string {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].name
	}
	return names
}

func fieldNamed(fields []field, name string) *field {
	if i := slices.IndexFunc(fields, func(f field) bool { return f.name == name }); i >= 0 {
		return &fields[i]
	}
	return nil
}

// walk visits every value at and below v, what is inside it first: fields in
// the order of the types, map entries in that of their keys. Items and entries
// come with the field that holds them. Of pointers only those to nothing are
// visited.
func walk(path string, f *field, v reflect.Value, visit func(path string, f *field, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(path, f, v.Elem(), visit)
			return
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(item(path, i), f, v.Index(i), visit)
		}
	case reflect.Map:
		for _, name := range sortedKeys(v) {
			walk(child(path, name), f, v.MapIndex(reflect.ValueOf(name)), visit)
		}
	case reflect.Struct:
		fields := fieldsOf(v.Type())
		for i := range fields {
			walk(child(path, fields[i].name), &fields[i], v.FieldByIndex(fields[i].Index), visit)
		}
	}
	visit(path, f, v)
}

func sortedKeys(m reflect.Value) []string {
	keys := make([]string, 0, m.Len())
	for key := range m.Seq() {
		keys = append(keys, key.String())
	}
	slices.Sort(keys)
	return keys
}
