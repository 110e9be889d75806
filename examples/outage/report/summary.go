package report

import (
	"slices"
	"time"

	"github.com/kubelife/lifecycle/zone"
)

// summary returns what the run has come to up to now.
func (r *Recorder) summary() Summary {
	pods := r.podsByZone()
	cluster := Zone{Nodes: r.mostNodes(), Calls: r.calls.list()}
	summary := Summary{Workloads: []Workload{}}
	var late []time.Duration
	for _, d := range r.districts {
		z := d.report()
		z.Pods = pods[d]
		z.Pods.Evicted = d.evictions
		summary.Zones = append(summary.Zones, z)
		cluster.include(&z)
		late = append(late, d.late...)
	}
	cluster.Late = lateness(late)
	summary.Cluster = cluster
	summary.Suspended, summary.Paused = r.suspended, r.paused
	for _, w := range r.simulation.Scenario().Cluster.Workloads {
		summary.Workloads = append(summary.Workloads, Workload{w.Name, r.evicted[w.Name]})
	}
	summary.Departures = r.departuresInOrder()
	return summary
}

// mostNodes is how many the scenario has: none is ever added to them.
func (r *Recorder) mostNodes() int { return len(r.nodes) }

func (d *district) report() Zone {
	z := Zone{
		Name: d.name, Nodes: d.most,
		Declared: d.declared.report(), Tainted: d.tainted.report(),
		DeclaredLiving: d.living.report(), DeclaredDead: d.dead.report(),
		Late: lateness(d.late), Peak: d.peak(), Calls: d.calls.list(),
	}
	if d.drained {
		z.Drain = &Drain{SecondsOf(d.first), SecondsOf(d.last)}
	}
	return z
}

func (h *hits) report() Hits { return Hits{len(h.nodes), h.times} }

// include adds what a zone has to what the cluster has. A node that was
// declared in one zone and then in another counts in both.
func (z *Zone) include(part *Zone) {
	z.Declared.Nodes += part.Declared.Nodes
	z.Declared.Times += part.Declared.Times
	z.DeclaredLiving.Nodes += part.DeclaredLiving.Nodes
	z.DeclaredLiving.Times += part.DeclaredLiving.Times
	z.DeclaredDead.Nodes += part.DeclaredDead.Nodes
	z.DeclaredDead.Times += part.DeclaredDead.Times
	z.Tainted.Nodes += part.Tainted.Nodes
	z.Tainted.Times += part.Tainted.Times
	z.Pods.Evicted += part.Pods.Evicted
	z.Pods.Spared += part.Pods.Spared
	z.Pods.Waiting += part.Pods.Waiting
	z.Pods.Kept += part.Pods.Kept
	switch {
	case part.Drain == nil:
	case z.Drain == nil:
		z.Drain = &Drain{part.Drain.First, part.Drain.Last}
	default:
		z.Drain.First, z.Drain.Last = min(z.Drain.First, part.Drain.First), max(z.Drain.Last, part.Drain.Last)
	}
}

func lateness(late []time.Duration) *Late {
	if len(late) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(late))
	return &Late{Of: len(sorted), Median: SecondsOf(sorted[len(sorted)/2]), Worst: SecondsOf(sorted[len(sorted)-1])}
}

// podsByZone returns the pods that are spared and those that wait.
func (r *Recorder) podsByZone() map[*district]Pods {
	pods := make(map[*district]Pods)
	waiting := make(map[string]bool)
	for _, n := range r.machines {
		if !n.threatened() {
			continue
		}
		p := pods[n.district]
		for _, pod := range r.threatenedPods(n, n.threats()) {
			if r.phase == zone.PhaseSuspended {
				p.Spared++
			} else {
				p.Waiting++
				if _, kept := n.blocked[pod.UID]; kept {
					p.Kept++
				}
			}
			waiting[string(pod.UID)] = true
		}
		pods[n.district] = p
	}
	for uid, d := range r.spared {
		if !waiting[string(uid)] { // spared once, in danger again
			p := pods[d]
			p.Spared++
			pods[d] = p
		}
	}
	return pods
}
