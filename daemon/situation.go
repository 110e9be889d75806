package daemon

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// queueName is what a node in a queue needs.
type queueName uint8

const (
	toCreate            queueName = iota // a pod is missing
	toDelete                             // pods are to go, whatever the rollout does
	outdatedUnavailable                  // candidates of the rollout, by candidacy
	outdatedAvailable
	toRetire
	toInsist
	numberOfQueues
)

// order is what queues compare. It is a copy, which changes only when the node
// is moved.
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

// situation is what there is to say of one node, whatever the others are like.
type situation struct {
	marks     marks
	create    bool // a pod is to be created, because it is missing
	deletes   bool // pods of it are to be deleted: those with a reason to leave
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
	// retire: its old pod is available, but none should run there. It goes once
	// there are enough others. Only where new pods come before old ones go.
	retire
	// insist: its new pod may exist, and has its place until that is known.
	insist
)

// reason returns why the old pod of a candidate is deleted.
func (c candidacy) reason() StepReason {
	switch c {
	case replaceAvailable:
		return StepOutdated
	case retire:
		return StepMisscheduled
	case noCandidate, replaceUnavailable, insist:
	}
	return StepOutdatedUnavailable
}
