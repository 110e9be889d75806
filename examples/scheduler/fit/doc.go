// Package fit says whether a pod fits a node, from the two objects alone. It
// knows no other state: what is left of a node its caller says.
//
// [Compile] reads a pod once. [Pod.Mismatch] returns why the pod does not
// belong on a node, however empty that is. Reasons are nodeSelector, required
// node affinity and taints. [Lacking] returns of which resources the node has
// too little. [Pod.Bar] returns out of which [Areas] the required anti-affinity
// of a pod that is placed keeps others.
//
// [Overhead] is what DaemonSets would take of a node that does not exist yet.
// [NewNode] is the first of such nodes on which a pod would fit.
package fit
