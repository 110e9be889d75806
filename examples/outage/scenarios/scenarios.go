// Package scenarios holds the scenarios that ship with the outage simulator,
// each a YAML file in this folder whose description says what to watch for.
// They are files, to be run by their path and to be copied. They are embedded,
// so that a program and its tests always have them.
package scenarios

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

//go:embed *.yaml
var files embed.FS

// Names returns the names of the scenarios, sorted.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // it is part of the program: a folder that is there cannot fail
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = strings.TrimSuffix(entry.Name(), ".yaml")
	}
	slices.Sort(names)
	return names
}

// Read returns the scenario of that name, a new value each time.
func Read(name string) (*scenario.Scenario, error) {
	data, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no scenario %q; scenarios are %s", name, strings.Join(Names(), ", "))
	}
	return scenario.Read(name+".yaml", data)
}
