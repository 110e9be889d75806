package program

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/timedqueue"
)

// An errand is a job that a process performs. It runs the edge that the real
// program runs, which waits for the answers of its calls. So that time can pass
// meanwhile it is a coroutine, which stands still in each call. At most one of
// them runs at a time, and none without a caller that waits for it. So a run
// stays the same each time. The next job takes over the coroutine of one that
// is done, whose stack has grown.
type errand struct {
	process  *Process
	job      timedqueue.Job
	cause    any
	deadline time.Duration // zero: none
	// next lets it run to its next call, or to its end, where there is none.
	next func() (*network.Call, bool)
	stop func()
}

var errStopped = errors.New("the process has ended")

// perform starts an errand.
func (p *Process) perform(job timedqueue.Job) {
	e := p.freeErrand()
	e.job = job
	if p.config.JobTimeout > 0 {
		e.deadline = p.network.Elapsed() + p.config.JobTimeout
	}
	if p.config.Began != nil {
		e.cause = p.config.Began()
	}
	p.errands[e] = struct{}{}
	e.goOn()
}

// freeErrand returns an errand without a job.
func (p *Process) freeErrand() *errand {
	if last := len(p.resting) - 1; last >= 0 {
		e := p.resting[last]
		p.resting = p.resting[:last]
		return e
	}
	e := &errand{process: p}
	e.next, e.stop = iter.Pull(func(yield func(*network.Call) bool) {
		ctx := bounded{context.WithValue(context.Background(), lineKey{}, line(yield)), e}
		for more := true; more; more = yield(nil) {
			e.job.Perform(ctx)
		}
	})
	return e
}

// goOn lets the errand run to its next call or its end.
func (e *errand) goOn() {
	p := e.process
	for {
		call, _ := e.next()
		if call == nil {
			delete(p.errands, e)
			p.resting = append(p.resting, e)
			e.job.Finish(p.Now())
			p.Wake()
			return
		}
		if call.Err = e.refuses(call); call.Err != nil {
			continue
		}
		call.Cause = e.cause
		p.Call(call, func(*network.Call) { e.goOn() })
		return
	}
}

// refuses returns why a call is not sent.
func (e *errand) refuses(call *network.Call) error {
	p := e.process
	if e.deadline > 0 {
		call.Timeout = min(call.Wait(), e.deadline-p.network.Elapsed())
		if call.Timeout <= 0 {
			return context.DeadlineExceeded
		}
	}
	if p.config.Forbid == nil {
		return nil
	}
	return p.config.Forbid(call)
}

// bounded is a context that ends at a time of the network.
type bounded struct {
	context.Context

	errand *errand
}

// Err implements [context.Context].
func (b bounded) Err() error {
	if e := b.errand; e.deadline > 0 && e.process.network.Elapsed() >= e.deadline {
		return context.DeadlineExceeded
	}
	return nil
}

// line is how the code in an errand reaches the API server.
type line func(*network.Call) bool

type lineKey struct{}

// AtOnce returns a context for code outside a [Process], whose calls are
// answered before they return.
func AtOnce(ctx context.Context, answer func(*network.Call)) context.Context {
	return context.WithValue(ctx, lineKey{}, line(func(call *network.Call) bool {
		answer(call)
		return true
	}))
}

// send makes a call and returns when it is answered.
func send(ctx context.Context, call *network.Call) error {
	line, ok := ctx.Value(lineKey{}).(line)
	if !ok {
		return errors.New("a call outside an errand")
	}
	if !line(call) {
		return errStopped
	}
	return call.Err
}
