package cri

import "time"

// killedCode is the exit code of a container that is killed.
const killedCode int32 = 137

// stop begins to stop a container, or shortens its grace period. A grace period
// never gets longer.
func (f *Fake) stop(at time.Time, p *podRecord, c *containerRecord, s Stop) {
	if c.State == StateCreated || c.State == StateExited {
		return
	}
	killAt := at.Add(max(s.Grace, 0))
	if c.stopping == stopSignal {
		killAt = at.Add(max(s.Grace, shortestStop))
	}
	if c.stopping == stopNone || killAt.Before(c.killAt) {
		c.killAt = killAt
	}
	if c.stopping == stopNone {
		c.after = s.After
		c.stopping, c.stageEnds = stopHook, at
		if c.hooked && s.Grace > 0 {
			c.stageEnds = later(at, c.script.PreStopTime)
		}
	}
	f.proceedStop(at, p, c)
}

// proceedStop moves a container through the stages of its stop, as far as it
// gets now, and arms its timer for the next.
func (f *Fake) proceedStop(at time.Time, p *podRecord, c *containerRecord) {
	expired := !at.Before(c.killAt)
	if c.stopping == stopHook && (expired || ended(c.stageEnds, at)) {
		c.stopping, c.stageEnds = stopTurn, time.Time{}
	}
	if c.stopping == stopTurn && (expired || p.exited(c.after)) {
		c.stopping, c.stageEnds = stopSignal, later(at, c.script.StopTime)
		if earliest := at.Add(shortestStop); c.killAt.Before(earliest) {
			c.killAt = earliest
		}
		expired = false
	}
	if c.stopping == stopSignal {
		if ended(c.stageEnds, at) {
			f.exit(at, p, c, c.script.StopCode)
			return
		}
		if expired {
			f.exit(at, p, c, killedCode)
			return
		}
	}
	next := c.killAt
	for _, t := range []time.Time{c.stageEnds, c.exitAt} {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	f.arm(timer{p.uid, c.ID}, next)
}

// exit ends a container.
func (f *Fake) exit(at time.Time, p *podRecord, c *containerRecord, code int32) {
	c.State, c.FinishedAt, c.ExitCode = StateExited, at, code
	c.stopping, c.exitAt = stopNone, time.Time{}
	c.Reason = "Error"
	if code == 0 {
		c.Reason = "Completed"
	}
	f.arm(timer{p.uid, c.ID}, time.Time{})
	f.changed(p)
	for _, other := range p.containers {
		if other.stopping == stopTurn {
			f.proceedStop(at, p, other)
		}
	}
}

// exited reports whether none of these containers runs.
func (p *podRecord) exited(ids []string) bool {
	for _, id := range ids {
		if c := p.container(id); c != nil && c.State == StateRunning {
			return false
		}
	}
	return true
}

// ended reports whether the moment at which a stage ends has come. The zero
// time is never. The queue has called at that moment; this tells which of
// several stages it was for.
func ended(moment, at time.Time) bool { return !moment.IsZero() && !at.Before(moment) }
