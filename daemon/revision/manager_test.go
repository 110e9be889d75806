package revision_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
)

var (
	_ revision.Client                         = appsv1client.ControllerRevisionInterface(nil)
	_ revision.OwnerClient[*appsv1.DaemonSet] = appsv1client.DaemonSetInterface(nil)
)

func (a *guardedAPI) manager(t *testing.T) *revision.Manager {
	t.Helper()
	manager, err := revision.NewManager(revision.ManagerConfig[*appsv1.DaemonSet]{
		Revisions: func(namespace string) revision.Client {
			return a.AppsV1().ControllerRevisions(namespace)
		},
		Pods: func(namespace string) ownership.Patcher[*corev1.Pod] {
			return a.CoreV1().Pods(namespace)
		},
		Owners: func(namespace string) revision.OwnerClient[*appsv1.DaemonSet] {
			return a.AppsV1().DaemonSets(namespace)
		},
		Collisions: collisions,
	})
	require.NoError(t, err)
	return manager
}

// apply computes a plan from what a cache has, and applies it.
func (a *guardedAPI) apply(
	t *testing.T, set *appsv1.DaemonSet, revisions []*appsv1.ControllerRevision, pods ...*corev1.Pod,
) (revision.Result, error) {
	t.Helper()
	plan := compute(t, set, revisions, pods...)
	result, err := a.manager(t).Apply(t.Context(), plan)
	return result, err
}

func (a *guardedAPI) revisionNames(t *testing.T) []string {
	t.Helper()
	list, err := a.AppsV1().ControllerRevisions("logging").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

func TestTheFirstRevisionIsCreatedWithOneCall(t *testing.T) {
	set := shippers("shipper:1")
	api := newGuardedAPI(set)
	result, err := api.apply(t, set, nil)
	require.NoError(t, err)
	require.True(t, result.Created)
	require.Equal(t, revision.Hash(&set.Spec.Template, nil), result.Hash())
	require.Equal(t, []string{"create controllerrevisions " + result.Current.Name}, api.calls())

	api.ClearActions()
	again, err := api.apply(t, set, []*appsv1.ControllerRevision{result.Current})
	require.NoError(t, err)
	require.Empty(t, api.calls())
	require.Equal(t, result.Hash(), again.Hash())
	require.False(t, again.Created)
}

func TestARollbackIsOnePatchAndItsResultIsCurrent(t *testing.T) {
	set := shippers("shipper:1")
	first, second := recorded(t, set, 1, "one"), recorded(t, shippers("shipper:2"), 2, "two")
	api := newGuardedAPI(set, first, second)
	result, err := api.apply(t, set, []*appsv1.ControllerRevision{first, second})
	require.NoError(t, err)
	require.EqualValues(t, 3, result.Current.Revision)
	require.Equal(t, []*appsv1.ControllerRevision{result.Current}, result.Updated)
	require.Equal(t, "one", result.Hash())
	require.Equal(t, []string{"patch controllerrevisions shipper-one"}, api.calls())
}

func TestARollbackThatFailsLeavesTheHash(t *testing.T) {
	set := shippers("shipper:1")
	first, second := recorded(t, set, 1, "one"), recorded(t, shippers("shipper:2"), 2, "two")
	live := first.DeepCopy()
	live.ResourceVersion = "8" // another client has changed it
	result, err := newGuardedAPI(set, live, second).apply(t, set,
		[]*appsv1.ControllerRevision{first, second})
	require.True(t, apierrors.IsConflict(err), err)
	require.ErrorIs(t, err, revision.ErrStale)
	require.Equal(t, "one", result.Hash())
	require.Empty(t, result.Updated)
}

// existing plans for a cache without revisions, while the API server has one of
// the name.
func existing(
	t *testing.T, set *appsv1.DaemonSet, change func(*appsv1.ControllerRevision),
) (*guardedAPI, revision.Result, error) {
	t.Helper()
	api := newGuardedAPI(set, edit(recorded(t, set, 5, ""), change))
	result, err := api.apply(t, set, nil)
	return api, result, err
}

func TestARevisionThatTheCacheHasNotSeenIsTheOne(t *testing.T) {
	set := shippers("shipper:1")
	api, result, err := existing(t, set, func(*appsv1.ControllerRevision) {})
	require.NoError(t, err)
	require.EqualValues(t, 5, result.Current.Revision)
	require.False(t, result.Created)
	name := result.Current.Name
	require.Equal(t, []string{"create controllerrevisions " + name,
		"get controllerrevisions " + name}, api.calls())

	_, result, err = existing(t, set, func(r *appsv1.ControllerRevision) { // of an older Kubernetes
		r.Data.Raw = []byte(`{"spec":{"template":{"$patch":"replace",` +
			`"metadata":{"creationTimestamp":null,"labels":{"app":"shipper"}},` +
			`"spec":{"containers":[{"image":"shipper:1","name":"shipper","resources":{}}]}}}}`)
	})
	require.NoError(t, err)
	require.NotNil(t, result.Current)
}

func TestAnOrphanOfTheNameIsAdopted(t *testing.T) {
	orphaned := func(r *appsv1.ControllerRevision) { r.OwnerReferences = nil }
	set := shippers("shipper:1")
	api, result, err := existing(t, set, orphaned)
	require.NoError(t, err)
	require.True(t, metav1.IsControlledBy(result.Current, set))
	require.Contains(t, api.calls(), "get daemonsets shipper")

	t.Run("not for an owner that is gone", func(t *testing.T) {
		api := newGuardedAPI(edit(recorded(t, set, 5, ""), orphaned))
		result, err := api.apply(t, set, nil)
		require.ErrorIs(t, err, ownership.ErrOwnerGone)
		require.Nil(t, result.Current)
		require.Empty(t, result.Hash())
	})
	t.Run("not if it is going", func(t *testing.T) {
		_, result, err := existing(t, set, func(r *appsv1.ControllerRevision) {
			orphaned(r)
			r.DeletionTimestamp, r.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{"x"}
		})
		require.ErrorIs(t, err, revision.ErrStale)
		require.Nil(t, result.Current)
	})
	t.Run("not if it was deleted just then", func(t *testing.T) {
		api := newGuardedAPI(set, edit(recorded(t, set, 5, ""), orphaned))
		api.fails = func(verb, resource, name string) error {
			if verb == "patch" {
				return apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
			}
			return nil
		}
		_, err := api.apply(t, set, nil)
		require.ErrorIs(t, err, revision.ErrStale)
	})
}

func TestARevisionInTheWayRaisesTheCollisionCountOnce(t *testing.T) {
	for name, change := range map[string]func(*appsv1.ControllerRevision){
		"another template": func(r *appsv1.ControllerRevision) { r.Data.Raw = []byte(`{"spec":{}}`) },
		"of another owner": func(r *appsv1.ControllerRevision) { r.OwnerReferences[0].UID = "another" },
		"an orphan, but not selected": func(r *appsv1.ControllerRevision) {
			r.OwnerReferences, r.Labels = nil, nil
		},
		"ours, but not selected": func(r *appsv1.ControllerRevision) { r.Labels = nil },
	} {
		t.Run(name, func(t *testing.T) {
			set := shippers("shipper:1")
			api, result, err := existing(t, set, change)
			require.ErrorIs(t, err, revision.ErrHashCollision)
			require.Nil(t, result.Current)
			require.EqualValues(t, 1, *result.Collisions)
			calls := api.calls()
			require.Equal(t, []string{"get daemonsets shipper", "patch daemonsets shipper/status"},
				calls[2:])
			require.JSONEq(t, `{"metadata":{"uid":"set-1","resourceVersion":"500"},
				"status":{"collisionCount":1}}`,
				string(api.Actions()[3].(clienttesting.PatchAction).GetPatch()))

			// The cache is behind: the same collision is seen again, and not counted.
			_, err = api.apply(t, set, nil)
			require.ErrorIs(t, err, revision.ErrStale)
			require.NotErrorIs(t, err, revision.ErrHashCollision)

			set.Status.CollisionCount = result.Collisions // as the caller now knows
			again, err := api.apply(t, set, nil)
			require.NoError(t, err)
			require.True(t, again.Created)
			require.Len(t, api.revisionNames(t), 2)
		})
	}
}

func TestEachCollisionRaisesTheCountByOne(t *testing.T) {
	set := shippers("shipper:1")
	set.Status.CollisionCount = new(int32)
	*set.Status.CollisionCount = 4
	_, result, err := existing(t, set, func(r *appsv1.ControllerRevision) { r.Data.Raw = nil })
	require.ErrorIs(t, err, revision.ErrHashCollision)
	require.EqualValues(t, 5, *result.Collisions)
}

func TestACollisionIsNotCountedForAnOwnerThatIsGone(t *testing.T) {
	set, recreated := shippers("shipper:1"), shippers("shipper:1")
	recreated.UID = "set-2"
	other := edit(recorded(t, set, 1, ""),
		func(r *appsv1.ControllerRevision) { r.OwnerReferences[0].UID = "another" })
	api := newGuardedAPI(recreated, other)
	result, err := api.apply(t, set, nil)
	require.ErrorIs(t, err, ownership.ErrOwnerGone)
	require.Nil(t, result.Collisions)
	require.NotContains(t, api.calls(), "patch daemonsets shipper/status")
}

func TestACollisionThatCannotBeCountedIsAnError(t *testing.T) {
	set := shippers("shipper:1")
	other := edit(recorded(t, set, 1, ""),
		func(r *appsv1.ControllerRevision) { r.OwnerReferences[0].UID = "another" })
	broken := errors.New("broken")
	for _, verb := range []string{"get", "patch"} {
		api := newGuardedAPI(set, other)
		api.fails = func(v, resource, _ string) error {
			if v == verb && resource == "daemonsets" {
				return broken
			}
			return nil
		}
		result, err := api.apply(t, set, nil)
		require.ErrorIs(t, err, broken)
		require.NotErrorIs(t, err, revision.ErrHashCollision)
		require.Nil(t, result.Collisions)
	}
}

func TestARevisionThatIsGoneWhenItIsReadIsStale(t *testing.T) {
	set := shippers("shipper:1")
	api := newGuardedAPI(set)
	api.PrependReactor("create", "controllerrevisions", alreadyExists)
	_, err := api.apply(t, set, nil)
	require.ErrorIs(t, err, revision.ErrStale)
}

func TestDuplicatesGoAfterTheirPodsAreRelabelled(t *testing.T) {
	set := shippers("shipper:1")
	a, b, c := recorded(t, set, 1, "a"), recorded(t, set, 2, "b"), recorded(t, set, 3, "c")
	pods := []*corev1.Pod{shipper("pa", "a"), shipper("pb", "b"), shipper("pc", "c")}
	api := newGuardedAPI(set, a, b, c, pods[0], pods[1], pods[2])
	result, err := api.apply(t, set, []*appsv1.ControllerRevision{a, b, c}, pods...)
	require.NoError(t, err)
	require.Equal(t, []string{
		"patch pods pa", "patch pods pb",
		"delete controllerrevisions shipper-a", "delete controllerrevisions shipper-b",
	}, api.calls())
	require.Equal(t, "c", result.Relabelled[0].Labels[hashLabel])
	require.Equal(t, []*appsv1.ControllerRevision{a, b}, result.Deleted)
	require.Equal(t, []string{"shipper-c"}, api.revisionNames(t))
}

func TestADuplicateStaysAsLongAsAPodHasItsHash(t *testing.T) {
	set := shippers("shipper:1")
	a, b, c := recorded(t, set, 1, "a"), recorded(t, set, 2, "b"), recorded(t, set, 3, "c")
	recreated, gone := shipper("pa", "a"), shipper("pb", "b")
	recreated.UID = "recreated"
	api := newGuardedAPI(set, a, b, c, recreated)
	result, err := api.apply(t, set, []*appsv1.ControllerRevision{a, b, c}, shipper("pa", "a"), gone)
	require.True(t, apierrors.IsInvalid(err), err)
	require.ErrorIs(t, err, revision.ErrStale)
	require.Len(t, unjoin(err), 1, "that a pod is gone is no error")
	require.Equal(t, []*appsv1.ControllerRevision{b}, result.Deleted)
	require.Equal(t, []string{"shipper-a", "shipper-c"}, api.revisionNames(t))
	pod, err := api.CoreV1().Pods("logging").Get(t.Context(), "pa", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "a", pod.Labels[hashLabel], "another pod of that name was relabelled")
}

func TestDeletionsCarryWhatTheyWereDecidedFrom(t *testing.T) {
	set := shippers("shipper:5")
	set.Spec.RevisionHistoryLimit = new(int32)
	var revisions []*appsv1.ControllerRevision
	for i, name := range []string{"a", "b", "c", "d"} {
		revisions = append(revisions, recorded(t, shippers("shipper:"+name), int64(i+1), name))
	}
	current := recorded(t, set, 9, "e")
	renumbered, recreated := revisions[0].DeepCopy(), revisions[1].DeepCopy()
	renumbered.ResourceVersion = "8" // by a rollback to it
	recreated.UID = "recreated"
	api := newGuardedAPI(set, renumbered, recreated, revisions[2], current) // d is gone
	result, err := api.apply(t, set, append(revisions, current))
	require.Len(t, unjoin(err), 2)
	for _, problem := range unjoin(err) {
		require.ErrorIs(t, problem, revision.ErrStale)
	}
	require.Equal(t, []*appsv1.ControllerRevision{revisions[2], revisions[3]}, result.Deleted)
	require.Equal(t, []string{"shipper-a", "shipper-b", "shipper-e"}, api.revisionNames(t))
}

func TestAFailureStopsNothingThatDoesNotDependOnIt(t *testing.T) {
	set := shippers("shipper:9")
	set.Spec.RevisionHistoryLimit = new(int32)
	*set.Spec.RevisionHistoryLimit = 1
	old := recorded(t, shippers("shipper:1"), 1, "a")
	unlabelled := recorded(t, shippers("shipper:2"), 2, "b")
	delete(unlabelled.Labels, hashLabel)
	api := newGuardedAPI(set, old, unlabelled)
	broken := errors.New("broken")
	api.PrependReactor("create", "controllerrevisions", fails(broken))
	result, err := api.apply(t, set, []*appsv1.ControllerRevision{old, unlabelled})
	require.ErrorIs(t, err, broken)
	require.Nil(t, result.Current)
	require.Equal(t, "shipper-b", result.Updated[0].Labels[hashLabel])
	require.Equal(t, []*appsv1.ControllerRevision{old}, result.Deleted)
}

func TestApplyingEndsWithItsContext(t *testing.T) {
	set := shippers("shipper:1")
	a, b, c := recorded(t, set, 1, "a"), recorded(t, set, 2, "b"), recorded(t, set, 3, "c")
	api := newGuardedAPI(set, a, b, c)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := api.manager(t).Apply(ctx, compute(t, set, []*appsv1.ControllerRevision{a, b, c}))
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, api.calls(), 1)
}

func TestAManagerNeedsItsClients(t *testing.T) {
	_, err := revision.NewManager(revision.ManagerConfig[*appsv1.DaemonSet]{Collisions: collisions})
	require.ErrorIs(t, err, revision.ErrInvalidConfig)
	require.ErrorContains(t, err, "ManagerConfig.Revisions is nil")
	require.NotContains(t, err.Error(), "Collisions")
}

// D3: a revision with the same data that a former set of the name has left does
// not count as the set's own. The garbage collector deletes it soon.
func TestD3RevisionOfAnotherUIDWithTheSameDataIsACollision(t *testing.T) {
	set := shippers("shipper:1")
	api, result, err := existing(t, set, func(r *appsv1.ControllerRevision) {
		r.OwnerReferences[0].UID = "former"
	})
	require.ErrorIs(t, err, revision.ErrHashCollision)
	require.Nil(t, result.Current)
	set.Status.CollisionCount = result.Collisions
	again, err := api.apply(t, set, nil)
	require.NoError(t, err)
	require.True(t, again.Created)
	require.NotEqual(t, revision.Hash(&set.Spec.Template, nil), again.Hash())
}

func alreadyExists(action clienttesting.Action) (bool, runtime.Object, error) {
	resource := schema.GroupResource{Resource: action.GetResource().Resource}
	return true, nil, apierrors.NewAlreadyExists(resource, "it")
}

func fails(err error) clienttesting.ReactionFunc {
	return func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err }
}
