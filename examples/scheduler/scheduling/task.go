package scheduling

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/eviction"
)

// Action is what a Task asks for.
type Action string

const (
	// ActionBind binds Task.Pod to Decision.Node.
	ActionBind Action = "Bind"
	// ActionReport writes to the status of Task.Pod why there is no node now, and
	// Decision.Node as its nominated node, which may be empty.
	ActionReport Action = "Report"
	// ActionRead reads Task.Pod, because it is not known whether it is bound.
	ActionRead Action = "Read"
)

// A Task is one thing to do about a pod that needs a node.
type Task struct {
	Action Action
	// Pod is the pod as it was observed last. It must not be changed.
	Pod      *corev1.Pod
	Decision Decision
	// Attempts counts the decisions about the pod, and Since is when it was first
	// observed.
	Attempts int
	Since    time.Time

	pod *pod
}

// An Eviction makes a pod leave that another one needs the room of.
type Eviction struct {
	Task eviction.Task
	// Pod is the pod as it was observed last, nil if it is gone. It must not be
	// changed.
	Pod *corev1.Pod
}

// Actions do what a Scheduler hands out. Both are required.
type Actions struct {
	Perform func(context.Context, Task) Result
	Evict   func(context.Context, Eviction) eviction.Result
}

// A Decision is a node for a pod, or why there is none.
type Decision struct {
	// Node is the node to bind the pod to or, of an ActionReport, the node that it
	// is nominated to.
	Node string
	// Unsupported is what the pod asks for and the scheduler does not understand.
	Unsupported string
	// Nodes is how many nodes there are, and Refusals how many of them refuse the
	// pod for a reason. A node can have several.
	Nodes    int
	Refusals map[string]int
	// Victims leave to make room on Node.
	Victims []*corev1.Pod
	// NewNode is the name of the first template on which the pod would fit.
	NewNode string
}

// Message says why there is no node, in the form of kube-scheduler.
func (d Decision) Message() string {
	if d.Unsupported != "" {
		return "the scheduler does not support " + d.Unsupported
	}
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(d.Refusals)) {
		reasons = append(reasons, fmt.Sprintf("%d %s", d.Refusals[reason], reason))
	}
	text := fmt.Sprintf("0/%d nodes are available", d.Nodes)
	if len(reasons) > 0 {
		text += ": " + strings.Join(reasons, ", ")
	}
	text += "."
	if d.Node != "" {
		text += fmt.Sprintf(" preemption: %d pod(s) leave node %s.", len(d.Victims), d.Node)
	}
	if d.NewNode != "" {
		text += " A new node like " + d.NewNode + " would fit."
	}
	return text
}

// Outcome is how a task ended. The zero value counts as OutcomeUnknown, as does
// any other string.
type Outcome string

const (
	// OutcomeDone: the API server has accepted the write, or answered the read.
	OutcomeDone Outcome = "Done"
	// OutcomeRefused: nothing was written, for example because the pod has
	// changed.
	OutcomeRefused Outcome = "Refused"
	// OutcomeGone: there is no such pod any more.
	OutcomeGone Outcome = "Gone"
	// OutcomeUnknown: it is not known whether anything was written.
	OutcomeUnknown Outcome = "Unknown"
)

// A Result is how a Task ended. The zero value is a failure of unknown effect.
type Result struct {
	Outcome Outcome
	// Pod is the pod as the API server had it, of ActionRead.
	Pod *corev1.Pod
	// Err is why it failed. With an error OutcomeDone counts as OutcomeUnknown.
	Err error
}
