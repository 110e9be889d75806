package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// alone is one process without an election, and three nodes that are silent
// from two minutes on. Their pods tolerate that for five minutes.
func alone(steps ...scenario.Step) *scenario.Scenario {
	s := small(append([]scenario.Step{{
		At: duration(2 * time.Minute), Silence: &scenario.Nodes{Zone: "a"},
	}}, steps...)...)
	tolerated := int64(300)
	s.Cluster.Workloads[0].TolerationSeconds = &tolerated
	s.Controller = scenario.Controller{Replicas: 1, Flags: map[string]scenario.FlagValue{"leader-elect": "false"}}
	return s
}

// The nodes are tainted after 40 s and some, so their pods are due soon after
// 7:40. The machine sleeps from 4:00 to 14:00. A leader ends when it wakes, as
// its lease has ended, and the next process evicts as soon as it leads.
// Without an election the process goes on, and evicts late by ten minutes.
func TestE2SuspendedProcessEvicts(t *testing.T) {
	for elects, want := range map[string]struct{ from, to time.Duration }{
		"true":  {14 * time.Minute, 15 * time.Minute},
		"false": {17*time.Minute + 40*time.Second, 18*time.Minute + 20*time.Second},
	} {
		t.Run("leader-elect="+elects, func(t *testing.T) {
			description := alone(scenario.Step{
				At: duration(4 * time.Minute), For: duration(10 * time.Minute), Suspend: &scenario.Process{},
			})
			description.Controller.Flags["leader-elect"] = scenario.FlagValue(elects)
			s, err := New(description)
			require.NoError(t, err)
			judge, d := s.Judge(), newDiary(s)
			s.Run()
			require.NotEmpty(t, d.evicted)
			for pod, at := range d.evicted {
				require.GreaterOrEqual(t, at, want.from, pod)
				require.LessOrEqual(t, at, want.to, pod)
			}
			require.Empty(t, judge.Violations())
		})
	}
}

// The timeout of a node that is emptied is like a toleration. The nodes are not
// ready after 2:40 and some, and their pods are due 5 minutes later. The machine
// sleeps from 4:00 to 9:00. The zone's rate empties a node each second.
func TestE2SuspendedProcessEmptiesNodes(t *testing.T) {
	for elects, want := range map[string]struct{ from, to time.Duration }{
		"true":  {9 * time.Minute, 10*time.Minute + 20*time.Second},
		"false": {12*time.Minute + 40*time.Second, 13 * time.Minute},
	} {
		t.Run("leader-elect="+elects, func(t *testing.T) {
			description := alone(scenario.Step{
				At: duration(4 * time.Minute), For: duration(5 * time.Minute), Suspend: &scenario.Process{},
			})
			flags := description.Controller.Flags
			flags["eviction-mode"], flags["pod-eviction-timeout"], flags["node-eviction-rate"] = "node", "5m", "1"
			flags["leader-elect"] = scenario.FlagValue(elects)
			s, err := New(description)
			require.NoError(t, err)
			judge, d := s.Judge(), newDiary(s)
			s.Run()
			require.NotEmpty(t, d.evicted)
			for pod, at := range d.evicted {
				require.GreaterOrEqual(t, at, want.from, pod)
				require.LessOrEqual(t, at, want.to, pod)
			}
			require.Empty(t, judge.Violations())
		})
	}
}

// A clock that is set wrong and right again makes nothing early or late: the
// API server does not agree with it.
func TestE2StepOfTheClockOfAProcessMovesNoEviction(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		s, err := New(alone(scenario.Step{
			At: duration(4 * time.Minute), For: duration(time.Minute),
			ControllerClock: &scenario.ControllerClock{By: duration(by)},
		}, scenario.Step{
			At: duration(6 * time.Minute), ControllerClock: &scenario.ControllerClock{By: duration(by)},
		}))
		require.NoError(t, err)
		d := newDiary(s)
		s.Run()
		require.NotEmpty(t, d.evicted)
		for pod, at := range d.evicted {
			require.GreaterOrEqual(t, at, 7*time.Minute+40*time.Second, pod)
			// Beats are 10 s apart, and the zone's rate taints a node each 10 s.
			require.LessOrEqual(t, at, 8*time.Minute+20*time.Second, pod)
		}
	}
}
