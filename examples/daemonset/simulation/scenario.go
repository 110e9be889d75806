package simulation

import (
	"fmt"
	"time"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// A Scenario is a cluster and what happens to it.
type Scenario struct {
	// Seed decides all that is left to chance.
	Seed uint64
	// Nodes is how many there are at the start.
	Nodes int
	// PerSecond and Burst are the budget of requests. Zero PerSecond is no limit.
	PerSecond float64
	Burst     int
	// Concurrency and PodBurst are those of the controller. Zero means its
	// default.
	Concurrency, PodBurst int
	// Steps need not be in order.
	Steps []Step
}

// A Step is something that happens at a time. The fields after Do count where
// the action says so.
type Step struct {
	At time.Duration
	Do Action
	// Set, Node and Pod choose one of those that exist, or a name.
	Set, Node, Pod int
	// N chooses a variant.
	N int
	// For is how long it lasts.
	For time.Duration
	// Kind is that of a watch.
	Kind network.Kind
}

func (s Step) String() string {
	return fmt.Sprintf("%v %s set %d node %d pod %d n %d for %v kind %s", s.At, s.Do, s.Set, s.Node, s.Pod, s.N, s.For,
		s.Kind)
}

// An Action is what a step does.
type Action string

// What clients do with a set.
const (
	// ActionCreateSet creates a set of the name Set, if there is none. N chooses
	// its strategy.
	ActionCreateSet Action = "CreateSet"
	// ActionDeleteSet deletes it. N chooses the propagation.
	ActionDeleteSet Action = "DeleteSet"
	// ActionSetImage changes the template to image N, or back to it.
	ActionSetImage Action = "SetImage"
	// ActionBreakImage changes it to an image that never becomes ready.
	ActionBreakImage Action = "BreakImage"
	// ActionSetStrategy changes the update strategy to N.
	ActionSetStrategy Action = "SetStrategy"
	// ActionSetPlacement changes the node selector and the tolerations to N.
	ActionSetPlacement Action = "SetPlacement"
	// ActionSetLimits changes minReadySeconds and revisionHistoryLimit to N.
	ActionSetLimits Action = "SetLimits"
	// ActionAnnotateSet changes nothing that counts.
	ActionAnnotateSet Action = "AnnotateSet"
)

// What happens to nodes.
const (
	// ActionAddNode adds the node Node, if there is none.
	ActionAddNode Action = "AddNode"
	// ActionRemoveNode removes it.
	ActionRemoveNode Action = "RemoveNode"
	// ActionRecreateNode removes it and adds it at once.
	ActionRecreateNode Action = "RecreateNode"
	// ActionTaint adds a taint, with effect N, for a time.
	ActionTaint Action = "Taint"
	// ActionLabel moves a node to the other pool.
	ActionLabel Action = "Label"
	// ActionKillNode stops its kubelet for a time.
	ActionKillNode Action = "KillNode"
	// ActionFailPods has pods that start there fail, for a time.
	ActionFailPods Action = "FailPods"
	// ActionSlowNode has each start take N seconds more from now on.
	ActionSlowNode Action = "SlowNode"
)

// What happens to pods and revisions.
const (
	// ActionDeletePod deletes a pod.
	ActionDeletePod Action = "DeletePod"
	// ActionFailPod has it fail.
	ActionFailPod Action = "FailPod"
	// ActionUnready has it be not ready for a time.
	ActionUnready Action = "Unready"
	// ActionOrphanPod takes its owner off.
	ActionOrphanPod Action = "OrphanPod"
	// ActionRelabelPod changes its label so that no set selects it.
	ActionRelabelPod Action = "RelabelPod"
	// ActionStealPod makes another controller its owner.
	ActionStealPod Action = "StealPod"
	// ActionStrayPod creates a pod without owner that a set selects.
	ActionStrayPod Action = "StrayPod"
	// ActionOrphanRevision takes the owner off a revision of a set.
	ActionOrphanRevision Action = "OrphanRevision"
	// ActionStealRevision makes another controller the owner of a revision.
	ActionStealRevision Action = "StealRevision"
)

// What happens to the controller and between it and the API server. All but
// ActionKill last for a time.
const (
	// ActionErrors has calls fail.
	ActionErrors Action = "Errors"
	// ActionLoseAnswers has answers lost.
	ActionLoseAnswers Action = "LoseAnswers"
	// ActionConflicts has writes refused with 409.
	ActionConflicts Action = "Conflicts"
	// ActionSlowCalls has calls take long.
	ActionSlowCalls Action = "SlowCalls"
	// ActionQuota has creations of pods refused.
	ActionQuota Action = "Quota"
	// ActionNotNow has something else come before creations and deletions of pods.
	ActionNotNow Action = "NotNow"
	// ActionInPlace has rollouts update running pods in place.
	ActionInPlace Action = "InPlace"
	// ActionLate has the watch of a Kind be up to N seconds late.
	ActionLate Action = "Late"
	// ActionGap has it miss everything, and list again.
	ActionGap Action = "Gap"
	// ActionKill ends the process. Another one takes over after For, with caches
	// that are up to N seconds old.
	ActionKill Action = "Kill"
	// ActionHalt halts the controller.
	ActionHalt Action = "Halt"
)
