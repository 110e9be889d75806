package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// actor performs the tasks of a schedule: it calls gates, renews leases and
// reports statuses.
type actor struct {
	// config has no timeouts if the caller's context alone ends a task.
	config Config
	now    func() time.Time
}

func (a actor) act(ctx context.Context, task beatTask) beatResult {
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "node", klog.KRef("", task.node().Name))
	ctx = klog.NewContext(ctx, logger)
	if task.call != nil {
		return a.callGate(ctx, task.call)
	}
	result, err := a.beat(ctx, task)
	if ctx.Err() == nil { // the end of Run is no failure
		logBeat(logger, task, result, err)
		a.count(task, result)
	}
	return result
}

// callGate calls a node's gate. An answer after GateTimeout does not count,
// because the node may have died meanwhile.
func (a actor) callGate(ctx context.Context, call *gateCall) beatResult {
	limited, cancel := limit(ctx, a.config.GateTimeout)
	defer cancel()
	err := call.record.node.Alive(limited)
	result := beatResult{started: call.began, outcome: outcomeDone, err: err}
	switch {
	case ctx.Err() == nil && limited.Err() != nil:
		result.outcome = outcomeHung
	case err != nil:
		result.outcome = outcomeWithheld
	}
	return result
}

// limit returns a context that ends after a time. Zero means no timeout.
func limit(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}

func (a actor) beat(ctx context.Context, task beatTask) (beatResult, error) {
	result := beatResult{started: a.now(), outcome: outcomeDone}
	if task.withheld != nil {
		result.outcome = outcomeWithheld
		return result, task.withheld
	}
	limited, cancel := limit(ctx, a.config.Timeout)
	defer cancel()
	var err error
	if task.kind == leaseBeat {
		err = a.renew(limited, task.item.Value)
	} else {
		result.reported, err = a.report(limited, task)
	}
	if err != nil {
		result.outcome, result.reported = outcomeFailed, notDue
		if errors.Is(err, errNodeGone) {
			result.outcome = outcomeGone
		}
	}
	return result, err
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
	metrics, late := a.config.Metrics, a.now().Sub(task.due)
	lease := task.kind == leaseBeat
	switch {
	case result.outcome == outcomeWithheld && lease:
		metrics.LeaseWithheld()
	case result.outcome == outcomeWithheld:
		metrics.StatusWithheld()
	case result.outcome != outcomeDone && lease:
		metrics.LeaseFailed()
	case result.outcome != outcomeDone:
		metrics.StatusFailed()
	case lease:
		metrics.LeaseRenewed(late)
	case result.reported != notDue:
		metrics.StatusReported(late)
	}
}

// logBeat logs the first failure in a row always and the rest under -v=4.
// During an outage of the API server, every node fails every few seconds.
func logBeat(logger klog.Logger, task beatTask, result beatResult, err error) {
	what := [beatKinds]string{"lease", "status"}[task.kind]
	first := task.failures == 0
	switch {
	case err == nil && !first:
		logger.V(2).Info("Heartbeat is back", "what", what, "failures", task.failures)
	case err == nil && result.reported != notDue:
		logger.V(5).Info("Reported node status", "cause", result.reported)
	case err == nil:
	case !first:
		logger.V(4).Info("Heartbeat failed again", "what", what, "failures", task.failures+1, "err", err)
	case result.outcome == outcomeWithheld:
		logger.Info("Node is not alive, heartbeat withheld", "what", what, "err", err)
	default:
		logger.Error(err, "Heartbeat failed, will retry", "what", what)
	}
}
