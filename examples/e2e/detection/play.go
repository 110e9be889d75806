package detection

import (
	"context"
	"errors"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/detection/judge"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/e2e/wait"
)

// An outcome is what a play has come to.
type outcome struct {
	verdict judge.Verdict
	// judged says that there is a verdict. It is complete if the play was: else
	// what is missing may have come later.
	judged, complete bool
	rest             rest
	// cpu is the CPU time from the first death until the last pod had left, and
	// lasted the time that it is about.
	cpu, lasted time.Duration
	memory      int64 // the most that was resident, in bytes
	// calls are by verb and resource, over the same time.
	calls  map[string]int
	series series
	first  time.Time // when the first node died
}

const (
	// lookPeriod is how often a play looks whether all is done, and reportEvery
	// how often it says how far it is.
	lookPeriod  = time.Second
	reportEvery = 10 * time.Second
	// tail is how long a play waits for what must not happen.
	tail = 5 * time.Second
)

// play plays a scenario. Of a play that is not complete the outcome is nil if
// nothing can be said.
func (o *options) play(ctx context.Context, p *sidebyside.Play[scenario]) (of *outcome, err error) {
	w, err := newWorld(ctx, o, p.Stage)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.End()) }()
	p.Say("%s nodes with %s pods send heartbeats", sidebyside.Thousands(o.nodes), sidebyside.Thousands(o.pods))
	alone := p.Scenario.act == nil
	if err := w.launch(ctx, alone); err != nil {
		return nil, err
	}
	var informers *sidebyside.Processes
	if alone {
		if informers, err = w.launchBaseline(ctx); err != nil {
			return nil, err
		}
	}
	of = &outcome{}
	err = w.atRest(ctx, &of.rest, informers)
	if alone {
		return of, err
	}
	if err == nil {
		err = w.outage(ctx, p.Scenario, of)
	}
	if !of.judged {
		return nil, err
	}
	p.Say("%s", verdictText(&of.verdict))
	return of, err
}

func verdictText(v *judge.Verdict) string {
	if err := v.Err(); err != nil {
		return err.Error()
	}
	return "nothing is wrong"
}

// outage lets nodes die, waits until the subject has done what it must, and
// judges it. What is known by an interruption is judged too.
func (w *world) outage(ctx context.Context, s scenario, o *outcome) error {
	used, err := w.running.CPUTime()
	if err != nil {
		return err
	}
	err = s.act(ctx, w)
	if err == nil {
		err = w.awaitEnd(ctx, s)
	}
	o.complete = err == nil
	if o.first = w.FirstDeath(); o.first.IsZero() {
		return err
	}
	end := time.Now()
	after, cpuErr := w.running.CPUTime()
	o.cpu, o.lasted = after-used, end.Sub(o.first)
	if err == nil {
		err = wait.Pause(ctx, tail)
	}
	collecting, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return errors.Join(err, cpuErr, w.collect(collecting, o, end))
}

// collect reads what happened from the first death to the end, and judges it.
// Evictions after the end are judged too.
func (w *world) collect(ctx context.Context, o *outcome, end time.Time) error {
	memory, err := w.running.Last().Memory()
	if err != nil {
		return errors.Join(err, w.running.Alive())
	}
	o.memory = memory.Peak
	evicted, err := w.evicted(ctx)
	if err != nil {
		return err
	}
	calls, err := w.Plane.Requests(ctx, controlplane.Filter{User: sidebyside.User, Since: o.first})
	if err != nil {
		return err
	}
	o.calls = callsUntil(calls, end)
	nodes := w.history(evicted, time.Now())
	o.series = newSeries(nodes, calls, o.first, end)
	if o.verdict, err = judge.Judge(nodes, w.times.grace); err == nil {
		o.judged = true
	}
	return err
}

// awaitEnd waits until the dead are found and their pods evicted, or until that
// has taken far too long.
func (w *world) awaitEnd(ctx context.Context, s scenario) error {
	first := w.FirstDeath()
	deadline, reported := time.Now().Add(w.patience(s)), time.Now()
	for {
		if err := w.running.Alive(); err != nil {
			return err
		}
		evicted, err := w.evicted(ctx)
		if err != nil {
			return err
		}
		now := time.Now()
		v, err := judge.Judge(w.history(evicted, now), w.times.grace)
		if err != nil {
			return err
		}
		if v.Missed+v.Left == 0 || now.After(deadline) {
			return nil
		}
		if now.Sub(reported) >= reportEvery {
			reported = now
			w.Say("%.0f s after the first death: %d of %d Unknown, %d tainted, %d of %d pods evicted",
				now.Sub(first).Seconds(), len(v.Detected), v.Dead, len(v.Tainted),
				len(v.Evicted), w.leaving()*v.Dead)
		}
		if err := wait.Pause(ctx, lookPeriod); err != nil {
			return err
		}
	}
}

// patience is how long after the last death a play waits: twice the time that a
// subject needs whose calls are limited, and two minutes. It writes each dead
// node up to six times and each of its pods four times, Events included.
func (w *world) patience(s scenario) time.Duration {
	dead := s.dying()
	calls := dead * (6 + 4*w.pods/w.nodes)
	sending := time.Duration(calls) * time.Second / qps
	return w.times.grace + w.times.patient + 2*sending + 2*time.Minute
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
