package avoidsilent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/kubelife/lifecycle/examples/e2e/avoidsilent"
)

// H10: kube-scheduler's framework refuses a silent node, whose conditions say
// that it is ready, and no other.
func TestH10FilterRefusesSilentNodes(t *testing.T) {
	metrics.Register()
	synctest.Test(t, func(t *testing.T) {
		living, dying := node("z1-a"), node("z2-a")
		client := fake.NewClientset(living, dying, leaseOf(living), leaseOf(dying))
		factory := informers.NewSharedInformerFactory(client, 0)
		scheduler := newScheduler(t, client, factory)
		factory.Start(t.Context().Done())
		for range 6 {
			renew(t, client, living)
			renew(t, client, dying)
			time.Sleep(10 * time.Second)
		}
		synctest.Wait()
		require.True(t, filter(t, scheduler, living).IsSuccess())
		require.True(t, filter(t, scheduler, dying).IsSuccess())

		for range 3 {
			renew(t, client, living)
			time.Sleep(10 * time.Second)
		}
		synctest.Wait()
		require.True(t, filter(t, scheduler, living).IsSuccess())
		status := filter(t, scheduler, dying)
		require.Equal(t, fwk.UnschedulableAndUnresolvable, status.Code())
		require.Equal(t, "node(s) were silent", status.Message())
		require.Equal(t, avoidsilent.Name, status.Plugin())
		require.NoError(t, scheduler.Close())
	})
}

// newScheduler returns kube-scheduler's framework with the plugin, and with what
// it must have.
func newScheduler(
	t *testing.T, client kubernetes.Interface, factory informers.SharedInformerFactory,
) framework.Framework {
	t.Helper()
	registry := runtime.Registry{
		avoidsilent.Name:   avoidsilent.New,
		queuesort.Name:     queuesort.New,
		defaultbinder.Name: defaultbinder.New,
	}
	only := func(name string) config.PluginSet {
		return config.PluginSet{Enabled: []config.Plugin{{Name: name}}}
	}
	profile := &config.KubeSchedulerProfile{SchedulerName: "scheduler", Plugins: &config.Plugins{
		QueueSort: only(queuesort.Name), Bind: only(defaultbinder.Name), Filter: only(avoidsilent.Name),
	}}
	scheduler, err := runtime.NewFramework(t.Context(), registry, profile,
		runtime.WithInformerFactory(factory), runtime.WithClientSet(client))
	require.NoError(t, err)
	return scheduler
}

func filter(t *testing.T, scheduler framework.Framework, on *corev1.Node) *fwk.Status {
	t.Helper()
	info := framework.NewNodeInfo()
	info.SetNode(on)
	return scheduler.RunFilterPlugins(t.Context(), framework.NewCycleState(), &corev1.Pod{}, info)
}

func node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: name[:2]}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
		}},
	}
}

func leaseOf(node *corev1.Node) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: node.Name},
		Spec:       coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: time.Now()}},
	}
}

func renew(t *testing.T, client kubernetes.Interface, node *corev1.Node) {
	t.Helper()
	_, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Update(
		t.Context(), leaseOf(node), metav1.UpdateOptions{})
	require.NoError(t, err)
}
