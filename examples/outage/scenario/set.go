package scenario

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/options"
)

// Set changes one value of the scenario as name=value says, for a command line.
// The name is that of a flag of the controller, node-eviction-rate=1, or the
// path of a single value: duration=2h, controller.replicas=2,
// cluster.zones[0].nodes=10, script[1].silence.share=0.3. What is a list or has
// fields cannot be set, nor can items be added to a list.
//
// Only the form of the value is checked, because one assignment may need
// another: call [Scenario.Validate] after the last. On an error the scenario is
// unchanged. What it shares with copies of it is not changed either.
func Set(s *Scenario, assignment string) error {
	name, value, ok := strings.Cut(assignment, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || name == "" {
		return fmt.Errorf("%q is no assignment; write it like node-eviction-rate=1 or cluster.zones[0].nodes=10", assignment)
	}
	changed := s.Clone()
	if err := changed.set(name, value); err != nil {
		return fmt.Errorf("%.200s: %w", assignment, err)
	}
	*s = *changed
	return nil
}

func (s *Scenario) set(name, value string) error {
	flags, fields := flagNames(flagSet(&options.Options{})), fieldNames(fields(reflect.TypeFor[Scenario]()))
	flag, isFlag := strings.CutPrefix(name, flagsPath+".")
	switch {
	case name == flagsPath:
		return errors.New("it is not a single value; give the name of a flag")
	case isFlag, slices.Contains(flags, name):
		return s.Controller.set(flag, value)
	case strings.HasSuffix(name, "."):
		return errors.New("the name ends with a dot")
	case strings.ContainsAny(name, ".[") || slices.Contains(fields, name):
		return s.setField(name, value)
	}
	if meant := nearest(name, slices.Concat(fields, flags)); meant != "" {
		return fmt.Errorf("there is no flag or field %s; did you mean %s?", shown(name), meant)
	}
	return fmt.Errorf("there is no flag or field %s; fields are %s; flags are %s", shown(name), listed(fields),
		listed(flags))
}

// setField sets the single value at the path. An error may leave something set.
func (s *Scenario) setField(path, text string) error {
	at, f, v := s.find(path)
	if at == path && v.Kind() == reflect.Pointer && (isScalar(v.Type().Elem()) || isBounds(v.Type().Elem())) {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.Pointer:
		return fmt.Errorf("the scenario has no %s", at)
	case at != path:
		return notThere(path, at, v)
	case isBounds(v.Type()):
		var err error
		exactly(v, func(value reflect.Value) { err = setScalar(value, text) })
		return err
	case !isScalar(v.Type()):
		return errors.New("it is not a single value; " + inside(v, path))
	}
	err := setScalar(v, text)
	if err == nil && f.Type == v.Type() && f.zeroMeans() != "" && v.IsZero() {
		return fmt.Errorf("%s is the same as leaving it out, which means %s; give it another value", shown(text),
			f.zeroMeans())
	}
	return err
}

// find returns what is at the path or, if that does not exist, what lacks it.
// It does not look into maps, whose entries have no address.
func (s *Scenario) find(path string) (at string, f *field, v reflect.Value) {
	walk("", &field{}, reflect.ValueOf(s).Elem(), func(here string, holder *field, value reflect.Value) {
		if below(path, here) && v.Kind() != reflect.Map {
			at, f, v = here, holder, value
		}
	}, nothing)
	return at, f, v
}

// notThere says that the path has an element that what is there lacks, and what
// there is instead.
func notThere(path, at string, v reflect.Value) error {
	rest := path[len(at):]
	if at != "" {
		rest = strings.TrimPrefix(rest, ".")
	}
	element := elementOf.FindString(rest)
	switch {
	case v.Kind() == reflect.Map:
		return fmt.Errorf("the values of %s are given in the file", at)
	case v.Kind() == reflect.Struct && !strings.HasPrefix(element, "["):
		return errors.New(missing("field", element, fieldNames(fields(v.Type()))))
	}
	return fmt.Errorf("there is no %s; %s", path[:len(path)-len(rest)+len(element)], inside(v, at))
}

// elementOf matches the first element of a path: a name, which may be empty, or
// an index in brackets.
var elementOf = regexp.MustCompile(`^\[?[^.[]*`)

// inside says what can be named at or below the path.
func inside(v reflect.Value, path string) string {
	switch v.Kind() {
	case reflect.Struct:
		return "its fields are " + listed(fieldNames(fields(v.Type())))
	case reflect.Slice:
		if v.Len() == 0 {
			return path + " is empty"
		}
		return fmt.Sprintf("%s has %s to %s", path, item(path, 0), item(path, v.Len()-1))
	case reflect.Map:
		return "its values are given in the file"
	}
	return path + " is a single value"
}
