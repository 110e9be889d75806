package taints_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/taints"
)

// ill returns the taints that Reconcile makes of current for a node whose Ready
// condition has that status.
func ill(
	t *testing.T, current []corev1.Taint, ready corev1.ConditionStatus, now time.Time,
) []string {
	t.Helper()
	var desired []corev1.Taint
	if one, ok := taints.NoExecute(ready); ok {
		desired = append(desired, one)
	}
	next, changed := taints.Reconcile(current, desired, taints.OwnsNoExecute, now)
	require.Equal(t, !taints.Equal(current, next), changed)
	again, changed := taints.Reconcile(next, desired, taints.OwnsNoExecute, now.Add(time.Hour))
	require.False(t, changed, "once is enough: %v, then %v", show(next), show(again))
	return show(next)
}

func TestT4TimeAddedIsNowInWholeSecondsWhenAdded(t *testing.T) {
	for _, now := range []time.Time{at(100), time.Unix(100, 999_999_999),
		time.Unix(100, 1).In(time.FixedZone("east", 5*3600+1800))} {
		require.Equal(t, []string{"UN:NoExecute@100"}, ill(t, nil, corev1.ConditionUnknown, now))
		require.Equal(t, []string{"NR:NoExecute@100"}, ill(t, nil, corev1.ConditionFalse, now))
	}
	next, _ := taints.Reconcile(nil, list("a=1:NoExecute@5", "b:NoSchedule@6"),
		taints.OwnsNoExecute, at(100))
	require.Equal(t, []string{"a=1:NoExecute@100", "b:NoSchedule@100"}, show(next),
		"the desired taint's own time does not count")
}

// kube-controller-manager v1.37.1 sets it for NoSchedule, too.
func TestT4EachEffectGetsATime(t *testing.T) {
	next, _ := taints.Reconcile(nil, list("a:NoSchedule", "b:PreferNoSchedule", "c:NoExecute"),
		taints.OwnsNoSchedule, at(100))
	require.Equal(t, []string{"a:NoSchedule@100", "b:PreferNoSchedule@100", "c:NoExecute@100"},
		show(next))

	next, _ = taints.Reconcile(list("NR:NoSchedule@7"), list("UN:NoSchedule"),
		taints.OwnsNoSchedule, at(100))
	require.Equal(t, []string{"UN:NoSchedule@100"}, show(next), "no lineage: no pod counts from it")
}

func TestT4TimeAddedIsKeptWhenThere(t *testing.T) {
	require.Equal(t, []string{"UN:NoExecute@7"},
		ill(t, list("UN:NoExecute@7"), corev1.ConditionUnknown, at(100)))
	require.Equal(t, []string{"UN:NoExecute@7"},
		ill(t, list("UN=x:NoExecute@7"), corev1.ConditionUnknown, at(100)), "also when the value changes")
	require.Equal(t, []string{"UN:NoExecute@200"},
		ill(t, list("UN=x:NoExecute@200"), corev1.ConditionUnknown, at(100)), "also when it lies ahead")

	both := list("NR:NoExecute@7")
	next, changed := taints.Reconcile(both, list("NR:NoExecute", "a:NoExecute"),
		taints.OwnsNoExecute, at(100))
	require.True(t, changed)
	require.Equal(t, []string{"NR:NoExecute@7", "a:NoExecute@100"}, show(next),
		"another taint's arrival is not its own")
}

func TestT4AMissingTimeStaysMissing(t *testing.T) {
	require.Equal(t, []string{"UN:NoExecute"},
		ill(t, list("UN:NoExecute"), corev1.ConditionUnknown, at(100)))
	require.Equal(t, []string{"UN:NoExecute"},
		ill(t, list("UN=x:NoExecute"), corev1.ConditionUnknown, at(100)))
	next, _ := taints.Reconcile(list("UN:NoExecute"), list("UN:NoExecute", "a:NoSchedule"),
		taints.OwnsNoExecute, at(100))
	require.Equal(t, []string{"UN:NoExecute", "a:NoSchedule@100"}, show(next))
}

func TestT4TheLineageCarriesTimeAddedOverInBothDirections(t *testing.T) {
	require.Equal(t, []string{"UN:NoExecute@7"},
		ill(t, list("NR:NoExecute@7"), corev1.ConditionUnknown, at(100)))
	require.Equal(t, []string{"NR:NoExecute@7"},
		ill(t, list("UN:NoExecute@7"), corev1.ConditionFalse, at(100)))
	require.Equal(t, []string{"NR:NoExecute@100"}, ill(t, list("UN:NoExecute"), corev1.ConditionFalse,
		at(100)), "nothing to carry: from now")
	require.Equal(t, []string{"NR:NoExecute@100"},
		ill(t, list("UN:NoExecute@200"), corev1.ConditionFalse, at(100)),
		"a time ahead of now is clamped")
	require.Equal(t, []string{"NR:NoSchedule@3", "UN:NoExecute@100"},
		ill(t, list("NR:NoSchedule@3"), corev1.ConditionUnknown, at(100)),
		"NoSchedule is not of the lineage")
	require.Equal(t, []string{"a:NoExecute@3", "UN:NoExecute@100"},
		ill(t, list("a:NoExecute@3"), corev1.ConditionUnknown, at(100)), "nor is another key")
}

func TestT4AFlappingNodeKeepsItsFirstTime(t *testing.T) {
	current := list("dedicated=db:NoSchedule")
	for i := range 20 {
		status := []corev1.ConditionStatus{corev1.ConditionUnknown, corev1.ConditionFalse}[i%2]
		desired, _ := taints.NoExecute(status)
		current, _ = taints.Reconcile(current, []corev1.Taint{desired}, taints.OwnsNoExecute,
			at(1000+int64(40*i)))
		require.Len(t, current, 2)
		require.Equal(t, at(1000), current[1].TimeAdded.Time, "flap %d", i)
	}
	current, changed := taints.Reconcile(current, nil, taints.OwnsNoExecute, at(5000))
	require.True(t, changed)
	require.Equal(t, []string{"dedicated=db:NoSchedule"}, show(current))
	require.Equal(t, []string{"dedicated=db:NoSchedule", "UN:NoExecute@6000"},
		ill(t, current, corev1.ConditionUnknown, at(6000)), "healthy in between: starts again")
}

// kube-controller-manager swaps in two patches: it adds the new taint, with a
// time of its own, then removes the old one. This is the state between them.
func TestT4HalfDoneSwapEndsWithOneTaintAndTheEarlierTime(t *testing.T) {
	for _, c := range []struct {
		name    string
		current []corev1.Taint
		ready   corev1.ConditionStatus
		want    []string
	}{
		{"new one last", list("NR:NoExecute@7", "UN:NoExecute@50"), corev1.ConditionUnknown,
			[]string{"UN:NoExecute@7"}},
		{"new one first", list("UN:NoExecute@50", "NR:NoExecute@7"), corev1.ConditionUnknown,
			[]string{"UN:NoExecute@7"}},
		{"back again", list("NR:NoExecute@7", "UN:NoExecute@50"), corev1.ConditionFalse,
			[]string{"NR:NoExecute@7"}},
		{"new one without a time", list("NR:NoExecute@7", "UN:NoExecute"), corev1.ConditionUnknown,
			[]string{"UN:NoExecute@7"}},
		{"old one without a time", list("NR:NoExecute", "UN:NoExecute@50"), corev1.ConditionUnknown,
			[]string{"UN:NoExecute@50"}},
		{"neither has a time", list("NR:NoExecute", "UN:NoExecute"), corev1.ConditionUnknown,
			[]string{"UN:NoExecute"}},
		{"well again", list("NR:NoExecute@7", "UN:NoExecute@50"), corev1.ConditionTrue, []string{}},
		{"others stay", list("a:NoExecute@1", "NR:NoExecute@7", "b:NoSchedule", "UN:NoExecute@50"),
			corev1.ConditionUnknown,
			[]string{"a:NoExecute@1", "b:NoSchedule", "UN:NoExecute@7"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, ill(t, c.current, c.ready, at(100)))
		})
	}
}

func TestT4TimesAloneAreNoReasonForAChange(t *testing.T) {
	both := list("NR:NoExecute@7", "UN:NoExecute@50") // and both are wanted
	next, changed := taints.Reconcile(both, list("NR:NoExecute", "UN:NoExecute"),
		taints.OwnsNoExecute, at(100))
	require.False(t, changed)
	require.True(t, itself(both, next))
}

func TestT4AZeroTimeIsAMissingOne(t *testing.T) {
	current := list("NR:NoExecute")
	current[0].TimeAdded = &metav1.Time{}
	require.Equal(t, []string{"UN:NoExecute@100"}, ill(t, current, corev1.ConditionUnknown, at(100)),
		"not since the year 1")

	current = append(current, taint("UN:NoExecute@50"))
	require.Equal(t, []string{"NR:NoExecute@50"}, ill(t, current, corev1.ConditionFalse, at(100)))
}

func TestT4AnAdministratorsNoExecuteIsUntouched(t *testing.T) {
	for _, ready := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse,
		corev1.ConditionUnknown} {
		current := list("maintenance=x:NoExecute@3", "NR:NoExecute@7", "drain:NoExecute")
		next := ill(t, current, ready, at(100))
		require.Contains(t, next, "maintenance=x:NoExecute@3")
		require.Contains(t, next, "drain:NoExecute")
	}
	next, changed := taints.Reconcile(list("maintenance:NoExecute@3"), list("maintenance:NoExecute"),
		taints.OwnsNoExecute, at(100))
	require.False(t, changed, "desired by us as well: there is nothing to do")
	require.Equal(t, []string{"maintenance:NoExecute@3"}, show(next))
}

func TestT1ReconcileKeepsOrderAndReplacesValues(t *testing.T) {
	owned := func(t *corev1.Taint) bool { return t.Key != "foreign" }
	current := list("c=1:NoSchedule", "foreign=1:NoSchedule", "a=1:NoSchedule@5", "b=1:NoExecute@6",
		"foreign:NoExecute@7")
	next, changed := taints.Reconcile(current, list("z:NoSchedule", "b=2:NoExecute", "a=2:NoSchedule",
		"y=9:NoExecute"), owned, at(100))
	require.True(t, changed)
	require.Equal(t, []string{
		"foreign=1:NoSchedule", "a=2:NoSchedule@5", "b=2:NoExecute@6", "foreign:NoExecute@7",
		"z:NoSchedule@100", "y=9:NoExecute@100",
	}, show(next))
}

func TestT1ReconcileWithDuplicates(t *testing.T) {
	// The API refuses such lists, so neither may come out of clean ones.
	node := withConditions(newNode("n", "u"), "Ready=Unknown", "Ready=Unknown")
	desired := taints.AppendNoSchedule(nil, node)
	next, changed := taints.Reconcile(nil, desired, taints.OwnsNoSchedule, at(100))
	require.True(t, changed)
	require.Equal(t, []string{"UN:NoSchedule@100"}, show(next), "a condition that is reported twice")

	next, _ = taints.Reconcile(nil, list("a=1:NoSchedule", "a=2:NoSchedule"),
		taints.OwnsNoSchedule, at(100))
	require.Equal(t, []string{"a=1:NoSchedule@100"}, show(next), "the first one's value")
	_, changed = taints.Reconcile(next, list("a=1:NoSchedule", "a=2:NoSchedule"),
		taints.OwnsNoSchedule, at(100))
	require.False(t, changed)

	twice := list("x:NoSchedule", "UN:NoExecute@9", "x:NoSchedule", "UN:NoExecute@8")
	require.Equal(t, []string{"x:NoSchedule", "x:NoSchedule"},
		ill(t, twice, corev1.ConditionTrue, at(100)), "all owned ones go, foreign ones stay")
	require.Equal(t, []string{"x:NoSchedule", "x:NoSchedule", "NR:NoExecute@8"},
		ill(t, twice, corev1.ConditionFalse, at(100)))
	require.Equal(t, show(twice), ill(t, twice, corev1.ConditionUnknown, at(100)))
}

func TestT3AllChangesDueTogetherAreOneList(t *testing.T) {
	node := withConditions(newNode("n", "u", "NR:NoSchedule", "NR:NoExecute@7",
		"dedicated:NoSchedule"), "Ready=Unknown", "DiskPressure=True")
	desired := taints.AppendNoSchedule(nil, node)
	gone, _ := taints.NoExecute(corev1.ConditionUnknown)
	desired = append(desired, gone)
	owned := func(t *corev1.Taint) bool { return taints.OwnsNoSchedule(t) || taints.OwnsNoExecute(t) }
	next, changed := taints.Reconcile(node.Spec.Taints, desired, owned, at(100))
	require.True(t, changed)
	require.Equal(t, []string{
		"dedicated:NoSchedule", "UN:NoSchedule@100",
		"node.kubernetes.io/disk-pressure:NoSchedule@100", "UN:NoExecute@7",
	}, show(next))
}

// E11: which taints count as one is the caller's, for a cluster as for a node.
func TestT4LineageIsTheCallers(t *testing.T) {
	ofClusters := taints.Lineage(func(a, b *corev1.Taint) bool {
		return a.MatchTaint(b) || a.Key != "other" && b.Key != "other"
	})
	owned := func(taint *corev1.Taint) bool { return taint.Key != "other" }
	current := list("other:NoExecute@1", "cluster-ill:NoExecute@50")
	next, changed := ofClusters.Reconcile(current, list("cluster-lost:NoExecute"), owned, at(80))
	require.True(t, changed)
	require.Equal(t, []string{"other:NoExecute@1", "cluster-lost:NoExecute@50"}, show(next))
	next, _ = taints.Reconcile(current, list("cluster-lost:NoExecute"), owned, at(80))
	require.Equal(t, []string{"other:NoExecute@1", "cluster-lost:NoExecute@80"}, show(next))
}
