// Package controller is a whole node lifecycle and taint eviction controller,
// as a reducer: nodes, leases, pods and time go in, jobs come out.
//
// It composes the library's packages and adds only what ties them together:
//
//	            nodehealth.NodeMonitor ── silent ─────► LeaseRead, Declaration
//	Observe ──► zone.Tracker ── rates, phase ──┐
//	            timedqueue.Queue ── releases ──┴──────► NodeChange
//	            taints.Reconcile ── what a node needs ─┘
//	            pods of a node that is not ready ─────► PodMark
//	            eviction.Tracker ── pods due ─────────► eviction.Task
//
// A Controller has no clock, no goroutine and no client. A
// timedqueue.Dispatcher drives it in a program, a simulator can drive it in
// virtual time. Each task on the right has a type of its own, and results of
// their own type. It holds all that its action needs. [Controller.Jobs] composes
// the tasks as jobs.
//
// It is level triggered. It keeps nothing in memory alone except what a restart
// may lose: since when nodes are silent, and which nodes wait for their zone's
// rate. Everything else is read from the objects again.
//
// # From silence to eviction
//
// A node whose grace period ends is suspected. A live read of its lease tells
// whether the node is silent, or what passes on its heartbeats. With more than
// three suspects, one request lists all leases. A confirmed node counts as not
// ready in its zone at once; a suspect holds what depends on it. Then the node
// is declared: its conditions become Unknown, by a write that need not be fast.
// The changed conditions, like those that a kubelet reports itself, ask for
// NoSchedule taints at once and make the node wait for its zone. The zone
// releases it at the rate that its state allows, once that state is known, and
// has been for a heartbeat interval if it is better than the one before; then
// it gets its NoExecute taint. While every zone is down, or a policy of the
// caller pauses the cluster, none is released. The NoExecute taint gives each
// of its pods a deadline.
//
// # What the cache does not have
//
// Each patch is guarded by what it was computed from. The API server refuses
// one if the object is another by now, or gone. Then the object is read from
// the API server before anything else is written to it: after half a second, in
// which the watch may show it. What was read is observed, and the next patch is
// computed from it. Older versions that the watch shows count again after a
// minute. Only the watch says that an object is gone; until then it is read
// once a minute. So a watch that has stalled costs a read for each refused
// patch, and a grace period if the read shows a heartbeat that the watch has
// not. [Controller.Refused] and [Controller.Stale] count.
//
// # The budget of requests
//
// Config.Requests limits what all actions send to the API server together. Each
// task takes as many requests as it may send, and returns those that it did not
// need. Four kinds of work have a quarter of the budget each: declarations,
// recoveries, evictions, and all else. A recovery is a write that removes a
// taint not-ready or unreachable. What a kind does not need goes to the others.
// So nodes recover and pods leave while thousands of nodes are declared. The
// client that performs the actions must not have a limit of its own.
//
// A node that changes all the time costs the others nothing. Its first four
// writes of taints and labels go at once. Further ones wait for 1 s to 30 s
// after the one before, and behind those of nodes that change less. The newest
// wish is written then; one that was taken back costs no write. A write that
// protects pods waits for 5 s at most. These are the first NoSchedule taint of
// a node that cannot run pods, and the end of a NoExecute taint. So a node that
// flaps is closed soon and opened late. Pods of a node that becomes not ready
// again and again are marked as rarely. A minute without a write ends it. The
// NoExecute taint has its zone's rate alone.
//
// # Doubt
//
// Silence is doubted while it may be the observer's fault. Each kind of doubt
// is a [Doubt] with its beginning. [Controller.Doubted] counts them, and an
// Event reports those that last. So it can be seen when nothing is declared, and
// each part can be switched off:
//
//   - [DoubtBlind]: nothing was heard for Health.SightTimeout, no heartbeat and
//     no answer to a write, and Health.UnbrokenPeriod is not over since. So it
//     is at the start. As long NoExecute taints are held, too, and evictions
//     for ours: nodes that are dead may be back, and others may have died. It
//     is also doubt, but holds no more than declarations, that many writes
//     fail. Off: Health.SightTimeout zero.
//   - [DoubtWatch]: live reads show heartbeats that the watch has not. Off:
//     DeclareUnconfirmed, which declares living nodes when the watch is behind.
//   - [DoubtUnconfirmed]: silent nodes wait for a live read. Off:
//     DeclareUnconfirmed.
//   - [DoubtUnread]: live reads fail. Off: DeclareUnconfirmed.
//   - [DoubtHolding]: all zones may be down, if unconfirmed nodes are, or those
//     that were not heard since a blindness. It delays no declaration by
//     itself. A zone whose state depends on such nodes has no rate as long. Off:
//     DeclareUnconfirmed, and Health.SightTimeout zero.
//   - [DoubtSuspended]: all zones are down. Nodes are declared all the same,
//     and get no NoExecute taint. Off: a Zone.State that never returns
//     zone.FullDisruption, which switches DoubtHolding off, too.
//   - [DoubtPaused]: the policy for the cluster asks for a pause. Nodes are
//     declared, and get no NoExecute taint. Off: Zone.Phase nil.
//   - [DoubtRecovering]: the stabilization window after a start, a takeover, a
//     suspension or a pause. Nodes are declared, and get no NoExecute taint before it
//     ends. Off: a Zone.StabilizationWindow of a nanosecond.
//
// A node that is dead is declared within a grace period, two heartbeat intervals
// and a live read of the end of what caused the doubt. What the budget of
// requests takes for all that are silent comes in addition.
//
// # Why a node waits
//
// [Controller.NodeWaits] returns each node that is silent or not ready and is
// not acted on, with a [WaitReason]: a doubt, a halt, its zone's rate, or its
// own writes. What holds all nodes is told in one Event, about the controller.
// What holds one node for longer than a grace period is told in an Event about
// that node, and each 20 minutes again. At most one such Event is recorded a
// second, and 10 at once: when thousands of nodes wait for the rate of a zone,
// few of them are looked at, and [Controller.NodeWaits] has all.
//
// # Differences from kube-controller-manager
//
// The packages list theirs. Compared with v1.37.1, the composition adds these,
// first those that let a pod leave, or stay, where it does not there.
//
// Pods that stay:
//
//   - While the API server does not answer in time, and for two heartbeat
//     intervals after that, no node is tainted NoExecute. No pod is evicted for
//     one of our taints either. After that nodes that were not heard again may
//     be down when zones are evaluated. There taints and evictions go on.
//   - When all zones are disrupted, running tolerations are held until our
//     taints are gone (enhancements #5263). There they go on.
//   - After that, after a start and after a takeover no node gets a NoExecute
//     taint for a grace period. It begins when the caches are filled. There
//     nodes that are still Unknown are tainted at once.
//   - No pod leaves a node that reports that it is ready for our taints, except
//     in its recovery period: they are about to go. So a node that came back
//     while no replica led keeps the pods whose deadlines have passed. If it
//     died after that report they leave when it is found silent, a grace period
//     later at most. There a start begins tolerations again.
//   - A declared node that is heard again is read before a pod leaves it for
//     our taints. If that fails the pod stays for ten seconds at most. There
//     the pod leaves until the watch has shown that the node is ready.
//   - The programs spare mirror pods, with --spare-mirror-pods, which is true
//     by default. There those that do not tolerate a taint are evicted, and
//     their kubelet makes them again. Kubelets make static pods tolerate all
//     NoExecute taints. Config.Eviction.Exempt is nil by default and spares
//     none.
//   - With Config.Zone.Phase a zone that is down, or too few nodes that are
//     ready, pauses all zones. There each zone has its rate and nothing else.
//
// Nodes that are tainted sooner, later or in another order:
//
//   - Nodes of a zone that is dying wait one heartbeat interval for their
//     NoExecute taint, until the state of the zone is known. There they are
//     tainted as they expire.
//   - A zone that recovers keeps its lower rate for one heartbeat interval, and
//     a tenth, so that all nodes that are back can be heard. There its rate
//     rises at once, and nodes that are back are tainted.
//   - The first node of a zone whose rate was zero is tainted as soon as the
//     rate is more, because the zone has tainted none for long. There it waits
//     for the rate first: ten seconds at the default one. So with
//     --node-eviction-rate=0 alone a large zone that becomes partially
//     disrupted, and has the secondary rate then, taints one node at once. To
//     taint none set both rates to zero.
//   - A zone counts silent nodes when their grace period has ended. There it
//     counts conditions, which have to be written first: with 3,000 silent
//     nodes and 20 requests a second that takes minutes.
//   - Nodes are tainted in the order in which they fell. There each pass puts
//     those that wait at the end.
//   - Only taints that are set, or failed to be, cost a token of a zone's rate.
//     There asking a queue with nothing due costs one, and so does a node that
//     has recovered.
//   - A node that changes its zone moves to the other zone's queue. There it
//     can crash the controller (#47791).
//   - A node that is first seen ready, and tainted as not ready, keeps that
//     taint until its first heartbeat, at most one heartbeat interval. It may
//     have reported that before it died. There the condition alone decides. The
//     API server gives each new node such a taint. It goes at once when the
//     watch shows the node's first report after its creation.
//   - A node without a Ready condition keeps its taint not-ready:NoSchedule:
//     nothing has said that it can run pods. There the taint goes, and pods are
//     bound to a node that has never reported.
//   - Nodes that are tainted at the start keep their taints until they are
//     heard. There they are untainted, and tainted again later.
//   - Taints that could not be written are retried. There they wait for the
//     next change of the node.
//
// Pods that are marked not ready:
//
//   - A pod that comes to a silent node is marked, and marks that failed are
//     sent again, also after a crash. There pods are marked when the node
//     falls, and a crash loses what was left.
//   - A node that was not ready, by what its kubelet reported, and then falls
//     silent has its pods marked: nothing reports on them any more. There only
//     pods of a node that was ready until it fell silent are.
//
// Requests:
//
//   - A live read confirms each silence once, and one list confirms many. There
//     the lease of each silent node is read in each pass.
//   - Evictions and recoveries have a part of --kube-api-qps of their own.
//     There each controller's requests stand in one line.
//   - A node that changes all the time is written to less and less often, at
//     the least each 30 s. There each change is written.
//   - The Event "Cancelling deletion" is never recorded. A pod that need not
//     leave any more is not written to.
//
// Flags and metrics of the program:
//
//   - --unhealthy-zone-threshold=0 and --node-monitor-grace-period=0s are
//     refused. There each zone is disrupted as soon as three of its nodes are
//     down, or all nodes are declared in each pass.
//   - node_collector_zone_health, zone_size and unhealthy_nodes_in_zone of a
//     zone that has no node any more end. There they show a size of 0 and a
//     health of 100 for ever.
//   - node_collector_update_node_health_duration_seconds counts declarations of
//     silent nodes alone. There it counts each node in each pass; here a node
//     that is well costs no pass.
//
// # Size
//
// With 100,000 nodes and 1,000,000 pods a program holds its lock for at most 10
// ms of work a turn. New memory, which the system clears, can add to that.
// Starts, losses and recoveries of all nodes go through in slices. Heartbeats
// of nodes that are well ask for no poll. BenchmarkWhole measures turns,
// memory, a second in which nothing happens, and a third of the nodes lost at
// once, in under 3 minutes:
//
//	go -C examples test -run=- -bench=Whole -benchtime=1x \
//	  ./nodelifecycle/controller
package controller
