// Package daemon decides on which nodes the pods of a DaemonSet belong. It is
// for whatever asks this without running the pods: an autoscaler about nodes
// that it has yet to create, a scheduler about the room that DaemonSets take, a
// drain about pods that come back. It decides as kube-controller-manager v1.37
// does. Package rollout creates and deletes the pods.
//
// [Compile] makes a [Placement] from a pod template once. [Placement.Place]
// returns for each node a [Decision]: whether a pod should run there, whether
// one that is there may stay, and the [Reason]:
//
//	placement := daemon.Compile(&set.Spec.Template, taints.Matcher{})
//	for _, node := range nodes {
//		if placement.Place(node).ShouldRun {
//			pods = append(pods, daemon.PodOn(set, node))
//		}
//	}
//
// [PodOn] returns the pod that the set has on a node, with its node, owner and
// [Tolerations], but without a name or a revision. [TargetNode] returns for
// which node an existing pod is, also while it is pending. [PodSpecFor] is for
// controllers that create such pods.
//
// # Promises
//
//   - Place allocates nothing and takes a fraction of a microsecond.
//   - A Placement does not change and is safe for concurrent use.
//   - No function changes an argument. None needs the node to exist.
//
// # Duties of the caller
//
//   - Compile again when the template changes.
//   - Give a node that does not exist yet a name that no node has. One without a
//     name meets the terms that ask for a name.
//   - Look at [Placement.Problems]. An invalid term of the node affinity matches
//     no node. If none is valid ([ErrNoValidTerm]), no node matches.
//   - Ask with the same [taints.Matcher] as the cluster's scheduler, which may
//     understand more comparisons of tolerations.
//
// # Differences from kube-controller-manager
//
// There are none in the decisions, compared with v1.37.1 over random templates
// and nodes. The pod that PodOn returns has an owner and the required affinity
// for its node, as a running pod has. That of NewPod there has neither.
package daemon
