package program

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// A Client is the typed client of a kind for the edge of a controller. It is
// used by the jobs of a [Process].
type Client[T Object] struct {
	Kind network.Kind
	// Namespace is that of the objects. Empty is the one that the server chooses.
	Namespace string
}

// An Object is one of the API.
type Object interface {
	runtime.Object
	metav1.Object
}

// do makes a call and returns the object of the answer.
func (c Client[T]) do(ctx context.Context, call network.Call) (T, error) {
	call.Kind, call.Namespace = c.Kind, c.Namespace
	err := send(ctx, &call)
	answer, _ := call.Result().(T)
	return answer, err
}

// Get reads an object.
func (c Client[T]) Get(ctx context.Context, name string, _ metav1.GetOptions) (T, error) {
	return c.do(ctx, network.Call{Verb: network.Get, Name: name})
}

// Create creates an object.
func (c Client[T]) Create(ctx context.Context, object T, _ metav1.CreateOptions) (T, error) {
	return c.do(ctx, network.Call{Verb: network.Create, Name: object.GetName(), Object: object})
}

// Update replaces an object.
func (c Client[T]) Update(ctx context.Context, object T, _ metav1.UpdateOptions) (T, error) {
	return c.do(ctx, network.Call{Verb: network.Update, Name: object.GetName(), Object: object})
}

// Patch changes an object.
func (c Client[T]) Patch(ctx context.Context, name string, kind types.PatchType, data []byte,
	_ metav1.PatchOptions, subresources ...string,
) (T, error) {
	call := network.Call{Verb: network.Patch, Name: name, PatchType: kind, Data: data}
	if len(subresources) > 0 {
		call.Subresource = subresources[0]
	}
	return c.do(ctx, call)
}

// Delete deletes an object.
func (c Client[T]) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	_, err := c.do(ctx, network.Call{
		Verb: network.Delete, Name: name,
		Preconditions: options.Preconditions, GracePeriodSeconds: options.GracePeriodSeconds,
	})
	return err
}

// EvictV1 evicts a pod.
func (c Client[T]) EvictV1(ctx context.Context, eviction *policyv1.Eviction) error {
	call := network.Call{Verb: network.Evict, Name: eviction.Name}
	if options := eviction.DeleteOptions; options != nil {
		call.Preconditions = options.Preconditions
	}
	_, err := c.do(ctx, call)
	return err
}

// Leases is the client of the leases of nodes.
type Leases struct{}

// Get reads a lease.
func (Leases) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	call := network.Call{Verb: network.Get, Kind: network.Leases, Name: name}
	err := send(ctx, &call)
	return call.Lease, err
}

// List reads all of them.
func (Leases) List(ctx context.Context, _ metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	call := network.Call{Verb: network.List, Kind: network.Leases}
	if err := send(ctx, &call); err != nil {
		return nil, err
	}
	return &coordinationv1.LeaseList{Items: call.LeaseList}, nil
}
