package kubelet

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

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

// admit decides whether a node takes a new pod.
func (f *Fleet) admit(now time.Time, r *podRecord) {
	r.startup = newStartup(r.pod)
	if !isStatic(r.pod) {
		r.seen = f.age(now) // a static pod was seen when it was configured
	}
	f.inherit(now, r)
	if isTerminal(r.pod.Status.Phase) && len(r.observed.Containers) == 0 && !r.observed.Busy {
		// It ended before a restart of this process. If another client has made its
		// phase final, the ends of its containers may never have been written.
		r.publication.adopt(r.pod)
		if showsRunning(&r.pod.Status) {
			status := r.status(now, true)
			f.publish(now, r, finalStatus(now, r.pod, &status))
		}
		f.move(now, r, workerFinished)
		return
	}
	if r.pod.DeletionTimestamp != nil || isTerminal(r.pod.Status.Phase) {
		f.move(now, r, workerTerminating)
		return
	}
	rejection := admitUnderPressure(r.node.faults, r.pod)
	if rejection.Reason == "" {
		rejection = admit(r.node.node, r.pod, &r.node.used)
	}
	if rejection.Reason != "" {
		f.tellRejection(r, rejection)
		status := rejected(now, r.pod, rejection)
		if len(r.observed.Containers) > 0 || r.observed.Busy {
			// It was taken before a restart of this process.
			f.adoptRunning(r)
			f.publish(now, r, status)
			f.move(now, r, workerTerminating)
			return
		}
		r.basis = basisNone
		f.publish(now, r, finalStatus(now, r.pod, &status))
		f.move(now, r, workerFinished)
		return
	}
	f.move(now, r, workerSyncing)
}

// update takes a change of a pod. Its own status, which comes back, is no
// reason to sync it.
func (f *Fleet) update(now time.Time, r *podRecord, old *corev1.Pod) {
	f.measure(now, r)
	same := sameSpec(old, r.pod)
	if same && r.counted == old {
		r.counted = r.pod // takes the same room, and the former one can go
	}
	switch r.state {
	case workerNew:
		return
	case workerSyncing:
		if r.pod.DeletionTimestamp != nil || isTerminal(r.pod.Status.Phase) {
			f.move(now, r, workerTerminating)
			return
		}
	case workerTerminating:
		if grace := effectiveGrace(r.grace, r.pod, nil); grace < r.grace {
			r.grace = grace
			if r.doing == activityStopping {
				f.config.Runtime.Cancel(now, r.pod.UID)
			}
		}
	}
	if !same || needsSync(old, r.pod) {
		f.requestSync(now, r)
	}
	f.requestWrite(now, r)
	if !r.publication.arrived(r.pod, r.mayRun()) {
		f.schedule(r, dueReconcile, r.node.nextCompare(now))
		return
	}
	f.clean(now, r)
}

// clean has the runtime forget a pod that has ended, when the API shows its end
// or has no such pod. A kubelet that restarts before that learns it from the
// runtime, or the pod would run again. The API can lose the mirror of a static
// pod, so the runtime keeps that pod as long as its manifest is there.
func (f *Fleet) clean(now time.Time, r *podRecord) {
	if r.state == workerFinished && (r.api == apiGone || !isStatic(r.pod) && r.publication.shows(r.pod)) {
		f.config.Runtime.Remove(now, r.pod.UID)
	}
}

// sameSpec reports whether two objects of a pod have the same spec. Each change
// of a spec changes the generation, so most need no comparison.
func sameSpec(a, b *corev1.Pod) bool {
	return a.Generation > 0 && a.Generation == b.Generation || equality.Semantic.DeepEqual(&a.Spec, &b.Spec)
}

// needsSync reports whether a pod has changed in what a sync reads besides its
// spec. Conditions matter to readiness gates.
func needsSync(old, pod *corev1.Pod) bool {
	return !maps.Equal(old.Labels, pod.Labels) || !maps.Equal(old.Annotations, pod.Annotations) ||
		!old.DeletionTimestamp.Equal(pod.DeletionTimestamp) ||
		!ptr.Equal(old.DeletionGracePeriodSeconds, pod.DeletionGracePeriodSeconds) ||
		len(pod.Spec.ReadinessGates) > 0 &&
			!equality.Semantic.DeepEqual(old.Status.Conditions, pod.Status.Conditions)
}

// remove takes the end of a pod in the API.
func (f *Fleet) remove(now time.Time, r *podRecord) {
	r.leave(apiGone)
	if r.former() || !r.heeds() {
		return
	}
	r.orphan = true
	switch r.state {
	case workerNew:
		if r.node.node != nil {
			f.inherit(now, r)
		}
		if len(r.observed.Containers) > 0 || r.observed.Busy {
			f.adoptRunning(r)
			f.move(now, r, workerTerminating)
			return
		}
		r.basis = basisNone
		f.move(now, r, workerFinished)
	case workerSyncing:
		f.move(now, r, workerTerminating)
	case workerFinished:
		f.clean(now, r)
		f.schedule(r, duePurge, now.Add(housekeepingPeriod))
	}
}

// reconfigure has a node configured again after the end of a static pod. Then
// its mirror goes, or one of its name or UID starts.
func (f *Fleet) reconfigure(now time.Time, r *podRecord) {
	if isStatic(r.pod) {
		f.beginRound(now, r.node)
	}
}

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
		r.publication.release(f.age(now))
		f.requestSync(now, r)
		f.requestWrite(now, r)
	}
}

// purge forgets a pod.
func (f *Fleet) purge(now time.Time, r *podRecord) {
	f.dropWork(r)
	delete(f.pods, r.pod.UID)
	n := r.node
	if i := slices.Index(n.pods, r); i >= 0 {
		n.pods = slices.Delete(n.pods, i, i+1)
		if i < n.visited {
			n.visited--
		}
	}
	f.reconfigure(now, r)
	if n.node == nil && n.visited == noRound {
		f.dropNode(n)
	}
}

// dropWork makes nothing of a pod due any more.
func (f *Fleet) dropWork(r *podRecord) {
	for kind := range dueProbe {
		f.queue.Remove(dueKey{pod: r.pod.UID, kind: kind})
	}
	for key := range r.probes {
		f.queue.Remove(dueKey{pod: r.pod.UID, kind: dueProbe, probe: key})
	}
}

// dropNode forgets a node that is not observed, when it has no pods and is not
// to register.
func (f *Fleet) dropNode(n *nodeRecord) {
	if len(n.pods)+len(n.mirrors) == 0 && n.unregistered == nil {
		f.queue.Remove(dueKey{node: n.name, kind: dueRelist})
		delete(f.nodes, n.name)
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

// syncTerminating stops the containers of a pod.
func (f *Fleet) syncTerminating(now time.Time, r *podRecord) {
	f.watchProbes(now, r)
	f.publish(now, r, r.status(now, false))
	var steps []cri.Step
	if stops := stopAll(r.pod, &r.observed, time.Duration(r.grace)*time.Second); len(stops) > 0 {
		f.tellStops(r, stops, nil)
		steps = append(steps, cri.Step{Kind: cri.StepStop, Stops: stops})
	}
	if r.observed.SandboxReady() {
		steps = append(steps, cri.Step{Kind: cri.StepStopSandboxes})
	}
	if len(steps) > 0 {
		f.begin(now, r, steps)
		return
	}
	f.publish(now, r, r.status(now, true))
	f.move(now, r, workerTerminated)
}

// syncTerminated waits until the volumes of a pod are gone, and ends it.
func (f *Fleet) syncTerminated(now time.Time, r *podRecord) {
	if !f.unmounted(now, r) {
		return
	}
	f.publish(now, r, finalStatus(now, r.pod, r.publication.current(r.pod)))
	f.move(now, r, workerFinished)
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
		if result.Step.Kind == cri.StepCreateSandbox && !result.Done && !report.Canceled &&
			r.state == workerSyncing {
			f.totals.sandboxErrors++
		}
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
