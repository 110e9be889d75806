package strictyaml

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// Fill gives each field with a tag default that has its zero value what the tag
// says. A tag that cannot be read is an error.
func Fill(root any) error {
	d := &decoder{places: map[string]*yaml.Node{}}
	Walk(root, func(path string, f *Field, v reflect.Value) {
		if text := f.Tag.Get("default"); text != "" && v.Type() == f.Type && v.IsZero() {
			var document yaml.Node
			if err := yaml.Unmarshal([]byte(text), &document); err != nil {
				d.fail(&document, path, "the tag default: %v", err)
				return
			}
			d.value(path, document.Content[0], v)
		}
	})
	return Join(d.problems)
}

// Clone returns a copy that shares no memory with what v points to.
func Clone[T any](v *T) *T {
	copied := *v
	deepen(reflect.ValueOf(&copied).Elem())
	return &copied
}

// deepen replaces what v shares with what it was copied from. Written by hand
// for each type it would be the place where a new field is forgotten. By way of
// JSON it would lose what cannot be written, such as a share that is no number.
func deepen(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, value := range v.Fields() {
			deepen(value)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fresh := reflect.New(v.Type().Elem())
			fresh.Elem().Set(v.Elem())
			deepen(fresh.Elem())
			v.Set(fresh)
		}
	case reflect.Slice:
		if !v.IsNil() {
			v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
			for i := range v.Len() {
				deepen(v.Index(i))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			fresh := reflect.MakeMapWithSize(v.Type(), v.Len())
			for key, value := range v.Seq2() {
				entry := reflect.New(value.Type()).Elem()
				entry.Set(value)
				deepen(entry)
				fresh.SetMapIndex(key, entry)
			}
			v.Set(fresh)
		}
	}
}
