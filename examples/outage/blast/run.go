package blast

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/report"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/outage/simulation"
)

// Outcome is what one loss comes to with one variant. Times count from the
// loss.
type Outcome struct {
	// Tainted is how many nodes got a NoExecute taint of the controller.
	Tainted int `json:"tainted"`
	// Evicted is how many pods the controller told to leave, and EvictedLiving how
	// many of them ran on nodes that were not lost. First and Last are when, zero
	// if there was none.
	Evicted       int            `json:"evicted"`
	EvictedLiving int            `json:"evictedLiving"`
	First         report.Seconds `json:"first"`
	Last          report.Seconds `json:"last"`
	// Lost are the workloads that have lost all their pods. Each pod that was
	// there before the loss was on a lost node, or has been told to leave.
	Lost []string `json:"lost"`
	// Kept is how many pods were left on lost nodes in the end because budgets
	// refused to let them go. Only the Eviction API asks for budgets.
	Kept int `json:"kept"`
	// Over says that nothing more was to come. Otherwise the run was as long as it
	// may be.
	Over bool `json:"over"`
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
	refused  map[types.UID]bool // pods
}

// WroteNode counts nodes that get a NoExecute taint of the controller.
func (o *observer) WroteNode(write model.NodeWrite) {
	if write.Call == nil || write.Before == nil || write.After == nil || o.world.Now() < o.begin {
		return
	}
	if hasTaint(write.After) && !hasTaint(write.Before) {
		o.tainted[write.After.Name] = true
		o.activity = o.world.Now()
	}
}

func hasTaint(node *corev1.Node) bool {
	for i := range node.Spec.Taints {
		t := &node.Spec.Taints[i]
		if t.Effect == corev1.TaintEffectNoExecute &&
			(t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable) {
			return true
		}
	}
	return false
}

// WrotePod counts pods that a controller tells to leave.
func (o *observer) WrotePod(write model.PodWrite) {
	if write.Call == nil || write.Before == nil || write.Before.DeletionTimestamp != nil || o.world.Now() < o.begin ||
		write.After != nil && write.After.DeletionTimestamp == nil {
		return
	}
	now := o.world.Now()
	if o.evicted == 0 {
		o.first = now - o.begin
	}
	o.last, o.activity = now-o.begin, now
	o.evicted++
	if !o.lost(write.Before.Spec.NodeName) {
		o.living++
	}
}

// Processed notes the pods that a budget keeps.
func (o *observer) Processed(call *model.Call) {
	if !model.Refused(call) || o.world.Now() < o.begin {
		return
	}
	if pod := o.world.Pod(call.Name); pod != nil {
		o.refused[pod.UID] = true
	}
}

// run plays a loss. If the context ends first, the error is that of the
// context.
func run(ctx context.Context, v *Variant, loss *Loss, longest time.Duration) (*Outcome, error) {
	begin := v.begin
	step := loss.step
	step.At = scenario.Duration(begin)
	played := v.scenario.Clone()
	played.Expect, played.Script = nil, []scenario.Step{step}
	end := begin + step.For.D() + longest
	played.Duration = scenario.Duration(end)
	s, err := simulation.New(played)
	if err != nil {
		return nil, err
	}
	o := &observer{world: s.World(), begin: begin, activity: begin + step.For.D(), tainted: map[string]bool{},
		refused: map[types.UID]bool{}}
	o.lost = func(node string) bool {
		_, struck := s.Struck(0, node)
		return struck
	}
	o.world.Watch(o)
	var before []*corev1.Pod
	o.world.At(begin, func() { before = o.world.Pods() })
	over, silent := false, v.silentFor()
	for i := 0; !over && s.Step(); i++ {
		if i%stepsBetweenChecks == 0 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			over = o.world.Now()-o.activity > silent
		}
	}
	outcome := &Outcome{
		Tainted: len(o.tainted), Evicted: o.evicted, EvictedLiving: o.living,
		First: report.SecondsOf(o.first), Last: report.SecondsOf(o.last),
		Lost: o.workloadsLost(played, before), Kept: o.kept(), Over: over,
	}
	return outcome, nil
}

// workloadsLost returns the workloads that had pods, none of which is left.
func (o *observer) workloadsLost(s *scenario.Scenario, before []*corev1.Pod) []string {
	had, has := map[string]bool{}, map[string]bool{}
	for _, pod := range before {
		name := model.WorkloadOf(pod)
		had[name] = true
		now := o.world.Pod(pod.Name)
		if now != nil && now.UID == pod.UID && now.DeletionTimestamp == nil && !o.lost(now.Spec.NodeName) {
			has[name] = true
		}
	}
	lost := []string{}
	for i := range s.Cluster.Workloads {
		if name := s.Cluster.Workloads[i].Name; had[name] && !has[name] {
			lost = append(lost, name)
		}
	}
	return lost
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
