package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

// staleness counts what shows that the caches are behind the API server.
type staleness struct {
	// refused counts the writes that the API server has refused because the object
	// is not the one that they were computed from, or is gone.
	refused int
	// stale counts the live reads after them that have shown what the watch had
	// not.
	stale int
	// pods are those that have to be read before they are marked.
	pods map[types.UID]struct{}
}

// Refused returns how many writes to nodes and pods the API server has refused
// because the object is not the one that they were computed from, or is gone.
func (c *Controller) Refused() int { return c.staleness.refused }

// Stale returns how many live reads after a refused write have shown a node or
// pod that the watch had not.
func (c *Controller) Stale() int { return c.staleness.stale }

// isRefusal reports whether the API server has refused a write because the
// object is not the one that it was computed from, or is gone.
func isRefusal(err error) bool {
	return taints.IsStale(err) || isOfAnother(err) || eviction.SaysGone(err)
}

// isOfAnother reports whether the API server has refused a patch of labels
// because the object has another UID, which would change. Other patches test the
// UID; see taints.IsStale.
func isOfAnother(err error) bool {
	cause, is := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
	return is && cause.Field == "metadata.uid"
}

// noteNodeRefusal records that a write to a node has failed, if it was refused.
// The watch is given a moment to show why. Then the node is read from the API
// server, before anything is written to it: a watch that has stalled shows
// nothing for ever. The node has to be planned again.
func (c *Controller) noteNodeRefusal(now time.Time, n *node, err error) {
	if !isRefusal(err) {
		return
	}
	c.staleness.refused++
	if !n.mustRead() {
		n.readAt = now.Add(c.config.Backoff.Delay(0))
	}
}

// accepted records that the API server has accepted a write of ours, unless it
// has not.
func (n *node) accepted(now time.Time, err error) {
	if n != nil && err == nil {
		n.wroteAt = now
	}
}

// mustRead reports whether a node has to be read before anything is written to
// it.
func (n *node) mustRead() bool { return !n.readAt.IsZero() }

// longestReadFirst bounds how long pods stay on a node that has to be read
// before they are evicted, when that fails. A node is not read again for that
// for as long: one whose kubelet sends heartbeats and reports nothing would keep
// its pods.
const longestReadFirst = 10 * time.Second

// readsFirst reports whether a node has to be read before a pod leaves it. It
// has if it was declared, which makes the pod leave, and is heard again. Its
// kubelet has written that down by now, or is about to, and the watch may have
// stalled.
func (c *Controller) readsFirst(now time.Time, task eviction.Task) bool {
	n := c.nodes[task.Node]
	if n == nil || n.ready != corev1.ConditionUnknown || c.isSilent(n) || !leavesForUs(task.Decision) {
		return false
	}
	if n.mustRead() {
		return now.Sub(n.readAt) < longestReadFirst
	}
	last, _ := c.health.LastHeartbeat(task.Node)
	if !last.After(latest(n.wroteAt, n.lastRead)) || now.Sub(n.lastRead) < longestReadFirst {
		return false
	}
	n.readAt = now
	c.replan(now, n)
	return true
}

// leavesForUs reports whether a pod leaves because its node is not ready.
func leavesForUs(d eviction.Decision) bool {
	return d.Reason == eviction.ReasonNodeEvicted ||
		d.Leaves() && d.Reason != eviction.ReasonRequested && taints.OwnsNoExecute(&d.Taint.Taint)
}

// nodeRead takes the result of NodeActionRead.
func (c *Controller) nodeRead(now time.Time, read NodeChange, result Result[*corev1.Node]) {
	err := result.failure()
	if err == nil {
		c.observeReadNode(now, read, result.Object)
	}
	c.enter(read.item.Value, resting)
	c.writes.Finish(now, read.item, c.resultOfRead(now, err))
	n, known := c.nodes[read.item.Key]
	if !known {
		return
	}
	c.resumeTurn(n)
	c.resumeDeclaration(n)
	c.plan(now, n)
}

// observeReadNode takes a node as a live read has shown it. It may be another
// one of that name. Only the watch says that a node is gone.
func (c *Controller) observeReadNode(now time.Time, read NodeChange, live *corev1.Node) {
	n, known := c.nodes[live.Name]
	if !known {
		return
	}
	n.readAt, n.lastRead = time.Time{}, now
	if !isNews(n.object, read.Node, live) {
		return
	}
	c.staleness.stale++
	if n.object != live {
		c.ObserveNode(now, live)
	}
	if read.silent && !c.nodes[live.Name].silence.lasts() {
		c.reads.refuted++
	}
}

// isNews reports whether a live read has shown what the watch has not. It is
// newer than what was known when it began, whatever the versions are: a restore
// of the API server's store sets them back.
func isNews(known, before, live metav1.Object) bool {
	version := known.GetResourceVersion()
	if known == live { // it was observed when it was returned
		version = before.GetResourceVersion()
	}
	if live.GetResourceVersion() == version {
		return false
	}
	return version == before.GetResourceVersion() || older(version, live.GetResourceVersion())
}

// resultOfRead is the result of a live read. What comes next is computed from
// what was read. An object that is gone may be created again before the watch
// shows either.
func (c *Controller) resultOfRead(now time.Time, err error) timedqueue.Result {
	switch {
	case err == nil:
		return timedqueue.Result{Outcome: timedqueue.OutcomePostponed, At: now}
	case eviction.SaysGone(err):
		return timedqueue.Result{Outcome: timedqueue.OutcomeFailed, RetryAfter: c.config.Backoff.Longest()}
	}
	return timedqueue.Result{Outcome: timedqueue.OutcomeFailed}
}

// resumeDeclaration lets a silent node be declared that had to be read first.
func (c *Controller) resumeDeclaration(n *node) {
	if item, waits := c.declarations.Get(n.object.Name); waits && item.Due.IsZero() {
		c.declarations.Set(n.object.Name, n, n.silence.since)
	}
}

// notePodRefusal records that the mark of a pod has failed, if it was refused.
// The pod is read before it is marked again.
func (c *Controller) notePodRefusal(pod *corev1.Pod, err error) {
	if isRefusal(err) {
		c.staleness.refused++
		c.staleness.pods[PodID(pod)] = struct{}{}
	}
}

// podRead takes the result of PodActionRead. Another pod of that name waits for
// the watch, like one that is gone.
func (c *Controller) podRead(now time.Time, read PodMark, result Result[*corev1.Pod]) {
	id, live, err := PodID(read.Pod), result.Object, result.failure()
	if err == nil && PodID(live) != id {
		err = apierrors.NewNotFound(corev1.Resource("pods"), live.Name)
	}
	p, known := c.pods[id]
	if known && err == nil {
		delete(c.staleness.pods, id)
		if isNews(p.object, read.Pod, live) {
			c.staleness.stale++
			if p.object != live {
				c.ObservePod(now, live)
			}
		}
	}
	c.marks.Finish(now, read.item, c.resultOfRead(now, err))
	if p, known = c.pods[id]; !known {
		return
	}
	if n := c.nodes[p.object.Spec.NodeName]; n != nil {
		c.planMark(now, n, p)
	}
}
