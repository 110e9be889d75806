package heartbeat

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// driven are heartbeats that are sent while run lasts.
type driven interface {
	Add(node Node) error
	Pause(name string) bool
	Resume(name string) bool
	AliveFor(name string, d time.Duration) bool
	run(d time.Duration)
}

type drivenSender struct{ *Sender }

func (drivenSender) run(d time.Duration) { time.Sleep(d) }

type drivenStepper struct {
	*Stepper
	t *testing.T
}

func (s drivenStepper) Add(node Node) error     { return s.Stepper.Add(time.Now(), node) }
func (s drivenStepper) Pause(name string) bool  { return s.Stepper.Pause(time.Now(), name) }
func (s drivenStepper) Resume(name string) bool { return s.Stepper.Resume(time.Now(), name) }
func (s drivenStepper) AliveFor(name string, d time.Duration) bool {
	return s.Stepper.AliveFor(time.Now(), name, d)
}

func (s drivenStepper) run(d time.Duration) {
	for end := time.Now().Add(d); ; {
		for s.Step(s.t.Context(), time.Now()) {
		}
		next, found := s.Next(time.Now())
		// The bubble began at such a time. A sender waits for the next one.
		const slack = 100 * time.Millisecond
		next = next.Add(slack - 1).Truncate(slack)
		if !found || next.After(end) {
			time.Sleep(time.Until(end))
			return
		}
		time.Sleep(time.Until(next))
	}
}

// observed returns what an hour of heartbeats shows the API server. There are a
// pause, a failing API server, a status that changes, and a time that is over.
func observed(t *testing.T, drive func(t *testing.T, config Config) driven) []fleetCall {
	t.Helper()
	var calls []fleetCall
	synctest.Test(t, func(t *testing.T) {
		api, began := newFleetAPI(), time.Now()
		api.setMeddle(func(string, string) (time.Duration, error) {
			if since := time.Since(began); since >= 20*time.Minute && since < 25*time.Minute {
				return 0, errFleetAPI
			}
			return 0, nil
		})
		config := api.config()
		config.Rand = func() float64 { return 0.25 }
		var status changeable
		node := api.fleetNode("a")
		node.Status = status.status
		go func() {
			time.Sleep(40 * time.Minute)
			status.notReady.Store(true)
		}()
		h := drive(t, config)
		require.NoError(t, h.Add(node))
		h.run(8*time.Minute + 50*time.Millisecond)
		require.True(t, h.Pause("a"))
		h.run(4 * time.Minute)
		require.True(t, h.Resume("a"))
		h.run(36 * time.Minute)
		require.True(t, h.AliveFor("a", time.Minute))
		h.run(6 * time.Minute)
		require.True(t, h.AliveFor("a", time.Hour))
		h.run(6 * time.Minute)
		synctest.Wait()
		api.mu.Lock()
		defer api.mu.Unlock()
		for _, call := range api.calls {
			call.at = scheduleEpoch.Add(call.at.Sub(began))
			calls = append(calls, call)
		}
	})
	return calls
}

// A stepper that is asked at the times of a sender sends what that sends.
func TestAStepperSendsWhatASenderSends(t *testing.T) {
	want := observed(t, func(t *testing.T, config Config) driven { return drivenSender{runFleet(t, config)} })
	got := observed(t, func(t *testing.T, config Config) driven {
		s, err := NewStepper(config, time.Now())
		require.NoError(t, err)
		return drivenStepper{s, t}
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
	require.False(t, s.Pause(scheduleEpoch, "b"))
	require.False(t, s.Resume(scheduleEpoch, "b"))
	require.False(t, s.AliveFor(scheduleEpoch, "b", time.Minute))
	require.True(t, s.Remove("a"))
	require.False(t, s.Remove("a"))
	require.False(t, s.Step(t.Context(), scheduleEpoch), "nothing is sent of a node that was removed")
	require.Empty(t, api.count())
}
