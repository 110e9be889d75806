package simulation

import (
	"context"
	"iter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/timedqueue"
)

// An errand is a task that a process performs. It runs the edge of the real
// program, which waits for the answers of its calls. So that time can pass
// meanwhile it is a coroutine, which stands still in each call.
type errand struct {
	process  *process
	job      timedqueue.Job
	decision *invariant.Decision
	deadline time.Duration
	next     func() (*request, bool)
	stop     func()
}

// taskTimeout is that of the runner.
const taskTimeout = 30 * time.Second

// bounded is a context that ends at a time of the world.
type bounded struct {
	context.Context

	errand *errand
}

// Err implements [context.Context].
func (b bounded) Err() error {
	if e := b.errand; e.process.Elapsed() >= e.deadline {
		return context.DeadlineExceeded
	}
	return nil
}

// perform starts an errand.
func (p *process) perform(job timedqueue.Job, decision *invariant.Decision) {
	e := &errand{process: p, job: job, decision: decision, deadline: p.Elapsed() + taskTimeout}
	e.next, e.stop = iter.Pull(func(yield func(*request) bool) {
		ctx := context.WithValue(context.Background(), lineKey{}, line{p.server, yield})
		job.Perform(bounded{ctx, e})
	})
	p.errands[e] = struct{}{}
	e.goOn()
}

// goOn lets the errand run to its next call or its end.
func (e *errand) goOn() {
	p := e.process
	r, more := e.next()
	if more {
		e.send(r)
		return
	}
	delete(p.errands, e)
	e.job.Finish(p.Now())
	p.wake()
}

// send takes a request to the API server and its answer back. The request
// arrives even if the process ends or gives up meanwhile.
func (e *errand) send(r *request) {
	p := e.process
	call := &invariant.Call{Decision: e.decision, Request: r.String(), Kind: r.kind, Name: r.name}
	p.history.Calls = append(p.history.Calls, call)
	there, back := p.trip(p.faults), p.trip(p.faults)
	if p.Elapsed() >= e.deadline { // the client does not send it
		there, back = 0, 0
		r.do = func(time.Time) (runtime.Object, error) { return nil, context.DeadlineExceeded }
	}
	p.After(there, func() {
		refusal := p.refusal(p.faults, r)
		if refusal == nil {
			p.store.call = call
			r.object, r.err = r.do(p.Now())
			p.store.call = nil
			if apierrors.IsNotFound(r.err) || r.err == nil && r.object == nil {
				call.Missing = p.store.version
			}
		} else {
			r.err = refusal
		}
		if p.strikes(p.faults.lost) {
			r.object, r.err = nil, p.lostAnswer()
		}
	})
	answered := p.Elapsed() + there + back
	if answered > e.deadline && p.Elapsed() < e.deadline {
		p.After(e.deadline-p.Elapsed(), func() { e.answer(call, r, nil, context.DeadlineExceeded) })
		return
	}
	p.After(there+back, func() { e.answer(call, r, r.object, r.err) })
}

// answer lets the errand go on, if its process still runs.
func (e *errand) answer(call *invariant.Call, r *request, object runtime.Object, err error) {
	if _, runs := e.process.errands[e]; !runs {
		return
	}
	// What arrives after the answer must not change it.
	r.object, r.err = object, err
	call.Ended = e.process.nextEvent()
	if err == nil || apierrors.IsNotFound(err) {
		call.Answered = true
		if object != nil {
			call.Missing = 0
			call.Answer = apiserver.MetaOf(object)
		}
	}
	e.goOn()
}
