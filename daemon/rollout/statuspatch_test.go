package rollout_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

func setWithStatus(status appsv1.DaemonSetStatus) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "monitoring", Name: "agents", UID: "the-uid",
			ResourceVersion: "12", Generation: 9},
		Status: status,
	}
}

// statusPatchOf returns the patch of a DaemonSet for counts of a generation.
func statusPatchOf(set *appsv1.DaemonSet, status rollout.Status, observed int64) ([]byte, error) {
	status.Observed = observed
	return rollout.StatusPatch(set, rollout.StatusOf(&set.Status), status)
}

func TestD3StatusIsBroughtUpToDateByOnePatch(t *testing.T) {
	require.Equal(t, types.MergePatchType, rollout.StatusPatchType)
	stored := appsv1.DaemonSetStatus{
		DesiredNumberScheduled: 1, CurrentNumberScheduled: 2, NumberReady: 3, NumberAvailable: 4,
		NumberUnavailable:      5,
		UpdatedNumberScheduled: 6, NumberMisscheduled: 7, ObservedGeneration: 8,
	}
	same := rollout.Status{Desired: 1, Current: 2, Ready: 3, Available: 4, Unavailable: 5, Updated: 6,
		Misscheduled: 7}
	for _, c := range []struct {
		name     string
		change   func(*rollout.Status)
		observed int64
		want     string
	}{
		{"nothing", func(*rollout.Status) {}, 8, ""},
		{"no generation acted on", func(*rollout.Status) {}, 0, ""},
		{"an older generation", func(*rollout.Status) {}, 7, ""},
		{"the generation alone", func(*rollout.Status) {}, 9,
			`{"metadata":{"uid":"the-uid"},"status":{"desiredNumberScheduled":1,
			"currentNumberScheduled":2,"numberReady":3,
			"numberAvailable":4,"numberUnavailable":5,"updatedNumberScheduled":6,
			"numberMisscheduled":7,"observedGeneration":9}}`},
		{"a count and an older generation", func(s *rollout.Status) { s.Ready = 30 }, 7,
			`{"metadata":{"uid":"the-uid"},"status":{
			"desiredNumberScheduled":1,"currentNumberScheduled":2,"numberReady":30,
			"numberAvailable":4,"numberUnavailable":5,
			"updatedNumberScheduled":6,"numberMisscheduled":7}}`},
		{"all to zero", func(s *rollout.Status) { *s = rollout.Status{} }, 8,
			`{"metadata":{"uid":"the-uid"},"status":{
			"desiredNumberScheduled":0,"currentNumberScheduled":0,"numberReady":0,
			"numberAvailable":0,"numberUnavailable":0,"observedGeneration":8,
			"updatedNumberScheduled":0,"numberMisscheduled":0}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			status := same
			c.change(&status)
			patch, err := statusPatchOf(setWithStatus(stored), status, c.observed)
			require.NoError(t, err)
			if c.want == "" {
				require.Nil(t, patch)
				return
			}
			require.JSONEq(t, c.want, string(patch))
		})
	}
}

// A process that takes over from an old cache counts the pods of a generation
// that is over. `kubectl rollout status` must not take these counts for those
// of the generation that its predecessor has observed.
func TestD3CountsFromAnOldCacheNameTheirGeneration(t *testing.T) {
	cached := setWithStatus(appsv1.DaemonSetStatus{NumberReady: 3, ObservedGeneration: 8})
	patch, err := statusPatchOf(cached, rollout.Status{Ready: 4}, 8)
	require.NoError(t, err)
	stored := setWithStatus(appsv1.DaemonSetStatus{ObservedGeneration: 9})
	require.NoError(t, json.Unmarshal(patch, stored))
	require.EqualValues(t, 4, stored.Status.NumberReady)
	require.EqualValues(t, 8, stored.Status.ObservedGeneration)
}

// Another client has written a generation that the set does not have. Clients
// would take any later spec for observed.
func TestD3AGenerationThatTheSetDoesNotHaveIsWrittenOver(t *testing.T) {
	set := setWithStatus(appsv1.DaemonSetStatus{NumberReady: 3, ObservedGeneration: 100})
	set.Generation = 8
	patch, err := statusPatchOf(set, rollout.Status{Ready: 3}, 8)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(patch, set))
	require.EqualValues(t, 8, set.Status.ObservedGeneration)
	patch, err = statusPatchOf(set, rollout.Status{Ready: 3}, 7)
	require.NoError(t, err)
	require.Nil(t, patch, "and none falls that the set has")
}

// What a patch does not mention stays, and so does what decoding over a struct
// does not.
func TestD3ThePatchedStatusIsTheOneThatWasWanted(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	few := func() int { return random.IntN(3) }
	collisions, patches := int32(4), 0
	for range 5000 {
		set := setWithStatus(appsv1.DaemonSetStatus{
			DesiredNumberScheduled: int32(
				few(),
			), CurrentNumberScheduled: int32(few()), NumberReady: int32(few()),
			NumberAvailable: int32(few()),
			NumberUnavailable: int32(
				few(),
			), UpdatedNumberScheduled: int32(few()), NumberMisscheduled: int32(few()),
			ObservedGeneration: int64(few()),
			CollisionCount:     &collisions, Conditions: []appsv1.DaemonSetCondition{{Type: "Own"}},
		})
		status := rollout.Status{
			Desired: few(), Current: few(), Ready: few(), Available: few(), Unavailable: few(),
			Updated: few(), Misscheduled: few(),
		}
		observed := int64(few())
		want := set.DeepCopy()
		want.Status.DesiredNumberScheduled, want.Status.CurrentNumberScheduled = int32(
			status.Desired,
		), int32(
			status.Current,
		)
		want.Status.NumberReady, want.Status.NumberAvailable = int32(
			status.Ready,
		), int32(
			status.Available,
		)
		want.Status.NumberUnavailable, want.Status.UpdatedNumberScheduled = int32(
			status.Unavailable,
		), int32(
			status.Updated,
		)
		want.Status.NumberMisscheduled = int32(status.Misscheduled)
		want.Status.ObservedGeneration = max(observed, set.Status.ObservedGeneration)

		before := set.DeepCopy()
		patch, err := statusPatchOf(set, status, observed)
		require.NoError(t, err)
		require.Equal(t, before, set, "computing it changes nothing")
		if patch != nil {
			patches++
			require.NoError(t, json.Unmarshal(patch, set))
		}
		require.Equal(t, want, set)
		patch, err = statusPatchOf(set, status, observed)
		require.NoError(t, err)
		require.Nil(t, patch, "once is enough")
	}
	require.Greater(t, patches, 4000)
}

func TestD3EachCountAloneIsAChange(t *testing.T) {
	for field := range 7 {
		set := setWithStatus(appsv1.DaemonSetStatus{})
		var status rollout.Status
		patch, err := statusPatchOf(set, status, 0)
		require.NoError(t, err)
		require.Nil(t, patch)
		*[]*int{
			&status.Desired, &status.Current, &status.Ready, &status.Available, &status.Unavailable,
			&status.Updated, &status.Misscheduled,
		}[field] = 1
		patch, err = statusPatchOf(set, status, 0)
		require.NoError(t, err)
		require.NotNil(t, patch, "field %d alone", field)
	}
}

func TestD3ASetWithoutUIDIsAnErrorAtTheDoor(t *testing.T) {
	set := setWithStatus(appsv1.DaemonSetStatus{})
	set.UID = ""
	patch, err := statusPatchOf(set, rollout.Status{Ready: 1}, 1)
	require.ErrorContains(t, err, "monitoring/agents: the owner has no UID")
	require.Nil(t, patch)
}

// rolloutStatus is what an own kind's controller writes, and no other.
type rolloutStatus struct {
	rollout.Status `json:",inline"`

	Canary string   `json:"canary,omitempty"`
	Waves  []string `json:"waves"`
}

func TestD3StatusOfAnOwnKindIsPatchedAsAWhole(t *testing.T) {
	owner := &metav1.ObjectMeta{Namespace: "monitoring", Name: "agents", UID: "the-uid"}
	before := rolloutStatus{
		Status: rollout.Status{Ready: 3, Observed: 4}, Canary: "a", Waves: []string{"one"},
	}
	counts := `"currentNumberScheduled":0,"numberMisscheduled":0,"desiredNumberScheduled":0,
		"updatedNumberScheduled":0,"numberAvailable":0,"numberUnavailable":0`
	for _, c := range []struct {
		name   string
		change func(*rolloutStatus)
		want   string
	}{
		{"nothing", func(*rolloutStatus) {}, ""},
		{"an equal list", func(s *rolloutStatus) { s.Waves = []string{"one"} }, ""},
		{"an older generation", func(s *rolloutStatus) { s.Observed = 3 }, ""},
		{"no generation", func(s *rolloutStatus) { s.Observed = 0 }, ""},
		{"a newer generation", func(s *rolloutStatus) { s.Observed = 5 },
			`"numberReady":3,"canary":"a","waves":["one"],"observedGeneration":5`},
		{"a count, not the generation", func(s *rolloutStatus) { s.Ready, s.Observed = 0, 0 },
			`"numberReady":0,"canary":"a","waves":["one"]`},
		{"a field that is left out", func(s *rolloutStatus) { s.Canary = "" },
			`"numberReady":3,"canary":null,"waves":["one"],"observedGeneration":4`},
		{"a list", func(s *rolloutStatus) { s.Waves = nil },
			`"numberReady":3,"canary":"a","waves":null,"observedGeneration":4`},
	} {
		t.Run(c.name, func(t *testing.T) {
			after := before
			c.change(&after)
			patch, err := rollout.StatusPatch(owner, before, after)
			require.NoError(t, err)
			if c.want == "" {
				require.Nil(t, patch)
				return
			}
			require.JSONEq(t, `{"metadata":{"uid":"the-uid"},"status":{`+counts+`,`+c.want+`}}`,
				string(patch))
		})
	}
}

func TestD3StatusThatIsNoObjectIsRefused(t *testing.T) {
	owner := &metav1.ObjectMeta{Namespace: "monitoring", Name: "agents", UID: "the-uid"}
	for _, status := range []any{nil, 3, []string{"a"}, func() {}, (*rolloutStatus)(nil)} {
		_, err := rollout.StatusPatch(owner, any(rolloutStatus{}), status)
		require.ErrorContains(t, err, "monitoring/agents: after: ")
		_, err = rollout.StatusPatch(owner, status, any(rolloutStatus{}))
		require.ErrorContains(t, err, "monitoring/agents: before: ")
	}
	_, err := rollout.StatusPatch(owner, nil, map[string]any{"observedGeneration": "4"})
	require.Error(t, err)
	_, err = rollout.StatusPatch(owner, map[string]any{}, map[string]any{"observedGeneration": "4"})
	require.ErrorContains(t, err, `observedGeneration is "4", want a number`)
}
