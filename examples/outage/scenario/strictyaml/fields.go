package strictyaml

import (
	"reflect"
	"slices"
	"strings"
)

// Field is a field of a struct as YAML sees it. Its tag json says what it is
// called. Its tag default is what it is if it is left out, in YAML. Its tag
// zero says in words what leaving it out means.
type Field struct {
	reflect.StructField
	Name string
	// Optional fields are left out when they are zero: omitempty or omitzero.
	Optional bool
}

// ZeroMeans says what the zero of the field stands for if a file must not write
// it. Go cannot tell a zero that is written from one that is not, so a file
// with one may mean something else.
func (f *Field) ZeroMeans() string {
	if words := f.Tag.Get("zero"); words != "" || f.Type.Kind() == reflect.String || f.Type.Kind() == reflect.Slice {
		return words
	}
	return f.Tag.Get("default")
}

// Fields returns the fields of a struct type, those of embedded structs among
// them.
func Fields(t reflect.Type) []Field {
	var fields []Field
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields = append(fields, Field{StructField: f, Name: name, Optional: rest != ""})
		}
	}
	return fields
}

// Names returns what the fields are called.
func Names(fields []Field) []string {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
	}
	return names
}

func fieldNamed(fields []Field, name string) *Field {
	if i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name }); i >= 0 {
		return &fields[i]
	}
	return nil
}

// Walk visits every value at and below that to which root points, and what is
// inside a value before the value. Fields are in the order of the types, map
// entries in that of their keys. Items and entries come with the field that
// holds them. Of pointers only those to nothing are visited.
func Walk(root any, visit func(path string, f *Field, v reflect.Value)) {
	w := walker{visit: visit, fields: map[reflect.Type][]Field{}}
	w.walk("", &Field{}, reflect.ValueOf(root).Elem())
}

// walker remembers the fields of types, which take longer than a visit.
type walker struct {
	visit  func(path string, f *Field, v reflect.Value)
	fields map[reflect.Type][]Field
}

func (w *walker) walk(path string, f *Field, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.walk(path, f, v.Elem())
			return
		}
	case reflect.Slice:
		for i := range v.Len() {
			w.walk(Item(path, i), f, v.Index(i))
		}
	case reflect.Map:
		for _, name := range SortedKeys(v) {
			w.walk(Child(path, name), f, v.MapIndex(reflect.ValueOf(name)))
		}
	case reflect.Struct:
		if w.fields[v.Type()] == nil {
			w.fields[v.Type()] = Fields(v.Type())
		}
		fields := w.fields[v.Type()]
		for i := range fields {
			w.walk(Child(path, fields[i].Name), &fields[i], v.FieldByIndex(fields[i].Index))
		}
	}
	w.visit(path, f, v)
}

// SortedKeys returns the keys of a map of strings, in order.
func SortedKeys(m reflect.Value) []string {
	keys := make([]string, 0, m.Len())
	for key := range m.Seq() {
		keys = append(keys, key.String())
	}
	slices.Sort(keys)
	return keys
}

// Language is what a file is called and what no tag says of its types.
type Language struct {
	// What is the noun for the whole: a scenario.
	What string
	// MustSay, which may be nil, reports whether one of the fields of a type has
	// to be there although each is optional.
	MustSay func(reflect.Type) bool
}
