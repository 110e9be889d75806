package kubelet

import (
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/timedqueue"
)

// kubelet is the kubelet of a node, and its machine. Each part of it has a file
// of its name.
type kubelet struct {
	fleet  *Fleet
	name   string
	object *corev1.Node // nil until it is observed
	faults Faults
	// life counts the starts of the kubelet, and started is when the last was.
	life    uint64
	started time.Time
	// compares is when it first compares the statuses of its pods with what the
	// API shows. It does so again after each reconcilePeriod.
	compares time.Time
	used     usage

	runtime       runtimeState
	nodeStatus    nodeStatus
	syncLoop      syncLoop
	configuration configuration
	pleg          pleg
	housekeeping  housekeeping
	mirrorPods    mirrorPods
}

// newKubelet returns the kubelet of a node that is not observed.
func newKubelet(f *Fleet, now time.Time, name string) *kubelet {
	k := &kubelet{fleet: f, name: name, started: now}
	k.runtime.node, k.nodeStatus.node, k.syncLoop.node = k, k, k
	k.configuration.node, k.pleg.node, k.mirrorPods.node = k, k, k
	k.housekeeping = housekeeping{node: k, visited: noRound}
	return k
}

// hears reports whether the API server and a node can reach each other.
func (k *kubelet) hears() bool { return !k.faults.Silent }

// heeds reports whether a node acts on what the API server wants.
func (k *kubelet) heeds() bool { return k.hears() && k.runtime.loop != loopStopped }

// reconcilePeriod is how long a status that differs in the API stays so at
// most. Source: syncPeriod in pkg/kubelet/status, v1.37.1.
const reconcilePeriod = 10 * time.Second

// returnPause is how long a node that was silent waits before it compares the
// statuses of its pods. What is restored before its heartbeat has arrived, the
// node lifecycle controller overwrites again.
const returnPause = reconcilePeriod / 4

// nextCompare returns when the node next compares its statuses. These are times
// of its own, as the loop of a kubelet has them, and no wait after each change.
// A thousand nodes that return at once would restore theirs in one burst then.
// And a client that goes on writing would postpone that for ever.
func (k *kubelet) nextCompare(now time.Time) time.Time {
	if now.Before(k.compares) {
		return k.compares
	}
	return now.Add(reconcilePeriod - now.Sub(k.compares)%reconcilePeriod)
}

// schedule makes something of a node due.
func (k *kubelet) schedule(kind dueKind, due time.Time) {
	key := dueKey{node: k.name, kind: kind}
	k.fleet.queue.Set(key, nil, due)
}

// beginLife makes the kubelet of a node start again. It remembers nothing of
// its pods. The next round rebuilds them.
func (k *kubelet) beginLife(now time.Time) {
	k.life++
	k.start(now)
	k.used = usage{}
	k.runtime.loop, k.runtime.networkDown = loopRunning, k.faults.NetworkDown
	k.fleet.queue.Remove(dueKey{node: k.name, kind: dueCheck})
	if k.faults.RuntimeDown {
		k.runtime.beginStopped(now)
	}
	k.housekeeping.begin(now)
}

// reboot reboots a machine, which restarts its kubelet.
func (k *kubelet) reboot(now time.Time, bootID string) {
	k.nodeStatus.bootID = bootID
	k.fleet.config.Runtime.Reboot(now, k.name)
	k.beginLife(now)
}

// start makes due what a kubelet does when it starts.
func (k *kubelet) start(now time.Time) {
	k.started, k.nodeStatus.searching = now, !showsReady(k.object)
	k.compares = k.fleet.spread(now, reconcilePeriod)
	if k.object != nil {
		k.schedule(dueRelist, k.fleet.spread(now, fullRelistPeriod).Add(fullRelistPeriod/2))
	}
	k.nodeStatus.starting = true
	if k.fleet.config.ListPods && k.object != nil {
		k.schedule(dueList, now.Add(k.faults.APILatency))
	}
}

// setFaults makes the faults of a node hold. What the kubelet knows of them
// follows when it checks.
func (k *kubelet) setFaults(now time.Time, faults Faults) {
	was, first := k.faults, k.nodeStatus.bootID == ""
	k.faults = faults
	if k.restarted(now, was, first) {
		return
	}
	if was.Silent && !faults.Silent {
		k.compares = k.fleet.spread(now.Add(returnPause), reconcilePeriod/2)
		k.housekeeping.begin(now)
	}
	if k.runtime.isReady() && now.After(k.started) {
		k.nodeStatus.searching = false // the first check has found it, and its sender reports it
	}
	switch {
	case faults.RuntimeDown && !now.After(k.started):
		k.runtime.beginStopped(now)
	case k.runtime.loop == loopRunning && faults.RuntimeDown:
		k.runtime.loop, k.runtime.lastGood = loopFailing, k.runtime.lastCheck(now)
		k.pleg.lastRelist = k.started.Add(now.Sub(k.started).Truncate(relistPeriod))
		k.schedule(dueCheck, k.runtime.lastGood.Add(checkThreshold))
	case k.runtime.loop == loopFailing && !faults.RuntimeDown:
		k.runtime.loop = loopRunning
		k.housekeeping.begin(now)
		k.schedule(dueCheck, k.runtime.nextCheck(now))
	case was != faults && !faults.RuntimeDown:
		k.schedule(dueCheck, k.runtime.nextCheck(now))
	}
}

// restarted reports whether the present faults reboot a machine or restart its
// kubelet, and does it. What ran before this process is known from the status.
func (k *kubelet) restarted(now time.Time, was Faults, first bool) bool {
	wanted := identity("boot", k.name, k.faults.Boot)
	reported := k.object.Status.NodeInfo.BootID
	switch {
	case first && (reported == "" || reported == wanted):
		k.nodeStatus.bootID = wanted
		return false
	case first || was.Boot != k.faults.Boot:
		k.reboot(now, wanted)
	case was.Start != k.faults.Start:
		k.beginLife(now)
	default:
		return false
	}
	return true
}

// fails reports whether the next call of a node fails by its faults. All calls
// of a node are decided here.
func (k *kubelet) fails() bool {
	part := k.faults.APIFailures
	return part > 0 && (k.fleet.config.Rand == nil || k.fleet.config.Rand() < part)
}

// retry returns the result of a call that has failed. Its next attempt takes
// the latency of the node's API too.
func (k *kubelet) retry(now time.Time, item dueItem) timedqueue.Result {
	waits := k.fleet.config.Backoff
	if item.Key.kind == dueRegister {
		waits = timedqueue.Backoff{Initial: firstRegistration, Max: longestRegistration}
	}
	wait := waits.Delay(item.Attempts)
	if item.Key.kind == dueWrite {
		// Without this bound a back-off keeps a status from an API server that has
		// been back for long. A kubelet has none. Source: manager.Start in
		// pkg/kubelet/status, v1.37.1.
		wait = min(wait, k.nextCompare(now).Sub(now))
	}
	wait += k.faults.APILatency
	return timedqueue.Result{Outcome: timedqueue.OutcomeFailed, RetryAfter: wait}
}

// identity returns an ID in the form of a UUID that follows from its parts.
func identity(parts ...string) string {
	a, b := hashOf(append(parts, "a")...), hashOf(append(parts, "b")...)
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", uint32(a>>32), uint16(a>>16), uint16(a), uint16(b>>48), b&(1<<48-1))
}

func hashOf(parts ...string) uint64 {
	h := fnv.New64a()
	for _, part := range parts {
		_, _ = h.Write(append([]byte(part), 0)) // it returns no error
	}
	return h.Sum64()
}

const (
	// firstRegistration and longestRegistration bound the waits between attempts
	// to register. Source: registerWithAPIServer, v1.37.1.
	firstRegistration   = 100 * time.Millisecond
	longestRegistration = 7 * time.Second
)
