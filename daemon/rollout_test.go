package daemon_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/daemon"
)

func TestRolloutKeepsToMaxUnavailable(t *testing.T) {
	s := newSet(t).nodes("a", "b", "c").running("a", "b", "c").template("new")
	s.want("delete a-1: Outdated")
	s.want("create on a: Missing")
	s.want("").wantWait("a", daemon.WaitNotAvailable).wantWait("b", daemon.WaitLimited)
	s.change("a-new-2", available).want("delete b-1: Outdated")
	s.rollout(func(r *daemon.Rollout) { r.MaxUnavailable = intstr.FromString("34%") }) // of 3: 2
	s.want("create on b: Missing", "delete c-1: Outdated")
}

func TestUnavailableOldPodsAreReplacedAtOnceUnlessStrict(t *testing.T) {
	for _, strict := range []bool{false, true} {
		s := newSet(t).nodes("a", "b", "c", "d").running("a")
		for _, node := range []string{"b", "c", "d"} {
			s.pod(node+"-1", node, "old", unready)
		}
		s.rollout(func(r *daemon.Rollout) { r.Strict, r.MaxUnavailable = strict, intstr.FromInt32(2) }).
			template("new")
		if !strict {
			s.want(
				"delete b-1: OutdatedUnavailable",
				"delete c-1: OutdatedUnavailable",
				"delete d-1: OutdatedUnavailable",
			)
			continue
		}
		s.want("delete b-1: OutdatedUnavailable", "delete c-1: OutdatedUnavailable")
		s.want("create on b: Missing").want("create on c: Missing").want("")
		s.change("b-new-2", available).want("delete d-1: OutdatedUnavailable")
	}
}

func TestPodOnANotReadyNodeNeedNotEatTheBudget(t *testing.T) {
	for _, excuse := range []bool{false, true} {
		s := newSet(t, func(c *daemon.Config) {
			if excuse {
				c.ClassifyUnavailable = daemon.IgnoreNotReadyNodes
			}
		})
		for _, name := range []string{"a", "b", "dead"} {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if name != "dead" {
				node.Status.Conditions = []corev1.NodeCondition{
					{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
				}
			}
			s.ObserveNode(s.now, node)
		}
		s.running("a", "b").
			pod("dead-1", "dead", "old", unready).
			template("new").
			pod("dead-2", "dead", "new", unready).
			gone("dead-1")
		if excuse {
			s.want("delete a-1: Outdated")
		} else {
			s.want("").wantWait("a", daemon.WaitLimited)
		}
	}
}

func TestMinReadyHoldsTheRolloutBack(t *testing.T) {
	s := newSet(t, func(c *daemon.Config) { c.Spec.MinReady = 10 * time.Second })
	s.nodes("a", "b").
		running("a", "b").
		template("new").
		want("delete a-1: Outdated").
		want("create on a: Missing")
	s.change("a-new-2", readyFrom(start))
	plan := s.Plan(s.now)
	require.True(t, plan.Empty())
	require.Equal(t, start.Add(10*time.Second), plan.Next)
	s.wantWait("a", daemon.WaitMinReady)
	s.after(10 * time.Second).want("delete b-1: Outdated")
	require.Equal(
		t,
		daemon.Status{Desired: 2, Current: 1, Ready: 1, Available: 1, Unavailable: 1, Updated: 1},
		s.Status(),
	)
}

func TestRolloutStandsStill(t *testing.T) {
	for reason, change := range map[daemon.WaitReason]func(*daemon.Rollout){
		daemon.WaitOnDelete:    func(r *daemon.Rollout) { r.OnDelete = true },
		daemon.WaitPaused:      func(r *daemon.Rollout) { r.Paused = true },
		daemon.WaitPartitioned: func(r *daemon.Rollout) { r.Partition = intstr.FromString("100%") },
	} {
		s := newSet(
			t,
		).nodes("a").
			running("a").
			rollout(change).
			template("new").
			want("").
			wantWait("a", reason)
		s.gone("a-1").want("create on a: Missing") // and that is a new one
		require.Contains(t, s.pods, "a-new-2")
	}
}

func TestPartitionKeepsTheLastNodes(t *testing.T) {
	s := newSet(t).nodes("a", "b", "c").running("a", "b", "c").template("new")
	s.rollout(
		func(r *daemon.Rollout) {
			r.Partition, r.MaxUnavailable = intstr.FromInt32(2),
				intstr.FromInt32(3)
		},
	)
	s.want("delete a-1: Outdated").want("create on a: Missing").change("a-new-2", available)
	s.want("").wantWait("b", daemon.WaitPartitioned)
	s.rollout(func(r *daemon.Rollout) { r.Partition = intstr.FromInt32(0) }).
		want("delete b-1: Outdated", "delete c-1: Outdated")
}

func TestNodesComeInTheOrderOfLessAndOnlyThoseSelected(t *testing.T) {
	s := newSet(t, func(c *daemon.Config) {
		c.Less = func(a, b *corev1.Node) bool { return a.Labels["rank"] < b.Labels["rank"] }
		c.Eligible = func(node *corev1.Node) bool { return node.Labels["rank"] != "3" }
	})
	for name, rank := range map[string]string{"a": "2", "b": "1", "c": "3", "d": "1"} {
		s.ObserveNode(
			s.now,
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rank": rank}}},
		)
	}
	s.running("a", "b", "c", "d").template("new")
	s.want("delete b-1: Outdated").want("create on b: Missing").change("b-new-2", available)
	s.want("delete d-1: Outdated").want("create on d: Missing").change("d-new-2", available)
	s.want("delete a-1: Outdated").want("create on a: Missing").change("a-new-2", available)
	s.want("").wantWait("c", daemon.WaitNotEligible)
}

func TestSurgeMakesTheNewPodFirst(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").rollout(func(r *daemon.Rollout) {
		r.MaxSurge, r.MaxUnavailable = intstr.FromInt32(1), intstr.FromInt32(0)
	}).template("new")
	s.want("create on a: Surging")
	s.want("").wantWait("a", daemon.WaitNotAvailable).wantWait("b", daemon.WaitLimited)
	s.change("a-new-2", available).want("delete a-1: Replaced").want("create on b: Surging")
}

func TestSurgeRetiresAMisscheduledPodOnlyWhenThereAreEnough(t *testing.T) {
	s := newSet(t).nodes("a").running("a").rollout(func(r *daemon.Rollout) {
		r.MaxSurge, r.MaxUnavailable = intstr.FromInt32(1), intstr.FromInt32(0)
	})
	s.ObserveNode(s.now, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "b"},
		Spec: corev1.NodeSpec{
			Taints: []corev1.Taint{{Key: "repair", Effect: corev1.TaintEffectNoSchedule}},
		},
	})
	s.running("b").template("new").change("a-1", unready)
	s.want("create on a: Surging").want("delete a-1: Replaced").want("") // which was not ready anyway
	s.change("a-new-2", available).want("delete b-1: Misscheduled").want("")
}

func TestSurgeReplacesFailedPodsWithBackoffToo(t *testing.T) {
	s := newSet(t).nodes("a").rollout(func(r *daemon.Rollout) { r.MaxSurge = intstr.FromInt32(1) })
	s.pod("x", "a", "old", phase(corev1.PodFailed)).want("create on a: Missing", "delete x: PodFailed")
	s.change("a-old-2", phase(corev1.PodFailed)).want("").wantWait("a", daemon.WaitBackoff)
	s.after(time.Second).want("create on a: Missing", "delete a-old-2: PodFailed")
}

// D3: a new pod next to the old one that a later taint keeps from being
// scheduled takes no place in the surge. It goes, and so does the old one, if
// there are enough others.
func TestD3SurgedPodThatCannotBeScheduledAnyMoreStopsNoRollout(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").rollout(surge(1)).template("new")
	s.want("create on a: Surging").
		change("a-new-2", unscheduled).
		want("").
		wantWait("b", daemon.WaitLimited)
	s.tainted("a").
		want("delete a-new-2: Misscheduled").
		want("create on b: Surging", "delete a-1: Misscheduled")
	s.change("b-new-2", available).want("delete b-1: Replaced").want("")
	s.nodes("a").want("create on a: Missing") // and when the taint goes, so does the wait
}

// D3: one that was scheduled before the taint came stays.
func TestD3SurgedPodThatWasScheduledStays(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").rollout(surge(1)).template("new")
	s.want("create on a: Surging").tainted("a").want("").wantWait("a", daemon.WaitNotAvailable)
	s.change("a-new-2", available).want("delete a-1: Replaced").want("create on b: Surging")
}

// D3: its deletion may be refused, and stops no rollout either.
func TestD3SurgedPodThatCannotBeDeletedStopsNoRollout(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").rollout(surge(1)).template("new")
	s.want("create on a: Surging").change("a-new-2", unscheduled).tainted("a")
	o := s.carryOut(func(node string) bool { return node == "a" }, time.Minute)
	require.Equal(t, 2, o.done) // b gets its new pod, and loses the old one
}
