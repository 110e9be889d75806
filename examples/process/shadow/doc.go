// Package shadow tries a controller on a cluster without acting on it. A
// [Shadow] stands between a controller and the cluster. The controller's writes
// change only the shadow's memory, and the controller sees the cluster as it
// would be then. What it would have done is compared with what happens.
//
//	informers ──real objects──► World ──views──► controller
//	                              ▲ │               │
//	                              │ └─► Record      │ patches, deletions,
//	                              └──── Nodes, Pods ◄┘ answered from memory
//
// The view of an object is the real one, except what controllers of this kind
// write. Of that the shadow's own writes are shown. They are evictions, the
// readiness of pods on a silent node, and conditions that are Unknown because a
// node is silent. They are also the taints of conditions, and the older labels
// of operating system and architecture. So the two controllers do not influence
// each other, and what the kubelets, users and all others write reaches both.
//
// A taint of these that an administrator sets or removes by hand is taken for
// the other controller's. So is a pod's readiness that the watch of pods shows
// before the watch of nodes shows its node as Unknown, for the kubelet's.
//
// # What is compared
//
// An action is a change of one [Fact]. The [Record] keeps when the shadow
// decided it and when the watch showed it, both by the clock of this process.
// Both within the tolerance count as VerdictSame, and are dropped. An action of
// one side that is over before the other has done it is VerdictOnlyShadow or
// VerdictOnlyCluster. It is over when the node is heard again, the taint is
// removed, or the object is deleted. A pod that goes after the shadow has
// evicted it was evicted in the cluster as well, whatever has deleted it. A pod
// that a user deletes first is no action. Of each action and verdict
// RecordConfig.MostKept differences are kept, and those beyond are counted.
// Pods cost about 100 bytes each in addition. How often each side has acted is
// kept for 720 points in time, which are the further apart the longer it runs.
//
// # What a shadow cannot know
//
//   - Writes always succeed at once: no PodDisruptionBudget, webhook or failing
//     API server holds them up.
//   - Pods that were evicted are recreated in the view when they are in the
//     cluster, and a terminating pod stays as long as there.
//   - A kubelet that was declared only by the shadow has no reason to report
//     its status at once when it is back. It does so after up to five minutes,
//     and until then the shadow takes its node for Unknown.
//
// # Differences from kube-controller-manager
//
// Next to v1.37.1 these are expected, besides the tolerance. The packages of
// the controllers give the reasons at length.
//
//   - DeclareUnknown, and with it AddNoSchedule and MarkPodNotReady, Earlier:
//     up to twice --node-monitor-period and the length of its pass. It visits
//     nodes and heartbeats once in a period, the shadow when the grace
//     period ends.
//   - AddNoExecute, and with it EvictPod, Earlier or Later: Earlier as above.
//     Later by the time that is needed to know how disrupted the zone is,
//     --node-heartbeat-interval and a tenth. And either by the time that all
//     silent nodes of the zone take at its rate. There a node that has to wait
//     for the rate goes behind the others.
//   - RemoveNoExecute Earlier: up to --node-monitor-period and the length of
//     its pass. The shadow removes the taint with the first heartbeat.
//   - RemoveNoSchedule Later: up to one heartbeat interval, for a node that is
//     new or that was tainted when the shadow began to lead. The shadow waits
//     for a heartbeat.
//   - AddNoExecute and EvictPod OnlyCluster: in the stabilization window after
//     the shadow has started, at least --node-monitor-grace-period, it adds no
//     NoExecute taint. Likewise while it doubts its own sight, see package
//     controller.
//   - Each action Earlier or Later by the time that --kube-api-qps makes it
//     wait. Of many that are due at once, the two controllers choose different
//     ones first. A pod that is evicted before its turn comes is not marked, so
//     MarkPodNotReady can be OnlyShadow or OnlyCluster.
//   - EvictPod OnlyCluster: a mirror pod that does not tolerate a taint. The
//     shadow spares it, unless --spare-mirror-pods is false.
//   - DeclareUnknown and what follows from it OnlyShadow: a node that is heard
//     again between the end of its grace period and the next pass there.
package shadow
