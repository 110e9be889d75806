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

// pleg is the generator of the lifecycle events of a node's pods.
type pleg struct {
	node *kubelet
	// lastRelist is the last relist of all pods, when the runtime does not answer.
	lastRelist time.Time
}

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

// relist finds what the runtime of a node should have told and did not. That
// is the end of a plan, a change of a container, or a pod. Nothing that it has
// told waits to be taken now.
func (p *pleg) relist(now time.Time) {
	if p.node.object == nil {
		return // the next one of its name is relisted from its start on
	}
	p.node.schedule(dueRelist, p.node.fleet.after(now, fullRelistPeriod))
	if p.node.runtime.loop != loopRunning || !p.node.fleet.synced {
		return // the round that comes then relists
	}
	for _, w := range p.node.syncLoop.pods {
		if w.doing.plans() && !w.former() && w.report == nil && !w.busy(now) {
			w.endPlan(now, &cri.Report{Node: p.node.name, Pod: w.pod.UID, Canceled: true})
		}
	}
	p.node.housekeeping.begin(now)
}

// inherit takes over what a former process has left of a new pod.
func (p *pleg) inherit(now time.Time, w *podWorker) {
	w.observe(now)
	if w.observed.SandboxReady() {
		// A former process has mounted its volumes.
		w.volumes.state = volumesMounted
	}
	if w.observed.Busy {
		// A former process began a plan. Its end comes as an event.
		w.doing = activityRunning
		p.node.fleet.config.Runtime.Cancel(now, w.pod.UID)
	}
}

// take takes an event of the runtime. A change makes a relist of the
// pod.
func (p *pleg) take(now time.Time, w *podWorker, event cri.Event) {
	switch {
	case w.former():
		return
	case p.node.runtime.loop != loopRunning:
		if event.Ended != nil {
			w.report = event.Ended
		}
		return
	case event.Notice != nil:
		p.node.fleet.recorder.tellNotice(w, event.Notice)
		return
	}
	if event.Ended != nil && w.doing.plans() && !w.busy(now) {
		w.endPlan(now, event.Ended)
		return
	}
	events := w.observe(now)
	if w.state == workerSyncing {
		w.prober.watch(now)
	}
	for _, e := range events {
		if e.syncs() {
			w.requestSync(now)
			return
		}
	}
}
