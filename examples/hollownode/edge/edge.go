package edge

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// ErrInvalidConfig is wrapped by each error of [Config.Validate].
var ErrInvalidConfig = errors.New("invalid edge config")

// PodClient is what an [Edge] needs of a pod client of one namespace. The typed
// client of client-go is one. The pods that Create and Patch return are not
// read.
type PodClient interface {
	Create(ctx context.Context, pod *corev1.Pod, opts metav1.CreateOptions) (*corev1.Pod, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions,
		subresources ...string) (*corev1.Pod, error)
}

// NodeClient is what an [Edge] needs of a node client. The typed client of
// client-go is one.
type NodeClient interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Node, error)
	Create(ctx context.Context, node *corev1.Node, opts metav1.CreateOptions) (*corev1.Node, error)
}

// Runtime is what an [Edge] needs of the runtime of the fleet. A *cri.Fake is
// one.
type Runtime interface {
	Restore(now time.Time, node string, pod *corev1.Pod) bool
	Crash(now time.Time, pod types.UID, container string, code int32) bool
}

// Heartbeats sends the heartbeats of nodes. A *heartbeat.Sender is one.
type Heartbeats interface {
	Add(node heartbeat.Node) error
	Remove(name string) bool
	Changed(name string) bool
	Pause(name string) bool
	Resume(name string) bool
}

// Config is what an [Edge] needs. All except StreamPods, SlowHeartbeats, Wait,
// Silent and Problem is required.
type Config struct {
	// Fleet and Runtime are used only inside what Observe and View run.
	Fleet   *kubelet.Fleet
	Runtime Runtime
	// Observe runs a turn of the fleet at once and alone, and passes it the time.
	// With a dispatcher it is a call of Update, and View one of View.
	Observe, View func(turn func(now time.Time))

	// Pods returns the client of a namespace.
	Pods  func(namespace string) PodClient
	Nodes NodeClient
	// StreamPods has the pods of a node streamed once, for the load of it. Nil
	// does nothing.
	StreamPods func(ctx context.Context, node string) error
	// PodsOf returns the pods of a node that the informer of pods has.
	PodsOf func(node string) []*corev1.Pod
	// Heartbeats is told inside Observe which nodes there are.
	Heartbeats Heartbeats
	// SlowHeartbeats is told of nodes whose API is slow, in place of Heartbeats.
	// So calls that wait occupy none of its workers. Nil means Heartbeats.
	SlowHeartbeats Heartbeats
	// Wait waits for a time, or until ctx ends and then returns its error. Calls
	// of [Edge.BeginCall] use it, for the latency of the API. Nil does not wait.
	Wait func(ctx context.Context, period time.Duration) error
	// IsOurs reports whether a node is of the fleet. A node that is to register is
	// not done while another client's node has its name.
	IsOurs func(node *corev1.Node) bool

	// Silent reports whether a node is cut off from the API server though no
	// annotation says so. It is called inside Observe, and by Recheck after it has
	// changed. Nil means that none is.
	Silent func(node string) bool

	// Problem is told what is wrong with the annotations of an object, inside
	// Observe, once for each change of that. Nil ignores it.
	Problem func(object metav1.Object, err error)
}

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	var problems []error
	for _, field := range []struct {
		name    string
		missing bool
	}{
		{"Fleet", c.Fleet == nil}, {"Runtime", c.Runtime == nil}, {"Observe", c.Observe == nil},
		{"View", c.View == nil}, {"Pods", c.Pods == nil}, {"Nodes", c.Nodes == nil}, {"PodsOf", c.PodsOf == nil},
		{"Heartbeats", c.Heartbeats == nil}, {"IsOurs", c.IsOurs == nil},
	} {
		if field.missing {
			problems = append(problems, fmt.Errorf("%w: Config.%s is nil", ErrInvalidConfig, field.name))
		}
	}
	return errors.Join(problems...)
}

// Edge connects a fleet to a cluster. It is safe for concurrent use if what it
// was configured with is.
type Edge struct {
	// Each handler is to be added to the informer of its type.
	Nodes, Pods cache.ResourceEventHandler

	config Config
	// What follows is used inside Observe and View only. Faults are those of the
	// nodes of the fleet.
	faults map[string]kubelet.Faults
	// nodes are as they were seen last.
	nodes map[string]*corev1.Node
	// problems are what was told last to be wrong with nodes.
	problems map[string]string
	// crashes are the values of the annotation that have been seen.
	crashes map[types.UID]string
	synced  bool
}

// NewEdge returns an Edge.
func NewEdge(config Config) (*Edge, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Problem == nil {
		config.Problem = func(metav1.Object, error) {}
	}
	if config.StreamPods == nil {
		config.StreamPods = func(context.Context, string) error { return nil }
	}
	if config.Wait == nil {
		config.Wait = func(context.Context, time.Duration) error { return nil }
	}
	if config.Silent == nil {
		config.Silent = func(string) bool { return false }
	}
	e := &Edge{
		config: config, faults: map[string]kubelet.Faults{}, nodes: map[string]*corev1.Node{},
		problems: map[string]string{}, crashes: map[types.UID]string{},
	}
	return e, e.addHandlers()
}

// sender returns the sender of the heartbeats of a node with these faults.
func (e *Edge) sender(faults kubelet.Faults) Heartbeats {
	if e.isSlow(faults) {
		return e.config.SlowHeartbeats
	}
	return e.config.Heartbeats
}

func (e *Edge) isSlow(faults kubelet.Faults) bool {
	return faults.APILatency > 0 && e.config.SlowHeartbeats != nil
}
