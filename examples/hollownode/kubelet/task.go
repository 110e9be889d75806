package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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

// dueKind says what of a pod is due.
type dueKind uint8

const (
	dueSync dueKind = iota
	// dueWrite is a call of the API server.
	dueWrite
	// dueReconcile restores a status that another client has overwritten.
	dueReconcile
	// dueVolumes ends a wait for volumes.
	dueVolumes
	// dueDeadline ends a pod that has been active for too long.
	dueDeadline
	// duePurge forgets a pod.
	duePurge
	// dueProbe runs a probe.
	dueProbe
	// dueRound visits a pod of a node.
	dueRound
	// dueCheck checks the runtime of a node.
	dueCheck
	// dueRelist compares all pods of a node with what its runtime has.
	dueRelist
	// dueRegister creates the object of a node, dueReport reports its status and
	// dueList lists its pods. They are calls of the API server.
	dueRegister
	dueReport
	dueList
	// dueMirror creates or deletes a mirror pod. It is a call of the API server.
	dueMirror
)

// isCall reports whether it is a call of the API server.
func (k dueKind) isCall() bool {
	switch k {
	case dueWrite, dueRegister, dueReport, dueList, dueMirror:
		return true
	default:
		return false
	}
}

// String returns the name of the kind.
func (k dueKind) String() string {
	return [...]string{"sync", "write", "reconcile", "volumes", "deadline", "purge", "probe", "round", "check",
		"relist", "register", "report", "list", "mirror"}[k]
}

// dueKey identifies what waits for a time. The probe is that of dueProbe. The
// node is that of dueRound and of all kinds after it, which are of no record of
// a pod.
type dueKey struct {
	pod   types.UID
	node  string
	kind  dueKind
	probe ProbeKey
}

type dueItem = timedqueue.Item[dueKey, *podWorker]
