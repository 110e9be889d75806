package report

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/zone"
)

// district is what is known of a zone. Package zone has taken the other name.
type district struct {
	name        string
	nodes, most int

	declared, tainted hits
	// living are those of declared whose kubelets were up, dead the others.
	living, dead hits
	taintings    []time.Duration // when the calls for them were sent
	recent       []time.Duration // those of the last minute
	tally        tally
	rates        []rateSince
	state        zone.State

	// inTrouble is how many of its nodes are, since outage at least one of them.
	inTrouble   int
	outage      time.Duration
	evictions   int
	drained     bool
	first, last time.Duration // how long after the beginning of an outage
	late        []time.Duration

	calls calls
}

// rateSince is a zone's rate from some time on.
type rateSince struct {
	at   time.Duration
	rate float64
}

// hits counts nodes and times.
type hits struct {
	nodes map[string]struct{}
	times int
}

func (h *hits) hit(node string) {
	if h.nodes == nil {
		h.nodes = make(map[string]struct{})
	}
	h.nodes[node] = struct{}{}
	h.times++
}

func zoneOf(object *corev1.Node) string { return object.Labels[corev1.LabelTopologyZone] }

// district returns the zone of a name.
func (r *Recorder) district(name string) *district {
	d := r.byZone[name]
	if d == nil {
		d = &district{name: name, state: zone.Initial, calls: make(calls)}
		r.byZone[name] = d
		r.districts = append(r.districts, d)
	}
	return d
}

// districtOf returns the zone of a node, and learns what the controller calls
// it.
func (r *Recorder) districtOf(object *corev1.Node) *district {
	d := r.district(zoneOf(object))
	r.byKey[zone.ByTopology(object)] = d
	return d
}

func (d *district) join() {
	d.nodes++
	d.most = max(d.most, d.nodes)
}

// trouble counts a node that is in trouble or no longer.
func (d *district) trouble(now time.Duration, delta int) {
	if d.inTrouble == 0 {
		d.outage = now
	}
	d.inTrouble += delta
}

// evicted counts a pod that was told to leave.
func (d *district) evicted(now time.Duration) {
	after := now - d.outage
	if !d.drained {
		d.drained, d.first, d.last = true, after, after
	}
	d.first, d.last = min(d.first, after), max(d.last, after)
	d.evictions++
}

// rate returns how many nodes a second may be tainted now.
func (d *district) rate() float64 {
	if len(d.rates) == 0 {
		return 0
	}
	return d.rates[len(d.rates)-1].rate
}

// look takes over what the process that acts thinks of the cluster and its
// zones. While none acts, the thoughts of the last one stand.
func (r *Recorder) look() {
	replica := r.simulation.Acting()
	if replica == nil {
		return
	}
	knowledge := replica.Knowledge()
	phaseChanged := knowledge.Phase != r.phase
	for _, status := range knowledge.Zones {
		if d := r.byKey[status.Zone]; d != nil {
			r.judged(d, status, phaseChanged)
		}
	}
	if phaseChanged { // as a consequence, often, of what the zones have come to
		r.phaseChanged(knowledge.Phase)
	}
}

func (r *Recorder) phaseChanged(phase zone.Phase) {
	text := map[zone.Phase]string{
		zone.PhaseActive:    "nodes are acted against at the rates of their zones",
		zone.PhaseHolding:   "every zone may be down, or too many nodes; no node is acted against until that is known",
		zone.PhasePaused:    "a zone is down, or too many nodes; no node is acted against",
		zone.PhaseSuspended: "every zone is down, no node is acted against",
		zone.PhaseRecovering: fmt.Sprintf("no node is acted against for %s",
			SecondsOf(r.simulation.Options().StabilizationWindow())),
	}[phase]
	r.timeline.add(r.world.Elapsed(), Line{
		Kind: PhaseChanged, From: string(r.phase), To: string(phase), Text: fmt.Sprintf("%s: %s", phase, text),
	})
	r.phase = phase
	r.suspended = r.suspended || phase == zone.PhaseSuspended
	r.paused = r.paused || phase == zone.PhasePaused
}

// judged takes over what the controller thinks of a zone. That it is Normal is
// no news of a zone that was not known, nor are the rates that follow from a
// phase.
func (r *Recorder) judged(d *district, status zone.Status, phaseChanged bool) {
	was := d.rate()
	if status.Rate != was {
		d.rates = append(d.rates, rateSince{r.world.Elapsed(), status.Rate})
	}
	from := d.state
	d.state = status.State
	if from == zone.Initial {
		from = zone.Normal
	}
	switch {
	case from != status.State:
		r.zoneChanged(d, from, status, fmt.Sprintf("%s -> %s, ", from, status.State))
	case status.Rate != was && !phaseChanged:
		r.zoneChanged(d, from, status, "")
	}
}

func (r *Recorder) zoneChanged(d *district, from zone.State, status zone.Status, text string) {
	text += fmt.Sprintf("%d of %d nodes not ready, rate %s/s", status.Counts.NotReady, status.Counts.Size(),
		rate(status.Rate))
	if until := status.HeldUntil; !until.IsZero() {
		text += fmt.Sprintf(" for %s more", SecondsOf(until.Sub(r.world.Now())))
	}
	r.timeline.add(r.world.Elapsed(), Line{
		Kind: ZoneChanged, Zone: d.name, From: string(from), To: string(status.State), Rate: &status.Rate, Text: text,
	})
}
