package kubelet

import (
	"iter"
	"maps"
	"time"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// fullRelistPeriod is the least time between two full relists of a node. It is
// lengthened by up to a half.
const fullRelistPeriod = 5 * time.Minute

// lifecycleEvent is what a relist finds of a container or a sandbox: it has
// started, died, changed to an unknown state, or is gone.
type lifecycleEvent string

const (
	eventStarted lifecycleEvent = "ContainerStarted"
	eventDied    lifecycleEvent = "ContainerDied"
	eventChanged lifecycleEvent = "ContainerChanged"
	eventRemoved lifecycleEvent = "ContainerRemoved"
)

// syncs reports whether a pod is synced for the event. The kubelet ignores that
// a container is gone, and does not trust a state that it cannot tell.
func (e lifecycleEvent) syncs() bool { return e == eventStarted || e == eventDied }

// compare returns what has happened to the containers and sandboxes of a pod
// between two relists.
func compare(old, observed *cri.Pod) []lifecycleEvent {
	var events []lifecycleEvent
	before := maps.Collect(relisted(old))
	for id, now := range relisted(observed) {
		was, found := before[id]
		delete(before, id)
		if found && was == now {
			continue
		}
		switch now {
		case cri.StateRunning:
			events = append(events, eventStarted)
		case cri.StateExited:
			events = append(events, eventDied)
		default:
			events = append(events, eventChanged)
		}
	}
	for id, was := range relisted(old) {
		if _, gone := before[id]; !gone {
			continue
		}
		if was != cri.StateExited {
			events = append(events, eventDied)
		}
		events = append(events, eventRemoved)
	}
	return events
}

// relisted yields the IDs and states that a relist compares. A sandbox runs
// when it is ready. A container that was only created counts as unknown.
func relisted(pod *cri.Pod) iter.Seq2[string, cri.State] {
	return func(yield func(string, cri.State) bool) {
		for i := range pod.Sandboxes {
			state := cri.StateExited
			if pod.Sandboxes[i].Ready {
				state = cri.StateRunning
			}
			if !yield(pod.Sandboxes[i].ID, state) {
				return
			}
		}
		for i := range pod.Containers {
			state := pod.Containers[i].State
			if state != cri.StateRunning && state != cri.StateExited {
				state = cri.StateUnknown
			}
			if !yield(pod.Containers[i].ID, state) {
				return
			}
		}
	}
}
