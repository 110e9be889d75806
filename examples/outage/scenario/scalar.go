package scenario

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Duration is a time.Duration, written as in Go: 1h30m.
type Duration time.Duration

// D returns the duration as package time has it.
func (d Duration) D() time.Duration { return time.Duration(d) }

// String returns the duration as in Go but without units that are zero at its
// end: 1h30m, not 1h30m0s. Zero is 0s.
func (d Duration) String() string {
	text := d.D().String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText returns what String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a duration with its unit; only 0 needs none.
func (d *Duration) UnmarshalText(data []byte) error {
	text := string(data)
	parsed, err := time.ParseDuration(text)
	if err == nil {
		*d = Duration(parsed)
		return nil
	}
	if _, err := time.ParseDuration(text + "s"); err == nil && strings.Trim(text, "+-.0123456789") == "" {
		return fmt.Errorf("%s has no unit; write %ss if it is in seconds", text, text)
	}
	return fmt.Errorf("%q is no duration; write it like 90s, 5m or 1h30m", text)
}

func isScalar(t reflect.Type) bool {
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

// setScalar parses the text into a value of one of the scalar types. The error
// says what is wanted instead. Numbers are decimal: that 010 is eight or ten
// depends on the version of YAML.
func setScalar(v reflect.Value, text string) (err error) {
	want := numbers(v.Kind()).want
	switch {
	case v.Type() == reflect.TypeFor[Duration]():
		var d Duration
		err = d.UnmarshalText([]byte(text))
		v.SetInt(int64(d))
		return err
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

// tagComplaint says what is wrong with YAML's idea of the type of a scalar, or
// nothing. It is strict so that a file means what it looks like.
func tagComplaint(t reflect.Type, tag, text string) string {
	number := numbers(t.Kind())
	switch {
	case tag == "!!null":
		return "has no value; give it one or leave it out"
	case t == reflect.TypeFor[FlagValue](), t == reflect.TypeFor[Duration](), slices.Contains(number.tags, tag):
		return "" // the first two take any text, and say themselves what is wrong with it
	case t.Kind() == reflect.String && tag == "!!str":
		return ""
	case t.Kind() == reflect.String:
		return fmt.Sprintf("want a string; write %q, in quotes", text)
	}
	if _, err := strconv.ParseFloat(text, 64); tag == "!!str" && (err == nil || text == "true" || text == "false") {
		return fmt.Sprintf("want %s, not %q in quotes", number.want, text)
	}
	return fmt.Sprintf("want %s, not %s", number.want, shown(strings.TrimSpace(text)))
}
