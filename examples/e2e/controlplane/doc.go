// Package controlplane runs a real Kubernetes control plane for tests. That is
// etcd and kube-apiserver, built from the Go module proxy, as processes of
// their own on loopback ports. It needs Go, git and a C compiler on the
// machine, and no container runtime.
//
//	func TestNodesFail(t *testing.T) {
//		cp := controlplane.ForTest(t, controlplane.Config{})
//		client, err := kubernetes.NewForConfig(cp.RESTConfig())
//		...
//	}
//
// [ForTest] is [Start] with [ControlPlane.Stop] at the end of the test. What a
// test can do with it:
//
//   - Hand access to a program under test: [ControlPlane.Kubeconfig] for the
//     administrator, [ControlPlane.UserConfig] and
//     [ControlPlane.ServiceAccountConfig] for users with fewer rights. RBAC is
//     on.
//   - Break it: [ControlPlane.KillAPIServer] and [ControlPlane.RestartAPIServer].
//   - Set it back to what it was: [ControlPlane.SaveSnapshot] and
//     [ControlPlane.RestoreSnapshot].
//   - Count what it was asked: [ControlPlane.Requests], exact to the single
//     request.
//   - Run more processes with the same care: [StartProcess]; more programs of
//     Kubernetes: [Build].
//
// The first build takes minutes, more than a test should. Build beforehand, by
// starting one:
//
//	go run ./controlplane/up
//
// # What is as in a cluster, and what is not
//
// The API server runs with its defaults: watch cache, priority and fairness,
// every default admission plugin but ServiceAccount. That would refuse pods
// until kube-controller-manager has made their service account. So a new node
// gets the not-ready NoSchedule taint. A pod without tolerations of its own
// gets those of 300 seconds for not-ready and unreachable. There is no other
// controller: nothing schedules or runs pods, collects garbage, or deletes the
// contents of a namespace.
//
// etcd does not wait for the disk, so that tests are fast. Data survives killed
// processes, not a crash of the machine.
//
// # Processes
//
// No process outlives the program that started it. Stop ends them, and on Linux
// the kernel kills them when the program is killed before it could. On other
// Unix systems a killed program leaves them behind. Windows is not supported.
package controlplane
