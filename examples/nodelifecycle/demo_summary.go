package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/options"
)

// slackLate is how late a pod may leave: its node may recover within that time,
// and the pod need not leave then.
const slackLate = 5 * time.Second

// resolution is that of TimeAdded and of the times of conditions. What has such
// a time was decided at that time, or less than a second after it.
const resolution = time.Second

// verdict is what the history says about the controller.
type verdict struct {
	zones                 map[string]*zoneVerdict
	mustLeave, left       int
	wrong, missing, early []string
	toUnknown, toTaint    []time.Duration
	alive                 []string // declared less than a grace period after a heartbeat
	ready                 []string // tainted though reported ready for a grace period
	whileDown             []string // tainted while no zone had a node that beat, or just after
}

type zoneVerdict struct {
	tainted, evicted int
	peak             float64 // of taints set, over the rate that is allowed
}

// rules are what the controller is judged by.
type rules struct {
	grace time.Duration
	rate  float64 // of NoExecute taints in a zone, a second
}

func rulesOf(o *options.Options) rules { return rules{o.MonitorGracePeriod, o.EvictionRate} }

// judge compares the history with what is allowed. All zones are down when the
// script wants it and no heartbeat was stored for a grace period. When a busy
// machine runs neither nodes nor API server nor controller, no node is down.
func (h *history) judge(r rules, script played) *verdict {
	v := &verdict{zones: map[string]*zoneVerdict{}}
	for _, name := range slices.Sorted(maps.Keys(h.pods)) {
		v.judgePod(name, h.pods[name], h.node(h.pods[name].node), h.end)
	}
	for _, zone := range demoZones {
		v.judgeZone(string(zone), h, r)
	}
	fell := script.fell
	outages := slices.DeleteFunc(h.outages(r.grace), func(outage span) bool {
		return !slices.ContainsFunc(script.cut, outage.overlaps)
	})
	for _, name := range slices.Sorted(maps.Keys(h.nodes)) {
		v.judgeDeclarations(name, h.nodes[name], r)
		for _, s := range h.nodes[name].tainted {
			v.judgeTaint(name, h.nodes[name], s, outages, r)
		}
		for i, at := range fell[name] {
			until := h.end
			if i+1 < len(fell[name]) {
				until = fell[name][i+1]
			}
			v.times(h.nodes[name], span{at, until})
		}
	}
	return v
}

// judgePod says whether a pod had to leave, and whether it did.
func (v *verdict) judgePod(name string, p *podHistory, n *nodeHistory, end time.Time) {
	wait, leaves := map[patience]time.Duration{impatient: 0, patient: demoToleration * time.Second}[p.patience]
	tainted := n.tainted
	if !leaves {
		tainted = nil
	}
	must, may, due := false, false, false
	for _, s := range tainted {
		// A toleration counts from when the taint was set for certain, see
		// eviction.StartTime.
		begun := s.added
		if wait > 0 {
			begun = begun.Add(resolution)
		}
		must = must || !s.until(end).Before(latest(begun.Add(wait), s.stored).Add(slackLate))
		if p.gone && s.from < p.version && !s.removedBefore(p.decided) {
			may = true
			due = due || !p.decided.Before(begun.Add(wait))
		}
	}
	if must {
		v.mustLeave++
	}
	switch {
	case !p.gone && must:
		v.missing = append(v.missing, name)
		return
	case !p.gone:
		return
	case !may:
		v.wrong = append(v.wrong, name)
	case !due:
		v.early = append(v.early, name)
	}
	v.left++
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// judgeZone compares the taints set in a zone with what its rate allows. It is
// the normal rate at most, whatever the zone's state.
func (v *verdict) judgeZone(zone string, h *history, r rules) {
	z := &zoneVerdict{}
	v.zones[zone] = z
	var set []taintSpan
	for name, n := range h.nodes {
		if isInZone(name, zone) {
			set = append(set, n.tainted...)
		}
	}
	slices.SortFunc(set, func(a, b taintSpan) int {
		return cmp.Or(a.added.Compare(b.added), cmp.Compare(a.from, b.from))
	})
	z.tainted = len(set)
	for i := range set {
		for j := i + 1; j < len(set); j++ {
			// The most time that can be between the two decisions: how long a write
			// was under way does not change the rate.
			between := min(set[j].added.Add(resolution).Sub(set[i].added), set[j].stored.Sub(set[i].added))
			z.peak = max(z.peak, float64(j-i+1)/(1+r.rate*between.Seconds()))
		}
	}
	for name, p := range h.pods {
		if isInZone(name, zone) && p.gone {
			z.evicted++
		}
	}
}

func isInZone(name, zone string) bool { return strings.HasPrefix(name, "node-"+zone) }

// judgeDeclarations says whether a node was declared Unknown that had a
// heartbeat within the grace period.
func (v *verdict) judgeDeclarations(name string, n *nodeHistory, r rules) {
	for _, report := range n.reports {
		last, ok := n.lastBeat(report.changed)
		if ok && report.status == corev1.ConditionUnknown &&
			report.changed.Add(resolution).Before(last.Add(r.grace)) {
			v.alive = append(v.alive, name)
		}
	}
}

// judgeTaint says whether a node was tainted that was ready, or while all zones
// were down. The controller reads a report from its watch. On a busy machine
// that takes time, for which a report has as long as a heartbeat.
func (v *verdict) judgeTaint(name string, n *nodeHistory, s taintSpan, outages []span, r rules) {
	if n.isReady(s.added.Add(-r.grace)) && n.isReady(s.stored) {
		v.ready = append(v.ready, name)
	}
	for _, outage := range outages {
		if !s.added.Before(outage.from) && s.added.Add(resolution).Before(outage.to.Add(r.grace)) {
			v.whileDown = append(v.whileDown, name)
		}
	}
}

// times notes how long it took after a node fell silent, until it next did.
func (v *verdict) times(n *nodeHistory, silence span) {
	for _, r := range n.reports {
		if r.status == corev1.ConditionUnknown && r.stored.After(silence.from) && r.stored.Before(silence.to) {
			v.toUnknown = append(v.toUnknown, r.stored.Sub(silence.from))
			break
		}
	}
	for _, s := range n.tainted {
		if s.stored.After(silence.from) && s.stored.Before(silence.to) {
			v.toTaint = append(v.toTaint, s.stored.Sub(silence.from))
			break
		}
	}
}
