package nodehealth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var (
	// ErrHeartbeatNodeKnown is wrapped by the error of [Heartbeats.Add] for a name
	// that has been added already.
	ErrHeartbeatNodeKnown = errors.New("heartbeats of this node are being sent already")
	// ErrHeartbeatsRunning is returned by [Heartbeats.Run] while it runs already.
	ErrHeartbeatsRunning = errors.New("heartbeats are running already")
)

// Defaults of the kubelet v1.37, and where its source has them.
const (
	defaultLeaseDuration  = 40 * time.Second // NodeLeaseDurationSeconds, pkg/kubelet/apis/config/v1beta1/defaults.go
	renewIntervalFraction = 4                // nodeLeaseRenewIntervalFraction is 0.25, pkg/kubelet/kubelet.go
	defaultStatusInterval = 10 * time.Second // NodeStatusUpdateFrequency, pkg/kubelet/apis/config/v1beta1/defaults.go
	defaultReportInterval = 5 * time.Minute  // NodeStatusReportFrequency, the same file
	defaultJitter         = 0.04             // of both loops: k8s.io/component-helpers/apimachinery/lease/controller.go and pkg/kubelet/kubelet.go
)

// defaultHeartbeatWorkers is ours: 10,000 nodes renew 1,000 leases a second,
// which keeps 20 workers busy when a call takes 20 ms.
const defaultHeartbeatWorkers = 32

// HeartbeatsConfig says where [Heartbeats] sends the beats of its nodes, and when.
// The zero value of each time is the kubelet's default.
//
// The clients must not throttle: client-go's default of 5 calls a second is
// enough for 50 nodes. Set QPS to -1, as the kubelet does for its heartbeats.
type HeartbeatsConfig struct {
	// Leases writes the leases, in namespace kube-node-lease. Nil means that no
	// node has a lease. client-go: CoordinationV1().Leases(corev1.NamespaceNodeLease).
	//
	// Give it a connection of its own, apart from that of Nodes and of the rest of
	// the program. One stuck TCP connection then stops status reports, or pods, but
	// not the leases (kubernetes #48638, #63492, #108107).
	Leases HeartbeatLeaseClient

	// Nodes writes the nodes' status. Nil means that no node reports one.
	// client-go: CoreV1().Nodes().
	Nodes HeartbeatNodeClient

	// Cache shows what the API server has of the nodes, from an informer say. With
	// it, a status that somebody else has overwritten is reported again within
	// StatusInterval: Ready set to Unknown by the node lifecycle controller, when
	// beats came late. Nil means none: then it can take until the next report that
	// is due for another reason. It costs no calls, and saves one for each node.
	// client-go: the NodeLister.
	Cache HeartbeatNodeCache

	// LeaseDuration is how long a lease counts without renewal. It is written into
	// the lease in whole seconds, rounded up. Zero means 40 s.
	LeaseDuration time.Duration
	// RenewInterval is the time from one renewal to the next. Zero means a quarter
	// of LeaseDuration.
	RenewInterval time.Duration
	// StatusInterval is the time from one look at a node's status to the next. A
	// look makes a call only when a report is due. Zero means 10 s.
	StatusInterval time.Duration
	// ReportInterval is the time from one report to the next when the status does
	// not change. After a report that is not about the period, the next one comes
	// after a random 0.5 to 1.5 of it, so that nodes that started together do not
	// report together (kubernetes #124202). Zero means 5 min.
	ReportInterval time.Duration
	// Jitter is the share by which RenewInterval and StatusInterval are lengthened
	// at most, each time anew. Zero means 0.04.
	Jitter float64
	// Timeout bounds one beat: Alive, Status and all calls together. Zero means
	// RenewInterval. (The kubelet's heartbeat client gives each call 10 s:
	// cmd/kubelet/app/server.go.)
	Timeout time.Duration
	// Workers is how many beats run at a time, of each of the two kinds: renewals
	// never wait for status reports. Zero means 32.
	Workers int

	// Rand returns numbers in [0, 1). It is called with a lock held, one call at a
	// time. Nil means math/rand/v2's Float64.
	Rand func() float64
	// Metrics is told what happens. Nil means none.
	Metrics HeartbeatMetrics
}

// HeartbeatNode is one node for which [Heartbeats] speaks.
type HeartbeatNode struct {
	// Name is the node's name, and that of its lease. Required.
	Name string
	// UID is that of the Node object, which the caller has created. Nothing is
	// written to another Node of the same name. Required.
	UID types.UID

	// Alive is the gate. It is asked before each renewal and each look at the
	// status. While it returns an error the node is silent: no lease, no status, so
	// that observers find it out as they would a machine without power. It is asked
	// again after a backoff of up to the interval, and when it returns nil the
	// status is reported at once. Nil means always alive.
	//
	// A node that is there but has a broken runtime is no matter for the gate. It
	// should say so, sooner than silence does: let Status return Ready=False.
	//
	// It is called by several goroutines at a time, and has to return when its
	// context ends.
	Alive func(ctx context.Context) error

	// Status returns what the node has to say. Nil means that this node only has a
	// lease. It is called by one goroutine at a time, and has to return when its
	// context ends. Heartbeats only reads what it returns, and only before the next
	// call.
	//
	// Each condition needs Type, Status, Reason and Message. LastHeartbeatTime
	// becomes the time of the report. LastTransitionTime becomes that too when the
	// condition's status differs from what the API server has, and else is kept.
	//
	// What Status does not mention stays as it is on the API server: conditions of
	// other types, resources of other names, fields that are nil or zero. A
	// condition or resource that was in its last report and is not in this one is
	// removed, unless the whole list is nil. What a former process reported counts
	// as somebody else's. Any other list is replaced, by an empty one if it is not
	// nil. VolumesAttached belongs to the attach/detach controller and is never
	// written.
	Status func(ctx context.Context) (corev1.NodeStatus, error)
}

// HeartbeatLeaseClient reads and writes leases of one namespace. client-go's
// LeaseInterface is one.
type HeartbeatLeaseClient interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error)
	Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error)
	Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error)
}

// HeartbeatNodeClient reads nodes and patches their status. client-go's
// NodeInterface is one.
type HeartbeatNodeClient interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Node, error)
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*corev1.Node, error)
}

// HeartbeatNodeCache shows nodes without a call. What it returns is not changed.
// client-go's NodeLister is one. An error means that it does not know the node.
type HeartbeatNodeCache interface {
	Get(name string) (*corev1.Node, error)
}

// HeartbeatMetrics counts beats. The methods are called by several goroutines at
// a time, with no lock held.
type HeartbeatMetrics interface {
	// LeaseRenewed tells that a lease was written, and how long after the beat was
	// due the API server had answered.
	LeaseRenewed(late time.Duration)
	// LeaseFailed tells that a renewal failed; it will be tried again.
	LeaseFailed()
	// LeaseWithheld tells that a renewal was due and the node not alive, or gone.
	LeaseWithheld()
	// StatusReported tells that a status was written, and how long after the look
	// was due the API server had answered.
	StatusReported(late time.Duration)
	// StatusFailed tells that a status could not be had or not be written; it will
	// be tried again.
	StatusFailed()
	// StatusWithheld tells that a look at the status was due and the node not alive.
	StatusWithheld()
}

// Validate reports the first thing that is wrong with the config.
func (c HeartbeatsConfig) Validate() error {
	if c.Leases == nil && c.Nodes == nil {
		return fmt.Errorf("%w: HeartbeatsConfig.Leases and Nodes are both nil", ErrInvalidConfig)
	}
	for _, field := range []struct {
		name  string
		value time.Duration
	}{
		{"LeaseDuration", c.LeaseDuration},
		{"RenewInterval", c.RenewInterval},
		{"StatusInterval", c.StatusInterval},
		{"ReportInterval", c.ReportInterval},
		{"Timeout", c.Timeout},
	} {
		if field.value < 0 {
			return fmt.Errorf("%w: HeartbeatsConfig.%s is %v, want zero or more", ErrInvalidConfig, field.name, field.value)
		}
	}
	if filled := c.withDefaults(); filled.RenewInterval >= filled.LeaseDuration {
		return fmt.Errorf("%w: HeartbeatsConfig.RenewInterval %v is not below LeaseDuration %v",
			ErrInvalidConfig, filled.RenewInterval, filled.LeaseDuration)
	}
	if c.LeaseDuration > math.MaxInt32*time.Second {
		return fmt.Errorf("%w: HeartbeatsConfig.LeaseDuration %v does not fit a lease", ErrInvalidConfig, c.LeaseDuration)
	}
	if !(c.Jitter >= 0 && c.Jitter <= 1) { // so written, NaN fails too
		return fmt.Errorf("%w: HeartbeatsConfig.Jitter is %v, want 0 to 1", ErrInvalidConfig, c.Jitter)
	}
	if c.Workers < 0 {
		return fmt.Errorf("%w: HeartbeatsConfig.Workers is %d, want zero or more", ErrInvalidConfig, c.Workers)
	}
	return nil
}

// withDefaults leaves Rand alone: its default is not a core's to name.
func (c HeartbeatsConfig) withDefaults() HeartbeatsConfig {
	c.LeaseDuration = cmp.Or(c.LeaseDuration, defaultLeaseDuration)
	c.RenewInterval = cmp.Or(c.RenewInterval, max(c.LeaseDuration/renewIntervalFraction, 1))
	c.StatusInterval = cmp.Or(c.StatusInterval, defaultStatusInterval)
	c.ReportInterval = cmp.Or(c.ReportInterval, defaultReportInterval)
	c.Jitter = cmp.Or(c.Jitter, defaultJitter)
	c.Timeout = cmp.Or(c.Timeout, c.RenewInterval)
	c.Workers = cmp.Or(c.Workers, defaultHeartbeatWorkers)
	if c.Metrics == nil {
		c.Metrics = noHeartbeatMetrics{}
	}
	return c
}

// validateNode reports the first thing that is wrong with a node under this config.
func (c HeartbeatsConfig) validateNode(node HeartbeatNode) error {
	if node.Name == "" {
		return fmt.Errorf("%w: HeartbeatNode.Name is empty", ErrInvalidConfig)
	}
	if node.UID == "" {
		return fmt.Errorf("%w: HeartbeatNode.UID of %s is empty", ErrInvalidConfig, node.Name)
	}
	if node.Status != nil && c.Nodes == nil {
		return fmt.Errorf("%w: node %s has a Status, but HeartbeatsConfig.Nodes is nil", ErrInvalidConfig, node.Name)
	}
	if node.Status == nil && c.Leases == nil {
		return fmt.Errorf("%w: node %s has no Status, and HeartbeatsConfig.Leases is nil", ErrInvalidConfig, node.Name)
	}
	return nil
}

type noHeartbeatMetrics struct{}

func (noHeartbeatMetrics) LeaseRenewed(time.Duration)   {}
func (noHeartbeatMetrics) LeaseFailed()                 {}
func (noHeartbeatMetrics) LeaseWithheld()               {}
func (noHeartbeatMetrics) StatusReported(time.Duration) {}
func (noHeartbeatMetrics) StatusFailed()                {}
func (noHeartbeatMetrics) StatusWithheld()              {}
