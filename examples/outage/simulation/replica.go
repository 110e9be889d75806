package simulation

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/process/evicting"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// A Replica is one process of the controller, through all its lives. It does
// what nodelifecycle does with the same reducer and the same edges; only the
// dispatcher and the leader election, which wait, are its own.
type Replica struct {
	Number int

	sim       *Simulation
	life      int
	skew      time.Duration
	suspended time.Duration // for how long its machine was
	client    *model.Client // nil while it does not run
	core      *controller.Controller
	jobs      timedqueue.Source[timedqueue.Job]
	handlers  edge.Handlers
	election  election
	errands   map[*errand]struct{} // under way
	resting   []*errand            // that are done
	abandons  bool                 // errands, whose results are lost
	synced    bool
	lookSoon  func()        // plans a look at what is to be done for now
	awake     bool          // one is planned
	alarm     time.Duration // the earliest look planned for later, zero if none
}

func (r *Replica) name() string { return replicaName(r.Number) }

func replicaName(number int) string { return fmt.Sprintf("controller-%d", number) }

func (r *Replica) identity() string { return fmt.Sprintf("%s/%d", r.name(), r.life) }

// now is what the process's clock shows.
func (r *Replica) now() time.Time {
	w := r.sim.world
	return reading(w.Now().Add(r.skew), w.Elapsed()-r.suspended)
}

// Client returns the process as the API server knows it, or nil while it does
// not run.
func (r *Replica) Client() *model.Client { return r.client }

// Acts reports whether the process runs, leads and knows what there is.
func (r *Replica) Acts() bool {
	return !r.gone() && !r.client.Paused() && r.synced && r.leads()
}

func (r *Replica) leads() bool { return r.election.leads || r.sim.splitBrain > 0 }

func (r *Replica) gone() bool { return r.client == nil }

// Knowledge is what a process has in its memory.
type Knowledge struct {
	Nodes, Pods, Pending int
	Queued               map[string]int // by zone
	Zones                []zone.Status
	Phase                zone.Phase
}

// Knowledge returns what the process has in its memory. It is empty while it
// does not run.
func (r *Replica) Knowledge() Knowledge {
	if r.gone() {
		return Knowledge{}
	}
	k := Knowledge{Pending: r.core.Waiting(), Zones: r.core.Zones(), Phase: r.core.Phase(), Queued: make(map[string]int)}
	k.Nodes, k.Pods = r.core.Len()
	for _, z := range k.Zones {
		k.Queued[z.Zone] = r.core.Queued(z.Zone)
	}
	return k
}

// start begins a life of the process.
func (r *Replica) start() error {
	if !r.gone() {
		return nil
	}
	r.life++
	core, err := controller.New(r.sim.options.Controller(), r.now())
	if err != nil {
		return fmt.Errorf("start %s: %w", r.name(), err)
	}
	r.core = core
	r.election, r.synced, r.awake, r.alarm = election{}, false, false, 0
	r.errands = make(map[*errand]struct{})
	r.client = r.sim.world.NewClient(r.name(), r.life, r.wake)
	r.lookSoon = r.client.Soon(r.look)
	if r.jobs, err = r.newJobs(); err != nil {
		return fmt.Errorf("start %s: %w", r.name(), err)
	}
	r.sim.world.Note(model.Note{Kind: model.Started, Client: r.client})
	r.handlers, err = edge.NewHandlers(core, edge.Stores{
		Nodes: r.client.Store(model.Nodes), Pods: r.client.Store(model.Pods),
	}, r.observe)
	if err != nil {
		return fmt.Errorf("start %s: %w", r.name(), err)
	}
	r.client.Inform(model.Nodes, r.handlers.Nodes)
	r.client.Inform(model.Leases, r.handlers.Leases)
	r.client.Inform(model.Pods, r.handlers.Pods)
	if r.sim.halts() {
		r.client.Inform(model.LeaderLease, r.haltHandler())
	}
	r.elect()
	r.every(r.sim.options.MonitorPeriod, r.reevaluate)
	r.every(time.Second, r.idle)
	r.every(time.Second, r.expire)
	return nil
}

// observe runs a turn of the core. Like timedqueue.Dispatcher.UpdateIf it looks
// at what is to be done only if the turn asks for that. Nearly all events are
// heartbeats, and nearly none of those does.
func (r *Replica) observe(turn func(now time.Time), poll func() bool) {
	turn(r.now())
	if poll() {
		r.wake()
	}
}

// haltHandler halts the process while the leader's lease says so, as the
// program's own does.
func (r *Replica) haltHandler() cache.ResourceEventHandler {
	follow := func(object any) {
		switch lock, ok := object.(model.Lock); {
		case !ok:
		case lock.Halted && !r.core.Halted():
			r.core.Halt(r.now())
			r.wake()
		case !lock.Halted && r.core.Halted():
			r.core.Resume(r.now())
			r.wake()
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    follow,
		UpdateFunc: func(_, object any) { follow(object) },
	}
}

// newJobs returns what the core hands out, as the edge performs it.
func (r *Replica) newJobs() (timedqueue.Source[timedqueue.Job], error) {
	evict, err := r.sim.options.Evicting.NewAction(evicting.Clients{
		Pods:        func(string) eviction.EvictionClient { return pods{} },
		Nodes:       nodes{},
		NewDeletion: edge.NewDeletion,
	})
	if err != nil {
		return nil, err
	}
	performer, err := edge.NewPerformer(edge.PerformerConfig{
		Nodes:  nodes{},
		Pods:   func(string) edge.Pods { return pods{} },
		Leases: leases{},
		Evict:  evict,
		WroteNode: func(node *corev1.Node) {
			if !r.abandons {
				r.handlers.Nodes.Wrote(node)
			}
		},
		WrotePod: func(pod *corev1.Pod) {
			if !r.abandons {
				r.handlers.Pods.Wrote(pod)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return r.core.Jobs(performer.Actions(), r.now())
}

// Crash kills the process. It comes back as after any end.
func (r *Replica) Crash() {
	if !r.gone() {
		r.end("crash")
	}
}

// Die kills the process in the midst of what it does. A turn may send many
// calls: those that it has not sent yet are not sent.
func (r *Replica) Die() {
	if r.gone() {
		return
	}
	client := r.client
	client.Die()
	r.sim.world.After(0, func() {
		if r.client == client {
			r.Crash()
		}
	})
}

// end ends the process, by itself or not. Another life follows.
func (r *Replica) end(why string) {
	r.stop(why)
	r.sim.world.After(r.sim.scenario.Controller.RestartAfter.D(), r.restart)
}

// restart starts the process if it does not run. It cannot fail: the first
// start did not, with the same settings.
func (r *Replica) restart() {
	if err := r.start(); err != nil {
		panic(err)
	}
}

func (r *Replica) stop(why string) {
	if r.gone() {
		return
	}
	client := r.client
	r.client = nil
	client.Stop()
	r.abandon()
	r.sim.world.Note(model.Note{Kind: model.Stopped, Client: client, Text: why})
}

// abandon ends what is under way; its results are lost.
func (r *Replica) abandon() {
	r.abandons = true
	defer func() { r.abandons = false }()
	for e := range r.errands {
		e.stop()
	}
	clear(r.errands)
	for _, e := range r.resting {
		e.stop()
	}
	r.resting = nil
}

// lead begins to act.
func (r *Replica) lead() {
	if r.election.leads {
		return
	}
	r.election.leads = true
	r.core.Lead(r.now())
	r.sim.world.Note(model.Note{Kind: model.Leads, Client: r.client})
	r.wake()
}

// every does something in each period of this life, while the process runs.
func (r *Replica) every(period time.Duration, do func()) {
	client := r.client
	var tick func()
	tick = func() {
		if r.client == client {
			do()
			client.At(r.sim.world.Elapsed()+period, tick)
		}
	}
	client.At(r.sim.world.Elapsed()+period, tick)
}

func (r *Replica) reevaluate() {
	if r.synced && r.leads() {
		r.core.Reevaluate()
		r.wake()
	}
}

func (r *Replica) idle() {
	if !r.leads() {
		r.core.Idle(r.now())
	}
}

// expire does what feed.Expiring does once a second.
func (r *Replica) expire() {
	r.handlers.Nodes.Expire()
	r.handlers.Pods.Expire()
}

// wake plans a look at what is to be done.
func (r *Replica) wake() {
	if r.gone() {
		return
	}
	if !r.synced && r.client.Synced() {
		r.synced = true
		r.core.MarkSynced(r.now())
		r.sim.world.Note(model.Note{Kind: model.Synced, Client: r.client})
	}
	if r.awake || !r.leads() || !r.synced {
		return
	}
	r.awake = true
	r.lookSoon()
}

// look hands actions to the workers that are free.
func (r *Replica) look() {
	r.awake = false
	if r.gone() || !r.leads() {
		return
	}
	now := r.now()
	for len(r.errands) < r.sim.options.ConcurrentSyncs {
		job, ok := r.jobs.Start(now)
		if !ok {
			r.setAlarm(now)
			return
		}
		r.perform(job)
	}
}

// breather is how long a process waits that is promised work for now and then
// gets none, as in timedqueue.Dispatcher. Else time would stand still.
const breather = time.Millisecond

// setAlarm plans a look for when there is something to do next.
func (r *Replica) setAlarm(now time.Time) {
	next, ok := r.jobs.Next(now)
	if !ok {
		return
	}
	wait := next.Sub(now)
	if wait <= 0 {
		wait = breather
	}
	at := r.sim.world.Elapsed() + wait
	if r.alarm != 0 && r.alarm <= at {
		return
	}
	r.alarm = at
	client := r.client
	client.At(at, func() {
		if r.client != client {
			return
		}
		if r.alarm == at {
			r.alarm = 0
		}
		r.wake()
	})
}

// finished ends a job that was performed.
func (r *Replica) finished(job timedqueue.Job) {
	if r.gone() {
		return
	}
	job.Finish(r.now())
	r.wake()
}

// call sends a call.
func (r *Replica) call(call *model.Call, answered func(*model.Call)) { r.client.Call(call, answered) }
