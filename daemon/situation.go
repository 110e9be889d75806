package daemon

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// queueName is a queue of nodes, named after the call that they need.
type queueName uint8

const (
	toCreate            queueName = iota // a pod is missing
	toDelete                             // pods are to be deleted, outside of the rollout
	outdatedUnavailable                  // candidates of the rollout, by candidacy
	outdatedAvailable
	toRetire
	toAwaitUnclear
	toRead // unclear creations
	numberOfQueues
)

// order is what queues compare. It is a copy that changes only when the node is
// moved.
type order struct {
	object  *corev1.Node
	extra   bool // no pod should run there
	ignored bool
	refused int32
}

func (o *order) comesBefore(other *order, less func(a, b *corev1.Node) bool) (comes, differs bool) {
	switch {
	case o.extra != other.extra:
		return other.extra, true
	case o.ignored != other.ignored:
		return other.ignored, true
	case o.refused != other.refused:
		return o.refused < other.refused, true
	case (o.object == nil) != (other.object == nil): // one that is gone comes last
		return o.object != nil, true
	case less == nil, o.object == nil:
		return false, false
	case less(o.object, other.object):
		return true, true
	}
	return false, less(other.object, o.object)
}

// situation is the part of an evaluation that depends on one node alone.
type situation struct {
	marks     marks
	create    bool // a pod is to be created, because it is missing
	deletes   bool // pods of it are to be deleted: those with a reason to leave
	reads     bool // the pod of its unclear creation is to be read
	ignored   bool // its available pod goes after those of nodes that count
	candidate candidacy
	until     time.Time // when it changes by itself; zero: never
}

// candidacy is what a rollout may do with a node.
type candidacy uint8

const (
	noCandidate candidacy = iota
	// replaceUnavailable: its old pod is not available.
	replaceUnavailable
	// replaceAvailable: its old pod is available.
	replaceAvailable
	// retire: its old pod is available, but none should run there. It is deleted
	// once enough others serve. Only with MaxSurge.
	retire
	// awaitUnclear: its new pod may exist, and counts until that is known.
	awaitUnclear
)

// reason returns why the old pod of a candidate is deleted.
func (c candidacy) reason() StepReason {
	switch c {
	case replaceAvailable:
		return StepOutdated
	case retire:
		return StepMisscheduled
	case noCandidate, replaceUnavailable, awaitUnclear:
	}
	return StepOutdatedUnavailable
}
