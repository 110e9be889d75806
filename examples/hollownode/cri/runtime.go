package cri

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Runtime runs the containers of the pods of one or many nodes. It has no clock
// and does not block. It is not safe for concurrent use.
type Runtime interface {
	// Begin starts a plan. The event of its end comes out of Poll. A pod has one
	// plan at a time: while one is under way, Begin panics.
	Begin(now time.Time, plan Plan)
	// Cancel ends the plan of a pod at once, if it has one. The step under way
	// fails, and starts nothing any more. The container of a postStart hook goes
	// on to run. A stop step has no result, and its containers go on to stop.
	Cancel(now time.Time, pod types.UID)
	// Probe returns the answer of a probe of a running container.
	Probe(now time.Time, pod types.UID, containerID string, kind ProbeKind) bool
	// Poll returns the next event, in the order in which they happened.
	Poll(now time.Time) (Event, bool)
	// Next returns when Poll next has an event.
	Next(now time.Time) (time.Time, bool)
	// Pod returns the state of a pod. The caller may keep it.
	Pod(now time.Time, pod types.UID) (Pod, bool)
	// Name returns the name of a pod that the runtime has, else an empty one.
	Name(now time.Time, pod types.UID) types.NamespacedName
	// Remove forgets a pod whose containers have all exited, and reports whether
	// it is gone.
	Remove(now time.Time, pod types.UID) bool
	// Pods returns the pods of a node, in a fixed order.
	Pods(now time.Time, node string) []types.UID
	// Reboot ends all containers, sandboxes and plans of a node at once. Plans end
	// without a report. Containers stay known, as exited.
	Reboot(now time.Time, node string)
	// RemoveNode forgets all pods and images of a node at once.
	RemoveNode(now time.Time, node string)
}

// Event is something that happened to a pod. It is the end of a plan if Ended
// is set, and what a plan is doing if Notice is set. Else it is a change of the
// pod's containers or sandboxes.
type Event struct {
	Node   string
	Pod    types.UID
	Ended  *Report
	Notice *Notice
}

// ProbeKind says which probe of a container runs.
type ProbeKind string

const (
	// ProbeStartup tells whether the container has started.
	ProbeStartup ProbeKind = "Startup"
	// ProbeLiveness tells whether it must be restarted.
	ProbeLiveness ProbeKind = "Liveness"
	// ProbeReadiness tells whether it can serve.
	ProbeReadiness ProbeKind = "Readiness"
)
