package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	upstreamutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

const mostNodes = 130

// amounts are all small ones, and percentages beyond the whole.
func amounts() []intstr.IntOrString {
	var all []intstr.IntOrString
	for i := range 16 {
		all = append(all, intstr.FromInt32(int32(i)))
	}
	for i := range 101 {
		all = append(all, intstr.FromString(fmt.Sprintf("%d%%", i)))
	}
	for _, more := range []string{"101%", "150%", "1000%"} {
		all = append(all, intstr.FromString(more))
	}
	return all
}

// TestAmountsOfARolloutAreThoseOfUpstream goes over all pairs of amounts and
// numbers of nodes. A rollout that waits for a user to delete pods has no
// amounts, so only the others are compared with ours; that ours says so is
// compared too.
func TestAmountsOfARolloutAreThoseOfUpstream(t *testing.T) {
	r := reached{}
	all := amounts()
	for i := range all {
		for j := range all {
			set := &appsv1.DaemonSet{}
			set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &all[i], MaxSurge: &all[j]},
			}
			compareAmounts(t, r, set)
		}
	}
	r.require(t, floors{
		"compared": len(all) * len(all) * (mostNodes + 1), "both zero": 100, "rounded up": 100_000, "surge": 1_000_000,
		"no surge": 10_000,
	})
}

func compareAmounts(t *testing.T, r reached, set *appsv1.DaemonSet) {
	t.Helper()
	strategy := rollout.SpecOf(set, "revision").Strategy
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	for nodes := range mostNodes + 1 {
		want := upstreamLimits(t, set, nodes)
		got, err := strategy.Limits(nodes)
		if err != nil || got != want || strategy.OnDelete {
			require.FailNowf(t, "different amounts", "%d nodes, maxUnavailable %s, maxSurge %s: ours %+v (%v), upstream %+v",
				nodes, rolling.MaxUnavailable, rolling.MaxSurge, got, err, want)
		}
		r["compared"]++
		down, err := intstr.GetScaledValueFromIntOrPercent(rolling.MaxUnavailable, nodes, false)
		switch {
		case err != nil:
			require.NoError(t, err)
		case want.Unavailable == 1 && want.Surge == 0 && down == 0 && rolling.MaxUnavailable.IntValue() == 0 && nodes > 0:
			r["both zero"]++
		case down != want.Unavailable:
			r["rounded up"]++
		}
		if want.Surge > 0 {
			r["surge"]++
		} else {
			r["no surge"]++
		}
	}
}

// upstreamLimits is what upstream's controller makes of the two amounts. The
// rule that both are not zero is in updatedDesiredNodeCounts, which is not
// exported; the whole syncs below are held against the controller itself.
func upstreamLimits(t *testing.T, set *appsv1.DaemonSet, nodes int) rollout.Limits {
	t.Helper()
	unavailable, err := upstreamutil.UnavailableCount(set, nodes)
	require.NoError(t, err)
	surge, err := upstreamutil.SurgeCount(set, nodes)
	require.NoError(t, err)
	if nodes > 0 && unavailable == 0 && surge == 0 {
		unavailable = 1
	}
	return rollout.Limits{Unavailable: unavailable, Surge: surge}
}

// TestStrategiesWithoutAmounts: whether new pods come before old ones go, where
// amounts are left out, and where they do not count.
func TestStrategiesWithoutAmounts(t *testing.T) {
	require.False(t, rollout.SpecOf(&appsv1.DaemonSet{}, "revision").Strategy.OnDelete,
		"upstream never sees a strategy without a type: the API server sets it")
	two, half := intstr.FromInt32(2), intstr.FromString("50%")
	amounts := []*intstr.IntOrString{nil, &two, &half}
	for _, kind := range []appsv1.DaemonSetUpdateStrategyType{appsv1.OnDeleteDaemonSetStrategyType,
		appsv1.RollingUpdateDaemonSetStrategyType} {
		for _, unavailable := range amounts {
			for _, surge := range amounts {
				set := &appsv1.DaemonSet{}
				set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{
					Type:          kind,
					RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: unavailable, MaxSurge: surge},
				}
				if unavailable == nil { // upstream would read through the pointer: the API server sets it
					set.Spec.UpdateStrategy.RollingUpdate = nil
				}
				strategy := rollout.SpecOf(set, "revision").Strategy
				require.Equal(t, kind != appsv1.RollingUpdateDaemonSetStrategyType, strategy.OnDelete)
				if strategy.OnDelete {
					require.False(t, upstreamutil.AllowsSurge(set), "and has no amounts")
					continue
				}
				for nodes := range mostNodes + 1 {
					limits, err := strategy.Limits(nodes)
					require.NoError(t, err)
					require.Equal(t, upstreamLimits(t, set, nodes), limits)
				}
			}
		}
	}
}
