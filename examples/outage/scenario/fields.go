package scenario

import (
	"reflect"
	"slices"
	"strings"
)

// field is a field of a struct of the language. The types and their tags are
// the only list of fields and of what each may be:
//
//	json     what it is called; it is optional with omitempty or omitzero
//	default  what it is if it is left out, in YAML
//	zero     what leaving it out means, in words
//	min, max the least and the most that it may be; words may follow max
//	want     the words of the complaint about less than min
//	oneOf    a noun and the words that it may be
//	defines  what it is the name of: a zone, pool, group or workload
//	names    which of these it names, which then has to exist
//	is       its kind, of those in kinds
//	fault    of a step: what kind of fault it is
//
// Of a list or a map they say it of each item; names says it of a map's keys.
type field struct {
	reflect.StructField
	name     string
	optional bool
}

// fields returns the fields of a struct type, those of embedded structs among
// them.
func fields(t reflect.Type) []field {
	all := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.Anonymous {
			name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
			all = append(all, field{f, name, rest != ""})
			continue
		}
		for _, part := range fields(f.Type) {
			part.Index = append(slices.Clip(f.Index), part.Index...)
			all = append(all, part)
		}
	}
	return all
}

func fieldNames(fields []field) []string {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].name
	}
	return names
}

// tag returns what the field's tag says, or that of its kind of value.
func (f *field) tag(key string) string {
	if own := f.Tag.Get(key); own != "" {
		return own
	}
	return kinds[f.Tag.Get("is")].tags.Get(key)
}

// zeroMeans says what the zero of the field stands for if a file must not write
// it. Go cannot tell a zero that is written from one that is not, so a file
// with one may mean something else.
func (f *field) zeroMeans() string {
	if words := f.tag("zero"); words != "" || f.Type.Kind() == reflect.String || f.Type.Kind() == reflect.Slice {
		return words
	}
	return f.tag("default")
}

// visit is called with a value, its path, and the field that it is in. Items
// and entries come with the field that holds them.
type visit func(path string, f *field, v reflect.Value)

// walk visits every value at and below v: before what is inside the value and
// after it. What the first makes or changes is walked too. Fields are in the
// order of the types, entries of a map in that of their keys.
func walk(path string, f *field, v reflect.Value, before, after visit) {
	before(path, f, v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(path, f, v.Elem(), before, after)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(item(path, i), f, v.Index(i), before, after)
		}
	case reflect.Map:
		for _, key := range sortedKeys(v) {
			entry := reflect.New(v.Type().Elem()).Elem() // the one in the map has no address
			entry.Set(v.MapIndex(key))
			walk(child(path, key.String()), f, entry, before, after)
			if !entry.Equal(v.MapIndex(key)) { // a walk that only reads must not write
				v.SetMapIndex(key, entry)
			}
		}
	case reflect.Struct:
		for _, part := range fields(v.Type()) {
			walk(child(path, part.name), &part, v.FieldByIndex(part.Index), before, after)
		}
	}
	after(path, f, v)
}

// nothing is done on one of the ways of a walk.
func nothing(string, *field, reflect.Value) {}

// sortedKeys returns the keys of a map of strings, in order.
func sortedKeys(m reflect.Value) []reflect.Value {
	return slices.SortedFunc(m.Seq(), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
}
