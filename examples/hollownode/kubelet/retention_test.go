package kubelet

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// A cache keeps the present object of each pod. A fleet that keeps others
// doubles what a pod takes.
func TestFormerObjectsOfAPodAreNotKept(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	fake, err := cri.NewFake(start)
	require.NoError(t, err)
	f, err := NewFleet(FleetConfig{Runtime: fake}, start)
	require.NoError(t, err)
	f.MarkSynced(start)
	f.ObserveNode(start, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})

	// perform does all calls, and returns the object that the watch shows then.
	perform := func(now time.Time, pod *corev1.Pod) *corev1.Pod {
		for task, ok := f.Start(now); ok; task, ok = f.Start(now) {
			if task.Kind == TaskPatchStatus {
				pod = pod.DeepCopy()
				pod.Status = *task.Status.DeepCopy()
			}
			f.Finish(now, task, ResultDone)
		}
		return pod
	}
	former := func() weak.Pointer[corev1.Pod] {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "1"},
			Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "main"}}},
		}
		f.ObservePod(start, pod)
		f.ObservePod(start, perform(start, pod))
		return weak.Make(pod)
	}()
	runtime.GC()
	assert.Nil(t, former.Value())

	r := f.pods["1"]
	require.Equal(t, workerSyncing, r.state)
	require.NotEmpty(t, r.pod.Status.Conditions)
	assert.Same(t, &r.pod.Status.Conditions[0], &r.publication.status.Conditions[0],
		"the status that the API server has is in memory once")
	assert.Equal(t, int64(1), r.node.used.pods, "it takes its room all the same")
	runtime.KeepAlive(f)
}
