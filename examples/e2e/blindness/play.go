package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/blindness/judge"
	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

const (
	// longest bounds a play. The longest scenario takes seven minutes.
	longest = 20 * time.Minute
	// shown is how many wrong declarations are printed.
	shown = 5
)

// A play is a scenario with a subject in it.
type play struct {
	scenario scenario
	subject  subject
	program  string
	times    times
	// dir keeps data and logs if it is not empty.
	dir      string
	progress io.Writer
}

// run plays it on a control plane of its own and returns the verdict.
func (p play) run(ctx context.Context) (counts judge.Counts, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	begun := time.Now()
	config := controlplane.Config{}
	if p.dir != "" {
		config.Dir = filepath.Join(p.dir, p.scenario.Name+"-"+p.subject.Name)
	}
	plane, err := controlplane.Start(ctx, config)
	if err != nil {
		return counts, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	w, err := newWorld(ctx, plane, p.scenario.Zones, p.times)
	if err != nil {
		return counts, err
	}
	defer func() { err = errors.Join(err, w.end()) }()
	p.printf("%d nodes beat after %.0fs", len(w.fleet.AllNodes()), time.Since(begun).Seconds())
	args := append(p.times.common(p.scenario.Replicas > 1), p.subject.Args(p.times)...)
	r, err := newReplicas(w, p.program, args, p.scenario.Proxied)
	if err != nil {
		return counts, err
	}
	defer r.stop()
	if err := r.start(ctx, p.scenario.Replicas); err != nil {
		return counts, err
	}
	// A grace period after its start a subject may act on all that it should.
	if err := wait.Pause(ctx, p.times.grace*5/4); err != nil {
		return counts, err
	}
	p.printf("the fault begins after %.0fs", time.Since(begun).Seconds())
	counts, err = p.judge(ctx, w, r)
	if err == nil {
		p.tell(counts, w)
	}
	p.printf("done after %.0fs", time.Since(begun).Seconds())
	return counts, err
}

// judge plays the fault, waits for what follows from it, and counts.
func (p play) judge(ctx context.Context, w *world, r *replicas) (judge.Counts, error) {
	if err := p.scenario.Act(ctx, w, r); err != nil {
		return judge.Counts{}, err
	}
	over := time.Now()
	if err := w.awaitEnd(ctx, over); err != nil {
		return judge.Counts{}, err
	}
	if err := r.alive(); err != nil {
		return judge.Counts{}, err
	}
	rules := w.rules(over)
	if p.scenario.Findable {
		rules.Clear = w.death()
	}
	nodes, err := w.history(ctx)
	if err != nil {
		return judge.Counts{}, err
	}
	return judge.Count(nodes, rules)
}

// tell prints the verdict, and the first of the wrong declarations.
func (p play) tell(counts judge.Counts, w *world) {
	p.printf("%s", show(counts))
	for i, fault := range counts.Faults {
		if i == shown {
			p.printf("and %d more wrong declarations", len(counts.Faults)-shown)
			break
		}
		conditions := "the witness did not see it"
		for _, s := range w.witness.Of(fault.Node).Unknown {
			if s.At.After(fault.At) {
				conditions = "Unknown: " + s.Conditions
				break
			}
		}
		p.printf("%s declared at %s after a silence of %.1fs and %.1fs without the API server; %s",
			fault.Node, fault.At.Format("15:04:05.000"),
			fault.Silence.Seconds(), fault.Down.Seconds(), conditions)
	}
}

func (p play) printf(format string, args ...any) {
	said := fmt.Sprintf(format, args...)
	fmt.Fprintf(p.progress, "%s, %s: %s\n", p.scenario.Name, p.subject.Name, said)
}
