package network

import (
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/kubelife/lifecycle/examples/simulation/virtualtime"
)

// Config is how a network is before anything goes wrong in it.
type Config struct {
	// Seed decides all that is left to chance.
	Seed uint64
	// Start is the time on the clocks at the beginning.
	Start time.Time
	// Latency is how long a client's call takes, there and back.
	Latency Span
	// WatchDelay is how long an event takes to a client's watch.
	WatchDelay Span
}

// Span is a shortest and a longest time.
type Span struct{ Min, Max time.Duration }

// Pick returns a time of the span.
func (s Span) Pick(random *rand.Rand) time.Duration {
	if s.Max <= s.Min {
		return s.Min
	}
	return s.Min + time.Duration(random.Int64N(int64(s.Max-s.Min)+1))
}

// A Server answers calls, and has what clients watch.
type Server interface {
	// Process does what a call asks for, and gives it its answer or its error.
	Process(call *Call)
	// All returns what there is of a kind.
	All(kind Kind) Listing
	// Number returns the number of an object that has one, else 0; see
	// [Change.Number].
	Number(kind Kind, name string) int
	// Lens returns how a watch of a kind shows objects to handlers and witnesses.
	// Nil shows them as they are.
	Lens(kind Kind) Lens
}

// A Network is a time, in which clients talk to a server.
type Network struct {
	*virtualtime.Timeline

	config    Config
	server    Server
	watches   [kinds][]*watch
	witnesses []Witness
	faults    faults
	decide    func(Message) Fate // nil lets all messages go their way
}

// New returns a network without clients.
func New(config Config, server Server) *Network {
	return &Network{Timeline: virtualtime.NewTimeline(config.Start), config: config, server: server}
}

// Watch tells a witness of everything from now on.
func (n *Network) Watch(witness Witness) { n.witnesses = append(n.witnesses, witness) }

// Random returns a source of chance of its own, so that what one thing does
// with chance changes nothing for another: a smaller world stays like the
// larger. Both parts of it are in one place: each machine has one, and uses it
// too seldom to find it in a cache.
func (n *Network) Random(of string) *rand.Rand {
	hash := fnv.New64a()
	hash.Write([]byte(of))
	source := &struct {
		rand.Rand
		rand.PCG
	}{PCG: *rand.NewPCG(n.config.Seed, hash.Sum64())}
	source.Rand = *rand.New(&source.PCG)
	return &source.Rand
}
