package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/scenarios"
)

// load returns the scenario that the command line names, with its settings.
func (s *settings) load(ctx context.Context, in io.Reader, diagnostics io.Writer) (*scenario.Scenario, error) {
	if err := s.checkWritten(); err != nil {
		return nil, usageError{err}
	}
	loaded, err := s.read(ctx, in, diagnostics)
	if err != nil {
		return nil, err
	}
	if s.seedSet {
		loaded.Seed = s.seed
	}
	return s.changed(loaded, "--set", s.set)
}

// read reads the scenario, or makes one of a cluster if that is asked for.
func (s *settings) read(ctx context.Context, in io.Reader, diagnostics io.Writer) (*scenario.Scenario, error) {
	if s.source.given() {
		return s.source.read(ctx, in, diagnostics)
	}
	read, err := s.readScenario(in)
	if err != nil {
		return nil, usageError{err}
	}
	return read, nil
}

// readScenario reads a scenario: one that ships by its bare name, else a file.
func (s *settings) readScenario(in io.Reader) (*scenario.Scenario, error) {
	if slices.Contains(scenarios.Names(), s.scenario) {
		return scenarios.Read(s.scenario)
	}
	if s.scenario == "-" {
		data, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return valid(scenario.Read("standard input", data))
	}
	data, err := os.ReadFile(s.scenario)
	if errors.Is(err, fs.ErrNotExist) {
		text := "those are " + strings.Join(scenarios.Names(), ", ")
		if meant := nearest(s.scenario, slices.Concat(scenarios.Names(), commands)); meant != "" {
			text = fmt.Sprintf("did you mean %s?", meant)
		}
		return nil, fmt.Errorf("%s is neither a file nor a scenario that ships; %s", s.scenario, text)
	}
	if err != nil {
		return nil, err
	}
	return valid(scenario.Read(s.scenario, data))
}

// valid says of the problems with a scenario what they are. They keep lines of
// their own, which begin with the place.
func valid(s *scenario.Scenario, err error) (*scenario.Scenario, error) {
	if err != nil {
		return nil, fmt.Errorf("the scenario is invalid:\n%w", err)
	}
	return s, nil
}

// changed returns a copy of a scenario with other settings, which come from a
// flag. What the scenario expects follows from the settings that it has: with
// others it is left out.
func (s *settings) changed(given *scenario.Scenario, flag string, assignments []string) (*scenario.Scenario, error) {
	result := given.Clone()
	for _, assignment := range assignments {
		if err := scenario.Set(result, assignment); err != nil {
			return nil, usageError{fmt.Errorf("%s %w", flag, err)}
		}
	}
	if result.Expect != nil && slices.ContainsFunc(assignments, changesTheOutcome) {
		result.Expect, s.unexpected = nil, true
	}
	if err := result.Validate(); err != nil {
		return nil,
			usageError{fmt.Errorf("the scenario is invalid with %s %s:\n%w", flag, strings.Join(assignments, ", "), err)}
	}
	return result, nil
}

// kubeletsPath is what --kubelets sets.
const kubeletsPath = "cluster.kubelets"

// changesTheOutcome reports whether an assignment changes what must come out.
// With the kubelets of hollownode the same must.
func changesTheOutcome(assignment string) bool {
	name, _, _ := strings.Cut(assignment, "=")
	if name = strings.TrimSpace(name); name == kubeletsPath {
		return false
	}
	name, _, _ = strings.Cut(name, ".")
	return !slices.Contains([]string{"name", "description", "seed", "expect"}, name)
}
