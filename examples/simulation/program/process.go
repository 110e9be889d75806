package program

import (
	"cmp"
	"time"

	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/examples/simulation/virtualtime"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Config is a process before it does anything. Only Name and Workers have to be
// set.
type Config struct {
	// Name is the process's, Life counts its starts from 1.
	Name string
	Life int
	// Workers is how many jobs it performs at a time.
	Workers int
	// Now is what its clock shows. Nil is the time of the network.
	Now func() time.Time
	// Synced is called once the first lists of all that it watches are in.
	Synced func()
	// Leads reports whether it may hand out jobs. Nil is always, once it is
	// synced.
	Leads func() bool
	// Forbid returns why a call of a job must not be sent now, or nil.
	Forbid func(*network.Call) error
	// JobTimeout is how long a job may take. Zero is as long as its calls.
	JobTimeout time.Duration
	// Began is called when a job begins. What it returns is the Cause of the job's
	// calls.
	Began func() any
}

// A Process is one life of a controller's process.
type Process struct {
	*network.Client

	network  *network.Network
	config   Config
	jobs     timedqueue.Source[timedqueue.Job]
	errands  map[*errand]struct{} // under way
	resting  []*errand            // that are done
	abandons bool                 // errands, whose results are lost
	ended    bool
	synced   bool
	lookSoon func() // plans a look at what is to be done for now
	awake    bool   // one is planned
	alarm    virtualtime.Alarm
}

// New returns a process that has just started.
func New(n *network.Network, config Config) *Process {
	if config.Now == nil {
		config.Now = n.Now
	}
	p := &Process{network: n, config: config, errands: make(map[*errand]struct{})}
	p.Client = n.NewClient(config.Name, cmp.Or(config.Life, 1), p.Wake)
	p.lookSoon = p.Soon(p.look)
	n.Note(network.Note{Kind: network.Started, Client: p.Client})
	return p
}

// Now is what the process's clock shows.
func (p *Process) Now() time.Time { return p.config.Now() }

// Synced reports whether it knows what there is.
func (p *Process) Synced() bool { return p.synced }

// Abandons reports whether the process is ending: what a job still reports is
// lost.
func (p *Process) Abandons() bool { return p.abandons }

// Perform makes the process perform what is handed out.
func (p *Process) Perform(jobs timedqueue.Source[timedqueue.Job]) { p.jobs = jobs }

// Observe runs a turn of the core. Like timedqueue.Dispatcher.UpdateIf it looks
// at what is to be done only if the turn asks for that. Nearly all events are
// heartbeats, and nearly none of those does.
func (p *Process) Observe(turn func(now time.Time), poll func() bool) {
	turn(p.Now())
	if poll() {
		p.Wake()
	}
}

// Update runs a turn of the core, after which there may be something to do.
func (p *Process) Update(turn func(now time.Time)) {
	turn(p.Now())
	p.Wake()
}

// After does something in this life of the process, unless it ends before.
func (p *Process) After(wait time.Duration, do func()) {
	p.At(p.network.Elapsed()+max(wait, 0), do)
}

// Every does something in each period of this life.
func (p *Process) Every(period time.Duration, do func()) {
	var tick func()
	tick = func() {
		do()
		p.After(period, tick)
	}
	p.After(period, tick)
}

// End ends the process. What it has sent may arrive, and is not answered.
func (p *Process) End(why string) {
	if p.ended {
		return
	}
	p.ended = true
	p.Stop()
	p.Abandon()
	p.network.Note(network.Note{Kind: network.Stopped, Client: p.Client, Text: why})
}

// Abandon ends what is under way; its results are lost.
func (p *Process) Abandon() {
	p.abandons = true
	for e := range p.errands {
		e.stop()
	}
	for _, e := range p.resting {
		e.stop()
	}
	clear(p.errands)
	p.resting = nil
}

// Wake plans a look at what is to be done.
func (p *Process) Wake() {
	if p.Stopped() {
		return
	}
	if !p.synced && p.Client.Synced() {
		p.synced = true
		if p.config.Synced != nil {
			p.config.Synced()
		}
		p.network.Note(network.Note{Kind: network.Synced, Client: p.Client})
	}
	if p.awake || !p.acts() {
		return
	}
	p.awake = true
	p.lookSoon()
}

func (p *Process) acts() bool {
	return p.synced && p.jobs != nil && (p.config.Leads == nil || p.config.Leads())
}

// look hands actions to the workers that are free.
func (p *Process) look() {
	p.awake = false
	if p.Stopped() || !p.acts() {
		return
	}
	now := p.Now()
	for len(p.errands) < p.config.Workers {
		job, ok := p.jobs.Start(now)
		if !ok {
			p.setAlarm(now)
			return
		}
		p.perform(job)
	}
}

// setAlarm plans a look for when there is something to do next, by the process's
// own clock.
func (p *Process) setAlarm(now time.Time) {
	if next, ok := p.jobs.Next(now); ok {
		p.alarm.Set(p.network.Timeline, p.network.Now().Add(next.Sub(now)), func() { p.Do(p.Wake) })
	}
}
