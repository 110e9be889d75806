package nodehealth_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newSilentNode returns an observer of one node that has just been handed out.
func newSilentNode(t *testing.T, config nodehealth.Config) (*observer, nodehealth.NodeTask) {
	t.Helper()
	o := newObserver(t, config)
	o.seesLease(renewedLease("a", nodeClock))
	o.sees(reportingNode("a", "1", nodeClock))
	return o, o.silentExactly(t, o.now.Add(monitorGrace), "a")
}

func (o *observer) beats(name string) {
	o.seesLease(renewedLease(name, nodeClock.Add(o.now.Sub(observerEpoch))))
}

// waitsForABeat checks that nothing is handed out before the next beat, and
// that the node is handed out again a grace period after that.
func (o *observer) waitsForABeat(t *testing.T) {
	t.Helper()
	_, ok := o.Next(o.now)
	require.False(t, ok)
	o.pass(24 * time.Hour)
	o.quiet(t)
	o.beats("a")
	o.silentExactly(t, o.now.Add(monitorGrace), "a")
}

func TestH2ASilentNodeIsHandedOutOnce(t *testing.T) {
	o, silent := newSilentNode(t, nodehealth.Config{})
	require.Equal(t, "a", silent.Key)
	require.Equal(t, types.UID("1"), silent.UID)
	require.Equal(t, observerEpoch, silent.Since)
	require.Equal(t, monitorGrace, silent.GracePeriod)
	_, ok := o.Next(o.now)
	require.False(t, ok)
	o.pass(time.Hour)
	o.quiet(t, "It is being declared.")
	o.finish(silent, resultDone)
	o.waitsForABeat(t)
}

func TestH2ANodeThatIsFoundAliveGetsANewGrace(t *testing.T) {
	o, silent := newSilentNode(t, nodehealth.Config{})
	o.pass(3 * time.Second)
	o.finish(silent, resultAlive)
	require.Equal(t, o.now, o.lastBeat(t, "a"))
	silent = o.silentExactly(t, o.now.Add(monitorGrace), "a")
	o.finish(silent, resultDone)
	o.waitsForABeat(t)
}

// A fresh status wins: the beat that arrives while the patch is under way
// counts, whatever came of the patch.
func TestH2ABeatDuringTheDeclarationWins(t *testing.T) {
	for _, result := range []nodehealth.Result{resultDone, resultFailed} {
		o, silent := newSilentNode(t, nodehealth.Config{})
		o.pass(time.Second)
		o.beats("a")
		beat := o.now
		o.pass(time.Second)
		o.finish(silent, result)
		require.Equal(t, beat, o.lastBeat(t, "a"))
		require.Equal(t, beat, o.silentExactly(t, beat.Add(monitorGrace), "a").Since)
	}
	o, silent := newSilentNode(t, nodehealth.Config{})
	o.pass(time.Second)
	o.beats("a")
	o.pass(time.Second)
	o.finish(silent, resultAlive)
	o.silentExactly(t, o.now.Add(monitorGrace), "a") // the live read is newer
}

// H6: a call that fails is made again.
func TestH6AnUndecidedDeclarationIsRetriedWithBackoff(t *testing.T) {
	o, silent := newSilentNode(
		t, nodehealth.Config{Retry: timedqueue.Backoff{Initial: time.Second, Max: 5 * time.Second}},
	)
	for _, wait := range []time.Duration{
		time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second,
	} {
		o.pass(100 * time.Millisecond)
		o.finish(silent, resultFailed)
		silent = o.silentExactly(t, o.now.Add(wait), "a")
		require.Equal(t, observerEpoch, silent.Since)
	}
	o.finish(silent, resultDone)
	o.waitsForABeat(t)
}

// A backoff ends with a beat: a node that beats and stops again is silent a
// grace period later.
func TestH3ABackoffDoesNotOutliveABeat(t *testing.T) {
	backoff := timedqueue.Backoff{Initial: 10 * time.Minute, Max: time.Hour}
	o, silent := newSilentNode(t, nodehealth.Config{Retry: backoff})
	o.finish(silent, resultFailed)
	o.pass(time.Second)
	o.beats("a")
	silent = o.silentExactly(t, o.now.Add(monitorGrace), "a")

	o.finish(silent, resultFailed)
	silent = o.silentExactly(t, o.now.Add(10*time.Minute), "a") // the first failure of this silence
	o.finish(silent, resultFailed)
	silent = o.silentExactly(t, o.now.Add(20*time.Minute), "a")

	o.pass(time.Second)
	o.beats("a") // during the try
	o.finish(silent, resultFailed)
	silent = o.silentExactly(t, o.now.Add(monitorGrace), "a")
	o.finish(silent, resultFailed)
	silent = o.silentExactly(t, o.now.Add(10*time.Minute), "a")
	o.finish(silent, resultFailed)
	silent = o.silentExactly(t, o.now.Add(20*time.Minute), "a")
	o.finish(silent, resultAlive)
	silent = o.silentExactly(t, o.now.Add(monitorGrace), "a")
	o.finish(silent, resultFailed)
	o.silentExactly(t, o.now.Add(10*time.Minute), "a")
}

func TestH2ANodeThatStopsAgainIsHandedOutAgain(t *testing.T) {
	o, silent := newSilentNode(t, nodehealth.Config{})
	for range 5 {
		o.finish(silent, resultDone)
		o.pass(time.Hour)
		o.beats("a")
		o.pass(10 * time.Second)
		o.beats("a")
		silent = o.silentExactly(t, o.now.Add(monitorGrace), "a")
	}
}

// H5: the result of a declaration is about the node that was declared, not
// about the one that has its name now.
func TestH5AResultForAnotherNodeChangesNothing(t *testing.T) {
	for _, result := range []nodehealth.Result{resultDone, resultAlive, resultFailed} {
		for _, forgotten := range []bool{false, true} {
			o, silent := newSilentNode(t, nodehealth.Config{Retry: timedqueue.Backoff{Initial: time.Hour}})
			o.pass(time.Second)
			if forgotten {
				o.ForgetNode(o.now, "a")
				o.ForgetLease(o.now, "a")
			}
			o.sees(bareNode("a", "2"))
			born := o.now
			o.pass(5 * time.Second)
			o.finish(silent, result)
			require.Equal(t, born, o.lastBeat(t, "a"))
			again := o.silentExactly(t, born.Add(startupGrace), "a")
			require.Equal(t, types.UID("2"), again.UID)

			o.finish(silent, resultDone) // the old one once more, late
			o.finish(again, resultAlive)
			o.silentExactly(t, o.now.Add(startupGrace), "a")
		}
	}
}

func TestH5AResultForAForgottenNodeChangesNothing(t *testing.T) {
	for _, result := range []nodehealth.Result{resultDone, resultAlive, resultFailed} {
		for _, beats := range []bool{false, true} {
			o, silent := newSilentNode(t, nodehealth.Config{})
			o.pass(time.Second)
			if beats {
				o.beats("a")
			}
			o.ForgetNode(o.now, "a")
			o.finish(silent, result)
			_, ok := o.Next(o.now)
			require.False(t, ok)
			require.Equal(t, 1, o.Len(), "the lease")
			o.ForgetLease(o.now, "a")
			require.Zero(t, o.Len())
		}
	}
}

// A node that is forgotten and seen again during its declaration has its whole
// grace, like any that is seen for the first time.
func TestH5ANodeSeenAgainDuringItsDeclaration(t *testing.T) {
	for _, result := range []nodehealth.Result{resultDone, resultFailed} {
		o, silent := newSilentNode(t, nodehealth.Config{})
		o.pass(time.Second)
		o.beats("a")
		o.ForgetNode(o.now, "a")
		o.ForgetLease(o.now, "a")
		o.pass(time.Second)
		o.sees(reportingNode("a", "1", nodeClock))
		born := o.now
		o.pass(time.Second)
		o.finish(silent, result)
		o.silentExactly(t, born.Add(monitorGrace), "a")
	}
}

// Or it was found Unknown then, and is waited for like any such node.
func TestH5ANodeSeenAgainAsUnknownDuringItsDeclaration(t *testing.T) {
	for _, result := range []nodehealth.Result{resultDone, resultFailed, resultAlive} {
		o, silent := newSilentNode(t, nodehealth.Config{})
		o.pass(time.Second)
		o.ForgetNode(o.now, "a")
		o.sees(unknownNode("a", "1", nodehealth.ReasonStopped, nodeClock))
		o.pass(time.Second)
		o.finish(silent, result)
		o.waitsForABeat(t)
	}
}

func TestAResultThatBelongsToNothingIsNothing(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	o.finish(nodehealth.NodeTask{}, resultDone)
	o.finish(
		nodehealth.NodeTask{
			Task: nodehealth.Task[string]{Key: "a", State: nodehealth.StateSilent}, UID: "1",
		},
		resultFailed,
	)
	o.sees(reportingNode("a", "1", nodeClock))
	o.finish(nodehealth.NodeTask{}, resultAlive)
	o.finish(
		nodehealth.NodeTask{
			Task: nodehealth.Task[string]{Key: "a", State: nodehealth.StateSilent}, UID: "1",
		},
		resultDone,
	)
	o.silentExactly(t, observerEpoch.Add(monitorGrace), "a")
}

// A dispatcher reads the clock before it takes the lock, so Start may see an
// earlier now than a Finish before it. Taking that now at its word, Start would
// put an entry back that is due and find it again, for ever.
func TestTimeGoingBackwardsIsClamped(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	o.sees(reportingNode("a", "1", nodeClock))
	o.sees(reportingNode("b", "2", nodeClock))
	o.pass(10 * time.Second)
	o.beats("b")
	o.now = observerEpoch.Add(monitorGrace)
	silent := o.silent(t, "a")
	o.now = observerEpoch.Add(monitorGrace + 10*time.Second)
	o.finish(silent, resultDone) // b is silent now

	o.now = observerEpoch.Add(monitorGrace)
	require.Equal(t, observerEpoch.Add(10*time.Second), o.silent(t, "b").Since)
}

func TestABeatAtAnEarlierTimeIsABeatNow(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	o.pass(time.Minute)
	o.sees(reportingNode("a", "1", nodeClock))
	o.now = observerEpoch.Add(-24 * time.Hour)
	o.beats("a")
	require.Equal(t, observerEpoch.Add(time.Minute), o.lastBeat(t, "a"))
	o.sees(reportingNode("b", "2", nodeClock))
	require.Equal(t, observerEpoch.Add(time.Minute), o.lastBeat(t, "b"))
	o.quiet(t)
	next, ok := o.Next(o.now)
	require.True(t, ok)
	require.Equal(t, observerEpoch.Add(time.Minute+monitorGrace), next)
}

// Times with and without a monotonic reading, and times too far away to tell
// apart, are treated alike everywhere.
func TestStartEndsWhateverTheTime(t *testing.T) {
	far := time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)
	for name, times := range map[string][]time.Time{
		"far future": {far, far.Add(1), far.Add(time.Hour)},
		"far past":   {{}, far, {}},
		"monotonic": {
			time.Now(), time.Now().Round(0), time.Now().Add(time.Hour), time.Now().Round(0).Add(-time.Hour),
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, start := range []time.Time{observerEpoch, time.Time{}.Add(1), far, time.Now()} {
				m, err := nodehealth.NewNodeMonitor(
					nodehealth.Config{GracePeriod: time.Nanosecond, StartupGracePeriod: time.Nanosecond}, start,
				)
				require.NoError(t, err)
				m.MarkSynced()
				for i, now := range times {
					m.ObserveNode(now, reportingNode("a", "1", nodeClock))
					m.ObserveLease(now, renewedLease("a", nodeClock.Add(time.Duration(i))))
					if silent, ok := m.Start(now); ok {
						m.Finish(now, silent, resultAlive)
					}
					m.Next(now)
				}
			}
		})
	}
}

// The edge that drives it in earnest.
func TestADispatcherDeclaresSilentNodesOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		monitor, err := nodehealth.NewNodeMonitor(
			nodehealth.Config{Retry: timedqueue.Backoff{Initial: time.Second}}, start,
		)
		require.NoError(t, err)
		type call struct {
			name string
			at   time.Duration
		}
		var calls []call // written by one worker at a time
		dispatcher, err := timedqueue.NewDispatcher(monitor, func(
			_ context.Context, silent nodehealth.NodeTask,
		) nodehealth.Result {
			calls = append(calls, call{silent.Key, time.Since(start)})
			if len(calls) == 1 {
				return resultFailed
			}
			return resultDone
		}, timedqueue.DispatcherConfig{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- dispatcher.Run(ctx) }()

		dispatcher.Update(func() {
			monitor.MarkSynced()
			for _, name := range []string{"a", "b", "c"} {
				monitor.ObserveNode(time.Now(), reportingNode(name, name, nodeClock))
			}
		})
		for i := range 30 { // c beats; b stops after 20 s
			time.Sleep(10 * time.Second)
			dispatcher.Update(func() {
				monitor.ObserveLease(time.Now(), renewedLease("c", nodeClock.Add(time.Duration(i))))
				if i < 2 {
					monitor.ObserveLease(time.Now(), renewedLease("b", nodeClock.Add(time.Duration(i))))
				}
			})
		}
		cancel()
		require.NoError(t, <-ended)
		require.Equal(
			t, []call{{"a", 50 * time.Second}, {"a", 51 * time.Second}, {"b", 70 * time.Second}}, calls,
		)
	})
}

// H4: a live read is a sign of life if it shows a version that was neither
// observed nor read before. So a node that dies behind a silent watch is found.
func TestH4ALiveReadIsASignOfLifeOnce(t *testing.T) {
	m, err := nodehealth.NewNodeMonitor(nodehealth.Config{}, observerEpoch)
	require.NoError(t, err)
	require.False(t, m.ReadLease("n", "1"), "not watched")
	m.ObserveNode(observerEpoch, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}})
	require.False(t, m.ReadLease("n", ""), "no lease is no sign of life")
	require.True(t, m.ReadLease("n", "1"), "its first")
	require.False(t, m.ReadLease("n", "1"))

	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "3"}}
	m.ObserveLease(observerEpoch, lease)
	require.False(t, m.ReadLease("n", "3"), "observed")
	require.True(t, m.ReadLease("n", "4"))
	lease = lease.DeepCopy()
	lease.ResourceVersion = "5"
	m.ObserveLease(observerEpoch, lease)
	require.False(t, m.ReadLease("n", "4"), "read before, and still remembered")
	require.False(t, m.ReadLease("n", "5"))
}
