package invariant

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// Kinds of objects that a controller watches.
const (
	Sets      = network.DaemonSets
	Pods      = network.Pods
	Nodes     = network.Nodes
	Revisions = network.Revisions
)

// Kinds are all of them.
var Kinds = []network.Kind{Sets, Pods, Nodes, Revisions}

// A History is what an API server has stored and answered. Events that it
// orders have a number each, across all of it.
type History struct {
	// Changes are what was stored, in the order of their versions.
	Changes []*Change
	// Calls are those of the controller, in the order in which they were sent.
	Calls []*Call
	// Lives are the processes of the controller, the first one first.
	Lives []*Life
	// Deferrals are in the order in which they happened.
	Deferrals []Deferral
	// PerSecond and Burst are the budget of requests of each life. Zero PerSecond
	// is no limit.
	PerSecond float64
	Burst     int
	End       time.Time
}

// A Life is one process of the controller.
type Life struct {
	// Halts are the times in which it was told to delete no pod, as numbers of
	// events. The end of the last one is zero if it lasts.
	Halts []Span
}

// A Span begins and ends with an event.
type Span struct{ From, To uint64 }

// A Decision is the moment in which a life has chosen a task.
type Decision struct {
	Life  *Life
	Order uint64 // the number of the event
	At    time.Time
	// Seen are the versions up to which its watches had shown the changes of each
	// kind. What the API server has stored later it could not know.
	Seen map[network.Kind]uint64
}

// A Call is a request of a controller's process.
type Call struct {
	Decision *Decision
	// Request is what it asks for, as in "patch daemonsets/status".
	Request string
	// Kind and Name are those of the object that it is about.
	Kind network.Kind
	Name string
	// Ended is the number of the event in which the client had the answer or gave
	// up. It is zero if the process has ended before.
	Ended uint64
	// Answered says that there was an answer, and no error other than that there
	// is no such object.
	Answered bool
	// Answer is the object as the call has left it, which an answer tells. It is nil
	// if there is no such object.
	Answer metav1.Object
	// Missing is the version at which there was no such object, or zero.
	Missing uint64
}

// A Change is one step of an object.
type Change struct {
	Kind    network.Kind
	Version uint64
	At      time.Time
	// Before is nil for a creation, and After for a removal.
	Before, After metav1.Object
	// By is the call of the controller that has caused it. It is nil for other
	// clients.
	By *Call
}

// Object returns the newest state of the change, which may be the last one.
func (c *Change) Object() metav1.Object {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

func (c *Change) pods() (before, after *corev1.Pod) {
	before, _ = c.Before.(*corev1.Pod)
	after, _ = c.After.(*corev1.Pod)
	return before, after
}
