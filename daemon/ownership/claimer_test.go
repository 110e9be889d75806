package ownership_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubelife/lifecycle/daemon/ownership"
)

var (
	_ ownership.Getter[*appsv1.DaemonSet] = appsv1client.DaemonSetInterface(nil)
	_ ownership.Patcher[*corev1.Pod]      = corev1client.PodInterface(nil)
)

func (a *guardedAPI) claimer(t *testing.T, set *appsv1.DaemonSet) *ownership.Claimer {
	t.Helper()
	claimer, err := ownership.NewClaimer(ownerOf(set), a.AppsV1().DaemonSets("logging"))
	require.NoError(t, err)
	return claimer
}

func podNames(pods []*corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

func TestClaimingWhatIsOursAlreadyMakesNoCall(t *testing.T) {
	set := shippers()
	api := newGuardedAPI()
	pods := []*corev1.Pod{shipper("a"), edited(shipper("b"), foreign), shipper("c")}
	claimed, err := ownership.ClaimAll(t.Context(), api.claimer(t, set),
		api.CoreV1().Pods("logging"), pods)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c"}, podNames(claimed.Owned))
	require.Same(t, pods[0], claimed.Owned[0])
	require.Empty(t, api.calls())
}

func TestOrphansAreAdoptedAndStrangersReleased(t *testing.T) {
	set := shippers()
	pods := []*corev1.Pod{shipper("a"), edited(shipper("b"), orphan),
		edited(shipper("c"), unselected), edited(shipper("d"), orphan)}
	revision := &appsv1.ControllerRevision{ObjectMeta: edited(shipper("r"), orphan).ObjectMeta}
	api := newGuardedAPI(set, pods[0], pods[1], pods[2], pods[3], revision)
	claimer := api.claimer(t, set)
	claimed, err := ownership.ClaimAll(t.Context(), claimer, api.CoreV1().Pods("logging"), pods)
	require.NoError(t, err)
	revisions, err := ownership.ClaimAll(t.Context(), claimer,
		api.AppsV1().ControllerRevisions("logging"), []*appsv1.ControllerRevision{revision})
	require.NoError(t, err)

	require.Equal(t, []string{"a", "b", "d"}, podNames(claimed.Owned))
	require.Equal(t, []string{"b", "d"}, podNames(claimed.Adopted))
	require.Equal(t, []string{"c"}, podNames(claimed.Released))
	require.True(t, metav1.IsControlledBy(claimed.Owned[1], set), "not as the API server has it now")
	require.Empty(t, claimed.Released[0].OwnerReferences)
	require.Len(t, revisions.Adopted, 1)
	require.Equal(t, []string{
		"get daemonsets shipper", // once, for pods and revisions
		"patch pods b", "patch pods c", "patch pods d", "patch controllerrevisions r",
	}, api.calls())
}

// A pass in parts reads the owner in the first one that adopts.
func TestAPassInPartsReadsTheOwnerOnce(t *testing.T) {
	set, kept := shippers(), shipper("a")
	orphans := []*corev1.Pod{edited(shipper("b"), orphan), edited(shipper("c"), orphan)}
	api := newGuardedAPI(set, kept, orphans[0], orphans[1])
	pods := api.CoreV1().Pods("logging")

	first := api.claimer(t, set)
	_, err := ownership.ClaimAll(t.Context(), first, pods, []*corev1.Pod{kept})
	require.NoError(t, err)
	require.False(t, first.MayAdopt(), "nothing was adopted, so nothing was read")
	_, err = ownership.ClaimAll(t.Context(), first, pods, orphans[:1])
	require.NoError(t, err)
	require.True(t, first.MayAdopt())

	second := api.claimer(t, set)
	second.Trust()
	claimed, err := ownership.ClaimAll(t.Context(), second, pods, orphans[1:])
	require.NoError(t, err)
	require.Equal(t, []string{"c"}, podNames(claimed.Adopted))
	require.Equal(t, []string{"get daemonsets shipper", "patch pods b", "patch pods c"}, api.calls())

	gone := newGuardedAPI(orphans[0])
	third := gone.claimer(t, set)
	_, err = ownership.ClaimAll(t.Context(), third, gone.CoreV1().Pods("logging"), orphans[:1])
	require.ErrorIs(t, err, ownership.ErrOwnerGone)
	require.False(t, third.MayAdopt())
}

func TestNothingIsAdoptedForAnOwnerThatIsGone(t *testing.T) {
	leavingSet := shippers()
	leavingSet.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time}
	recreated := shippers()
	recreated.UID = "set-2"
	for name, live := range map[string][]runtime.Object{
		"being deleted, which the cache has not seen": {leavingSet},
		"recreated": {recreated}, "deleted": nil,
	} {
		t.Run(name, func(t *testing.T) {
			set := shippers()
			pods := []*corev1.Pod{
				edited(shipper("a"), orphan), edited(shipper("b"), unselected),
				edited(shipper("c"), orphan), shipper("d"),
			}
			api := newGuardedAPI(append([]runtime.Object{pods[0], pods[1], pods[2]}, live...)...)
			claimer := api.claimer(t, set)
			claimed, err := ownership.ClaimAll(t.Context(), claimer, api.CoreV1().Pods("logging"), pods)
			require.ErrorIs(t, err, ownership.ErrOwnerGone)
			require.Len(t, unjoin(err), 1, "the same error for each orphan")
			require.Equal(t, []string{"d"}, podNames(claimed.Owned))
			require.Equal(t, []string{"b"}, podNames(claimed.Released),
				"a failure stopped what does not depend on it")

			_, err = ownership.ClaimAll(t.Context(), claimer, api.CoreV1().Pods("logging"), pods[:1])
			require.ErrorIs(t, err, ownership.ErrOwnerGone)
			require.Equal(t, []string{"get daemonsets shipper", "patch pods b"}, api.calls(),
				"asked again in the same pass")
		})
	}
}

func unjoin(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	return joined.Unwrap()
}

func TestNothingIsAdoptedIfTheOwnerCannotBeRead(t *testing.T) {
	api := newGuardedAPI(shippers())
	broken := errors.New("broken")
	api.fails = func(resource, _ string) error {
		if resource == "daemonsets" {
			return broken
		}
		return nil
	}
	_, err := ownership.ClaimAll(t.Context(), api.claimer(t, shippers()),
		api.CoreV1().Pods("logging"), []*corev1.Pod{edited(shipper("a"), orphan)})
	require.ErrorIs(t, err, broken)
	require.NotErrorIs(t, err, ownership.ErrOwnerGone)
	require.Len(t, api.calls(), 1)
}

func TestAPodThatWasRecreatedUnderItsNameIsNotTouched(t *testing.T) {
	set := shippers()
	recreated := func(name string) *corev1.Pod {
		pod := edited(shipper(name), orphan)
		pod.UID = "recreated"
		return pod
	}
	api := newGuardedAPI(set, recreated("a"), recreated("b"))
	claimed, err := ownership.ClaimAll(t.Context(), api.claimer(t, set), api.CoreV1().Pods("logging"),
		[]*corev1.Pod{edited(shipper("a"), orphan), edited(shipper("b"), unselected)})
	require.True(t, apierrors.IsInvalid(err), "the adoption is to be tried again: %v", err)
	require.Len(t, unjoin(err), 1, "the release is done: that pod is gone")
	require.Empty(t, claimed)
	for _, name := range []string{"a", "b"} {
		pod, err := api.CoreV1().Pods("logging").Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, recreated(name).OwnerReferences, pod.OwnerReferences)
	}
}

func TestWhatIsGoneIsNeitherClaimedNorAnError(t *testing.T) {
	set := shippers()
	api := newGuardedAPI(set)
	claimed, err := ownership.ClaimAll(t.Context(), api.claimer(t, set), api.CoreV1().Pods("logging"),
		[]*corev1.Pod{edited(shipper("a"), orphan), edited(shipper("b"), unselected)})
	require.NoError(t, err)
	require.Empty(t, claimed)
}

func TestAFailedClaimStopsNoOther(t *testing.T) {
	set := shippers()
	pods := []*corev1.Pod{
		edited(shipper("a"), orphan), edited(shipper("b"), unselected),
		edited(shipper("c"), orphan), edited(shipper("d"), unselected),
	}
	api := newGuardedAPI(set, pods[0], pods[1], pods[2], pods[3])
	broken := errors.New("broken")
	webhook := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "b", nil)
	api.fails = func(_, name string) error { return map[string]error{"a": broken, "b": webhook}[name] }
	claimed, err := ownership.ClaimAll(t.Context(), api.claimer(t, set),
		api.CoreV1().Pods("logging"), pods)
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, err, webhook, "invalid for another reason than the UID")
	require.Equal(t, []string{"c"}, podNames(claimed.Owned))
	require.Equal(t, []string{"d"}, podNames(claimed.Released))
}

func TestClaimingEndsWithItsContext(t *testing.T) {
	set := shippers()
	api := newGuardedAPI(set)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := ownership.ClaimAll(ctx, api.claimer(t, set), api.CoreV1().Pods("logging"), []*corev1.Pod{
		edited(shipper("a"), unselected), edited(shipper("b"), unselected),
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, api.calls(), 1)
}

func TestAnOwnerThatSelectsEverythingHasNoClaimer(t *testing.T) {
	set := shippers()
	set.Spec.Selector = &metav1.LabelSelector{}
	_, err := ownership.NewClaimer(ownerOf(set), newGuardedAPI().AppsV1().DaemonSets("logging"))
	require.ErrorIs(t, err, ownership.ErrEmptySelector)
}

// A 404 from a proxy or a webhook does not name what is missing. If it counted,
// an orphan that exists would be forgotten.
func TestOnlyTheAPIServerSaysThatAnObjectIsGone(t *testing.T) {
	set := shippers()
	pods := []*corev1.Pod{edited(shipper("a"), orphan), edited(shipper("b"), unselected)}
	for name, test := range map[string]struct {
		answer error
		gone   bool
	}{
		"the API server": {apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, ""), true},
		"a proxy": {&apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			api := newGuardedAPI(set, pods[0], pods[1])
			api.fails = func(resource, name string) error {
				var status *apierrors.StatusError
				if resource != "pods" || !errors.As(test.answer, &status) {
					return nil
				}
				answer := *status
				if details := answer.ErrStatus.Details; details != nil {
					answer.ErrStatus.Details = &metav1.StatusDetails{Kind: details.Kind, Name: name}
				}
				return &answer
			}
			claimed, err := ownership.ClaimAll(t.Context(), api.claimer(t, set),
				api.CoreV1().Pods("logging"), pods)
			require.Empty(t, claimed.Adopted)
			require.Empty(t, claimed.Released)
			if test.gone {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "adopt a")
				require.ErrorContains(t, err, "release b")
			}
		})
	}
}
