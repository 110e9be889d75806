package invariant

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// checker checks one history.
type checker struct {
	*index

	history    *History
	violations []Violation
	// calm are the times in which nothing was wrong with a node.
	calm map[string][]span
}

// Check returns what a history breaks, in the order in which it happened. The
// history must end long after the last thing that has happened to the cluster.
func Check(h *History) []Violation {
	c := &checker{index: newIndex(h), history: h, calm: map[string][]span{}}
	for _, o := range h.Overlaps {
		c.violate(OneSync, o.At, "a plan of pod %s is begun during another", c.name(o.Pod))
	}
	for _, l := range c.lives {
		c.writes(l)
		c.readyInTime(l)
		if isMirror(l.spec) {
			c.mirror(l)
			continue
		}
		c.ended(l)
		c.deleted(l)
		c.phaseTrue(l)
		c.order(l, l.changes[0].At)
		c.grace(l)
		c.end(l)
		c.containers(l)
	}
	c.staticPods()
	c.capacity()
	c.nodes()
	slices.SortStableFunc(c.violations, func(a, b Violation) int { return a.At.Compare(b.At) })
	return c.violations
}

func (c *checker) violate(what Invariant, at time.Time, format string, args ...any) {
	c.violations = append(c.violations, Violation{what, at, fmt.Sprintf(format, args...)})
}

// containers checks the runs of all containers of a pod.
func (c *checker) containers(l *life) {
	for i := range l.spec.Spec.InitContainers {
		c.container(l, &l.spec.Spec.InitContainers[i], true)
	}
	for i := range l.spec.Spec.Containers {
		c.container(l, &l.spec.Spec.Containers[i], false)
	}
}

// index finds what became of a pod.
type index struct {
	lives []*life // of pods of the API, in the order of their creation
	byUID map[types.UID]*life
	// static are the lives of static pods.
	static []*life
}

// life is one pod: what the API server has stored of it, and its runs. That of
// a mirror has the runs of its static pod, and that of a static pod has no
// changes.
type life struct {
	uid     types.UID
	spec    *corev1.Pod // as it was created
	changes []*Change
	runs    []*Run
}

func newIndex(h *History) *index {
	x := &index{byUID: map[types.UID]*life{}}
	for _, change := range h.Changes {
		if change.Kind != network.Pods {
			continue
		}
		uid := change.Object().GetUID()
		l := x.byUID[uid]
		if l == nil {
			l = &life{uid: uid}
			_, l.spec = change.pods()
			x.byUID[l.uid] = l
			x.lives = append(x.lives, l)
		}
		l.changes = append(l.changes, change)
	}
	x.addStatic(h)
	for _, run := range h.Runs {
		if l := x.byUID[run.Pod]; l != nil {
			l.runs = append(l.runs, run)
		}
		for _, l := range x.lives {
			if isMirror(l.spec) && shows(l.spec) == run.Pod {
				l.runs = append(l.runs, run)
			}
		}
	}
	return x
}

// started returns when the kubelet of a node has started last, before a time.
func (c *checker) started(node string, before time.Time) time.Time {
	var last time.Time
	for _, s := range c.history.Starts {
		if s.Node == node && !s.At.After(before) && s.At.After(last) {
			last = s.At
		}
	}
	return last
}

// name returns how messages name a pod.
func (x *index) name(uid types.UID) string {
	if l := x.byUID[uid]; l != nil {
		return l.String()
	}
	return string(uid)
}

func (l *life) String() string { return l.spec.Name + " (" + string(l.uid[len(l.uid)-4:]) + ")" }

// runsOf returns the runs of a container, the first one first.
func (l *life) runsOf(name string) []*Run {
	var runs []*Run
	for _, run := range l.runs {
		if run.Name == name {
			runs = append(runs, run)
		}
	}
	return runs
}

// final reports whether a phase is final.
func final(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}
