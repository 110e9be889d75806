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
	"github.com/kubelife/lifecycle/examples/process/atomicfile"
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

// addBlastFlags adds the flags that blast alone has, and its own page.
func (s *settings) addBlastFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&s.longest, "longest", 6*time.Hour, "How long a loss is played at most, in time of the cluster.")
	flags.IntVar(&s.workers, "workers", 0, "How many losses are played at a time, each with a cluster of its own in "+
		"memory. By default one a core.")
	flags.StringVar(&s.html, "html", "", "Also write a page to `FILE`: the tables with all settings, and plots of the "+
		"losses that hurt most. It needs no network.")
}

// checkBlast takes the scenario whose cluster is lost in parts.
func (s *settings) checkBlast(flags *pflag.FlagSet) error {
	if s.longest <= 0 {
		return fmt.Errorf("--longest is %v, want more than 0", s.longest)
	}
	if flags.Changed("workers") && s.workers <= 0 {
		return fmt.Errorf("--workers is %d, want at least 1", s.workers)
	}
	if flags.Changed("html") && s.html == "" {
		return errors.New("--html wants the name of a file")
	}
	return s.takeScenario(flags)
}

// blastConfig says how the losses are played.
func (s *settings) blastConfig() blast.Config {
	return blast.Config{Longest: s.longest, Workers: s.workers}
}

// performBlast plays all losses and prints what they come to. If it is
// interrupted, it prints what is known.
func (s *settings) performBlast(ctx context.Context, given *scenario.Scenario, out, diagnostics io.Writer) error {
	file, err := atomicfile.NewFile("--html", s.html)
	if err != nil {
		return usageError{err}
	}
	shown := newProgress(diagnostics, 0)
	config := s.blastConfig()
	config.Progress = func(p blast.Progress) { shown.runs(time.Now(), p) }
	result, err := blast.Play(ctx, given, config)
	shown.clear()
	switch {
	case result == nil:
		return usageError{err}
	case errors.Is(err, context.Canceled):
		err = fmt.Errorf("%w after %d of %d runs", errInterrupted, result.Done, result.Of)
	}
	err = errors.Join(file.Write(func(out io.Writer) error {
		return result.WritePage(out, s.set, s.source.notes)
	}), err) // before anything is printed: a reader of that may be gone
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
