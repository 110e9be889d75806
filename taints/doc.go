// Package taints treats the taints of a node as a set. It computes the desired
// set, its difference from the current one, and one guarded patch between them.
//
// # The pieces
//
//   - Sets: [Find], [Add], [Remove], [Filter] and [Diff] work on lists of
//     taints. A taint's identity is its key and effect. They never modify their
//     arguments and keep the order of what they keep. When there is nothing to
//     change they return the argument itself, cut to its length: an append to
//     the result does not write into a list that a cache owns.
//   - [Matcher] decides whether a toleration tolerates a taint, as Kubernetes
//     v1.37 does.
//   - [AppendNoSchedule] and [NoExecute] return the taints that a node should
//     have, from its conditions and spec.unschedulable. [OwnsNoSchedule] and
//     [OwnsNoExecute] report which taints that decision covers.
//   - [Reconcile] combines both: owned taints become the desired ones, and all
//     others stay.
//   - [Patch] encodes a change, guarded by what it was computed from. [Apply]
//     sends it, and computes it again when the guard fails.
//
// Everything but Apply is a pure function.
//
// # Two rules about TimeAdded
//
// Pods count their toleration of a NoExecute taint from its TimeAdded.
// Reconcile sets TimeAdded of each taint that it adds, from the caller's now,
// and keeps it when the taint is there already. Add, which has no now, keeps it
// too, and otherwise takes the time of the taint that it is given.
//
// node.kubernetes.io/not-ready and node.kubernetes.io/unreachable are one
// lineage: a node has one of them, and which one depends on whether it still
// reports. When Reconcile swaps one for the other it carries TimeAdded over.
// Otherwise each flap between the two would restart the tolerations of the
// node's pods, and the pods would never leave.
//
// # Taints of other objects
//
// A cluster of Karmada has taints of type corev1.Taint, so all pure functions
// except Patch work on them. For a type of its own, such as the DeviceTaint and
// DeviceToleration of resource.k8s.io, an importer writes two conversions of a
// line each; the example DeviceTaints of [Diff] shows them. Generic functions
// would ask for more: API types have fields and no methods, so each call would
// carry functions that read and write key, value, effect and time.
//
// Only the effects NoSchedule and NoExecute have a meaning here. Others, such
// as the devices' None, are part of a taint's identity like these.
//
// # Differences from kube-controller-manager
//
// Compared with v1.37.1:
//
//   - All changes of a node are one patch. There a swap is two, of which the
//     second may fail.
//   - Swapping not-ready:NoExecute for unreachable, or back, keeps TimeAdded.
//     There it is set again, so the pods of a node that flaps stay.
//   - A value that another client gave to a desired taint is taken away. There
//     it stays.
//   - A patch is guarded by the list that it replaces. There it is guarded by
//     the node's resourceVersion, so any write to the node makes it fail.
//
// # Layers
//
// A file uses only declarations of its own line and of the lines below.
//
//	apply
//	reconcile  patch
//	set  desired  toleration
//
// # The caller's duties
//
// The API replaces a node's taint list as a whole. A patch that was computed
// from an old list would undo what another client has written since. So compute
// from the newest node that you have, and send the patch that Patch returns
// unchanged. When it is refused, read the node and compute again. Apply does
// all that.
package taints
