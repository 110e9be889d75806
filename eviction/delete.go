package eviction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// An Action does one piece of [Work] and reports what came of it. [Delete.Act]
// and the function that [DryRun] returns are actions.
type Action func(ctx context.Context, work Work) Report

// Pods is what [Delete] needs of a pod client of one namespace. The typed client
// of client-go, clientset.CoreV1().Pods(namespace), is one.
type Pods interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Pod, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*corev1.Pod, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// Nodes is what [Delete] needs of a node client, if it confirms.
type Nodes interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Node, error)
}

// DeleteConfig is what [Delete] needs.
type DeleteConfig struct {
	// Pods returns the pod client of a namespace. Required.
	Pods func(namespace string) Pods
	// Confirm, if it is not nil, makes Delete read the pod and its node from the
	// API server and decide again, just before it acts. That costs two calls a pod
	// and closes the gap in which a cache is behind: a taint that was removed
	// before the pod was bound does not evict it.
	Confirm Nodes
}

// Validate reports the first thing that is wrong with the config.
func (c DeleteConfig) Validate() error {
	if c.Pods == nil {
		return fmt.Errorf("%w: DeleteConfig.Pods is nil", ErrInvalidConfig)
	}
	return nil
}

// Delete evicts pods by deleting them, as kube-controller-manager does: it first
// sets the condition DisruptionTarget, so that whoever owns the pod can tell the
// eviction from a failure, then deletes the pod. That is one patch and one
// delete a pod. Both carry the UID, so that a pod that was recreated under its
// name is not touched; after a confirmation both carry the resourceVersion too.
//
// Taking the condition back costs a read and a patch, which carries the
// resourceVersion: the condition may be somebody else's by then.
//
// It is safe for concurrent use.
type Delete struct {
	config DeleteConfig
}

// NewDelete returns a Delete.
func NewDelete(config DeleteConfig) (*Delete, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Delete{config}, nil
}

// DryRun returns an action that does nothing but tell see about each pod that
// would be evicted, once.
func DryRun(see func(Work)) Action {
	return func(_ context.Context, work Work) Report {
		if work.Unmark {
			return Report{Outcome: Unmarked}
		}
		see(work)
		return Report{Outcome: Evicted}
	}
}

const (
	// ReasonTaint is the reason of the condition DisruptionTarget that Delete sets.
	// It is that of kube-controller-manager.
	ReasonTaint = "DeletionByTaintManager"
	// ReasonCalledOff is its reason when Delete has taken it back.
	ReasonCalledOff = "EvictionCalledOff"
)

// Marked reports whether the pod carries the condition that Delete sets.
func Marked(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.DisruptionTarget {
			return c.Status == corev1.ConditionTrue && c.Reason == ReasonTaint
		}
	}
	return false
}

// errWithoutTime is about work that no tracker has handed out.
var errWithoutTime = errors.New("work has no time: At is zero, pass on what Tracker.Start returned")

// Act does what the work says, at the time that is in it.
func (d *Delete) Act(ctx context.Context, work Work) Report {
	if work.At.IsZero() {
		return Report{Outcome: Failed, Err: fmt.Errorf("evict pod %s: %w", work.Pod, errWithoutTime)}
	}
	pods := d.config.Pods(work.Pod.Namespace)
	if work.Unmark {
		return d.unmark(ctx, pods, work)
	}
	preconditions := metav1.Preconditions{UID: &work.Pod.UID}
	if d.config.Confirm != nil {
		live, report := d.confirm(ctx, pods, &work)
		if live == nil {
			return report
		}
		preconditions.ResourceVersion = &live.ResourceVersion
	}
	var marked *corev1.Pod
	if !work.Marked {
		var err error
		if marked, err = d.mark(ctx, pods, work, corev1.ConditionTrue, preconditions.ResourceVersion); err != nil {
			return d.failure(ctx, pods, work, err)
		}
		if marked.DeletionTimestamp != nil {
			return Report{Outcome: AlreadyGone, Pod: marked}
		}
		if preconditions.ResourceVersion != nil {
			preconditions.ResourceVersion = &marked.ResourceVersion
		}
		if work.CalledOff() { // while the API server took its time
			return Report{Outcome: NotDue, Pod: marked}
		}
	}
	if err := pods.Delete(ctx, work.Pod.Name, metav1.DeleteOptions{Preconditions: &preconditions}); err != nil {
		report := d.failure(ctx, pods, work, fmt.Errorf("delete pod %s: %w", work.Pod, err))
		report.Pod = marked // or the next attempt would mark it again
		return report
	}
	return Report{Outcome: Evicted}
}

// confirm reads pod and node and decides again. It returns the pod and brings the
// work up to date when it is still to be done, else it returns what to report.
func (d *Delete) confirm(ctx context.Context, pods Pods, work *Work) (*corev1.Pod, Report) {
	live, err := pods.Get(ctx, work.Pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, Report{Outcome: AlreadyGone}
	}
	if err != nil {
		return nil, Report{Outcome: Failed, Err: fmt.Errorf("read pod %s to confirm its eviction: %w", work.Pod, err)}
	}
	on, err := d.config.Confirm.Get(ctx, work.Node, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, Report{Outcome: Failed, Err: fmt.Errorf("read node %s to confirm the eviction of pod %s: %w", work.Node, work.Pod, err)}
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
func (d *Delete) unmark(ctx context.Context, pods Pods, work Work) Report {
	live, err := pods.Get(ctx, work.Pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return Report{Outcome: AlreadyGone}
	case err != nil:
		return Report{Outcome: Failed, Err: fmt.Errorf("read pod %s to take back its mark: %w", work.Pod, err)}
	case work.gone(live):
		return Report{Outcome: AlreadyGone}
	case !Marked(live):
		return Report{Outcome: Unmarked}
	}
	work.Generation = live.Generation
	unmarked, err := d.mark(ctx, pods, work, corev1.ConditionFalse, &live.ResourceVersion)
	if err != nil {
		return d.failure(ctx, pods, work, err)
	}
	return Report{Outcome: Unmarked, Pod: unmarked}
}

// mark sets the condition DisruptionTarget. A version that is not nil is the only
// one of the pod that it touches.
func (d *Delete) mark(ctx context.Context, pods Pods, work Work, status corev1.ConditionStatus, version *string) (*corev1.Pod, error) {
	patch, err := markPatch(work, status, version)
	if err != nil {
		return nil, err
	}
	marked, err := pods.Patch(ctx, work.Pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return nil, fmt.Errorf("patch condition DisruptionTarget of pod %s: %w", work.Pod, err)
	}
	return marked, nil
}

// failure turns an error of the API into a report. A foreign UID is answered with
// 409 to a delete and with 422 to a patch (seen on v1.37.1), but both can mean
// other things too, which are worth another try. So the pod is read.
func (d *Delete) failure(ctx context.Context, pods Pods, work Work, err error) Report {
	if apierrors.IsNotFound(err) {
		return Report{Outcome: AlreadyGone}
	}
	if apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
		live, readErr := pods.Get(ctx, work.Pod.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(readErr) || readErr == nil && work.gone(live) {
			return Report{Outcome: AlreadyGone}
		}
	}
	return Report{Outcome: Failed, Err: err}
}

// markPatch returns the strategic merge patch, for the status subresource, that
// sets the condition DisruptionTarget. The UID in it makes the API server refuse
// it for another pod, the resourceVersion for another state of the pod.
func markPatch(work Work, status corev1.ConditionStatus, version *string) ([]byte, error) {
	condition := corev1.PodCondition{
		Type:               corev1.DisruptionTarget,
		Status:             status,
		Reason:             ReasonTaint,
		Message:            fmt.Sprintf("Evicted from node %s because of its taint %s.", work.Node, work.Verdict.Taint.ToString()),
		ObservedGeneration: work.Generation,
		LastTransitionTime: metav1.NewTime(work.At),
	}
	if status == corev1.ConditionFalse {
		condition.Reason = ReasonCalledOff
		condition.Message = "The pod need not leave its node any more."
	}
	guard := map[string]any{"uid": work.Pod.UID}
	if version != nil {
		guard["resourceVersion"] = *version
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": guard,
		"status":   map[string]any{"conditions": []map[string]any{asMap(condition)}},
	})
	if err != nil {
		return nil, fmt.Errorf("encode condition patch of pod %s: %w", work.Pod, err)
	}
	return patch, nil
}

// asMap leaves out the fields that this condition does not set: encoded as the
// typed struct it would null what others have written there.
func asMap(c corev1.PodCondition) map[string]any {
	fields := map[string]any{
		"type":               c.Type,
		"status":             c.Status,
		"reason":             c.Reason,
		"message":            c.Message,
		"lastTransitionTime": c.LastTransitionTime,
	}
	if c.ObservedGeneration != 0 {
		fields["observedGeneration"] = c.ObservedGeneration
	}
	return fields
}
