package rollout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

func TestRolloutKeepsToMaxUnavailable(t *testing.T) {
	s := newSet(t).nodes("a", "b", "c").running("a", "b", "c").template("new")
	s.want("delete a-1: Outdated")
	s.want("create on a: Missing")
	s.want("").wantWait("a", rollout.WaitNotAvailable).wantWait("b", rollout.WaitLimited)
	s.change("a-new-2", available).want("delete b-1: Outdated")
	s.rollout(func(r *rollout.Strategy) { r.MaxUnavailable = intstr.FromString("34%") }) // of 3: 2
	s.want("create on b: Missing", "delete c-1: Outdated")
}

// #123232.
func TestUnavailableOldPodsAreReplacedAtOnceUnlessStrict(t *testing.T) {
	for _, strict := range []bool{false, true} {
		s := newSet(t).nodes("a", "b", "c", "d").running("a")
		for _, node := range []string{"b", "c", "d"} {
			s.pod(node+"-1", node, "old", unready)
		}
		s.rollout(func(r *rollout.Strategy) { r.Strict, r.MaxUnavailable = strict, intstr.FromInt32(2) }).
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

func TestMinReadyHoldsTheRolloutBack(t *testing.T) {
	s := newSet(t, func(c *rollout.Config) { c.Spec.MinReady = 10 * time.Second })
	s.nodes("a", "b").
		running("a", "b").
		template("new").
		want("delete a-1: Outdated").
		want("create on a: Missing")
	s.change("a-new-2", readyFrom(start))
	plan := s.Plan(s.now)
	require.True(t, plan.Empty())
	require.Equal(t, start.Add(10*time.Second), plan.Next)
	s.wantWait("a", rollout.WaitMinReady)
	s.after(10 * time.Second).want("delete b-1: Outdated")
	require.Equal(
		t,
		rollout.Status{Desired: 2, Current: 1, Ready: 1, Available: 1, Unavailable: 1, Updated: 1},
		s.Status(),
	)
}

func TestRolloutStandsStill(t *testing.T) {
	for reason, change := range map[rollout.WaitReason]func(*rollout.Strategy){
		rollout.WaitOnDelete:    func(r *rollout.Strategy) { r.OnDelete = true },
		rollout.WaitPaused:      func(r *rollout.Strategy) { r.Paused = true },
		rollout.WaitPartitioned: func(r *rollout.Strategy) { r.Partition = intstr.FromString("100%") },
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
		func(r *rollout.Strategy) {
			r.Partition, r.MaxUnavailable = intstr.FromInt32(2),
				intstr.FromInt32(3)
		},
	)
	s.want("delete a-1: Outdated").want("create on a: Missing").change("a-new-2", available)
	s.want("").wantWait("b", rollout.WaitPartitioned)
	s.rollout(func(r *rollout.Strategy) { r.Partition = intstr.FromInt32(0) }).
		want("delete b-1: Outdated", "delete c-1: Outdated")
}

// D5: the canary filter changes while the planner runs.
func TestD5AnotherPolicyWidensACanary(t *testing.T) {
	s := newSet(t, func(c *rollout.Config) {
		c.Spec.Policy = &choices{eligible: func(n *corev1.Node) bool { return n.Labels["rank"] == "canary" }}
	}).ranked("a", "").ranked("b", "canary").ranked("c", "").running("a", "b", "c").template("new")
	s.want("delete b-1: Outdated").want("create on b: Missing").change("b-new-2", available)
	s.want("").wantWait("a", rollout.WaitNotEligible)
	s.choose(&choices{eligible: func(node *corev1.Node) bool { return node.Name != "a" }})
	steps := s.Plan(s.now)
	require.Equal(t, "delete c-1: Outdated", listed(steps))
	s.Report(s.now, ended{Delete: &steps.Delete[0], Err: errRefused, Refused: true})
	s.choose(nil)
	s.wantWait("c", rollout.WaitRefused)
	s.after(time.Second).want("delete a-1: Outdated") // which was refused nothing
}

func TestPartitionOfAllKeepsAll(t *testing.T) {
	s := newSet(t).nodes("a", "b").running("a", "b").tainted("z").running("z")
	s.rollout(func(r *rollout.Strategy) { r.Partition = intstr.FromString("100%") }).
		template("new").
		want("")
}

// D3: a partition in percent rounds up, as all amounts of a rollout.
func TestD3PartitionInPercentRoundsUp(t *testing.T) {
	limits, err := rollout.Strategy{Partition: intstr.FromString("34%")}.Limits(3)
	require.NoError(t, err)
	require.Equal(t, 2, limits.Partition)
	s := newSet(t).nodes("a", "b", "c").running("a", "b", "c").template("new")
	s.rollout(
		func(r *rollout.Strategy) {
			r.Partition, r.MaxUnavailable = intstr.FromString("34%"),
				intstr.FromInt32(3)
		},
	)
	s.want("delete a-1: Outdated").want("create on a: Missing").change("a-new-2", available)
	s.want("").wantWait("b", rollout.WaitPartitioned)
}
