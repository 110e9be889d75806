// Package edge is all that is between a fleet of kubelets and a cluster. It has
// the handlers that informers call, and performs the fleet's tasks. It tells a
// heartbeat.Sender which nodes there are.
//
//	informers ──► Nodes, Pods ──► kubelet.Fleet ──► Perform ──► API server
//	                  │                 ▲
//	                  └► Heartbeats ────┘ the status of a node
//
// It has no clock, and waits only as Config.Wait does, so that a simulator can
// drive it.
//
// # Slow and failing calls
//
// The faults of a node hold for each of its calls. Of tasks the fleet decides
// that before it hands one out. For heartbeats, give the sender the clients
// that [Leases] and [Statuses] make of [Edge.BeginCall].
//
// # Which nodes and pods
//
// The informer of nodes must be given those of the fleet and no others. Of the
// pods, those of other nodes are ignored. When a node comes, its pods are read
// from the informer.
//
// # A start of the process
//
// Until [Edge.MarkSynced] the containers of each pod are restored from its
// status. From then on a node that comes is a new machine: containers that the
// statuses of its pods show are lost.
package edge
