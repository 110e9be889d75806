package eviction_test

import (
	"time"

	"github.com/stretchr/testify/require"
)

// What a schedule compares with the reference after each step.

// check compares all that the tracker says with what the history says.
func (s *schedule) check() {
	var first, oldest time.Time
	some, scarce, pending := false, false, 0
	s.checkActions()
	for _, uid := range s.history.known() {
		decision, known := s.tracker.Decision(uid)
		why, due := s.history.deadline(uid)
		if !known || why != decision.Reason || !due.Equal(decision.Due) { // require.Equal is slow
			require.Fail(s, "another decision", "%s is %v at %v, want %v at %v", uid, decision.Reason,
				decision.Due, why, due)
		}

		before, reported := s.history.reported[uid]
		if reported && (before.why != why || !before.due.Equal(due)) {
			delete(s.history.reported, uid)
			reported = false
		}
		if leaves(why) && !reported && (oldest.IsZero() || due.Before(oldest)) {
			oldest = due
		}
		if at, accepted := s.history.acceptedAt(uid); accepted {
			again := at.Add(longestWait)
			if !some || again.Before(first) {
				first, some = latest(again, s.now), true
			}
		}
		_, acting := s.inFlight[uid]
		switch {
		case acting || !leaves(why) || reported:
			delete(s.history.waits, uid)
		case s.history.waits[uid] == 0:
			s.history.waits[uid] = s.history.count
		}
		if acting {
			pending++
			continue
		}
		if leaves(why) && !reported {
			pending++
			if may, at := s.history.unheld(uid); !leaves(may) || at.After(due) {
				s.reached["held"]++
			}
		}
		next, leaves := s.history.step(uid)
		if !leaves {
			continue
		}
		at, held := latest(next.at, s.now), false
		for _, share := range s.history.shares(next) {
			wait := share.wait(s.now)
			held = held || wait < 0
			scarce = scarce || wait != 0
			at = latest(at, s.now.Add(wait))
		}
		if !held && (!some || at.Before(first)) {
			first, some = at, true
		}
	}
	s.reached["parked"] += s.tracker.Parked()
	s.reached["reopening"] += s.tracker.Reopening()
	if s.chance(30) {
		s.checkPending(pending, oldest)
	}
	wantNodes, wantPods := s.history.sizes()
	nodes, pods := s.tracker.Len()
	if want, got := [...]int{pending, wantNodes, wantPods}, [...]int{s.tracker.Waiting(), nodes,
		pods}; want != got {
		require.Equal(s, want, got, "pending, known nodes and pods")
	}

	next, ok := s.tracker.Next(s.told())
	some = some && s.history.synced
	if scarce || s.history.holds || len(s.history.budgets) > 0 {
		// It may come sooner, to check for a token or to put a pod aside.
		if some && (!ok || next.After(first.Add(time.Microsecond))) {
			require.Fail(s, "it sleeps too long", "next is at %v, want %v", next, first)
		}
		return
	}
	if some != ok || ok && !latest(next, s.now).Equal(first) {
		require.Fail(s, "another next", "next is at %v (%v), want %v (%v)", next, ok, first, some)
	}
}

// checkActions checks that no action under way goes on whose task is moot or
// held.
func (s *schedule) checkActions() {
	for uid, f := range s.inFlight {
		if s.history.podStay(uid) == nil {
			require.True(s, f.work.Canceled(), "%s goes on", f.work.Pod)
			continue
		}
		if why, due := s.history.unheld(uid); !leaves(why) || due.After(s.now) {
			require.True(s, f.work.Canceled(), "%s goes on", f.work.Pod)
		}
	}
}

// checkPending compares what the tracker tells of those that wait.
func (s *schedule) checkPending(pending int, oldest time.Time) {
	since, some := s.tracker.Overdue(s.told())
	if want := !oldest.IsZero() && oldest.Before(s.now); want != some || want && !since.Equal(oldest) {
		require.Fail(s, "another age", "overdue since %v (%v), want %v", since, some, oldest)
	}
	listed := 0
	for p := range s.tracker.Pending() {
		listed++
		uid := idOf(p.Pod)
		_, acting := s.inFlight[uid]
		if acting != p.Acting {
			require.Equal(s, acting, p.Acting, "%v is acted on", p.Pod)
		}
		if why, due := s.history.deadline(uid); why != p.Decision.Reason || !due.Equal(p.Decision.Due) {
			require.Fail(s, "another decision", "%v, want %v at %v", p, why, due)
		}
	}
	require.Equal(s, pending, listed, "pending")
}

// windows checks that no share had more starts in any window than it may.
func (s *schedule) windows() {
	for _, budget := range s.history.budgets {
		for key, share := range budget.shares {
			checked, excess := share.windows()
			require.LessOrEqual(s, excess, tolerance,
				"more starts of %s of %s in a window than its burst and its rate", key, budget.name)
			s.reached["window"] += checked
		}
	}
}

// end finishes and forgets everything.
func (s *schedule) end() {
	s.windows()
	for len(s.inFlight) > 0 {
		s.finish()
	}
	for _, uid := range s.history.known() {
		s.tracker.ForgetPod(s.now, uid)
	}
	for name := range s.history.nodes {
		s.tracker.ForgetNode(s.now, name)
	}
	nodes, pods := s.tracker.Len()
	require.Equal(s, []int{0, 0, 0}, []int{nodes, pods, s.tracker.Waiting()})
	_, ok := s.tracker.Next(s.now.Add(1e6 * time.Hour))
	require.False(s, ok)
}

// tolerance is how many tokens may be missing, or too many, where the reference
// is not sure of a start. Fractions do not add up exactly.
const tolerance = 1e-6
