// Package conformance gives the same random inputs to our cores and to what
// k8s.io/kubernetes v1.37.1 exports, and wants the same answers. It holds tests
// only; the folder upstream holds what runs upstream's DaemonSet controller,
// for the benchmarks as well.
//
// Of package daemon and its subfolders it compares
//
//   - where a pod belongs: [github.com/kubelife/lifecycle/daemon.Placement] and
//     NodeShouldRunDaemonPod of pkg/controller/daemon;
//   - revisions: their data with what upstream's controller writes into a
//     ControllerRevision, and their hashes with ComputeHash of pkg/controller;
//   - the amounts of a rollout: UnavailableCount and SurgeCount of
//     pkg/controller/daemon/util;
//   - a whole sync: what our planner wants created and deleted in a small
//     cluster, and the status, with what upstream's controller does there.
//
// Of the kubelet of examples/hollownode it compares
//
//   - the conditions of a pod with the Generate functions of
//     pkg/kubelet/status, and a new sandbox with PodSandboxChanged of
//     pkg/kubelet/kuberuntime/util;
//   - which containers are started: ShouldContainerBeRestarted of
//     pkg/kubelet/container;
//   - what is written of a pod, and what of it no other client can change: the
//     manager of pkg/kubelet/status;
//   - which pods a node takes: the admission of pkg/kubelet/lifecycle,
//     ComputePodQOS and, under pressure, the manager of pkg/kubelet/eviction;
//   - when a change of containers syncs a pod: the relist of pkg/kubelet/pleg;
//   - the times of a crash loop: the back-off of client-go, set as there;
//   - the conditions of a node: the setters of pkg/kubelet/nodestatus;
//   - names, types, labels and buckets of metrics: pkg/kubelet/metrics.
//
// Equal answers to inputs that reach nothing prove nothing. So each test counts
// each outcome and each operator that it has reached on each side, and fails
// below a floor. Where we depart from upstream on purpose, the departure has a
// name in a table, a check of its extent, and a counter.
//
// The seeds are the same in each run, so that a failure is the same everywhere.
// Other ones, or more of them:
//
//	go -C examples/e2e test ./conformance -args -seed=1000000 -scale=20
package conformance
