package cri

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Plan is what a runtime does for one pod. Its steps run in order.
type Plan struct {
	Node string
	// Pod is only read.
	Pod   *corev1.Pod
	Steps []Step
	// Notices asks for a [Notice] of what happens between the steps' results.
	Notices bool
}

// StepKind says what a step does.
type StepKind string

const (
	// StepCreateSandbox creates a sandbox. When it fails, the plan ends.
	StepCreateSandbox StepKind = "CreateSandbox"
	// StepStart pulls the image of a container if need be, creates and starts the
	// container, and runs its postStart hook.
	StepStart StepKind = "Start"
	// StepStop stops containers together, and ends when all have exited.
	StepStop StepKind = "Stop"
	// StepStopSandboxes makes the pod's sandboxes not ready.
	StepStopSandboxes StepKind = "StopSandboxes"
	// StepRemove removes containers that have exited.
	StepRemove StepKind = "Remove"
)

// Step is a part of a plan. Only the fields of its kind count.
type Step struct {
	Kind StepKind

	// Attempt is how many sandboxes, or runs of the container, there were before.
	// Of runs that were removed the runtime may know more, which count.
	Attempt uint32
	// Container is the name of the container to start.
	Container string
	// MayPull allows a pull. Without it the start fails with
	// ReasonImagePullBackOff when the image would have to be pulled.
	MayPull bool
	// Required ends the plan when the start fails.
	Required bool

	// Stops are the containers to stop.
	Stops []Stop
	// Remove are the IDs of the containers to remove.
	Remove []string
}

// Stop says how to stop one container.
type Stop struct {
	ID string
	// Grace is how long it may take before it is killed. Its preStop hook and its
	// turn count; see shortestStop.
	Grace time.Duration
	// After are the IDs of containers that must have exited before, unless the
	// grace period ends first.
	After []string
}

// shortestStop is how long a container has from its signal until it is killed,
// at the least. Source: kuberuntime's minimumGracePeriodInSeconds, v1.37.1.
const shortestStop = 2 * time.Second

// Reasons of failed starts, as the kubelet shows them in waiting containers.
// Source: pkg/kubelet/images/types.go and kuberuntime_container.go, v1.37.1.
const (
	ReasonImagePull        = "ErrImagePull"
	ReasonImagePullBackOff = "ImagePullBackOff"
	ReasonImageNeverPull   = "ErrImageNeverPull"
	ReasonConfig           = "CreateContainerConfigError"
	ReasonCreate           = "CreateContainerError"
	ReasonRun              = "RunContainerError"
	ReasonPostStart        = "PostStartHookError"
	ReasonCreateSandbox    = "CreatePodSandboxError"
)

// StepResult is the result of one step. The zero value is a failure.
type StepResult struct {
	Step Step
	Done bool
	// Reason and Message explain a failure.
	Reason, Message string
}

// Report ends a plan. Steps that have not run are not in it.
type Report struct {
	Node    string
	Pod     types.UID
	Results []StepResult
	// Canceled tells that Runtime.Cancel has ended the plan early.
	Canceled bool
}
