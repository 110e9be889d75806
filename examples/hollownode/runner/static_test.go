package runner

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

func staticPod(name, image string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

// containerID returns that of a pod, which is another one after a restart.
func (w *world) containerID(pod string) string {
	w.Helper()
	statuses := w.pod(pod).Status.ContainerStatuses
	require.Len(w, statuses, 1)
	return statuses[0].ContainerID
}

func (w *world) names() []string {
	w.Helper()
	pods, err := w.CoreV1().Pods("ns").List(w.Context(), metav1.ListOptions{})
	require.NoError(w, err)
	var names []string
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	return names
}

func TestStaticPodsLiveThroughAProcessAndTheLossOfTheirMirrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		proxy := staticPod("proxy", "image")
		proxy.Spec.HostNetwork = true
		proxy.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
		proxy.Spec.Containers[0].Resources.Limits = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Mi"),
		}
		config := func(c *Config) { c.Register, c.StaticPods = named("a", "b"), []*corev1.Pod{proxy} }
		_, stop := w.start(config)
		wait(15 * time.Second) // a container that has run for less is probed again
		require.Equal(t, []string{"proxy-a", "proxy-b"}, w.names())
		mirror := w.pod("proxy-a")
		assert.Equal(t, "Running ready 0", w.ready("proxy-a"))
		assert.Equal(t, "Running ready 0", w.ready("proxy-b"))
		assert.Equal(t, "proxy", mirror.Labels["app"])
		assert.Equal(t, []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Node", Name: "a", UID: w.node("a").UID, Controller: ptr.To(true),
		}}, mirror.OwnerReferences)
		container := w.containerID("proxy-a")

		stop()
		wait(10 * time.Second)
		_, stop = w.start(config)
		defer func() { stop() }()
		wait(time.Minute)
		assert.Equal(t, mirror, w.pod("proxy-a"), "a restart of the process writes nothing")

		for _, grace := range []*int64{nil, new(int64)} {
			uid := w.pod("proxy-a").UID
			options := metav1.DeleteOptions{GracePeriodSeconds: grace}
			require.NoError(t, w.CoreV1().Pods("ns").Delete(t.Context(), "proxy-a", options))
			wait(time.Second)
			assert.NotEqual(t, uid, w.pod("proxy-a").UID)
			assert.Equal(t, "Running ready 0", w.ready("proxy-a"))
			assert.Equal(t, container, w.containerID("proxy-a"))
		}

		w.annotatePod("proxy-a", cri.AnnotationCrash, "main:3")
		wait(15 * time.Second)
		assert.Equal(t, "Running ready 1", w.ready("proxy-a"), "an annotation of the mirror makes it crash")
		stop()
		_, stop = w.start(config)
		wait(time.Second)
		assert.Equal(t, "Running ready 1", w.ready("proxy-a"))

		require.NoError(t, w.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}))
		wait(time.Second)
		_, err := w.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{Label: "test"}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		wait(time.Second)
		assert.Equal(t, w.node("a").UID, w.pod("proxy-a").OwnerReferences[0].UID)
		assert.Equal(t, "Running ready 0", w.ready("proxy-a"), "a new machine has begun")
		assert.Empty(t, w.failures)
		assert.Empty(t, w.problems)
	})
}

// Between the making of a session and its first turn there is a gap.
func TestStaticPodsThatChangeWhileAFleetBeginsAreNotLost(t *testing.T) {
	w := newWorld(t)
	r, err := NewRunner(Config{Acting: w.client, Watching: w.client, Beating: w.client, Fleet: "test"})
	require.NoError(t, err)
	s, err := r.newSession()
	require.NoError(t, err)
	require.NoError(t, r.SetStaticPods([]*corev1.Pod{staticPod("proxy", "image")}))
	r.set(s)
	now := time.Now()
	s.fleet.ObserveNode(now, named("a")[0])
	s.fleet.MarkSynced(now)
	task, ok := s.fleet.Start(now)
	require.True(t, ok)
	assert.Equal(t, "proxy-a", task.Pod.Name)
}

func TestStaticPodsChangeWhileAFleetActsAndBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r, stop := w.start(func(c *Config) { c.Register = named("a") })
		defer stop()
		require.NoError(t, r.SetStaticPods([]*corev1.Pod{staticPod("early", "image")}))
		wait(time.Second)
		require.Equal(t, []string{"early-a"}, w.names())

		pods := []*corev1.Pod{staticPod("early", "image"), staticPod("late", "image")}
		require.NoError(t, r.SetStaticPods(pods))
		wait(time.Second)
		require.Equal(t, []string{"early-a", "late-a"}, w.names())
		early, late := w.pod("early-a"), w.pod("late-a")

		pods[1] = staticPod("late", "image:2")
		require.NoError(t, r.SetStaticPods(pods))
		wait(time.Second)
		assert.NotEqual(t, late.UID, w.pod("late-a").UID)
		assert.Equal(t, "image:2", w.pod("late-a").Status.ContainerStatuses[0].Image)
		assert.Equal(t, "Running ready 0", w.ready("late-a"))

		wrong := []*corev1.Pod{staticPod("early", "")}
		require.ErrorIs(t, r.SetStaticPods(wrong), ErrInvalidConfig)
		require.ErrorContains(t, r.SetStaticPods(wrong), `container "main" has no image`)
		require.NoError(t, r.SetStaticPods(pods[:1]))
		wait(time.Second)
		assert.Equal(t, []string{"early-a"}, w.names())
		assert.Equal(t, early, w.pod("early-a"))
		assert.Empty(t, w.failures)
	})
}
