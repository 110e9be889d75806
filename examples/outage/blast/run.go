package blast

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
	"github.com/kubelife/lifecycle/examples/simulation/network"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/zone"
)

// Outcome is what one loss comes to with one variant. Times count from the
// loss.
type Outcome struct {
	// Tainted is how many nodes got a NoExecute taint of the controller.
	Tainted int `json:"tainted"`
	// Untainted says why others of the lost nodes got none, empty if all did.
	Untainted string `json:"untainted,omitempty"`
	// Evicted is how many pods the controller told to leave, EvictedLiving how
	// many of them ran on nodes that were not lost. First and Last are when, zero
	// if there was none. Pods that leave because of an administrator's taint alone
	// are in none of these.
	Evicted       int            `json:"evicted"`
	EvictedLiving int            `json:"evictedLiving"`
	First         report.Seconds `json:"first"`
	Last          report.Seconds `json:"last"`
	// What follows is so far unless the run is over: a pod that is down may have
	// been about to be replaced.
	//
	// Lost are the workloads that have lost all their ready pods. Each that was
	// there before the loss was on a lost node, or has been told to leave. Those
	// of LostForGood have no ready pod in the end either. DaemonSets do not count:
	// their pods are where nodes are.
	Lost        []string `json:"lost"`
	LostForGood []string `json:"lostForGood"`
	// Down is how many ready pods the workloads miss in the end, compared with
	// before, because of the loss. Those on lost nodes are missed. DaemonSets do
	// not count.
	Down int `json:"down"`
	// Kept is how many pods were left on lost nodes in the end because budgets
	// refused to let them go. Only the Eviction API asks for budgets.
	Kept int `json:"kept"`
	// Until is how far the run went. Over says that nothing more was to come.
	// Otherwise the run was as long as it may be, or was interrupted.
	Until       report.Seconds `json:"until"`
	Over        bool           `json:"over"`
	Interrupted bool           `json:"interrupted,omitempty"`

	// evictions and taintings are how many there were so far, at times in order.
	// Those are the first time, and the last in each stretch of pointEvery.
	evictions, taintings []point
}

// point is how much there was so far.
type point struct {
	at    time.Duration // from the loss
	count int
}

// pointEvery bounds how many points a run has.
const pointEvery = 5 * time.Second

// counted adds a point, or moves the last one on if it is recent. The first one
// stays where it is.
func counted(points []point, at time.Duration, count int) []point {
	if n := len(points); n > 1 && at/pointEvery == points[n-1].at/pointEvery {
		points[n-1] = point{at, count}
		return points
	}
	return append(points, point{at, count})
}

// stepsBetweenChecks is after how many events a run asks whether it is to end.
const stepsBetweenChecks = 256

// observer counts what happens from the loss on.
type observer struct {
	model.Unimpressed

	world    *model.World
	begin    time.Duration
	lost     func(node string) bool
	tainted  map[string]bool
	evicted  int
	living   int
	first    time.Duration
	last     time.Duration
	activity time.Duration      // when something happened last
	due      time.Duration      // when the last toleration ends
	refused  map[types.UID]bool // pods
	moved    map[types.UID]bool // pods on living nodes that taints of an administrator evict

	evictions, taintings []point
}

// WroteNode counts nodes that get a NoExecute taint of the controller.
func (o *observer) WroteNode(write model.NodeWrite) {
	if write.Call == nil || write.Before == nil || write.After == nil || o.world.Elapsed() < o.begin {
		return
	}
	if hasTaint(write.After) && !hasTaint(write.Before) {
		o.tainted[write.After.Name] = true
		o.activity = o.world.Elapsed()
		o.due = max(o.due, o.lastDue(write.After))
		o.taintings = counted(o.taintings, o.activity-o.begin, len(o.tainted))
	}
}

// lastDue returns when the last pod on a node has to leave because of the
// node's taints, zero if none has to.
func (o *observer) lastDue(node *corev1.Node) time.Duration {
	now := o.world.Now()
	var last time.Duration
	for _, pod := range o.world.PodsOn(node.Name) {
		decision := decide(pod, node.Spec.Taints, now)
		if decision.Leaves() {
			last = max(last, o.world.Elapsed()+decision.Due.Sub(now))
		}
	}
	return last
}

// decide returns whether a pod has to leave because of taints that are new, and
// when.
func decide(pod *corev1.Pod, all []corev1.Taint, now time.Time) eviction.Decision {
	var on []eviction.Taint
	for _, taint := range all {
		if taint.Effect == corev1.TaintEffectNoExecute {
			on = append(on, eviction.Taint{Taint: taint, Start: now})
		}
	}
	return eviction.Decide(on, eviction.Pod{Tolerations: pod.Spec.Tolerations, Arrived: now}, taints.Matcher{})
}

// idleSince returns since when nothing has happened, or until when a toleration
// lasts.
func (o *observer) idleSince() time.Duration { return max(o.activity, o.due) }

func hasTaint(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return taints.OwnsNoExecute(&t) })
}

// WrotePod counts pods that a controller tells to leave.
func (o *observer) WrotePod(write model.PodWrite) {
	if write.Call == nil || write.Before == nil || write.Before.DeletionTimestamp != nil || o.world.Elapsed() < o.begin ||
		write.After != nil && write.After.DeletionTimestamp == nil {
		return
	}
	now, living := o.world.Elapsed(), !o.lost(write.Before.Spec.NodeName)
	if o.leavesAnyway(write.Before) {
		o.moved[write.Before.UID] = living
		return
	}
	if o.evicted == 0 {
		o.first = now - o.begin
	}
	o.last, o.activity = now-o.begin, now
	o.evicted++
	o.evictions = counted(o.evictions, now-o.begin, o.evicted)
	if living {
		o.living++
	}
}

// leavesAnyway reports whether taints of an administrator alone make a pod
// leave.
func (o *observer) leavesAnyway(pod *corev1.Pod) bool {
	node := o.world.Node(pod.Spec.NodeName)
	return node != nil && !hasTaint(node) && decide(pod, node.Spec.Taints, o.world.Now()).Leaves()
}

// Processed notes the pods that a budget keeps.
func (o *observer) Processed(call *network.Call) {
	if !model.Refused(call) || o.world.Elapsed() < o.begin {
		return
	}
	if pod := o.world.Pod(call.Name); pod != nil {
		o.refused[pod.UID] = true
	}
}

// run plays a loss. If the context ends first, the error is that of the
// context. The outcome is what is known by then, nil before the loss.
func run(ctx context.Context, v *Variant, loss *Loss, longest time.Duration, g *gauge) (*Outcome, error) {
	begin := v.begin
	played := v.of(loss, longest)
	s, err := simulation.New(played)
	if err != nil {
		return nil, err
	}
	o := &observer{world: s.World(), begin: begin, activity: begin + loss.step.For.D(), tainted: map[string]bool{},
		refused: map[types.UID]bool{}, moved: map[types.UID]bool{}}
	o.lost = func(node string) bool {
		_, struck := s.Struck(0, node)
		return struck
	}
	s.Watch(o)
	var before []*corev1.Pod
	o.world.At(begin, func() { before = o.world.Pods() })
	over, interrupted, silent := false, false, v.silentFor()
	for i := 0; !over && !interrupted && s.Step(); i++ {
		if i%stepsBetweenChecks == 0 {
			over, interrupted = o.world.Elapsed()-o.idleSince() > silent, ctx.Err() != nil
			g.is(o.world.Elapsed(), min(o.idleSince()+silent, played.Duration.D()))
		}
	}
	switch {
	case !interrupted:
		g.over(o.world.Elapsed())
	case o.world.Elapsed() <= begin:
		return nil, ctx.Err()
	}
	outcome := &Outcome{
		Tainted: len(o.tainted), Evicted: o.evicted, EvictedLiving: o.living,
		First: report.SecondsOf(o.first), Last: report.SecondsOf(o.last),
		Kept: o.kept(), Until: report.SecondsOf(o.world.Elapsed() - begin), Over: over, Interrupted: interrupted,
		evictions: o.evictions, taintings: o.taintings,
	}
	o.count(outcome, played, before)
	if !interrupted {
		outcome.Untainted = o.untainted(s)
		return outcome, nil
	}
	return outcome, ctx.Err()
}

// untainted says why lost nodes have got no taint: the phase of the cluster, or
// the state of their zones.
func (o *observer) untainted(s *simulation.Simulation) string {
	names := map[string]string{} // of the zones with such nodes, by what the controller calls them
	for _, node := range o.world.Nodes() {
		if o.lost(node.Name) && !o.tainted[node.Name] {
			names[zone.ByTopology(node)] = node.Labels[corev1.LabelTopologyZone]
		}
	}
	acting := s.Acting()
	if len(names) == 0 || acting == nil {
		return ""
	}
	knowledge := acting.Knowledge()
	if knowledge.Phase != zone.PhaseActive {
		return fmt.Sprintf("%s: no node is acted against", knowledge.Phase)
	}
	in := map[string][]string{} // zones, by what they are in
	for _, status := range knowledge.Zones {
		if name, ok := names[status.Zone]; ok {
			state := fmt.Sprintf("in %s, rate %s/s", status.State, number(status.Rate))
			in[state] = append(in[state], name)
		}
	}
	var texts []string
	for _, state := range slices.Sorted(maps.Keys(in)) {
		texts = append(texts, zones(in[state])+" "+state)
	}
	return strings.Join(texts, "; ")
}

// mostZones is how many zones are named that are in one state.
const mostZones = 3

func zones(names []string) string {
	slices.Sort(names)
	switch more := len(names) - mostZones; {
	case len(names) == 1:
		return "zone " + names[0] + " is"
	case more > 0:
		return fmt.Sprintf("zones %s and %d more are", strings.Join(names[:mostZones], ", "), more)
	}
	return "zones " + strings.Join(names, ", ") + " are"
}

// kept counts the pods on lost nodes that a budget has kept from leaving.
func (o *observer) kept() int {
	kept := 0
	for _, pod := range o.world.Pods() {
		if pod.DeletionTimestamp == nil && o.refused[pod.UID] && o.lost(pod.Spec.NodeName) {
			kept++
		}
	}
	return kept
}
