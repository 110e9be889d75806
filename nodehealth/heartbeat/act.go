package heartbeat

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/timedqueue"
)

// actor performs the tasks of a schedule: it renews leases and reports
// statuses.
type actor struct {
	// config has no Timeout if the caller's context alone ends a task.
	config Config
	now    func() time.Time
}

func (a actor) act(ctx context.Context, task beatTask) beatResult {
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "node", klog.KRef("", task.item.Key))
	ctx = klog.NewContext(ctx, logger)
	result := a.beat(ctx, task)
	if ctx.Err() == nil { // the end of Run is no failure
		logBeat(logger, task, result)
		a.count(task, result)
	}
	return result
}

func (a actor) beat(ctx context.Context, task beatTask) beatResult {
	result := beatResult{started: a.now(), outcome: timedqueue.OutcomeDone}
	if task.withheld != nil {
		result.outcome, result.err = timedqueue.OutcomePostponed, task.withheld
		return result
	}
	if a.config.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, a.config.Timeout)
		defer cancel()
		ctx = limited
	}
	if task.kind == leaseBeat {
		result.err = a.renew(ctx, task.item.Value)
	} else {
		result.reported, result.err = a.report(ctx, task)
	}
	if result.err != nil {
		result.outcome, result.reported = timedqueue.OutcomeFailed, notDue
	}
	return result
}

// renew writes the lease. It assumes that the lease is as we last wrote it,
// unless the API server refuses that.
func (a actor) renew(ctx context.Context, r *record) error {
	if r.lease != nil {
		err := a.updateLease(ctx, r)
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
		r.lease = nil
	}
	lease, err := a.config.Leases.Get(ctx, r.node.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return a.createLease(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("read lease: %w", err)
	}
	r.lease = keptLease(lease)
	return a.updateLease(ctx, r)
}

func (a actor) updateLease(ctx context.Context, r *record) error {
	lease := renewedLease(r.lease, r.node, a.config.LeaseDuration, a.now())
	written, err := a.config.Leases.Update(ctx, lease, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("renew lease: %w", err)
	}
	r.lease = keptLease(written)
	return nil
}

func (a actor) createLease(ctx context.Context, r *record) error {
	lease := renewedLease(nil, r.node, a.config.LeaseDuration, a.now())
	written, err := a.config.Leases.Create(ctx, lease, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create lease: %w", err)
	}
	r.lease = keptLease(written)
	return nil
}

// report checks the status and writes it when that is due. It returns why the
// status was written, or notDue.
func (a actor) report(ctx context.Context, task beatTask) (reportCause, error) {
	r := task.item.Value
	desired, err := r.node.Status(ctx)
	if err != nil {
		return notDue, fmt.Errorf("get status: %w", err)
	}
	if err := a.consultCache(r); err != nil {
		return notDue, err
	}
	cause := task.cause
	if cause == notDue {
		changed, err := r.report.changed(&desired)
		if err != nil || !changed {
			return notDue, err
		}
		cause = statusChange
	}
	if r.report.version != "" {
		err := a.patchStatus(ctx, r, &desired)
		if !apierrors.IsConflict(err) {
			return cause, err
		}
	}
	if err := a.readNode(ctx, r); err != nil {
		return notDue, err
	}
	return cause, a.patchStatus(ctx, r, &desired)
}

// consultCache records the Node in the cache. Until we know our Node, one with
// another UID is ignored, because it may be the former Node of the name.
func (a actor) consultCache(r *record) error {
	if a.config.Cache == nil {
		return nil
	}
	known := r.report.version != ""
	node, err := a.config.Cache.Get(r.node.Name)
	if found := err == nil && node != nil; found && !r.report.observe(a.now(), node, r.node.UID) && known {
		return errNodeGone
	}
	return nil // a cache that does not know the node may lag
}

func (a actor) readNode(ctx context.Context, r *record) error {
	r.report.forget()
	node, err := a.config.Nodes.Get(ctx, r.node.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", errNodeGone, err)
	}
	if err != nil {
		return fmt.Errorf("read node: %w", err)
	}
	now := a.now()
	if !r.report.observe(now, node, r.node.UID) {
		return fmt.Errorf("%w: its UID is %s, not %s", errNodeGone, node.UID, r.node.UID)
	}
	r.report.answeredAt = now
	return nil
}

func (a actor) patchStatus(
	ctx context.Context, r *record, desired *corev1.NodeStatus,
) error {
	patch, err := r.report.patch(r.node.UID, desired, a.now())
	if err != nil {
		return fmt.Errorf("compute status patch: %w", err)
	}
	node, err := a.config.Nodes.Patch(
		ctx, r.node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", errNodeGone, err)
	}
	if err != nil {
		return fmt.Errorf("patch status: %w", err)
	}
	return r.report.answered(a.now(), node, desired)
}

func (a actor) count(task beatTask, result beatResult) {
	metrics, late := a.config.Metrics, a.now().Sub(task.item.Due)
	lease := task.kind == leaseBeat
	switch {
	case task.withheld != nil && lease:
		metrics.LeaseWithheld()
	case task.withheld != nil:
		metrics.StatusWithheld()
	case result.err != nil && lease:
		metrics.LeaseFailed()
	case result.err != nil:
		metrics.StatusFailed()
	case lease:
		metrics.LeaseRenewed(late)
	case result.reported != notDue:
		metrics.StatusReported(late)
	}
}

// logBeat logs the first failure in a row always and the rest under -v=4.
// During an outage of the API server, every node fails every few seconds.
func logBeat(logger klog.Logger, task beatTask, result beatResult) {
	what := [beatKinds]string{"lease", "status"}[task.kind]
	switch {
	case task.withheld != nil:
		logger.V(2).Info("Heartbeats are withheld", "what", what, "reason", task.withheld)
	case result.err == nil && task.failures > 0:
		logger.V(2).Info("Heartbeat is back", "what", what, "failures", task.failures)
	case result.err == nil && result.reported != notDue:
		logger.V(5).Info("Reported node status", "cause", result.reported)
	case result.err == nil:
	case task.failures > 0:
		logger.V(4).Info(
			"Heartbeat failed again", "what", what, "failures", task.failures+1, "err", result.err)
	default:
		logger.Error(result.err, "Heartbeat failed, will retry", "what", what)
	}
}
