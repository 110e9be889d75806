package eviction_test

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/eviction"
)

// reading is what time.Now would return so many seconds after the start, by a
// clock whose time of day is ahead by some seconds. Package time has no way to
// make such a time, so this relies on the layout that time.Time has had since
// Go 1.9. TestReadingHasTwoHands fails if that changes.
func reading(elapsed, ahead float64) time.Time {
	wall := at(elapsed + ahead)
	since1885 := uint64(wall.Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
	read := struct {
		wall     uint64 // a flag, 33 bits of seconds since 1885, 30 bits of nanoseconds
		ext      int64  // monotonic nanoseconds
		location *time.Location
	}{1<<63 | since1885<<30 | uint64(wall.Nanosecond()), int64(elapsed * float64(time.Second)),
		time.UTC}
	return *(*time.Time)(unsafe.Pointer(&read))
}

func TestReadingHasTwoHands(t *testing.T) {
	before, after := reading(10, 0), reading(15, 3600)
	require.Equal(t, 5*time.Second, after.Sub(before))
	require.Equal(t, 3605*time.Second, after.Round(0).Sub(before.Round(0)))
	require.True(t, at(3615).Equal(after))
	require.Equal(t, time.Second, before.Add(time.Second).Sub(before))
}

// A machine is a tracker whose times have two hands.
type machine struct {
	*testing.T
	*eviction.Tracker
	ahead float64 // of its time of day
}

// boot returns a machine that knows an untainted node n1 and the pods since 0.
func boot(t *testing.T, pods ...*corev1.Pod) *machine {
	t.Helper()
	tracker, err := eviction.NewTracker(twoSeconds, reading(0, 0))
	require.NoError(t, err)
	m := &machine{t, tracker, 0}
	m.ObserveNode(m.at(0), newNode("n1"))
	for _, pod := range pods {
		m.ObservePod(m.at(0), pod)
	}
	m.MarkSynced()
	return m
}

func (m *machine) at(elapsed float64) time.Time { return reading(elapsed, m.ahead) }

// leavesAt checks after how many monotonic seconds a pod is due, and that the
// tracker waits until then.
func (m *machine) leavesAt(uid types.UID, elapsed float64) {
	m.Helper()
	decision, known := m.Decision(uid)
	require.True(m, known)
	require.True(m, decision.Leaves(), "decision is %v", decision.Reason)
	require.InDelta(m, elapsed, decision.Due.Sub(reading(0, 0)).Seconds(), 1e-6, "monotonic seconds")
}

// starts drains the tracker.
func (m *machine) starts(elapsed float64) (names []string) {
	for range 100 {
		if task, ok := m.Start(m.at(elapsed)); ok {
			names = append(names, task.Pod.Name)
		}
	}
	return names
}

// A host whose time of day is set wrong, and right again.
func TestE2SettingTheClockMovesNoDeadline(t *testing.T) {
	for _, hour := range []float64{3600, -3600} {
		t.Run(fmt.Sprint(hour), func(t *testing.T) {
			m := boot(t, newPod("p", tolerates("*:300")))
			m.ObserveNode(m.at(11.25), newNode("n1", "a@10"))
			m.ahead = hour
			m.leavesAt("p", 311)
			m.ObserveNode(m.at(20.25), newNode("n1", "a@10", "b:NoSchedule"))
			m.leavesAt("p", 311)
			m.ahead = 0
			m.ObserveNode(m.at(30), newNode("n1", "a@10"))
			require.Empty(t, m.starts(310.9))
			require.Equal(t, []string{"p"}, m.starts(311))
		})
	}
}

// What appears while the clock of this machine is ahead is early by ten seconds
// at most, and never early while it is behind.
func TestE2AWrongClockIsEarlyByTenSecondsForWhatAppears(t *testing.T) {
	for ahead, due := range map[float64]float64{3600: 310.25, -3600: 320.25} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			m := boot(t, newPod("p", tolerates("a:300")))
			m.ahead = ahead
			m.ObserveNode(m.at(20.25), newNode("n1", "a@20"))
			m.leavesAt("p", due)
		})
	}
}

// A suspension of the machine makes an eviction late by its length, and none
// early: monotonic time stands still, and the process is not started again.
func TestE2ASuspensionMakesAnEvictionLateByItsLength(t *testing.T) {
	m := boot(t, newPod("p", tolerates("a:300")))
	m.ObserveNode(m.at(11.25), newNode("n1", "a@10"))
	m.ahead = 3600 // an hour in which no time has passed
	m.leavesAt("p", 311)
	require.Empty(t, m.starts(310.9))
	require.Equal(t, []string{"p"}, m.starts(311))
}

// A taint that was written during a gap of the watch counts from ten seconds
// before it is seen, and so does a binding.
func TestE2AGapOfTheWatchMakesAnEvictionLateByTheGap(t *testing.T) {
	c := running(t, newPod("p", tolerates("a:60")))
	c.node(100, "n1", "a@40")
	c.leavesAt("p", 150)
	other := running(t)
	other.node(1, "n1", "a@0")
	other.pod(100, newPod("p", bound(40), tolerates("a:60")))
	other.leavesAt("p", 150)
}

// A live read is compared with the clock as it is then.
func TestE6ReevaluateSeesATaintAppear(t *testing.T) {
	m := boot(t, newPod("p"))
	m.ObserveNode(m.at(10.25), newNode("n1", "b"))
	task, ok := m.Start(m.at(20))
	require.True(t, ok)
	live := newPod("p", tolerates("a:300"))
	decision := task.Reevaluate(live, newNode("n1", "a@15"), m.at(20))
	require.Equal(t, 316*time.Second, decision.Due.Sub(reading(0, 0)))
	decision = task.Reevaluate(live, newNode("n1", "a@3615"), m.at(20))
	require.Equal(t, 320*time.Second, decision.Due.Sub(reading(0, 0)), "that time is in the future")
}
