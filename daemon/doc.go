// Package daemon decides where the pods of a DaemonSet belong. It knows of pods only
// that there is to be one on each node that fits: of DaemonSets, of what replaces them,
// and of nodes that an autoscaler has yet to make.
//
// [Compile] makes a [Placement] from a pod template, and [Placement.Place] says of a
// node whether a pod should run there, whether one that is there may stay, and what
// speaks against it:
//
//	placement := daemon.Compile(&daemonSet.Spec.Template, taints.Matcher{})
//	for _, node := range nodes {
//		if verdict := placement.Place(node); !verdict.Run {
//			log.Printf("no pod on %s: %s", node.Name, verdict.Reason)
//		}
//	}
//
// The verdicts are those of kube-controller-manager v1.37. The caller compiles anew
// when the template changes, and asks anew when a node's name, labels or taints do.
package daemon
