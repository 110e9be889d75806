package heartbeat

import (
	"errors"
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

// errGateHangs is why a node in quarantine counts as not alive.
var errGateHangs = errors.New("the gate does not answer in time")

// errGateFailed is why a node whose gate has panicked counts as not alive.
var errGateFailed = errors.New("the gate has not returned")

// gates decides when gates are called, and what their answers mean for beats.
//
// A call that is not over in time puts its node into quarantine, until the gate
// answers in time again. The call moves to a worker of the quarantine as soon
// as one is free. So gates that answer keep their workers, and at most as many
// goroutines hang as there are workers in both pools.
type gates struct {
	pools [gatePools]struct {
		queue *timedqueue.Queue[*record, struct{}]
		free  int // workers
	}
	overdue *timedqueue.Queue[*gateCall, struct{}] // calls under way, by their deadlines
	timeout time.Duration
	maxAge  time.Duration
	pause   time.Duration // the longest between two calls of a gate in quarantine
}

// newGates takes a config whose defaults are filled in.
func newGates(config Config, now time.Time) (*gates, error) {
	g := &gates{timeout: config.GateTimeout, maxAge: config.GateMaxAge, pause: config.RenewInterval}
	for pool, workers := range [gatePools]int{config.GateWorkers, config.QuarantineWorkers} {
		queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[*record, struct{}]{}, now)
		if err != nil {
			return nil, err
		}
		g.pools[pool].queue, g.pools[pool].free = queue, workers
	}
	var err error
	g.overdue, err = timedqueue.NewQueue(timedqueue.QueueConfig[*gateCall, struct{}]{}, now)
	return g, err
}

func (g *gates) add(r *record) { g.pools[poolPrompt].queue.Keep(r, struct{}{}) }

func (g *gates) remove(r *record) {
	for pool := range g.pools {
		g.pools[pool].queue.Remove(r)
	}
}

func (g *gates) has(r *record) bool {
	_, prompt := g.pools[poolPrompt].queue.Get(r)
	_, quarantined := g.pools[poolQuarantine].queue.Get(r)
	return prompt || quarantined
}

// quarantined returns how many nodes are in quarantine.
func (g *gates) quarantined() int { return g.pools[poolQuarantine].queue.Len() }

// request has a node's gate called for a beat, when that is due. It replaces
// the request for an earlier beat of the kind. A gate in quarantine has its own
// times.
func (g *gates) request(r *record, kind beatKind, due time.Time) {
	if r.node.Alive == nil || !g.has(r) {
		return
	}
	r.gate.requests[kind] = due
	if r.gate.call == nil && r.gate.state != gateHung {
		g.arm(r)
	}
}

// arm makes a gate due for the first beat that needs its answer. An earlier due
// time stays: no worker was free then, and the place in the queue counts.
func (g *gates) arm(r *record) {
	queue := g.pools[poolPrompt].queue
	item, _ := queue.Get(r)
	first := item.Due
	for _, want := range r.gate.requests {
		if first.IsZero() || !want.IsZero() && want.Before(first) {
			first = want
		}
	}
	if !first.IsZero() {
		queue.Set(r, struct{}{}, first)
	}
}

// retry has a gate in quarantine called now, unless a call is under way.
func (g *gates) retry(r *record, now time.Time) {
	if r.gate.call == nil && r.gate.state == gateHung {
		g.pools[poolQuarantine].queue.Set(r, struct{}{}, now)
	}
}

// start hands out the next call that is due and has a worker.
func (g *gates) start(now time.Time, random func() float64) *gateCall {
	for pool := range gatePools {
		if g.pools[pool].free == 0 {
			continue
		}
		item, ok := g.pools[pool].queue.Start(now)
		if !ok {
			continue
		}
		g.pools[pool].free--
		call := &gateCall{
			record: item.Key, item: item, from: pool, worker: pool, began: now, random: random(),
		}
		gate := &item.Key.gate
		gate.call = call
		for kind, want := range gate.requests {
			if !want.After(call.began) {
				gate.requests[kind] = time.Time{} // this call answers it
			}
		}
		g.overdue.Add(call, struct{}{}, now.Add(g.timeout))
		return call
	}
	return nil
}

// expire takes one call whose time is over, if there is one. It returns the
// node whose gate has begun to hang, or nil.
func (g *gates) expire(now time.Time) (r *record, found bool) {
	item, found := g.overdue.Start(now)
	if !found {
		return nil, false
	}
	call := item.Key
	ended := timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	if call.worker == poolPrompt && !g.move(call) {
		ended = timedqueue.Result{Outcome: timedqueue.OutcomeContinued, At: now.Add(g.timeout)}
	}
	g.overdue.Finish(now, item, ended)
	if call.hangs {
		return nil, true
	}
	return g.hang(call), true
}

// move gives a call that hangs a worker of the quarantine in exchange for its
// own. It reports whether there was one.
func (g *gates) move(call *gateCall) bool {
	if g.pools[poolQuarantine].free == 0 {
		return false
	}
	g.pools[poolQuarantine].free--
	g.pools[poolPrompt].free++
	call.worker = poolQuarantine
	return true
}

// hang puts a node into quarantine, where its gate is not called before the
// call has returned. It returns nil if the node has been removed.
func (g *gates) hang(call *gateCall) *record {
	call.hangs = true
	r := call.record
	if !g.has(r) {
		return nil
	}
	r.gate.state, r.gate.err = gateHung, errGateHangs
	r.gate.hangs++
	g.pools[poolPrompt].queue.Remove(r)
	g.pools[poolQuarantine].queue.Keep(r, struct{}{})
	return r
}

// finish takes the result of a call. It reports whether the gate has opened.
func (g *gates) finish(now time.Time, call *gateCall, result beatResult) (opened bool) {
	g.pools[call.worker].free++
	g.overdue.Remove(call)
	g.pools[call.from].queue.Finish(
		now, call.item, timedqueue.Result{Outcome: timedqueue.OutcomeContinued, Idle: true},
	)
	r := call.record
	r.gate.call = nil
	if !g.has(r) {
		return false
	}
	if result.outcome == outcomeHung && !call.hangs {
		g.hang(call)
	}
	if call.hangs {
		next := now.Add(retryWait(g.pause, r.gate.hangs, call.random))
		g.pools[poolQuarantine].queue.Set(r, struct{}{}, next)
		return false
	}
	return g.answered(call, result)
}

// answered takes an answer that came in time. It ends a quarantine.
func (g *gates) answered(call *gateCall, result beatResult) (opened bool) {
	r := call.record
	before := r.gate.state
	r.gate.state, r.gate.err = gateOpen, nil
	if result.outcome != outcomeDone {
		r.gate.state, r.gate.err = gateShut, result.err
		if result.err == nil {
			r.gate.err = errGateFailed
		}
	}
	r.gate.asked, r.gate.hangs = call.began, 0
	if before == gateHung {
		g.pools[poolQuarantine].queue.Remove(r)
		g.pools[poolPrompt].queue.Keep(r, struct{}{})
	}
	g.arm(r)
	return r.gate.state == gateOpen && before != gateOpen
}

// next returns when start or expire can next do something.
func (g *gates) next(now time.Time) (next time.Time, found bool) {
	next, found = g.overdue.Next(now)
	for pool := range g.pools {
		if g.pools[pool].free == 0 {
			continue // the end of a call makes the difference
		}
		if at, ok := g.pools[pool].queue.Next(now); ok && (!found || at.Before(next)) {
			next, found = at, true
		}
	}
	return next, found
}

// permission is whether a beat may be sent.
type permission uint8

const (
	permitWithhold permission = iota // the node counts as not alive
	permitSend
	permitWait // for the gate's answer
)

// permit decides about a beat that is due.
//
// A gate that is due is called before its beats, so the answer is new unless
// all workers were busy. Then the former answer counts, and no gate can delay
// the beats of another node.
func (g *gates) permit(now time.Time, r *record) permission {
	switch gate := &r.gate; {
	case r.node.Alive == nil:
		return permitSend
	case gate.call != nil && !gate.call.hangs:
		return permitWait
	case gate.state == gateShut, gate.state == gateHung:
		return permitWithhold
	case gate.state == gateOpen && now.Sub(gate.asked) <= g.maxAge:
		return permitSend
	}
	return permitWait // for a worker
}
