package kubelet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// A wait for volumes ends after 2 min 3 s. The sync has failed then, and the
// next one comes 10 s later, without spreading.
func TestAPodWaitsForItsVolumesAsByTheKubelet(t *testing.T) {
	for _, test := range []struct {
		annotations []string
		runs        string // a line of the log; empty if it never runs
	}{
		{[]string{"mount-time", "2m3s"}, "2m3s"},
		{[]string{"mount-time", "2m10s"}, "2m13s"},
		{[]string{"mount-time", "3m"}, "3m0s"},
		{[]string{"mount-failures", "1"}, "2m13s"},
		{[]string{"mount-failures", "2"}, "4m26s"},
		{[]string{"mount-failures", "2", "mount-time", "7s"}, "4m33s"},
		{[]string{"mount-failures", "all"}, ""},
	} {
		w := newWorld(t, "node")
		w.fleet.config.Rand = nil
		w.pod("a", nil, test.annotations...)
		w.run(time.Hour)
		want := []string{"0s PatchStatus a Pending c:ContainerCreating"}
		if test.runs != "" {
			want = append(want, test.runs+" PatchStatus a Running ready c:running")
		}
		assert.Equal(t, want, w.log, test.annotations)
	}
}

func TestAPodWithoutItsVolumesIsDeletedAtAnyTime(t *testing.T) {
	for _, after := range []time.Duration{0, time.Minute, 123 * time.Second, 128 * time.Second, time.Hour} {
		w := newWorld(t, "node")
		w.pod("a", nil, "mount-failures", "all")
		w.run(after)
		w.delete("a", 30)
		w.run(time.Second)
		assert.Empty(t, w.pods, after)
		assert.Zero(t, w.runtime.started)
	}
}

func TestADeadlineEndsAPodThatWaitsForItsVolumes(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To(int64(200)) }, "mount-failures", "all")
	w.run(3 * time.Minute)
	assert.Equal(t, corev1.PodPending, w.status("a").Phase)
	w.run(3 * time.Minute)
	assert.Equal(t, "DeadlineExceeded", w.status("a").Reason)
}

func TestAnEndWaitsForTheVolumesToGo(t *testing.T) {
	for _, test := range []struct {
		annotations []string
		gone        time.Duration
	}{
		{[]string{"unmount-time", "20s"}, 20 * time.Second},
		{[]string{"unmount-time", "2m10s"}, 133 * time.Second},
		{[]string{"unmount-failures", "1"}, 133 * time.Second},
		{[]string{"unmount-failures", "1", "unmount-time", "5s"}, 138 * time.Second},
	} {
		w := newWorld(t, "node")
		w.fleet.config.Rand = nil
		w.pod("a", nil, test.annotations...)
		w.run(time.Second)
		w.delete("a", 30)
		w.run(test.gone - 1)
		require.Len(t, w.pods, 1, test.annotations)
		state, _ := w.runtime.Pod(w.now, "a")
		assert.False(t, state.Running())
		w.run(1)
		assert.Empty(t, w.pods, test.annotations)
	}
}

// A wait for volumes is all that a deletion ends.
func TestADeletionWaitsForNoVolumes(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "mount-time", "10m")
	w.run(10 * time.Second)
	w.delete("a", 30)
	w.run(time.Second)
	assert.Empty(t, w.pods)
	w.run(time.Hour)
	assert.Zero(t, w.runtime.started)
	assert.Empty(t, w.runtime.Pods(w.now, "node"))
}

func TestVolumesAreAWaitWithATimeAndFailures(t *testing.T) {
	var v volumes
	assert.False(t, v.reached(start, volumesMounting, 1, time.Second), "the first wait fails")
	assert.Equal(t, start.Add(volumeTimeout), v.waitUntil(start))
	now := start.Add(volumeTimeout)
	assert.False(t, v.endWait(now))
	assert.False(t, v.reached(now, volumesMounting, 1, time.Second), "its time begins")
	assert.Equal(t, now.Add(time.Second), v.waitUntil(now))
	assert.False(t, v.endWait(now))
	assert.True(t, v.endWait(now.Add(time.Second)))
	assert.True(t, v.reached(now.Add(time.Second), volumesMounting, 1, time.Second))
	assert.True(t, v.reached(now, volumesUnmounting, 0, 0), "it begins again, and takes no time")
}
