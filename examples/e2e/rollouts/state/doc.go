// Package state compares the results of DaemonSet controllers on different
// clusters. It is pure: objects in, differences out.
//
// A [Snapshot] holds a set, its pods and its revisions. [Snapshot.Facts] turns
// it into facts, each with a name. What two clusters never have in common is
// left out: UIDs, times, resource versions, addresses, names of pods.
// Everything else counts, pods by node, and the data of revisions by its bytes.
// [Compare] returns the facts that differ.
//
// [Disturbances] compares two snapshots of one cluster instead: which pods and
// revisions are not the ones that there were.
package state
