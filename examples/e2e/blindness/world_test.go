package blindness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/witness"
)

func TestTheLastNodeOfEachZoneDiesAndTheOthersMixZones(t *testing.T) {
	nodes := []string{"b-1", "a-2", "a-0", "b-0", "a-1"}
	require.Equal(t, []string{"a-2", "b-1"}, doomed(nodes))
	require.Equal(t, []string{"a-0", "b-0", "a-1"}, lasting(nodes))
	require.Equal(t, []string{"b-1", "a-2", "a-0", "b-0", "a-1"}, nodes, "unchanged")
}

func TestAnOutageEndsWithTheFirstBeatThatIsStored(t *testing.T) {
	killed := time.Now()
	at := func(seconds int) time.Time { return killed.Add(time.Duration(seconds) * time.Second) }
	beats := []fleet.Beat{
		{Sent: at(-3), Acknowledged: at(-2)}, {Sent: at(-1), Acknowledged: at(1)},
		{Sent: at(64), Acknowledged: at(66)}, {Sent: at(61), Acknowledged: at(65)},
	}
	require.Equal(t, at(65), earliest(beats, killed, at(70)))
	require.Equal(t, at(63), earliest(beats, killed, at(63)), "it was ready before a beat")
}

func TestDeclarationsAreTheAuditLogsAndThoseThatOnlyTheWitnessSaw(t *testing.T) {
	at := func(seconds int) time.Time { return time.Date(2026, 6, 1, 12, 0, seconds, 0, time.UTC) }
	times := func(seconds ...int) []time.Time {
		var all []time.Time
		for _, s := range seconds {
			all = append(all, at(s))
		}
		return all
	}
	saw := func(seconds ...int) []witness.Sighting {
		var all []witness.Sighting
		for _, s := range seconds {
			all = append(all, witness.Sighting{At: at(s)})
		}
		return all
	}
	for name, test := range map[string]struct {
		writes []time.Time
		seen   []witness.Sighting
		want   []time.Time
	}{
		"nothing":                  {},
		"each was seen":            {times(1, 10), saw(2, 11), times(1, 10)},
		"an unseen write counts":   {times(10, 1), nil, times(1, 10)},
		"one sighting of two":      {times(1, 2), saw(3), times(1, 2)},
		"no write":                 {nil, saw(3), times(3)},
		"a second without a write": {times(1), saw(2, 9), times(1, 9)},
		"seen before the write":    {times(5), saw(2), times(5, 2)},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, test.want, declared(test.writes, test.seen)) })
	}
}
