package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

func TestH7RunReturnsOnlyWhenAllHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		h, err := NewSender(api.config())
		require.NoError(t, err)
		node := api.fleetNode("a")
		stopped := 0
		node.Status = func(ctx context.Context) (corev1.NodeStatus, error) {
			<-ctx.Done()
			time.Sleep(3 * time.Second) // slow to notice
			stopped++
			return corev1.NodeStatus{}, ctx.Err()
		}
		require.NoError(t, h.Add(node))

		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Run(ctx) }()
		synctest.Wait()
		require.ErrorIs(t, h.Run(ctx), ErrRunning)
		cancel()
		start := time.Now()
		require.NoError(t, <-ended)
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Equal(t, 1, stopped)

		api.forgetCalls()
		time.Sleep(time.Hour)
		require.Empty(t, api.count(), "nothing after Run")

		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, h.Run(ctx), "it can run again")
		require.Greater(t, api.count()["update lease"], 5)
	})
}

func TestH7ABeatThatRunsEndHasBrokenOffIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		counts := &fleetCounts{}
		config := api.config()
		config.Metrics = counts
		h, err := NewSender(config)
		require.NoError(t, err)
		api.setMeddle(func(string, string) (time.Duration, error) { return hang, nil })
		require.NoError(t, h.Add(api.fleetNode("a")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, h.Run(ctx))
		require.Empty(t, counts.counts)
	})
}

// A node's own function may panic, which ends Run, or exit, which is a failure.
// Neither loses the node.
func TestQ11AStatusThatPanicsEndsRunAndOneThatExitsHasFailed(t *testing.T) {
	for name, breaks := range map[string]func(){
		"panics": func() { panic("broken") },
		"exits":  runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newFleetAPI()
				h, err := NewSender(api.config())
				require.NoError(t, err)
				node, broken, calls := api.fleetNode("a"), true, 0
				report := node.Status
				node.Status = func(ctx context.Context) (corev1.NodeStatus, error) {
					calls++
					if broken {
						breaks()
					}
					return report(ctx)
				}
				require.NoError(t, h.Add(node))
				ctx, cancel := context.WithTimeout(quiet(t.Context()), time.Minute)
				defer cancel()
				err = h.Run(ctx)
				require.Equal(t, name == "panics", errors.Is(err, timedqueue.ErrPanic))
				require.Less(t, calls, 20, "it backs off")
				require.True(t, h.known("a"))
				require.Zero(t, api.count()["patch status"])
				broken = false
				ctx, cancel = context.WithTimeout(quiet(t.Context()), time.Minute)
				defer cancel()
				require.NoError(t, h.Run(ctx), "it can run again")
				require.Positive(t, api.count()["patch status"])
			})
		})
	}
}

func TestH7NewStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		h, err := NewSender(api.config())
		require.NoError(t, err)
		require.NoError(t, h.Add(api.fleetNode("a")))
		time.Sleep(time.Hour) // synctest would notice a goroutine that stays
		require.Empty(t, api.count())
	})
}

func TestH7RemoveSilencesANodeAndLeavesItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		h := runFleet(t, api.config())
		require.NoError(t, h.Add(api.fleetNode("a")))
		require.NoError(t, h.Add(api.fleetNode("b")))
		time.Sleep(time.Minute)

		require.True(t, h.Remove("a"))
		require.False(t, h.Remove("a"))
		require.False(t, h.Changed("a"))
		api.forgetCalls()
		time.Sleep(time.Hour)
		require.Empty(t, api.times("update lease", "a"))
		require.Empty(t, api.times("patch status", "a"))
		require.NotEmpty(t, api.times("update lease", "b"))
		require.NotNil(t, api.lease("a"))
	})
}

func TestH7RemoveDuringABeatAndANewNodeOfTheName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		api.setMeddle(func(string, string) (time.Duration, error) { return 4 * time.Second, nil })
		h := runFleet(t, api.config())
		old := api.fleetNode("a")
		require.NoError(t, h.Add(old))
		time.Sleep(time.Second) // both beats of the old node are under way

		require.True(t, h.Remove("a"))
		api.setNode("a", func(node *corev1.Node) { node.UID = "second" })
		second := old
		second.UID = "second"
		require.NoError(t, h.Add(second))
		time.Sleep(time.Minute)

		require.LessOrEqual(t, api.atOnce("lease"), 1, "the new node waits for the old one's beat")
		require.LessOrEqual(t, api.atOnce("node"), 1)
		require.Len(t, api.times("create lease", "a"), 1)
		require.Equal(t, types.UID("second"), api.lease("a").OwnerReferences[0].UID)
		require.Equal(t, corev1.ConditionTrue, api.ready(t, "a").Status)
		require.Greater(t, len(api.times("update lease", "a")), 3)
		require.False(t, h.known("b"))
		require.True(t, h.Remove("a"))
		require.False(t, h.known("a"))
	})
}

func TestSenderMethodsAreSafeForConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		h := runFleet(t, api.config())
		var callers sync.WaitGroup
		for caller := range 4 {
			callers.Go(func() {
				for i := range 200 {
					name := fmt.Sprint(caller, "-", i%7)
					if err := h.Add(api.fleetNode(name)); err != nil {
						t.Error(err)
					}
					switch i % 5 {
					case 0:
						h.Changed(name)
					case 1:
						h.Pause(name)
					case 2:
						h.Pause(name)
						h.Resume(name)
					case 3:
						h.AliveFor(name, time.Second/2)
					case 4:
						h.Silent()
					}
					time.Sleep(time.Second)
					h.Remove(name)
				}
			})
		}
		callers.Wait()
		require.Zero(t, h.Silent())
		api.forgetCalls()
		time.Sleep(time.Minute)
		require.Empty(t, api.count())
	})
}

// known tells whether the schedule still has the node.
func (s *Sender) known(name string) (known bool) {
	s.dispatcher.View(func() { _, known = s.schedule.get(name) })
	return known
}

func TestSenderAddRefusesWhatCannotWork(t *testing.T) {
	api := newFleetAPI()
	both, err := NewSender(api.config())
	require.NoError(t, err)
	noLeases, err := NewSender(Config{Nodes: fleetNodes{api}})
	require.NoError(t, err)
	noStatus, err := NewSender(Config{Leases: fleetLeases{api}})
	require.NoError(t, err)

	full := api.fleetNode("a")
	leaseOnly := Node{Name: "b", UID: "b"}
	require.NoError(t, both.Add(full))
	require.NoError(t, both.Add(leaseOnly))
	require.ErrorIs(t, both.Add(full), ErrDuplicateNode)
	require.ErrorIs(t, both.Add(leaseOnly), ErrDuplicateNode)
	require.ErrorIs(t, both.Add(Node{UID: "x"}), ErrInvalidConfig)
	require.ErrorIs(t, both.Add(Node{Name: "x"}), ErrInvalidConfig)
	require.NoError(t, noLeases.Add(full))
	require.ErrorIs(t, noLeases.Add(leaseOnly), ErrInvalidConfig)
	require.NoError(t, noStatus.Add(leaseOnly))
	require.ErrorIs(t, noStatus.Add(full), ErrInvalidConfig)
}

func TestSenderConfigValidate(t *testing.T) {
	leases := fleetLeases{newFleetAPI()}
	for name, config := range map[string]Config{
		"no clients":           {},
		"negative duration":    {Leases: leases, LeaseDuration: -1},
		"negative interval":    {Leases: leases, RenewInterval: -1},
		"negative check":       {Leases: leases, StatusInterval: -1},
		"negative period":      {Leases: leases, ReportInterval: -1},
		"negative timeout":     {Leases: leases, Timeout: -1},
		"renewed too seldom":   {Leases: leases, RenewInterval: 40 * time.Second},
		"too long for a lease": {Leases: leases, LeaseDuration: math.MaxInt64},
		"negative jitter":      {Leases: leases, Jitter: -0.1},
		"jitter above one":     {Leases: leases, Jitter: 1.1},
		"jitter not a number":  {Leases: leases, Jitter: math.NaN()},
		"negative workers":     {Leases: leases, Workers: -1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewSender(config)
			require.ErrorIs(t, err, ErrInvalidConfig)
		})
	}
	require.NoError(t, Config{Leases: leases}.Validate())
	err := Config{Jitter: 2, Workers: -1}.Validate()
	for _, field := range []string{"Config.Leases", "Config.Jitter is 2", "Config.Workers is -1"} {
		require.ErrorContains(t, err, field, "all problems are reported")
	}
}

func TestH7DefaultsAreTheKubelets(t *testing.T) {
	config := Config{}.withDefaults()
	require.Equal(t, 40*time.Second, config.LeaseDuration)
	require.Equal(t, 10*time.Second, config.RenewInterval)
	require.Equal(t, 10*time.Second, config.StatusInterval)
	require.Equal(t, 5*time.Minute, config.ReportInterval)
	require.InDelta(t, 0.04, config.Jitter, 0)
	require.Equal(t, 10*time.Second, config.Timeout)

	config = Config{LeaseDuration: 8 * time.Second, Timeout: time.Second}.withDefaults()
	require.Equal(t, 2*time.Second, config.RenewInterval)
	require.Equal(t, time.Second, config.Timeout)
}
