package strictyaml

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// IsScalar reports whether a type is of single values: texts, numbers and
// bools.
func IsScalar(t reflect.Type) bool {
	return t.Kind() == reflect.String || numbers(t.Kind()).want != ""
}

// numberKind is what a value of a kind other than text is called, and the types
// that YAML may take it for.
type numberKind struct {
	want string
	tags []string
}

func numbers(kind reflect.Kind) numberKind {
	switch kind {
	case reflect.Bool:
		return numberKind{"true or false", []string{"!!bool"}}
	case reflect.Float64:
		return numberKind{"a number", []string{"!!int", "!!float"}}
	case reflect.Uint64, reflect.Int, reflect.Int64:
		return numberKind{"a whole number", []string{"!!int"}}
	}
	return numberKind{}
}

// takesText reports whether the type reads any text on its own.
func takesText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// SetScalar parses the text into a value of one of the scalar types. The error
// says what is wanted instead. Numbers are decimal: that 010 is eight or ten
// depends on the version of YAML.
func SetScalar(v reflect.Value, text string) (err error) {
	want := numbers(v.Kind()).want
	switch {
	case takesText(v.Type()):
		parser, _ := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr())
		return parser.UnmarshalText([]byte(text))
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		err = parsed(v.SetBool, text, strconv.ParseBool)
	case v.CanFloat():
		err = parsed(v.SetFloat, text, func(text string) (float64, error) { return strconv.ParseFloat(text, 64) })
	case v.CanUint():
		want += " from 0"
		err = parsed(v.SetUint, text, func(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) })
	default:
		err = parsed(v.SetInt, text, func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) })
	}
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s is out of range; want %s", Shown(text), want)
	} else if err != nil {
		return fmt.Errorf("%s is not %s", Shown(text), want)
	}
	return nil
}

func parsed[T any](set func(T), text string, parse func(string) (T, error)) error {
	value, err := parse(text)
	if err == nil {
		set(value)
	}
	return err
}

// tagComplaint says what is wrong with YAML's idea of the type of a scalar, or
// nothing. It is strict so that a file means what it looks like.
func tagComplaint(t reflect.Type, tag, text string) string {
	number := numbers(t.Kind())
	switch {
	case tag == "!!null":
		return "has no value; give it one or leave it out"
	case takesText(t), slices.Contains(number.tags, tag):
		return "" // the first says itself what is wrong with it
	case t.Kind() == reflect.String && tag == "!!str":
		return ""
	case t.Kind() == reflect.String:
		return fmt.Sprintf("want a string; write %q, in quotes", text)
	}
	if _, err := strconv.ParseFloat(text, 64); tag == "!!str" && (err == nil || text == "true" || text == "false") {
		return fmt.Sprintf("want %s, not %q in quotes", number.want, text)
	}
	return fmt.Sprintf("want %s, not %s", number.want, Shown(strings.TrimSpace(text)))
}

// isShort reports whether a type may be written as one value instead of its
// fields: their tag is short:"all".
func isShort(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.NumField() > 0 && t.Field(0).Tag.Get("short") == "all"
}

// partOf returns a value of what the fields of a short type point to.
func partOf(t reflect.Type) reflect.Value { return reflect.New(t.Field(0).Type.Elem()).Elem() }

// setAll gives all fields of a short type the value.
func setAll(v, value reflect.Value) {
	for _, pointer := range v.Fields() {
		pointer.Set(reflect.New(value.Type()))
		pointer.Elem().Set(value)
	}
}
