package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/timedqueue"
)

// Heartbeats is the node's half: it renews the leases and reports the status of
// any number of nodes, as a kubelet does for one. It is made for virtual kubelets
// and for fleets of simulated nodes.
//
// A renewal is one call, an Update of the lease as we last wrote it; only when
// somebody else has written it is it read again. A look at a status that has not
// changed is no call. A report is one call, a patch that holds for the Node's UID
// and resource version; when that fails the Node is read again.
//
// A beat that fails is tried again soon, after a random and growing pause of up to
// its interval, and no other beat waits for it, unless all workers hang: each
// beat ends after Timeout. Nodes cost two entries in a heap, not a goroutine or
// timer, and keep the lease and the status that the API server last showed.
//
// When a node was silent, because its gate was shut or its renewals failed for
// LeaseDuration, its status is reported with the next beat: the node lifecycle
// controller will have set Ready to Unknown, and only a report sets it back.
//
// When the API server has no Node of the name, or one with another UID, the
// node's lease is no longer renewed, since it would vouch for somebody else. That
// is found out when a status is written; a node without Status is for the caller
// to Remove. The Node is looked for again as after a failure.
//
// Methods are safe for concurrent use.
type Sender struct {
	config     Config
	schedule   *schedule // touched with dispatcher locked
	dispatcher *timedqueue.Dispatcher[beatTask, beatResult]
	running    atomic.Bool
}

// NewSender returns heartbeats of no nodes. It starts nothing.
func NewSender(config Config) (*Sender, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config = config.withDefaults()
	if config.Rand == nil {
		config.Rand = rand.Float64
	}
	schedule, err := newSchedule(config, time.Now())
	if err != nil {
		return nil, err
	}
	h := &Sender{config: config, schedule: schedule}
	h.dispatcher, err = timedqueue.NewDispatcher(schedule, h.beat, timedqueue.DispatcherConfig{
		Workers: int(beatKinds) * config.Workers, // the schedule shares them out
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Run sends beats until ctx ends, then waits for those under way and returns nil.
// What ctx ends is broken off, so that takes as long as the clients need to
// notice. Leases are left to expire, as the kubelet leaves them. Run may be called
// again after it has returned, but not twice at a time.
//
// A panic in a client or in a function of a node ends Run as well. The error
// then wraps [timedqueue.ErrPanic].
func (h *Sender) Run(ctx context.Context) error {
	if !h.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer h.running.Store(false)
	return h.dispatcher.Run(ctx)
}

// Add makes a node beat, at once when Run runs and from then on. Its Node object
// has to exist: it is the caller who registers nodes. It may be called during
// Run and before. O(log n).
func (h *Sender) Add(node Node) error {
	if err := h.config.validateNode(node); err != nil {
		return err
	}
	added := false
	h.dispatcher.Update(func() { added = h.schedule.add(time.Now(), node, h.config.Leases != nil) })
	if !added {
		return fmt.Errorf("%w: %s", ErrDuplicateNode, node.Name)
	}
	return nil
}

// Remove makes a node fall silent; it reports whether the node was there. The
// lease stays and expires. A beat that is under way may still arrive; the caller
// who removes a node and adds another of its name need not wait for it, since it
// is over before the new node's first beat of the kind begins. O(log n).
func (h *Sender) Remove(name string) (found bool) {
	h.dispatcher.Update(func() { found = h.schedule.remove(name) })
	return found
}

// Changed has a node's status looked at now, and reported if it is other than
// what the API server has. It is for nodes that know when their status changes;
// the others are found out within StatusInterval. When the node's gate was shut,
// it is tried now and the lease renewed too. Changed reports whether the node is
// there, and waits for nothing. O(log n).
func (h *Sender) Changed(name string) (found bool) {
	h.dispatcher.Update(func() { found = h.schedule.changed(time.Now(), name) })
	return found
}

// beat takes one node's task.
func (h *Sender) beat(ctx context.Context, task beatTask) beatResult {
	node := task.item.Value.node
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "node", klog.KRef("", node.Name))
	result := beatResult{started: time.Now(), outcome: outcomeDone}
	limited, cancel := context.WithTimeout(klog.NewContext(ctx, logger), h.config.Timeout)
	defer cancel()

	err := alive(limited, task)
	switch {
	case err != nil:
		result.outcome = outcomeWithheld
	case task.kind == leaseBeat:
		err = h.renew(limited, task.item.Value)
	default:
		result.reported, err = h.report(limited, task)
	}
	if err != nil && result.outcome != outcomeWithheld {
		result.outcome, result.reported = outcomeFailed, notDue
		if errors.Is(err, errNodeGone) {
			result.outcome = outcomeGone
		}
	}
	if ctx.Err() == nil { // a beat that Run's end has broken off says nothing
		logBeat(logger, task, result, err)
		h.count(task, result)
	}
	return result
}

func alive(ctx context.Context, task beatTask) error {
	if task.gone {
		return errNodeGone
	}
	if node := task.item.Value.node; node.Alive != nil {
		return node.Alive(ctx)
	}
	return nil
}

// renew writes the lease. That the lease is still as we wrote it last is
// taken for granted until the API server says otherwise.
func (h *Sender) renew(ctx context.Context, state *record) error {
	if state.lease != nil {
		err := h.updateLease(ctx, state)
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
		state.lease = nil
	}
	lease, err := h.config.Leases.Get(ctx, state.node.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return h.createLease(ctx, state)
	}
	if err != nil {
		return fmt.Errorf("read lease: %w", err)
	}
	state.lease = keptLease(lease)
	return h.updateLease(ctx, state)
}

func (h *Sender) updateLease(ctx context.Context, state *record) error {
	lease := renewedLease(state.lease, state.node, h.config.LeaseDuration, time.Now())
	written, err := h.config.Leases.Update(ctx, lease, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("renew lease: %w", err)
	}
	state.lease = keptLease(written)
	return nil
}

func (h *Sender) createLease(ctx context.Context, state *record) error {
	lease := renewedLease(nil, state.node, h.config.LeaseDuration, time.Now())
	written, err := h.config.Leases.Create(ctx, lease, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create lease: %w", err)
	}
	state.lease = keptLease(written)
	return nil
}

// report looks at the status and writes it when that is due. It returns why it
// has written, notDue when it has not.
func (h *Sender) report(ctx context.Context, task beatTask) (reportCause, error) {
	state := task.item.Value
	desired, err := state.node.Status(ctx)
	if err != nil {
		return notDue, fmt.Errorf("get status: %w", err)
	}
	if err := h.consultCache(state); err != nil {
		return notDue, err
	}
	cause := task.cause
	if cause == notDue {
		changed, err := state.report.changed(&desired)
		if err != nil || !changed {
			return notDue, err
		}
		cause = statusChange
	}
	if state.report.version != "" {
		err := h.patchStatus(ctx, state, &desired)
		if !apierrors.IsConflict(err) {
			return cause, err
		}
	}
	if err := h.readNode(ctx, state); err != nil {
		return notDue, err
	}
	return cause, h.patchStatus(ctx, state, &desired)
}

// consultCache takes in what the cache shows. Before we know anything, a Node of
// the name with another UID may be the one before ours, and counts for nothing.
func (h *Sender) consultCache(state *record) error {
	if h.config.Cache == nil {
		return nil
	}
	known := state.report.version != ""
	node, err := h.config.Cache.Get(state.node.Name)
	if found := err == nil && node != nil; found && !state.report.see(node, state.node.UID) && known {
		return errNodeGone
	}
	return nil // a cache that does not know the node may lag
}

func (h *Sender) readNode(ctx context.Context, state *record) error {
	state.report.forget()
	node, err := h.config.Nodes.Get(ctx, state.node.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", errNodeGone, err)
	}
	if err != nil {
		return fmt.Errorf("read node: %w", err)
	}
	if !state.report.see(node, state.node.UID) {
		return fmt.Errorf("%w: its UID is %s, not %s", errNodeGone, node.UID, state.node.UID)
	}
	return nil
}

func (h *Sender) patchStatus(ctx context.Context, state *record, desired *corev1.NodeStatus) error {
	patch, err := state.report.patch(state.node.UID, desired, time.Now())
	if err != nil {
		return fmt.Errorf("compute status patch: %w", err)
	}
	node, err := h.config.Nodes.Patch(ctx, state.node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", errNodeGone, err)
	}
	if err != nil {
		return fmt.Errorf("patch status: %w", err)
	}
	return state.report.answered(node, desired)
}

func (h *Sender) count(task beatTask, result beatResult) {
	metrics, late := h.config.Metrics, time.Since(task.item.Due)
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

// logBeat says the first failure in a row aloud and the rest under -v=4: when
// the API server is away, every node fails every few seconds.
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
