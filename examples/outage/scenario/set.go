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
		return s.setPath(name, value)
	}
	if meant := nearest(name, slices.Concat(fields, flags)); meant != "" {
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

// setPath sets what is at the path, one element of it after another.
func (s *Scenario) setPath(path, value string) error {
	at, v, means := "", reflect.ValueOf(s).Elem(), ""
	elements := strings.Split(strings.ReplaceAll(path, "[", ".["), ".")
	if strings.HasPrefix(path, "[") {
		elements = elements[1:]
	}
	for _, element := range elements {
		if v.Kind() == reflect.Pointer && v.IsNil() {
			return fmt.Errorf("the scenario has no %s", at)
		}
		var err error
		if v, means, err = descend(reflect.Indirect(v), at, element); err != nil {
			return err
		}
		at = child(at, element)
	}
	if v.Kind() == reflect.Pointer && (isScalar(v.Type().Elem()) || isBounds(v.Type().Elem())) {
		v.Set(reflect.New(v.Type().Elem()))
	} else if v.Kind() == reflect.Pointer && v.IsNil() {
		return errors.New("the scenario has no " + at)
	}
	v = reflect.Indirect(v)
	switch {
	case isBounds(v.Type()):
		bound := boundOf(v.Type())
		err := setScalar(bound, value)
		setExact(v, bound)
		return err
	case !isScalar(v.Type()):
		return errors.New("it is not a single value; " + inside(v, at))
	}
	if err := setScalar(v, value); err != nil {
		return err
	}
	if means != "" && v.IsZero() {
		return fmt.Errorf("%s is the same as leaving it out, which means %s; give it another value", shown(value), means)
	}
	return nil
}

// descend goes one element down, from v, which is at the path. It returns what
// the zero of a field means, too.
func descend(v reflect.Value, path, element string) (inner reflect.Value, zero string, err error) {
	if strings.HasPrefix(element, "[") {
		inner, err = itemOf(v, path, element)
		return inner, "", err
	}
	if v.Kind() != reflect.Struct {
		return v, "", fmt.Errorf("there is no field %s in %s; %s", shown(element), path, inside(v, path))
	}
	fields := fieldsOf(v.Type())
	if f := fieldNamed(fields, element); f != nil {
		return v.FieldByIndex(f.Index), f.zeroMeans(), nil
	}
	where := ""
	if path != "" {
		where = " in " + path
	}
	return v, "", errors.New(missing("field", element, where, namesOf(fields)))
}

func itemOf(v reflect.Value, path, element string) (reflect.Value, error) {
	if v.Kind() != reflect.Slice {
		if path == "" {
			path = "the scenario"
		}
		return v, fmt.Errorf("%s is no list", path)
	}
	number, closed := strings.CutSuffix(element[1:], "]")
	i, err := strconv.Atoi(number)
	if err != nil || !closed || i < 0 || i >= v.Len() {
		return v, fmt.Errorf("there is no %s%s; %s", path, element, inside(v, path))
	}
	return v.Index(i), nil
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
