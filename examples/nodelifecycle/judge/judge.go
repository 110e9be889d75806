package judge

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// Invariant names what must hold of every run, as a user of the cluster would
// say it. Each stands in the file of its outcome. In brackets stands the promise
// of the design that it comes from.
type Invariant string

// rules are those of one outcome, by when they are asked. A rule says what is
// wrong by violated. One that is asked when a call is sent may charge the call,
// which counts only if the call takes effect.
type rules struct {
	// sent is asked of each call that leaves a process.
	sent []func(*sent)
	// turn is asked of a call by which a node has its turn: it gives the node our
	// NoExecute taint, or is the first that empties it.
	turn []func(*sent, *node)
	// leaving is asked of a call that makes a pod leave.
	leaving []func(*sent)
	// nodeWrite and podWrite are asked when a process has written.
	nodeWrite []func(*sent, model.NodeWrite)
	podWrite  []func(*sent, model.PodWrite)
	// node is asked of each node each second of a calm, and pod of its pods
	// whenever something about them may have become late.
	node []func(*checking, *node)
	pod  []func(*checking, *pod)
	// end is asked when the run is over.
	end []func(*Judge)
}

// outcomes are all rules.
var outcomes = []*rules{&early, &wrong, &tooFast, &twice, &late, &lost, &notStable}

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
	subject  Subject

	// What there is.
	nodes   map[string]*node
	inOrder []*node // of the nodes, as they came
	pods    map[string]*pod
	newest  uint64 // resourceVersion
	changed time.Duration
	halt    halt // of the leader
	cluster cluster

	// What can have reached which process, and what it has asked for.
	processes []*process
	calls     map[*network.Call]*sent

	// acting is the process that the last Check was for, in a calm since calm.
	acting *process
	calm   time.Duration

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
		nodes:    make(map[string]*node),
		pods:     make(map[string]*pod),
		cluster:  cluster{zones: make(map[zoneKey]*zone)},
		calls:    make(map[*network.Call]*sent),
		reported: make(map[string]bool),
	}
	for _, object := range world.Nodes() {
		j.WroteNode(model.NodeWrite{After: object})
	}
	for _, object := range world.Pods() {
		j.WrotePod(model.PodWrite{After: object})
	}
	return j
}

// Check judges what must have happened by now. To be called every second or so
// of the world's time; a second more between two calls is a second more that
// the controller has.
func (j *Judge) Check() {
	now := j.world.Elapsed()
	j.forgetCalls(now)
	j.halt.set(j.world.Lock().Halted, now)
	j.look(now)
	since, calm := j.subject.Calm()
	client := j.subject.Acting()
	if !calm || client == nil {
		return
	}
	c := &checking{Judge: j, now: now, process: j.process(client)}
	if j.acting != c.process || j.calm != since {
		c.begin(since)
	}
	for _, n := range j.inOrder {
		if n.object != nil {
			c.check(n)
		}
	}
}

// End judges what must hold when a run is over.
func (j *Judge) End() {
	j.Check()
	for _, outcome := range outcomes {
		for _, rule := range outcome.end {
			rule(j)
		}
	}
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

// informed returns from when on what is stored reaches a process within the lag,
// and what it sends is answered: never if that is not so now.
func (j *Judge) informed(p *process) time.Duration {
	since, calm := j.subject.Calm()
	if !calm || j.subject.Acting() != p.client || p.synced < 0 {
		return never
	}
	return max(since, p.synced)
}

// WroteNode judges a client's write of a node, and records it.
func (j *Judge) WroteNode(w model.NodeWrite) {
	if s := j.calls[w.Call]; s != nil && s.node != nil && w.Before != nil && w.After != nil {
		s.judgeNodeWrite(w)
	}
	j.storeNode(w)
}

// WrotePod judges a client's write of a pod, and records it.
func (j *Judge) WrotePod(w model.PodWrite) {
	if s := j.calls[w.Call]; s != nil && w.Before != nil && j.pods[w.Before.Name] != nil {
		s.judgePodWrite(w)
	}
	j.storePod(w)
}

// Beat remembers a heartbeat.
func (j *Judge) Beat(m *model.Machine) {
	if n := j.nodes[m.Name]; n != nil {
		n.beat(j)
	}
}

// SawNode records when a process was shown a version of a node.
func (j *Judge) SawNode(client *network.Client, before, after *corev1.Node) {
	j.process(client).sawNode(before, after)
}

// SawLease records when a process was shown a heartbeat.
func (j *Judge) SawLease(client *network.Client, before, after *coordinationv1.Lease) {
	if after != nil && (before == nil || !after.Spec.RenewTime.Equal(before.Spec.RenewTime)) {
		j.process(client).heard = j.world.Elapsed()
	}
}

// SawPod records when a process was shown a pod on its node.
func (j *Judge) SawPod(client *network.Client, before, after *corev1.Pod) {
	j.process(client).sawPod(before, after)
}

// SawHalt records what a process was told by the operator.
func (j *Judge) SawHalt(client *network.Client, halted bool) {
	j.process(client).halt.set(halted, j.world.Elapsed())
}

// Noted follows the life of processes.
func (j *Judge) Noted(note network.Note) {
	if note.Client != nil {
		j.noted(note)
	}
}

// sinceStart turns a time of day into one of the world's.
func (j *Judge) sinceStart(at time.Time) time.Duration { return at.Sub(j.world.Config().Start) }
