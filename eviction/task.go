package eviction

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Task is one pod to evict now. [Tracker.Start] makes it. One that a caller
// makes, to test an action of its own, is never canceled, and Finish ignores it.
type Task struct {
	Pod  Key
	Node string
	// Decision is why.
	Decision Decision
	// HasDisruptionTarget says that the pod carries a true condition
	// DisruptionTarget, of whichever client.
	HasDisruptionTarget bool
	// Generation is the pod's.
	Generation int64
	// Attempts is how many attempts have failed before.
	Attempts int
	// StartedAt is when Start handed the task out. Minus Decision.Due it is the
	// delay of the eviction. An action takes it as the present time and reads no
	// clock. So what it writes depends only on the task and the API server's
	// answers.
	StartedAt time.Time

	view
	attempt *attempt
}

// view is what the tracker knew when it handed a task out.
type view struct {
	node   types.UID
	taints []Taint
	asked  requests
	pod    Pod
	config *Config
	held   holdSet
}

// Canceled reports whether the task has become moot since Start handed it out.
// For example, the pod need not leave any more, is gone, or a [Hold] holds it. An
// action that makes several calls asks before each, and reports OutcomeNotDue
// then. Canceled may be called at any time, from any goroutine, and takes no
// lock.
func (t Task) Canceled() bool { return t.attempt != nil && t.attempt.signal.Load() }

// Reevaluate decides again from a pod and its node that were just read. Either
// is nil if it is gone. Without its node a pod leaves only if EvictPod asks for
// it. All else is as the tracker knew it when it handed the task out. That is
// when taints and pod were first seen, and what is held, exempt, and asked
// for. For a Task that no tracker has made the reason is ReasonGone.
func (t Task) Reevaluate(live *corev1.Pod, node *corev1.Node, now time.Time) Decision {
	switch {
	case t.attempt == nil, live == nil, t.gone(live), node == nil && t.asked.pod == nil:
		return Decision{Reason: ReasonGone}
	case t.config.exempts(live):
		return Decision{Reason: ReasonExempt}
	}
	asked, seen := t.asked, t.pod
	seen.Tolerations = t.config.tolerationsOf(live)
	same := node != nil && node.UID == t.node // else it is another of that name
	if !same || isOfNode(live) || !asked.node.holdsFor(node) {
		asked.node = nil
	}
	var on []Taint
	switch {
	case same:
		on = t.config.noExecute(node, t.taints, now, true)
	case node != nil:
		on = t.config.noExecute(node, nil, now, true)
	}
	var r ruling
	r.decide(t.config.unheld(on, t.held), asked, &seen, t.config.Matcher)
	return r.decision()
}

// gone reports whether a pod that was just read is another one than the task is
// about, or is being deleted already.
func (t *Task) gone(live *corev1.Pod) bool {
	return live.UID != t.Pod.UID || live.DeletionTimestamp != nil
}

// Outcome is the result of an attempt in one word. Its zero value is none of
// the outcomes and counts as OutcomeFailed.
type Outcome string

const (
	// OutcomeEvicted: the API server has accepted the eviction.
	OutcomeEvicted Outcome = "Evicted"
	// OutcomeGone: the pod is deleted, terminating, or replaced by
	// another pod of its name.
	OutcomeGone Outcome = "Gone"
	// OutcomeNotDue: the action found that the pod need not leave. The pod is
	// decided again soon, when the tracker has observed the reason.
	OutcomeNotDue Outcome = "NotDue"
	// OutcomeFailed: the attempt must be repeated.
	OutcomeFailed Outcome = "Failed"
	// OutcomeBlocked: a PodDisruptionBudget does not allow the eviction now.
	// The eviction is requested again after a growing wait. That is not a
	// failure and does not count as an attempt.
	OutcomeBlocked Outcome = "Blocked"
	// OutcomeDryRun: the pod would have been evicted, and nothing was done. It is
	// handed out again when the Reason or Due of its decision changes, or by
	// [Tracker.Retry].
	OutcomeDryRun Outcome = "DryRun"
)

// spends reports whether an outcome costs the API server what a budget counts.
func (o Outcome) spends() bool {
	return o != OutcomeGone && o != OutcomeNotDue && o != OutcomeBlocked
}

// Result is what an action reports about a task. The zero value is a failure.
type Result struct {
	Outcome Outcome
	// RetryAfter is how long the pod waits before the next attempt, at most the
	// longest wait of Config.Backoff. Zero means the backoff.
	RetryAfter time.Duration
	// Err is the cause of a failure, or the answer of a PodDisruptionBudget; see
	// [CauseOf]. With an error no outcome counts as success.
	Err error
	// Reason is why the pod need not leave, if the action has found that. It is
	// empty when the task was canceled.
	Reason Reason
	// Pod is the pod as the API server had it after the action's last write to it.
	// It is nil if nothing was written or the answer had no pod.
	Pod *corev1.Pod
	// Requests is how many calls the action made, zero if it does not count them.
	// [Deleter] and [Evictor] do.
	Requests int
}

// Unspent returns how many of the requests granted to a task its action has not
// sent; see timedqueue.Unspent. An action that does not count its requests
// counts as having sent all, except for a dry run, which sends none.
func (r Result) Unspent(granted int) int {
	if r.Requests == 0 && r.Outcome != OutcomeDryRun {
		return 0
	}
	return max(granted-r.Requests, 0)
}

// outcome returns the outcome of a result as it counts. One that is none of the
// constants counts as failed. So does a success with an error: forgetting the
// pod would lose its eviction.
func (r Result) outcome() Outcome {
	switch r.Outcome {
	case OutcomeBlocked:
		return r.Outcome
	case OutcomeEvicted, OutcomeGone, OutcomeNotDue, OutcomeDryRun:
		if r.Err == nil {
			return r.Outcome
		}
	case OutcomeFailed:
	}
	return OutcomeFailed
}
