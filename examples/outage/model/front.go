package model

import (
	"fmt"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// front is the world as the network's server: it answers calls.
type front struct{ *World }

var _ network.Server = front{}

// Process does what a call asks for.
func (f front) Process(call *network.Call) {
	f.server.store.call = call
	switch call.Kind {
	case network.LeaderLease:
		f.lock(call)
	case network.Leases:
		f.lease(call)
	default:
		f.object(call)
	}
	f.server.store.call = nil
}

// Number returns that of a machine, for its node and its lease.
func (f front) Number(kind network.Kind, name string) int {
	if kind != network.Nodes && kind != network.Leases {
		return 0
	}
	if m := f.machine[name]; m != nil {
		return m.number + 1
	}
	return 0
}

// Lens shows leases, which are kept small.
func (front) Lens(kind network.Kind) network.Lens {
	if kind == network.Leases {
		return new(leaseLens)
	}
	return nil
}

// All returns what there is of a kind.
func (f front) All(kind network.Kind) network.Listing {
	list := network.Listing{Version: f.server.store.Version()}
	switch kind {
	case network.Leases:
		list.Objects = f.leases()
	case network.LeaderLease:
		list.Objects = []network.Change{{Kind: kind, Object: f.server.lock}}
	default:
		list.Objects = f.objects(kind)
	}
	return list
}

// objects returns those of a kind that the rules are for, by name.
func (f front) objects(kind network.Kind) []network.Change {
	objects := sortedByName[network.Object](f.server.store, kind.Resource())
	all := make([]network.Change, len(objects))
	for i, object := range objects {
		name := object.GetName()
		all[i] = network.Change{Kind: kind, Name: name, Number: f.Number(kind, name), Object: object}
	}
	return all
}

// object does what a call asks for about an object that the rules are for.
func (f front) object(call *network.Call) {
	rules, now, resource, key := f.server.rules, f.Now(), call.Kind.Resource(), keyOf(call)
	options := apiserver.WriteOptions{Subresource: call.Subresource}
	switch call.Verb {
	case network.Get:
		call.Reply(rules.Get(resource, key))
	case network.Create:
		call.Reply(rules.Create(now, resource, key.Namespace, call.Object, options))
	case network.Update:
		call.Reply(rules.Update(now, resource, key.Namespace, call.Object, options))
	case network.Patch:
		f.patch(call, options)
	case network.Delete, network.Evict:
		f.remove(call)
	default:
		call.Err = fmt.Errorf("the model has no list of %s without a watch", call.Kind)
	}
}

// keyOf is that of the object that a call is about.
func keyOf(call *network.Call) apiserver.Key {
	if call.Kind == network.Nodes {
		return apiserver.Key{Name: call.Name}
	}
	return podKey(call.Name)
}

// patch applies a patch. One that changes nothing is no change to the API
// server, and no watch shows it. Witnesses are told all the same.
func (f front) patch(call *network.Call, options apiserver.WriteOptions) {
	node, pod := f.Node(call.Name), f.Pod(call.Name)
	call.Reply(f.server.rules.Patch(f.Now(), call.Kind.Resource(), keyOf(call), call.PatchType, call.Data, options))
	switch {
	case call.Err != nil:
	case call.Kind == network.Nodes && f.Node(call.Name) == node:
		call.Node = node
		for _, witness := range f.witnesses {
			witness.WroteNode(NodeWrite{call, node, node})
		}
	case call.Kind == network.Pods && f.Pod(call.Name) == pod:
		call.Pod = pod
		for _, witness := range f.witnesses {
			witness.WrotePod(PodWrite{call, pod, pod})
		}
	}
}

// remove begins to delete an object, or a pod if its budget allows it. A pod
// that is bound goes when its kubelet has stopped it. The answer is the pod as
// it was before.
func (f front) remove(call *network.Call) {
	before := f.Pod(call.Name)
	options := metav1.DeleteOptions{Preconditions: call.Preconditions}
	if call.Verb == network.Evict {
		call.Err = f.server.rules.Evict(f.Now(), Namespace, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: call.Name}, DeleteOptions: &options,
		}, apiserver.WriteOptions{})
	} else {
		_, call.Err = f.server.rules.Delete(f.Now(), call.Kind.Resource(), keyOf(call), options)
	}
	if call.Err == nil && call.Kind == network.Pods {
		call.Pod = before
	}
}

// lease answers a read of the leases of machines.
func (f front) lease(call *network.Call) {
	switch m := f.machine[call.Name]; {
	case call.Verb == network.List:
		f.listLeases(call)
	case call.Verb != network.Get:
		call.Err = fmt.Errorf("the model has no %s of %s", call.Verb, call.Kind)
	case m != nil && m.lease != nil:
		call.Lease = m.lease.object()
	default:
		call.Err = apierrors.NewNotFound(call.Kind.Resource().GroupResource(), call.Name)
	}
}

func (f front) listLeases(call *network.Call) {
	call.LeaseList = make([]coordinationv1.Lease, 0, len(f.machines))
	var shown leaseObject // for each its own would double the memory of a list
	for _, m := range f.machines {
		if m.lease != nil {
			l := shown.fill(m.lease)
			l.Spec.RenewTime = ptr.To(*l.Spec.RenewTime)
			call.LeaseList = append(call.LeaseList, *l)
		}
	}
}

// leases returns those of all machines.
func (f front) leases() []network.Change {
	var all []network.Change
	for _, m := range f.machines {
		if m.lease != nil {
			all = append(all, m.leaseChange(m.lease))
		}
	}
	return all
}

// lock reads or writes the leader's lease. What a process patches that takes
// part in no election is never read.
func (f front) lock(call *network.Call) {
	if call.Verb == network.Patch {
		return
	}
	if call.Verb == network.Update {
		if held := f.server.lock.Version; call.Lock.Version != held {
			resource := call.Kind.Resource().GroupResource()
			why := fmt.Errorf("version is %s", strconv.FormatUint(held, 10))
			call.Err = apierrors.NewConflict(resource, call.Name, why)
			return
		}
		f.putLock(network.Lock{Holder: call.Lock.Holder, Halted: f.server.lock.Halted})
	}
	call.Lock = f.server.lock
}
