package revision_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func newOverlay[T metav1.Object](t *testing.T) *ownership.Overlay[T] {
	t.Helper()
	overlay, err := ownership.NewOverlay[T](ownership.OverlayConfig{}, noon)
	require.NoError(t, err)
	return overlay
}

// versioned gives what was written another version, as an API server does and
// the fake does not.
func versioned(result *revision.Result) {
	if result.Current != nil {
		result.Current.ResourceVersion = "9"
	}
	for _, updated := range result.Updated {
		updated.ResourceVersion = "9"
	}
	for _, relabelled := range result.Relabelled {
		relabelled.ResourceVersion = "9"
	}
}

// D3: nothing is written twice because the caches show it late.
func TestD3RecordedWritesAreNotRepeated(t *testing.T) {
	set := shippers("shipper:1")
	one, two := recorded(t, set, 1, "one"), recorded(t, shippers("shipper:2"), 2, "two")
	twin := recorded(t, set, 3, "twin")
	orphaned := recorded(t, set, 1, "")
	orphaned.OwnerReferences = nil
	unused := recorded(t, shippers("shipper:0"), 0, "unused")
	set.Spec.RevisionHistoryLimit = new(int32)
	*set.Spec.RevisionHistoryLimit = 1
	pod := shipper("p", "one")
	pod.ResourceVersion = "7"
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

			versioned(&result)
			history, pods := newOverlay[*appsv1.ControllerRevision](t), newOverlay[*corev1.Pod](t)
			result.Record(noon, history, pods)
			merged := pods.Merge(noon, []*corev1.Pod{pod})
			if len(result.Relabelled) > 0 {
				require.Equal(t, result.Hash(), merged[0].Labels[hashLabel])
			}
			plan := compute(t, set, history.Merge(noon, c.cached), merged...)
			require.True(t, plan.Empty(), "%+v", plan)
			require.Equal(t, result.Hash(), plan.Hash)
			stale := compute(t, set, c.cached, pod)
			require.False(t, stale.Empty(), "the caches alone repeat it")
			result.Record(noon, nil, nil) // for a caller without overlays
		})
	}
}

func TestD3ResultOfNothingRecordsNothing(t *testing.T) {
	history := newOverlay[*appsv1.ControllerRevision](t)
	(&revision.Result{}).Record(noon, history, nil)
	kept := recorded(t, shippers("shipper:1"), 1, "")
	(&revision.Result{Current: kept}).Record(noon, history, nil) // nothing was written
	require.Empty(t, history.Merge(noon, nil))
}

func TestAPlanThatWasNotComputedIsRefused(t *testing.T) {
	api := newGuardedAPI()
	_, err := api.manager(t).Apply(t.Context(), revision.Plan{})
	require.ErrorIs(t, err, ownership.ErrInvalidOwner)
	require.Empty(t, api.calls())
}
