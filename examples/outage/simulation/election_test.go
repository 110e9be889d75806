package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/model"
	"github.com/kubelife/lifecycle/examples/outage/scenario"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// ends is a witness that writes down when processes end, and why.
type ends struct {
	model.Unimpressed
	world *model.World
	at    []time.Duration
	why   []string
}

func (e *ends) Noted(n network.Note) {
	if n.Kind == network.Stopped {
		e.at, e.why = append(e.at, e.world.Elapsed()), append(e.why, n.Text)
	}
}

// A leader that cannot renew its lease has the retry period until it tries
// again. From then on it has the renew deadline, as in client-go: 12 s by
// default. That a call hangs for longer than that gives it no more.
func TestLeaderEndsWhenItsRenewalIsNotInTime(t *testing.T) {
	const fault = 5 * time.Minute
	for name, step := range map[string]scenario.Step{
		"the call fails": {APIDown: &scenario.APIDown{For: scenario.Controllers}},
		"the call hangs": {APILatency: &scenario.Range{Min: duration(35 * time.Second), Max: duration(35 * time.Second)}},
	} {
		step.At, step.For = duration(fault), duration(time.Minute)
		description := small(step)
		description.Controller.Replicas = 1
		s, err := New(description)
		require.NoError(t, err)
		e := &ends{world: s.World()}
		s.World().Watch(e)
		until(s, fault+20*time.Second)
		require.Equal(t, []string{"lost the leader's lease"}, e.why, name)
		require.InDelta(t, (fault + 11*time.Second).Seconds(), e.at[0].Seconds(), 1.2, name)
	}
}

// A process that renews in time, though its calls take long, goes on.
func TestLeaderGoesOnWhileItRenewsInTime(t *testing.T) {
	s, err := New(small(scenario.Step{
		At: duration(2 * time.Minute), For: duration(10 * time.Minute),
		APILatency: &scenario.Range{Min: duration(4500 * time.Millisecond), Max: duration(4900 * time.Millisecond)},
	}))
	require.NoError(t, err)
	e := &ends{world: s.World()}
	s.World().Watch(e)
	s.Run()
	require.Empty(t, e.why)
}
