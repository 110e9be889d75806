package revision_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
)

// after is a list of the cache with what was written.
func after[T metav1.Object](cached, written []T, deleted ...T) []T {
	named := map[string]T{}
	for _, object := range slices.Concat(cached, written) {
		named[object.GetName()] = object
	}
	for _, object := range deleted {
		delete(named, object.GetName())
	}
	return slices.Collect(maps.Values(named))
}

// D3: nothing is written twice because the caches show it late. A result has
// all that was written.
func TestD3WritesOfAResultAreNotRepeated(t *testing.T) {
	set := shippers("shipper:1")
	one, two := recorded(t, set, 1, "one"), recorded(t, shippers("shipper:2"), 2, "two")
	twin := recorded(t, set, 3, "twin")
	orphaned := recorded(t, set, 1, "")
	orphaned.OwnerReferences = nil
	unused := recorded(t, shippers("shipper:0"), 0, "unused")
	set.Spec.RevisionHistoryLimit = new(int32)
	*set.Spec.RevisionHistoryLimit = 1
	pod := shipper("p", "one")
	type revisions = []*appsv1.ControllerRevision
	for _, c := range []struct {
		name         string
		live, cached revisions
		calls        int
	}{
		{"created", nil, nil, 1},
		{"found", revisions{recorded(t, set, 1, "")}, nil, 2},
		{"adopted", revisions{orphaned}, nil, 4}, // the owner is read for it
		{"rolled back", revisions{one, two}, revisions{one, two}, 1},
		{"beyond the limit", revisions{one, two, unused}, revisions{one, two, unused}, 2},
		{"duplicate, with its pod", revisions{one, twin}, revisions{one, twin}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newGuardedAPI(set, pod)
			for _, live := range c.live {
				require.NoError(t, api.Tracker().Add(live.DeepCopy()))
			}
			result, err := api.apply(t, set, c.cached, pod)
			require.NoError(t, err)
			require.Len(t, api.calls(), c.calls)

			written := result.Updated
			if result.Created || result.Found {
				written = append(written, result.Current)
			}
			pods := after([]*corev1.Pod{pod}, result.Relabelled)
			plan := compute(t, set, after(c.cached, written, result.Deleted...), pods...)
			require.True(t, plan.Empty(), "%+v", plan)
			require.Equal(t, result.Hash(), plan.Hash)
			stale := compute(t, set, c.cached, pod)
			require.False(t, stale.Empty(), "the caches alone repeat it")
		})
	}
}

func TestAPlanThatWasNotComputedIsRefused(t *testing.T) {
	api := newGuardedAPI()
	_, err := api.manager(t).Apply(t.Context(), revision.Plan{})
	require.ErrorIs(t, err, ownership.ErrInvalidOwner)
	require.Empty(t, api.calls())
}
