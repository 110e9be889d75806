package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

// TestARestoreOfEtcdNeedsNoRestart: etcd is restored from a snapshot, with a
// bumped revision, while nodelifecycle, daemonset and the kubelets run. As
// Kubernetes's documentation asks for, the API server is stopped meanwhile. In
// the long tier it goes on, too.
func TestARestoreOfEtcdNeedsNoRestart(t *testing.T) {
	t.Run("API server stopped", func(t *testing.T) {
		t.Parallel()
		newBackup(t).play(func(r *backup) {
			require.NoError(t, r.plane.KillAPIServer())
			r.restore()
			require.NoError(t, r.plane.RestartAPIServer(t.Context()))
		})
	})
	t.Run("API server goes on", func(t *testing.T) {
		long(t)
		t.Parallel()
		newBackup(t).play((*backup).restore)
	})
}

const (
	// daemons is the DaemonSet of the test.
	daemons = "agent"
	// boundTolerates is how long the pod tolerates that is bound after the
	// snapshot. Before the restore it is not due.
	boundTolerates = 8 * time.Second
)

// backup is a cluster with the snapshot of its etcd.
type backup struct {
	*cluster
	snapshot string
	programs []*controller
	// silent falls silent after the snapshot, and returned is silent in it. Late
	// registers after it.
	silent, returned, late string
}

func newBackup(t *testing.T) *backup {
	t.Helper()
	b := &backup{
		cluster:  newCluster(t, map[string]int{"a": 5}, fleet.Pod{Name: "web", Tolerations: fleet.Tolerate(new(int64(1)))}),
		snapshot: filepath.Join(t.TempDir(), "etcd.db"), late: "a-late",
	}
	b.silent, b.returned = b.fleet.Nodes("a")[0], b.fleet.Nodes("a")[1]
	// With an election it ends, and is started again, if etcd is away for longer
	// than the renew deadline. That would show nothing here.
	const alone = "--leader-elect=false"
	b.startUpstream(controlplane.KubeScheduler)
	b.programs = []*controller{
		b.startController(alone), b.launchProgram("daemonset", b.plane.Kubeconfig(), alone),
	}
	b.addSet(daemons, nil)
	b.patchSet(`{"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":"100%"}}}}`)
	b.eventually("each node has a daemon pod", b.wantRolledOut(daemons, 5))
	b.eventually("all daemon pods are ready", func(*witness) error {
		if s := b.daemonSet(daemons).Status; s.NumberReady != 5 {
			return fmt.Errorf("status %+v", s)
		}
		return nil
	})
	settle(t)
	return b
}

// restore does what an operator does. The tools are etcdctl snapshot save, and
// etcdutl snapshot restore with --mark-compacted.
func (b *backup) restore() {
	b.t.Helper()
	require.NoError(b.t, b.plane.RestoreSnapshot(b.t.Context(), b.snapshot, 1_000_000_000))
}

// play has etcd restored in the middle of a rollout. On a silent node one pod
// terminates because it was evicted, and one for the rollout. A third one was
// bound since the snapshot, and is to be evicted soon.
func (b *backup) play(restored func(*backup)) {
	t := b.t
	unbound := b.addUnbound("unbound")
	b.fleet.Cut(b.returned)
	b.eventually("a node is tainted", func(w *witness) error { return w.each([]string{b.returned}, (*nodeSeen).wantIll) })
	require.NoError(t, b.plane.SaveSnapshot(t.Context(), b.snapshot))
	b.fleet.Restore(b.returned)
	b.wantHealthy(b.returned)
	b.register()
	b.wantHealthy(b.late)

	web, daemon := b.pod(fleet.PodName("web", b.silent)), b.daemonOn(b.silent)
	require.NoError(t, b.client.CoreV1().Pods(unbound.Namespace).Bind(t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: unbound.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: b.silent},
	}, metav1.CreateOptions{}))
	b.fleet.Cut(b.silent)
	b.eventually("a pod is evicted", func(*witness) error { return b.wantTerminating(web) })
	b.rollOut()
	b.eventually("its daemon pod is deleted", func(*witness) error { return b.wantTerminating(daemon) })
	b.eventually("others are updated", func(*witness) error {
		if s := b.daemonSet(daemons).Status; s.UpdatedNumberScheduled != 5 {
			return fmt.Errorf("status %+v", s)
		}
		return nil
	})

	began := time.Now()
	restored(b)
	t.Logf("%6.1fs  etcd is restored", time.Since(began).Seconds())
	b.eventually("the pod is evicted again", func(*witness) error { return b.wantTerminating(web) })
	b.eventually("the late node is gone", func(*witness) error {
		_, err := b.client.CoreV1().Nodes().Get(t.Context(), b.late, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	b.register()
	b.rollOut()
	b.eventually("the daemon pod is deleted again", func(*witness) error { return b.wantTerminating(daemon) })
	b.wantHealthy(slices.Concat(b.fleet.Nodes("a")[1:], []string{b.late})...)
	b.wantNodes("tainted again", (*nodeSeen).wantIll, b.silent)
	time.Sleep(boundTolerates + 2*time.Second)
	require.Empty(t, b.pod(unbound.Name).Spec.NodeName)
	require.Error(t, b.wantTerminating(unbound), "it is the scheduler's")

	b.fleet.Restore(b.silent)
	b.within(2*time.Minute, "the set is rolled out", b.wantRolledOut(daemons, 6))
	b.eventually("no node has a second daemon pod", func(*witness) error {
		if pods := b.daemonsOf(daemons); len(pods) != 6 {
			return fmt.Errorf("%d pods", len(pods))
		}
		return nil
	})
	b.wantHealthy(slices.Concat(b.fleet.Nodes("a"), []string{b.late})...)
	b.eventually("the evicted pod is gone", func(*witness) error {
		if err := b.wantTerminating(web); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	for _, running := range b.programs {
		require.True(t, running.Running())
	}
}

// register creates the late node, as its kubelet does when it starts.
func (b *backup) register() {
	b.t.Helper()
	require.NoError(b.t, fleet.Register(b.t.Context(), b.client, fleet.Node(fleet.Name, "a", b.late)))
}

// addUnbound creates a pod that no scheduler binds.
func (b *backup) addUnbound(name string) *corev1.Pod {
	b.t.Helper()
	pod, err := b.client.CoreV1().Pods(fleet.Namespace).Create(b.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			SchedulerName: "none", Tolerations: fleet.Tolerate(new(int64(boundTolerates.Seconds()))),
			Containers: []corev1.Container{{Name: "work", Image: "example.invalid/work"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(b.t, err)
	return pod
}

// rollOut gives the DaemonSet its second template, which the restore takes
// back.
func (b *backup) rollOut() {
	b.t.Helper()
	b.patchSet(`{"spec":{"template":{"spec":{"containers":[{"name":"agent","image":"example.invalid/agent:2"}]}}}}`)
}

func (b *backup) patchSet(patch string) {
	b.t.Helper()
	_, err := b.client.AppsV1().DaemonSets(metav1.NamespaceDefault).
		Patch(b.t.Context(), daemons, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(b.t, err)
}

func (b *backup) wantHealthy(nodes ...string) {
	b.t.Helper()
	b.wantNodes("healthy", (*nodeSeen).wantHealthy, nodes...)
}

// wantNodes reads the nodes, because a watch may be behind after the restore.
func (b *backup) wantNodes(what string, ask func(*nodeSeen) error, nodes ...string) {
	b.t.Helper()
	b.within(2*time.Minute, fmt.Sprintf("%v: %s", nodes, what), func(*witness) error {
		read := newWitness(nil)
		for _, name := range nodes {
			node, err := b.client.CoreV1().Nodes().Get(b.t.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			read.seeNode(node)
		}
		return read.each(nodes, ask)
	})
}

func (b *backup) pod(name string) *corev1.Pod {
	b.t.Helper()
	pod, err := b.client.CoreV1().Pods(fleet.Namespace).Get(b.t.Context(), name, metav1.GetOptions{})
	require.NoError(b.t, err)
	return pod
}

func (b *backup) daemonOn(node string) *corev1.Pod {
	b.t.Helper()
	for _, pod := range b.daemonsOf(daemons) {
		if pod.Spec.NodeName == node {
			return &pod
		}
	}
	b.t.Fatalf("no daemon pod is on %s", node)
	return nil
}

// wantTerminating wants this very pod to be there and to terminate.
func (b *backup) wantTerminating(pod *corev1.Pod) error {
	now, err := b.client.CoreV1().Pods(pod.Namespace).Get(b.t.Context(), pod.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		return err
	case now.UID != pod.UID:
		return fmt.Errorf("%s has UID %s, not %s", pod.Name, now.UID, pod.UID)
	case now.DeletionTimestamp == nil:
		return fmt.Errorf("%s does not terminate", pod.Name)
	}
	return nil
}
