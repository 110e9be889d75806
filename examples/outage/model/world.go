package model

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Config is the cluster before anything happens. Every field has to be set.
type Config struct {
	// Seed decides all that is left to chance.
	Seed uint64
	// Start is the time on the clocks at the beginning.
	Start time.Time
	// BeatInterval is how often a kubelet renews its lease, and compares its
	// status with what the API server has. StatusInterval is how often it reports
	// a status that has not changed.
	BeatInterval, StatusInterval time.Duration
	// Latency is how long a client's call takes, there and back.
	Latency Span
	// WatchDelay is how long an event takes to a client's watch.
	WatchDelay Span
}

// Span is a shortest and a longest time.
type Span struct{ Min, Max time.Duration }

func (s Span) pick(random *rand.Rand) time.Duration {
	if s.Max <= s.Min {
		return s.Min
	}
	return s.Min + time.Duration(random.Int64N(int64(s.Max-s.Min)+1))
}

// A World is a cluster and its time. It is not safe for concurrent use.
type World struct {
	config    Config
	now       time.Duration
	agenda    agenda
	soon      fifo[func()] // what is planned for now
	planned   uint64
	witnesses []Witness

	server    server
	kubelets  Kubelets
	machines  []*Machine
	machine   map[string]*Machine
	workloads []*Workload
	workload  map[string]*Workload
	pending   pending
	faults    faults
	decide    func(Message) Fate // nil lets all messages go their way
	halts     int                // the steps that keep the leader halted
	serial    uint64             // of names and UIDs
	// stopSeconds is the grace period of all pods, which share it.
	stopSeconds int64
}

// New returns a world without machines and workloads.
func New(config Config) *World {
	w := &World{
		config:      config,
		stopSeconds: stopSeconds,
		machine:     make(map[string]*Machine),
		workload:    make(map[string]*Workload),
	}
	w.server = newServer(w)
	w.kubelets = lightKubelets{w}
	w.pending.random = w.random("scheduler")
	return w
}

// Watch tells a witness of everything from now on.
func (w *World) Watch(witness Witness) { w.witnesses = append(w.witnesses, witness) }

// Now is how much time has passed.
func (w *World) Now() time.Duration { return w.now }

// Wall is the true time of day.
func (w *World) Wall() time.Time { return w.config.Start.Add(w.now) }

// Config returns what the world was made with.
func (w *World) Config() Config { return w.config }

// At plans something. What is planned for the past happens now.
func (w *World) At(at time.Duration, do func()) {
	if at <= w.now {
		w.soon.push(do)
		return
	}
	w.planned++
	w.agenda.push(event{at, w.planned, do})
}

// After plans something for so much later.
func (w *World) After(wait time.Duration, do func()) { w.At(w.now+wait, do) }

// Step lets the next thing happen that is planned for until or before, and
// reports whether there was one. If not, it is until.
func (w *World) Step(until time.Duration) bool {
	// What is planned for now was planned after all else of this time: that was
	// planned when it was later.
	first := w.agenda.first()
	if w.soon.len() > 0 && w.now <= until && (first == nil || first.at > w.now) {
		w.soon.pop()()
		return true
	}
	if first == nil || first.at > until {
		w.now = max(w.now, until)
		return false
	}
	next := w.agenda.pop()
	w.now = next.at
	next.do()
	return true
}

// random returns a source of chance of its own, so that what one thing does
// with chance changes nothing for another: a smaller scenario stays like the
// larger. Both parts of it are in one place: each machine has one, and uses it
// too seldom to find it in a cache.
func (w *World) random(of string) *rand.Rand {
	hash := fnv.New64a()
	hash.Write([]byte(of))
	source := &struct {
		rand.Rand
		rand.PCG
	}{PCG: *rand.NewPCG(w.config.Seed, hash.Sum64())}
	source.Rand = *rand.New(&source.PCG)
	return &source.Rand
}

// Random returns a source of chance for something outside the model, by its
// name.
func (w *World) Random(of string) *rand.Rand { return w.random("outside/" + of) }

func (w *World) nextSerial() uint64 {
	w.serial++
	return w.serial
}
