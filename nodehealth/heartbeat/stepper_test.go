package heartbeat

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// outages are the times in which the gate of the node is shut, and in which all
// calls fail.
type outages struct{ began time.Time }

func (o outages) within(from, to time.Duration) bool {
	since := time.Since(o.began)
	return since >= from && since < to
}

func (o outages) gate(context.Context) error {
	if o.within(8*time.Minute, 12*time.Minute) {
		return errFleetAPI
	}
	return nil
}

func (o outages) meddle(string, string) (time.Duration, error) {
	if o.within(20*time.Minute, 25*time.Minute) {
		return 0, errFleetAPI
	}
	return 0, nil
}

// observed returns what an hour of heartbeats shows the API server, when send
// sends them.
func observed(t *testing.T, send func(t *testing.T, config Config, node Node)) []fleetCall {
	t.Helper()
	var calls []fleetCall
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		o := outages{time.Now()}
		api.setMeddle(o.meddle)
		config := api.config()
		config.Rand = func() float64 { return 0.25 }
		var status changeable
		node := api.fleetNode("a")
		node.Status, node.Alive = status.status, o.gate
		go func() {
			time.Sleep(40 * time.Minute)
			status.notReady.Store(true)
		}()
		send(t, config, node)
		synctest.Wait()
		api.mu.Lock()
		defer api.mu.Unlock()
		for _, call := range api.calls {
			call.at = scheduleEpoch.Add(call.at.Sub(o.began))
			calls = append(calls, call)
		}
	})
	return calls
}

// A stepper that is asked at the times of a sender sends what that sends. There
// are a gate that shuts, a failing API server and a status that changes.
func TestAStepperSendsWhatASenderSends(t *testing.T) {
	want := observed(t, func(t *testing.T, config Config, node Node) {
		h := runFleet(t, config)
		require.NoError(t, h.Add(node))
		time.Sleep(time.Hour)
	})
	got := observed(t, func(t *testing.T, config Config, node Node) {
		s, err := NewStepper(config, time.Now())
		require.NoError(t, err)
		require.NoError(t, s.Add(time.Now(), node))
		for end := time.Now().Add(time.Hour); ; {
			for s.Step(t.Context(), time.Now()) {
			}
			next, ok := s.Next(time.Now())
			require.True(t, ok)
			if next.After(end) {
				return
			}
			// The bubble began at such a time. A sender waits for the next one.
			const slack = 100 * time.Millisecond
			time.Sleep(time.Until(next.Add(slack - 1).Truncate(slack)))
		}
	})
	require.Greater(t, len(want), 300)
	require.ElementsMatch(t, want, got)
}

func TestAStepperKeepsTheRulesOfASender(t *testing.T) {
	api := newFleetAPI()
	_, err := NewStepper(Config{}, scheduleEpoch)
	require.ErrorIs(t, err, ErrInvalidConfig)
	config := api.config()
	config.Rand = nil
	_, err = NewStepper(config, scheduleEpoch)
	require.ErrorContains(t, err, "Config.Rand")
	config.Rand = func() float64 { return 0 }
	_, err = NewStepper(config, time.Time{})
	require.Error(t, err, "a zero time")

	s, err := NewStepper(config, scheduleEpoch)
	require.NoError(t, err)
	_, found := s.Next(scheduleEpoch)
	require.False(t, found, "there is no node")
	require.ErrorIs(t, s.Add(scheduleEpoch, Node{}), ErrInvalidConfig)
	require.NoError(t, s.Add(scheduleEpoch, api.fleetNode("a")))
	require.ErrorIs(t, s.Add(scheduleEpoch, api.fleetNode("a")), ErrDuplicateNode)
	require.False(t, s.Changed(scheduleEpoch, "b"))
	require.True(t, s.Remove("a"))
	require.False(t, s.Remove("a"))
	require.False(t, s.Step(t.Context(), scheduleEpoch), "nothing is sent of a node that was removed")
	require.Empty(t, api.count())
}
