package model

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// Config is the cluster before anything happens.
type Config struct {
	// Seed decides all that is left to chance.
	Seed uint64
	// Start is the time on the clocks at the beginning. Zero is the year 2030.
	Start time.Time
	// BeatInterval is how often a kubelet renews its lease, and compares its
	// status with what the API server has. StatusInterval is how often it reports
	// a status that has not changed. Zero is 10 s and 5 min, as of a kubelet.
	BeatInterval, StatusInterval time.Duration
	// Latency is how long a client's call takes, there and back.
	Latency network.Span
	// WatchDelay is how long an event takes to a client's watch.
	WatchDelay network.Span
	// Scheduling is how long the scheduler takes to look at pods that wait. Zero is
	// a second.
	Scheduling network.Span
}

// A World is a cluster and its time. It is not safe for concurrent use.
type World struct {
	*network.Network

	config    Config
	witnesses []Witness

	server    server
	kubelets  Kubelets
	machines  []*Machine
	machine   map[string]*Machine
	workloads []*Workload
	workload  map[string]*Workload
	pending   pending
	// collecting is the garbage collector's chance.
	collecting *rand.Rand
	reach      reach
	halts      int    // the steps that keep the leader halted
	serial     uint64 // of names and UIDs
	// stopSeconds is the grace period of all pods, which share it.
	stopSeconds int64
}

// New returns a world without machines and workloads.
func New(config Config) *World {
	config.BeatInterval = cmp.Or(config.BeatInterval, 10*time.Second)
	config.StatusInterval = cmp.Or(config.StatusInterval, 5*time.Minute)
	config.Scheduling = cmp.Or(config.Scheduling, network.Span{Min: scheduleEvery, Max: scheduleEvery})
	if config.Start.IsZero() {
		config.Start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	w := &World{
		config:      config,
		stopSeconds: stopSeconds,
		machine:     make(map[string]*Machine),
		workload:    make(map[string]*Workload),
	}
	w.Network = network.New(network.Config{
		Seed: config.Seed, Start: config.Start, Latency: config.Latency, WatchDelay: config.WatchDelay,
	}, front{w})
	w.Network.Watch(audience{w})
	w.server = newServer(w)
	w.kubelets = lightKubelets{w}
	w.pending.random = w.Network.Random("scheduler")
	w.collecting = w.Network.Random("collector")
	return w
}

// Watch tells a witness of everything from now on.
func (w *World) Watch(witness Witness) { w.witnesses = append(w.witnesses, witness) }

// Config returns what the world was made with.
func (w *World) Config() Config { return w.config }

func (w *World) nextSerial() uint64 {
	w.serial++
	return w.serial
}

// Random returns a source of chance for something outside the model, by its
// name; see [network.Network.Random].
func (w *World) Random(of string) *rand.Rand { return w.Network.Random("outside/" + of) }

// Users returns a client of users, whose requests take no time and never fail
// on their way.
func (w *World) Users() apiserver.Client {
	return apiserver.Client{Server: w.server.rules, Namespace: Namespace, Now: w.Now}
}
