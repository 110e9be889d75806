package model

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// faults is what is wrong with the API server and with what clients see of it.
type faults struct {
	clients []*Client // that run

	downForClients  int       // how many say so
	outages         []stretch // in which clients were refused
	downForKubelets int
	cutOffs         int           // counts what has changed in which machines reach the server
	latencies       []*Span       // the last one counts
	listLatencies   []*Span       // likewise, of lists
	errors          []*errorFault // each may fail a call
	readOnly        int           // how many say that nothing can be stored
	readOnlyTimes   []stretch
	renewalErrors   []*float64 // shares of the attempts of kubelets that fail
	lostShares      []*float64
	staleWatches    []*staleFault
	lostCalls       []*func(*Call) bool // each may lose a call on its way
	pasts           []*Past             // that are recorded
	shown           []*shownPast        // the last one that matches a client counts
}

type errorFault struct {
	share float64
	codes []int
	verbs []Verb
}

// staleFault makes watches of some kinds late, of one process or of all.
type staleFault struct {
	delay Span
	match func(*Client, Kind) bool
}

const (
	// refusedAfter is how long it takes to learn that no server listens.
	refusedAfter = time.Millisecond
	// CallTimeout is how long a client waits for an answer that does not come,
	// unless its call says otherwise. It is process.CallTimeout.
	CallTimeout = 30 * time.Second
	// noSpace is the HTTP status code for what a store without space or without a
	// leader refuses.
	noSpace = 500
	// reconnectAfter is how long watches need to come back with an API server.
	reconnectAfter = time.Second
)

// cutOff reports whether clients do not reach the API server.
func (f *faults) cutOff() bool { return f.downForClients > 0 }

// refusal is the error of a call that does not get through, or nil.
func (f *faults) refusal() error {
	if f.cutOff() {
		return errConnection
	}
	return nil
}

// journey says how long a call takes there and back. A call that is to fail has
// its error by then.
func (f *faults) journey(c *Client, call *Call) (there, back time.Duration) {
	if call.Err = f.refusal(); call.Err != nil {
		return refusedAfter, 0
	}
	if n := len(f.listLatencies); n > 0 && call.Verb == List {
		return f.listLatencies[n-1].pick(c.random), 0 // a watch has it once it is dealt with
	}
	latency := c.world.config.Latency
	if n := len(f.latencies); n > 0 {
		latency = *f.latencies[n-1]
	}
	total := latency.pick(c.random)
	if f.readOnly > 0 && call.Verb != Get && call.Verb != List {
		call.Err = scripted(call, noSpace)
		return total / 2, total - total/2
	}
	if f.fails(c, call) {
		total = min(total, call.timeout())
		return total / 2, total - total/2
	}
	if total > call.timeout() || f.loses(c, call) {
		// It arrives all the same, but its caller has given up.
		call.lost = true
		there = min(total/2, call.timeout())
		return there, call.timeout() - there
	}
	return total / 2, total - total/2
}

// fails decides whether a call is to fail.
func (f *faults) fails(c *Client, call *Call) bool {
	for _, fault := range f.errors {
		if slices.Contains(fault.verbs, call.Verb) && hit(c.random, fault.share) {
			code := fault.codes[c.random.IntN(len(fault.codes))]
			call.Err = scripted(call, code)
			return true
		}
	}
	return false
}

// loses decides whether the answer to a call is to be lost.
func (f *faults) loses(c *Client, call *Call) bool {
	for _, share := range f.lostShares {
		if call.Verb != List && hit(c.random, *share) {
			return true
		}
	}
	return false
}

// lose takes the answer away, whatever it says, when the API server is away by
// then or answers get lost. A call that no server has heard has none.
func (f *faults) lose(call *Call) {
	switch {
	case errors.Is(call.Err, errConnection):
		return
	case f.cutOff():
		call.Err = errConnection
	case call.lost:
		call.Err = errTimeout
	default:
		return
	}
	call.Node, call.Lease, call.Pod = nil, nil, nil
}

// swallows decides whether a call is to be lost on its way.
func (f *faults) swallows(call *Call) bool {
	for _, lost := range f.lostCalls {
		if (*lost)(call) {
			return true
		}
	}
	return false
}

// stale returns how late a watch is, or nil if it is not.
func (f *faults) stale(w *watch) *Span {
	if w.lag > 0 {
		return &Span{w.lag, w.lag}
	}
	for _, fault := range f.staleWatches {
		if fault.match(w.client, w.kind) {
			return &fault.delay
		}
	}
	return nil
}

// Down makes the API server go away, for clients, for kubelets or for both,
// until up is called.
func (w *World) Down(forClients, forKubelets bool) (up func()) {
	count := func(delta int) {
		if forClients {
			w.faults.downForClients += delta
			if w.faults.cutOff() {
				w.faults.outages = begin(w.faults.outages, w.now)
			} else {
				end(w.faults.outages, w.now)
			}
		}
		if forKubelets {
			w.faults.downForKubelets += delta
			w.faults.cutOffs++
		}
	}
	reached := func(least int) {
		if forKubelets && w.faults.downForKubelets == least {
			for _, m := range w.machines {
				w.kubelets.Reached(m)
			}
		}
	}
	count(+1)
	reached(1)
	return func() {
		count(-1)
		reached(0)
		for _, c := range w.faults.clients {
			w.After(reconnectAfter, c.whileRunning(c.release))
		}
	}
}

// ReadOnlyStore makes what clients and kubelets write fail, until mend is
// called.
// What the model's own controllers and users write goes on.
func (w *World) ReadOnlyStore() (mend func()) {
	reach := w.Down(false, true)
	w.faults.readOnly++
	w.faults.readOnlyTimes = begin(w.faults.readOnlyTimes, w.now)
	return func() {
		if w.faults.readOnly--; w.faults.readOnly == 0 {
			end(w.faults.readOnlyTimes, w.now)
		}
		reach()
	}
}

// FailRenewals makes a share of the attempts of kubelets to renew their leases
// fail.
func (w *World) FailRenewals(share float64) (end func()) {
	return during(&w.faults.renewalErrors, &share)
}

// renewalAttempts is how often a kubelet tries before it waits for the next
// time. Source: maxUpdateRetries in
// k8s.io/component-helpers/apimachinery/lease v0.37.
const renewalAttempts = 5

// failsRenewal decides whether all attempts of a kubelet are to fail.
func (f *faults) failsRenewal(random *rand.Rand) bool {
	if len(f.renewalErrors) == 0 {
		return false
	}
	for range renewalAttempts {
		failed := slices.ContainsFunc(f.renewalErrors, func(share *float64) bool { return hit(random, *share) })
		if !failed {
			return false
		}
	}
	return true
}

// FailCalls makes a share of the clients' calls with one of the verbs fail with
// one of the HTTP status codes, before they do anything.
func (w *World) FailCalls(share float64, codes []int, verbs ...Verb) (end func()) {
	return during(&w.faults.errors, &errorFault{share, codes, verbs})
}

// SlowCalls makes calls take another time. One that takes longer than its
// client waits does what it asks for, and its caller sees a timeout.
func (w *World) SlowCalls(latency Span) (end func()) {
	return during(&w.faults.latencies, &latency)
}

// SlowLists makes lists take another time, however long. They are not lost.
func (w *World) SlowLists(latency Span) (end func()) {
	return during(&w.faults.listLatencies, &latency)
}

// LoseAnswers makes a share of the calls do what they ask for, and their
// callers see a timeout.
func (w *World) LoseAnswers(share float64) (end func()) {
	return during(&w.faults.lostShares, &share)
}

// LoseCalls loses the calls for which lost reports true, when they would take
// effect. They do nothing, and their callers see a timeout.
func (w *World) LoseCalls(lost func(*Call) bool) (end func()) {
	return during(&w.faults.lostCalls, &lost)
}

// during adds a fault to others of its kind, until end is called.
func during[T any](all *[]*T, fault *T) (end func()) {
	*all = append(*all, fault)
	return func() {
		*all = slices.DeleteFunc(*all, func(other *T) bool { return other == fault })
	}
}

// DelayWatches makes what the watches see late, and in an order of its own for
// each object.
func (w *World) DelayWatches(delay Span, match func(*Client, Kind) bool) (end func()) {
	return during(&w.faults.staleWatches, &staleFault{delay, match})
}

// BreakWatches makes watches drop events, until mend makes them list again. One
// that was broken several times has to be mended as often.
func (w *World) BreakWatches(match func(*Client, Kind) bool) (mend func()) {
	var broken []*watch
	for _, c := range w.faults.clients {
		for _, watch := range c.watches {
			if watch != nil && match(c, watch.kind) {
				watch.broken++
				broken = append(broken, watch)
			}
		}
	}
	return func() {
		for _, watch := range broken {
			if watch.broken--; watch.broken == 0 {
				watch.lost = true
				watch.client.Do(watch.list)
			}
		}
	}
}

func hit(random *rand.Rand, share float64) bool { return random.Float64() < share }
