package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/outage/scale"
)

// scaleCommand is the first argument that asks for what runs cost.
const scaleCommand = "scale"

// addScaleFlags adds the flags of scale, which plays a story of its own.
func (s *settings) addScaleFlags(flags *pflag.FlagSet) {
	flags.IntVar(&s.scale.Most, "nodes", scale.DefaultMost, "How many nodes the largest cluster has at most.")
	flags.IntVar(&s.scale.Least, "least", scale.DefaultLeast, "How many nodes the first cluster has. Each other has "+
		"twice as many as the one before.")
	flags.Float64Var(&s.scale.EvictionRate, "node-eviction-rate", scale.DefaultEvictionRate, "How many nodes a second "+
		"are tainted. With a high rate all lost nodes are, and their pods evicted.")
	flags.Uint64Var(&s.scale.Seed, "seed", 1, "Play another course of the same story.")
	flags.BoolVar(&s.scale.Kubelets, "kubelets", false, "Run the kubelet of examples/hollownode on each node.")
	flags.BoolVar(&s.json, "json", false, "Print one JSON document instead of text.")
}

// checkScale reports what is wrong with the flags of scale.
func (s *settings) checkScale(flags *pflag.FlagSet) error {
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("scale takes no scenario, got %q", flags.Args())
	case s.scale.Least < 3: // a node for each zone
		return fmt.Errorf("--least is %d, want at least 3", s.scale.Least)
	case s.scale.Most < s.scale.Least:
		return fmt.Errorf("--nodes is %d, want at least --least, which is %d", s.scale.Most, s.scale.Least)
	case s.scale.EvictionRate == 0:
		return errors.New("--node-eviction-rate is 0, want more")
	}
	return s.scale.Validate()
}

// performScale plays all sizes and prints what they cost. If it is interrupted,
// it prints those that are complete.
func (s *settings) performScale(ctx context.Context, out, diagnostics io.Writer) error {
	shown := newProgress(diagnostics, 0)
	s.scale.Progress = func(nodes int, done float64) {
		shown.share(time.Now(), fmt.Sprintf("%d nodes", nodes), done)
	}
	result, err := scale.Play(ctx, s.scale)
	shown.clear()
	switch {
	case result == nil:
		return usageError{err}
	case errors.Is(err, context.Canceled):
		err = fmt.Errorf("%w after %d of %d sizes", errInterrupted, len(result.Rows), result.Of)
	}
	if s.json {
		return errors.Join(encode(out, result), err)
	}
	return errors.Join(result.Write(out), err)
}
