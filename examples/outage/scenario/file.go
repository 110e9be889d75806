package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/options"
	"github.com/kubelife/lifecycle/examples/outage/scenario/strictyaml"
)

// Problem is one thing that is wrong with a scenario. Errors of this package
// are Problems joined by [errors.Join], even if it is only one: errors.AsType
// finds the first, and Unwrap() []error all of them.
type Problem = strictyaml.Problem

// language is that of scenarios. A part that says nothing is no default of
// expectations and of nodes.
func language() strictyaml.Language {
	return strictyaml.Language{What: "scenario", MustSay: func(t reflect.Type) bool {
		return t == reflect.TypeFor[Nodes]() || strings.HasPrefix(t.Name(), "Expect") || strings.HasPrefix(t.Name(), "Bounds")
	}}
}

// Read reads a scenario from a file's content. The name of the file is only for
// errors, "scenario" if it is empty. What is left out stays zero: see
// [Scenario.Defaulted].
//
// The error joins a [Problem] for everything that is wrong, in the order of the
// file. If the file is no YAML it is only the first thing that makes it so.
func Read(file string, data []byte) (*Scenario, error) {
	s := &Scenario{}
	document := language().Read(cmp.Or(file, "scenario"), data, s)
	if failed := document.Failed(); !slices.Contains(failed, "") {
		for _, p := range s.problems(failed) {
			document.Add(p)
		}
	}
	if err := document.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// Write returns the scenario as YAML, its fields in the order of the types,
// what is zero left out. [Read] reads the same value back, but nil for lists
// and maps that are empty. A scenario that is not valid is an error: Read would
// refuse it.
func Write(s *Scenario) ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("the scenario cannot be written: %w", err)
	}
	return strictyaml.Write(s)
}

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
	fields := strictyaml.Names(strictyaml.Fields(reflect.TypeFor[Scenario]()))
	if flag, ok := strings.CutPrefix(name, flagsPath+"."); ok {
		return s.Controller.set(flag, value)
	}
	switch {
	case name == flagsPath:
		return errors.New("it is not a single value; give the name of a flag")
	case strings.HasSuffix(name, "."):
		return errors.New("the name ends with a dot")
	case slices.Contains(flags, name):
		return s.Controller.set(name, value)
	case strings.ContainsAny(name, ".[") || slices.Contains(fields, name):
		return language().Set(s, name, value)
	}
	if meant := strictyaml.Nearest(name, slices.Concat(fields, flags)); meant != "" {
		return fmt.Errorf("there is no flag or field %s; did you mean %s?", strictyaml.Shown(name), meant)
	}
	return fmt.Errorf("there is no flag or field %s; fields are %s; flags are %s", strictyaml.Shown(name),
		strictyaml.Listed(fields), strictyaml.Listed(flags))
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
