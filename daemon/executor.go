package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/ownership"
)

// Pods is what an [Executor] needs of a pod client of one namespace. The typed client
// of client-go, clientset.CoreV1().Pods(namespace), is one.
type Pods interface {
	Create(ctx context.Context, pod *corev1.Pod, opts metav1.CreateOptions) (*corev1.Pod, error)
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*corev1.Pod, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// ExecutorConfig is what an [Executor] needs.
type ExecutorConfig struct {
	// Pods returns the client of a namespace. Required.
	Pods func(namespace string) Pods
	// Parallel is how many steps of a plan are carried out at a time. Zero means 32: a
	// thousand pods a second, if a creation takes 30 ms. The client's own rate limit may
	// be lower, and counts.
	Parallel int
	// Timeout is how long one step may take. A creation that is cut off can be tried
	// again without harm. Zero means a minute, after which kube-apiserver, unless told
	// otherwise, gives a request up itself.
	Timeout time.Duration
}

const (
	defaultParallel = 32
	defaultTimeout  = time.Minute // --request-timeout of kube-apiserver v1.37
)

// Validate returns what is wrong with a configuration, as [ErrInvalidConfig].
func (c ExecutorConfig) Validate() error {
	var problems []error
	if c.Pods == nil {
		problems = append(problems, fmt.Errorf("%w: ExecutorConfig.Pods is nil", ErrInvalidConfig))
	}
	if c.Parallel < 0 {
		problems = append(problems, fmt.Errorf("%w: ExecutorConfig.Parallel is %d, want zero or more", ErrInvalidConfig, c.Parallel))
	}
	if c.Timeout < 0 {
		problems = append(problems, fmt.Errorf("%w: ExecutorConfig.Timeout is %s, want zero or more", ErrInvalidConfig, c.Timeout))
	}
	return errors.Join(problems...)
}

// ErrOtherOwner means that a plan was made for another owner than the one that it was to be
// carried out for.
var ErrOtherOwner = errors.New("the plan is another owner's")

// ErrRewritten means that a pod was made, and is not the owner's, or not for the node, or
// not of the revision: a webhook or a policy changes what is created. It was deleted.
var ErrRewritten = errors.New("the pod was not made as it was asked for: something rewrites it")

// An Executor carries out plans, of any number of sets. It is safe for concurrent use.
type Executor struct {
	config ExecutorConfig
}

// NewExecutor returns an executor. It starts nothing.
func NewExecutor(config ExecutorConfig) (*Executor, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Parallel == 0 {
		config.Parallel = defaultParallel
	}
	if config.Timeout == 0 {
		config.Timeout = defaultTimeout
	}
	return &Executor{config}, nil
}

// Execute carries out a plan for the set that owns the pods, and returns when nothing of
// it is under way any more. Of the owner it needs Object and Kind, and the Selector, if it
// has one: what that does not select is not made. There is one result for each step,
// creations first, then deletions, then looks, in the order of the plan; pass each on to
// [Planner.Report]. The error joins those of the results.
//
// A step ends in one of these ways:
//   - A creation has a Pod, the one that it made. If there is one of its name already,
//     the answer to a former try was lost or another process was faster: that one is
//     returned, in whatever phase it is, if it is of the same set, node and revision and
//     is not being deleted. Otherwise the name is Taken, and the Pod that has it is
//     returned if it is of the same set.
//   - A deletion has nothing if the API server has agreed: the pod may take its time.
//     Gone says that there was no such pod, or that it was another with its name.
//   - A look has the Pod, which may be Released, or Gone.
//   - Or it has an Err. It is Refused if the API server has said so, or was not asked.
//     Otherwise a creation or deletion may have been done all the same. Trying again
//     does it at most once.
//
// Errors can be told apart: with [apierrors.HasStatusCause] and
// [corev1.NamespaceTerminatingCause], for one, it is known that no more pods can be
// made. They count like others here: a namespace under deletion takes its set with it
// soon, and until then the planner's waits are right.
//
// Steps that are not begun when ctx ends are not tried, and have its error. Nor are those
// of a plan that is another owner's ([ErrOtherOwner]), or of an owner that is being deleted
// ([ownership.ErrOwnerGone]). A panic of the client is not caught.
func (e *Executor) Execute(ctx context.Context, owner ownership.Owner, plan Plan) ([]Result, error) {
	return e.execute(ctx, owner, plan, func(*Result) {})
}

// ExecuteEach carries out a plan as [Executor.Execute] does, and calls ended with the result
// of each step when that step ends, so that one slow call does not delay what the others
// make possible. Only one call of ended is made at a time, on any goroutine. All are made
// before ExecuteEach returns.
func (e *Executor) ExecuteEach(ctx context.Context, owner ownership.Owner, plan Plan, ended func(Result)) error {
	var one sync.Mutex
	_, err := e.execute(ctx, owner, plan, func(result *Result) {
		one.Lock()
		defer one.Unlock()
		ended(*result)
	})
	return err
}

func (e *Executor) execute(ctx context.Context, owner ownership.Owner, plan Plan, ended func(*Result)) ([]Result, error) {
	results := steps(&plan)
	x := execution{timeout: e.config.Timeout, owner: owner, spec: &plan.Spec}
	if x.unfit = mayExecute(owner, &plan); x.unfit == nil {
		x.pods = e.config.Pods(owner.Object.GetNamespace())
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(e.config.Parallel, len(results)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(results)); i = next.Add(1) - 1 {
				x.carryOut(ctx, &results[i])
				ended(&results[i])
			}
		})
	}
	workers.Wait()
	var problems []error
	for i := range results {
		problems = append(problems, results[i].Err)
	}
	return results, errors.Join(problems...)
}

// mayExecute returns why a plan is not to be carried out for an owner.
func mayExecute(o ownership.Owner, plan *Plan) error {
	if err := o.ValidateReference(); err != nil {
		return err
	}
	switch {
	case plan.Owner != "" && plan.Owner != o.Object.GetUID():
		return fmt.Errorf("%w: it is of UID %s, and %s has %s", ErrOtherOwner, plan.Owner, o, o.Object.GetUID())
	case o.Object.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%s is being deleted: %w", o, ownership.ErrOwnerGone)
	}
	return nil
}

// steps returns the results that are to be filled in.
func steps(plan *Plan) []Result {
	results := make([]Result, 0, len(plan.Create)+len(plan.Delete)+len(plan.Look))
	for i := range plan.Create {
		results = append(results, Result{Create: &plan.Create[i]})
	}
	for i := range plan.Delete {
		results = append(results, Result{Delete: &plan.Delete[i]})
	}
	for i := range plan.Look {
		results = append(results, Result{Look: &plan.Look[i]})
	}
	return results
}

// execution is what the steps of one plan share.
type execution struct {
	pods    Pods
	timeout time.Duration
	owner   ownership.Owner
	spec    *Spec
	unfit   error // why nothing can be done for this owner
}

func (x *execution) carryOut(ctx context.Context, result *Result) {
	if err := errors.Join(x.unfit, ctx.Err()); err != nil {
		result.Err, result.Refused = fmt.Errorf("not tried: %w", err), true
		return
	}
	ctx, cancel := context.WithTimeout(ctx, x.timeout)
	defer cancel()
	switch {
	case result.Create != nil:
		x.create(ctx, result)
	case result.Delete != nil:
		x.delete(ctx, result)
	case result.Look != nil:
		x.look(ctx, result)
	}
}

func (x *execution) create(ctx context.Context, result *Result) {
	pod, err := NewPod(x.owner, x.spec, *result.Create)
	if err != nil {
		result.Err = fmt.Errorf("make pod of %s for node %q: %w", x.owner, result.Create.Node, err)
		result.Refused = true
		return
	}
	created, err := x.pods.Create(ctx, pod, metav1.CreateOptions{})
	switch {
	case err == nil && x.isAsMade(created, pod):
		result.Pod = created
	case err == nil:
		x.undo(ctx, created, result)
	case apierrors.IsAlreadyExists(err):
		x.meet(ctx, pod, err, result)
	default:
		result.Err = fmt.Errorf("create pod %s for node %s: %w", pod.Name, result.Create.Node, err)
		result.Refused = refuses(err)
	}
}

// undo deletes a pod that is not what was asked for, because something rewrites what is
// created: it counts for no node, and the next one would be made at once, and the next.
func (x *execution) undo(ctx context.Context, created *corev1.Pod, result *Result) {
	err := x.pods.Delete(ctx, created.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &created.UID}})
	result.Refused = err == nil || saysGone(err, created.Name)
	result.Err = errors.Join(fmt.Errorf("%w: pod %s for node %s", ErrRewritten, created.Name, result.Create.Node), err)
}

// meet looks at the pod that has the name of one that was to be made. If it is gone
// meanwhile, the same name will do next time.
func (x *execution) meet(ctx context.Context, wanted *corev1.Pod, exists error, result *Result) {
	met, err := x.pods.Get(ctx, wanted.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		result.Err = fmt.Errorf("create pod %s for node %s: %w, but reading it: %w", wanted.Name, result.Create.Node, exists, err)
	case x.isAsMade(met, wanted):
		result.Pod = met
	default:
		result.Taken = true
		if metav1.IsControlledBy(met, x.owner.Object) {
			result.Pod = met // one that is being deleted, mostly: the next has to wait for it
		}
	}
}

// isAsMade says whether a pod is one that a creation of the wanted one has made. Of
// labels the revision counts, and what the owner selects: others may have been added or
// changed since.
func (x *execution) isAsMade(met, wanted *corev1.Pod) bool {
	return metav1.IsControlledBy(met, x.owner.Object) &&
		(x.owner.Selector == nil || x.owner.ValidateLabels(met.Labels) == nil) &&
		met.DeletionTimestamp == nil &&
		met.Labels[revisionLabel] == wanted.Labels[revisionLabel] &&
		TargetNode(met) == TargetNode(wanted)
}

func (x *execution) delete(ctx context.Context, result *Result) {
	pod, uid := result.Delete.Pod, result.Delete.UID
	err := x.pods.Delete(ctx, pod, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	switch {
	case err == nil:
		return
	case saysGone(err, pod):
		result.Gone = true
		return
	case apierrors.IsConflict(err):
		// kube-apiserver v1.37 answers so to the UID of a former pod, but a conflict can
		// mean other things, which pass.
		live, readErr := x.read(ctx, pod, uid)
		if live == nil && readErr == nil {
			result.Gone = true
			return
		}
		err = errors.Join(err, readErr)
	}
	result.Err = fmt.Errorf("delete pod %s with UID %s from node %q: %w", pod, uid, result.Delete.Node, err)
	result.Refused = refuses(err) // a conflict does, whatever its read says
}

func (x *execution) look(ctx context.Context, result *Result) {
	live, err := x.read(ctx, result.Look.Pod, result.Look.UID)
	result.Pod, result.Err = live, err
	result.Gone = live == nil && err == nil
	result.Released = live != nil && !metav1.IsControlledBy(live, x.owner.Object)
}

// read returns the pod with the UID, and nil if there is none. It asks for no
// resourceVersion, so that the answer is not an older one from a cache.
func (x *execution) read(ctx context.Context, pod string, uid types.UID) (*corev1.Pod, error) {
	live, err := x.pods.Get(ctx, pod, metav1.GetOptions{})
	switch {
	case err == nil && live.UID == uid:
		return live, nil
	case err == nil, saysGone(err, pod):
		return nil, nil
	}
	return nil, fmt.Errorf("read pod %s with UID %s: %w", pod, uid, err)
}

// refuses says whether an error is an answer that says that nothing was done: one that
// finds fault with the request, or asks to come back later, and not one about time that
// has run out or a server that has failed.
func refuses(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}

// saysGone says whether it is the API server that knows of no such pod. A 404 can be
// another's: of a proxy that is not ready, a webhook, a path that the server does not
// serve. A pod taken for gone would get a second one beside it. The API server names
// what it did not find; client-go, which fills the name in for answers that do not come
// from one, leaves a cause that says so.
func saysGone(err error, pod string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == string(corev1.ResourcePods) && details.Name == pod &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
