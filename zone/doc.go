// Package zone tells how disrupted the zones of a cluster are, and how fast
// nodes may be acted against in each.
//
// A controller that takes the pods off dead nodes must slow down when many nodes
// of a zone die together, and stop when all zones seem dead: then it is most
// likely the controller that is cut off. This package makes that judgement, as
// data. It sees nodes only as a key, a zone and a Ready bit, and has no opinion
// about what "acting" is.
//
// # The pieces
//
//   - [Tracker] counts ready and not ready nodes by zone as they are observed,
//     and judges the zones that have changed.
//   - [Thresholds] turns a zone's [Counts] into a [State], [Rates] turns both
//     into a rate. [DefaultThresholds] and [DefaultRates] are those of
//     kube-controller-manager v1.37. [Config] takes any other function too.
//   - [ByTopology] and [ByLabels] name the zone of a node. [Excluded] says which
//     nodes do not count.
//
// # The phases of the cluster
//
//	          every zone is in FullDisruption
//	Acting ─────────────────────────────────────► Suspended
//	   ▲                                              │ one zone no longer is
//	   └──────── a grace period has passed ──── Settling ◄──── start
//
// Acting: each zone has the rate of its state. Suspended and Settling: every rate
// is zero. A tracker starts by settling, because it cannot know whether a
// suspension ended just before it started.
//
// # The caller's duties
//
// Observe every node, also those that do not count, whenever its zone or
// readiness may have changed; Forget it when it is deleted. Call Judge after
// that, and when Next says so, but not before the first list of nodes is in: the
// dead part of a cluster looks like a dead cluster while nothing is known of the
// rest. Apply each Change's rate to the zone's queue.
// When a Judgement says that the phase has become Suspended, remove the
// NoExecute taints that you set for nodes that are not ready, set no new ones,
// and hold the evictions that such taints have started.
//
// Even while acting, do not act against a node before [Tracker.NotBefore]: the
// heartbeats of a zone are spread over an interval, so the first nodes of a dead
// zone expire before the zone can be seen to be dead.
package zone
