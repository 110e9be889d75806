package report

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/zone"
)

// A Recorder is told what happens in a simulation and reports it. Make it with
// [Watch]. It is not safe for concurrent use.
type Recorder struct {
	model.Unimpressed

	simulation *simulation.Simulation
	world      *model.World
	timeline   timeline

	// machines are the nodes in the order of the world's machines.
	machines  []*node
	nodes     map[string]*node
	districts []*district
	byZone    map[string]*district // by the label of its nodes
	byKey     map[string]*district // by the name that the controller has for it
	spared    map[types.UID]*district

	evicted    map[string]int // by workload
	departures map[departing]Departure

	phase       zone.Phase
	suspended   bool // ever
	paused      bool // ever
	lookPlanned bool
	cutOffs     int // of the world, when machines were last listened to

	calls    calls
	underWay map[*network.Call]*district

	sampler   *sampler
	samples   []zoneSample // reused
	sentSince int          // calls since the last sample
}

var _ model.Witness = (*Recorder)(nil)

// lookEvery is how often that is read of which no witness is told. That is
// whether machines are silent, and what time alone has changed in the
// controller's memory.
const lookEvery = time.Second

// lookAfter is how long after news the controller's memory is looked at: the
// process has drawn its conclusions by then.
const lookAfter = time.Millisecond

// Watch returns a recorder of a simulation, which must not have begun. Tell, if
// not nil, is called for each line of the timeline, in order, some time of the
// scenario after it has happened. See the package comment.
func Watch(s *simulation.Simulation, tell func(Line)) *Recorder {
	r := &Recorder{
		simulation: s,
		world:      s.World(),
		timeline:   newTimeline(tell),
		nodes:      make(map[string]*node),
		byZone:     make(map[string]*district),
		byKey:      make(map[string]*district),
		spared:     make(map[types.UID]*district),
		evicted:    make(map[string]int),
		departures: make(map[departing]Departure),
		calls:      make(calls),
		underWay:   make(map[*network.Call]*district),
		sampler:    newSampler(s.Scenario().Duration.D(), hundredths(float64(s.Options().APIQPS))),
	}
	for _, described := range s.Scenario().Cluster.Zones {
		r.district(described.Name)
	}
	for _, m := range r.world.Machines() {
		n := &node{name: m.Name}
		r.nodes[m.Name] = n
		r.machines = append(r.machines, n)
		if object := r.world.Node(m.Name); object != nil {
			r.enter(n, object)
			n.ready = model.ReadyStatus(object)
			r.takeTaints(n, object.Spec.Taints)
			r.tally(n)
		}
	}
	s.Watch(r)
	for _, replica := range s.Replicas() {
		if client := replica.Client(); client != nil { // it has started already
			r.Noted(network.Note{Kind: network.Started, Client: client})
		}
	}
	r.tick()
	return r
}

// tick looks at what is not told.
func (r *Recorder) tick() {
	now := r.world.Elapsed()
	if cutOffs := r.world.CutOffs(); cutOffs != r.cutOffs {
		r.cutOffs = cutOffs
		r.listen()
	}
	r.look()
	r.sample()
	r.timeline.advance(now)
	r.world.At(now+lookEvery, r.tick)
}

// listen finds the machines that have fallen silent, and those that are not any
// more.
func (r *Recorder) listen() {
	for i, m := range r.world.Machines() {
		switch n, silent := r.machines[i], !m.Reaches(); {
		case silent && !n.silent:
			r.silenced(n)
		case n.silent && !silent:
			r.heard(n)
		}
	}
}

func (r *Recorder) silenced(n *node) {
	n.silent = true
	n.declared = n.ready == corev1.ConditionUnknown
	r.happened(Silent, n)
	r.weigh(n)
}

// heard records that a node is silent no more. Of one that was declared it
// is told when it is ready again.
func (r *Recorder) heard(n *node) {
	n.silent = false
	if !n.declared {
		r.happened(Heard, n)
	}
	r.weigh(n)
}

// happened adds something that happened to a node to the timeline.
func (r *Recorder) happened(kind Kind, n *node) {
	pause := shortestPause
	if kind == Tainted || kind == PodsEvicted || kind == PodsKept {
		pause = pauseAt(n.district.rate())
	}
	r.timeline.happened(r.world.Elapsed(), happens{kind, n.district.name}, n.name, pause)
}

// Noted adds faults and what becomes of processes.
func (r *Recorder) Noted(note network.Note) {
	r.lookSoon()
	line := Line{Text: note.Text}
	if note.Client != nil {
		line.Process = note.Client.Name
	}
	switch note.Kind {
	case network.FaultBegan:
		line.Kind, line.Text = FaultBegan, "begins: "+note.Text
	case network.FaultEnded:
		line.Kind, line.Text = FaultEnded, "ends: "+note.Text
	case network.Started:
		line.Kind, line.Text = ProcessStarted, "starts"
		if life := note.Client.Life; life > 1 {
			line.Text = fmt.Sprintf("starts again, life %d", life)
		}
	case network.Leads:
		line.Kind, line.Text = ProcessLeads, "leads"
	case network.Stopped:
		line.Kind, line.Text = ProcessStopped, "stops: "+note.Text
	case network.Paused:
		line.Kind, line.Text = ProcessPaused, "stands still"
	case network.Resumed:
		line.Kind, line.Text = ProcessResumed, "goes on"
	case network.Synced:
		return // with Leads it says nothing new
	default:
		return
	}
	r.timeline.add(r.world.Elapsed(), line)
}

// Wrote tells that a DaemonSet whose template has changed has its newest pods on
// all nodes, as its status says.
func (r *Recorder) Wrote(w model.Write) {
	before, _ := w.Before.(*appsv1.DaemonSet)
	after, _ := w.After.(*appsv1.DaemonSet)
	if before == nil || after == nil || after.Generation == 1 || rolledOut(before) || !rolledOut(after) {
		return
	}
	r.timeline.add(r.world.Elapsed(), Line{Kind: RolledOut, Text: fmt.Sprintf(
		"DaemonSet %s is rolled out: its newest pods are ready on %d nodes", after.Name, after.Status.NumberAvailable)})
}

// rolledOut is what kubectl rollout status waits for.
func rolledOut(set *appsv1.DaemonSet) bool {
	s := &set.Status
	return s.ObservedGeneration == set.Generation &&
		s.UpdatedNumberScheduled == s.DesiredNumberScheduled && s.NumberAvailable == s.DesiredNumberScheduled
}

// SawNode looks at the controller's memory if it has learned something about a
// zone.
func (r *Recorder) SawNode(_ *network.Client, before, after *corev1.Node) {
	if before == nil || after == nil || model.ReadyStatus(before) != model.ReadyStatus(after) || zoneOf(before) != zoneOf(after) {
		r.lookSoon()
	}
}

func (r *Recorder) lookSoon() {
	if r.lookPlanned {
		return
	}
	r.lookPlanned = true
	r.world.After(lookAfter, func() {
		r.lookPlanned = false
		r.look()
	})
}

// Document returns the report on what has happened up to now, and tells what of
// the timeline has been held back. Call it once, when the simulation is over or
// interrupted.
func (r *Recorder) Document() *Document {
	r.look()
	r.sample()
	r.timeline.end()
	s := r.simulation.Scenario()
	document := &Document{
		Scenario: s.Name, Seed: s.Seed, Settings: []string{}, Notes: []string{},
		Duration: SecondsOf(s.Duration.D()), Reached: SecondsOf(r.world.Elapsed()),
		Timeline: r.timeline.told, Summary: r.summary(), Violations: []Violation{}, Expectations: []Expectation{},
		Series: r.sampler.finish(),
	}
	if document.Timeline == nil {
		document.Timeline = []Line{}
	}
	return document
}
