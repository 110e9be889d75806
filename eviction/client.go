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

// prepare does what comes before an eviction, and returns the preconditions for it.
// If there is to be none, it returns what to report.
func (c client) prepare(ctx context.Context, work *Work) (metav1.Preconditions, Report, bool) {
	preconditions := metav1.Preconditions{UID: &work.Pod.UID}
	switch {
	case work.At.IsZero():
		return preconditions, Report{Outcome: Failed, Err: fmt.Errorf("evict pod %s: %w", work.Pod, errWithoutTime)}, false
	case work.Unmark:
		return preconditions, c.unmark(ctx, *work), false
	case c.nodes == nil:
		return preconditions, Report{}, true
	}
	live, report := c.decideAgain(ctx, work)
	if live == nil {
		return preconditions, report, false
	}
	preconditions.ResourceVersion = &live.ResourceVersion
	return preconditions, report, true
}

// decideAgain reads pod and node and decides again. It returns the pod and brings the
// work up to date when it is still to be done, else it returns what to report.
func (c client) decideAgain(ctx context.Context, work *Work) (*corev1.Pod, Report) {
	live, err := c.pods(work.Pod.Namespace).Get(ctx, work.Pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, Report{Outcome: AlreadyGone}
	}
	if err != nil {
		return nil, c.failure(ctx, *work, fmt.Errorf("read pod %s to confirm its eviction: %w", work.Pod, err))
	}
	on, err := c.nodes.Get(ctx, work.Node, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, c.failure(ctx, *work, fmt.Errorf("read node %s to confirm the eviction of pod %s: %w", work.Node, work.Pod, err))
	}
	if err != nil {
		on = nil // a pod of a node that is gone is not ours to evict
	}
	// The time is that at which the work was handed out, a moment ago, or as long ago
	// as a client that limits its rate made us wait. What was due then is due now.
	// What has become due since then, because the live toleration is shorter, is not
	// due yet: the next look, a second later, finds it so. And every time that is
	// compared here comes from the tracker. A clock of our own would add one that may
	// have been set, or that counts by a monotonic reading which the others lack.
	verdict := work.Reconsider(live, on, work.At)
	switch {
	case verdict.Reason == Gone && on != nil:
		return nil, Report{Outcome: AlreadyGone}
	case !verdict.DueAt(work.At):
		return nil, Report{Outcome: NotDue}
	}
	work.Verdict, work.Marked, work.Generation = verdict, Marked(live), live.Generation
	return live, Report{}
}

// unmark takes the condition back. What it would overwrite is read first: another
// manager, the scheduler's preemption say, may be evicting the pod by now, and
// the condition is true for its reason.
func (c client) unmark(ctx context.Context, work Work) Report {
	live, err := c.pods(work.Pod.Namespace).Get(ctx, work.Pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Report{Outcome: AlreadyGone}
	case err != nil:
		return c.failure(ctx, work, fmt.Errorf("read pod %s to take back its mark: %w", work.Pod, err))
	case work.gone(live):
		return Report{Outcome: AlreadyGone}
	case !Marked(live):
		return Report{Outcome: Unmarked}
	}
	work.Generation = live.Generation
	unmarked, err := c.mark(ctx, work, corev1.ConditionFalse, &live.ResourceVersion)
	if err != nil {
		return c.failure(ctx, work, err)
	}
	return Report{Outcome: Unmarked, Pod: unmarked}
}

// mark sets the condition DisruptionTarget. A version that is not nil is the only
// one of the pod that it touches.
func (c client) mark(ctx context.Context, work Work, status corev1.ConditionStatus, version *string) (*corev1.Pod, error) {
	patch, err := markPatch(work, status, version)
	if err != nil {
		return nil, err
	}
	marked, err := c.pods(work.Pod.Namespace).Patch(ctx, work.Pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return nil, fmt.Errorf("patch condition DisruptionTarget of pod %s: %w", work.Pod, err)
	}
	return marked, nil
}

// failure turns an error of the API into a report. A foreign UID is answered with
// 409 to a delete and with 422 to a patch (seen on v1.37.1), but both can mean
// other things too, which are worth another try. So the pod is read.
func (c client) failure(ctx context.Context, work Work, err error) Report {
	if apierrors.IsNotFound(err) {
		return Report{Outcome: AlreadyGone}
	}
	if cause := CauseOf(err); cause == CauseConflict || cause == CauseInvalid {
		live, readErr := c.pods(work.Pod.Namespace).Get(ctx, work.Pod.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(readErr) || readErr == nil && work.gone(live) {
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
