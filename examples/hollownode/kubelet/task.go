package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// TaskKind says what a task asks of the API server.
type TaskKind string

const (
	// TaskPatchStatus patches the status of a pod, guarded by its UID.
	TaskPatchStatus TaskKind = "PatchStatus"
	// TaskDeletePod deletes a pod with grace period zero, guarded by its UID. Its
	// containers have ended and its last status is written.
	TaskDeletePod TaskKind = "DeletePod"
	// TaskCreateMirror creates the mirror pod of a static pod, which is the task's
	// Pod. It fails while there is another pod of the name.
	TaskCreateMirror TaskKind = "CreateMirror"
	// TaskDeleteMirror deletes a mirror pod with grace period zero, guarded by its
	// UID. No container ends by it.
	TaskDeleteMirror TaskKind = "DeleteMirror"
	// TaskRegisterNode creates the object of a node. One that is there already is
	// done, if it is of this fleet.
	TaskRegisterNode TaskKind = "RegisterNode"
	// TaskReportNode reports the status of a node at once, which is
	// heartbeat.Sender's Changed.
	TaskReportNode TaskKind = "ReportNode"
	// TaskListPods has the pods of a node streamed, as a kubelet does when it
	// starts. Only the load of it counts.
	TaskListPods TaskKind = "ListPods"
)

// Task is one call of the API server. Its objects are only read.
type Task struct {
	Kind TaskKind
	Node string
	// Pod is that of a task about a pod, else nil. For a static pod it is its
	// mirror.
	Pod *corev1.Pod
	// Object is the one to create. Only that of TaskRegisterNode counts.
	Object *corev1.Node
	// Status is the one to write. Only that of TaskPatchStatus counts.
	Status corev1.PodStatus

	version uint64
	item    dueItem
}

// Result is the result of a task. The zero value is a failure, as is any other
// string.
type Result string

const (
	// ResultDone: the API server has done it.
	ResultDone Result = "Done"
	// ResultGone: there is no pod of that name and UID any more.
	ResultGone Result = "Gone"
	// ResultFailed: it must be tried again.
	ResultFailed Result = "Failed"
)

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
		r.publication.end(task.version, true)
		f.queue.Finish(now, task.item, timedqueue.Result{Outcome: timedqueue.OutcomeDone})
		f.lose(now, r, task.Pod)
		return
	case ResultDone:
		outcome = timedqueue.Result{Outcome: timedqueue.OutcomeDone}
	}
	if task.Kind == TaskPatchStatus {
		shown := r.shown()
		ok := result == ResultDone && shown != nil && shown.UID == task.Pod.UID
		r.publication.end(task.version, ok)
	} else if result == ResultDone {
		r.leave(apiDeleted)
	}
	if result == ResultDone && f.mayWrite(r) {
		outcome = timedqueue.Result{Outcome: timedqueue.OutcomeContinued, At: now.Add(r.node.faults.APILatency)}
	}
	f.queue.Finish(now, task.item, outcome)
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
			r.publication.overwritten()
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
			task.item.Value.publication.end(task.version, false)
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
		task.Status, task.version = r.publication.begin(task.Pod, r.mayRun())
	default:
		task.Kind = TaskDeletePod
	}
	return task, true
}

// retry returns the result of a call that has failed. Its next attempt takes
// the latency of the node's API too.
func (f *Fleet) retry(now time.Time, n *nodeRecord, item dueItem) timedqueue.Result {
	waits := f.config.Backoff
	if item.Key.kind == dueRegister {
		waits = timedqueue.Backoff{Initial: firstRegistration, Max: longestRegistration}
	}
	wait := waits.Delay(item.Attempts)
	if item.Key.kind == dueWrite {
		// Without this bound a back-off keeps a status from an API server that has
		// been back for long. A kubelet has none. Source: manager.Start in
		// pkg/kubelet/status, v1.37.1.
		wait = min(wait, n.nextCompare(now).Sub(now))
	}
	if n != nil {
		wait += n.faults.APILatency
	}
	return timedqueue.Result{Outcome: timedqueue.OutcomeFailed, RetryAfter: wait}
}

const (
	// firstRegistration and longestRegistration bound the waits between attempts
	// to register. Source: registerWithAPIServer, v1.37.1.
	firstRegistration   = 100 * time.Millisecond
	longestRegistration = 7 * time.Second
)
