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
	// Nodes is how many there are.
	Nodes int
	// Steps need not be in order.
	Steps []Step
}

// A Step is something that happens at a time. The fields after Do count where
// the action says so.
type Step struct {
	At time.Duration
	Do Action
	// Node and Pod choose a name.
	Node, Pod int
	// N chooses a variant.
	N int
	// For is how long it lasts.
	For time.Duration
	// Kind is that of a watch.
	Kind network.Kind
}

func (s Step) String() string {
	return fmt.Sprintf("%v %s node %d pod %d n %d for %v kind %s", s.At, s.Do, s.Node, s.Pod, s.N, s.For, s.Kind)
}

// An Action is what a step does.
type Action string

// What clients do with a pod.
const (
	// ActionCreatePod creates the pod of number N on Node, if there is none of the
	// name Pod.
	ActionCreatePod Action = "CreatePod"
	// ActionDeletePod deletes it, with grace period N.
	ActionDeletePod Action = "DeletePod"
	// ActionForceDelete removes it at once.
	ActionForceDelete Action = "ForceDelete"
	// ActionRecreatePod removes it at once, and creates the pod of number N under
	// its name.
	ActionRecreatePod Action = "RecreatePod"
	// ActionSetImage changes the image of its first main container to N.
	ActionSetImage Action = "SetImage"
	// ActionCrash makes that container exit with code N.
	ActionCrash Action = "Crash"
	// ActionOverwrite makes another client show the pod as not ready.
	ActionOverwrite Action = "Overwrite"
	// ActionFailPod makes another client show it as failed, as the garbage
	// collector of pods does.
	ActionFailPod Action = "FailPod"
	// ActionOpenGate makes its readiness gate true, or false again.
	ActionOpenGate Action = "OpenGate"
)

// What happens to static pods. Pod chooses one of their names.
const (
	// ActionSetStatic makes the static pod of number N that of each node, or of
	// none if N is 0.
	ActionSetStatic Action = "SetStatic"
	// ActionDeleteMirror deletes its mirror on Node, with grace period N.
	ActionDeleteMirror Action = "DeleteMirror"
	// ActionFailMirror makes another client show the mirror as failed.
	ActionFailMirror Action = "FailMirror"
	// ActionCrashStatic makes its first main container there exit with code N.
	ActionCrashStatic Action = "CrashStatic"
)

// What happens to a node. All but ActionReboot, ActionRestartKubelet and
// ActionReplaceNode last for a time.
const (
	// ActionSilence cuts a node off from the API server. After 40 s another client
	// shows its pods as not ready.
	ActionSilence Action = "Silence"
	// ActionRuntimeDown makes its runtime give no answer.
	ActionRuntimeDown Action = "RuntimeDown"
	// ActionNetworkDown leaves its pods without a network.
	ActionNetworkDown Action = "NetworkDown"
	// ActionPressure puts it under pressure.
	ActionPressure Action = "Pressure"
	// ActionSlowNode makes each of its writes take N s longer.
	ActionSlowNode Action = "SlowNode"
	// ActionFailingNode makes half of its writes fail.
	ActionFailingNode Action = "FailingNode"
	// ActionLoseEvents makes the runtimes of all nodes lose every event.
	ActionLoseEvents Action = "LoseEvents"
	// ActionReboot reboots its machine.
	ActionReboot Action = "Reboot"
	// ActionRestartKubelet restarts its kubelet.
	ActionRestartKubelet Action = "RestartKubelet"
	// ActionReplaceNode removes a node whose machine is lost. Within For its pods
	// are removed, and a new node of its name comes.
	ActionReplaceNode Action = "ReplaceNode"
)

// What happens to the process of the kubelets, and between it and the API
// server. All last for a time.
const (
	// ActionErrors makes calls fail.
	ActionErrors Action = "Errors"
	// ActionLoseAnswers loses answers.
	ActionLoseAnswers Action = "LoseAnswers"
	// ActionSlowCalls makes calls take long.
	ActionSlowCalls Action = "SlowCalls"
	// ActionLate makes the watch of a Kind up to N seconds late.
	ActionLate Action = "Late"
	// ActionGap makes it miss everything, and list again.
	ActionGap Action = "Gap"
	// ActionKill ends the process. The containers go on, and another one takes
	// over.
	ActionKill Action = "Kill"
	// ActionKillFleet ends the process and, with it, the runtime. The next one
	// has what the API server shows.
	ActionKillFleet Action = "KillFleet"
)
