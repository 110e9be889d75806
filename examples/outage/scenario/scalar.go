package scenario

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

// scalarOf says what a single value of a kind is called, and which types YAML
// may take it for. Of another kind it says nothing.
func scalarOf(kind reflect.Kind) (want, tags string) {
	switch kind {
	case reflect.String:
		return "a string", "!!str"
	case reflect.Bool:
		return "true or false", "!!bool"
	case reflect.Float64:
		return "a number", "!!int !!float"
	case reflect.Uint64:
		return "a whole number from 0", "!!int"
	case reflect.Int, reflect.Int64:
		return "a whole number", "!!int"
	}
	return "", ""
}

func isScalar(t reflect.Type) bool {
	_, tags := scalarOf(t.Kind())
	return tags != ""
}

// takesText reports whether the type reads any text on its own.
func takesText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// setScalar parses the text into a single value. The error says what is wanted
// instead. Numbers are decimal: that 010 is eight or ten
// depends on the version of YAML.
func setScalar(v reflect.Value, text string) error {
	if parser, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		return parser.UnmarshalText([]byte(text))
	}
	var err error
	switch {
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		err = parsed(v.SetBool, text, strconv.ParseBool)
	case v.CanFloat():
		err = parsed(v.SetFloat, text, func(text string) (float64, error) { return strconv.ParseFloat(text, 64) })
	case v.CanUint():
		err = parsed(v.SetUint, text, func(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) })
	default:
		err = parsed(v.SetInt, text, func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) })
	}
	want, _ := scalarOf(v.Kind())
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%s is out of range; want %s", shown(text), want)
	} else if err != nil {
		return fmt.Errorf("%s is not %s", shown(text), want)
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
