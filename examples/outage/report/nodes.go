package report

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// node is what is known of a node, by its name: it outlives its object.
type node struct {
	name     string
	district *district // where its object is, or was last
	exists   bool
	// silent is the truth, ready and noExecute are what the API server has.
	silent bool
	// declared says that its silence has been noticed.
	declared  bool
	ready     corev1.ConditionStatus
	noExecute []stored
	// troubled says that it counts as in trouble in its zone.
	troubled bool
	// waiting is how many of its pods wait to leave, blocked which of them a
	// budget keeps. It counts as tallied in the zone counted, nil if in none.
	waiting int
	blocked map[types.UID]struct{}
	counted *district
	tallied tally
}

// stored is a NoExecute taint and since when the API server has had it.
type stored struct {
	taint corev1.Taint
	since time.Duration
}

// ours reports whether a taint is one that the controller sets on nodes that
// are not ready.
func ours(taint *corev1.Taint) bool {
	return taint.Effect == corev1.TaintEffectNoExecute &&
		(taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable)
}

// threatened reports whether the API shows a reason for pods to leave.
func (n *node) threatened() bool {
	return n.exists && (n.ready == corev1.ConditionFalse || n.ready == corev1.ConditionUnknown || len(n.noExecute) > 0)
}

// tainted reports whether it has a NoExecute taint of the controller.
func (n *node) tainted() bool {
	return slices.ContainsFunc(n.noExecute, func(s stored) bool { return ours(&s.taint) })
}

// threats returns the taints that make pods leave: those that it has and the
// one that it is to get for its condition.
func (n *node) threats() []corev1.Taint {
	var all []corev1.Taint
	for _, s := range n.noExecute {
		all = append(all, s.taint)
	}
	switch n.ready {
	case corev1.ConditionUnknown:
		all = append(all, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute})
	case corev1.ConditionFalse:
		all = append(all, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute})
	}
	return all
}

// weigh updates what the node counts as, whether it is in trouble, and with it
// whether its zone is.
func (r *Recorder) weigh(n *node) {
	r.tally(n)
	troubled := n.exists && (n.silent || n.threatened())
	if troubled == n.troubled {
		return
	}
	n.troubled = troubled
	if troubled {
		n.district.trouble(r.world.Elapsed(), +1)
	} else {
		n.district.trouble(r.world.Elapsed(), -1)
	}
}

// WroteNode follows a node's object.
func (r *Recorder) WroteNode(write model.NodeWrite) {
	switch {
	case write.Before == nil:
		n := r.nodes[write.After.Name]
		r.enter(n, write.After)
		n.ready = model.ReadyStatus(write.After)
		r.takeTaints(n, write.After.Spec.Taints)
		r.happened(Registered, n)
		r.weigh(n)
	case write.After == nil:
		n := r.nodes[write.Before.Name]
		r.happened(Deleted, n)
		r.leave(n)
	default:
		r.nodeChanged(write)
	}
}

// enter puts a node into the zone of its object.
func (r *Recorder) enter(n *node, object *corev1.Node) {
	n.exists = true
	n.district = r.districtOf(object)
	n.district.join()
}

// leave takes a node out of its zone. Its pods do not count any more: the
// garbage collector takes them.
func (r *Recorder) leave(n *node) {
	n.exists, n.ready, n.noExecute = false, "", nil
	r.weigh(n)
	n.district.nodes--
}

func (r *Recorder) nodeChanged(write model.NodeWrite) {
	before, after := write.Before, write.After
	moved := zoneOf(before) != zoneOf(after)
	was, is := model.ReadyStatus(before), model.ReadyStatus(after)
	if was == is && !moved && len(before.Spec.Taints)+len(after.Spec.Taints) == 0 {
		return // a heartbeat, nearly always
	}
	n := r.nodes[after.Name]
	if moved {
		r.move(n, after)
	}
	threats := n.threats()
	n.ready = is
	if was != is {
		r.readinessChanged(n, write.Call, was, is)
	}
	hadOurs := n.tainted()
	r.takeTaints(n, after.Spec.Taints)
	switch hasOurs := n.tainted(); {
	case write.Call == nil:
	case hasOurs && !hadOurs:
		n.district.tainted.hit(n.name)
		n.district.taintings = append(n.district.taintings, write.Call.SentAt)
		n.district.recent = append(n.district.recent, write.Call.SentAt)
		r.happened(Tainted, n)
	case hadOurs && !hasOurs:
		r.happened(Untainted, n)
	}
	if len(threats) > 0 && !n.threatened() {
		r.spare(n, threats)
	}
	r.weigh(n)
}

// move takes a node to another zone, with its trouble.
func (r *Recorder) move(n *node, object *corev1.Node) {
	n.district.nodes--
	if n.troubled {
		n.troubled = false
		n.district.trouble(r.world.Elapsed(), -1)
	}
	r.enter(n, object)
	r.happened(Moved, n)
}

func (r *Recorder) readinessChanged(n *node, call *network.Call, was, is corev1.ConditionStatus) {
	switch {
	case is == corev1.ConditionUnknown && call != nil:
		n.declared = true
		n.district.declared.hit(n.name)
		if r.lives(n) {
			n.district.living.hit(n.name)
		} else {
			n.district.dead.hit(n.name)
		}
		r.happened(Declared, n)
	case is == corev1.ConditionFalse:
		r.happened(ReportedNotReady, n)
	case is == corev1.ConditionTrue && was != "":
		r.happened(Recovered, n)
	}
}

// lives reports whether a node's kubelet has been up within a grace period.
func (r *Recorder) lives(n *node) bool {
	return r.world.Elapsed()-r.world.Machine(n.name).LastTry < r.simulation.Options().GracePeriod()
}

// takeTaints takes over the NoExecute taints of a node. What was there before
// keeps its time, and so does our taint when the other of the two takes its
// place.
func (r *Recorder) takeTaints(n *node, taints []corev1.Taint) {
	var now []stored
	for i := range taints {
		taint := &taints[i]
		if taint.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		since := r.world.Elapsed()
		for _, old := range n.noExecute {
			if old.taint.Key == taint.Key || ours(&old.taint) && ours(taint) {
				since = min(since, old.since)
			}
		}
		now = append(now, stored{*taint, since})
	}
	n.noExecute = now
}
