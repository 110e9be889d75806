package invariant

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

var begin = time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)

// story is a history that a test writes: a set with hash "one", its revision,
// and nodes.
type story struct {
	History

	life *Life
	seen uint64 // what all watches have shown
	set  *appsv1.DaemonSet
}

func newStory(nodes ...string) *story {
	s := &story{life: &Life{}}
	s.Lives, s.End = []*Life{s.life}, begin.Add(time.Hour)
	s.set = &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", UID: "set", Generation: 1}}
	s.set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	s.set.Spec.Template.Labels = s.set.Spec.Selector.MatchLabels
	s.set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromInt32(1))}
	s.other(Sets, nil, s.set)
	for _, name := range nodes {
		s.other(Nodes, nil, node(name))
	}
	s.other(Revisions, nil, s.revision("one"))
	return s
}

func node(name string, effects ...corev1.TaintEffect) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node " + name)}}
	for _, effect := range effects {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "broken", Effect: effect})
	}
	return n
}

func (s *story) revision(hash string) *appsv1.ControllerRevision {
	template, err := json.Marshal(map[string]any{"spec": map[string]any{"template": s.set.Spec.Template}})
	if err != nil {
		panic(err)
	}
	r := &appsv1.ControllerRevision{ObjectMeta: s.owned("agent-"+hash, hash)}
	r.Data.Raw = template
	return r
}

func (s *story) owned(name, hash string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, UID: types.UID("uid " + name),
		Labels:          map[string]string{"app": "agent", appsv1.ControllerRevisionHashLabelKey: hash},
		OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", UID: s.set.UID, Controller: ptr.To(true)}},
	}
}

// pod returns a pod of the set that is ready.
func (s *story) pod(name, node, hash string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: s.owned(name, hash)}
	pod.Spec.NodeName = node
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return pod
}

func leavingPod(pod *corev1.Pod) *corev1.Pod {
	gone := pod.DeepCopy()
	gone.DeletionTimestamp = &metav1.Time{Time: begin}
	return gone
}

// store adds a change.
func (s *story) store(kind network.Kind, before, after metav1.Object, by *Call) {
	s.Changes = append(s.Changes, &Change{
		Kind: kind, Version: uint64(len(s.Changes) + 1), At: begin, Before: before, After: after, By: by,
	})
}

// other has another client write, and the watches show it.
func (s *story) other(kind network.Kind, before, after metav1.Object) {
	s.store(kind, before, after, nil)
	s.seen = uint64(len(s.Changes))
}

// unseen has another client write, and no watch show it.
func (s *story) unseen(kind network.Kind, before, after metav1.Object) {
	s.store(kind, before, after, nil)
}

// decision is one that the controller makes now.
func (s *story) decision() *Decision {
	d := &Decision{Life: s.life, Order: uint64(2*len(s.Calls) + 1), At: begin, Seen: make(map[network.Kind]uint64)}
	for _, kind := range Kinds {
		d.Seen[kind] = s.seen
	}
	return d
}

// own has the controller write.
func (s *story) own(kind network.Kind, before, after metav1.Object) {
	d := s.decision()
	object := after
	if object == nil {
		object = before
	}
	call := &Call{Decision: d, Kind: kind, Name: object.GetName(), Ended: d.Order + 1, Answered: true}
	s.Calls = append(s.Calls, call)
	s.store(kind, before, after, call)
}

// read has the controller read a pod.
func (s *story) read(name string) {
	d := s.decision()
	call := &Call{Decision: d, Kind: Pods, Name: name, Ended: d.Order + 1, Answered: true}
	call.Missing = uint64(len(s.Changes))
	for _, change := range s.Changes {
		if change.Kind != Pods || change.Object().GetName() != name {
			continue
		}
		if call.Answer, call.Missing = change.After, 0; change.After == nil {
			call.Missing = uint64(len(s.Changes))
		} else {
			change.After.SetResourceVersion(strconv.FormatUint(change.Version, 10))
		}
	}
	s.Calls = append(s.Calls, call)
}

// writes returns the promises about writes that a story breaks.
func (s *story) writes() []Invariant {
	var broken []Invariant
	for _, v := range Check(&s.History, s.End) {
		if v.At.Equal(begin) {
			broken = append(broken, v.Invariant)
		}
	}
	return broken
}

func TestWritesAreJudged(t *testing.T) {
	for _, c := range []struct {
		name string
		tell func(s *story)
		want []Invariant
	}{
		{"a pod on a node that fits", func(s *story) { s.own(Pods, nil, s.pod("p", "ant", "one")) }, nil},
		{"a pod on a node that repels", func(s *story) {
			s.other(Nodes, node("ant"), node("ant", corev1.TaintEffectNoSchedule))
			s.own(Pods, nil, s.pod("p", "ant", "one"))
		}, []Invariant{RightPlace}},
		{"a taint that no watch has shown", func(s *story) {
			s.unseen(Nodes, node("ant"), node("ant", corev1.TaintEffectNoSchedule))
			s.own(Pods, nil, s.pod("p", "ant", "one"))
		}, nil},
		{"a pod for a set that is gone", func(s *story) {
			s.other(Sets, s.set, nil)
			s.own(Pods, nil, s.pod("p", "ant", "one"))
		}, []Invariant{RightPlace}},
		{"two pods on a node, own writes count at once", func(s *story) {
			s.own(Pods, nil, s.pod("p", "ant", "one"))
			s.own(Pods, nil, s.pod("q", "ant", "one"))
		}, []Invariant{OnePerNode}},
		{"a lost creation is repeated under another name", func(s *story) {
			s.own(Pods, nil, s.pod("p", "ant", "one"))
			s.Calls[0].Answered = false
			s.own(Pods, nil, s.pod("q", "ant", "one"))
		}, []Invariant{OnePerNode}},
		{"a lost creation, and the template changes", func(s *story) {
			s.own(Pods, nil, s.pod("p", "ant", "one"))
			s.Calls[0].Answered = false
			s.own(Pods, nil, s.pod("q", "ant", "two"))
		}, []Invariant{OnePerNode}},
		{"a lost creation that arrives after that of the next template", func(s *story) {
			s.own(Pods, nil, s.pod("p", "ant", "one"))
			s.own(Pods, nil, s.pod("q", "ant", "two"))
			s.Calls[0].Answered = false
			s.Changes[len(s.Changes)-2].By, s.Changes[len(s.Changes)-1].By = s.Calls[1], s.Calls[0]
			s.Changes[len(s.Changes)-2].After, s.Changes[len(s.Changes)-1].After =
				s.Changes[len(s.Changes)-1].After, s.Changes[len(s.Changes)-2].After
		}, []Invariant{OnePerNode}},
		{"a lost creation that was sent again, and arrives late", func(s *story) {
			s.own(Pods, nil, s.pod("p", "ant", "one"))
			s.other(Pods, s.pod("p", "ant", "one"), nil)
			s.own(Pods, nil, s.pod("q", "ant", "two"))
			s.own(Pods, nil, s.pod("p", "ant", "one"))
			late := s.Calls[2] // it was sent first
			for _, call := range s.Calls[:2] {
				call.Decision.Order, call.Ended = call.Decision.Order+4, call.Ended+4
			}
			late.Decision.Order, late.Ended, late.Answered = 1, 2, false
		}, nil},
		{"a lost creation is read and is not there", func(s *story) {
			s.own(Pods, nil, s.pod("p", "ant", "one"))
			s.Calls[0].Answered = false
			s.unseen(Pods, s.pod("p", "ant", "one"), nil)
			s.read("p")
			s.own(Pods, nil, s.pod("q", "ant", "two"))
		}, nil},
		{"a lost creation is read and is there", func(s *story) {
			s.own(Pods, nil, s.pod("p", "ant", "one"))
			s.Calls[0].Answered = false
			s.read("p")
			s.own(Pods, nil, s.pod("q", "ant", "two"))
		}, []Invariant{OnePerNode}},
		{"a lost creation is read too early", func(s *story) {
			s.read("p")
			s.own(Pods, nil, s.pod("p", "ant", "one"))
			s.own(Pods, nil, s.pod("q", "ant", "two"))
			// It is sent before the read, and arrives after it.
			s.Calls[0].Decision.Order, s.Calls[1].Decision.Order = 2, 1
			s.Calls[0].Ended, s.Calls[1].Ended = 4, 2
			s.Calls[1].Answered = false
		}, []Invariant{OnePerNode}},
		{"a lost creation of a surge, and the template changes", func(s *story) {
			surge := s.set.DeepCopy()
			surge.Spec.UpdateStrategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt32(1))
			surge.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = nil
			s.other(Sets, s.set, surge)
			for _, on := range []string{"ant", "bee"} {
				s.other(Pods, nil, s.pod("old-"+on, on, "none"))
			}
			s.own(Pods, nil, s.pod("p", "ant", "one"))
			s.Calls[0].Answered = false
			s.own(Pods, nil, s.pod("q", "ant", "two"))
		}, []Invariant{OnePerNode}},
		{"a lost creation of a surge takes a place", func(s *story) {
			surge := s.set.DeepCopy()
			surge.Spec.UpdateStrategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt32(1))
			surge.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = nil
			s.other(Sets, s.set, surge)
			for _, on := range []string{"ant", "bee"} {
				s.other(Pods, nil, s.pod("old-"+on, on, "none"))
			}
			s.own(Pods, nil, s.pod("p", "ant", "one"))
			s.Calls[0].Answered = false
			s.own(Pods, nil, s.pod("q", "bee", "one"))
		}, []Invariant{WithinSurge}},
		{"a pod of the present template is deleted", func(s *story) {
			s.other(Pods, nil, s.pod("p", "ant", "one"))
			s.own(Pods, s.pod("p", "ant", "one"), leavingPod(s.pod("p", "ant", "one")))
		}, []Invariant{Reasoned}},
		{"a pod leaves a node with a NoExecute taint", func(s *story) {
			s.other(Pods, nil, s.pod("p", "ant", "one"))
			s.other(Nodes, node("ant"), node("ant", corev1.TaintEffectNoExecute))
			s.own(Pods, s.pod("p", "ant", "one"), leavingPod(s.pod("p", "ant", "one")))
		}, nil},
		{"a pod of another owner is deleted", func(s *story) {
			pod := s.pod("p", "ant", "one")
			pod.OwnerReferences[0].Kind = "Thief"
			s.other(Pods, nil, pod)
			s.own(Pods, pod, leavingPod(pod))
		}, []Invariant{OthersUntouched}},
		{"a halted controller deletes", func(s *story) {
			pod := s.pod("p", "ant", "one")
			s.other(Pods, nil, pod)
			s.other(Nodes, node("ant"), node("ant", corev1.TaintEffectNoExecute))
			s.life.Halts = []Span{{From: 0}}
			s.own(Pods, pod, leavingPod(pod))
		}, []Invariant{Halted}},
		{"an old pod is replaced, and another above the limit", func(s *story) {
			for _, on := range []string{"ant", "bee", "cow"} {
				s.other(Pods, nil, s.pod("p-"+on, on, "none"))
			}
			s.own(Pods, s.pod("p-ant", "ant", "none"), leavingPod(s.pod("p-ant", "ant", "none")))
			s.own(Pods, s.pod("p-bee", "bee", "none"), leavingPod(s.pod("p-bee", "bee", "none")))
		}, []Invariant{WithinUnavailable}},
		{"the available one of two pods is deleted", func(s *story) {
			failing := s.pod("q", "ant", "one")
			failing.Status.Conditions = nil
			s.other(Pods, nil, failing)
			s.other(Pods, nil, s.pod("p", "ant", "none"))
			s.own(Pods, s.pod("p", "ant", "none"), leavingPod(s.pod("p", "ant", "none")))
		}, []Invariant{BetterStays}},
		{"a second revision of a template", func(s *story) {
			s.own(Revisions, nil, s.revision("two"))
		}, []Invariant{OneRevision}},
		{"the present revision is deleted", func(s *story) {
			s.own(Revisions, s.revision("one"), nil)
		}, []Invariant{LiveRevisions}},
		{"a pod that the set does not select is adopted", func(s *story) {
			orphan, adopted := s.pod("p", "ant", "one"), s.pod("p", "ant", "one")
			orphan.OwnerReferences, orphan.Labels = nil, nil
			s.other(Pods, nil, orphan)
			s.own(Pods, orphan, adopted)
		}, []Invariant{OthersUntouched}},
		{"observedGeneration above the generation", func(s *story) {
			after := s.set.DeepCopy()
			after.Status.ObservedGeneration = 2
			s.own(Sets, s.set, after)
		}, []Invariant{StatusTrue}},
		{"a count that is not that of the nodes", func(s *story) {
			after := s.set.DeepCopy()
			after.Status.ObservedGeneration, after.Status.DesiredNumberScheduled = 1, 2
			s.own(Sets, s.set, after)
		}, []Invariant{StatusTrue}},
		{"more requests than the budget has", func(s *story) {
			s.PerSecond, s.Burst = 1, 1
			for i := range 3 {
				s.own(Pods, nil, s.pod(fmt.Sprint("p", i), []string{"ant", "bee", "cow"}[i], "one"))
			}
		}, []Invariant{WithinRequests}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory("ant", "bee", "cow")
			c.tell(s)
			require.Equal(t, c.want, s.writes())
		})
	}
}

// A failed pod is replaced at once, and the next one after a second.
func TestReplacementsOfFailedPodsAreJudged(t *testing.T) {
	for _, wait := range []time.Duration{500 * time.Millisecond, time.Second} {
		s := newStory("ant")
		for i := range 2 {
			failed := s.pod(fmt.Sprint("p", i), "ant", "one")
			failed.Status = corev1.PodStatus{Phase: corev1.PodFailed}
			s.other(Pods, nil, failed)
			s.own(Pods, failed, nil)
			s.Calls[i].Decision.At = begin.Add(time.Duration(i) * wait)
			s.seen = uint64(len(s.Changes))
		}
		if wait < time.Second {
			require.Equal(t, []Invariant{Backoff}, s.writes())
		} else {
			require.Empty(t, s.writes())
		}
	}
}

func TestTheEndIsJudged(t *testing.T) {
	s := newStory("ant")
	s.set.Status = appsv1.DaemonSetStatus{
		ObservedGeneration: 1, DesiredNumberScheduled: 1, CurrentNumberScheduled: 1, UpdatedNumberScheduled: 1,
		NumberReady: 1, NumberAvailable: 1,
	}
	s.other(Pods, nil, s.pod("p", "ant", "one"))
	require.Empty(t, Check(&s.History, s.End))

	s.Calls = []*Call{{Decision: &Decision{Life: s.life, At: begin.Add(time.Minute)}}}
	s.other(Nodes, nil, node("bee"))
	s.other(Revisions, nil, s.revision("two"))
	found := map[Invariant]bool{}
	for _, v := range Check(&s.History, begin) {
		found[v.Invariant] = true
	}
	require.Equal(t, map[Invariant]bool{Quiet: true, Converged: true, StatusConverged: true, HistoryKept: true}, found)
}
