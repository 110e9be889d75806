package scenario

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

// scalars says what a single value of a kind is called, which types YAML may
// take it for, and how it is parsed. Numbers are decimal: that 010 is eight or
// ten depends on the version of YAML.
var scalars = map[reflect.Kind]struct {
	want, tags string
	parse      func(text string) (any, error)
}{
	reflect.String:  {"a string", "!!str", func(text string) (any, error) { return text, nil }},
	reflect.Bool:    {"true or false", "!!bool", func(text string) (any, error) { return strconv.ParseBool(text) }},
	reflect.Float64: {"a number", "!!int !!float", func(text string) (any, error) { return strconv.ParseFloat(text, 64) }},
	reflect.Uint64:  {"a whole number from 0", "!!int", parseUint},
	reflect.Int:     {"a whole number", "!!int", parseInt},
	reflect.Int64:   {"a whole number", "!!int", parseInt},
}

func parseUint(text string) (any, error) { return strconv.ParseUint(text, 10, 64) }

func parseInt(text string) (any, error) { return strconv.ParseInt(text, 10, 64) }

func isScalar(t reflect.Type) bool { return scalars[t.Kind()].parse != nil }

// takesText reports whether the type reads any text on its own.
func takesText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// setScalar parses the text into a single value. The error says what is wanted
// instead.
func setScalar(v reflect.Value, text string) error {
	if parser, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		return parser.UnmarshalText([]byte(text))
	}
	scalar := scalars[v.Kind()]
	value, err := scalar.parse(text)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s is out of range; want %s", shown(text), scalar.want)
	case err != nil:
		return fmt.Errorf("%s is not %s", shown(text), scalar.want)
	}
	v.Set(reflect.ValueOf(value).Convert(v.Type()))
	return nil
}
