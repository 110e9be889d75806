// Command scheduler is a small scheduler made of the lifecycle library. It
// binds the pods that name it in spec.schedulerName, and leaves all others to
// kube-scheduler, next to which it runs.
//
// It asks the library what is hard about nodes. Which of them are silent before
// they are declared not ready, and which zones are disrupted? Which taints does
// a pod not tolerate? What would DaemonSets take of a node that does not exist
// yet? Pods that have to make room leave through the Eviction API, so that no
// PodDisruptionBudget is broken.
//
// Package scheduling decides, and says what this scheduler does not support. It
// refuses such pods and tells them why.
package main

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/process"
)

func main() { process.Main(run) }

func run(ctx context.Context, args []string, out, diagnostics io.Writer) int {
	return command(new(settings)).Execute(ctx, args, out, diagnostics)
}

// command returns the program's command line, whose flags set s.
func command(s *settings) *process.Command {
	s.process.Name, s.process.Port = "scheduler", 10273
	s.process.WithoutShadow = "what it decides depends on the pods that it has bound"
	return &process.Command{
		Process:  &s.process,
		Settings: s,
		Intro:    intro,
		Run: func(ctx context.Context, _ *pflag.FlagSet, _ io.Writer) error {
			config, found, err := process.RESTConfig(&s.process, &s.Replica)
			if err != nil {
				return err
			}
			if !found {
				return process.ErrNoCluster
			}
			return program(s).Run(ctx, config)
		},
	}
}
