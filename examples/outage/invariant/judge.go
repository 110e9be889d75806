package invariant

import (
	"fmt"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// Violation is an invariant that did not hold.
type Violation struct {
	// At is when it was found.
	At        time.Duration
	Invariant Invariant
	// Text says of which objects, what was expected, and what happened.
	Text string
}

func (v Violation) String() string {
	return fmt.Sprintf("%v %s: %s", v.At, v.Invariant, v.Text)
}

// A Judge is a witness of a world that knows what its controller must and must
// not do. Like the world it is not safe for concurrent use. It changes nothing.
type Judge struct {
	model.Unimpressed

	world    *model.World
	settings Settings
	budgets  []budget
	subject  Subject
	began    time.Duration

	// The truth.
	nodes   map[string]*node
	inOrder []*node // of the nodes, as they came
	pods    map[string]*pod
	newest  uint64 // resourceVersion
	census  census
	outage  stretch // the last one in which all zones were down
	// disruptions are when zones were partially disrupted last.
	disruptions map[zoneKey]*disruptionOf
	changed     time.Duration
	halt        halt // of the leader
	// checkedFor and checkedCalm are what the last Check was for.
	checkedFor  *view
	checkedCalm time.Duration

	// What the clients see.
	views []*view
	calls map[*network.Call]*sent

	quiet      bool
	quietFrom  time.Duration
	violations []Violation
	reported   map[string]bool
}

var _ model.Witness = (*Judge)(nil)

// New returns a judge of a world. What is there already counts as having come
// now, clients that exist as having started now; so make it before the first
// step. The caller makes the world tell it everything, with World.Watch.
func New(world *model.World, settings Settings, subject Subject) *Judge {
	j := &Judge{
		world:    world,
		settings: settings.withDefaults(),
		subject:  subject,
		began:    world.Elapsed(),
		nodes:    make(map[string]*node),
		pods:     make(map[string]*pod),
		census:   newCensus(),
		calls:    make(map[*network.Call]*sent),
		reported: make(map[string]bool),

		disruptions: make(map[zoneKey]*disruptionOf),
	}
	j.budgets = j.settings.budgets()
	for _, object := range world.Nodes() {
		j.storeNode(model.NodeWrite{After: object})
	}
	for _, object := range world.Pods() {
		j.storePod(model.PodWrite{After: object})
	}
	return j
}

// Check judges what must have happened by now. To be called every second or so
// of the world's time; a second more between two calls is a second more that
// the controller has.
func (j *Judge) Check() {
	now := j.world.Elapsed()
	j.forgetCalls(now)
	j.lookHalted(now)
	for _, v := range j.views {
		v.listen(now)
	}
	since, calm := j.subject.Calm()
	client := j.subject.Acting()
	if !calm || client == nil {
		return
	}
	v := j.view(client)
	v.judgeZones(now)
	v.lookBusy(now)
	c := &checking{Judge: j, now: now, view: v, calm: since}
	c.newAppointments()
	c.declared()
	c.taintsOfNodes()
	c.podsOfNodes()
	if c.settings.ByNode {
		c.idleNodes()
	} else {
		c.idleTokens()
	}
}

// End judges what must hold when a run is over.
func (j *Judge) End() {
	j.Check()
	j.checkMemory()
}

// Quiet says that from some moment on nothing but heartbeats happens outside of
// the controller, and that nothing it may wait for is to come.
func (j *Judge) Quiet(from time.Duration) { j.quiet, j.quietFrom = true, from }

// Violations returns the first violations that were found, each of the same
// objects once.
func (j *Judge) Violations() []Violation { return j.violations }

// violated notes a violation. About is what it is reported once for.
func (j *Judge) violated(invariant Invariant, about, format string, args ...any) {
	key := string(invariant) + "\x00" + about
	if len(j.violations) >= j.settings.Keep || j.reported[key] {
		return
	}
	j.reported[key] = true
	j.violations = append(j.violations, Violation{j.world.Elapsed(), invariant, fmt.Sprintf(format, args...)})
}

// checking is one round of Check.
type checking struct {
	*Judge
	now  time.Duration
	view *view // of the client that acts
	calm time.Duration
}

// late reports whether something that was asked for at some time should have
// been done by now. While the client had as many calls under way as it may, it
// could do nothing, and that time is given back to it.
func (c *checking) late(asked time.Duration, kind work) bool {
	asked = max(asked, c.calm+c.settings.CalmBound)
	by := max(asked+c.settings.bound(), c.view.deadline(asked, kind))
	return c.now > by+c.view.busySince(asked, c.now)
}

// WroteNode judges a client's write of a node, and records it.
func (j *Judge) WroteNode(w model.NodeWrite) {
	if w.Call != nil && w.Before != nil && w.After != nil {
		j.judgeNodeWrite(w)
	}
	j.storeNode(w)
}

// WrotePod judges a client's write of a pod, and records it.
func (j *Judge) WrotePod(w model.PodWrite) {
	if w.Call != nil && w.Before != nil {
		j.judgePodWrite(w)
	}
	j.storePod(w)
}

// SawNode records what a client sees of a node.
func (j *Judge) SawNode(client *network.Client, before, after *corev1.Node) {
	v := j.view(client)
	if after == nil {
		v.nodeGone(before)
	} else {
		v.sawNode(after)
	}
}

// SawLease records what a client sees of a lease.
func (j *Judge) SawLease(client *network.Client, before, after *coordinationv1.Lease) {
	j.view(client).sawLease(before, after)
}

// SawPod records what a client sees of a pod.
func (j *Judge) SawPod(client *network.Client, before, after *corev1.Pod) {
	v := j.view(client)
	v.sawPod(before, after)
}

// Noted follows the life of processes.
func (j *Judge) Noted(note network.Note) {
	if note.Client == nil {
		return
	}
	if note.Kind == network.Stopped {
		j.dropView(note.Client)
		return
	}
	v, now := j.view(note.Client), j.world.Elapsed()
	switch note.Kind {
	case network.Started:
		v.start(now)
	case network.Synced:
		v.sync(now)
	case network.Leads:
		v.leads = true
		v.stabilize(now)
	case network.Paused:
		v.pausedAt = now
	case network.Resumed:
		v.resumedAt = now
	case network.FaultBegan, network.FaultEnded, network.Stopped:
	}
}

// version reads a resourceVersion, which in the model is a number that grows.
func version(resourceVersion string) uint64 {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
