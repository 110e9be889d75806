package controller

import (
	"time"

	"github.com/kubelife/lifecycle/nodehealth"
)

func (c *Controller) addSuspect(n *node) {
	n.silence.slot = len(c.suspects)
	c.suspects = append(c.suspects, n)
}

// removeSuspect may change the order of those that are left. None is forgotten
// by that: compare goes from the last to the first, and only the last moves.
func (c *Controller) removeSuspect(s *silence) {
	last := len(c.suspects) - 1
	moved := c.suspects[last]
	c.suspects[s.slot], moved.silence.slot = moved, s.slot
	c.suspects[last] = nil
	c.suspects = c.suspects[:last]
	if last == 0 {
		c.reads.failures = 0 // of other nodes than those that come next
	}
}

// enterSilence puts a silence into a state, and into the collection that goes
// with it. It is the only function that does.
func (c *Controller) enterSilence(n *node, next silenceState) {
	s := n.silence
	if s.state == suspected {
		c.removeSuspect(s)
	}
	if s.state = next; next == suspected {
		c.addSuspect(n)
	}
}

// beginSilence records that a node has fallen silent.
func (c *Controller) beginSilence(now time.Time, n *node, task nodehealth.NodeTask) {
	n.silence = &silence{task: task, since: now}
	if c.reads.unconfirmed == 0 {
		c.reads.suspectedAt = now
	}
	c.reads.unconfirmed++
	c.willTell(now, n)
	c.addSuspect(n)
	if c.config.DeclareUnconfirmed {
		c.confirm(now, n)
		return
	}
	c.count(now, n)
}

// confirm records that a node is silent by all that can be known.
func (c *Controller) confirm(now time.Time, n *node) {
	s := n.silence
	if !s.isConfirmed() {
		c.reads.unconfirmed--
	}
	s.confirmedAt = now
	c.setBehind(now, n, false)
	c.enterSilence(n, confirmed)
	c.declarations.Add(n.object.Name, n, s.since)
	c.count(now, n)
	if n.notReady() {
		c.replan(now, n) // it was heard since it was declared, and waits for its zone again
	}
}

// setBehind records whether the last sign of life of a node is a live read.
func (c *Controller) setBehind(now time.Time, n *node, behind bool) {
	if n.behind == behind {
		return
	}
	if n.behind = behind; !behind {
		c.reads.behind--
		return
	}
	if c.reads.behind == 0 {
		c.reads.refutedAt = now
	}
	c.reads.behind++
}

// endSilence records what became of a silence that was not handed to a write,
// or whose write has ended.
func (c *Controller) endSilence(now time.Time, n *node, outcome nodehealth.Outcome) {
	s := n.silence
	c.dropSilence(now, n, outcome)
	c.count(now, n)
	if outcome == nodehealth.OutcomeAlive || s.state == overtaken {
		c.replan(now, n) // a heartbeat vouches for its conditions, and it waits for no zone
	}
}

func (c *Controller) dropSilence(now time.Time, n *node, outcome nodehealth.Outcome) {
	s := n.silence
	if s.state == suspected {
		c.removeSuspect(s)
	}
	s.setFailures(&c.reads, 0)
	if !s.isConfirmed() {
		c.reads.unconfirmed--
	}
	c.declarations.Remove(n.object.Name)
	n.silence = nil
	c.health.Finish(now, s.task, nodehealth.Result{Outcome: outcome})
}

// noticeHeartbeat ends the silence of a node if it was heard since.
func (c *Controller) noticeHeartbeat(now time.Time, n *node) {
	s := n.silence
	if s == nil {
		return
	}
	if last, _ := c.health.LastHeartbeat(n.object.Name); last.Equal(s.task.Since) {
		return
	}
	switch s.state {
	case declaring:
		c.enterSilence(n, overtaken)
		c.count(now, n)
	case overtaken:
	case suspected, reading, confirmed:
		// The monitor has heard it, and counts that more than the outcome.
		c.endSilence(now, n, nodehealth.OutcomeFailed)
	}
}

// forgetSilence drops what is known of the silence of a node that is deleted. A
// write that is under way ends it.
func (c *Controller) forgetSilence(now time.Time, n *node) {
	switch s := n.silence; {
	case s == nil:
	case s.state == declaring || s.state == overtaken:
		c.declarations.Remove(n.object.Name)
		n.silence = nil
	default:
		c.dropSilence(now, n, nodehealth.OutcomeFailed)
	}
}

// collect takes the nodes whose grace period has ended since, and reports
// whether it has left some for the next Start. That they are silent counts from
// now on.
func (c *Controller) collect(now time.Time) (more bool) {
	for visits := mostVisited; visits > 0; {
		task, ok := c.health.StartWithin(now, &visits)
		if !ok {
			return visits == 0
		}
		n := c.nodes[task.Key]
		if task.State == nodehealth.StateSilent {
			c.beginSilence(now, n, task)
			continue
		}
		// Alive: its kubelet writes that down, or has done so.
		c.health.Finish(now, task, nodehealth.Result{Outcome: nodehealth.OutcomeDone})
		if c.config.Health.RecoveryPeriod > 0 {
			c.plan(now, n)
		}
	}
	return true
}
