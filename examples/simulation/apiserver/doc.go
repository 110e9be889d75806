// Package apiserver is the core of a Kubernetes API server in memory: what is
// stored, what a request makes of it, and what is answered. It has no lock, no
// goroutine and no clock: time is an argument. An edge adds those.
//
//	objects := apiserver.NewObjects(apiserver.Limits{})
//	s := apiserver.NewServer(objects, scheme.Scheme)
//	pod, err := s.Create(now, pods, "default", pod, apiserver.WriteOptions{})
//	options := metav1.DeleteOptions{Preconditions: guard}
//	gone, err := s.Delete(now, pods, key, options)
//
// A [Server] holds the rules and a [Store] the objects. Its answers are those
// of kube-apiserver v1.37 where a controller depends on them. The table of
// examples/simulation/apiserver/conformance holds both to them:
//
//   - One counter gives every write its resourceVersion. UIDs, creation times
//     and generations are the server's. Times are kept as the API keeps them,
//     in whole seconds (MicroTime in microseconds).
//   - A write that was computed from an older object is refused. A stale
//     resourceVersion and a delete precondition that does not hold are 409
//     Conflict. So is an update with a foreign UID. A patch with a foreign
//     metadata.uid is 422 Invalid with a cause for the field metadata.uid. A
//     JSON Patch that does not apply, a failed test among them, is 422 Invalid
//     with empty details.
//   - A write that changes nothing keeps the resourceVersion and is no change.
//   - The status subresource leaves spec alone, and the main resource status.
//   - A watch continues from any resourceVersion whose changes are still kept,
//     and is told 410 Gone otherwise. Lists, watches and streaming lists see
//     one order of changes.
//   - A deleted pod that is bound to a node stays Terminating until a delete
//     with grace period zero, as its kubelet sends it, removes it.
//   - An eviction heeds the PodDisruptionBudgets of its namespace: 429 when
//     there is no disruption left, 500 when two select the pod. Their status is
//     what the disruption controller writes, which is not here.
//
// There is no authentication, admission, garbage collection, namespace
// lifecycle or server-side apply, and next to no validation or defaulting. No
// managedFields are kept.
//
// # Edges
//
// [Server.Watch] says where a watch begins; an edge reads on from there with
// [Objects.Read] when it wants to, and translates with [Watch.Event]. An edge
// with several goroutines puts a lock around the [Store], not around the
// server. Patches are then computed outside of it, and computed again when
// another write came between. examples/simulation/memory is such an edge,
// with client-go's typed clients in front. examples/outage/model is an edge in
// virtual time, with watches of its own that are told by a [Store] around
// [Objects]. With [Server.Shared] it is answered without copies.
package apiserver
