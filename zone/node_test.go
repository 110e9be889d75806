package zone_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/zone"
)

func labelled(pairs ...string) *corev1.Node {
	labels := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		labels[pairs[i]] = pairs[i+1]
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
}

func TestZ4TheZoneIsRegionAndZoneByDefault(t *testing.T) {
	// The form that kube-controller-manager's metrics show.
	require.Equal(t, "eu:\x00:eu-1", zone.ByTopology(labelled(corev1.LabelTopologyRegion, "eu",
		corev1.LabelTopologyZone, "eu-1")))
	require.Equal(t, ":\x00:eu-1", zone.ByTopology(labelled(corev1.LabelTopologyZone, "eu-1")))
	require.Equal(t, "eu:\x00:", zone.ByTopology(labelled(corev1.LabelTopologyRegion, "eu")))
	require.Equal(t, "eu:\x00:eu-1", zone.ByTopology(labelled(corev1.LabelFailureDomainBetaRegion,
		"eu", corev1.LabelFailureDomainBetaZone, "eu-1")))
	require.Empty(t, zone.ByTopology(labelled("pool", "gpu")))
	require.Empty(t, zone.ByTopology(&corev1.Node{}))
}

func TestZ4TheZoneCanBeAnyLabels(t *testing.T) {
	byRack := zone.ByLabels("pool", "rack")
	require.Equal(t, "gpu/r1", byRack(labelled("pool", "gpu", "rack", "r1")))
	require.Equal(t, "gpu/", byRack(labelled("pool", "gpu")))
	require.Equal(t, "/gpu", byRack(labelled("rack", "gpu")),
		"not the same as pool gpu without a rack")
	require.Equal(t, "/", byRack(&corev1.Node{}))
	require.Equal(t, "gpu", zone.ByLabels("pool")(labelled("pool", "gpu", "rack", "r1")))
	require.Empty(t, zone.ByLabels()(labelled("pool", "gpu")), "no label: one zone for all")
}

// #128528: control-plane nodes counted; upstream's label takes them out.
func TestZ4TheExclusionLabelIsHonouredWithAnyValue(t *testing.T) {
	require.Equal(t, "node.kubernetes.io/exclude-disruption", zone.LabelExcludeDisruption)
	for _, value := range []string{"", "true", "false"} {
		require.True(t, zone.Excluded(labelled(zone.LabelExcludeDisruption, value)))
	}
	require.False(t, zone.Excluded(labelled("node.kubernetes.io/exclude", "")))
	require.False(t, zone.Excluded(&corev1.Node{}))
}

// A caller's own filter is the same bit.
func TestZ4ExcludedNodesBelongToTheirZoneButDoNotCount(t *testing.T) {
	c := newActiveCluster(t, zone.Config{})
	c.notReady("a", names("a", 3)...)
	c.ready("a", "a3")
	require.Equal(t, zone.PartialDisruption, c.evaluate().Changes[0].To)

	for _, ready := range []bool{true, false} { // whatever it is, and in and out
		c.Observe(c.now, "a3", zone.Node{Zone: "a", Ready: ready, Excluded: true})
		c.evaluate()
		require.Equal(t, zone.Status{Zone: "a", State: zone.FullDisruption,
			Counts: zone.Counts{NotReady: 3}}, c.status(t, "a"))
		c.Observe(c.now, "a3", zone.Node{Zone: "a", Ready: true})
		c.evaluate()
		require.Equal(t, zone.Counts{Ready: 1, NotReady: 3}, c.status(t, "a").Counts)
	}
}
