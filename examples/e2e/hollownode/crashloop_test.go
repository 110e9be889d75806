package hollownode

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The waits between the runs of a container that crashes, as the documentation
// of the API has them. A kubelet spreads its syncs, which adds half.
var crashWaits = []time.Duration{0, 10 * time.Second, 20 * time.Second, 40 * time.Second}

// rounding is what two rounded times of the API may add, and a process on a
// busy machine.
const rounding = 5 * time.Second

// A container that crashes waits ever longer and says so. It runs on when the
// fleet is killed, and its restarts stay counted. Meanwhile a pod is replaced
// by a namesake, which the next process leaves alone.
func TestACrashLoopAndANamesakeOnARealAPIServer(t *testing.T) {
	c := newPlane(t)
	start := func() { c.startNodes("--nodes=1", "--name-prefix=ours") }
	start()
	c.eventually("the node is ready", func() string {
		node := c.nodeOf(oursNode)
		return unless(node != nil && nodeIsReady(node), true)
	})
	recorder := c.record()
	c.bind("crashes", map[string]string{
		domain + "run-time": "1s,1s,1s,1s,forever", domain + "exit-code": "1",
	})
	old := c.bind("twin", map[string]string{domain + "stop-time": "forever"})
	c.eventually("it has crashed twice", func() string { return unless(c.restarts("crashes") >= 2, true) })
	c.eventually("it has crashed four times, and runs", func() string {
		pod := c.pod("crashes")
		return unless(c.restarts("crashes") == len(crashWaits) && isReady(pod), true)
	})
	c.wantCrashLoop(recorder.objects("crashes"))

	require.NoError(c, c.client.CoreV1().Pods(metav1.NamespaceDefault).
		Delete(c.Context(), "twin", metav1.DeleteOptions{GracePeriodSeconds: new(int64(60))}))
	c.eventually("the other pod is ending", func() string { return unless(c.pod("twin").DeletionTimestamp != nil, true) })
	c.killFleet()
	require.NoError(c, c.client.CoreV1().Pods(metav1.NamespaceDefault).
		Delete(c.Context(), "twin", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	namesake := c.bind("twin", nil)
	require.NotEqual(c, old.UID, namesake.UID)
	before := c.pod("crashes")
	start()
	c.eventually("its namesake is ready", func() string { return unless(isReady(c.pod("twin")), true) })
	time.Sleep(10 * time.Second) // in which a late deletion would come
	assert.Equal(c, namesake.UID, c.pod("twin").UID)
	assert.Zero(c, c.restarts("twin"))
	after := c.pod("crashes")
	assert.Equal(c, before.ResourceVersion, after.ResourceVersion, "nothing was written of it")
	assert.Equal(c, before.Status, after.Status)
}

// wantCrashLoop checks the times and reasons that the API has shown of a pod.
func (c *cluster) wantCrashLoop(seen []*corev1.Pod) {
	c.Helper()
	var waits []time.Duration
	waiting, last := map[int32]bool{}, int32(0)
	for _, pod := range seen {
		if len(pod.Status.ContainerStatuses) == 0 {
			continue
		}
		s := &pod.Status.ContainerStatuses[0]
		require.GreaterOrEqual(c, s.RestartCount, last)
		if s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff" {
			waiting[s.RestartCount] = true
		}
		ended := s.LastTerminationState.Terminated
		if s.State.Running != nil && s.RestartCount > last {
			require.Equal(c, last+1, s.RestartCount, "each run is shown")
			require.NotNil(c, ended)
			require.EqualValues(c, 1, ended.ExitCode)
			waits = append(waits, s.State.Running.StartedAt.Sub(ended.FinishedAt.Time))
		}
		last = s.RestartCount
	}
	c.Logf("waits by the API's own times: %v", waits)
	require.Len(c, waits, len(crashWaits))
	for i, want := range crashWaits {
		assert.GreaterOrEqual(c, waits[i], want-time.Second, "restart %d; the times are whole seconds", i+1)
		assert.LessOrEqual(c, waits[i], want*3/2+rounding, "restart %d", i+1)
		assert.Equal(c, want > 0, waiting[int32(i)], "CrashLoopBackOff before restart %d", i+1)
	}
}

// bind creates a pod on the only node.
func (c *cluster) bind(name string, annotations map[string]string) *corev1.Pod {
	c.Helper()
	of := template(name, annotations)
	of.Spec.NodeName = oursNode
	of.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	pod, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).Create(c.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: of.Labels, Annotations: annotations}, Spec: of.Spec,
	}, metav1.CreateOptions{})
	require.NoError(c, err)
	return pod
}

func (c *cluster) pod(name string) *corev1.Pod {
	c.Helper()
	pod, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).Get(c.Context(), name, metav1.GetOptions{})
	require.NoError(c, err)
	return pod
}

// restarts returns how often the container of a pod was restarted.
func (c *cluster) restarts(name string) int {
	c.Helper()
	list := c.pod(name).Status.ContainerStatuses
	if len(list) == 0 {
		return 0
	}
	return int(list[0].RestartCount)
}
