// Package hollownode proves the program hollownode on a real API server, with
// kube-scheduler, with the ReplicaSet and Job controllers of
// kube-controller-manager, and with nodelifecycle:
//
//   - Pods are scheduled onto hollow nodes and become ready. So does a static
//     pod of each node, which a mirror pod shows.
//
//   - The fleet is killed and starts again, while pods come up, while they run
//     and while they end. No container restarts, no status is written twice,
//     and no final one is lost.
//
//   - A mirror pod that is deleted comes again, and no container restarts.
//     That holds too when no process runs meanwhile.
//
//   - Jobs succeed, and fail at their backoffLimit. Of both, containers end
//     while no process runs. Each has ended once, and at its time.
//
//   - Nodes register as the flags say, with labels, taints, zones and a
//     capacity, and more pods than that are rejected. A Node that another
//     client has created keeps its labels and taints. It is run with the faults
//     of its annotations.
//
//   - A container that crashes waits 0, 10, 20 and 40 s, and shows it. It runs
//     on when the fleet is killed, with its restarts counted. Another one
//     crashes while its fleet is killed, in a back-off and before an end. Each
//     end is shown. A pod that takes the name of one that was ending stays.
//
//   - A zone falls silent. Its nodes are tainted, its pods evicted and
//     replaced. When it returns, the evicted pods end, and those that stayed
//     are ready again within 10 s. The fleet is killed in the silence, while
//     replacements start, and at the return. Nothing restarts, the silent nodes
//     write nothing, and a namesake that came meanwhile stays.
//
//   - Faults are set with kubectl under the role of the manifest, and kubectl
//     shows them. Without the role they are forbidden.
//
//   - All calls of a tenth of the nodes fail. Their leases expire, and nothing
//     is written of their pods. All other nodes renew their leases and show
//     their pods in time. So do the failing ones, within 10 s, when their calls
//     work again.
//
//   - A fleet that starts again with --list-per-node lists the pods of each
//     node once, with the options of the real kubelet. What else it lists is
//     named.
//
//   - The API server has the events of pods that come, go, pass a deadline or
//     are rejected, in order.
//
// Its tests are processes on two cores, so each step has a minute or more. The
// seconds that it took are in the log:
//
//	go -C examples/e2e test ./hollownode -v
package hollownode
