package scenario

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// setScalar parses the text into a value of one of the scalar types. The error
// says what is wanted instead.
func setScalar(v reflect.Value, text string) error {
	if v.Type() == reflect.TypeFor[Duration]() {
		d, err := parseDuration(text)
		v.SetInt(int64(d))
		return err
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return nil
	case reflect.Bool:
		return parsed(v.SetBool, strconv.ParseBool, text, "true or false")
	case reflect.Float64:
		return parsed(v.SetFloat, parseFloat, text, "a number")
	case reflect.Uint64:
		return parsed(v.SetUint, parseUint, text, "a whole number from 0")
	case reflect.Int, reflect.Int64:
		return parsed(v.SetInt, parseInt, text, "a whole number")
	}
	return fmt.Errorf("a %v is no single value", v.Type()) // no caller comes here: see isScalar
}

// Only decimal: that 010 is eight or ten depends on the version of YAML.
func parseInt(text string) (int64, error)     { return strconv.ParseInt(text, 10, 64) }
func parseUint(text string) (uint64, error)   { return strconv.ParseUint(text, 10, 64) }
func parseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

func parsed[T any](set func(T), parse func(string) (T, error), text, want string) error {
	value, err := parse(text)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s is out of range; want %s", shown(text), want)
	case err != nil:
		return fmt.Errorf("%s is not %s", shown(text), want)
	}
	set(value)
	return nil
}

func isScalar(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float64, reflect.Uint64, reflect.Int, reflect.Int64:
		return true
	}
	return false
}

// tagComplaint says what is wrong with YAML's idea of the type of a scalar, or
// nothing. It is strict so that a file means what it looks like.
func tagComplaint(t reflect.Type, tag, text string) string {
	switch {
	case tag == "!!null":
		return "has no value; give it one or leave it out"
	case t == reflect.TypeFor[FlagValue](), t == reflect.TypeFor[Duration]():
		return "" // both take any text, and say themselves what is wrong with it
	}
	switch t.Kind() {
	case reflect.String:
		return unless(tag == "!!str", "want a string; write %q, in quotes", text)
	case reflect.Bool:
		return unquoted(tag, text, "true or false", "!!bool")
	case reflect.Float64:
		return unquoted(tag, text, "a number", "!!int", "!!float")
	}
	return unquoted(tag, text, "a whole number", "!!int")
}

func unquoted(tag, text, want string, tags ...string) string {
	if slices.Contains(tags, tag) {
		return ""
	}
	if _, err := strconv.ParseFloat(text, 64); tag == "!!str" && (err == nil || text == "true" || text == "false") {
		return fmt.Sprintf("want %s, not %q in quotes", want, text)
	}
	return fmt.Sprintf("want %s, not %s", want, shown(strings.TrimSpace(text)))
}

func unless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
