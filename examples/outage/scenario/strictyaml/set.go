package strictyaml

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// Set sets the single value at the path, of what root points to. What is a list
// or has fields cannot be set, nor can items be added to a list. An error may
// leave something set.
func (l Language) Set(root any, path, text string) error {
	values, fields := map[string]reflect.Value{}, map[string]*Field{}
	Walk(root, func(path string, f *Field, v reflect.Value) {
		if v.CanSet() { // what is in a map cannot
			values[path], fields[path] = v, f
		}
	})
	v, there := values[path]
	if !there {
		return l.notThere(path, values)
	}
	if v.Kind() == reflect.Pointer && (IsScalar(v.Type().Elem()) || isShort(v.Type().Elem())) {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.Pointer:
		return fmt.Errorf("the %s has no %s", l.What, path)
	case isShort(v.Type()):
		part := partOf(v.Type())
		err := SetScalar(part, text)
		setAll(v, part)
		return err
	case !IsScalar(v.Type()):
		return errors.New("it is not a single value; " + inside(v, path))
	}
	if err := SetScalar(v, text); err != nil {
		return err
	}
	if f := fields[path]; f.Type == v.Type() && f.ZeroMeans() != "" && v.IsZero() {
		return fmt.Errorf("%s is the same as leaving it out, which means %s; give it another value", Shown(text),
			f.ZeroMeans())
	}
	return nil
}

// notThere says which element of a path does not exist, and what does.
func (l Language) notThere(path string, values map[string]reflect.Value) error {
	above := Parent(path)
	for !values[above].IsValid() {
		above = Parent(above)
	}
	v, where, rest := values[above], "", path[len(above):]
	if above != "" {
		where, rest = " in "+above, strings.TrimPrefix(rest, ".")
	}
	element := elementOf.FindString(rest)
	switch index := strings.HasPrefix(element, "["); {
	case v.Kind() == reflect.Pointer:
		return fmt.Errorf("the %s has no %s", l.What, above)
	case index && v.Kind() == reflect.Slice:
		return fmt.Errorf("there is no %s%s; %s", above, element, inside(v, above))
	case index:
		return fmt.Errorf("%s is no list", cmp.Or(above, "the "+l.What))
	case v.Kind() == reflect.Struct:
		return errors.New(Missing("field", element, where, Names(Fields(v.Type()))))
	}
	return fmt.Errorf("there is no field %s%s; %s", Shown(element), where, inside(v, above))
}

// elementOf matches the first element of a path: a name, which may be empty, or
// an index in brackets.
var elementOf = regexp.MustCompile(`^\[?[^.[]*`)

// inside says what can be named at or below the path.
func inside(v reflect.Value, path string) string {
	switch v.Kind() {
	case reflect.Struct:
		return "its fields are " + Listed(Names(Fields(v.Type())))
	case reflect.Slice:
		if v.Len() == 0 {
			return path + " is empty"
		}
		return fmt.Sprintf("%s has %s to %s", path, Item(path, 0), Item(path, v.Len()-1))
	case reflect.Map:
		return "its values are given in the file"
	}
	return path + " is a single value"
}
