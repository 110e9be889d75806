package eviction

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// client is what [Delete] and [Evict] have in common: the closer look before they
// act, the mark and its taking back, and what an error means.
type client struct {
	pods  func(namespace string) Pods
	nodes Nodes // nil: do not confirm
}

// errWithoutTime is about work that no tracker has handed out.
var errWithoutTime = errors.New("work has no time: At is zero, pass on what Tracker.Start returned")

// look is what a closer look has found: the pod and its node as the API server had
// them, and no pod if there was no such look. The node is nil if it is gone.
type look struct {
	pod  *corev1.Pod
	node *corev1.Node
}

// prepare does what comes before an eviction. If there is to be none, it returns what
// to report.
func (c client) prepare(ctx context.Context, work *Work) (look, Report, bool) {
	switch {
	case work.At.IsZero():
		return look{}, Report{Outcome: Failed, Err: fmt.Errorf("evict pod %s: %w", work.Pod, errWithoutTime)}, false
	case work.Unmark:
		return look{}, c.unmark(ctx, *work), false
	case c.nodes == nil:
		return look{}, Report{}, true
	}
	return c.look(ctx, work)
}

// look reads pod and node and decides again. If the eviction is still to be done, it
// brings the work up to date, else it returns what to report.
func (c client) look(ctx context.Context, work *Work) (look, Report, bool) {
	var seen look
	if report, ok := c.readPod(ctx, work, &seen); !ok {
		return look{}, report, false
	}
	node, err := c.nodes.Get(ctx, work.Node, metav1.GetOptions{})
	if err != nil && !saysGone(err) {
		return look{}, c.failure(ctx, *work, fmt.Errorf("read node %s to confirm the eviction of pod %s: %w", work.Node, work.Pod, err)), false
	}
	if err == nil { // a pod of a node that is gone is not ours to evict
		seen.node = node
	}
	report, ok := seen.decide(work)
	return seen, report, ok
}

func (c client) readPod(ctx context.Context, work *Work, seen *look) (Report, bool) {
	pod, err := c.pods(work.Pod.Namespace).Get(ctx, work.Pod.Name, metav1.GetOptions{})
	if err != nil {
		return c.failure(ctx, *work, fmt.Errorf("read pod %s to confirm its eviction: %w", work.Pod, err)), false
	}
	if work.gone(pod) {
		return Report{Outcome: AlreadyGone}, false
	}
	seen.pod = pod
	return Report{}, true
}

// decide decides again, from what was seen.
//
// The time is that at which the work was handed out, a moment ago, or as long ago
// as a client that limits its rate made us wait. What was due then is due now.
// What has become due since then, because the live toleration is shorter, is not
// due yet: the next look, a second later, finds it so. And every time that is
// compared here comes from the tracker. A clock of our own would add one that may
// have been set, or that counts by a monotonic reading which the others lack.
func (l *look) decide(work *Work) (Report, bool) {
	verdict := work.Reconsider(l.pod, l.node, work.At)
	switch {
	case !verdict.DueAt(work.At):
		return Report{Outcome: NotDue, Reason: verdict.Reason}, false
	case work.CalledOff(): // while the API server took its time
		return Report{Outcome: NotDue}, false
	}
	work.Verdict, work.Marked, work.Generation = verdict, Marked(l.pod), l.pod.Generation
	return Report{}, true
}

// preconditions are those under which an eviction is what was decided.
func (l *look) preconditions(work *Work) *metav1.Preconditions {
	p := &metav1.Preconditions{UID: &work.Pod.UID}
	if l.pod != nil {
		p.ResourceVersion = &l.pod.ResourceVersion
	}
	return p
}

// insist evicts a pod as it was seen. One that somebody else writes to all the time has
// changed since then more often than not: it is read again at once, and alone, so that
// it is as short ago as can be. A wait would not make it hold still, and would grow.
func (c client) insist(ctx context.Context, work *Work, seen *look, evict func(*metav1.Preconditions) error) Report {
	for looks := 0; ; looks++ {
		err := evict(seen.preconditions(work))
		switch {
		case err == nil:
			return Report{Outcome: Evicted}
		case seen.pod == nil || CauseOf(err) != CauseConflict:
			return c.failure(ctx, *work, err)
		case looks == mostLooks:
			report := c.failure(ctx, *work, err)
			report.Wait = turn
			return report
		}
		if report, ok := c.readPod(ctx, work, seen); !ok {
			return report
		}
		if report, ok := seen.decide(work); !ok {
			return report
		}
	}
}

// mostLooks is how often a pod is looked at again before others have their turn, and
// turn how long that is.
const (
	mostLooks = 10
	turn      = time.Second
)

// unmark takes the condition back. What it would overwrite is read first: another
// manager, the scheduler's preemption say, may be evicting the pod by now, and
// the condition is true for its reason.
func (c client) unmark(ctx context.Context, work Work) Report {
	live, err := c.pods(work.Pod.Namespace).Get(ctx, work.Pod.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		return c.failure(ctx, work, fmt.Errorf("read pod %s to take back its mark: %w", work.Pod, err))
	case work.gone(live):
		return Report{Outcome: AlreadyGone}
	case !Marked(live):
		return Report{Outcome: Unmarked}
	}
	patch, err := unmarkPatch(work, live)
	if err != nil {
		return c.failure(ctx, work, err)
	}
	unmarked, err := c.patch(ctx, work, patch)
	if err != nil {
		return c.failure(ctx, work, err)
	}
	return Report{Outcome: Unmarked, Pod: unmarked}
}

// mark sets the condition DisruptionTarget, whatever else of the pod has changed.
func (c client) mark(ctx context.Context, work Work) (*corev1.Pod, error) {
	patch, err := markPatch(work)
	if err != nil {
		return nil, err
	}
	return c.patch(ctx, work, patch)
}

func (c client) patch(ctx context.Context, work Work, patch []byte) (*corev1.Pod, error) {
	patched, err := c.pods(work.Pod.Namespace).Patch(ctx, work.Pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return nil, fmt.Errorf("patch condition DisruptionTarget of pod %s: %w", work.Pod, err)
	}
	return patched, nil
}

// saysGone reports whether the API server says that what was asked for does not exist.
// A 404 can mean other things: a proxy in front of it that knows no such page, a server
// without the Eviction API, a webhook with that code. A pod that was taken for gone then
// would be lost.
func saysGone(err error) bool {
	return apierrors.IsNotFound(err) && CauseOf(err) == CauseOther &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// failure turns an error of the API into a report. A foreign UID is answered with
// 409 to a delete and with 422 to a patch (seen on v1.37.1), but both can mean
// other things too, which are worth another try. So the pod is read.
func (c client) failure(ctx context.Context, work Work, err error) Report {
	if saysGone(err) {
		return Report{Outcome: AlreadyGone}
	}
	if cause := CauseOf(err); cause == CauseConflict || cause == CauseInvalid {
		live, readErr := c.pods(work.Pod.Namespace).Get(ctx, work.Pod.Name, metav1.GetOptions{})
		if saysGone(readErr) || readErr == nil && work.gone(live) {
			return Report{Outcome: AlreadyGone}
		}
	}
	report := Report{Outcome: Failed, Err: err}
	if isBudget(err) {
		report.Outcome = Blocked
	}
	if seconds, asked := apierrors.SuggestsClientDelay(err); asked {
		report.Wait = time.Duration(seconds) * time.Second
	}
	return report
}
