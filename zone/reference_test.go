package zone_test

import (
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/zone"
)

// reference is what a tracker is compared with. It keeps all observations,
// counts again for each answer, and decides in whole numbers. It has no code in
// common with the tracker.
type reference struct {
	rules    rules
	latest   time.Time
	nodes    []*referenceNode // in the order of their arrival
	falls    []fall           // of all nodes, ever
	looks    []look           // of all zones, ever
	lives    map[string]int   // how often a zone has come into being
	existing []string

	phase    string
	stopped  bool // it was not active since the start, a pause or a suspension
	activeAt time.Time
	pauses   bool                     // a window has begun while it was active
	told     map[string]referenceTold // by zone, as last evaluated
}

type referenceNode struct {
	key int
	is  zone.Node
}

type fall struct {
	at   time.Time
	zone string
	life int
	key  int
}

type referenceTold struct {
	life      int
	state     zone.State
	rate      float64
	heldUntil time.Time
}

// look is a zone as an evaluation found it, with its unconfirmed nodes ready.
type look struct {
	at     time.Time
	zone   string
	life   int
	counts zone.Counts
}

// rules are a config of the tracker, and the same in whole numbers.
type rules struct {
	config          zone.Config
	grace, interval time.Duration

	minNotReady             int
	numerator, denominator  int // the threshold
	normal, secondary, each float64
	large                   int
	pauses                  pauses
}

// pauses are the reasons to pause the cluster: a zone without a ready node, or
// too few ready nodes. The second has another limit while it is stopped.
type pauses struct {
	zoneDown       bool
	least, resumes int // percent
}

func (p pauses) phase(c zone.Cluster) zone.Phase {
	if phase := zone.DefaultPhase(c); phase != zone.PhaseActive {
		return phase
	}
	least := p.least
	if c.Stopped {
		least = p.resumes
	}
	if p.zoneDown && c.FullyDisrupted > 0 || c.Counts.ReadyFraction() < float64(least)/100 {
		return "anything else"
	}
	return zone.PhaseActive
}

var (
	zonePauses  = pauses{zoneDown: true}
	stormPauses = pauses{least: 50, resumes: 80}
)

var allRules = []rules{
	{zone.Config{}, 50 * time.Second, 11 * time.Second, 3, 11, 20, 0.1, 0.01, 0, 50, pauses{}},
	{zone.Config{
		State:               zone.Thresholds{Unhealthy: 0.25, MinNotReady: 1}.State,
		Rate:                zone.Rates{Normal: 2, Secondary: 1, LargeZone: 3}.Rate,
		StabilizationWindow: 3 * time.Second,
		ObservationWindow:   ptr.To(time.Second),
	}, 3 * time.Second, time.Second, 1, 1, 4, 2, 1, 0, 3, pauses{}},
	{zone.Config{
		State:               zone.Thresholds{Unhealthy: 0.5, MinNotReady: 2}.State,
		Rate:                zone.Rates{Normal: 0.5, Secondary: 0.01, Fraction: 0.25, LargeZone: 4}.Rate,
		StabilizationWindow: 10 * time.Second,
		ObservationWindow:   ptr.To(time.Duration(0)),
	}, 10 * time.Second, 0, 2, 1, 2, 0.5, 0.01, 0.25, 4, pauses{}},
	{
		zone.Config{ObservationWindow: ptr.To(40 * time.Second)},
		50 * time.Second, 40 * time.Second, 3, 11, 20, 0.1, 0.01, 0, 50, pauses{},
	},
	{
		zone.Config{Phase: zonePauses.phase, StabilizationWindow: 8 * time.Second},
		8 * time.Second, 11 * time.Second, 3, 11, 20, 0.1, 0.01, 0, 50, zonePauses,
	},
	{
		zone.Config{Phase: stormPauses.phase, StabilizationWindow: 8 * time.Second},
		8 * time.Second, 11 * time.Second, 3, 11, 20, 0.1, 0.01, 0, 50, stormPauses,
	},
}

func newReference(r rules, now time.Time) *reference {
	return &reference{
		rules: r, latest: now, lives: map[string]int{},
		phase: "Recovering", stopped: true, activeAt: now.Add(r.grace), told: map[string]referenceTold{},
	}
}

func (r *reference) see(now time.Time) {
	if now.After(r.latest) {
		r.latest = now
	}
}

func (r *reference) find(key int) *referenceNode {
	for _, n := range r.nodes {
		if n.key == key {
			return n
		}
	}
	return nil
}

func (r *reference) observe(now time.Time, key int, is zone.Node) {
	r.see(now)
	n := r.find(key)
	fell := !is.Ready && (n == nil || n.is.Ready)
	if n == nil {
		n = &referenceNode{key: key}
		r.nodes = append(r.nodes, n)
	}
	n.is = is
	r.census()
	if fell {
		r.falls = append(r.falls, fall{r.latest, is.Zone, r.lives[is.Zone], key})
	}
}

// unconfirm observes each ready node again.
func (r *reference) unconfirm(now, since time.Time) {
	r.see(now)
	if r.activeAt.After(since) {
		r.stabilize(now)
	}
	for _, n := range r.nodes {
		n.is.Unconfirmed = n.is.Unconfirmed || n.is.Ready
	}
}

func (r *reference) forget(now time.Time, key int) {
	r.see(now)
	r.nodes = slices.DeleteFunc(r.nodes, func(n *referenceNode) bool { return n.key == key })
	r.census()
}

// census lists the zones and counts the births among them.
func (r *reference) census() {
	var now []string
	for _, n := range r.nodes {
		if slices.Contains(now, n.is.Zone) {
			continue
		}
		now = append(now, n.is.Zone)
		if !slices.Contains(r.existing, n.is.Zone) {
			r.lives[n.is.Zone]++
		}
	}
	slices.Sort(now)
	r.existing = now
}

func (r *reference) counts(name string) zone.Counts {
	var counts zone.Counts
	for _, n := range r.nodes {
		if n.is.Zone != name || n.is.Excluded {
			continue
		}
		if n.is.Unconfirmed {
			counts.Unconfirmed++
		} else if n.is.Ready {
			counts.Ready++
		} else {
			counts.NotReady++
		}
	}
	return counts
}

// possible returns the counts for each way in which the unconfirmed nodes may
// turn out, from all ready to none.
func possible(c zone.Counts) []zone.Counts {
	return []zone.Counts{
		{Ready: c.Ready + c.Unconfirmed, NotReady: c.NotReady},
		{Ready: c.Ready, NotReady: c.NotReady + c.Unconfirmed},
	}
}

func (r *reference) state(c zone.Counts) zone.State {
	size := c.Ready + c.NotReady
	if c.NotReady > 0 && c.NotReady == size {
		return "FullDisruption"
	}
	if c.NotReady >= r.rules.minNotReady && c.NotReady*r.rules.denominator >= r.rules.numerator*size &&
		c.NotReady > 0 {
		return "PartialDisruption"
	}
	return "Normal"
}

func (r *reference) rate(name string) (rate float64, heldUntil time.Time) {
	c := r.counts(name)
	if r.phase != "Active" || r.state(possible(c)[0]) != r.state(possible(c)[1]) {
		return 0, time.Time{}
	}
	rate = min(r.knownRate(possible(c)[0]), r.knownRate(possible(c)[1]))
	if low, left := r.held(name); left > 0 && low < r.knownRate(possible(c)[0]) {
		return min(rate, low), r.latest.Add(left)
	}
	return rate, time.Time{}
}

// held replays all looks at a zone. It returns the rate at which the zone is
// held, and for how much longer.
func (r *reference) held(name string) (low float64, left time.Duration) {
	credit, idle, holds := r.rules.interval, time.Duration(math.MaxInt64), false
	var last *look
	pass := func(until time.Time) {
		passed := until.Sub(last.at)
		if holds && credit > passed {
			credit -= passed
			return
		}
		if holds {
			passed -= credit
			credit, idle, holds = 0, 0, false
		}
		idle += min(passed, math.MaxInt64-idle)
	}
	for i := range r.looks {
		is := &r.looks[i]
		if is.zone != name || is.life != r.lives[name] {
			continue
		}
		if last == nil {
			last = is
			continue
		}
		pass(is.at)
		was, rate := r.knownRate(last.counts), r.knownRate(is.counts)
		better := last.counts.Ready < is.counts.Ready || last.counts.NotReady > is.counts.NotReady
		changes := r.state(last.counts) != r.state(is.counts)
		last = is
		switch {
		case !changes:
		case holds:
			if rate <= low {
				holds, idle = false, 0
			}
		case rate > was && better:
			low, holds, idle = was, credit > 0, 0
		case rate < was && idle >= r.rules.interval:
			credit = r.rules.interval
		}
	}
	if !holds {
		return 0, 0
	}
	return low, credit
}

func (r *reference) knownRate(c zone.Counts) float64 {
	state, size := r.state(c), c.Ready+c.NotReady
	if state == "PartialDisruption" && size <= r.rules.large {
		return 0
	}
	if state == "PartialDisruption" {
		return r.rules.secondary
	}
	if relative := r.rules.each * float64(size); relative > r.rules.normal {
		return relative
	}
	return r.rules.normal
}

// calledFor returns what the zones call for, if unconfirmed nodes are ready or
// if they are not.
func (r *reference) calledFor(unconfirmedAreReady bool) string {
	ready, notReady, down := 0, 0, false
	for _, name := range r.existing {
		counts := possible(r.counts(name))[1]
		if unconfirmedAreReady {
			counts = possible(r.counts(name))[0]
		}
		ready, notReady = ready+counts.Ready, notReady+counts.NotReady
		down = down || counts.Ready == 0 && counts.NotReady > 0
	}
	least := r.rules.pauses.least
	if r.stopped {
		least = r.rules.pauses.resumes
	}
	if down && ready == 0 {
		return "Suspended"
	}
	if down && r.rules.pauses.zoneDown || 100*ready < least*(ready+notReady) {
		return "Paused"
	}
	return "Active"
}

func (r *reference) stabilize(now time.Time) {
	r.see(now)
	if r.phase != "Suspended" && r.phase != "Paused" {
		r.activeAt = r.latest.Add(r.rules.grace)
		r.pauses = r.phase == "Active"
	}
}

func (r *reference) evaluate(now time.Time) zone.Evaluation {
	r.see(now)
	before := r.phase
	pauses := r.pauses && r.latest.Before(r.activeAt)
	r.pauses = false
	best, worst := r.calledFor(true), r.calledFor(false)
	switch {
	case best == "Suspended" && worst == "Suspended", best == "Paused":
		r.phase, r.stopped = best, true
	case before == "Suspended", before == "Paused":
		r.phase, r.activeAt = "Recovering", r.latest.Add(r.rules.grace)
	case before == "Holding", pauses:
		r.phase = "Recovering"
	}
	if r.phase == "Recovering" && !r.latest.Before(r.activeAt) {
		r.phase = "Active"
	}
	if best == "Active" && worst != "Active" {
		r.phase = "Holding"
	}
	r.stopped = r.stopped && r.phase != "Active"
	evaluation := zone.Evaluation{Phase: zone.Phase(r.phase), From: zone.Phase(before)}
	told := map[string]referenceTold{}
	for _, name := range r.existing {
		counts := r.counts(name)
		r.looks = append(r.looks, look{r.latest, name, r.lives[name], possible(counts)[0]})
		rate, heldUntil := r.rate(name)
		is := referenceTold{r.lives[name], r.state(possible(counts)[0]), rate, heldUntil}
		told[name] = is
		was := r.told[name]
		if was.life != is.life {
			was = referenceTold{state: "Initial", rate: -1}
		}
		if was.state != is.state || was.rate != is.rate {
			evaluation.Changes = append(evaluation.Changes, zone.Change{
				Zone: name, From: was.state, To: is.state, Counts: counts, Rate: is.rate,
			})
		}
	}
	for name := range r.told {
		if !slices.Contains(r.existing, name) {
			evaluation.Gone = append(evaluation.Gone, name)
		}
	}
	slices.Sort(evaluation.Gone)
	r.told = told
	return evaluation
}

// notBefore replays all falls in the zone's life in which the node fell.
func (r *reference) notBefore(key int) time.Time {
	n := r.find(key)
	if n == nil || n.is.Ready {
		return time.Time{}
	}
	var last fall
	for _, f := range r.falls {
		if f.key == key {
			last = f
		}
	}
	var end time.Time
	for _, f := range r.falls {
		if f.zone != last.zone || f.life != last.life {
			continue
		}
		if f.at.Equal(end) || f.at.After(end) {
			end = f.at.Add(r.rules.interval)
		}
		if f == last {
			break
		}
	}
	return end
}

// next returns when the zones must be evaluated even if no node changes.
func (r *reference) next() (at time.Time, ok bool) {
	if r.phase == "Recovering" {
		return r.activeAt, true
	}
	for _, told := range r.told {
		if until := told.heldUntil; !until.IsZero() && (!ok || until.Before(at)) {
			at, ok = until, true
		}
	}
	return at, ok
}

func (r *reference) zones() []zone.Status {
	all := make([]zone.Status, 0, len(r.existing))
	for _, name := range r.existing {
		status := zone.Status{Zone: name, State: "Initial", Counts: r.counts(name)}
		if told := r.told[name]; told.life == r.lives[name] {
			status.State, status.Rate, status.HeldUntil = told.state, told.rate, told.heldUntil
		}
		all = append(all, status)
	}
	slices.SortFunc(all, func(a, b zone.Status) int { return strings.Compare(a.Zone, b.Zone) })
	return all
}
