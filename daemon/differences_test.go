package daemon_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/daemon"
)

// The tests of this file hold differences that the package's comment lists.

// D3: a partition in percent rounds up, as all amounts of a rollout.
func TestD3PartitionInPercentRoundsUp(t *testing.T) {
	limits, err := daemon.Rollout{Partition: intstr.FromString("34%")}.Limits(3)
	require.NoError(t, err)
	require.Equal(t, 2, limits.Partition)
	s := newSet(t).nodes("a", "b", "c").running("a", "b", "c").template("new")
	s.rollout(
		func(r *daemon.Rollout) {
			r.Partition, r.MaxUnavailable = intstr.FromString("34%"),
				intstr.FromInt32(3)
		},
	)
	s.want("delete a-1: Outdated").want("create on a: Missing").change("a-new-2", available)
	s.want("").wantWait("b", daemon.WaitPartitioned)
}

// D2: the waits after failures begin again with a revision, and with nothing
// else that raises the generation of a set.
func TestD2WaitsAfterFailuresBeginAgainWithARevisionOnly(t *testing.T) {
	s := newSet(t).nodes("a").pod("x", "a", "old", phase(corev1.PodFailed)).want("delete x: PodFailed")
	s.pod("y", "a", "old", phase(corev1.PodFailed)).want("").wantWait("a", daemon.WaitBackoff)
	s.rollout(func(r *daemon.Rollout) { r.MaxUnavailable = intstr.FromString("50%") }).want("")
	s.spec.MinReady = time.Minute
	require.NoError(t, s.SetSpec(s.now, s.spec))
	s.want("").wantWait("a", daemon.WaitBackoff)
	s.template("new").want("delete y: PodFailed")
}

// D2: a node keeps its wait as long as it is the same one.
func TestD2WaitOfANodeGoesWithItsUID(t *testing.T) {
	for uid, want := range map[string]string{"first": "", "second": "delete y: PodFailed"} {
		s := newSet(t).machine("a", "first", corev1.ConditionTrue)
		s.pod("x", "a", "old", phase(corev1.PodFailed)).want("delete x: PodFailed")
		s.pod("y", "a", "old", phase(corev1.PodFailed)).want("").wantWait("a", daemon.WaitBackoff)
		s.ForgetNode(s.now, "a")
		s.want("")
		s.machine("a", uid, corev1.ConditionTrue).want(want)
	}
}

// D3: a strategy of a type that is not known is a rolling update.
func TestD3StrategyOfUnknownTypeRollsOut(t *testing.T) {
	set := &appsv1.DaemonSet{}
	set.Spec.UpdateStrategy.Type = "Sometimes"
	s := newSet(t).nodes("a").running("a")
	s.spec.Rollout = daemon.SpecOf(set, "new").Rollout
	s.template("new").want("delete a-1: Outdated")
}
