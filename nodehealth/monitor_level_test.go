package nodehealth_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
)

// alive starts the next task, which must announce that name is heard again.
func (o *observer) alive(t *testing.T, name string) nodehealth.NodeTask {
	t.Helper()
	task, ok := o.Start(o.now)
	require.True(t, ok, "nothing is handed out")
	require.Equal(t, nodehealth.StateAlive, task.State)
	require.Equal(t, name, task.Key)
	return task
}

func TestH8ANodeThatReturnsIsAnnounced(t *testing.T) {
	o, silent := newSilentNode(t, nodehealth.Config{})
	o.finish(silent, resultDone)
	require.True(t, o.Silent("a"))
	o.pass(time.Hour)
	o.beats("a")
	next, ok := o.Next(o.now)
	require.True(t, ok)
	require.False(t, next.After(o.now), "it is announced at once")
	task := o.alive(t, "a")
	require.Equal(t, o.now, task.Since)
	require.False(t, o.Silent("a"))
	o.finish(task, resultDone)
	o.silentExactly(t, o.now.Add(monitorGrace), "a")
}

func TestH8AnAnnouncementThatFailsIsRetriedWithBackoff(t *testing.T) {
	o, silent := newSilentNode(t, nodehealth.Config{Retry: timedqueue.Backoff{Initial: time.Second}})
	o.finish(silent, resultDone)
	o.beats("a")
	for attempt, wait := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		task := o.alive(t, "a")
		require.Equal(t, attempt, task.Attempts)
		o.finish(task, nodehealth.Result{Outcome: nodehealth.OutcomeDone, Err: errors.New("no answer")})
		require.True(t, o.Silent("a"))
		o.pass(wait - 1)
		_, ok := o.Start(o.now)
		require.False(t, ok, "too early")
		o.pass(1)
	}
	o.finish(o.alive(t, "a"), resultDone)
	o.quiet(t)
}

// It may be recorded as alive, since the answer was lost.
func TestH8ANodeThatFallsSilentBeforeItsReturnIsRecordedIsDeclaredAgain(t *testing.T) {
	backoff := timedqueue.Backoff{Initial: 10 * time.Minute, Max: time.Hour}
	o, silent := newSilentNode(t, nodehealth.Config{Retry: backoff})
	o.finish(silent, resultDone)
	o.beats("a")
	o.finish(o.alive(t, "a"), resultFailed)
	o.silentExactly(t, o.now.Add(monitorGrace), "a")
}

// How long ready before ready counts.
func TestH8TheRecoveryPeriodHasToPassWithoutSilence(t *testing.T) {
	const recovery = 2 * time.Minute
	o, silent := newSilentNode(t, nodehealth.Config{RecoveryPeriod: recovery})
	o.finish(silent, resultDone)
	o.pass(time.Hour)
	o.beats("a") // and stops
	o.finish(o.silentExactly(t, o.now.Add(monitorGrace), "a"), resultDone)
	o.pass(time.Hour)
	require.False(t, o.Returning("a"), "it is silent again")
	returned := o.now
	for o.now.Before(returned.Add(recovery)) {
		o.beats("a")
		_, ok := o.Start(o.now)
		require.False(t, ok, "too early, at %v", o.now.Sub(returned))
		require.True(t, o.Silent("a"))
		require.True(t, o.Returning("a"))
		o.pass(10 * time.Second)
	}
	o.finish(o.alive(t, "a"), resultDone)
	require.False(t, o.Silent("a"))
	require.False(t, o.Returning("a"))
	require.False(t, o.Returning("unknown"))
}

func TestH8SilentAnswersFromTheEndOfTheGracePeriodOn(t *testing.T) {
	o := newObserver(t, nodehealth.Config{})
	require.False(t, o.Silent("a"), "not known")
	o.seesLease(renewedLease("a", nodeClock))
	require.False(t, o.Silent("a"), "a lease is no node")
	o.sees(reportingNode("a", "1", nodeClock))
	require.False(t, o.Silent("a"))
	task := o.silentExactly(t, o.now.Add(monitorGrace), "a")
	require.True(t, o.Silent("a"), "whether or not that is written yet")
	o.finish(task, resultFailed)
	require.True(t, o.Silent("a"))
	o.ForgetNode(o.now, "a")
	require.False(t, o.Silent("a"))
	o.sees(unknownNode("a", "1", nodehealth.ReasonStopped, nodeClock))
	require.True(t, o.Silent("a"), "it was declared before our time")
}

// Another client sets Ready of a dead node: no heartbeat, and a lie.
func TestH8ReadyThatIsSetBackWithoutAHeartbeatIsDeclaredAgain(t *testing.T) {
	ready := reportingNode("a", "1", nodeClock)
	unknown := unknownNode("a", "1", nodehealth.ReasonStopped, nodeClock)
	bare := bareNode("a", "1")
	o, silent := newSilentNode(
		t, nodehealth.Config{Retry: timedqueue.Backoff{Initial: time.Second, Max: time.Minute}},
	)
	o.sees(unknown)
	o.finish(silent, resultDone)
	// The wait grows: the client that sets it back does not set the pace.
	for _, wait := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		o.pass(time.Minute)
		o.sees(ready)
		ready, bare = bare, ready // conditions that are gone are no Unknown either
		silent = o.silentExactly(t, o.now.Add(time.Duration(wait)*time.Second), "a")
		require.Equal(t, observerEpoch, silent.Since)
		o.sees(unknown)
		o.finish(silent, resultDone)
		o.quiet(t)
	}
	o.beats("a")
	o.finish(o.silentExactly(t, o.now.Add(monitorGrace), "a"), resultDone)
	o.sees(ready)
	o.silentExactly(t, o.now.Add(time.Second), "a") // it was heard: the first time of this silence
}

func TestH8ReadyThatIsSetBackDuringTheDeclarationIsDeclaredAgain(t *testing.T) {
	for _, result := range []nodehealth.Result{resultDone, resultFailed} {
		o, silent := newSilentNode(t, nodehealth.Config{Retry: timedqueue.Backoff{Initial: time.Second}})
		o.sees(unknownNode("a", "1", nodehealth.ReasonStopped, nodeClock))
		o.sees(reportingNode("a", "1", nodeClock))
		o.finish(silent, result)
		o.silentExactly(t, o.now.Add(time.Second), "a")
	}
}

// The watch is behind the answer for a while, and shows the node as it was.
func TestH8AnOlderVersionAfterTheDeclarationDeclaresNothingAgain(t *testing.T) {
	o, silent := newSilentNode(t, nodehealth.Config{Retry: timedqueue.Backoff{Initial: time.Second}})
	o.finish(silent, resultDone)
	o.sees(reportingNode("a", "1", nodeClock))
	o.pass(100 * time.Millisecond)
	o.sees(unknownNode("a", "1", nodehealth.ReasonStopped, nodeClock))
	_, ok := o.Next(o.now)
	require.False(t, ok)
	o.waitsForABeat(t)
}

// The write has landed, and only its answer was lost.
func TestH8AFailureThatTheWatchContradictsIsNotRetried(t *testing.T) {
	for _, before := range []bool{false, true} {
		o, silent := newSilentNode(t, nodehealth.Config{})
		if !before {
			o.finish(silent, resultFailed)
		}
		o.sees(unknownNode("a", "1", nodehealth.ReasonStopped, nodeClock))
		if before {
			o.finish(silent, resultFailed)
		}
		o.waitsForABeat(t)
	}
}

// A 404 for one write is a failure like others: a proxy may answer it.
func TestH8OnlyTheWatchForgetsANode(t *testing.T) {
	o, silent := newSilentNode(t, nodehealth.Config{Retry: timedqueue.Backoff{Initial: time.Second}})
	o.finish(
		silent, nodehealth.Result{Outcome: nodehealth.OutcomeDone, Err: errors.New("404 Not Found")},
	)
	o.silentExactly(t, o.now.Add(time.Second), "a")
}

func TestResultsThatAreNoneAreRetried(t *testing.T) {
	for _, result := range []nodehealth.Result{
		{}, {Outcome: "Finished"}, {Outcome: nodehealth.OutcomeAlive, Err: errors.New("but")},
	} {
		o, silent := newSilentNode(t, nodehealth.Config{Retry: timedqueue.Backoff{Initial: time.Second}})
		o.finish(silent, result)
		o.silentExactly(t, o.now.Add(time.Second), "a")
	}
}

// rack is a key that is no name.
type rack struct{ row, place int }

func TestH9AMonitorWatchesKeysOfAnyKind(t *testing.T) {
	now := observerEpoch
	m, err := nodehealth.NewMonitor[rack](
		nodehealth.Config{GracePeriod: time.Minute, StartupGracePeriod: time.Hour}, now,
	)
	require.NoError(t, err)
	steady, dying, dead, mute := rack{1, 1}, rack{1, 2}, rack{2, 1}, rack{2, 2}
	m.Observe(now, steady, nodehealth.Observation{Reported: true})
	m.Observe(now, dying, nodehealth.Observation{})
	m.Observe(now, dead, nodehealth.Observation{Reported: true, Silent: true})
	m.Observe(now, mute, nodehealth.Observation{})
	m.Heartbeat(now, rack{9, 9}) // not watched
	_, watched := m.LastHeartbeat(rack{9, 9})
	require.False(t, watched)
	m.Heartbeat(now, dying)
	require.True(t, m.Silent(dead))

	for range 6 {
		now = now.Add(10 * time.Second)
		m.Heartbeat(now, steady)
	}
	task, ok := m.Start(now)
	require.True(t, ok)
	require.Equal(t, dying, task.Key, "after its first heartbeat it has the grace period of all")
	require.Equal(t, observerEpoch, task.Since)
	m.Finish(now, task, resultDone)
	m.Observe(now, dying, nodehealth.Observation{Silent: true})

	m.Heartbeat(now, dead)
	task, ok = m.Start(now)
	require.True(t, ok)
	require.Equal(t, dead, task.Key)
	require.Equal(t, nodehealth.StateAlive, task.State)
	m.Finish(now, task, resultDone)
	at, ok := m.LastHeartbeat(dead)
	require.True(t, ok)
	require.Equal(t, now, at)

	m.Observe(now, dying, nodehealth.Observation{}) // set back
	now = now.Add(time.Second)
	m.Heartbeat(now, steady)
	task, ok = m.Start(now)
	require.True(t, ok)
	require.Equal(t, dying, task.Key)
	m.Forget(now, dying)
	m.Finish(now, task, resultFailed)
	_, ok = m.LastHeartbeat(dying)
	require.False(t, ok)
	require.False(t, m.Silent(dying))
	_, ok = m.Start(now)
	require.False(t, ok)
}
