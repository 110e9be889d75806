package runner_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/runner"
)

// An edgeCluster has two pools of four nodes, with a pod on each, which tolerates
// for a minute that its node is unreachable.
type edgeCluster struct {
	kubernetes.Interface
	*testing.T
}

const perPool = 4

func newEdgeCluster(t *testing.T) *edgeCluster {
	c := &edgeCluster{fake.NewClientset(), t}
	for _, pool := range []string{"hangzhou", "lisbon"} {
		for i := range perPool {
			c.add(pool, fmt.Sprintf("%s-%d", pool, i))
		}
	}
	c.annotate("lisbon-0", autonomyAnnotation, "8m")
	c.annotate("lisbon-1", bindingAnnotation, "true")
	return c
}

func (c *edgeCluster) add(pool, name string) {
	_, err := c.CoreV1().Nodes().Create(c.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), Labels: map[string]string{poolLabel: pool},
		},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(),
		}}},
	}, metav1.CreateOptions{})
	require.NoError(c, err)
	_, err = c.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(c.Context(),
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(c, err)
	_, err = c.CoreV1().Pods("shop").Create(c.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("pod-" + name)},
		Spec: corev1.PodSpec{NodeName: name, Tolerations: []corev1.Toleration{{
			Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists,
			TolerationSeconds: ptr.To[int64](60),
		}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		}},
	}, metav1.CreateOptions{})
	require.NoError(c, err)
}

func (c *edgeCluster) annotate(name, key, value string) {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	_, err := c.CoreV1().Nodes().Patch(c.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(c, err)
}

// beat lets each node of the pools renew its lease once in ten seconds, for a
// time.
func (c *edgeCluster) beat(d time.Duration, pools ...string) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		for i := range perPool {
			for _, pool := range pools {
				patch := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().Format(metav1.RFC3339Micro))
				_, err := c.CoordinationV1().Leases(corev1.NamespaceNodeLease).Patch(c.Context(),
					fmt.Sprintf("%s-%d", pool, i), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				require.NoError(c, err)
			}
			time.Sleep(10 * time.Second / perPool)
		}
	}
}

// taints returns the effects of a node's taints, all of them for its silence.
func (c *edgeCluster) taints(name string) (effects []corev1.TaintEffect) {
	node, err := c.CoreV1().Nodes().Get(c.Context(), name, metav1.GetOptions{})
	require.NoError(c, err)
	for _, taint := range node.Spec.Taints {
		require.Equal(c, corev1.TaintNodeUnreachable, taint.Key)
		effects = append(effects, taint.Effect)
	}
	return effects
}

// pod reports whether the pod of a node has not left, and whether it is ready.
func (c *edgeCluster) pod(on string) (there, ready bool) {
	pod, err := c.CoreV1().Pods("shop").Get(c.Context(), on, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, false
	}
	require.NoError(c, err)
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			ready = condition.Status == corev1.ConditionTrue
		}
	}
	return true, ready
}

// The network to a whole pool fails. Its nodes are closed at once. One after the
// other is emptied at the rate of a pool, except the autonomous one, which keeps
// its pod for its time. A pod that is bound to its node is ready until it leaves.
// The other pool notices nothing.
func TestAPoolIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newEdgeCluster(t)
		r, err := runner.NewRunner(edgeConfig(c.Interface))
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		defer stop()
		go func() { ended <- r.Run(ctx) }()

		c.beat(90*time.Second, "hangzhou", "lisbon")
		require.Empty(t, c.taints("lisbon-0"))

		c.beat(55*time.Second, "hangzhou")
		for i := range perPool {
			require.Contains(t, c.taints(fmt.Sprintf("lisbon-%d", i)), corev1.TaintEffectNoSchedule)
		}
		_, ready := c.pod("lisbon-2")
		require.False(t, ready)
		_, bound := c.pod("lisbon-1")
		require.True(t, bound)

		c.beat(5*time.Minute, "hangzhou")
		for i := 1; i < perPool; i++ {
			there, _ := c.pod(fmt.Sprintf("lisbon-%d", i))
			require.False(t, there, i)
		}
		require.Equal(t, []corev1.TaintEffect{corev1.TaintEffectNoSchedule}, c.taints("lisbon-0"))
		there, _ := c.pod("lisbon-0")
		require.True(t, there)

		c.beat(4*time.Minute, "hangzhou")
		there, _ = c.pod("lisbon-0")
		require.False(t, there, "its time is over")

		for i := range perPool {
			name := fmt.Sprintf("hangzhou-%d", i)
			there, ready := c.pod(name)
			require.Equal(t, []bool{true, true}, []bool{there, ready}, name)
			require.Empty(t, c.taints(name))
		}
		stop()
		require.NoError(t, <-ended)
	})
}
