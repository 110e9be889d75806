package heartbeat

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Node is one node for which a [Sender] sends heartbeats.
type Node struct {
	// Name is the node's name, and that of its lease. Required.
	Name string
	// UID is that of the Node object, which the caller has created. Nothing is
	// written to another Node of the same name. Required.
	UID types.UID

	// Status returns what the node reports. Nil means that this node only has a
	// lease. One call runs at a time, and it must return when its context ends.
	// The sender only reads what it returns, and only before the next call.
	//
	// A working machine with a broken runtime is not silent. Return Ready=False
	// for it, which observers see sooner than silence.
	//
	// Each condition needs Type, Status, Reason and Message. LastHeartbeatTime
	// becomes the time of the report. So does LastTransitionTime when the
	// condition's status differs from what the API server has.
	//
	// What Status does not mention stays as it is on the API server. That holds
	// for conditions of other types, resources of other names, and fields that are
	// nil or zero. A condition or resource that was in its last report and is not
	// in this one is removed, unless the whole list is nil. The reports of a
	// former process count as another client's. Any other list is replaced, also
	// by an empty one, unless it is nil. VolumesAttached belongs to the
	// attach/detach controller and is never written.
	Status func(ctx context.Context) (corev1.NodeStatus, error)
}

// validateNode joins all that is wrong with a node under this config.
func (c Config) validateNode(node Node) error {
	var problems []error
	complain := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		problems = append(problems, fmt.Errorf("%w: Node.%s", ErrInvalidConfig, text))
	}
	if node.Name == "" {
		complain("Name is empty, want that of the Node object")
	}
	if node.UID == "" {
		complain("UID of %q is empty, want that of the Node object", node.Name)
	}
	if node.Status != nil && c.Nodes == nil {
		complain("Status of %q is set, want nil because Config.Nodes is nil", node.Name)
	}
	if node.Status == nil && c.Leases == nil {
		complain("Status of %q is nil, want a function because Config.Leases is nil", node.Name)
	}
	return errors.Join(problems...)
}
