package daemon

import "time"

// Halt holds all deletions until Resume, whatever they are for. With it an
// operator stops a controller at once, without ending it. Creations go on, and
// so do reads. A rollout goes on as far as it deletes nothing. A task that is
// under way is not recalled. Halt costs O(1). A second Halt changes nothing.
func (p *Planner) Halt(now time.Time) {
	p.advance(now)
	p.halted = true
}

// Resume ends what Halt began. What was held is handed out as if it had become
// due now: no back-off has begun meanwhile.
func (p *Planner) Resume(now time.Time) {
	p.advance(now)
	p.halted = false
}
