// Package zone evaluates how disrupted the zones of a cluster are, and at which
// rate a controller may act against the nodes of each.
//
// A controller that evicts the pods of dead nodes must slow down when many
// nodes of a zone die together. It must stop when all zones seem dead, because
// then the controller itself is most likely cut off. This package makes that
// decision and returns it as data. It sees a node as a key, a zone and whether
// it is ready, which may be unconfirmed. What the controller does to a node is
// not its concern.
//
// # The pieces
//
//   - [Tracker] counts ready and not ready nodes by zone as they are observed,
//     and evaluates the zones that have changed.
//   - [Thresholds] turns a zone's [Counts] into a [State], and [Rates] turns
//     both into a rate. [DefaultThresholds] and [DefaultRates] are those of
//     kube-controller-manager v1.37. [Config] takes any other function too.
//   - [DefaultPhase] turns the sum of all zones, a [Cluster], into the [Phase]
//     that it calls for. A function in its place may also ask for a pause.
//   - [ByTopology] and [ByLabels] name the zone of a node. [Excluded] reports
//     which nodes do not count.
//
// # The phases of the cluster
//
//	          every zone is in FullDisruption
//	Active ──────────────────────────────────► Suspended
//	  ▲                                            │
//	  │ a grace period          one zone no longer │
//	  │ has passed              is in that state   │
//	  └──────────────── Recovering ◄───────────────┘
//	                        ▲
//	                      start
//
// In [PhaseActive] each zone has the rate of its state. In all other phases
// every rate is zero. A full disruption of all zones leads from Recovering back
// to Suspended. A tracker starts in Recovering, because it cannot know whether
// a suspension ended just before it started. [Tracker.Stabilize] leads back
// there from Active.
//
// Another Config.Phase can suspend for other reasons, or pause: [PhasePaused]
// stands where Suspended stands, and one can follow the other.
//
// # What is not confirmed
//
// A controller finds a node silent before it knows whether the node is at fault
// or what passes on its heartbeats. Such a node is [Node].Unconfirmed: it holds
// what would be wrong if it is not ready, and does nothing else. A zone whose
// state depends on it has the rate zero. A cluster whose pause or suspension
// depends on it is in [PhaseHolding], whatever its phase was, and goes on from
// there when it is known:
//
//	Active, Recovering ──► Holding ──► Suspended or Paused, or back
//
// # Layers
//
// A file uses only declarations of its own line and of the lines below.
//
//	evaluate
//	tracker
//	state  phase  node
//
// # The caller's duties
//
// Call Observe for every node, also for those that do not count, whenever its
// zone or readiness may have changed. Call Forget when a node is deleted. Call
// Evaluate after that, and at the time that Next returns. Do not call it before
// the first list of nodes is complete: the dead part of a cluster looks like a
// dead cluster while the rest is unknown. Call Stabilize when that list is
// complete, however long it took, and when a standby begins to act. Apply each
// Change's rate to the zone's queue.
//
// When an Evaluation changes the phase to Holding, hold the evictions that the
// NoExecute taints have started which you set for nodes that are not ready.
// Remove no taint and set no new one. Do the same when it changes to Paused.
// When it changes to Suspended, remove those taints too. What was Paused or
// Suspended is held until it is Active.
//
// In PhaseActive, do not act against a node before [Tracker.NotBefore]. The
// heartbeats of a zone are spread over an interval, so the first nodes of a
// dead zone expire before the zone can be seen to be dead.
package zone
