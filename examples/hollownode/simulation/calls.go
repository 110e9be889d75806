package simulation

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

// call is a task under way. All that it sends arrives at one moment, because
// each task about a pod is one request.
type call struct {
	task    kubelet.Task
	record  *invariant.Call
	arrived bool
	result  kubelet.Result
}

// callTimeout is that of the runner. A call that has not arrived by then never
// does, because its connection is closed.
const callTimeout = 30 * time.Second

// perform sends a task and takes its result to the fleet.
func (p *process) perform(task kubelet.Task) {
	c := &call{task: task, record: &invariant.Call{Node: task.Node, Decided: p.Now()}, result: kubelet.ResultFailed}
	if task.Pod != nil {
		c.record.Pod, c.record.Seen = task.Pod.UID, p.watches[invariant.Pods].Version()
		p.history.Calls = append(p.history.Calls, c.record)
	}
	p.calls = append(p.calls, c)
	there, back := p.trip(p.faults), p.trip(p.faults)
	if there < callTimeout {
		p.After(there, func() { p.arrive(c) })
	}
	p.After(min(there+back, callTimeout), func() { p.answer(c) })
}

// arrive has the API server do what a call asks for.
func (p *process) arrive(c *call) {
	if c.arrived {
		return
	}
	c.arrived = true
	client := &client{process: p, call: c}
	if p.strikes(p.faults.errors) {
		name := ""
		if c.task.Pod != nil {
			name = c.task.Pod.Name
		}
		client.refusal = p.refusal(name)
	}
	p.client = client
	c.result, _ = p.edge.Perform(context.Background(), c.task)
	p.client = nil
}

// answer takes the result of a call to the fleet, if the process still runs.
func (p *process) answer(c *call) {
	if p.ended {
		return
	}
	c.arrived = true // what is given up does nothing any more
	for i, other := range p.calls {
		if other == c {
			p.calls = append(p.calls[:i], p.calls[i+1:]...)
			break
		}
	}
	p.fleet.Finish(p.Now(), c.task, c.result)
	p.wake()
}

// client sends the requests of one call.
type client struct {
	process *process
	call    *call
	refusal error
}

// do runs a request at the API server, unless something is in its way.
func (c *client) do(what string, request func(s *apiserver.Server, now time.Time) error) error {
	p := c.process
	p.count(what)
	if c.refusal != nil {
		return c.refusal
	}
	p.store.call = c.call.record
	err := request(p.server, p.Now())
	p.store.call = nil
	if p.strikes(p.faults.lost) {
		return p.lostAnswer()
	}
	return err
}

// pods is the client of the pods of a namespace.
type pods struct {
	*client

	namespace string
}

// Patch implements [edge.PodClient].
func (c pods) Patch(_ context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions,
	subresources ...string,
) (*corev1.Pod, error) {
	options := apiserver.WriteOptions{}
	if len(subresources) > 0 {
		options.Subresource = subresources[0]
	}
	return nil, c.do("patch pods/status", func(s *apiserver.Server, now time.Time) error {
		key := apiserver.Key{Namespace: c.namespace, Name: name}
		_, err := s.Patch(now, resourceOf(invariant.Pods), key, kind, data, options)
		return err
	})
}

// Delete implements [edge.PodClient].
func (c pods) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	return c.do("delete pods", func(s *apiserver.Server, now time.Time) error {
		key := apiserver.Key{Namespace: c.namespace, Name: name}
		_, err := s.Delete(now, resourceOf(invariant.Pods), key, options)
		return err
	})
}

// Create implements [edge.PodClient].
func (c pods) Create(_ context.Context, pod *corev1.Pod, _ metav1.CreateOptions) (*corev1.Pod, error) {
	return nil, c.do("create pods", func(s *apiserver.Server, now time.Time) error {
		_, err := s.Create(now, resourceOf(invariant.Pods), c.namespace, pod.DeepCopy(), apiserver.WriteOptions{})
		return err
	})
}
