package scenario

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/options"
)

// FlagValue is what is given to a flag, as it was written: 0.1 stays 0.1. In
// YAML and JSON it is a string, a number or a bool.
type FlagValue string

// MarshalJSON returns a number or a bool if the value is written as one, else a
// string.
func (v FlagValue) MarshalJSON() ([]byte, error) {
	// Quotes, brackets, null and the blanks that JSON allows around a value are
	// valid too, but no number.
	isNumber := strings.Trim(string(v), "+-.eE0123456789") == "" && json.Valid([]byte(v))
	if isNumber || v == "true" || v == "false" {
		return []byte(v), nil
	}
	return json.Marshal(string(v))
}

// UnmarshalText takes any text.
func (v *FlagValue) UnmarshalText(text []byte) error {
	*v = FlagValue(text)
	return nil
}

// Options returns the options of nodelifecycle with these flags set and
// defaults for the others. The error joins a [Problem] for each flag that does
// not exist or has a value that it cannot have.
func (c *Controller) Options() (*options.Options, error) {
	parsed, problems := c.options()
	if len(problems) > 0 {
		return nil, join(problems)
	}
	return parsed, nil
}

const flagsPath = "controller.flags"

func (c *Controller) options() (*options.Options, []Problem) {
	parsed := &options.Options{}
	flags := flagSet(parsed)
	var problems []Problem
	failed := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Flags)) {
		if err := setFlag(flags, name, c.Flags[name]); err != nil {
			problems = append(problems, Problem{Path: flagsPath + "." + name, Message: err.Error()})
			failed[name] = true
		}
	}
	var joined interface{ Unwrap() []error }
	if !errors.As(parsed.Validate(), &joined) {
		return parsed, problems
	}
	for _, err := range joined.Unwrap() {
		path, named := flagsPath, flagNamed.FindAllString(err.Error(), -1)
		if slices.ContainsFunc(named, func(flag string) bool { return failed[flag[2:]] }) {
			continue // it speaks of the default, which is not what was meant
		}
		for _, flag := range slices.Backward(named) { // the first of those that are set
			if _, set := c.Flags[flag[2:]]; set {
				path = child(flagsPath, flag[2:])
			}
		}
		problems = append(problems, Problem{Path: path, Message: err.Error()})
	}
	return parsed, problems
}

// flagNamed matches a flag that a message of the options names.
var flagNamed = regexp.MustCompile(`--[a-z0-9-]+`)

func flagSet(o *options.Options) *pflag.FlagSet {
	flags := pflag.NewFlagSet("nodelifecycle", pflag.ContinueOnError)
	o.AddFlags(flags)
	return flags
}

func flagNames(flags *pflag.FlagSet) []string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

func setFlag(flags *pflag.FlagSet, name string, value FlagValue) error {
	flag := flags.Lookup(name)
	if flag == nil {
		return errors.New(missing("flag", name, flagNames(flags)))
	}
	if err := flag.Value.Set(string(value)); err != nil {
		kind := flag.Value.Type() // pflag names types of Go
		words := map[string]string{
			"duration": "a duration like 90s", "bool": "true or false", "int": "a whole number", "float32": "a number",
			"float64": "a number",
		}
		return fmt.Errorf("%q is no value for this flag; want %s", string(value), cmp.Or(words[kind], "a "+kind))
	}
	return nil
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
