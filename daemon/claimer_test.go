package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/fake"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubelife/lifecycle/daemon"
)

var (
	_ daemon.Getter[*appsv1.DaemonSet] = appsv1client.DaemonSetInterface(nil)
	_ daemon.Patcher[*corev1.Pod]      = corev1client.PodInterface(nil)
)

// A guardedAPI is the fake clientset, and what it lacks: it refuses a patch or a
// deletion of an object with another UID or resourceVersion, as kube-apiserver does.
// fails, if it is not nil, may answer first.
type guardedAPI struct {
	*fake.Clientset
	fails func(verb, resource, name string) error
}

func newGuardedAPI(objects ...runtime.Object) *guardedAPI {
	api := &guardedAPI{Clientset: fake.NewClientset(objects...)}
	api.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		named, ok := action.(interface{ GetName() string })
		if !ok {
			return false, nil, nil
		}
		if api.fails != nil {
			if err := api.fails(action.GetVerb(), action.GetResource().Resource, named.GetName()); err != nil {
				return true, nil, err
			}
		}
		uid, version := guards(action)
		live, err := api.Tracker().Get(action.GetResource(), action.GetNamespace(), named.GetName())
		if err != nil {
			return false, nil, nil //nolint:nilerr // the tracker will say so itself
		}
		err = refuse(action, live, uid, version)
		return err != nil, nil, err
	})
	return api
}

// guards returns the UID and the resourceVersion that an object must have.
func guards(action clienttesting.Action) (uid, version string) {
	switch a := action.(type) {
	case clienttesting.PatchAction:
		var patch struct{ Metadata metav1.ObjectMeta }
		if json.Unmarshal(a.GetPatch(), &patch) == nil {
			return string(patch.Metadata.UID), patch.Metadata.ResourceVersion
		}
		var steps []struct{ Op, Path, Value string }
		if json.Unmarshal(a.GetPatch(), &steps) == nil && len(steps) > 0 {
			return steps[0].Value, ""
		}
	case clienttesting.DeleteActionImpl:
		if p := a.DeleteOptions.Preconditions; p != nil && p.UID != nil && p.ResourceVersion != nil {
			return string(*p.UID), *p.ResourceVersion
		}
	}
	return "", ""
}

func refuse(action clienttesting.Action, object runtime.Object, uid, version string) error {
	live, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	resource := schema.GroupResource{Resource: action.GetResource().Resource}
	switch {
	case uid == "" && action.GetVerb() != "get":
		return errors.New(action.GetVerb() + " of " + live.GetName() + " without a UID")
	case uid != "" && uid != string(live.GetUID()):
		return apierrors.NewInvalid(schema.GroupKind{Kind: resource.Resource}, live.GetName(),
			field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
	case version != "" && version != live.GetResourceVersion():
		return apierrors.NewConflict(resource, live.GetName(), errors.New("the object has been modified"))
	}
	return nil
}

// calls are what the API server was asked for, as "patch pods p".
func (a *guardedAPI) calls() []string {
	var calls []string
	for _, action := range a.Actions() {
		call := action.GetVerb() + " " + action.GetResource().Resource
		if named, ok := action.(interface{ GetName() string }); ok {
			call += " " + named.GetName()
		}
		if create, ok := action.(clienttesting.CreateAction); ok {
			call += " " + create.GetObject().(metav1.Object).GetName()
		}
		if action.GetSubresource() != "" {
			call += "/" + action.GetSubresource()
		}
		calls = append(calls, call)
	}
	return calls
}

func (a *guardedAPI) claimer(t *testing.T, set *appsv1.DaemonSet) *daemon.Claimer {
	t.Helper()
	claimer, err := daemon.NewClaimer(daemon.OwnerOf(set), a.AppsV1().DaemonSets("logging"))
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
	set := shippers("shipper:1")
	api := newGuardedAPI()
	pods := []*corev1.Pod{shipper("a", "h"), edited(shipper("b", "h"), foreign), shipper("c", "h")}
	claimed, err := daemon.ClaimAll(t.Context(), api.claimer(t, set), api.CoreV1().Pods("logging"), pods)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c"}, podNames(claimed.Ours))
	require.Same(t, pods[0], claimed.Ours[0])
	require.Empty(t, api.calls())
}

func TestOrphansAreAdoptedAndStrangersReleased(t *testing.T) {
	set := shippers("shipper:1")
	pods := []*corev1.Pod{shipper("a", "h"), edited(shipper("b", "h"), orphan), edited(shipper("c", "h"), unselected), edited(shipper("d", "h"), orphan)}
	revision := edit(recorded(t, set, 1, "r"), func(r *appsv1.ControllerRevision) { r.OwnerReferences = nil })
	api := newGuardedAPI(set, pods[0], pods[1], pods[2], pods[3], revision)
	claimer := api.claimer(t, set)
	claimed, err := daemon.ClaimAll(t.Context(), claimer, api.CoreV1().Pods("logging"), pods)
	require.NoError(t, err)
	revisions, err := daemon.ClaimAll(t.Context(), claimer, api.AppsV1().ControllerRevisions("logging"), []*appsv1.ControllerRevision{revision})
	require.NoError(t, err)

	require.Equal(t, []string{"a", "b", "d"}, podNames(claimed.Ours))
	require.Equal(t, []string{"b", "d"}, podNames(claimed.Adopted))
	require.Equal(t, []string{"c"}, podNames(claimed.Released))
	require.True(t, metav1.IsControlledBy(claimed.Ours[1], set), "not as the API server has it now")
	require.Empty(t, claimed.Released[0].OwnerReferences)
	require.Len(t, revisions.Adopted, 1)
	require.Equal(t, []string{
		"get daemonsets shipper", // once, for pods and revisions
		"patch pods b", "patch pods c", "patch pods d", "patch controllerrevisions shipper-r",
	}, api.calls())
}

func edit[T any](object *T, change func(*T)) *T {
	change(object)
	return object
}

func TestNothingIsAdoptedForAnOwnerThatIsGone(t *testing.T) {
	leavingSet := shippers("shipper:1")
	leavingSet.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time}
	recreated := shippers("shipper:1")
	recreated.UID = "set-2"
	for name, live := range map[string][]runtime.Object{
		"being deleted, which the cache has not seen": {leavingSet}, "recreated": {recreated}, "deleted": nil,
	} {
		t.Run(name, func(t *testing.T) {
			set := shippers("shipper:1")
			pods := []*corev1.Pod{
				edited(shipper("a", "h"), orphan), edited(shipper("b", "h"), unselected), edited(shipper("c", "h"), orphan), shipper("d", "h"),
			}
			api := newGuardedAPI(append([]runtime.Object{pods[0], pods[1], pods[2]}, live...)...)
			claimer := api.claimer(t, set)
			claimed, err := daemon.ClaimAll(t.Context(), claimer, api.CoreV1().Pods("logging"), pods)
			require.ErrorIs(t, err, daemon.ErrOwnerGone)
			require.Len(t, unjoin(err), 1, "the same error for each orphan")
			require.Equal(t, []string{"d"}, podNames(claimed.Ours))
			require.Equal(t, []string{"b"}, podNames(claimed.Released), "a failure stopped what does not depend on it")

			_, err = daemon.ClaimAll(t.Context(), claimer, api.CoreV1().Pods("logging"), pods[:1])
			require.ErrorIs(t, err, daemon.ErrOwnerGone)
			require.Equal(t, []string{"get daemonsets shipper", "patch pods b"}, api.calls(), "asked again in the same pass")
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
	api := newGuardedAPI(shippers("shipper:1"))
	broken := errors.New("broken")
	api.fails = func(_, resource, _ string) error {
		if resource == "daemonsets" {
			return broken
		}
		return nil
	}
	_, err := daemon.ClaimAll(t.Context(), api.claimer(t, shippers("shipper:1")), api.CoreV1().Pods("logging"), []*corev1.Pod{edited(shipper("a", "h"), orphan)})
	require.ErrorIs(t, err, broken)
	require.NotErrorIs(t, err, daemon.ErrOwnerGone)
	require.Len(t, api.calls(), 1)
}

func TestAPodThatWasRecreatedUnderItsNameIsNotTouched(t *testing.T) {
	set := shippers("shipper:1")
	recreated := func(name string) *corev1.Pod {
		pod := edited(shipper(name, "h"), orphan)
		pod.UID = "recreated"
		return pod
	}
	api := newGuardedAPI(set, recreated("a"), recreated("b"))
	claimed, err := daemon.ClaimAll(t.Context(), api.claimer(t, set), api.CoreV1().Pods("logging"),
		[]*corev1.Pod{edited(shipper("a", "h"), orphan), edited(shipper("b", "h"), unselected)})
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
	set := shippers("shipper:1")
	api := newGuardedAPI(set)
	claimed, err := daemon.ClaimAll(t.Context(), api.claimer(t, set), api.CoreV1().Pods("logging"),
		[]*corev1.Pod{edited(shipper("a", "h"), orphan), edited(shipper("b", "h"), unselected)})
	require.NoError(t, err)
	require.Empty(t, claimed)
}

func TestAFailedClaimStopsNoOther(t *testing.T) {
	set := shippers("shipper:1")
	pods := []*corev1.Pod{
		edited(shipper("a", "h"), orphan), edited(shipper("b", "h"), unselected),
		edited(shipper("c", "h"), orphan), edited(shipper("d", "h"), unselected),
	}
	api := newGuardedAPI(set, pods[0], pods[1], pods[2], pods[3])
	broken, webhook := errors.New("broken"), apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "b", nil)
	api.fails = func(_, _, name string) error { return map[string]error{"a": broken, "b": webhook}[name] }
	claimed, err := daemon.ClaimAll(t.Context(), api.claimer(t, set), api.CoreV1().Pods("logging"), pods)
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, err, webhook, "invalid for another reason than the UID")
	require.Equal(t, []string{"c"}, podNames(claimed.Ours))
	require.Equal(t, []string{"d"}, podNames(claimed.Released))
}

func TestClaimingEndsWithItsContext(t *testing.T) {
	set := shippers("shipper:1")
	api := newGuardedAPI(set)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := daemon.ClaimAll(ctx, api.claimer(t, set), api.CoreV1().Pods("logging"), []*corev1.Pod{
		edited(shipper("a", "h"), unselected), edited(shipper("b", "h"), unselected),
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, api.calls(), 1)
}

func TestAnOwnerThatSelectsEverythingHasNoClaimer(t *testing.T) {
	set := shippers("shipper:1")
	set.Spec.Selector = &metav1.LabelSelector{}
	_, err := daemon.NewClaimer(daemon.OwnerOf(set), newGuardedAPI().AppsV1().DaemonSets("logging"))
	require.ErrorIs(t, err, daemon.ErrSelectsAll)
}
