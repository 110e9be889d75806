package daemonset

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
)

// TestWritesAreGuardedOnTheAPIServer: what package rollout relies on that a fake
// clientset does not do. Each write is meant for one object, and finds another
// in its place, or one that has changed.
func TestWritesAreGuardedOnTheAPIServer(t *testing.T) {
	c := newCluster(t, 0)
	c.addSet("agent", 1)
	set := c.daemonSet("agent")
	pods := c.client.CoreV1().Pods(set.Namespace)
	executor, manager, err := actors(c.client)
	require.NoError(t, err)

	t.Run("a pod that was recreated is neither adopted nor released", func(t *testing.T) {
		former := c.addPod("recreated", set.Spec.Template.Labels, nil)
		c.removePod(former)
		c.addPod("recreated", set.Spec.Template.Labels, nil)
		claimed, err := ownership.ClaimAll(t.Context(), c.claimer(set), pods, []*corev1.Pod{former})
		require.Error(t, err)
		require.Empty(t, claimed.Owned)

		owned := former.DeepCopy()
		owned.Labels = nil
		owned.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
		claimed, err = ownership.ClaimAll(t.Context(), c.claimer(set), pods, []*corev1.Pod{owned})
		require.NoError(t, err, "there is nothing left to release")
		require.Empty(t, claimed.Released)
		live, err := pods.Get(t.Context(), "recreated", metav1.GetOptions{})
		require.NoError(t, err)
		require.Empty(t, live.OwnerReferences)
	})

	t.Run("a pod that was recreated is not deleted", func(t *testing.T) {
		former := c.addPod("doomed", nil, nil)
		c.removePod(former)
		c.addPod("doomed", nil, nil)
		for _, task := range []rollout.Task{
			{Delete: &rollout.Deletion{Pod: "doomed", UID: former.UID}}, {Delete: &rollout.Deletion{Pod: "missing", UID: "u"}},
			{Refresh: &rollout.Refresh{Pod: "doomed", UID: former.UID}}, {Refresh: &rollout.Refresh{Pod: "missing", UID: "u"}},
		} {
			result := executor.Act(t.Context(), rollout.OwnerOf(set), task)
			require.Equal(t, rollout.Result{Outcome: rollout.OutcomeGone}, result)
		}
		_, err := pods.Get(t.Context(), "doomed", metav1.GetOptions{})
		require.NoError(t, err)
	})

	t.Run("the status of a set that was recreated stays", func(t *testing.T) {
		former := set.DeepCopy()
		former.UID = "another"
		patch, err := rollout.StatusPatch(former, rollout.StatusOf(&former.Status), rollout.Status{Desired: 7, Observed: 1})
		require.NoError(t, err)
		_, err = c.client.AppsV1().DaemonSets(set.Namespace).
			Patch(t.Context(), set.Name, rollout.StatusPatchType, patch, metav1.PatchOptions{}, "status")
		require.True(t, apierrors.IsInvalid(err) || apierrors.IsConflict(err), "%v", err)
		require.Zero(t, c.daemonSet("agent").Status.DesiredNumberScheduled)
	})

	t.Run("a pod gets another hash only if it has the one that it had", func(t *testing.T) {
		pod := c.addPod("relabelled", map[string]string{appsv1.ControllerRevisionHashLabelKey: "from"}, nil)
		for from, fails := range map[string]bool{"other": true, "from": false} {
			relabel := revision.Relabel{Pod: pod, From: from, To: "to"}
			patch, err := relabel.Patch()
			require.NoError(t, err)
			_, err = pods.Patch(t.Context(), pod.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
			require.Equal(t, fails, err != nil, "%v", err)
		}
	})

	t.Run("a revision in the way costs a collision and no pod", func(t *testing.T) {
		name := set.Name + "-" + revision.Hash(&set.Spec.Template, nil)
		c.addRevision(name)
		plan, err := revision.Compute(rollout.SourceOf(set), nil, slices.Values([]*corev1.Pod(nil)))
		require.NoError(t, err)
		result, err := manager.Apply(t.Context(), plan)
		require.ErrorIs(t, err, revision.ErrHashCollision)
		require.Equal(t, int32(1), *result.Collisions)

		_, err = manager.Apply(t.Context(), plan)
		require.ErrorIs(t, err, revision.ErrStale, "the cache does not know that it was raised")
		require.Equal(t, int32(1), *c.daemonSet("agent").Status.CollisionCount)

		fresh := c.daemonSet("agent")
		plan, err = revision.Compute(rollout.SourceOf(fresh), nil, slices.Values([]*corev1.Pod(nil)))
		require.NoError(t, err)
		result, err = manager.Apply(t.Context(), plan)
		require.NoError(t, err)
		require.NotEqual(t, name, result.Current.Name)

		// Made again from a cache that has not seen it, it is the same one.
		again, err := manager.Apply(t.Context(), plan)
		require.NoError(t, err)
		require.False(t, again.Created)
		require.Equal(t, result.Current.UID, again.Current.UID)
	})
}

// actors returns what makes the calls.
func actors(client kubernetes.Interface) (*rollout.Executor, *revision.Manager, error) {
	executor, err := rollout.NewExecutor(rollout.ExecutorConfig{
		Pods: func(namespace string) rollout.PodClient { return client.CoreV1().Pods(namespace) },
	})
	if err != nil {
		return nil, nil, err
	}
	manager, err := revision.NewManager(revision.ManagerConfig[*appsv1.DaemonSet]{
		Revisions: func(namespace string) revision.Client {
			return client.AppsV1().ControllerRevisions(namespace)
		},
		Pods: func(namespace string) ownership.Patcher[*corev1.Pod] { return client.CoreV1().Pods(namespace) },
		Owners: func(namespace string) revision.OwnerClient[*appsv1.DaemonSet] {
			return client.AppsV1().DaemonSets(namespace)
		},
		Collisions: func(set *appsv1.DaemonSet) *int32 { return set.Status.CollisionCount },
	})
	return executor, manager, err
}

func (c *cluster) claimer(set *appsv1.DaemonSet) *ownership.Claimer {
	claimer, err := ownership.NewClaimer(rollout.OwnerOf(set), c.client.AppsV1().DaemonSets(set.Namespace))
	require.NoError(c, err)
	return claimer
}

func (c *cluster) addPod(name string, labels map[string]string, owners []metav1.OwnerReference) *corev1.Pod {
	pod, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).Create(c.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, OwnerReferences: owners},
		Spec: corev1.PodSpec{
			SchedulerName: "none",
			Containers:    []corev1.Container{{Name: "work", Image: "example.invalid/work"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(c, err)
	return pod
}

func (c *cluster) removePod(pod *corev1.Pod) {
	at := int64(0)
	require.NoError(c, c.client.CoreV1().Pods(pod.Namespace).
		Delete(c.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &at}))
}

func (c *cluster) addRevision(name string) {
	_, err := c.client.AppsV1().ControllerRevisions(metav1.NamespaceDefault).
		Create(c.Context(), &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Data:       runtime.RawExtension{Raw: []byte(`{"spec":{}}`)},
		}, metav1.CreateOptions{})
	require.NoError(c, err)
}
