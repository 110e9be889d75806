// Package memory is a Kubernetes API server inside the process, for
// demonstrations and tests: objects live in maps, and client-go's fake
// clientset is the typed front. Nothing listens on a port.
//
// It answers as kube-apiserver v1.37 does where a controller depends on the
// answer:
//
//   - One counter gives every write its resourceVersion. UIDs, creation times
//     and generations are the server's. Times are kept as the API keeps them,
//     in whole seconds (MicroTime in microseconds).
//   - A write that was computed from an older object is refused: a stale
//     resourceVersion and a delete precondition that does not hold are 409
//     Conflict; so is an update with a foreign UID. A patch with a foreign
//     metadata.uid is 422 Invalid with a cause for the field metadata.uid; a
//     JSON Patch that does not apply, a failed test among them, is 422 Invalid
//     with empty details.
//   - A write that changes nothing keeps the resourceVersion and sends no event.
//   - The status subresource leaves spec alone, and the main resource status.
//   - A watch continues from any resourceVersion whose changes are still kept,
//     is told 410 Gone otherwise, and never slows a writer down. Lists, watches
//     and streaming lists see one order of events, and nothing falls between a
//     list and the watch that follows it.
//   - A deleted pod that is bound to a node stays Terminating until its kubelet,
//     here [Cluster.FinalizePods], or a delete with grace period zero removes it.
//
// What it is not: there is no authentication, admission, garbage collection,
// namespace lifecycle or server-side apply, and next to no validation or
// defaulting. It keeps no managedFields. Subresources other than status and
// pods/binding are refused with 405. Some limits come from client-go's fake: the
// context of a call is not looked at, and Bind takes the namespace of the
// Binding, not of the client, and no options, so that a dry run would bind.
//
// The table of examples/apiserver/conformance holds this package and
// kube-apiserver v1.37.1 to the same answers. The other tests run against a real
// server too when LIFECYCLE_TEST_KUBECONFIG names a kubeconfig for one.
package memory
