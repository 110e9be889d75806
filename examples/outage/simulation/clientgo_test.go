package simulation

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// ailing is a lease on an API server that is ill for a time.
type ailing struct {
	from, to    time.Time
	latency     time.Duration
	failsReads  bool
	failsWrites bool

	record resourcelock.LeaderElectionRecord
	stored int
	known  int // the version that the client has
}

var errIll = errors.New("internal error")

// call waits for an answer, or as long as package process does for one.
func (a *ailing) call(fails bool, do func()) error {
	const timeout = 5 * time.Second
	ill := !time.Now().Before(a.from) && time.Now().Before(a.to)
	if !ill {
		do()
		return nil
	}
	if a.latency >= timeout {
		time.Sleep(timeout)
		do()
		return context.DeadlineExceeded
	}
	time.Sleep(a.latency)
	if fails {
		return errIll
	}
	do()
	return nil
}

func (a *ailing) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	var record resourcelock.LeaderElectionRecord
	var raw string
	err := a.call(a.failsReads, func() { record, raw = a.record, strconv.Itoa(a.stored) })
	if err != nil {
		return nil, nil, err
	}
	if raw == "0" {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "l")
	}
	a.known, _ = strconv.Atoi(raw)
	return &record, []byte(raw), nil
}

func (a *ailing) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return a.Update(ctx, r)
}

func (a *ailing) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	var conflict error
	err := a.call(a.failsWrites, func() {
		if a.known != a.stored {
			conflict = errIll
			return
		}
		a.stored++
		a.record = r
	})
	if err == nil && conflict == nil {
		a.known = a.stored
	}
	return errors.Join(err, conflict)
}

func (a *ailing) RecordEvent(string) {}
func (a *ailing) Identity() string   { return "us" }
func (a *ailing) Describe() string   { return "lease" }

// lostByClientGo returns when client-go's election has lost the lease, after
// the beginning of the illness, or -1.
func lostByClientGo(t *testing.T, a *ailing, lasts time.Duration) (lost time.Duration) {
	lost = -1
	synctest.Test(t, func(t *testing.T) {
		a.from = time.Now().Add(time.Minute)
		a.to = a.from.Add(lasts)
		ended := make(chan struct{})
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: a, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {},
				OnStoppedLeading: func() {
					if since := time.Since(a.from); since < lasts+30*time.Second {
						lost = since
					}
				},
			},
		})
		require.NoError(t, err)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute+lasts+time.Minute)
		defer stop()
		go func() {
			defer close(ended)
			elector.Run(ctx)
		}()
		<-ended
	})
	return lost
}

// The election of a simulated process is that of client-go: through the same
// illness of the API server, it loses the lease at the same time, or does not.
// Each renews at moments of its own, a retry period apart.
//
// Where the second request of a renewal times out in the moment in which the
// renewal's deadline ends, client-go sees either first, and may go on for
// another deadline. So it is asked several times.
func TestElectionIsThatOfClientGo(t *testing.T) {
	for name, c := range map[string]struct {
		ill   ailing
		lasts time.Duration
		step  scenario.Step
		loses bool
	}{
		"all fails, briefly": {
			ailing{failsReads: true, failsWrites: true}, 7 * time.Second,
			scenario.Step{APIErrors: &scenario.APIErrors{Share: 1, Codes: []int{500}}}, false,
		},
		"all fails": {
			ailing{failsReads: true, failsWrites: true}, time.Minute,
			scenario.Step{APIErrors: &scenario.APIErrors{Share: 1, Codes: []int{500}}}, true,
		},
		"writes fail": {
			ailing{failsWrites: true}, time.Minute, scenario.Step{ReadOnlyStore: &scenario.ReadOnlyStore{}}, true,
		},
		"slow": {
			ailing{latency: 4500 * time.Millisecond}, time.Minute, slowed(4500 * time.Millisecond), false,
		},
		"slow for too long": {
			ailing{latency: 7 * time.Second}, time.Minute, slowed(7 * time.Second), true,
		},
		"slow for too long, briefly": {
			ailing{latency: 7 * time.Second}, 5 * time.Second, slowed(7 * time.Second), false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lost []time.Duration
			for range 20 {
				ill := c.ill
				lost = append(lost, lostByClientGo(t, &ill, c.lasts))
			}
			require.Equal(t, c.loses, slices.Max(lost) >= 0, "%v", lost)
			require.Equal(t, c.loses, slices.Min(lost) >= 0, "%v", lost)
			step := c.step
			step.At, step.For = duration(5*time.Minute), duration(c.lasts)
			description := small(step)
			description.Controller.Replicas = 1
			s, err := New(description)
			require.NoError(t, err)
			e := &ends{world: s.World()}
			s.World().Watch(e)
			until(s, 5*time.Minute+c.lasts+10*time.Second)
			require.Equal(t, c.loses, len(e.at) > 0, "%v", e.why)
			if c.loses {
				simulated := e.at[0] - 5*time.Minute
				require.True(t, slices.ContainsFunc(lost, func(l time.Duration) bool {
					return (l - simulated).Abs() <= 2100*time.Millisecond
				}), "%v, want one of %v", simulated, lost)
			}
		})
	}
}

func slowed(latency time.Duration) scenario.Step {
	return scenario.Step{APILatency: &scenario.Range{Min: duration(latency), Max: duration(latency)}}
}
