package zone_test

import (
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/zone"
)

// reference is what a tracker is compared with. It keeps what it was told,
// counts everything again whenever it is asked, and decides in whole numbers.
// It shares no code with the tracker.
type reference struct {
	rules    rules
	latest   time.Time
	nodes    []*referenceNode // in the order of their arrival
	falls    []fall           // of all nodes, ever
	lives    map[string]int   // how often a zone has come into being
	existing []string

	phase    string
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
	life  int
	state zone.State
	rate  float64
}

// rules are a config of the tracker, and the same in whole numbers.
type rules struct {
	config          zone.Config
	grace, interval time.Duration

	minNotReady             int
	numerator, denominator  int // the threshold
	normal, secondary, each float64
	large                   int
}

var allRules = []rules{
	{zone.Config{}, 50 * time.Second, 11 * time.Second, 3, 11, 20, 0.1, 0.01, 0, 50},
	{zone.Config{
		State:               zone.Thresholds{Unhealthy: 0.25, MinNotReady: 1}.State,
		Rate:                zone.Rates{Normal: 2, Secondary: 1, LargeZone: 3}.Rate,
		StabilizationWindow: 3 * time.Second,
		ObservationWindow:   ptr.To(time.Second),
	}, 3 * time.Second, time.Second, 1, 1, 4, 2, 1, 0, 3},
	{zone.Config{
		State:               zone.Thresholds{Unhealthy: 0.5, MinNotReady: 2}.State,
		Rate:                zone.Rates{Normal: 0.5, Secondary: 0.01, Share: 0.25, LargeZone: 4}.Rate,
		StabilizationWindow: 10 * time.Second,
		ObservationWindow:   ptr.To(time.Duration(0)),
	}, 10 * time.Second, 0, 2, 1, 2, 0.5, 0.01, 0.25, 4},
	{
		zone.Config{ObservationWindow: ptr.To(40 * time.Second)},
		50 * time.Second, 40 * time.Second, 3, 11, 20, 0.1, 0.01, 0, 50,
	},
}

func newReference(r rules, now time.Time) *reference {
	return &reference{
		rules: r, latest: now, lives: map[string]int{},
		phase: "Recovering", activeAt: now.Add(r.grace), told: map[string]referenceTold{},
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

func (r *reference) forget(key int) {
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
		if n.is.Ready {
			counts.Ready++
		} else if n.is.Unconfirmed {
			counts.Unconfirmed++
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

func (r *reference) rate(c zone.Counts) float64 {
	if r.phase != "Active" || r.state(possible(c)[0]) != r.state(possible(c)[1]) {
		return 0
	}
	return min(r.knownRate(possible(c)[0]), r.knownRate(possible(c)[1]))
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

// suspends reports whether no zone has a ready node, if unconfirmed nodes are
// ready or if they are not.
func (r *reference) suspends(unconfirmedAreReady bool) bool {
	dead := 0
	for _, name := range r.existing {
		counts := possible(r.counts(name))[1]
		if unconfirmedAreReady {
			counts = possible(r.counts(name))[0]
		}
		if counts.Ready > 0 {
			return false
		}
		dead += counts.NotReady
	}
	return dead > 0
}

func (r *reference) stabilize(now time.Time) {
	r.see(now)
	if r.phase != "Suspended" {
		r.activeAt = r.latest.Add(r.rules.grace)
		r.pauses = r.phase == "Active"
	}
}

func (r *reference) evaluate(now time.Time) zone.Evaluation {
	r.see(now)
	before, wasActiveAt := r.phase, r.activeAt
	pauses := r.pauses && r.latest.Before(r.activeAt)
	r.pauses = false
	if before == "Suspended" {
		r.phase, r.activeAt = "Recovering", r.latest.Add(r.rules.grace)
	} else if before == "Holding" || pauses {
		r.phase = "Recovering"
	}
	if r.phase == "Recovering" && !r.latest.Before(r.activeAt) {
		r.phase = "Active"
	}
	if r.suspends(true) {
		r.phase, r.activeAt = "Suspended", wasActiveAt
	} else if r.suspends(false) {
		r.phase = "Holding"
	}
	evaluation := zone.Evaluation{Phase: zone.Phase(r.phase), From: zone.Phase(before)}
	told := map[string]referenceTold{}
	for _, name := range r.existing {
		counts := r.counts(name)
		is := referenceTold{r.lives[name], r.state(possible(counts)[0]), r.rate(counts)}
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

// notBefore plays back all falls in the zone's life in which the node fell.
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

func (r *reference) zones() []zone.Status {
	all := make([]zone.Status, 0, len(r.existing))
	for _, name := range r.existing {
		status := zone.Status{Zone: name, State: "Initial", Counts: r.counts(name)}
		if told := r.told[name]; told.life == r.lives[name] {
			status.State, status.Rate = told.state, told.rate
		}
		all = append(all, status)
	}
	slices.SortFunc(all, func(a, b zone.Status) int { return strings.Compare(a.Zone, b.Zone) })
	return all
}
