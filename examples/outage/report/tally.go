package report

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// state returns which of the states of a [ZoneSeries] the node counts in.
func (n *node) state() states {
	switch {
	case !n.exists:
		return states{}
	case n.tainted():
		return states{tainted: 1}
	case n.ready != corev1.ConditionTrue:
		return states{notReady: 1}
	case n.silent:
		return states{silent: 1}
	}
	return states{ready: 1}
}

// Tally is how many nodes of a zone are in each state of a [ZoneSeries], and
// how many pods were told to leave.
type Tally struct{ Ready, Silent, NotReady, Tainted, Evicted int }

// Tally returns how a zone is now.
func (r *Recorder) Tally(zone string) Tally {
	d := r.byZone[zone]
	if d == nil {
		return Tally{}
	}
	return Tally{d.tally.ready, d.tally.silent, d.tally.notReady, d.tally.tainted, d.evictions}
}

// tally counts a node in its zone as it is now, and its pods.
func (r *Recorder) tally(n *node) {
	n.waiting = 0
	if n.threatened() {
		pods := r.threatenedPods(n, n.threats())
		n.waiting = len(pods)
		for uid := range n.blocked {
			if !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.UID == uid }) {
				delete(n.blocked, uid)
			}
		}
	} else {
		n.blocked = nil
	}
	n.count()
}

// count replaces what the node counted as before.
func (n *node) count() {
	if n.counted != nil {
		n.counted.tally.add(n.tallied, -1)
	}
	n.counted, n.tallied = n.district, tally{n.state(), n.waiting, len(n.blocked)}
	if n.counted != nil {
		n.counted.tally.add(n.tallied, +1)
	}
}

// waits reports whether a pod counts as waiting on its node.
func waits(n *node, pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && leaves(pod, n.threats())
}

// tallyPod follows the pods on nodes in trouble.
func (r *Recorder) tallyPod(write model.PodWrite) {
	one := func(pod *corev1.Pod, times int) {
		if pod == nil {
			return
		}
		n := r.nodes[pod.Spec.NodeName]
		if n == nil || !n.threatened() {
			return
		}
		if waits(n, pod) {
			n.waiting += times
		} else {
			delete(n.blocked, pod.UID)
		}
		if write.After == nil {
			delete(n.blocked, pod.UID)
		}
		n.count()
	}
	one(write.Before, -1)
	one(write.After, +1)
}

// refused counts a pod whose eviction a budget refused.
func (r *Recorder) refused(call *network.Call) {
	pod := r.world.Pod(call.Name)
	if pod == nil || call.Preconditions != nil && call.Preconditions.UID != nil && *call.Preconditions.UID != pod.UID {
		return
	}
	n := r.nodes[pod.Spec.NodeName]
	if n == nil || !n.threatened() || !waits(n, pod) {
		return
	}
	if _, again := n.blocked[pod.UID]; again {
		return // a retry
	}
	if n.blocked == nil {
		n.blocked = make(map[types.UID]struct{})
	}
	n.blocked[pod.UID] = struct{}{}
	n.count()
	r.happened(PodsKept, n)
}

// sample adds how things are now to the series.
func (r *Recorder) sample() {
	now := r.world.Elapsed()
	for len(r.samples) < len(r.districts) {
		r.sampler.zone(r.districts[len(r.samples)].name)
		r.samples = append(r.samples, zoneSample{})
	}
	for i, d := range r.districts {
		d.recent = slices.DeleteFunc(d.recent, func(sent time.Duration) bool { return sent <= now-time.Minute })
		r.samples[i] = zoneSample{
			tally: d.tally, evicted: d.evictions, tainting: len(d.recent), limit: d.allowed(now-time.Minute, now),
		}
	}
	r.sampler.add(now, r.samples, r.sentSince)
	r.sentSince = 0
}
