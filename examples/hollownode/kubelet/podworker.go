package kubelet

import (
	"time"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// Times between the syncs of a pod. Each but that of a change is lengthened by
// up to a half. Source: pkg/kubelet and pod_workers.go, v1.37.1.
const (
	resyncPeriod = time.Minute
	errorPeriod  = 10 * time.Second
	resyncJitter = 0.5
	// networkPeriod is how often a pod is synced that waits for a network.
	networkPeriod = time.Second
	// housekeepingPeriod is how long a pod that has gone stays known.
	housekeepingPeriod = 2 * time.Second
	// returnPause is how long a node that was silent waits before it compares the
	// statuses of its pods. What is restored before its heartbeat has arrived, the
	// node lifecycle controller overwrites again.
	returnPause = reconcilePeriod / 4
)

// move moves a pod to a later state, and acts on it.
func (f *Fleet) move(now time.Time, r *podRecord, state workerState) {
	if state <= r.state {
		return
	}
	r.state = state
	r.count()
	switch state {
	case workerTerminating:
		// A plan under way goes on. The kubelet cancels the sync of a pod that must
		// end, but the runtime's part has a context without that. Only waits for
		// volumes end. Source: SyncPod in kubelet.go, v1.37.1, see issue 113606.
		r.grace = effectiveGrace(0, r.pod, nil)
		if r.doing == activityMounting {
			r.doing = activityIdle
			f.queue.Remove(dueKey{pod: r.pod.UID, kind: dueVolumes})
		}
		f.requestSync(now, r)
	case workerFinished:
		f.clean(now, r)
		for _, kind := range []dueKind{dueSync, dueDeadline} {
			f.queue.Remove(dueKey{pod: r.pod.UID, kind: kind})
		}
		f.requestWrite(now, r)
		if r.api == apiGone {
			f.schedule(r, duePurge, now.Add(housekeepingPeriod))
			f.reconfigure(now, r)
		}
	default:
		r.publication.release()
		f.requestSync(now, r)
		f.requestWrite(now, r)
	}
}

// sync syncs a pod, unless a sync of it is under way. Then it is synced again
// after that.
func (f *Fleet) sync(now time.Time, r *podRecord) {
	if r.doing != activityIdle {
		r.again = true
		return
	}
	r.again = false
	if r.node.loop != loopRunning {
		// Only what needs no runtime is done: the first status of a new pod.
		if r.state == workerSyncing && r.publication.version == 0 {
			f.publish(now, r, r.status(now, false))
		}
		f.endSync(now, r, f.after(now, errorPeriod))
		return
	}
	f.observe(now, r)
	switch r.state {
	case workerSyncing:
		f.syncPod(now, r)
	case workerTerminating:
		f.syncTerminating(now, r)
	case workerTerminated:
		f.syncTerminated(now, r)
	}
}

// syncPod brings the containers of a pod to what they should be.
func (f *Fleet) syncPod(now time.Time, r *podRecord) {
	f.watchProbes(now, r)
	f.publish(now, r, r.status(now, false))
	if r.publication.isFinal() {
		f.tellEnd(r)
		f.move(now, r, workerTerminating)
		return
	}
	if r.node.networkDown && !r.pod.Spec.HostNetwork {
		f.tellNoNetwork(r)
		f.endSync(now, r, f.after(now, resyncPeriod))
		r.again = true // as soon as there is a network
		return
	}
	if !f.mounted(now, r) {
		return
	}
	view := r.view()
	actions := Decide(&view)
	steps, waits := view.plan(now, &actions, &r.backOffs)
	for _, w := range waits {
		r.wait(w)
	}
	f.tellPlan(r, &actions, steps, waits)
	if len(steps) == 0 {
		f.publish(now, r, r.status(now, false))
		f.endSync(now, r, f.nextAfter(now, waits))
		return
	}
	f.begin(now, r, steps)
}

// begin gives the runtime a plan.
func (f *Fleet) begin(now time.Time, r *podRecord, steps []cri.Step) {
	r.doing = activityRunning
	if r.state == workerTerminating {
		r.doing = activityStopping
	}
	f.config.Runtime.Begin(now, cri.Plan{
		Node: r.node.name, Pod: r.pod, Steps: steps, Notices: f.config.Record != nil,
	})
}

// busy reports whether a plan of a pod is under way. Then a report is that of a
// plan of a former life.
func (f *Fleet) busy(now time.Time, r *podRecord) bool {
	state, _ := f.config.Runtime.Pod(now, r.pod.UID)
	return state.Busy
}

// endPlan ends the sync whose plan has ended.
func (f *Fleet) endPlan(now time.Time, r *podRecord, report *cri.Report) {
	r.doing = activityIdle
	f.observe(now, r)
	failed := false
	for i := range report.Results {
		result := &report.Results[i]
		failed = failed || !result.Done
		if result.Step.Kind != cri.StepStart {
			continue
		}
		if result.Done {
			delete(r.waiting, result.Step.Container)
			continue
		}
		if report.Canceled && r.state == workerSyncing {
			continue // by the start of this kubelet, which knows of no failure
		}
		r.wait(Wait{Container: result.Step.Container, Reason: result.Reason, Message: result.Message})
		if result.Reason == cri.ReasonImagePull {
			r.backOffs.count(now, backOffKey{image: containerSpec(r.pod, result.Step.Container).Image}, now)
		}
	}
	switch {
	case report.Canceled, !failed:
		// The kubelet relists after a sync that did something, and syncs again.
		f.endSync(now, r, now)
	default:
		if r.state == workerSyncing {
			f.watchProbes(now, r)
			f.publish(now, r, r.status(now, false))
		}
		f.endSync(now, r, f.after(now, errorPeriod))
	}
}

// endSync schedules the next sync, or leaves one that was asked for meanwhile.
func (f *Fleet) endSync(now time.Time, r *podRecord, next time.Time) {
	if r.again {
		next = now
	}
	item, found := f.queue.Get(dueKey{pod: r.pod.UID, kind: dueSync})
	if !found || item.Due.IsZero() || next.Before(item.Due) {
		f.schedule(r, dueSync, next)
	}
	if r.state != workerSyncing {
		return
	}
	if at, ok := deadline(r.pod, r.publication.current(r.pod)); ok && at.After(now) {
		f.schedule(r, dueDeadline, at)
	}
}

// nextAfter returns when a pod is synced again that needed nothing. Containers
// that wait for a back-off make it sooner.
func (f *Fleet) nextAfter(now time.Time, waits []Wait) time.Time {
	if len(waits) == 0 {
		return f.after(now, resyncPeriod)
	}
	period := resyncPeriod
	for _, w := range waits {
		period = min(period, max(w.Until.Sub(now), 0))
	}
	return f.after(now, period)
}

// after returns a time after a period, which is lengthened by up to a half.
func (f *Fleet) after(now time.Time, period time.Duration) time.Time {
	if f.config.Rand != nil {
		period += time.Duration(resyncJitter * f.config.Rand() * float64(period))
	}
	return now.Add(period)
}

// wait records why a container is not started.
func (r *podRecord) wait(w Wait) {
	if r.waiting == nil {
		r.waiting = map[string]Wait{}
	}
	r.waiting[w.Container] = w
}

const (
	// volumeTimeout is how long a sync waits for volumes. Source:
	// podAttachAndMountTimeout in pkg/kubelet/volumemanager, v1.37.1.
	volumeTimeout = 2*time.Minute + 3*time.Second
	// longestMount bounds a time that is to last for ever.
	longestMount = 1000 * time.Hour
)

// mounted reports whether the volumes of a pod are there. If not, the sync
// waits for them.
func (f *Fleet) mounted(now time.Time, r *podRecord) bool {
	if r.volumes == volumesMounted {
		return true
	}
	script, _ := cri.ParseScript(r.pod, "")
	if !r.volumesReady(now, volumesMounting, script.MountFailures, script.MountTime) {
		f.await(now, r, activityMounting)
		return false
	}
	r.volumes = volumesMounted
	return true
}

// unmounted reports whether the volumes of a pod are gone. If not, the sync
// waits for that.
func (f *Fleet) unmounted(now time.Time, r *podRecord) bool {
	if r.volumes == volumesAbsent {
		return true
	}
	script, _ := cri.ParseScript(r.pod, "")
	if !r.volumesReady(now, volumesUnmounting, script.UnmountFailures, script.UnmountTime) {
		f.await(now, r, activityUnmounting)
		return false
	}
	r.volumes = volumesAbsent
	return true
}

// volumesReady reports whether volumes are mounted, or unmounted, given how
// many waits for that fail and how long it takes then. It goes on between two
// waits, as the volumes of a kubelet do.
func (r *podRecord) volumesReady(now time.Time, state volumeState, failures int, takes time.Duration) bool {
	if r.volumes != state {
		r.volumes, r.volumeFailures, r.volumesAt = state, 0, time.Time{}
	}
	if int(r.volumeFailures) < failures {
		return false
	}
	if r.volumesAt.IsZero() {
		r.volumesAt = now.Add(min(takes, longestMount))
	}
	return !now.Before(r.volumesAt)
}

// await makes the sync of a pod wait for its volumes, as long as a kubelet
// does.
func (f *Fleet) await(now time.Time, r *podRecord, doing activity) {
	ends := now.Add(volumeTimeout)
	if !r.volumesAt.IsZero() && r.volumesAt.Before(ends) {
		ends = r.volumesAt
	}
	r.doing = doing
	f.schedule(r, dueVolumes, ends)
}

// endWait ends a wait for volumes, and reports whether it was long enough. If
// not, the sync has failed.
func (f *Fleet) endWait(now time.Time, r *podRecord) bool {
	r.doing = activityIdle
	if r.volumesAt.IsZero() {
		r.volumeFailures++
	}
	return !r.volumesAt.IsZero() && !now.Before(r.volumesAt)
}
