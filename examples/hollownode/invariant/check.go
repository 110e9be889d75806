package invariant

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// checker checks one history.
type checker struct {
	*index

	history    *History
	violations []Violation
}

// Check returns what a history breaks, in the order in which it happened. The
// history must end long after the last thing that has happened to the cluster.
func Check(h *History) []Violation {
	c := &checker{index: newIndex(h), history: h}
	for _, o := range h.Overlaps {
		c.violate(OneSync, o.At, "a plan of pod %s is begun during another", c.name(o.Pod))
	}
	for _, l := range c.lives {
		c.writes(l)
		c.ended(l)
		for _, runs := range l.byContainer() {
			c.runs(l, runs)
		}
	}
	slices.SortStableFunc(c.violations, func(a, b Violation) int { return a.At.Compare(b.At) })
	return c.violations
}

func (c *checker) violate(what Invariant, at time.Time, format string, args ...any) {
	c.violations = append(c.violations, Violation{what, at, fmt.Sprintf(format, args...)})
}

// index finds what became of a pod.
type index struct {
	lives []*life // of pods, in the order of their creation
	byUID map[types.UID]*life
}

// life is one pod: what the API server has stored of it, and its runs.
type life struct {
	uid     types.UID
	spec    *corev1.Pod // as it was created
	changes []*Change
	runs    []*Run
}

func newIndex(h *History) *index {
	x := &index{byUID: map[types.UID]*life{}}
	for _, change := range h.Changes {
		if change.Kind != Pods {
			continue
		}
		object := change.After
		if object == nil {
			object = change.Before
		}
		l := x.byUID[object.GetUID()]
		if l == nil {
			l = &life{uid: object.GetUID()}
			_, l.spec = change.pods()
			x.byUID[l.uid] = l
			x.lives = append(x.lives, l)
		}
		l.changes = append(l.changes, change)
	}
	for _, run := range h.Runs {
		if l := x.byUID[run.Pod]; l != nil {
			l.runs = append(l.runs, run)
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

// byContainer returns the runs of each container, in the order of the spec.
func (l *life) byContainer() [][]*Run {
	var all [][]*Run
	for _, list := range [][]corev1.Container{l.spec.Spec.InitContainers, l.spec.Spec.Containers} {
		for i := range list {
			var runs []*Run
			for _, run := range l.runs {
				if run.Name == list[i].Name {
					runs = append(runs, run)
				}
			}
			all = append(all, runs)
		}
	}
	return all
}

// removed returns when and by which change a pod was removed, or nil.
func (l *life) removed() *Change {
	if last := l.changes[len(l.changes)-1]; last.After == nil {
		return last
	}
	return nil
}

// final reports whether a phase is final.
func final(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}
