package scenario

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
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
	flags := flagNames(flagSet(&options.Options{}))
	fields := namesOf(fieldsOf(reflect.TypeFor[Scenario]()))
	if flag, ok := strings.CutPrefix(name, flagsPath+"."); ok {
		return s.Controller.set(flag, value)
	}
	switch {
	case strings.HasSuffix(name, "."):
		return errors.New("the name ends with a dot")
	case slices.Contains(flags, name):
		return s.Controller.set(name, value)
	case strings.ContainsAny(name, ".[") || slices.Contains(fields, name):
		return setPath(reflect.ValueOf(s).Elem(), "", name, value)
	}
	if meant, ok := nearest(name, slices.Concat(fields, flags)); ok {
		return fmt.Errorf("there is no flag or field %s; did you mean %s?", shown(name), meant)
	}
	return fmt.Errorf("there is no flag or field %s; fields are %s; flags are %s", shown(name), listed(fields),
		listed(flags))
}

func (c *Controller) set(flag, value string) error {
	if err := setFlag(flagSet(&options.Options{}), flag, FlagValue(value)); err != nil {
		return err
	}
	if c.Flags == nil {
		c.Flags = map[string]FlagValue{}
	}
	c.Flags[flag] = FlagValue(value)
	return nil
}

// setPath sets what is at the path rest, from v on, which is at the path done.
func setPath(v reflect.Value, done, rest, value string) error {
	var last field
	for rest != "" {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return fmt.Errorf("the scenario has no %s", done)
			}
			v = v.Elem()
		}
		element, after := cutPath(rest)
		var err error
		if v, last, err = descend(v, done, element); err != nil {
			return err
		}
		done, rest = joined(done, element), after
	}
	if v.Kind() == reflect.Pointer && isScalar(v.Type().Elem()) {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if v.Kind() == reflect.Pointer && isBounds(v.Type().Elem()) {
		fresh := reflect.New(v.Type().Elem())
		if err := setExact(fresh.Elem(), func(bound reflect.Value) error { return setScalar(bound, value) }); err != nil {
			return err
		}
		v.Set(fresh)
		return nil
	}
	if !isScalar(v.Type()) {
		return errors.New(notSingle(v, done))
	}
	if err := setScalar(v, value); err != nil {
		return err
	}
	if last.zero != "" && v.IsZero() {
		return fmt.Errorf("%s is the same as leaving it out, which means %s; give it another value", shown(value), last.zero)
	}
	return nil
}

func joined(path, element string) string {
	if strings.HasPrefix(element, "[") {
		return path + element
	}
	return child(path, element)
}

// cutPath cuts off the first element of a path: a name, or an index in
// brackets. A name may be empty, where dots follow each other.
func cutPath(path string) (element, rest string) {
	begin := 0
	if strings.HasPrefix(path, "[") {
		begin = 1
	}
	end := len(path)
	if i := strings.IndexAny(path[begin:], ".["); i >= 0 {
		end = begin + i
	}
	return path[:end], strings.TrimPrefix(path[end:], ".")
}

// descend goes one element down, from v, which is at the path.
func descend(v reflect.Value, path, element string) (reflect.Value, field, error) {
	if strings.HasPrefix(element, "[") {
		inner, err := itemOf(v, path, element)
		return inner, field{}, err
	}
	if v.Kind() != reflect.Struct {
		return v, field{}, fmt.Errorf("there is no field %s in %s; %s", shown(element), path, inside(v, path))
	}
	fields := fieldsOf(v.Type())
	f, ok := fieldNamed(fields, element)
	if ok {
		return v.FieldByIndex(f.index), f, nil
	}
	return v, f, errors.New(missingIn("field", element, path, namesOf(fields)))
}

func itemOf(v reflect.Value, path, element string) (reflect.Value, error) {
	if path == "" {
		path = "the scenario"
	}
	if v.Kind() != reflect.Slice {
		return v, fmt.Errorf("%s is no list", path)
	}
	number, closed := strings.CutSuffix(element[1:], "]")
	i, err := strconv.Atoi(number)
	if err != nil || !closed || i < 0 || i >= v.Len() {
		return v, fmt.Errorf("there is no %s%s; %s", path, element, inside(v, path))
	}
	return v.Index(i), nil
}

func notSingle(v reflect.Value, path string) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "the scenario has no " + path
		}
		v = v.Elem()
	}
	return "it is not a single value; " + inside(v, path)
}

// inside says what can be named at or below the path.
func inside(v reflect.Value, path string) string {
	switch v.Kind() {
	case reflect.Struct:
		return "its fields are " + listed(namesOf(fieldsOf(v.Type())))
	case reflect.Slice:
		if v.Len() == 0 {
			return path + " is empty"
		}
		return fmt.Sprintf("%s has %s to %s", path, item(path, 0), item(path, v.Len()-1))
	case reflect.Map:
		if path == flagsPath {
			return "give the name of a flag"
		}
		return "its values are given in the file"
	}
	return path + " is a single value"
}
