// Package kubelet is the loop of one node or of thousands, as a core. Pods,
// what a runtime shows, and time go in. Plans and statuses come out.
//
// It does what a kubelet does, without a clock, a goroutine or a timer for a
// node or a pod. The package examples/hollownode/cri has the runtime.
//
// # Where what is
//
// A [Fleet] holds kubelets, one for each node. The parts of a kubelet are types
// in files of their names, and so are those of a pod:
//
//	fleet ─► kubelet ─┬─ runtimestate   is the runtime up, is its network
//	                  ├─ nodestatus     reports, the first Ready, registration
//	                  ├─ syncloop ──────── podworker ─┬─ volumes
//	                  │   1 configuration             ├─ prober
//	                  │   2 pleg                      ├─ publication
//	                  │   3 sync tick (in syncloop)   └─ termination
//	                  │   4 prober
//	                  │   5 housekeeping
//	                  └─ mirrorpods, staticpods
//
// What the sources of the kubelet say is found there:
//
//   - updateRuntimeUp and the state that it sets: runtimestate. What starts once
//     when the runtime is first up: its method check.
//   - syncNodeStatus and fastStatusUpdateOnce: nodestatus. The lease is that of
//     nodehealth/heartbeat, for which package edge asks [Fleet.NodeStatus].
//   - syncLoopIteration with its five channels: the comment of syncLoop.
//   - HandlePodAdditions, Updates, Removes, Reconcile: add and update of
//     syncloop, remove of termination, reconcile of publication, which is what
//     a status manager does.
//   - HandlePodSyncs, dispatchWork and UpdatePod: sync and move of podworker.
//   - isSyncPodWorthy: syncs of lifecycleEvent, in pleg. cleanUpContainersInPod:
//     dead of View, in plan.
//   - HandlePodCleanups, once all sources are ready: housekeeping.
//   - handleMirrorPod: mirrorpods. deletePod and the killing of pods:
//     termination. The end of probes: watch of prober.
//   - syncPod: syncPod of podworker, with decide and plan for its containers,
//     status for what it reports, and volumes for what it waits for.
//
// # One sync of a pod
//
// A sync compares a pod with its containers. Each part of it is a pure
// function:
//
//	pod, containers, probes ──► Decide ──► Actions
//	Actions, back-offs, now ──► Plan ────► steps for the runtime, and waits
//
// [Decide] says which containers to start, restart and stop: the sandbox, init
// containers, sidecars, restart policies, failed probes. Plan adds what depends
// on time. A container that has crashed twice waits for 10 s, doubling up to
// 300 s. After 10 min without a crash it starts at once again. An image that
// could not be pulled waits in the same way.
//
// # The status of a pod
//
// The status is generated from the pod, its containers and probes, and the
// status before it: phase, conditions, and why each container waits. Each
// change has a version. One write of a pod is on its way at a time, and a later
// change follows it. So an old status never overwrites a newer one. A final
// phase is written when the containers have ended, and not before.
//
// # Pods and their workers
//
// A [Fleet] holds the nodes and pods. Each pod goes through these states and
// never back:
//
//	new ──admitted──► syncing ──► terminating ──► terminated ──► finished
//	 └────rejected───────────────────────────────────────────────▲
//
// A sync ends with the plan that it gave the runtime, or with its wait for
// volumes. A pod is synced only between them, so no two of its syncs overlap.
// Of several updates meanwhile the latest counts. A pod that must end waits for
// no volumes any more, and its grace period only shrinks. Its plan goes on,
// also a pull: its containers start, and stop then.
//
// A change that the runtime tells of makes a relist of that pod, and a sync if
// a container has started or died. A full relist of a node each 5 to 7.5 min
// finds what the runtime has not told. All waits are entries of one queue: the
// next sync, probes, volumes, deadlines, writes, relists, and pods to forget.
//
// A wait for volumes ends after 2 min 3 s. The sync has failed then, and the
// next one goes on to wait. Annotations say how long volumes take to be there
// and to be gone, and how many waits fail. A kubelet that starts again counts
// from the first.
//
// A node admits a pod when it comes, with the kubelet's reasons, for example
// OutOfcpu, NodeAffinity and TaintToleration.
//
// # Static pods
//
// Each node runs the static pods of the fleet by itself, whatever its taints.
// They join those of the API once all pods are known. The name of the node is
// added to theirs, and their UID follows from the manifest and the node. A
// changed manifest is another pod, which starts when the former one has ended.
//
// A mirror pod shows each of them in the API, with the node as its owner. It is
// created when it is missing, and replaced when it shows another manifest or is
// being deleted. None of that touches the containers. The mirror goes after
// the containers of its static pod have ended. Its status is written as that of
// any pod, and its spec is not read. One without a static pod is deleted.
//
// # Restarts and reboots
//
// A kubelet that starts again knows nothing. It rebuilds its pods, the oldest
// first, from what the runtime has and from their statuses in the API. No
// container is restarted. A container that has run for 10 s before stays ready
// as long as its pod is, until its first probe says otherwise. Its startup
// probe is not repeated. Back-offs begin again. The runtime keeps what has
// ended until the API shows its end, so no exit code is lost. A pod that only
// the runtime has ends with a grace period of 1 s, once all pods are known.
// The runtime tells its name, so a static pod waits for the end of a former one
// of its name. A pod that comes back to the API begins again after its end.
//
// A reboot ends all containers of a node, and then its kubelet starts again. So
// each pod that goes on gets a new sandbox, and its containers count a restart.
//
// # The node
//
// [Fleet.NodeStatus] is what a node reports: Ready with the problems of its
// runtime, pressure, capacity, and the ID of its boot. A heartbeat.Sender asks
// for it and renews the lease, whatever the runtime does. A node registers by a
// task, or its object is observed because another client has created it.
//
// # Faults
//
// A kubelet checks its runtime each 5 s. Until its node is first Ready, for up
// to 120 s, it checks each 100 ms and reports that at once. While the runtime
// does not answer, containers go on, and syncs and probes fail. 30 s after the
// last good check the loop stops: new pods are not admitted, and deletions
// wait. It goes on when a check is good again, after waits of 100 ms doubling
// to 5 s. A kubelet that starts without its runtime does nothing to its pods
// before the first good check. Writes that are due go on all the time. Without
// a network for pods only those of the node's own network are synced.
//
// A silent node hears nothing and writes nothing, and its containers go on.
// When it is back, it does what was wanted meanwhile. A status that another
// client has overwritten is restored within 10 s, at a time of the node's own.
// Of a node that is back that is 2.5 s to 7.5 s later. Before its heartbeat has
// arrived, the node lifecycle controller would overwrite it again.
//
// Of a node whose API is slow or fails, each call is: those of tasks, and those
// of heartbeats, about which [Fleet.Call] decides. What a latency delays
// occupies no worker. A write of a pod that has failed is tried again after a
// back-off, at the latest when its node next compares its statuses. That is
// each 10 s. A node names its faults in the OS image that it reports.
// [ParseFaults] reads them from its annotations.
//
// # Events
//
// With FleetConfig.Record a kubelet tells about pods and its node what kubectl
// describe shows: an [Event] with the reason and message of the kubelet. It is
// a value at the moment of the change, and no sync waits for it. What a plan is
// doing comes as a notice of the runtime. An event about the conditions of a
// node comes when the API shows them, because the sender of heartbeats writes
// them.
//
// # The caller's duties
//
//   - Register the nodes that are to create their objects. Observe all nodes,
//     and the pods that are bound to them. Forget those that the API server no
//     longer has. Call MarkSynced when all are known.
//   - Tell of faults, restarts and reboots: SetFaults.
//   - Perform each [Task] that Start hands out, guarded by the pod's UID, and
//     give its result to Finish.
//   - Call Start again at the time that Next tells, and after each change.
//
// # Facts
//
// Names, constants and decisions are those of the kubelet v1.37.1 with its
// default features. Cases of its tables are tests here, of what a sync
// does, the phase, conditions, grace periods, deadlines, back-offs, probes and
// problems of a node. Package examples/e2e/conformance compares other decisions
// with those of the kubelet's own functions. A table of whole pods has the
// states that the kubelet has shown of them.
//
// # Differences from the kubelet
//
//   - Heartbeats have a queue of their own, that of nodehealth/heartbeat. There
//     each kubelet has a goroutine for its lease and one for its status.
//   - Each pod is due by itself. There a tick each second finds the pods to
//     sync, and housekeeping each 2 s those to clean up.
//   - Two methods take the five kinds of configuration changes. ObservePod is
//     ADD for an unknown pod, and UPDATE for a known one. Of a pod that is
//     being deleted it is DELETE, and of one with another status RECONCILE.
//     ForgetPod is REMOVE.
//   - No event of the runtime is dropped. There a channel has room for 1,000,
//     and a relist drops what does not fit.
//   - One implementation of Runtime serves virtual and real time, and no call
//     of it blocks. There it is another process, and a worker waits for it.
//   - Containers of one pod that are killed for different reasons stop
//     together. There they stop one after the other, in no fixed order.
//   - A probe first runs when its container has run for its initial delay.
//     There it runs at the next tick of its period.
//   - A change of the runtime is seen at once. There a relist comes each
//     second, which also finds what no event has told.
//   - What happens to a pod at one moment is one write. Containers that take no
//     time to start are written as running, and never as being created. There a
//     relist comes between.
//   - CrashLoopBackOff is shown when the wait begins. There it is shown by the
//     next sync.
//   - When a loop goes on that stood without its runtime, statuses are compared
//     within a second. There that is up to 10 s later.
//   - A status whose write has failed is written again after 0.5 s, doubling up
//     to 10 s. There that is each 10 s, and when another status changes.
//   - Pods that wait for a network are synced when it is back. There they are
//     synced each second.
//   - Probes need the runtime, as those that run a command do.
//   - A final phase stays with its reason. There the exit codes of containers
//     that stop after it can replace it.
//   - A node without allocatable resources enforces none. There it takes no
//     pod.
//   - Capacity and allocatable resources that the object of a node has are
//     kept. There the machine's own replace them.
//   - A static pod waits for the end of a former one of its name also after a
//     restart. There it waits only for one that this process has started.
//   - The runtime forgets a pod when the API shows its end. There it keeps the
//     last containers until the pod is deleted.
//   - A kubelet that starts again leaves pods alone that have ended. There it
//     writes the status of each again. A rejected pod gets the ends of
//     containers that never were.
//   - Static pods start once the Node is observed and all pods are known. There
//     they need no API server.
//   - A static pod that refers to other objects of the API runs, and the API
//     server refuses its mirror. There the kubelet refuses the pod.
//   - A mirror is also created again after its static pod has ended or was
//     rejected, and a mirror of a former Node is replaced. There the next start
//     of the kubelet and garbage collection do that.
//   - A static pod that replaces one of its name is admitted when that one has
//     ended. There it is admitted before, and waits then.
//   - A pod for another operating system is not rejected.
//   - A node takes pods with the policy Strict for supplemental groups, because
//     no process has groups. There the runtime must support it.
//   - A silent node loses its events, except that of its start. There up to a
//     thousand wait.
//   - A node that registers is Ready at once, and tells so. There it becomes
//     Ready a moment later.
//   - The size of an image is told as zero, and a probe that fails gives no
//     reason.
//   - A preStop hook never fails, and no runtime fails to kill. So there is no
//     FailedPreStopHook and no FailedKillPod. What the machine itself would
//     tell is missing as well, for example InvalidDiskCapacity.
//   - A Node that is there already is taken as it is. There its default labels
//     and extended resources are brought up to date.
//
// # What is not here
//
//   - Eviction by pressure. Pressure is a fault, which shows in the conditions
//     of the node and keeps pods away.
//   - Preemption by critical pods, and graceful shutdown of the node.
//   - Restart rules of containers by exit code, and the restart of all
//     containers of a pod (KEP-5307). Their restart policy counts.
//   - In-place resize, ephemeral containers, and dynamic resources. What other
//     clients write of them into a status stays.
//   - Cgroups, devices, and the statistics of containers.
//   - What a kubelet starts once when its runtime is first up: the managers of
//     containers, eviction, logs, plugins, and shutdown. Here that starts the
//     visits of the pods and ends the search for the first Ready.
//   - Volumes themselves. A wait for them is a time and a failure. Limits on
//     attached volumes reject no pod.
//   - Collection of images. A node of the fake runtime keeps 100.
//   - Certificates, the server of a kubelet, exec, attach, logs of containers,
//     and forwarded ports.
//   - Manifests from a URL, and a kubelet without an API server.
package kubelet
