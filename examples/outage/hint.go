package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	edlib "github.com/hbollon/go-edlib"
	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// commands are the first arguments that are no scenario.
var commands = []string{blastCommand}

// likeness is how much alike two names must be for one to be meant by the
// other: of five letters two may be wrong.
const likeness = 0.6

// nearest returns the name that is most like the given one, empty if there is
// none.
func nearest(name string, names []string) string {
	if name == "" {
		return ""
	}
	meant, err := edlib.FuzzySearchThreshold(strings.ToLower(name), names, likeness, edlib.OSADamerauLevenshtein)
	if err != nil {
		return ""
	}
	return meant
}

// withHint says of a flag that there is not which one was meant. The value of a
// scenario is given with --set. Other names may be misspelled.
func withHint(err error, flags *pflag.FlagSet, args []string) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := unknown.GetSpecifiedName()
	if assignment := name + "=" + valueOf(name, args); flags.Lookup("set") != nil &&
		scenario.Set(new(scenario.Scenario), assignment) == nil {
		return fmt.Errorf("%w; did you mean --set %s?", err, assignment)
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if meant := nearest(name, names); meant != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, meant)
	}
	return err
}

// valueOf returns what a flag was given, after an equals sign or a space.
func valueOf(name string, args []string) string {
	flag := "--" + name
	for i, arg := range args {
		if value, ok := strings.CutPrefix(arg, flag+"="); ok {
			return value
		}
		if rest := slices.Concat(args[i+1:], []string{""}); arg == flag {
			return rest[0]
		}
	}
	return ""
}
