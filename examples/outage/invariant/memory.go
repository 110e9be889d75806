package invariant

import (
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// checkMemory compares what the acting client remembers with what it sees.
func (j *Judge) checkMemory() {
	now := j.world.Elapsed()
	since, calm := j.subject.Calm()
	client := j.subject.Acting()
	if !calm || client == nil || now < since+j.settings.CalmBound || now < j.changed+j.settings.bound() {
		return
	}
	v := j.view(client)
	v.judgeZones(now)
	m := j.subject.Memory()
	nodes := client.CachedCount(network.Nodes)
	j.compare("nodes", m.Nodes, nodes)
	j.compare("pods", m.Pods, v.boundPods)
	j.compare("zones", m.Zones, len(v.zones))
	if waiting := v.waiting(); m.Queued > waiting {
		j.violated(NothingLeft, "queued", "%d nodes are queued for a taint, but %d wait for one", m.Queued, waiting)
	}
	if leaving := j.leaving(v); m.Pending > leaving {
		j.violated(NothingLeft, "pending", "%d pods are pending, but %d have to leave at some time", m.Pending, leaving)
	}
}

func (j *Judge) compare(what string, remembered, seen int) {
	if remembered != seen {
		j.violated(NothingLeft, what, "%d %s are remembered, but %d are seen", remembered, what, seen)
	}
}

func (v *view) waiting() int {
	waiting := 0
	for _, z := range v.zones {
		waiting += len(z.waiting)
	}
	return waiting
}

// leaving counts the pods that have to leave at some time, whatever is held.
func (j *Judge) leaving(v *view) int {
	leaving := 0
	for _, n := range j.inOrder {
		for _, p := range n.pods {
			if p.leaves() {
				continue
			}
			due := never
			if n.object != nil {
				due = p.earliestDue(n.newest.taints, p.tolerations(), true, v.nodes[n.name])
			}
			seen := v.nodes[n.name]
			byNode := v.judge.settings.ByNode && seen != nil && seen.illness.ongoing && !isDaemon(p.object)
			if due != never || byNode {
				leaving++
			}
		}
	}
	return leaving
}
