package network

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// faults is what is wrong with the API server and with what clients see of it.
type faults struct {
	clients []*Client // that run

	down          int           // how many say so
	outages       []stretch     // in which clients were refused
	latencies     []*Span       // the last one counts
	listLatencies []*Span       // likewise, of lists
	errors        []*errorFault // each may fail a call
	detours       []*detour     // each may delay a message of a call
	readOnly      int           // how many say that nothing can be stored
	readOnlyTimes []stretch
	lostShares    []*float64
	resetShares   []*float64 // of the answers that are lost at once
	staleWatches  []*staleFault
	lostCalls     []*func(*Call) bool // each may lose a call on its way
	pasts         []*Past             // that are recorded
	shown         []*shownPast        // the last one that matches a client counts
}

type errorFault struct {
	share float64
	codes []int
	match func(*Call) bool
}

// detour delays a share of the calls on their way, and of the answers.
type detour struct {
	share float64
	delay Span
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
func (f *faults) cutOff() bool { return f.down > 0 }

// refusal is the error of a call that does not get through, or nil.
func (f *faults) refusal() error {
	if f.cutOff() {
		return ErrConnection
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
		return f.listLatencies[n-1].Pick(c.random), 0 // a watch has it once it is dealt with
	}
	latency := c.network.config.Latency
	if n := len(f.latencies); n > 0 {
		latency = *f.latencies[n-1]
	}
	total := latency.Pick(c.random)
	if f.readOnly > 0 && call.Verb != Get && call.Verb != List {
		call.Err = scripted(call, noSpace)
		return total / 2, total - total/2
	}
	if f.fails(c, call) {
		total = min(total, call.Wait())
		return total / 2, total - total/2
	}
	if total > call.Wait() || f.loses(c, call) {
		// It arrives all the same, but its caller has given up.
		call.loss = errTimeout
		there = min(total/2, call.Wait())
		return there, call.Wait() - there
	}
	f.reset(c, call)
	return total / 2, total - total/2
}

// fails decides whether a call is to fail.
func (f *faults) fails(c *Client, call *Call) bool {
	for _, fault := range f.errors {
		if fault.match(call) && hit(c.random, fault.share) {
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

// reset decides whether the connection is to break when a call has been dealt
// with. What stands between the client and the server may say that with a
// status.
func (f *faults) reset(c *Client, call *Call) {
	for _, share := range f.resetShares {
		if call.Verb == List || !hit(c.random, *share) {
			continue
		}
		if call.loss = errReset; c.random.IntN(2) == 0 {
			call.loss = scripted(call, gatewayTimeoutCode)
		}
		return
	}
}

// detour returns how long a call takes there and back if it or its answer is
// delayed. The way back is negative if the client gives up before the call
// arrives.
func (f *faults) detour(c *Client, call *Call, there, back time.Duration) (thereNow, backNow time.Duration) {
	on := func() (delay time.Duration) {
		for _, d := range f.detours {
			if call.Verb != List && hit(c.random, d.share) {
				delay += d.delay.Pick(c.random)
			}
		}
		return delay
	}
	forth, home := on(), on()
	if forth+home == 0 {
		return there, back
	}
	there += forth
	back += home
	if there+back > call.Wait() {
		call.loss = errTimeout
		back = call.Wait() - there
	}
	return there, back
}

// lose takes the answer away, whatever it says, when the API server is away by
// then or answers get lost. A call that no server has heard has none.
func (f *faults) lose(call *Call) {
	switch {
	case errors.Is(call.Err, ErrConnection):
		return
	case f.cutOff():
		call.Err = ErrConnection
	case call.loss != nil:
		call.Err = call.loss
	default:
		return
	}
	call.forget()
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

// Down makes the server go away for clients, until up is called. Watches need
// a second to come back.
func (n *Network) Down() (up func()) {
	f := &n.faults
	f.down++
	f.outages = begin(f.outages, n.Elapsed())
	return func() {
		if f.down--; !f.cutOff() {
			end(f.outages, n.Elapsed())
		}
		for _, c := range f.clients {
			n.After(reconnectAfter, c.whileRunning(c.release))
		}
	}
}

// ReadOnly makes what clients write fail, until mend is called.
func (n *Network) ReadOnly() (mend func()) {
	f := &n.faults
	f.readOnly++
	f.readOnlyTimes = begin(f.readOnlyTimes, n.Elapsed())
	return func() {
		if f.readOnly--; f.readOnly == 0 {
			end(f.readOnlyTimes, n.Elapsed())
		}
	}
}

// FailCalls makes a share of the clients' calls with one of the verbs fail with
// one of the HTTP status codes, before they do anything.
func (n *Network) FailCalls(share float64, codes []int, verbs ...Verb) (end func()) {
	return n.RefuseCalls(share, codes, func(call *Call) bool { return slices.Contains(verbs, call.Verb) })
}

// RefuseCalls makes a share of the calls that match fail with one of the HTTP
// status codes, before they do anything. Code 0 is a connection that breaks.
func (n *Network) RefuseCalls(share float64, codes []int, match func(*Call) bool) (end func()) {
	return During(&n.faults.errors, &errorFault{share, codes, match})
}

// SlowCalls makes calls take another time. One that takes longer than its
// client waits does what it asks for, and its caller sees a timeout.
func (n *Network) SlowCalls(latency Span) (end func()) {
	return During(&n.faults.latencies, &latency)
}

// SlowLists makes lists take another time, however long. They are not lost.
func (n *Network) SlowLists(latency Span) (end func()) {
	return During(&n.faults.listLatencies, &latency)
}

// LoseAnswers makes a share of the calls do what they ask for, and their
// callers see a timeout.
func (n *Network) LoseAnswers(share float64) (end func()) {
	return During(&n.faults.lostShares, &share)
}

// ResetAnswers makes a share of the calls do what they ask for, and their
// callers see at once that the connection breaks.
func (n *Network) ResetAnswers(share float64) (end func()) {
	return During(&n.faults.resetShares, &share)
}

// DetainCalls delays a share of the calls other than lists on their way, and a
// share of the answers. A client gives up after its timeout. Its call arrives
// all the same, maybe after that.
func (n *Network) DetainCalls(share float64, delay Span) (end func()) {
	return During(&n.faults.detours, &detour{share, delay})
}

// LoseCalls loses the calls for which lost reports true, when they would take
// effect. They do nothing, and their callers see a timeout.
func (n *Network) LoseCalls(lost func(*Call) bool) (end func()) {
	return During(&n.faults.lostCalls, &lost)
}

// During adds a fault to others of its kind, until end is called.
func During[T any](all *[]*T, fault *T) (end func()) {
	*all = append(*all, fault)
	return func() {
		*all = slices.DeleteFunc(*all, func(other *T) bool { return other == fault })
	}
}

// DelayWatches makes what the watches see late.
func (n *Network) DelayWatches(delay Span, match func(*Client, Kind) bool) (end func()) {
	return During(&n.faults.staleWatches, &staleFault{delay, match})
}

// BreakWatches makes watches drop events, until mend makes them list again. One
// that was broken several times has to be mended as often.
func (n *Network) BreakWatches(match func(*Client, Kind) bool) (mend func()) {
	var broken []*watch
	for _, c := range n.faults.clients {
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
