package controller

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/rollout"
)

// ReasonRolloutStopped and ReasonInvalid are the reasons of Events about a set
// that waits for a correction of its spec. kube-controller-manager has none.
const (
	ReasonRolloutStopped = "RolloutStopped"
	ReasonInvalid        = "InvalidSpec"
)

// The other reasons of Events are those of kube-controller-manager v1.37.
const (
	reasonSelectingAll  = "SelectingAll"
	reasonPodFailed     = "FailedDaemonPod"
	reasonPodSucceeded  = "SucceededDaemonPod"
	reasonCreated       = "SuccessfulCreate"
	reasonDeleted       = "SuccessfulDelete"
	reasonNotCreated    = "FailedCreate"
	reasonNotDeleted    = "FailedDelete"
	messageSelectingAll = "This set selects all pods of its namespace and is left alone. " +
		"It needs a selector that is not empty."
)

// An Event is what users should know of a set.
type Event struct {
	Owner ownership.Owner
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type            string
	Reason, Message string
}

// A recorder is the core of the Events that are to be recorded.
type recorder struct{ *Controller }

// Start hands out the first of them.
func (c recorder) Start(time.Time) (Event, bool) {
	if len(c.events) == 0 {
		return Event{}, false
	}
	event := c.events[0]
	c.events[0] = Event{}
	c.events = c.events[1:]
	return event, true
}

// Next returns when there is one to record.
func (c recorder) Next(now time.Time) (time.Time, bool) { return now, len(c.events) > 0 }

// Finish takes that an Event was recorded, or was lost.
func (c recorder) Finish(time.Time, Event, struct{}) {}

// tellOnce records an Event about what is wrong with the spec of a set, unless it
// was recorded already.
func (c *Controller) tellOnce(r *record, reason string, problem error) {
	message := ""
	if problem != nil {
		message = "Stopped until the spec is corrected: " + strings.ReplaceAll(problem.Error(), "\n", "; ")
	}
	if message != "" && message != r.told {
		c.tell(Event{r.set.Source.Owner, corev1.EventTypeWarning, reason, message})
	}
	r.told = message
}

// podEvents returns the Events about a task that was performed.
func podEvents(owner ownership.Owner, task *rollout.Task, result *rollout.Result) []Event {
	switch {
	case result.Outcome == rollout.OutcomeNotNow: // it is tried again
		return nil
	case task.Create != nil:
		return creationEvents(owner, task.Create, result)
	case task.Delete != nil:
		return deletionEvents(owner, task.Delete, result)
	}
	return nil
}

func creationEvents(owner ownership.Owner, step *rollout.Creation, result *rollout.Result) []Event {
	switch {
	case result.Outcome == rollout.OutcomeDone && result.Pod != nil && result.Err == nil:
		return []Event{{owner, corev1.EventTypeNormal, reasonCreated, "Created pod: " + result.Pod.Name}}
	case result.Err == nil || apierrors.HasStatusCause(result.Err, corev1.NamespaceTerminatingCause):
		return nil
	}
	message := fmt.Sprintf("Error creating pod for node %s: %v", step.Node, result.Err)
	return []Event{{owner, corev1.EventTypeWarning, reasonNotCreated, message}}
}

func deletionEvents(owner ownership.Owner, step *rollout.Deletion, result *rollout.Result) []Event {
	var events []Event
	pod := owner.Object.GetNamespace() + "/" + step.Pod
	switch step.Reason {
	case rollout.StepPodFailed:
		message := fmt.Sprintf("Found failed daemon pod %s on node %s, it is replaced", pod, step.Node)
		events = append(events, Event{owner, corev1.EventTypeWarning, reasonPodFailed, message})
	case rollout.StepPodSucceeded:
		message := fmt.Sprintf("Found succeeded daemon pod %s on node %s, it is replaced", pod, step.Node)
		events = append(events, Event{owner, corev1.EventTypeNormal, reasonPodSucceeded, message})
	}
	switch {
	case result.Err != nil:
		message := fmt.Sprintf("Error deleting: %v", result.Err)
		events = append(events, Event{owner, corev1.EventTypeWarning, reasonNotDeleted, message})
	case result.Outcome == rollout.OutcomeDone:
		events = append(events, Event{owner, corev1.EventTypeNormal, reasonDeleted, "Deleted pod: " + step.Pod})
	}
	return events
}
