// Package scheduling is a small scheduler as a pure core: nodes, leases, pods,
// DaemonSets, PodDisruptionBudgets and time go in, tasks come out.
//
// It is of the kind that people write for their own schedulerName. What is hard
// about nodes it asks the library:
//
//	taints       which taints of a node does the pod not tolerate? (package fit)
//	nodehealth   which node is silent, before it is declared not ready, and which
//	             zone is disrupted? (package observer)
//	daemon       what would DaemonSets take of a new node? (package fit)
//	eviction     how do pods leave that make room for others?
//	timedqueue   which pod is next, which backs off, what do requests cost?
//
// Package fit says whether a pod fits a node, from the two objects. This
// package is the rest: queues, assumed pods, nominations and victims.
//
// A Scheduler has no clock, no goroutine and no client. It hands out jobs, so
// that a timedqueue.Dispatcher drives it in a program and a test drives it in
// virtual time.
//
// # The life of a pod
//
//	pending ──Start──► busy ──bound──► assumed ──seen──► placed
//	   ▲                │ │              │ not seen in time,
//	   │     no node    │ │ failed       │ or the answer was lost
//	   │ backoff        ▼ ▼              ▼
//	   └─────────────waiting ◄─not bound─ read
//
// Pending pods are handed out by priority, then by age. A pod for which there
// is no node waits until a changed node fits it, or could make room for it.
// Nothing else wakes it. It then backs off from its last attempt, as in
// kube-scheduler.
//
// A pod counts on its node from the moment at which its binding is handed out.
// It goes on counting until the watch shows it, or until a live read shows that
// it is not bound. So a slow watch overcommits no node. A pod has one task at a
// time.
//
// # Which node
//
// A node must have room for each resource that the pod requests. It must match
// the nodeSelector and the required node affinity, and the pod must tolerate
// its NoSchedule and NoExecute taints. A node is avoided while it is silent for
// longer than Config.Health.GracePeriod, and while its zone is fully disrupted.
// If every zone is, the observer is more likely at fault than all nodes, and
// the taints alone decide.
//
// Of the nodes that fit, those of undisrupted zones come first, then those with
// a fresh heartbeat. Then count taints PreferNoSchedule, preferred node
// affinity, and how much of the node is left.
//
// # Making room
//
// If no node fits, pods of lower priority may leave one. The node is chosen on
// which PodDisruptionBudgets forbid the fewest of these evictions. Among those
// it is the one whose most important victim is the least important, then the
// one with the fewest. The pod is nominated to the node. Then its victims leave
// through the Eviction API, at the rates of Config.Evictions, with their own
// grace periods. A refusal of a PodDisruptionBudget waits, and makes the
// scheduler choose again. Mirror pods and pods of DaemonSets stay.
//
// # Next to another scheduler
//
// It binds, reports and nominates only pods that name it. Pods that another
// scheduler has bound count from the moment at which the watch shows them, and
// have to make room like any other. So a binding of its own never overcommits a
// node by what it could know. Within the delay of a watch both schedulers may
// take the last place of a node. Neither can prevent that, and the kubelet then
// refuses the pod that comes second (OutOfcpu). What the other one has only
// nominated does not count. Where that matters, give each scheduler nodes of
// its own, by a taint.
//
// # Size
//
// A decision visits all nodes: 0.6 µs of CPU for each, and 5 µs for each if
// pods have to make room. So 5,000 nodes allow some 300 decisions a second.
// Pods with required anti-affinity are visited once for each pod that waits,
// after a change among them. A change of a node visits all pods that wait in
// one turn, however many they are.
//
// # Not here
//
// Required inter-pod affinity and anti-affinity, required topology spread,
// volumes that depend on the node, host ports, resource claims and scheduling
// groups. A pod that asks for one of these is not placed, and is told why.
// Their soft variants are ignored. The required anti-affinity of pods that
// others have placed is respected. Pods that keep others away by it are not
// made to leave.
//
// # Differences from kube-scheduler
//
// Compared with v1.37.1:
//
//   - A silent node gets no pod, although it is not tainted yet.
//   - Victims leave through the Eviction API. There they are deleted, also if a
//     PodDisruptionBudget forbids it.
//   - A pod that waits is woken by nodes that could take it now, and by nothing
//     else. There each such event wakes it, and so do five minutes.
//   - What a binding whose answer was lost has done is read. There the pod is
//     retried, and its room is free meanwhile.
package scheduling
