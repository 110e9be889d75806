package revision_test

import (
	"iter"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
)

func compute(
	t *testing.T, set *appsv1.DaemonSet, revisions []*appsv1.ControllerRevision, pods ...*corev1.Pod,
) revision.Plan {
	t.Helper()
	plan, err := revision.Compute(sourceOf(set), revisions, slices.Values(pods))
	require.NoError(t, err)
	return plan
}

func deleted(plan revision.Plan) map[string]revision.Reason {
	names := map[string]revision.Reason{}
	for _, deletion := range plan.Delete {
		names[deletion.Revision.Name] = deletion.Reason
	}
	return names
}

func TestTheFirstRevisionIsMade(t *testing.T) {
	set := shippers("shipper:1")
	plan := compute(t, set, nil)
	require.Nil(t, plan.Current)
	require.EqualValues(t, 1, plan.Create.Revision)
	require.Equal(t, plan.Create.Labels[hashLabel], plan.Hash)
	require.Empty(t, plan.Update)
	require.Empty(t, plan.Delete)
	require.False(t, plan.Empty())
}

func TestANewTemplateGetsTheNextNumber(t *testing.T) {
	plan := compute(t, shippers("shipper:3"), []*appsv1.ControllerRevision{
		recorded(t, shippers("shipper:2"), 7, ""), recorded(t, shippers("shipper:1"), 3, ""),
	})
	require.EqualValues(t, 8, plan.Create.Revision)
}

func TestNothingIsDoneWhenAllIsAsItShouldBe(t *testing.T) {
	current := recorded(t, shippers("shipper:2"), 2, "")
	old := recorded(t, shippers("shipper:1"), 1, "")
	plan := compute(t, shippers("shipper:2"), []*appsv1.ControllerRevision{current, old})
	require.True(t, plan.Empty())
	require.Same(t, current, plan.Current)
	require.Equal(t, current.Labels[hashLabel], plan.Hash)
}

func TestPodsAreNotReadWhenNothingCanBeDeleted(t *testing.T) {
	var never iter.Seq[*corev1.Pod] = func(func(*corev1.Pod) bool) { t.Error("ranged over the pods") }
	revisions := []*appsv1.ControllerRevision{recorded(t, shippers("shipper:1"), 1, "")}
	_, err := revision.Compute(sourceOf(shippers("shipper:2")), revisions, never)
	require.NoError(t, err)
}

// D3: pods that can be ranged over only once, as from a stream, keep their
// revisions.
func TestD3PodsAreRangedOverOnce(t *testing.T) {
	set := shippers("shipper:4")
	set.Spec.RevisionHistoryLimit = new(int32)
	current, carried := recorded(t, set, 4, ""), recorded(t, shippers("shipper:2"), 2, "")
	duplicate, unused := recorded(t, set, 3, "x"), recorded(t, shippers("shipper:1"), 1, "")
	pods := []*corev1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Name: "a",
			Labels: map[string]string{hashLabel: carried.Labels[hashLabel]}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "b",
			Labels: map[string]string{hashLabel: duplicate.Labels[hashLabel]}}},
	}
	ranged := false
	once := func(yield func(*corev1.Pod) bool) {
		for _, pod := range pods {
			if ranged || !yield(pod) {
				return
			}
		}
		ranged = true
	}
	plan, err := revision.Compute(sourceOf(set),
		[]*appsv1.ControllerRevision{current, duplicate, carried, unused}, once)
	require.NoError(t, err)
	require.Equal(t, map[string]revision.Reason{duplicate.Name: revision.ReasonSameAsCurrent,
		unused.Name: revision.ReasonBeyondLimit}, deleted(plan))
	require.Len(t, plan.Relabel, 1)
	require.Equal(t, "b", plan.Relabel[0].Pod.Name)
}

func TestATemplateAppliedAgainGivesTheOldRevisionTheHighestNumber(t *testing.T) {
	first := recorded(t, shippers("shipper:1"), 1, "")
	second := recorded(t, shippers("shipper:2"), 2, "")
	plan := compute(t, shippers("shipper:1"), []*appsv1.ControllerRevision{first, second})
	require.Same(t, first, plan.Current)
	require.Nil(t, plan.Create)
	require.Equal(t, []revision.Update{{Revision: first, Number: 3,
		Reason: revision.ReasonOutnumbered}}, plan.Update)
	patch, err := plan.Update[0].Patch()
	require.NoError(t, err)
	require.JSONEq(t,
		`{"metadata":{"uid":"uid of `+first.Name+`","resourceVersion":"7"},"revision":3}`, string(patch))
	require.EqualValues(t, 1, first.Revision, "the cache's object was changed")
}

func TestTheNumberOfTheCurrentRevisionIsUnique(t *testing.T) {
	first := recorded(t, shippers("shipper:1"), 2, "")
	second := recorded(t, shippers("shipper:2"), 2, "")
	plan := compute(t, shippers("shipper:1"), []*appsv1.ControllerRevision{first, second})
	require.EqualValues(t, 3, plan.Update[0].Number)

	zero := recorded(t, shippers("shipper:1"), 0, "")
	require.EqualValues(t, 1, compute(t, shippers("shipper:1"),
		[]*appsv1.ControllerRevision{zero}).Update[0].Number)
}

func TestNumbersThatHaveRunOutAreAnError(t *testing.T) {
	last := []*appsv1.ControllerRevision{recorded(t, shippers("shipper:1"), math.MaxInt64, "")}
	_, err := revision.Compute(sourceOf(shippers("shipper:2")), last, nil)
	require.ErrorContains(t, err, "highest number")
	require.Empty(t, compute(t, shippers("shipper:1"), last).Update, "the current one may have it")
}

func TestRevisionsWithoutAHashGetTheirNameForOne(t *testing.T) {
	old := recorded(t, shippers("shipper:1"), 1, "one")
	current := recorded(t, shippers("shipper:2"), 1, "two")
	delete(old.Labels, hashLabel)
	current.Labels = nil
	plan := compute(t, shippers("shipper:2"), []*appsv1.ControllerRevision{current, old})
	require.Equal(t, "shipper-two", plan.Hash)
	require.Equal(t, []revision.Update{
		{Revision: old, Label: "shipper-one", Reason: revision.ReasonUnlabelled},
		// One call for both.
		{Revision: current, Label: "shipper-two", Number: 2, Reason: revision.ReasonOutnumbered},
	}, plan.Update)
	patch, err := plan.Update[1].Patch()
	require.NoError(t, err)
	require.JSONEq(t, `{"metadata":{"uid":"uid of shipper-two","resourceVersion":"7",
		"labels":{"controller-revision-hash":"shipper-two"}},"revision":2}`, string(patch))
}

func TestOfDuplicatesTheHighestNumberStays(t *testing.T) {
	set := shippers("shipper:1")
	a, b, c := recorded(t, set, 3, "a"), recorded(t, set, 5, "b"), recorded(t, set, 4, "c")
	plan := compute(t, set, []*appsv1.ControllerRevision{a, b, c}, shipper("p2", "c"),
		shipper("p1", "a"), shipper("p3", "b"))
	require.Same(t, b, plan.Current)
	require.Equal(t, "b", plan.Hash)
	require.Equal(t, []revision.Deletion{{a, revision.ReasonSameAsCurrent},
		{c, revision.ReasonSameAsCurrent}}, plan.Delete)
	require.Len(t, plan.Relabel, 2)
	require.Equal(t, "p1", plan.Relabel[0].Pod.Name)
	patch, err := plan.Relabel[0].Patch()
	require.NoError(t, err)
	require.JSONEq(t, `[{"op":"test","path":"/metadata/uid","value":"uid of p1"},
		{"op":"test","path":"/metadata/labels/controller-revision-hash","value":"a"},
		{"op":"replace","path":"/metadata/labels/controller-revision-hash","value":"b"}]`, string(patch))
}

func TestADuplicateThatIsBeingDeletedDoesNotStay(t *testing.T) {
	set, now := shippers("shipper:1"), metav1.Now()
	going, staying := recorded(t, set, 3, "a"), recorded(t, set, 2, "b")
	going.DeletionTimestamp = &now
	plan := compute(t, set, []*appsv1.ControllerRevision{going, staying}, shipper("p", "a"))
	require.Same(t, staying, plan.Current)
	require.Empty(t, plan.Delete, "it is going already")
	require.Len(t, plan.Relabel, 1)
}

// kubernetes/kubernetes#111280: there an old pod gets the current hash as well,
// counts as updated, and keeps the old template.
func TestPodsOfFormerTemplatesKeepTheirHashWhenDuplicatesGo(t *testing.T) {
	set := shippers("shipper:2")
	revisions := []*appsv1.ControllerRevision{
		recorded(t, shippers("shipper:1"), 1, "old"), recorded(t, set, 2, "a"), recorded(t, set, 3, "b"),
	}
	plan := compute(t, set, revisions, shipper("p1", "old"), shipper("p2", "a"),
		shipper("p3", "unknown"))
	require.Len(t, plan.Relabel, 1)
	require.Equal(t, "p2", plan.Relabel[0].Pod.Name)

	revisions[0].Labels[hashLabel] = "a" // by hand: nothing says of which the pods are
	require.Empty(t, compute(t, set, revisions, shipper("p1", "a")).Relabel)
	revisions[1].Labels[hashLabel] = "b" // as the current one: nothing to change
	require.Empty(t, compute(t, set, revisions, shipper("p1", "b")).Relabel)
}

func TestTheOldestBeyondTheLimitAreDeleted(t *testing.T) {
	history := func() []*appsv1.ControllerRevision {
		return []*appsv1.ControllerRevision{
			recorded(t, shippers("shipper:3"), 3, "three"), recorded(t, shippers("shipper:1"), 1, "one"),
			recorded(t, shippers("shipper:4"), 4, "four"), recorded(t, shippers("shipper:2"), 2, "two"),
		}
	}
	limit := func(limit int32) *appsv1.DaemonSet {
		set := shippers("shipper:4")
		set.Spec.RevisionHistoryLimit = &limit
		return set
	}
	for _, c := range []struct {
		name string
		set  *appsv1.DaemonSet
		pods []*corev1.Pod
		want []string
	}{
		{"oldest first", limit(1), nil, []string{"shipper-one", "shipper-two"}},
		{"limit zero keeps the current one", limit(0), nil,
			[]string{"shipper-one", "shipper-two", "shipper-three"}},
		{"a negative limit is zero", limit(-1), nil,
			[]string{"shipper-one", "shipper-two", "shipper-three"}},
		{"not what a pod is of", limit(1), []*corev1.Pod{shipper("p", "one")},
			[]string{"shipper-two", "shipper-three"}},
		{"also beyond the limit", limit(0), []*corev1.Pod{shipper("p", "one"), shipper("q", "three")},
			[]string{"shipper-two"}},
		{"not below the limit", limit(3), nil, nil},
		{"no limit is ten", shippers("shipper:4"), nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, deletion := range compute(t, c.set, history(), c.pods...).Delete {
				require.Equal(t, revision.ReasonBeyondLimit, deletion.Reason)
				got = append(got, deletion.Revision.Name)
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestARevisionThatIsToGoGetsNoLabel(t *testing.T) {
	set, old := shippers("shipper:2"), recorded(t, shippers("shipper:1"), 1, "one")
	set.Spec.RevisionHistoryLimit = new(int32)
	delete(old.Labels, hashLabel)
	plan := compute(t, set, []*appsv1.ControllerRevision{old, recorded(t, set, 2, "two")})
	require.Len(t, plan.Delete, 1)
	require.Empty(t, plan.Update)
	require.Len(t, compute(t, set, []*appsv1.ControllerRevision{old, recorded(t, set, 2, "two")},
		shipper("p", "shipper-one")).Update, 1)
}

func TestTheDefaultLimitIsTen(t *testing.T) {
	var revisions []*appsv1.ControllerRevision
	for i := range int64(12) {
		name := string(rune('a' + i))
		revisions = append(revisions, recorded(t, shippers("shipper:"+name), i+1, name))
	}
	require.Equal(t, map[string]revision.Reason{"shipper-a": revision.ReasonBeyondLimit},
		deleted(compute(t, shippers("shipper:l"), revisions)))
}

func TestARevisionThatIsBeingDeletedDoesNotCountForTheLimit(t *testing.T) {
	set, now := shippers("shipper:3"), metav1.Now()
	set.Spec.RevisionHistoryLimit = new(int32)
	*set.Spec.RevisionHistoryLimit = 1
	going := recorded(t, shippers("shipper:1"), 1, "")
	going.DeletionTimestamp = &now
	old := recorded(t, shippers("shipper:2"), 2, "")
	require.Empty(t, compute(t, set, []*appsv1.ControllerRevision{going, old}).Delete)
}

func TestNothingIsDeletedAsLongAsThePodsAreNotKnown(t *testing.T) {
	set := shippers("shipper:2")
	set.Spec.RevisionHistoryLimit = new(int32)
	revisions := []*appsv1.ControllerRevision{recorded(t, set, 2, "a"), recorded(t, set, 3, "b"),
		recorded(t, shippers("shipper:1"), 1, "")}
	plan, err := revision.Compute(sourceOf(set), revisions, nil)
	require.NoError(t, err)
	require.Empty(t, plan.Delete)
	require.Empty(t, plan.Relabel)
}

func TestRevisionsOfOthersAreIgnored(t *testing.T) {
	set := shippers("shipper:1")
	set.Spec.RevisionHistoryLimit = new(int32)
	foreign, orphan := recorded(t, set, 9, "a"), recorded(t, shippers("shipper:0"), 8, "b")
	foreign.OwnerReferences[0].UID = "another"
	orphan.OwnerReferences = nil
	plan := compute(t, set, []*appsv1.ControllerRevision{foreign, orphan})
	require.EqualValues(t, 1, plan.Create.Revision)
	require.Empty(t, plan.Delete)
}

func TestTheRevisionsOfAnOwnerThatIsBeingDeletedAreLeftAlone(t *testing.T) {
	set, now := shippers("shipper:1"), metav1.Now()
	set.DeletionTimestamp = &now
	_, err := revision.Compute(sourceOf(set), nil, nil)
	require.ErrorIs(t, err, ownership.ErrOwnerGone)
	_, err = revision.Compute(revision.Source{}, nil, nil)
	require.Error(t, err)
}

// kubernetes/kubernetes#134773: up to v1.33 creationTimestamp was written as
// null.
func TestARevisionWrittenInAnotherWayIsTheCurrentOne(t *testing.T) {
	const written = `{"spec":{"template":{"$patch":"replace",` +
		`"metadata":{"creationTimestamp":null,"labels":{"app":"shipper"}},` +
		`"spec":{"containers":[{"image":"shipper:1","name":"shipper","resources":{}}]}}}}`
	set := shippers("shipper:1")
	before := recorded(t, set, 1, "before")
	before.Data.Raw = []byte(written)
	plan := compute(t, set, []*appsv1.ControllerRevision{before})
	require.Same(t, before, plan.Current)
	require.True(t, plan.Empty())

	t.Run("the last of several, and the others stay", func(t *testing.T) {
		later := recorded(t, set, 2, "later")
		later.Data.Raw = []byte(written)
		plan := compute(t, set, []*appsv1.ControllerRevision{before, later})
		require.Same(t, later, plan.Current)
		require.True(t, plan.Empty())
	})
	t.Run("and is not gone back to", func(t *testing.T) {
		_, err := revision.ComputeRollback(sourceOf(set), []*appsv1.ControllerRevision{before}, 1)
		require.ErrorIs(t, err, revision.ErrAlreadyCurrent)
	})
	t.Run("but not next to one with the same bytes, nor a duplicate of it", func(t *testing.T) {
		exact := recorded(t, set, 2, "")
		plan := compute(t, set, []*appsv1.ControllerRevision{before, exact}, shipper("p", "before"))
		require.Same(t, exact, plan.Current)
		require.True(t, plan.Empty())
	})
	t.Run("nor if it has fields that are unknown here", func(t *testing.T) {
		newer := recorded(t, set, 1, "newer")
		newer.Data.Raw = []byte(`{"spec":{"template":{"$patch":"replace",` +
			`"metadata":{"labels":{"app":"shipper"}},` +
			`"spec":{"containers":[{"image":"shipper:1","name":"shipper","resources":{}}],` +
			`"nodeWhim":"any"}}}}`)
		require.NotNil(t, compute(t, set, []*appsv1.ControllerRevision{newer}).Create)
	})
	t.Run("nor if it cannot be read", func(t *testing.T) {
		broken := recorded(t, set, 1, "broken")
		broken.Data.Raw = []byte(`{"spec":`)
		require.NotNil(t, compute(t, set, []*appsv1.ControllerRevision{broken}).Create)
	})
}

// OpenKruise's DaemonSet and others are like one.
func TestAnOwnerNeedNotBeADaemonSet(t *testing.T) {
	set := shippers("shipper:1")
	source := sourceOf(set)
	source.Owner.Kind.Group, source.Owner.Kind.Version = "apps.kruise.io", "v1alpha1"
	plan, err := revision.Compute(source, nil, nil)
	require.NoError(t, err)
	require.Equal(t, "apps.kruise.io/v1alpha1", plan.Create.OwnerReferences[0].APIVersion)
}
