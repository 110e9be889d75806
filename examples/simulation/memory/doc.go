// Package memory is a Kubernetes API server inside the process, for tests.
// Objects live in maps, and client-go's fake clientset is the typed front.
// Nothing listens on a port.
//
// It is the real-time edge of examples/simulation/apiserver, which holds the
// rules and says what is answered as by kube-apiserver v1.37. The edge adds the
// clock, a lock around the objects and a goroutine for each open watch. A watch
// never slows a writer down, and a patch is computed outside of the lock.
//
// Subresources other than status, pods/binding and pods/eviction are refused
// with 405. Some limits come from client-go's fake. The context of a call is
// ignored. Bind takes the namespace of the Binding, not of the client, and no
// options, so that a dry run would bind.
//
// The table of examples/simulation/apiserver/conformance holds this package and
// kube-apiserver v1.37.1 to the same answers. The other tests run against a
// real server too when LIFECYCLE_TEST_KUBECONFIG names a kubeconfig for one.
package memory
