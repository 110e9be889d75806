package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/compare/judge"
	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// A play is a scenario with a subject, on a control plane of its own.
type play struct {
	options
	scenario   scenario
	subject    subject
	program    string
	repetition int
	progress   io.Writer

	world   *world
	process *controlplane.Process
}

// An outcome is what a play has come to.
type outcome struct {
	verdict judge.Verdict
	// judged says that there is a verdict. It is complete if the play was: else
	// what is missing may have come later.
	judged, complete bool
	// restCPU is the share of a core at rest, in percent. cpu is the CPU time from
	// the first death until the last pod had left.
	restCPU float64
	cpu     time.Duration
	memory  int64 // the most that was resident, in bytes
	// lasted is the time that cpu is about.
	lasted time.Duration
	// calls are by verb and resource, over the same time.
	calls  map[string]int
	series series
	first  time.Time // when the first node died
	load   string
}

const (
	// lookPeriod is how often a play looks whether all is done, and reportEvery
	// how often it says how far it is.
	lookPeriod  = time.Second
	reportEvery = 10 * time.Second
	// tail is how long a play waits for what must not happen.
	tail = 5 * time.Second
)

// run plays it.
func (p *play) run(ctx context.Context) (o outcome, err error) {
	begun := time.Now()
	o.load = sidebyside.LoadAverage()
	config := controlplane.Config{}
	if p.dir != "" {
		config.Dir = filepath.Join(p.dir, fmt.Sprintf("%s-%s-%d", p.scenario.name, p.subject.name, p.repetition))
	}
	plane, err := controlplane.Start(ctx, config)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if p.world, err = newWorld(ctx, p.options, plane); err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, p.world.end()) }()
	p.say("%s nodes with %s pods send heartbeats after %.0f s",
		sidebyside.Thousands(p.nodes), sidebyside.Thousands(p.pods), time.Since(begun).Seconds())
	if p.process, err = p.world.launch(ctx, p.subject, p.program); err != nil {
		return o, err
	}
	defer p.process.Stop(stopGrace)
	if err := p.atRest(ctx, &o); err != nil {
		return o, err
	}
	if err := p.outage(ctx, &o); err != nil {
		return o, err
	}
	p.say("done after %.0f s: %v", time.Since(begun).Seconds(), verdictText(&o.verdict))
	return o, nil
}

func verdictText(v *judge.Verdict) string {
	if err := v.Err(); err != nil {
		return err.Error()
	}
	return "nothing is wrong"
}

// atRest measures while nothing happens but heartbeats. It takes more than a
// grace period: after that a subject may act on all that it must.
func (p *play) atRest(ctx context.Context, o *outcome) error {
	if err := wait.Pause(ctx, p.times.settle); err != nil {
		return err
	}
	begun := time.Now()
	used, err := p.process.CPUTime()
	if err != nil {
		return err
	}
	if err := wait.Pause(ctx, p.times.rest); err != nil {
		return err
	}
	after, err := p.process.CPUTime()
	o.restCPU = 100 * (after - used).Seconds() / time.Since(begun).Seconds()
	p.say("at rest: %.1f %% of a core", o.restCPU)
	return err
}

// outage lets nodes die, waits until the subject has done what it must, and
// judges it. What is known by an interruption is judged too.
func (p *play) outage(ctx context.Context, o *outcome) error {
	used, err := p.process.CPUTime()
	if err != nil {
		return err
	}
	err = p.scenario.act(ctx, p.world)
	if err == nil {
		err = p.awaitEnd(ctx)
	}
	o.complete = err == nil
	if o.first = p.world.firstDeath(); o.first.IsZero() {
		return err
	}
	end := time.Now()
	after, cpuErr := p.process.CPUTime()
	o.cpu, o.lasted = after-used, end.Sub(o.first)
	if err == nil {
		err = wait.Pause(ctx, tail)
	}
	collecting, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return errors.Join(err, cpuErr, p.collect(collecting, o, end))
}

// collect reads what happened from the first death to the end, and judges it.
// Evictions after the end are judged too.
func (p *play) collect(ctx context.Context, o *outcome, end time.Time) error {
	memory, err := p.process.Memory()
	if err != nil {
		return errors.Join(err, alive(p.process))
	}
	o.memory = memory.Peak
	evicted, err := p.world.evicted(ctx, p.subject)
	if err != nil {
		return err
	}
	calls, err := p.world.plane.Requests(ctx, controlplane.Filter{User: p.subject.name, Since: o.first})
	if err != nil {
		return err
	}
	o.calls = callsUntil(calls, end)
	nodes := p.world.history(evicted, time.Now())
	o.series = newSeries(nodes, calls, o.first, end)
	if o.verdict, err = judge.Judge(nodes, p.times.grace); err == nil {
		o.judged = true
	}
	return err
}

// awaitEnd waits until the dead are found and their pods evicted, or until that
// has taken far too long.
func (p *play) awaitEnd(ctx context.Context) error {
	first := p.world.firstDeath()
	deadline, reported := time.Now().Add(p.patience()), time.Now()
	for {
		if err := alive(p.process); err != nil {
			return err
		}
		evicted, err := p.world.evicted(ctx, p.subject)
		if err != nil {
			return err
		}
		now := time.Now()
		v, err := judge.Judge(p.world.history(evicted, now), p.times.grace)
		if err != nil {
			return err
		}
		if v.Missed+v.Left == 0 || now.After(deadline) {
			return nil
		}
		if now.Sub(reported) >= reportEvery {
			reported = now
			p.say("%.0f s after the first death: %d of %d Unknown, %d tainted, %d of %d pods evicted",
				now.Sub(first).Seconds(), len(v.Detected), v.Dead, len(v.Tainted),
				len(v.Evicted), p.leaving()*v.Dead)
		}
		if err := wait.Pause(ctx, lookPeriod); err != nil {
			return err
		}
	}
}

// patience is how long after the last death a play waits: twice the time that a
// subject needs whose calls are limited, and two minutes. It writes each dead
// node up to six times and each of its pods four times, Events included.
func (p *play) patience() time.Duration {
	dead := p.scenario.dying(p.options)
	calls := dead * (6 + 4*p.pods/p.nodes)
	sending := time.Duration(calls) * time.Second / qps
	return p.times.grace + p.times.patient + 2*sending + 2*time.Minute
}

// callsUntil counts calls that were received until a moment, by verb and
// resource.
func callsUntil(requests []controlplane.Request, end time.Time) map[string]int {
	counts := map[string]int{}
	for i := range requests {
		r := &requests[i]
		if r.Received.After(end) {
			continue
		}
		resource := r.Resource
		if r.Subresource != "" {
			resource += "/" + r.Subresource
		}
		if resource == "" {
			resource = "other"
		}
		counts[r.Verb+" "+resource]++
	}
	return counts
}

func (p *play) say(format string, args ...any) {
	fmt.Fprintf(p.progress, "%s  %s, %s, %d of %d: %s\n", time.Now().Format(time.TimeOnly),
		p.scenario.name, p.subject.name, p.repetition, p.repetitions, fmt.Sprintf(format, args...))
}
