package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"

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
)

// workerState is the life of a pod on a node:
//
//	new ──admitted──► syncing ──► terminating ──► terminated ──► finished
//	 └────rejected, or it needs no containers──────────────────────▲
//
// A pod that is deleted, has run out of time, or has a final phase terminates.
// It is terminating until its containers have exited, and terminated until its
// volumes are gone. It never goes back. Only podWorker.move writes it.
type workerState uint8

const (
	workerNew workerState = iota
	workerSyncing
	workerTerminating
	workerTerminated
	workerFinished
)

// String returns the name of the state.
func (s workerState) String() string {
	return [...]string{"new", "syncing", "terminating", "terminated", "finished"}[s]
}

// activity is what the sync of a pod waits for. A pod is synced only when idle,
// so no two of its syncs overlap.
type activity uint8

const (
	activityIdle activity = iota
	// activityMounting and activityUnmounting wait for volumes.
	activityMounting
	activityUnmounting
	// activityRunning waits for a plan of the runtime, and activityStopping for
	// one that ends the pod.
	activityRunning
	activityStopping
)

// plans reports whether a plan of the runtime is under way.
func (a activity) plans() bool { return a == activityRunning || a == activityStopping }

// String returns the name of the activity.
func (a activity) String() string {
	return [...]string{"idle", "mounting", "unmounting", "running", "stopping"}[a]
}

// apiState is what the source of a pod has of it, which is the API server:
//
//	present ──final deletion accepted──► deleted ──► gone
//	   └─────────removed by another client────────────▲
//
// A pod of which the API server has nothing is not written. That of a static
// pod is the fleet's configuration, from which it is present or gone. Only
// podWorker.leave writes it.
type apiState uint8

const (
	apiPresent apiState = iota
	apiDeleted
	apiGone
)

// String returns the name of the state.
func (s apiState) String() string { return [...]string{"present", "deleted", "gone"}[s] }

// podWorker is what a node knows of a pod, and brings it to what it should be.
type podWorker struct {
	node *kubelet
	pod  *corev1.Pod // the latest update wins
	// unseen is an update that came while the loop was stopped, or nil.
	unseen *corev1.Pod
	state  workerState
	doing  activity
	// again asks for one more sync when the present one has ended.
	again bool
	api   apiState
	// life is that of its node in which it became known.
	life uint64

	observed cri.Pod
	// report is one that the runtime could not deliver, or nil.
	report   *cri.Report
	backOffs backOffs
	waiting  map[string]Wait

	// counted is the object by which it takes room on its node; nil is none.
	counted *corev1.Pod

	volumes     volumes
	prober      prober
	publication publication
	termination termination
}

// newPodWorker returns the worker of a pod that its node does not know yet.
func newPodWorker(k *kubelet, pod *corev1.Pod) *podWorker {
	w := &podWorker{node: k, pod: pod}
	w.reset()
	return w
}

// reset makes a worker forget all that its node knew of the pod in a former
// life. What the API has of the pod stays.
func (w *podWorker) reset() {
	*w = podWorker{
		node: w.node, pod: w.pod, api: w.api, life: w.node.life,
		prober: prober{worker: w}, publication: publication{worker: w},
		termination: termination{worker: w, back: w.termination.back},
	}
}

// move moves a pod to a later state, and acts on it.
func (w *podWorker) move(now time.Time, state workerState) {
	if state <= w.state {
		return
	}
	w.state = state
	w.count()
	switch state {
	case workerTerminating:
		// A plan under way goes on. The kubelet cancels the sync of a pod that must
		// end, but the runtime's part has a context without that. Only waits for
		// volumes end. Source: SyncPod in kubelet.go, v1.37.1, see issue 113606.
		w.termination.grace = effectiveGrace(0, w.pod, nil)
		if w.doing == activityMounting {
			w.doing = activityIdle
			w.node.fleet.queue.Remove(dueKey{pod: w.pod.UID, kind: dueVolumes})
		}
		w.requestSync(now)
	case workerFinished:
		w.termination.clean(now)
		for _, kind := range []dueKind{dueSync, dueDeadline} {
			w.node.fleet.queue.Remove(dueKey{pod: w.pod.UID, kind: kind})
		}
		w.publication.request(now)
		if w.api == apiGone {
			w.schedule(duePurge, now.Add(housekeepingPeriod))
			w.node.configuration.reconfigure(now, w)
		}
	default:
		w.publication.release()
		w.requestSync(now)
		w.publication.request(now)
	}
}

// sync syncs a pod, unless a sync of it is under way. Then it is synced again
// after that.
func (w *podWorker) sync(now time.Time) {
	if w.doing != activityIdle {
		w.again = true
		return
	}
	w.again = false
	if w.node.runtime.loop != loopRunning {
		// Only what needs no runtime is done: the first status of a new pod.
		if w.state == workerSyncing && w.publication.version == 0 {
			w.publish(now, w.status(now, false))
		}
		w.endSync(now, w.node.fleet.after(now, errorPeriod))
		return
	}
	w.observe(now)
	switch w.state {
	case workerSyncing:
		w.syncPod(now)
	case workerTerminating:
		w.termination.stop(now)
	case workerTerminated:
		w.termination.finish(now)
	}
}

// syncPod brings the containers of a pod to what they should be.
func (w *podWorker) syncPod(now time.Time) {
	w.prober.watch(now)
	w.publish(now, w.status(now, false))
	if w.publication.isFinal() {
		w.node.fleet.recorder.tellEnd(w)
		w.move(now, workerTerminating)
		return
	}
	if w.node.runtime.networkDown && !w.pod.Spec.HostNetwork {
		w.node.fleet.recorder.tellNoNetwork(w)
		w.endSync(now, w.node.fleet.after(now, resyncPeriod))
		w.again = true // as soon as there is a network
		return
	}
	if !w.mounted(now) {
		return
	}
	view := w.view()
	actions := Decide(&view)
	steps, waits := view.plan(now, &actions, &w.backOffs)
	for _, wait := range waits {
		w.wait(wait)
	}
	w.node.fleet.recorder.tellPlan(w, &actions, steps, waits)
	if len(steps) == 0 {
		w.publish(now, w.status(now, false))
		w.endSync(now, w.nextAfter(now, waits))
		return
	}
	w.begin(now, steps)
}

// begin gives the runtime a plan.
func (w *podWorker) begin(now time.Time, steps []cri.Step) {
	w.doing = activityRunning
	if w.state == workerTerminating {
		w.doing = activityStopping
	}
	w.node.fleet.config.Runtime.Begin(now, cri.Plan{
		Node: w.node.name, Pod: w.pod, Steps: steps, Notices: w.node.fleet.config.Record != nil,
	})
}

// busy reports whether a plan of a pod is under way. Then a report is that of a
// plan of a former life.
func (w *podWorker) busy(now time.Time) bool {
	state, _ := w.node.fleet.config.Runtime.Pod(now, w.pod.UID)
	return state.Busy
}

// endPlan ends the sync whose plan has ended.
func (w *podWorker) endPlan(now time.Time, report *cri.Report) {
	w.doing = activityIdle
	w.observe(now)
	failed := false
	for i := range report.Results {
		result := &report.Results[i]
		failed = failed || !result.Done
		if result.Step.Kind != cri.StepStart {
			continue
		}
		if result.Done {
			delete(w.waiting, result.Step.Container)
			continue
		}
		if report.Canceled && w.state == workerSyncing {
			continue // by the start of this kubelet, which knows of no failure
		}
		w.wait(Wait{Container: result.Step.Container, Reason: result.Reason, Message: result.Message})
		if result.Reason == cri.ReasonImagePull {
			w.backOffs.count(now, backOffKey{image: containerSpec(w.pod, result.Step.Container).Image}, now)
		}
	}
	switch {
	case report.Canceled, !failed:
		// The kubelet relists after a sync that did something, and syncs again.
		w.endSync(now, now)
	default:
		if w.state == workerSyncing {
			w.prober.watch(now)
			w.publish(now, w.status(now, false))
		}
		w.endSync(now, w.node.fleet.after(now, errorPeriod))
	}
}

// endSync schedules the next sync, or leaves one that was asked for meanwhile.
func (w *podWorker) endSync(now time.Time, next time.Time) {
	if w.again {
		next = now
	}
	item, found := w.node.fleet.queue.Get(dueKey{pod: w.pod.UID, kind: dueSync})
	if !found || item.Due.IsZero() || next.Before(item.Due) {
		w.schedule(dueSync, next)
	}
	if w.state != workerSyncing {
		return
	}
	if at, ok := deadline(w.pod, w.publication.current(w.pod)); ok && at.After(now) {
		w.schedule(dueDeadline, at)
	}
}

// nextAfter returns when a pod is synced again that needed nothing. Containers
// that wait for a back-off make it sooner.
func (w *podWorker) nextAfter(now time.Time, waits []Wait) time.Time {
	if len(waits) == 0 {
		return w.node.fleet.after(now, resyncPeriod)
	}
	period := resyncPeriod
	for _, wait := range waits {
		period = min(period, max(wait.Until.Sub(now), 0))
	}
	return w.node.fleet.after(now, period)
}

// wait records why a container is not started.
func (w *podWorker) wait(wait Wait) {
	if w.waiting == nil {
		w.waiting = map[string]Wait{}
	}
	w.waiting[wait.Container] = wait
}

// observe relists a pod, and returns what has happened to its containers. It is
// nothing while the runtime does not answer.
func (w *podWorker) observe(now time.Time) []lifecycleEvent {
	if w.node.runtime.loop != loopRunning {
		return nil
	}
	observed, _ := w.node.fleet.config.Runtime.Pod(now, w.pod.UID)
	events := compare(&w.observed, &observed)
	w.observed = observed
	return events
}

// publish replaces the status of a pod.
func (w *podWorker) publish(now time.Time, status corev1.PodStatus) {
	if w.publication.set(w.pod, status) {
		w.publication.request(now)
	}
}

// requestSync has a pod synced now, unless it has finished.
func (w *podWorker) requestSync(now time.Time) {
	if w.state != workerFinished {
		w.schedule(dueSync, now)
	}
}

// schedule makes something of a pod due.
func (w *podWorker) schedule(kind dueKind, due time.Time) {
	w.scheduleKey(dueKey{pod: w.pod.UID, kind: kind}, due)
}

// scheduleKey makes what a key identifies due.
func (w *podWorker) scheduleKey(key dueKey, due time.Time) {
	w.node.fleet.queue.Set(key, w, due)
}

// dropWork makes nothing of a pod due any more.
func (w *podWorker) dropWork() {
	for kind := range dueProbe {
		w.node.fleet.queue.Remove(dueKey{pod: w.pod.UID, kind: kind})
	}
	for key := range w.prober.results {
		w.node.fleet.queue.Remove(dueKey{pod: w.pod.UID, kind: dueProbe, probe: key})
	}
}

// see takes an update that has waited, and reports whether there was one.
func (w *podWorker) see() bool {
	if w.unseen == nil {
		return false
	}
	w.pod, w.unseen = w.unseen, nil
	return true
}

// leave moves a pod to a later state in the API.
func (w *podWorker) leave(state apiState) { w.api = max(w.api, state) }

// former reports whether a record is of a former life of its kubelet. Nothing
// of it counts any more, and the node's round rebuilds it.
func (w *podWorker) former() bool { return w.life != w.node.life }

// hears reports whether what is wanted of a pod reaches its node. Static pods
// need no API server.
func (w *podWorker) hears() bool { return isStatic(w.pod) || w.node.hears() }

// heeds reports whether its node acts on what is wanted of a pod.
func (w *podWorker) heeds() bool { return w.hears() && w.node.runtime.loop != loopStopped }

// shown returns the object by which the API shows a pod, or nil. A static pod
// has its mirror.
func (w *podWorker) shown() *corev1.Pod {
	if isStatic(w.pod) {
		return w.node.mirrorPods.byName[nameOf(w.pod)].of(w.pod, w.node.object)
	}
	return w.pod
}

// count makes a pod take room on its node from its admission until its
// containers have exited.
func (w *podWorker) count() {
	switch counts := w.state == workerSyncing || w.state == workerTerminating; {
	case counts && w.counted == nil:
		w.counted = w.pod
		w.node.used.add(w.counted)
	case !counts && w.counted != nil:
		w.node.used.remove(w.counted)
		w.counted = nil
	}
}

// mayRun reports whether containers of the pod run, or a plan under way may
// start some. While the runtime does not answer they may run.
func (w *podWorker) mayRun() bool {
	return w.state < workerTerminated &&
		(w.doing.plans() || w.node.runtime.loop != loopRunning || w.observed.Running())
}

// view returns what a sync sees of the pod.
func (w *podWorker) view() View {
	v := View{Pod: w.pod, Observed: &w.observed, Probes: make(Probes, len(w.prober.results))}
	v.last = w.publication.current(w.pod)
	for key, p := range w.prober.results {
		v.Probes[key] = p.result
	}
	return v
}

// status generates the status of the pod.
func (w *podWorker) status(now time.Time, terminal bool) corev1.PodStatus {
	v := statusView{
		View: w.view(), old: w.publication.current(w.pod), waiting: w.waiting, terminal: terminal,
		hostIP: w.node.nodeStatus.ip(),
	}
	return v.generate(now)
}

// mounted reports whether the volumes of a pod are there. If not, the sync
// waits for them.
func (w *podWorker) mounted(now time.Time) bool {
	if w.volumes.state == volumesMounted {
		return true
	}
	script, _ := cri.ParseScript(w.pod, "")
	if !w.volumes.reached(now, volumesMounting, script.MountFailures, script.MountTime) {
		w.await(now, activityMounting)
		return false
	}
	w.volumes.state = volumesMounted
	return true
}

// unmounted reports whether the volumes of a pod are gone. If not, the sync
// waits for that.
func (w *podWorker) unmounted(now time.Time) bool {
	if w.volumes.state == volumesAbsent {
		return true
	}
	script, _ := cri.ParseScript(w.pod, "")
	if !w.volumes.reached(now, volumesUnmounting, script.UnmountFailures, script.UnmountTime) {
		w.await(now, activityUnmounting)
		return false
	}
	w.volumes.state = volumesAbsent
	return true
}

// await makes the sync of a pod wait for its volumes.
func (w *podWorker) await(now time.Time, doing activity) {
	w.doing = doing
	w.schedule(dueVolumes, w.volumes.waitUntil(now))
}

// endWait ends a wait for volumes, and reports whether it was long enough.
func (w *podWorker) endWait(now time.Time) bool {
	w.doing = activityIdle
	return w.volumes.endWait(now)
}
