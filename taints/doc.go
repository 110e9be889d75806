// Package taints treats the taints of a node as a set. It computes the desired
// set, its difference from the current one, and one guarded patch between them.
//
// # The pieces
//
//   - Sets: [Find], [Add], [Remove], [Filter] and [Diff] work on lists of
//     taints. A taint's identity is its key and effect. They never modify their
//     arguments and preserve order. When there is nothing to change they return
//     the argument itself, with its capacity cut to its length. An append to
//     the result then never writes into a list that a cache owns.
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
// All functions except Apply are pure.
//
// # Two rules about TimeAdded
//
// Pods count their toleration of a NoExecute taint from its TimeAdded.
// Reconcile sets TimeAdded of each taint that it adds, from the caller's now,
// and keeps that of a taint that is present. Add keeps it too, and otherwise
// takes the time of the taint that it is given.
//
// node.kubernetes.io/not-ready and node.kubernetes.io/unreachable are one
// lineage: a node has one of them, and which one depends on whether it still
// reports. When Reconcile swaps one for the other it carries TimeAdded over.
// Otherwise each flap between the two would restart the tolerations of the
// node's pods, and the pods would never be evicted. Other objects have other
// lineages; see [Lineage].
//
// # Taints of other objects
//
// A cluster of Karmada has taints of type corev1.Taint, so all pure functions
// except Patch work on them; Patch says why. Other types, such as the
// DeviceTaint and DeviceToleration of resource.k8s.io, need two conversions of
// a line each. The example DeviceTaints of [Diff] shows them. Generic functions
// would need more: API types have fields and no methods. Each call would carry
// functions that read and write key, value, effect and time.
//
// Only the effects NoSchedule and NoExecute have a meaning here. Others, such
// as the devices' None, are compared as part of a taint's identity.
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
// # The caller's duties
//
// The API replaces a node's taint list as a whole. A patch that was computed
// from an old list would undo what another client has written since. So compute
// from the newest node that you have, and send the result of Patch unchanged.
// When it is refused, read the node and compute again. Apply does both.
package taints
