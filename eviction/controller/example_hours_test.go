package controller_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/eviction/controller"
)

// A node goes into maintenance. A job that tolerates that for eight hours leaves
// then and not before, and a controller that is restarted meanwhile does not
// start again. The ten hours take some milliseconds.
func TestTenHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hour = time.Hour
		tainted := metav1.Now()
		client := fake.NewClientset(
			&corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "node-1"},
				Spec: corev1.NodeSpec{Taints: []corev1.Taint{
					{Key: "maintenance", Effect: corev1.TaintEffectNoExecute, TimeAdded: &tainted},
				}},
			},
			&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "batch", Name: "job", UID: "job-uid"},
				Spec: corev1.PodSpec{NodeName: "node-1", Tolerations: []corev1.Toleration{{
					Key: "maintenance", Operator: corev1.TolerationOpExists,
					TolerationSeconds: ptr.To(int64(8 * hour / time.Second)),
				}}},
				Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionTrue,
					LastTransitionTime: metav1.NewTime(tainted.Add(-hour)),
				}}},
			},
		)
		runs := func(until time.Time) {
			c, err := controller.NewController(controller.Config{Client: client, Action: deleting})
			require.NoError(t, err)
			ctx, stop := context.WithDeadline(t.Context(), until)
			defer stop()
			require.NoError(t, c.Run(ctx))
		}
		job := func() error {
			_, err := client.CoreV1().Pods("batch").Get(t.Context(), "job", metav1.GetOptions{})
			return err
		}
		runs(tainted.Add(5 * hour))
		runs(tainted.Add(8 * hour))
		require.NoError(t, job(), "it is there for eight hours")
		runs(tainted.Add(8*hour + 3*time.Second))
		require.True(t, apierrors.IsNotFound(job()), "and not for longer")
		runs(tainted.Add(10 * hour))
	})
}

// deleting returns an action that deletes pods: the fake client knows nothing of
// evictions.
func deleting(client kubernetes.Interface) (eviction.Action, error) {
	deleter, err := eviction.NewDeleter(eviction.DeleterConfig{
		Pods: func(namespace string) eviction.PodClient { return client.CoreV1().Pods(namespace) },
	})
	if err != nil {
		return nil, err
	}
	return deleter.Act, nil
}
