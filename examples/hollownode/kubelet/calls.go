package kubelet

import (
	"time"

	"github.com/kubelife/lifecycle/timedqueue"
)

const (
	// firstRegistration and longestRegistration bound the waits between attempts
	// to register. Source: registerWithAPIServer, v1.37.1.
	firstRegistration   = 100 * time.Millisecond
	longestRegistration = 7 * time.Second
)

// Call is what the faults of a node do to one of its calls of the API server.
// The zero value is a call that works.
type Call struct {
	// Fails: it does not reach the API server.
	Fails bool
	// Latency is how much longer it takes.
	Latency time.Duration
	// ClockSkew is by how much the times in it are ahead.
	ClockSkew time.Duration
}

// Call decides about a call that a node makes outside of a [Task], which is one
// for its heartbeats. A node that is not observed has no faults. O(1).
func (f *Fleet) Call(name string) Call {
	n, known := f.nodes[name]
	if !known {
		return Call{}
	}
	return Call{Fails: f.fails(n), Latency: n.faults.APILatency, ClockSkew: n.faults.ClockSkew}
}

// fails reports whether the next call of a node fails by its faults. All calls
// of a node are decided here.
func (f *Fleet) fails(n *nodeRecord) bool {
	part := n.faults.APIFailures
	return part > 0 && (f.config.Rand == nil || f.config.Rand() < part)
}

// retry returns the result of a call that has failed. Its next attempt takes
// the latency of the node's API too.
func (f *Fleet) retry(now time.Time, n *nodeRecord, item dueItem) timedqueue.Result {
	waits := f.config.Backoff
	if item.Key.kind == dueRegister {
		waits = timedqueue.Backoff{Initial: firstRegistration, Max: longestRegistration}
	}
	wait := waits.Delay(item.Attempts)
	if item.Key.kind == dueWrite {
		// Without this bound a back-off keeps a status from an API server that has
		// been back for long. A kubelet has none. Source: manager.Start in
		// pkg/kubelet/status, v1.37.1.
		wait = min(wait, n.nextCompare(now).Sub(now))
	}
	if n != nil {
		wait += n.faults.APILatency
	}
	return timedqueue.Result{Outcome: timedqueue.OutcomeFailed, RetryAfter: wait}
}
