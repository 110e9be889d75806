// Package e2e proves the library on a real API server, with its programs as
// processes of their own. It holds tests only; folders below it hold what they
// need.
//
//	go -C examples/e2e test .                      the short tier
//	LIFECYCLE_E2E=full go -C examples/e2e test .   the long tier too
//
// Tests that measure no times run two at a time.
//
// The command measure compares our programs with others, and prints a table:
// detection, evictions, blindness, rollouts and hollow, each in a package of its
// name. Package sidebyside is their frame.
//
//	go -C examples/e2e run ./measure detection
//
// The first run builds etcd and kube-apiserver from the Go module proxy, which
// takes about five minutes on two cores. They are kept in the user's cache. So
// are kube-scheduler and kube-controller-manager, which make the manifests'
// pods.
package e2e
