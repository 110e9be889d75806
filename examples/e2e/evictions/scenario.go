package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/evictions/judge"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// A scenario is something that goes wrong while pods are evicted.
type scenario struct {
	// Name is what --scenario calls it, Title its row of the table.
	Name, Title string
	// Ours are flags of our program for it. Upstream's has none that matter here.
	Ours []string
	// Late is how long after it must and can leave a pod is still in time. It has
	// to allow for two crowded cores, and for the wait before another attempt.
	Late time.Duration
	// Act sets the scene and plays it, until nothing more stands in the way.
	Act func(context.Context, *cluster, *controller) error
}

// scenarios are those of the table. The longest comes first, so that all
// together take less time when several are played at a time.
func scenarios() []scenario {
	return []scenario{restarted(), denied(), outage(), recreated(), budget(), patched()}
}

// lost is how long after it must and can leave a pod is given up.
const lost = time.Minute

// longest bounds a play. The longest scenario takes two minutes.
const longest = 10 * time.Minute

// A play is a scenario with a subject in it.
type play struct {
	scenario scenario
	subject  subject
	program  string
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
	c, err := newCluster(plane)
	if err != nil {
		return counts, err
	}
	p.printf("control plane ready after %.1fs", time.Since(begun).Seconds())
	running, err := newController(ctx, c, p.program, p.subject.Args(p.scenario))
	if running != nil && running.process != nil {
		defer running.stop()
	}
	if err != nil {
		return counts, err
	}
	p.printf("%s evicts after %.1fs", filepath.Base(p.program), time.Since(begun).Seconds())
	if counts, err = p.judge(ctx, c, running); err != nil {
		if errors.Is(err, wait.ErrEnded) {
			return counts, err // the log's end is in it
		}
		return counts, fmt.Errorf("%w\n%s", err, running.process.LogTail(20))
	}
	p.printf("%+v after %.1fs", counts, time.Since(begun).Seconds())
	return counts, nil
}

// judge plays the scenario, waits for its end, and counts.
func (p play) judge(ctx context.Context, c *cluster, running *controller) (judge.Counts, error) {
	if err := p.scenario.Act(ctx, c, running); err != nil {
		return judge.Counts{}, err
	}
	rules := judge.Rules{Subject: user, Late: p.scenario.Late, Lost: lost}
	if err := c.awaitEnd(ctx); err != nil {
		return judge.Counts{}, err
	}
	if err := running.alive(); err != nil {
		return judge.Counts{}, err
	}
	cases, err := c.history(ctx)
	if err != nil {
		return judge.Counts{}, err
	}
	rules.At = time.Now()
	return judge.Count(cases, rules)
}

func (p play) printf(format string, args ...any) {
	fmt.Fprintf(p.progress, "%s, %s: %s\n", p.scenario.Name, p.subject.Name, fmt.Sprintf(format, args...))
}
