package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// NewFleet returns a fleet without nodes.
func NewFleet(config FleetConfig, now time.Time) (*Fleet, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	queue, err := timedqueue.NewQueue(timedqueue.QueueConfig[dueKey, *podRecord]{Backoff: config.Backoff}, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	config.Capacity = completed(config.Capacity, defaultCapacity())
	manifests, err := newManifests(config.StaticPods)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	return &Fleet{
		config: config, queue: queue, nodes: map[string]*nodeRecord{}, pods: map[types.UID]*podRecord{},
		manifests: manifests, manifestVersion: 1, mirrors: map[types.UID]*corev1.Pod{},
		made: now, totals: newTotals(),
	}, nil
}

// SetStaticPods replaces the static pods of all nodes. Those that are no longer
// among them end, and one that has changed is replaced. When it returns an
// error nothing has changed. O(nodes).
func (f *Fleet) SetStaticPods(now time.Time, pods []*corev1.Pod) error {
	manifests, err := newManifests(pods)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	now = f.queue.Advance(now)
	if slices.EqualFunc(manifests, f.manifests, func(a, b manifest) bool { return a.text == b.text }) {
		return nil
	}
	f.manifests = manifests
	f.manifestVersion++
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		f.beginRound(now, f.nodes[name])
	}
	return nil
}

// ObserveNode adds a node or replaces its object. Pods that came before their
// node are admitted now.
func (f *Fleet) ObserveNode(now time.Time, node *corev1.Node) {
	now = f.queue.Advance(now)
	n := f.node(now, node.Name)
	known, before := n.node != nil, n.node
	n.node = node
	if known {
		f.tellChange(n, before)
	} else {
		if n.registered = n.unregistered != nil; n.registered {
			n.unregistered = nil
			f.unregistered--
		}
		f.started(now, n)
		f.beginRound(now, n)
	}
}

// ForgetNode removes a node whose machine is gone, with all that ran on it.
// Nothing is written of its pods. They wait for a node of that name, until they
// are forgotten themselves.
func (f *Fleet) ForgetNode(now time.Time, name string) {
	now = f.queue.Advance(now)
	f.config.Runtime.RemoveNode(now, name)
	if n, known := f.nodes[name]; known {
		n.node, n.faults, n.bootID = nil, Faults{}, ""
		n.static, n.configured = nil, 0
		for _, r := range n.pods {
			if isStatic(r.pod) {
				r.leave(apiGone)
			}
		}
		f.beginLife(now, n)
	}
}

// RestartNode restarts the kubelet of a node. Containers go on. What the
// kubelet knows is rebuilt from them and from the statuses of the pods.
func (f *Fleet) RestartNode(now time.Time, name string) {
	now = f.queue.Advance(now)
	if n, known := f.nodes[name]; known && n.node != nil {
		f.beginLife(now, n)
	}
}

// RebootNode reboots the machine of a node, which ends all its containers, and
// restarts its kubelet.
func (f *Fleet) RebootNode(now time.Time, name string) {
	now = f.queue.Advance(now)
	if n, known := f.nodes[name]; known && n.node != nil {
		f.reboot(now, n, identity("boot", name, now.String()))
	}
}

// SetFaults makes the faults of a node hold from now on. Those of an unknown
// node are ignored. A machine that has reported another boot reboots.
func (f *Fleet) SetFaults(now time.Time, name string, faults Faults) {
	now = f.queue.Advance(now)
	if n, known := f.nodes[name]; known && n.node != nil {
		if n.faults.APILatency != faults.APILatency {
			f.queue.Reschedule(dueKey{node: name, kind: dueList}, now.Add(faults.APILatency))
		}
		f.setFaults(now, n, faults)
	}
}

// ObservePod adds a pod that is bound to a node, or replaces its object. The
// latest update wins. A mirror pod shows the static pod of its name, and is
// deleted if there is none.
func (f *Fleet) ObservePod(now time.Time, pod *corev1.Pod) {
	now = f.queue.Advance(now)
	if isMirror(pod) {
		f.observeMirror(now, pod)
		return
	}
	pod = fromAPI(pod)
	r, known := f.pods[pod.UID]
	if !known {
		f.add(now, pod)
		return
	}
	switch {
	case r.api == apiGone:
		r.back = pod
		return
	case r.former() || !r.node.heeds():
		r.unseen = pod
		return
	}
	old := r.pod
	r.pod, r.unseen = pod, nil // an older update may still wait for the round
	f.update(now, r, old)
}

// HasPod reports whether a pod is known: it has been observed, or only the
// runtime has it.
func (f *Fleet) HasPod(uid types.UID) bool { return f.pods[uid] != nil || f.mirrors[uid] != nil }

// ForgetPod removes a pod that the API server no longer has. Its containers
// end. Before MarkSynced the removal waits.
func (f *Fleet) ForgetPod(now time.Time, uid types.UID) {
	now = f.queue.Advance(now)
	r, known := f.pods[uid]
	switch {
	case f.forgetMirror(now, uid) || !known:
	case !f.synced:
		f.removals = append(f.removals, uid)
	default:
		r.back = nil
		f.remove(now, r)
	}
}

// MarkSynced tells that all pods have been observed. From then on static pods
// start, and pods that only the runtime has are ended.
func (f *Fleet) MarkSynced(now time.Time) {
	f.queue.Advance(now)
	f.synced = true
}

// Halt holds the final deletions of pods and those of mirror pods, until
// Resume. All else goes on.
func (f *Fleet) Halt(now time.Time) {
	f.queue.Advance(now)
	f.halted = true
}

// Resume lets what Halt has held go on. O(pods log pods).
func (f *Fleet) Resume(now time.Time) {
	now = f.queue.Advance(now)
	f.halted = false
	for _, uid := range slices.Sorted(maps.Keys(f.pods)) {
		if r := f.pods[uid]; !r.former() {
			f.requestWrite(now, r)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(f.mirrors)) {
		pod := f.mirrors[uid]
		f.requestMirror(now, f.nodes[pod.Spec.NodeName], nameOf(pod))
	}
}

// stepsATurn bounds what one call of Start does.
const stepsATurn = 1000

// Start lets happen what is due, and hands out the next call of the API server.
// When there is too much for one call, Next returns now.
func (f *Fleet) Start(now time.Time) (Task, bool) {
	now = f.queue.Advance(now)
	for range stepsATurn {
		if f.resume(now) {
			continue
		}
		if event, ok := f.config.Runtime.Poll(now); ok {
			f.runtimeEvent(now, event)
			continue
		}
		item, ok := f.queue.Start(now)
		if !ok {
			return Task{}, false
		}
		if task, isTask := f.taskOf(now, item); isTask {
			if task.Kind != "" {
				return task, true
			}
			continue
		}
		f.queue.Finish(now, item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
		f.perform(now, item.Value, item.Key)
	}
	return Task{}, false
}

// Finish takes the result of a task.
func (f *Fleet) Finish(now time.Time, task Task, result Result) {
	now = f.queue.Advance(now)
	r := task.item.Value
	switch {
	case task.item.Key.kind == dueMirror:
		f.finishMirror(now, task, result)
		return
	case r == nil:
		f.finishNode(now, task, result)
		return
	}
	outcome := f.retry(now, r.node, task.item)
	switch result {
	case ResultGone:
		r.publication.end(task.version, task.since, true)
		f.queue.Finish(now, task.item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
		f.lose(now, r, task.Pod)
		return
	case ResultDone:
		outcome = timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	}
	if task.Kind == TaskPatchStatus {
		shown := r.shown()
		ok := result == ResultDone && shown != nil && shown.UID == task.Pod.UID
		r.publication.end(task.version, task.since, ok)
		if ok {
			f.written(now, r, &task)
		}
	} else if result == ResultDone {
		r.leave(apiDeleted)
	}
	if result == ResultDone && f.mayWrite(r) {
		outcome = timedqueue.Result{Outcome: timedqueue.OutcomeRequeued, At: now.Add(r.node.faults.APILatency)}
	}
	f.queue.Finish(now, task.item, outcome)
}

// written counts a status that the API server has taken.
func (f *Fleet) written(now time.Time, r *podRecord, task *Task) {
	f.totals.writes.observe((f.age(now) - task.since).Truncate(time.Millisecond))
	if r.startup == startupMeasured && allRun(&task.Status) {
		r.startup = startupWritten
		f.measure(now, r) // the watch may have been faster than this answer
	}
}

// lose takes that the API server no longer has the object of a pod. Of a static
// pod that is its mirror, which comes again.
func (f *Fleet) lose(now time.Time, r *podRecord, pod *corev1.Pod) {
	if isStatic(r.pod) {
		f.loseMirror(pod)
		f.requestMirror(now, r.node, nameOf(pod))
	} else if f.pods[pod.UID] == r {
		f.remove(now, r)
	}
}

// Next returns when Start can next do something.
func (f *Fleet) Next(now time.Time) (time.Time, bool) {
	if f.synced && len(f.removals)+len(f.unlisted) > 0 {
		return now, true
	}
	next, found := f.queue.Next(now)
	if at, ok := f.config.Runtime.Next(now); ok && (!found || at.Before(next)) {
		next, found = at, true
	}
	return next, found
}

// perform does what is due of a pod or a node.
func (f *Fleet) perform(now time.Time, r *podRecord, key dueKey) {
	switch {
	case r == nil:
		f.performNode(now, key)
		return
	case r.former():
		return
	case r.node.loop == loopStopped && (key.kind == dueSync || key.kind == dueDeadline || key.kind == dueVolumes):
		r.again = true
		if key.kind == dueVolumes {
			r.doing = activityIdle
		}
		return
	}
	switch key.kind {
	case dueSync, dueDeadline:
		f.sync(now, r)
	case dueVolumes:
		if f.endWait(now, r) {
			f.sync(now, r)
		} else {
			f.endSync(now, r, f.after(now, errorPeriod))
		}
	case dueReconcile:
		if isOverwritten(r) {
			r.publication.overwritten(f.age(now))
			f.requestWrite(now, r)
		}
	case dueProbe:
		f.runProbe(now, r, key.probe)
	case duePurge:
		f.forget(now, r)
	}
}

// performNode does what is due of a node.
func (f *Fleet) performNode(now time.Time, key dueKey) {
	n, known := f.nodes[key.node]
	switch {
	case !known:
	case key.kind == dueRound:
		f.proceedRound(now, n)
	case key.kind == dueCheck:
		f.check(now, n)
	case key.kind == dueRelist:
		f.relistAll(now, n)
	}
}

// taskOf returns the task of an item, and reports whether it is one of a call.
// A call that is not needed any more, or that a fault makes fail, is none.
func (f *Fleet) taskOf(now time.Time, item dueItem) (task Task, isTask bool) {
	refusal := timedqueue.Result{Outcome: timedqueue.OutcomeSkipped}
	var needed bool
	switch item.Key.kind {
	case dueWrite:
		if f.syncsFirst(item) {
			f.queue.Finish(now, item, refusal)
			f.queue.Add(item.Key, item.Value, item.Due) // behind the sync
			return Task{}, true
		}
		if task, needed = f.write(item); needed && f.fails(item.Value.node) {
			task.item.Value.publication.end(task.version, task.since, false)
			needed, refusal = false, f.retry(now, item.Value.node, item)
		}
	case dueMirror:
		if task, needed = f.mirrorTask(item); needed && f.fails(f.nodes[task.Node]) {
			needed, refusal = false, f.retry(now, f.nodes[task.Node], item)
		}
	case dueRegister, dueList:
		if task, needed = f.nodeTask(now, item); needed && f.fails(f.nodes[task.Node]) {
			needed, refusal = false, f.retry(now, f.nodes[task.Node], item)
		}
	case dueReport:
		task, needed = f.nodeTask(now, item) // its call is that of a heartbeat
	default:
		return Task{}, false
	}
	if needed {
		return task, true
	}
	f.queue.Finish(now, item, refusal)
	return Task{}, true
}

// syncsFirst reports whether a sync of the same moment comes before a write. So
// what happens at one moment is one write: a pod whose containers take no time
// to start is written as running. A later sync delays no write.
func (f *Fleet) syncsFirst(item dueItem) bool {
	sync, found := f.queue.Get(dueKey{pod: item.Key.pod, kind: dueSync})
	return found && !sync.Due.IsZero() && !sync.Due.After(item.Due)
}

// isOverwritten reports whether the API shows another status of a pod than it
// is to have.
func isOverwritten(r *podRecord) bool {
	pod := r.shown()
	if pod == nil {
		return false
	}
	wanted := r.publication.shown(pod, r.mayRun())
	return !sameStatus(&pod.Status, &wanted)
}

// write returns the call that a pod needs, if it needs one.
func (f *Fleet) write(item dueItem) (Task, bool) {
	r := item.Value
	task := Task{Node: r.node.name, Pod: r.shown(), item: item}
	switch {
	case r.former() || !f.mayWrite(r):
		return Task{}, false
	case r.publication.pending():
		task.Kind = TaskPatchStatus
		task.since = r.publication.since
		task.Status, task.version = r.publication.begin(task.Pod, r.mayRun())
	default:
		task.Kind = TaskDeletePod
	}
	return task, true
}
