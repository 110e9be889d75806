package kubelet

import (
	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// lifecycleEvent is what a relist finds of a container: it has started, died,
// changed to an unknown state, or is gone.
type lifecycleEvent string

const (
	eventStarted lifecycleEvent = "ContainerStarted"
	eventDied    lifecycleEvent = "ContainerDied"
	eventChanged lifecycleEvent = "ContainerChanged"
	eventRemoved lifecycleEvent = "ContainerRemoved"
)

// syncs reports whether a pod is synced for the event. Its removal of a
// container is no news to the kubelet.
func (e lifecycleEvent) syncs() bool { return e != eventRemoved }

// compare returns what has happened to the containers of a pod between two
// relists.
func compare(old, observed *cri.Pod) []lifecycleEvent {
	var events []lifecycleEvent
	before := make(map[string]cri.State, len(old.Containers))
	for i := range old.Containers {
		before[old.Containers[i].ID] = relistState(old.Containers[i].State)
	}
	for i := range observed.Containers {
		c := &observed.Containers[i]
		was, found := before[c.ID]
		delete(before, c.ID)
		now := relistState(c.State)
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
	for i := range old.Containers {
		was, gone := before[old.Containers[i].ID]
		if !gone {
			continue
		}
		if was != cri.StateExited {
			events = append(events, eventDied)
		}
		events = append(events, eventRemoved)
	}
	return events
}

// relistState returns a state as a relist compares it. A container that was
// only created counts as unknown.
func relistState(s cri.State) cri.State {
	if s == cri.StateRunning || s == cri.StateExited {
		return s
	}
	return cri.StateUnknown
}
