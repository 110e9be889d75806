// Package zone evaluates how disrupted the zones of a cluster are, and at which
// rate a controller may act against the nodes of each.
//
// A controller that evicts the pods of dead nodes must slow down when many
// nodes of a zone die together. It must stop when all zones seem dead, because
// then the controller itself is most likely cut off. This package makes that
// decision and returns it as data. For each node it needs a key, a zone and
// whether the node is ready, which may be unconfirmed.
//
// # The pieces
//
//   - [Tracker] counts ready and not ready nodes by zone as they are observed,
//     and evaluates the zones that have changed.
//   - [Thresholds] turns a zone's [Counts] into a [State], and [Rates] turns
//     both into a rate. [DefaultThresholds] and [DefaultRates] are those of
//     kube-controller-manager v1.37. [Config] takes any other function too.
//   - [DefaultPhase] turns the sum of all zones, a [Cluster], into the [Phase]
//     that it calls for. Another function may also ask for a pause.
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
// has the transitions of Suspended, and one can follow the other.
//
// # Unconfirmed nodes
//
// A controller finds a node silent before it knows the cause: the node, or the
// path of its heartbeats. And when the controller itself could hear nothing for
// a while, nodes that were ready before may not be now: [Tracker.Unconfirm].
// Such a node is [Node].Unconfirmed. It only holds what would be wrong if it is
// not ready. A zone whose state depends on it has the rate zero. A cluster
// whose pause or suspension depends on it is in [PhaseHolding] until enough
// nodes are heard or confirmed:
//
//	Active, Recovering ──► Holding ──► Suspended or Paused, or back
//
// # A zone that recovers
//
// When the rate of a zone rises because its state is better, the zone keeps its
// lower rate for one ObservationWindow more. Nodes that return together are
// heard over a heartbeat interval. When enough of them are that the zone is
// Normal, the others live as well, and must not be acted against. A rate that
// falls does so at once, and so does one that rises because the state is worse.
// A dead node waits at most one window longer.
//
// In a zone that flaps, only its better time counts for the window, and a state
// that is worse does not begin it again. The next window begins only after the
// zone has had the higher rate for one window without a break. So a dead node
// there waits for at most one window of better time, however short each better
// time is.
//
// # The caller's duties
//
// Call Observe for every node, also for those that do not count, whenever its
// zone or readiness may have changed. Call Forget when a node is deleted. Call
// Evaluate after that, and at the time that Next returns. Do not call it before
// the first list of nodes is complete: if only dead nodes are known, the whole
// cluster seems dead. Call Stabilize when that list is complete, and when a
// standby begins to act. Call Unconfirm when heartbeats could not be heard for
// a while, and observe each node when it is heard after that. Apply each
// Change's rate to the zone's queue.
//
// When an Evaluation changes the phase to Holding, hold the evictions that your
// NoExecute taints for nodes that are not ready have started. Remove no taint
// and set no new one. Do the same when it changes to Paused. When it changes to
// Suspended, remove those taints too. After Paused or Suspended, go on holding
// until the phase is Active.
//
// In PhaseActive, do not act against a node before [Tracker.NotBefore]. The
// heartbeats of a zone are spread over an interval. So the first nodes of a
// dead zone expire while others still count as ready.
//
// # Differences from kube-controller-manager
//
// Compared with v1.37.1. States, thresholds and rates are the same by default.
//
//   - The first nodes of a disruption wait for an observation window. There
//     they are acted against before the state of the zone is known.
//   - A zone that recovers keeps its lower rate for an observation window.
//     There its rate rises at once, and nodes that are back are acted against
//     before they can be heard.
//   - After a full disruption of all zones no node is acted against for a
//     stabilization window, and after a start as well.
//   - No zones at all are no disruption. There they are a full one.
//   - Silence that is not confirmed holds a zone. There is no such state there.
package zone
