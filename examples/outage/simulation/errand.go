package simulation

import (
	"context"
	"errors"
	"iter"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/timedqueue"
)

// An errand is an action that a process performs. It runs the edge that the
// real program runs, which waits for the answers of its calls. So that time can
// pass meanwhile it is a coroutine, which stands still in each call. At most
// one of them runs at a time, and none without a caller that waits for it. So a
// run stays the same each time. The next action takes over the coroutine of one
// that is done, whose stack has grown.
type errand struct {
	replica *Replica
	job     timedqueue.Job
	// next lets it run to its next call, or to its end, where there is none.
	next func() (*model.Call, bool)
	stop func()
}

var errStopped = errors.New("the process has ended")

// perform starts an errand.
func (r *Replica) perform(job timedqueue.Job) {
	e := r.freeErrand()
	e.job = job
	r.errands[e] = struct{}{}
	e.goOn()
}

// freeErrand returns an errand without a task.
func (r *Replica) freeErrand() *errand {
	if last := len(r.resting) - 1; last >= 0 {
		e := r.resting[last]
		r.resting = r.resting[:last]
		return e
	}
	e := &errand{replica: r}
	e.next, e.stop = iter.Pull(func(yield func(*model.Call) bool) {
		ctx := context.WithValue(context.Background(), lineKey{}, line(yield))
		for more := true; more; more = yield(nil) {
			e.job.Perform(ctx)
		}
	})
	return e
}

// goOn lets the errand run to its next call or its end.
func (e *errand) goOn() {
	r := e.replica
	for {
		call, _ := e.next()
		if call == nil {
			delete(r.errands, e)
			r.resting = append(r.resting, e)
			r.finished(e.job)
			return
		}
		if r.forbids(call) {
			call.Err = errFenced
			continue
		}
		r.call(call, func(*model.Call) { e.goOn() })
		return
	}
}

// line is how the code in an errand reaches the API server.
type line func(*model.Call) bool

type lineKey struct{}

// call makes a call and returns when it is answered.
func call(ctx context.Context, call *model.Call) error {
	line, ok := ctx.Value(lineKey{}).(line)
	if !ok {
		return errors.New("a call outside an errand")
	}
	if !line(call) {
		return errStopped
	}
	return call.Err
}

// nodes, pods and leases are the typed clients that the edges want.
type (
	nodes  struct{}
	pods   struct{}
	leases struct{}
)

func (nodes) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Node, error) {
	c := model.Call{Verb: model.Get, Kind: model.Nodes, Name: name}
	err := call(ctx, &c)
	return c.Node, err
}

func (nodes) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, _ metav1.PatchOptions,
	subresources ...string) (*corev1.Node, error) {
	c := model.Call{Verb: model.Patch, Kind: model.Nodes, Name: name, PatchType: pt, Data: data,
		Subresource: first(subresources)}
	err := call(ctx, &c)
	return c.Node, err
}

func (pods) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	c := model.Call{Verb: model.Get, Kind: model.Pods, Name: name}
	err := call(ctx, &c)
	return c.Pod, err
}

func (pods) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, _ metav1.PatchOptions,
	subresources ...string) (*corev1.Pod, error) {
	c := model.Call{Verb: model.Patch, Kind: model.Pods, Name: name, PatchType: pt, Data: data,
		Subresource: first(subresources)}
	err := call(ctx, &c)
	return c.Pod, err
}

func (pods) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	return call(ctx, &model.Call{Verb: model.Delete, Kind: model.Pods, Name: name, Preconditions: opts.Preconditions})
}

func (pods) EvictV1(ctx context.Context, eviction *policyv1.Eviction) error {
	c := model.Call{Verb: model.Evict, Kind: model.Pods, Name: eviction.Name}
	if options := eviction.DeleteOptions; options != nil {
		c.Preconditions = options.Preconditions
	}
	return call(ctx, &c)
}

func (leases) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	c := model.Call{Verb: model.Get, Kind: model.Leases, Name: name}
	err := call(ctx, &c)
	return c.Lease, err
}

func (leases) List(ctx context.Context, _ metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	c := model.Call{Verb: model.List, Kind: model.Leases}
	if err := call(ctx, &c); err != nil {
		return nil, err
	}
	return &coordinationv1.LeaseList{Items: c.LeaseList}, nil
}

func first(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[0]
}
