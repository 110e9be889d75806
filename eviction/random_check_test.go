package eviction_test

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
)

// What a schedule compares with the reference after each step.

// check compares all that the tracker says with what the history says.
func (s *schedule) check() {
	var first, oldest time.Time
	some, scarce, pending, overdue := false, false, 0, 0
	s.checkActions()
	for _, uid := range s.history.known() {
		decision, known := s.tracker.Decision(uid)
		why, due := s.history.deadline(uid)
		if !known || why != decision.Reason || !due.Equal(decision.Due) { // require.Equal is slow
			require.Fail(s, "another decision", "%s is %v at %v, want %v at %v", uid, decision.Reason,
				decision.Due, why, due)
		}

		if s.tracker.Stale(uid) && !s.touched[uid] {
			s.reached["stale"]++
			continue // what the tracker does about it follows
		}
		before, reported := s.history.reported[uid]
		if reported && (before.why != why || !before.due.Equal(due)) {
			delete(s.history.reported, uid)
			reported = false
		}
		if leaves(why) && !s.counts(due).After(s.now) && !reported {
			if overdue++; oldest.IsZero() || due.Before(oldest) {
				oldest = due
			}
		}
		if at, accepted := s.history.acceptedAt(uid); accepted && (!some || at.Add(longestWait).Before(first)) {
			first, some = latest(at.Add(longestWait), s.now), true
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
		// Its condition was to be cleared until its deadline came. Start finds that.
		overtaken := leaves(why) && !due.After(s.now) && s.history.isMarked(uid)
		scarce = scarce || overtaken
		steps := s.history.steps(uid, s.now)
		if len(steps) > 0 {
			pending++
		}
		for _, next := range steps {
			at, held := latest(next.at, s.now), s.history.halted && !next.clears
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
	}
	clear(s.touched)
	if s.tracker.Reevaluating() {
		next, ok := s.tracker.Next(s.told())
		require.Equal(s, s.history.synced, ok, "the next slice")
		require.True(s, !ok || next.Equal(s.now), "the next slice is at %v", next)
		return
	}
	if s.chance(30) {
		s.checkPending(pending, overdue, oldest)
	}
	wantNodes, wantPods := s.history.sizes()
	nodes, pods := s.tracker.Len()
	if want, got := [...]int{pending, wantNodes, wantPods}, [...]int{s.tracker.Waiting(), nodes,
		pods}; want != got {
		require.Equal(s, want, got, "pending, known nodes and pods")
	}

	next, ok := s.tracker.Next(s.told())
	some = some && s.history.synced
	if scarce || s.history.halted ||
		len(s.history.budgets) > 0 { // it may come sooner, to check for a token
		if some && (!ok || next.After(first.Add(time.Microsecond))) {
			require.Fail(s, "it sleeps too long", "next is at %v, want %v", next, first)
		}
		return
	}
	if some != ok || ok && !latest(next, s.now).Equal(first) {
		require.Fail(s, "another next", "next is at %v (%v), want %v (%v)", next, ok, first, some)
	}
}

// checkActions checks that no action under way goes on whose task is moot, also
// while its pod is still to be decided again.
func (s *schedule) checkActions() {
	for uid, f := range s.inFlight {
		if s.history.podStay(uid) == nil {
			require.True(s, f.work.Canceled(), "%s goes on", f.work.Pod)
			continue
		}
		if f.work.ClearCondition {
			continue // its deadline may just have come
		}
		why, due := s.history.deadline(uid)
		moot := !leaves(why) || due.After(s.now)
		if moot {
			require.True(s, f.work.Canceled(), "%s goes on", f.work.Pod)
		}
		if !moot && f.work.Canceled() && s.tracker.Stale(uid) {
			s.reached["canceled at once"]++
		}
	}
}

// counts returns from when on a pod counts as overdue: the next of the seconds
// that began with the tracker.
func (s *schedule) counts(due time.Time) time.Time {
	after := due.Sub(s.history.epoch) % time.Second
	if after <= 0 {
		return due
	}
	return due.Add(time.Second - after)
}

// checkPending compares what the tracker tells of those that wait.
func (s *schedule) checkPending(pending, overdue int, oldest time.Time) {
	pods, since := s.tracker.Overdue(s.told())
	require.Equal(s, overdue, pods, "overdue")
	require.Equal(s, oldest.IsZero(), since.IsZero())
	require.Less(s, since.Sub(oldest).Abs(), time.Second, "overdue since %v, want %v", since, oldest)
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
	for _, budget := range slices.Concat(s.history.budgets, s.history.ofClears) {
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
	for s.tracker.Reevaluate(s.now) {
		continue
	}
	_, ok := s.tracker.Next(s.now.Add(1e6 * time.Hour))
	require.False(s, ok)
}

// tolerance is how many tokens may be missing, or too many, where the reference
// is not sure of a start. Fractions do not add up exactly.
const tolerance = 1e-6
