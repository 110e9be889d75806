package invariant

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// History is what has happened to a cluster: what the API server has stored,
// and what the containers of the nodes have done.
type History struct {
	// Changes are what was stored, in the order of their versions.
	Changes []*Change
	// Calls are those of the kubelets, in the order in which they were sent.
	Calls []*Call
	// Runs are those of all containers, in the order in which they became known.
	Runs []*Run
	// Overlaps are plans that were begun for a pod that had one under way.
	Overlaps []Overlap
	// Faults are all times in which something was wrong.
	Faults []Fault
	// Starts are the starts of kubelets, and the reboots and losses of machines,
	// in order.
	Starts []Start
	// Manifests are the static pods of all nodes, each time that they change.
	Manifests []Manifests
	End       time.Time
}

// ManifestAnnotation names the manifest of a static pod, among those of its
// name. The mirror of the pod repeats it.
const ManifestAnnotation = "shop/manifest"

// Manifests are the static pods of each node from a time on.
type Manifests struct {
	At   time.Time
	Pods []*corev1.Pod
}

// A Change is one step of an object.
type Change struct {
	Kind    network.Kind
	Version uint64
	At      time.Time
	// Before is nil for a creation, and After for a removal.
	Before, After metav1.Object
	// By is the call of a kubelet that has caused it. It is nil for other clients.
	By *Call
}

// Object returns the newest state of the change, which may be the last one.
func (c *Change) Object() metav1.Object {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// pods returns both sides of a change of a pod.
func (c *Change) pods() (before, after *corev1.Pod) {
	before, _ = c.Before.(*corev1.Pod)
	after, _ = c.After.(*corev1.Pod)
	return before, after
}

// A Call is a request of a kubelet about a pod.
type Call struct {
	Node string
	Pod  types.UID
	// Decided is when the kubelet has chosen what to send. Seen is the version up
	// to which its watch had shown pods.
	Decided time.Time
	Seen    uint64
}

// A Run is one run of a container.
type Run struct {
	Pod      types.UID
	Node     string
	Name, ID string
	// PodName and Manifest are those of a static pod, whose UID is Pod. The pods
	// of the API have none.
	PodName, Manifest string
	Image             string
	Sandbox           string
	Attempt           int32
	// Runtime numbers the runtimes, each of a machine and a process. It begins
	// without runs, except those that it has restored. A static pod whose manifest
	// was away begins again, too.
	Runtime int
	// Restored tells that a former runtime has started it.
	Restored bool
	// Planned is when its kubelet has decided to start it.
	Planned time.Time
	// Started is zero if its start has failed, and Ended if it goes on.
	Started, Ended time.Time
	Code           int32
	// Stopped is when its kubelet has told it to stop, or zero.
	Stopped time.Time
	// Lost tells that the machine or its runtime was lost, and the code with it.
	Lost bool
}

// runsAt reports whether a run has started and goes on at a time.
func (r *Run) runsAt(at time.Time) bool {
	return !r.Started.IsZero() && !r.Started.After(at) && (r.Ended.IsZero() || r.Ended.After(at))
}

// An Overlap is a plan of a pod that was begun too early.
type Overlap struct {
	Pod types.UID
	At  time.Time
}

// A Fault is a time in which something was wrong with a node, or with all if it
// has no name.
type Fault struct {
	Node     string
	What     string
	From, To time.Time
}

// A Start is one of the kubelet of a node.
type Start struct {
	Node string
	At   time.Time
	// Reboot tells that the machine has started, too.
	Reboot bool
	// Lost tells that the machine was lost, and another one starts.
	Lost bool
}
