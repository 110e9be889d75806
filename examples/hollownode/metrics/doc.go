// Package metrics serves what a fleet counts: its nodes by state, the calls that
// it has performed, and its heartbeats. They begin with hollownode_.
//
//	Fleet.NodeStates ──when asked──► hollownode_nodes
//	tasks, heartbeats ──as they end──► hollownode_..._total
//
// Counters begin again with each leadership.
//
// The metrics of a kubelet itself are not here. The pods and containers that it
// counts are in the API, with their starts, ends and times. Relists, syncs and
// calls of the runtime take no time.
package metrics
