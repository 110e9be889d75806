package rollout

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/ownership"
)

// A PodClient is the pod client of one namespace that an [Executor] calls. The
// typed client of client-go, clientset.CoreV1().Pods(namespace), implements it.
type PodClient interface {
	Create(ctx context.Context, pod *corev1.Pod, opts metav1.CreateOptions) (*corev1.Pod, error)
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Pod, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// ExecutorConfig is what an [Executor] needs.
type ExecutorConfig struct {
	// Pods returns the client of a namespace. Required.
	Pods func(namespace string) PodClient
	// Timeout bounds one task. A creation that is cut off can be retried without
	// harm. Zero means a minute, after which kube-apiserver gives up a request by
	// default.
	Timeout time.Duration
}

const defaultTimeout = time.Minute // --request-timeout of kube-apiserver v1.37

// Validate joins what is wrong with a configuration, as [ErrInvalidConfig].
func (c ExecutorConfig) Validate() error {
	var problems []error
	if c.Pods == nil {
		problems = append(problems,
			fmt.Errorf("%w: ExecutorConfig.Pods is nil, want a function", ErrInvalidConfig))
	}
	if c.Timeout < 0 {
		problems = append(problems, fmt.Errorf("%w: ExecutorConfig.Timeout is %s, want zero or more",
			ErrInvalidConfig, c.Timeout))
	}
	return errors.Join(problems...)
}

// ErrNoTask means that a task has no step, or a creation without a spec.
var ErrNoTask = errors.New("the task says nothing to do")

// ErrOtherOwner means that a task was made for another owner than the one that
// was passed to Act.
var ErrOtherOwner = errors.New("the task is another owner's")

// ErrMutated means that a created pod had another owner, node or revision than
// asked for, because a webhook or a policy mutates pods. The pod was deleted.
var ErrMutated = errors.New("the pod was not created as asked for: something mutates it")

// An Executor performs the tasks of any number of planners. It is safe for
// concurrent use.
type Executor struct {
	config ExecutorConfig
}

// NewExecutor returns an executor. It starts nothing.
func NewExecutor(config ExecutorConfig) (*Executor, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Timeout == 0 {
		config.Timeout = defaultTimeout
	}
	return &Executor{config}, nil
}

// Act performs a task for the set that owns the pods, and returns the result
// for [Planner.Finish]. Of the owner it needs Object and Kind. If the owner has
// a Selector, a pod that the Selector does not match is not created.
//
// A task ends in one of these ways:
//   - A creation is OutcomeDone with the Pod. If there is a pod of its name
//     already, an earlier answer was lost or another process was faster. That
//     pod is returned, in whatever phase it is, if it is of the same set, node
//     and revision and is not being deleted. Otherwise the outcome is
//     OutcomeNameTaken, with the Pod if it is of the same set.
//   - A deletion is OutcomeDone if the API server has accepted it: the pod may
//     take its time. It is OutcomeGone if there was no such pod, or another one
//     with its name.
//   - A refresh is OutcomeDone or OutcomeReleased with the Pod, or OutcomeGone.
//   - Or it is OutcomeRefused or OutcomeFailed, with an Err. A failed creation
//     or deletion may have been done all the same; a retry does it at most
//     once.
//
// Callers can distinguish errors. For example, [apierrors.HasStatusCause] with
// [corev1.NamespaceTerminatingCause] reports that no more pods can be created.
// The planner treats such an error as any other, because the set is soon
// deleted with its namespace.
//
// A task is refused when ctx has ended, or for another owner than the one that
// it names ([ErrOtherOwner]). So is one for an owner that is being deleted
// ([ownership.ErrOwnerGone]). A panic of the client is not recovered; a
// [timedqueue.Dispatcher] does that.
func (e *Executor) Act(ctx context.Context, owner ownership.Owner, task Task) Result {
	if err := errors.Join(mayAct(owner, &task), ctx.Err()); err != nil {
		return Result{Outcome: OutcomeRefused, Err: fmt.Errorf("not tried: %w", err)}
	}
	ctx, cancel := context.WithTimeout(ctx, e.config.Timeout)
	defer cancel()
	c := call{pods: e.config.Pods(owner.Object.GetNamespace()), owner: owner}
	switch {
	case task.Create != nil:
		return c.create(ctx, task.Spec, task.Create)
	case task.Delete != nil:
		return c.delete(ctx, task.Delete)
	}
	return c.refresh(ctx, task.Refresh)
}

// mayAct returns why a task is not to be performed for an owner.
func mayAct(o ownership.Owner, task *Task) error {
	if err := o.ValidateReference(); err != nil {
		return err
	}
	switch {
	case task.Owner != "" && task.Owner != o.Object.GetUID():
		return fmt.Errorf("%w: it is of UID %s, and %s has %s",
			ErrOtherOwner, task.Owner, o, o.Object.GetUID())
	case o.Object.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%s is being deleted: %w", o, ownership.ErrOwnerGone)
	case task.Create != nil && task.Spec == nil,
		task.Create == nil && task.Delete == nil && task.Refresh == nil:
		return ErrNoTask
	}
	return nil
}

// call is what the steps of one task need.
type call struct {
	pods  PodClient
	owner ownership.Owner
}

// failed returns the result of a call that had an error.
func failed(err error) Result {
	if refuses(err) {
		return Result{Outcome: OutcomeRefused, Err: err}
	}
	return Result{Outcome: OutcomeFailed, Err: err}
}

func (c *call) create(ctx context.Context, spec *Spec, step *Creation) Result {
	pod, err := NewPod(c.owner, spec, *step)
	if err != nil {
		err = fmt.Errorf("make pod of %s for node %q: %w", c.owner, step.Node, err)
		return Result{Outcome: OutcomeRefused, Err: err}
	}
	created, err := c.pods.Create(ctx, pod, metav1.CreateOptions{})
	switch {
	case err == nil && c.isAsMade(created, pod):
		return Result{Outcome: OutcomeDone, Pod: created}
	case err == nil:
		return c.undo(ctx, created, step)
	case apierrors.IsAlreadyExists(err):
		return c.resolveTakenName(ctx, pod, step, err)
	}
	return failed(fmt.Errorf("create pod %s for node %s: %w", pod.Name, step.Node, err))
}

// undo deletes a pod that is not as asked for. It counts for no node, so the
// planner would create the next one at once, and so on.
func (c *call) undo(ctx context.Context, created *corev1.Pod, step *Creation) Result {
	uid := &metav1.Preconditions{UID: &created.UID}
	err := c.pods.Delete(ctx, created.Name, metav1.DeleteOptions{Preconditions: uid})
	result := Result{Outcome: OutcomeFailed}
	if err == nil || saysGone(err, created.Name) {
		result.Outcome = OutcomeRefused
	}
	result.Err = errors.Join(
		fmt.Errorf("%w: pod %s for node %s", ErrMutated, created.Name, step.Node), err)
	return result
}

// resolveTakenName reads the pod that has the name of the one to create. If it
// is gone meanwhile, the next attempt can use the same name.
func (c *call) resolveTakenName(
	ctx context.Context, wanted *corev1.Pod, step *Creation, exists error,
) Result {
	met, err := c.pods.Get(ctx, wanted.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		err = fmt.Errorf("create pod %s for node %s: %w, but reading it: %w",
			wanted.Name, step.Node, exists, err)
		return Result{Outcome: OutcomeFailed, Err: err}
	case c.isAsMade(met, wanted):
		return Result{Outcome: OutcomeDone, Pod: met}
	case metav1.IsControlledBy(met, c.owner.Object):
		return Result{Outcome: OutcomeNameTaken, Pod: met} // mostly one that is being deleted
	}
	return Result{Outcome: OutcomeNameTaken}
}

// isAsMade reports whether a creation of the wanted pod has made the other one.
// Of the labels only the revision counts, and what the owner selects: others
// may have been added or changed since.
func (c *call) isAsMade(met, wanted *corev1.Pod) bool {
	return metav1.IsControlledBy(met, c.owner.Object) &&
		(c.owner.Selector == nil || c.owner.ValidateLabels(met.Labels) == nil) &&
		met.DeletionTimestamp == nil &&
		met.Labels[revisionLabel] == wanted.Labels[revisionLabel] &&
		daemon.TargetNode(met) == daemon.TargetNode(wanted)
}

func (c *call) delete(ctx context.Context, step *Deletion) Result {
	pod, uid := step.Pod, step.UID
	err := c.pods.Delete(ctx, pod, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid},
	})
	switch {
	case err == nil:
		return Result{Outcome: OutcomeDone}
	case saysGone(err, pod):
		return Result{Outcome: OutcomeGone}
	case apierrors.IsConflict(err):
		// kube-apiserver v1.37 answers so to the UID of a former pod, but a conflict
		// can have other causes, which pass.
		live, readErr := c.read(ctx, pod, uid)
		if live == nil && readErr == nil {
			return Result{Outcome: OutcomeGone}
		}
		err = errors.Join(err, readErr)
	}
	// A conflict refuses, whatever its read says.
	return failed(fmt.Errorf("delete pod %s with UID %s from node %q: %w", pod, uid, step.Node, err))
}

func (c *call) refresh(ctx context.Context, step *Refresh) Result {
	live, err := c.read(ctx, step.Pod, step.UID)
	switch {
	case err != nil:
		return Result{Outcome: OutcomeFailed, Err: err}
	case live == nil:
		return Result{Outcome: OutcomeGone}
	case !metav1.IsControlledBy(live, c.owner.Object):
		return Result{Outcome: OutcomeReleased, Pod: live}
	}
	return Result{Outcome: OutcomeDone, Pod: live}
}

// read returns the pod with the UID, and nil if there is none. It asks for no
// resourceVersion, so that the answer is not an older one from a cache.
func (c *call) read(ctx context.Context, pod string, uid types.UID) (*corev1.Pod, error) {
	live, err := c.pods.Get(ctx, pod, metav1.GetOptions{})
	switch {
	case err == nil && live.UID == uid:
		return live, nil
	case err == nil, saysGone(err, pod):
		return nil, nil
	}
	return nil, fmt.Errorf("with UID %s: read pod %s: %w", uid, pod, err)
}

// refuses reports whether an error is an answer that proves that nothing was
// done: the request is wrong or too early. A timeout or a server error proves
// nothing.
func refuses(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError &&
		code != http.StatusRequestTimeout
}

// saysGone reports whether the API server itself has no such pod. If another
// 404 counted, a running pod would get a second one next to it.
func saysGone(err error, pod string) bool {
	return ownership.SaysGone(err, string(corev1.ResourcePods), pod)
}
