package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/outage/blast"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// blastCommand is the first argument that asks for a table of losses.
const blastCommand = "blast"

// blastDocument is what blast prints with --json.
type blastDocument struct {
	*blast.Report

	// Settings are the assignments of --set.
	Settings []string `json:"settings"`
	// Notes say what of a cluster the scenario does not have.
	Notes []string `json:"notes"`
}

// checkBlast takes the scenario whose cluster is lost in parts.
func (s *settings) checkBlast(flags *pflag.FlagSet) error {
	if s.longest <= 0 {
		return fmt.Errorf("--longest is %v, want more than 0", s.longest)
	}
	return s.takeScenario(flags)
}

// performBlast plays all losses and prints what they come to. If it is
// interrupted, it prints what is known.
func (s *settings) performBlast(ctx context.Context, given *scenario.Scenario, out, diagnostics io.Writer) error {
	shown := newProgress(diagnostics, 0)
	result, err := blast.Play(ctx, given, blast.Config{
		Longest:  s.longest,
		Progress: func(done, all int) { shown.runs(time.Now(), done, all) },
	})
	shown.clear()
	switch {
	case result == nil:
		return usageError{err}
	case errors.Is(err, context.Canceled):
		err = fmt.Errorf("%w after %d of %d runs", errInterrupted, result.Done, result.Of)
	}
	if !s.json {
		return errors.Join(result.Write(out), err)
	}
	document := blastDocument{Report: result, Settings: s.set, Notes: s.source.notes}
	if document.Settings == nil {
		document.Settings = []string{}
	}
	if document.Notes == nil {
		document.Notes = []string{}
	}
	return errors.Join(encode(out, document), err)
}
