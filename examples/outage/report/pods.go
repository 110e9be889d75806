package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/examples/outage/model"
)

// WrotePod follows pods that wait to leave, and counts one that a controller
// tells to.
func (r *Recorder) WrotePod(write model.PodWrite) {
	r.tallyPod(write)
	if write.Call == nil || !mustLeave(write) {
		return
	}
	pod := write.Before
	n := r.nodes[pod.Spec.NodeName]
	if n == nil {
		return // it was on none
	}
	now := r.world.Elapsed()
	n.district.evicted(now)
	if deadline, ok := r.deadline(n, pod); ok {
		n.district.late = append(n.district.late, now-deadline)
	}
	delete(r.spared, pod.UID)
	r.departed(now, n, pod)
	r.happened(PodsEvicted, n)
}

// departed counts a pod that leaves for each step that has hit its node.
func (r *Recorder) departed(now time.Duration, n *node, pod *corev1.Pod) {
	workload := model.WorkloadOf(pod)
	r.evicted[workload]++
	script := r.simulation.Scenario().Script
	for i := range script {
		if _, struck := r.simulation.Struck(i, n.name); !struck {
			continue
		}
		after := SecondsOf(now - script[i].At.D())
		key := departing{i, workload}
		sum := r.departures[key]
		sum.add(Departure{i, workload, 1, after, after})
		r.departures[key] = sum
	}
}

// departing is what departures are counted by.
type departing struct {
	step     int
	workload string
}

// departuresInOrder returns what was counted, by step and workload.
func (r *Recorder) departuresInOrder() []Departure {
	list := slices.AppendSeq([]Departure{}, maps.Values(r.departures))
	slices.SortFunc(list, func(a, b Departure) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), strings.Compare(a.Workload, b.Workload))
	})
	return list
}

// mustLeave reports whether a write tells a pod to leave that was not told
// before.
func mustLeave(write model.PodWrite) bool {
	return write.Before != nil && write.Before.DeletionTimestamp == nil &&
		(write.After == nil || write.After.DeletionTimestamp != nil)
}

// trustedAge is by how much a taint may say that it is older than it has been
// stored. One that says more is trusted by a controller that finds it, not by
// one that saw it come.
const trustedAge = 10 * time.Second

// deadline returns when a pod had to leave its node, if that can be known.
func (r *Recorder) deadline(n *node, pod *corev1.Pod) (time.Duration, bool) {
	arrived := r.arrived(pod)
	earliest, found := time.Duration(0), false
	for i := range n.noExecute {
		s := &n.noExecute[i]
		tolerated, leaves := patience(pod, &s.taint)
		if !leaves {
			continue
		}
		if added := s.taint.TimeAdded; added == nil || s.since-added.Sub(r.world.Config().Start) > trustedAge {
			return 0, false
		}
		due := max(s.since, arrived) + tolerated
		if !found || due < earliest {
			earliest, found = due, true
		}
	}
	return earliest, found
}

// arrived returns when a pod came to its node, to the second.
func (r *Recorder) arrived(pod *corev1.Pod) time.Duration {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			return c.LastTransitionTime.Sub(r.world.Config().Start)
		}
	}
	return 0
}

// patience returns how long a pod tolerates a taint. It stays for ever if it
// does not leave.
func patience(pod *corev1.Pod, taint *corev1.Taint) (tolerated time.Duration, leaves bool) {
	for i := range pod.Spec.Tolerations {
		t := &pod.Spec.Tolerations[i]
		if !t.ToleratesTaint(klog.Logger{}, taint, false) {
			continue
		}
		if t.TolerationSeconds == nil {
			return 0, false
		}
		return max(time.Duration(*t.TolerationSeconds)*time.Second, 0), true
	}
	return 0, true
}

// leaves reports whether one of the taints makes a pod leave some time.
func leaves(pod *corev1.Pod, taints []corev1.Taint) bool {
	for i := range taints {
		if _, leaves := patience(pod, &taints[i]); leaves {
			return true
		}
	}
	return false
}

// threatenedPods returns the pods on a node that have to leave because of those
// taints and have not been told to.
func (r *Recorder) threatenedPods(n *node, threats []corev1.Taint) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range r.world.PodsOn(n.name) {
		if pod.DeletionTimestamp == nil && leaves(pod, threats) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// spare notes the pods that have outlasted the threats to their node.
func (r *Recorder) spare(n *node, threats []corev1.Taint) {
	for _, pod := range r.threatenedPods(n, threats) {
		r.spared[pod.UID] = n.district
	}
}
