package daemon

import "time"

// assessment is the evaluation of one node.
type assessment struct {
	situation
	wait    Wait // why nothing is done, if something is missing
	retries bool // an unclear creation is tried again, now or after a back-off

	planner *Planner
	node    *nodeState

	any       bool      // there are pods, even if all are leaving
	oldest    *podState // the one that the status is about
	staying   int       // pods that are not being deleted, failed ones too
	undecided bool      // a pod may stay: its deletion is not accepted yet
	failing   bool      // a failed pod may stay
	fresh     *podState // of the current revision, the one that stays
	outdated  *podState // of a former revision, the one that stays
	excess    bool      // there are more of the current or of former revisions
	failed    *podState
	succeeded *podState
}

// await records until when a node waits. The first reason is reported; the
// earliest end is when the node is evaluated again.
func (a *assessment) await(reason WaitReason, s *podState, until time.Time) {
	if a.wait.Reason == "" {
		a.unlessWaiting(reason, s)
		a.wait.Until = until
	}
	a.again(until)
}

func (a *assessment) again(at time.Time) { a.until = earlier(a.until, at) }

func (a *assessment) unlessWaiting(reason WaitReason, s *podState) {
	if a.wait.Reason != "" {
		return
	}
	a.wait.Reason = reason
	if s != nil {
		a.wait.Pod = s.pod.Name
	}
}
