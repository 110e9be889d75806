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

// observe relists a pod, and returns what has happened to its containers. It is
// nothing while the runtime does not answer.
func (f *Fleet) observe(now time.Time, r *podRecord) []lifecycleEvent {
	if r.node.loop != loopRunning {
		return nil
	}
	observed, _ := f.config.Runtime.Pod(now, r.pod.UID)
	events := compare(&r.observed, &observed)
	r.observed = observed
	return events
}

// runtimeEvent takes an event of the runtime. A change makes a relist of the
// pod.
func (f *Fleet) runtimeEvent(now time.Time, event cri.Event) {
	r, known := f.pods[event.Pod]
	switch {
	case !known || r.former():
		return
	case r.node.loop != loopRunning:
		if event.Ended != nil {
			r.report = event.Ended
		}
		return
	case event.Notice != nil:
		f.tellNotice(r, event.Notice)
		return
	}
	if event.Ended != nil && r.doing.plans() && !f.busy(now, r) {
		f.endPlan(now, r, event.Ended)
		return
	}
	events := f.observe(now, r)
	if r.state == workerSyncing {
		f.watchProbes(now, r)
	}
	for _, e := range events {
		if e.syncs() {
			f.requestSync(now, r)
			return
		}
	}
}

// relistAll finds what the runtime of a node should have told and did not. That
// is the end of a plan, a change of a container, or a pod. Nothing that it has
// told waits to be taken now.
func (f *Fleet) relistAll(now time.Time, n *nodeRecord) {
	if n.node == nil {
		return // the next one of its name is relisted from its start on
	}
	f.scheduleNode(n, dueRelist, f.after(now, fullRelistPeriod))
	if n.loop != loopRunning || !f.synced {
		return // the round that comes then relists
	}
	for _, r := range n.pods {
		if r.doing.plans() && !r.former() && r.report == nil && !f.busy(now, r) {
			f.endPlan(now, r, &cri.Report{Node: n.name, Pod: r.pod.UID, Canceled: true})
		}
	}
	f.beginRound(now, n)
}

// adoptOrphans ends the pods of a node that only its runtime has.
func (f *Fleet) adoptOrphans(now time.Time, n *nodeRecord) {
	for _, uid := range f.config.Runtime.Pods(now, n.name) {
		if _, known := f.pods[uid]; known {
			continue
		}
		state, _ := f.config.Runtime.Pod(now, uid)
		r := &podRecord{node: n, pod: orphan(n, uid), api: apiGone, life: n.life, observed: state}
		if state.Busy {
			r.doing = activityRunning
		}
		f.pods[uid] = r
		n.insert(r)
		f.move(now, r, workerTerminating)
	}
}

// inherit takes over what a former process has left of a new pod.
func (f *Fleet) inherit(now time.Time, r *podRecord) {
	f.observe(now, r)
	if r.observed.SandboxReady() {
		// A former process has mounted its volumes.
		r.volumes = volumesMounted
	}
	if r.observed.Busy {
		// A former process began a plan. Its end comes as an event.
		r.doing = activityRunning
		f.config.Runtime.Cancel(now, r.pod.UID)
	}
}
