// Package taints treats the taints of a node as a set: what it should be, how it
// differs from what it is, and one guarded patch from one to the other.
//
// # The pieces
//
//   - Sets: [Find], [Add], [Remove], [Filter] and [Diff] work on lists of taints.
//     A taint's identity is its key and effect. They never modify their
//     arguments, keep the order of what they keep, and return the argument
//     itself when there is nothing to change, cut to its length, so that an
//     append to it does not write into a list that a cache owns.
//   - [Matcher] says whether a toleration tolerates a taint, as Kubernetes v1.37
//     does.
//   - [AppendNoSchedule] and [NoExecute] say which taints a node should have,
//     from its conditions and spec.unschedulable. [OwnsNoSchedule] and
//     [OwnsNoExecute] say which taints that decision is about.
//   - [Reconcile] puts both together: owned taints become the desired ones, all
//     others stay.
//   - [Patch] writes a change down, guarded by what it was computed from.
//     [Apply] sends it and starts over when the guard fails.
//
// Everything but Apply is a pure function.
//
// # Two rules about NoExecute
//
// A NoExecute taint carries TimeAdded, because pods count their toleration from
// it. Reconcile sets it from the caller's now when it adds such a taint and
// keeps it when the taint is there already.
//
// node.kubernetes.io/not-ready and node.kubernetes.io/unreachable are one
// lineage: a node has one of them, depending on who says that it is ill. When
// Reconcile swaps one for the other it carries TimeAdded over. If it did not, a
// node that flaps between the two would restart the clock of its pods each time
// and they would never leave.
//
// # The caller's duties
//
// The API replaces a node's taint list as a whole. A patch that was computed
// from an old list would undo what somebody else has written since. So compute
// from the newest node that you have, send the patch that Patch returns as it
// is, and when it is refused compute again from a node that you have just read.
// Apply does all that.
package taints
