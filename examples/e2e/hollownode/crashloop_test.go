package hollownode

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// The waits between the runs of a container that crashes, as the documentation
// of the API has them. A kubelet spreads its syncs, which adds half.
var crashWaits = []time.Duration{0, 10 * time.Second, 20 * time.Second, 40 * time.Second}

// rounding is what two rounded times of the API may add, and a process on a
// busy machine.
const rounding = 5 * time.Second

// killedNode is the node of a fleet that is killed while its pod crashes.
const killedNode = "killed-00001"

// A container that crashes waits ever longer and says so. It runs on when the
// fleet is killed, and its restarts stay counted. Meanwhile a pod is replaced
// by a namesake, which the next process leaves alone. Another fleet is killed
// while a container of its own crashes.
func TestACrashLoopAndANamesakeOnARealAPIServer(t *testing.T) {
	c := newPlane(t)
	start := func() { c.startNodes("--nodes=1", "--name-prefix=ours") }
	start()
	other := *c
	startOther := func() { other.startNodes("--nodes=1", "--name-prefix=killed", "--fleet=killed") }
	startOther()
	c.eventually("the nodes are ready", func() string {
		for _, name := range []string{oursNode, killedNode} {
			if node := c.nodeOf(name); node == nil || !nodeIsReady(node) {
				return name + " is not"
			}
		}
		return ""
	})
	recorder := c.record()
	c.bind(oursNode, "crashes", map[string]string{
		domain + "run-time": "1s,1s,1s,1s,forever", domain + "exit-code": "1",
	})
	old := c.bind(oursNode, "twin", map[string]string{domain + "stop-time": "forever"})
	other.crashWhileKilled(recorder, startOther)
	c.eventually("it has crashed four times, and runs", func() string {
		pod := c.pod("crashes")
		return unless(c.restarts("crashes") == len(crashWaits) && fleet.IsReady(pod), true)
	})
	c.wantCrashLoop(recorder.objects("crashes"))

	require.NoError(c, c.client.CoreV1().Pods(metav1.NamespaceDefault).
		Delete(c.Context(), "twin", metav1.DeleteOptions{GracePeriodSeconds: new(int64(60))}))
	c.eventually("the other pod is ending", func() string { return unless(c.pod("twin").DeletionTimestamp != nil, true) })
	c.killFleet()
	require.NoError(c, c.client.CoreV1().Pods(metav1.NamespaceDefault).
		Delete(c.Context(), "twin", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	namesake := c.bind(oursNode, "twin", nil)
	require.NotEqual(c, old.UID, namesake.UID)
	before := c.pod("crashes")
	start()
	c.eventually("its namesake is ready", func() string { return unless(fleet.IsReady(c.pod("twin")), true) })
	time.Sleep(10 * time.Second) // in which a late deletion would come
	assert.Equal(c, namesake.UID, c.pod("twin").UID)
	assert.Zero(c, c.restarts("twin"))
	after := c.pod("crashes")
	assert.Equal(c, before.ResourceVersion, after.ResourceVersion, "nothing was written of it")
	assert.Equal(c, before.Status, after.Status)
}

// crashWhileKilled kills the fleet twice while a container crashes: in a
// back-off, and in a run that ends before the next process starts. Each end is
// shown, with the time at which it was, and back-offs begin again.
func (c *cluster) crashWhileKilled(recorder *recorder, start func()) {
	c.Helper()
	const third = 6 * time.Second
	c.bind(killedNode, "killed", map[string]string{
		domain + "run-time": "1s,1s," + third.String() + ",1s,forever", domain + "exit-code": "1",
	})
	c.eventually("a restart waits for its back-off", func() string {
		pod := c.pod("killed")
		return unless(c.restarts("killed") == 1 && backsOff(pod), true)
	})
	c.killFleet()
	started := time.Now()
	start()
	var began time.Time
	c.eventually("it runs for the third time", func() string {
		list := c.pod("killed").Status.ContainerStatuses
		if list[0].RestartCount == 2 && list[0].State.Running != nil {
			began = list[0].State.Running.StartedAt.Time
		}
		return unless(began.IsZero(), false)
	})
	c.killFleet()
	time.Sleep(time.Until(began.Add(third + time.Second)))
	again := time.Now()
	start()
	c.eventually("it runs on after two crashes more", func() string {
		return unless(c.restarts("killed") == 4 && fleet.IsReady(c.pod("killed")), true)
	})
	runs := c.runsOf(recorder.objects("killed"))
	require.Len(c, runs, 4)
	assert.Less(c, runs[1].began.Sub(started), rounding, "the back-off was forgotten")
	assert.Equal(c, began.Add(third), runs[2].ended, "it ended while no process ran")
	assert.Less(c, runs[2].began.Sub(again), rounding, "the back-off was forgotten")
	wait := runs[3].began.Sub(runs[3].ended)
	assert.GreaterOrEqual(c, wait, crashWaits[1]-time.Second, "the first back-off of the last process")
	assert.LessOrEqual(c, wait, crashWaits[1]*3/2+rounding)
	assert.True(c, runs[3].shown, "CrashLoopBackOff")
}

// backsOff reports whether the container of a pod shows that it waits.
func backsOff(pod *corev1.Pod) bool {
	list := pod.Status.ContainerStatuses
	return len(list) > 0 && list[0].State.Waiting != nil && list[0].State.Waiting.Reason == "CrashLoopBackOff"
}

// A restarted run is one that follows another.
type restartedRun struct {
	// ended is the end of the run before.
	ended, began time.Time
	// shown is whether CrashLoopBackOff was shown in between.
	shown bool
}

// runsOf returns the restarts that the API has shown of a pod. It has shown
// each, and the end of the run before.
func (c *cluster) runsOf(seen []*corev1.Pod) []restartedRun {
	c.Helper()
	var runs []restartedRun
	shown, last := false, int32(0)
	for _, pod := range seen {
		if len(pod.Status.ContainerStatuses) == 0 {
			continue
		}
		s := &pod.Status.ContainerStatuses[0]
		require.GreaterOrEqual(c, s.RestartCount, last)
		shown = shown || backsOff(pod)
		if ended := s.LastTerminationState.Terminated; s.State.Running != nil && s.RestartCount > last {
			require.Equal(c, last+1, s.RestartCount, "each run is shown")
			require.NotNil(c, ended)
			require.EqualValues(c, 1, ended.ExitCode)
			runs = append(runs, restartedRun{ended.FinishedAt.Time, s.State.Running.StartedAt.Time, shown})
			shown = false
		}
		last = s.RestartCount
	}
	return runs
}

// wantCrashLoop checks the times and reasons that the API has shown of a pod.
func (c *cluster) wantCrashLoop(seen []*corev1.Pod) {
	c.Helper()
	runs := c.runsOf(seen)
	require.Len(c, runs, len(crashWaits))
	for i, want := range crashWaits {
		wait := runs[i].began.Sub(runs[i].ended)
		c.Logf("restart %d came after %v by the API's own times", i+1, wait)
		assert.GreaterOrEqual(c, wait, want-time.Second, "restart %d; the times are whole seconds", i+1)
		assert.LessOrEqual(c, wait, want*3/2+rounding, "restart %d", i+1)
		assert.Equal(c, want > 0, runs[i].shown, "CrashLoopBackOff before restart %d", i+1)
	}
}

// bind creates a pod on a node.
func (c *cluster) bind(node, name string, annotations map[string]string) *corev1.Pod {
	c.Helper()
	of := template(name, annotations)
	of.Spec.NodeName = node
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

// recorder holds what a watch has shown of all pods since it was made.
type recorder struct {
	mu   sync.Mutex
	pods map[string][]*corev1.Pod // by the name of the pod
}

// record records all pods until the test ends. There must be none yet.
func (c *cluster) record() *recorder {
	c.Helper()
	pods := c.client.CoreV1().Pods(metav1.NamespaceDefault)
	list, err := pods.List(c.Context(), metav1.ListOptions{})
	require.NoError(c, err)
	require.Empty(c, list.Items)
	watching, err := pods.Watch(c.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.NoError(c, err)
	r := &recorder{pods: map[string][]*corev1.Pod{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watching.ResultChan() {
			if pod, isPod := event.Object.(*corev1.Pod); isPod && event.Type != watch.Deleted {
				r.keep(pod)
			}
		}
	}()
	c.Cleanup(func() {
		watching.Stop()
		<-ended
	})
	return r
}

func (r *recorder) keep(pod *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pods[pod.Name] = append(r.pods[pod.Name], pod)
}

// objects returns all objects of a pod so far.
func (r *recorder) objects(name string) []*corev1.Pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.pods[name])
}
