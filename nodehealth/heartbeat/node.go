package heartbeat

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Node is one node for which [Sender] speaks.
type Node struct {
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

// validateNode reports the first thing that is wrong with a node under this config.
func (c Config) validateNode(node Node) error {
	if node.Name == "" {
		return fmt.Errorf("%w: Node.Name is empty", ErrInvalidConfig)
	}
	if node.UID == "" {
		return fmt.Errorf("%w: Node.UID of %s is empty", ErrInvalidConfig, node.Name)
	}
	if node.Status != nil && c.Nodes == nil {
		return fmt.Errorf("%w: node %s has a Status, but Config.Nodes is nil", ErrInvalidConfig, node.Name)
	}
	if node.Status == nil && c.Leases == nil {
		return fmt.Errorf("%w: node %s has no Status, and Config.Leases is nil", ErrInvalidConfig, node.Name)
	}
	return nil
}
