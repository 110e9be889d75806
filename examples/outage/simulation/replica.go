package simulation

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
	"github.com/kubelife/lifecycle/examples/process/evicting"
	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/examples/simulation/program"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/zone"
)

// A Replica is one process of the controller, through all its lives. It does
// what nodelifecycle does with the same reducer and the same edges.
type Replica struct {
	Number int

	sim       *Simulation
	life      int
	skew      time.Duration
	suspended time.Duration    // for how long its machine was
	process   *program.Process // nil while it does not run
	core      *controller.Controller
	handlers  edge.Handlers
	election  *program.Election
}

func (r *Replica) name() string { return replicaName(r.Number) }

const replicaPrefix = "controller-"

func replicaName(number int) string { return replicaPrefix + strconv.Itoa(number) }

// now is what the process's clock shows.
func (r *Replica) now() time.Time {
	w := r.sim.world
	return reading(w.Now().Add(r.skew), w.Elapsed()-r.suspended)
}

// Client returns the process as the API server knows it, or nil while it does
// not run.
func (r *Replica) Client() *network.Client {
	if r.gone() {
		return nil
	}
	return r.process.Client
}

// Acts reports whether the process runs, leads and knows what there is.
func (r *Replica) Acts() bool {
	return !r.gone() && !r.process.Paused() && r.process.Synced() && r.leads()
}

func (r *Replica) leads() bool { return r.election.Leads() || r.sim.splitBrain > 0 }

func (r *Replica) gone() bool { return r.process == nil }

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
	r.core, r.election = core, nil
	r.process = program.New(r.sim.world.Network, program.Config{
		Name: r.name(), Life: r.life, Workers: r.sim.options.ConcurrentSyncs,
		Now: r.now, Leads: r.leads, Forbid: r.forbid,
		Synced: func() { core.MarkSynced(r.now()) },
	})
	jobs, err := r.newJobs()
	if err != nil {
		return fmt.Errorf("start %s: %w", r.name(), err)
	}
	r.process.Perform(jobs)
	if err := r.inform(); err != nil {
		return fmt.Errorf("start %s: %w", r.name(), err)
	}
	r.elect()
	r.process.Every(r.sim.options.MonitorPeriod, r.reevaluate)
	r.process.Every(time.Second, r.idle)
	r.process.Every(time.Second, r.expire)
	return nil
}

// inform has the informers tell the core.
func (r *Replica) inform() (err error) {
	r.handlers, err = edge.NewHandlers(r.core, edge.Stores{
		Nodes: r.process.Store(network.Nodes), Pods: r.process.Store(network.Pods),
	}, r.process.Observe)
	if err != nil {
		return err
	}
	r.process.Inform(network.Nodes, r.handlers.Nodes)
	r.process.Inform(network.Leases, r.handlers.Leases)
	r.process.Inform(network.Pods, r.handlers.Pods)
	if r.sim.halts() {
		r.process.Inform(network.LeaderLease, r.haltHandler())
	}
	return nil
}

// haltHandler halts the process while the leader's lease says so, as the
// program's own does.
func (r *Replica) haltHandler() cache.ResourceEventHandler {
	follow := func(object any) {
		switch lock, ok := object.(network.Lock); {
		case !ok:
		case lock.Halted && !r.core.Halted():
			r.process.Update(r.core.Halt)
		case !lock.Halted && r.core.Halted():
			r.process.Update(r.core.Resume)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    follow,
		UpdateFunc: func(_, object any) { follow(object) },
	}
}

// newJobs returns what the core hands out, as the edge performs it.
func (r *Replica) newJobs() (timedqueue.Source[timedqueue.Job], error) {
	nodes, pods := program.Client[*corev1.Node]{Kind: network.Nodes}, program.Client[*corev1.Pod]{Kind: network.Pods}
	evict, err := r.sim.options.Evicting.NewAction(evicting.Clients{
		Pods:        func(string) eviction.EvictionClient { return pods },
		Nodes:       nodes,
		NewDeletion: edge.NewDeletion,
	})
	if err != nil {
		return nil, err
	}
	process := r.process
	performer, err := edge.NewPerformer(edge.PerformerConfig{
		Nodes:  nodes,
		Pods:   func(string) edge.Pods { return pods },
		Leases: program.Leases{},
		Evict:  evict,
		WroteNode: func(node *corev1.Node) {
			if !process.Abandons() {
				r.handlers.Nodes.Wrote(node)
			}
		},
		WrotePod: func(pod *corev1.Pod) {
			if !process.Abandons() {
				r.handlers.Pods.Wrote(pod)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return r.core.Jobs(performer.Actions(), r.now())
}

// elect begins to take part in the election, or acts without one.
func (r *Replica) elect() {
	config := r.sim.election()
	config.Lead = func() { r.core.Lead(r.now()) }
	config.Lost = r.end
	config.Answered, config.Unanswered = r.core.Answered, r.core.Unanswered
	r.election = r.process.Elect(config, r.sim.world.Random("election/"+r.process.Identity()))
}

// election returns what the flags say of it.
func (s *Simulation) election() program.ElectionConfig {
	flags := s.options.LeaderElection
	return program.ElectionConfig{
		Elect:         flags.Elect,
		LeaseDuration: flags.LeaseDuration, RenewDeadline: flags.RenewDeadline, RetryPeriod: flags.RetryPeriod,
	}
}

// forbid holds back a write that the fence of the real program holds back.
func (r *Replica) forbid(call *network.Call) error {
	if r.sim.splitBrain > 0 {
		return nil
	}
	return r.election.Forbid(call)
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
	process := r.process
	process.Die()
	r.sim.world.After(0, func() {
		if r.process == process {
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
	if process := r.process; process != nil {
		r.process = nil
		process.End(why)
	}
}

func (r *Replica) reevaluate() {
	if r.process.Synced() && r.leads() {
		r.core.Reevaluate()
		r.process.Wake()
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
