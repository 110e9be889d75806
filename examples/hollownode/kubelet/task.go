package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
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
	// since is the age of the fleet at the first change that is written.
	since time.Duration
	item  dueItem
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
