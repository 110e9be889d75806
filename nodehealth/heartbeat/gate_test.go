package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/timedqueue"
)

// gateSet counts the calls of many gates, and lets them hang.
type gateSet struct {
	mu      sync.Mutex
	hanging chan struct{} // closed: they do not hang any more
	ignore  bool          // they hang although their context has ended
	err     error         // what those return that do not hang
	calls   map[string]int
	under   map[string]int // calls under way
	most    int            // of all gates
}

func newGateSet() *gateSet {
	return &gateSet{calls: map[string]int{}, under: map[string]int{}}
}

func (g *gateSet) hang(ignoring bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hanging, g.ignore = make(chan struct{}), ignoring
}

func (g *gateSet) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.hanging)
	g.hanging = nil
}

func (g *gateSet) answer(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
}

func (g *gateSet) called(name string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls[name]
}

func (g *gateSet) mostUnder() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most
}

// gate returns the gate of one node, which fails the test when it is called
// twice at a time.
func (g *gateSet) gate(t *testing.T, name string) func(context.Context) error {
	return func(ctx context.Context) error {
		g.mu.Lock()
		g.calls[name]++
		g.under[name]++
		if g.under[name] > 1 {
			t.Errorf("the gate of %s is called twice at a time", name)
		}
		under := 0
		for _, n := range g.under {
			under += n
		}
		g.most = max(g.most, under)
		hanging, ignore, err := g.hanging, g.ignore, g.err
		g.mu.Unlock()
		defer func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.under[name]--
		}()
		switch {
		case hanging == nil:
			return err
		case ignore:
			<-hanging
			return nil // late
		}
		select {
		case <-hanging:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// leaseNode is a node that has only a lease, and this gate.
func leaseNode(name string, gate func(context.Context) error) Node {
	return Node{Name: name, UID: "u", Alive: gate}
}

// quiet silences the log of a test that withholds thousands of beats.
func quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, klog.Logger{}) }

// The numbers are those of the issue: 200 hanging gates of 1,600 nodes let
// every lease expire when gates and renewals had the same workers.
func TestH7HangingGatesDelayNoOtherRenewal(t *testing.T) {
	for _, ignoring := range []bool{false, true} {
		t.Run(fmt.Sprint("ignoring their context: ", ignoring), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const nodes, hanging = 800, 100
				api, healthy, ill := newFleetAPI(), newGateSet(), newGateSet()
				s := runFleet(t, Config{Leases: fleetLeases{api}})
				start := time.Now()
				hangs := func(i int) bool { return i%(nodes/hanging) == 0 }
				for i := range nodes {
					name, gates := fmt.Sprint("node-", i), healthy
					if hangs(i) {
						gates = ill
					}
					require.NoError(t, s.Add(leaseNode(name, gates.gate(t, name))))
				}
				time.Sleep(time.Minute)
				ill.hang(ignoring)
				time.Sleep(2 * time.Minute)
				renewals := api.timesByNode("update lease")
				for i := range nodes {
					renewed := renewals[fmt.Sprint("node-", i)]
					last := renewed[len(renewed)-1]
					if hangs(i) {
						require.Less(t, last.Sub(start), 100*time.Second, "GateMaxAge later it is silent")
						continue
					}
					for _, gap := range append(gaps(renewed), time.Since(last)) {
						require.LessOrEqual(t, gap, longestGap)
					}
				}
				require.Equal(t, hanging, s.Quarantined())

				ill.release()
				time.Sleep(13 * time.Second) // a backoff, and a call that hung until now
				require.Zero(t, s.Quarantined())
				for _, renewed := range api.timesByNode("update lease") {
					require.Less(t, time.Since(renewed[len(renewed)-1]), 13*time.Second)
				}
			})
		})
	}
}

func TestH7HangingGatesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, gateWorkers, quarantine, nodes = 2, 4, 6, 100
		api, gates := newFleetAPI(), newGateSet()
		before := runtime.NumGoroutine()
		s := runFleet(t, Config{
			Leases: fleetLeases{api}, Workers: workers,
			GateWorkers: gateWorkers, QuarantineWorkers: quarantine,
		})
		for i := range nodes {
			name := fmt.Sprint("node-", i)
			require.NoError(t, s.Add(leaseNode(name, gates.gate(t, name))))
		}
		time.Sleep(time.Minute)
		gates.hang(true)
		start := time.Now()
		time.Sleep(time.Minute)
		require.Equal(t, gateWorkers+quarantine, gates.mostUnder())
		// Run, its caller, and the workers of all kinds.
		require.LessOrEqual(t, runtime.NumGoroutine(), before+2*workers+gateWorkers+quarantine+2)
		require.Equal(t, gateWorkers+quarantine, s.Quarantined())

		// No gate can be called any more. The former answers count for GateMaxAge.
		latest := start
		for _, at := range api.times("update lease", "") {
			latest = at
		}
		require.Greater(t, latest.Sub(start), 30*time.Second)
		require.LessOrEqual(t, latest.Sub(start), 40*time.Second)

		gates.release()
		time.Sleep(30 * time.Second)
		require.Zero(t, s.Quarantined())
		for i := range nodes {
			renewed := api.times("update lease", fmt.Sprint("node-", i))
			require.Less(t, time.Since(renewed[len(renewed)-1]), 11*time.Second)
		}
	})
}

func TestH7AGateInQuarantineIsNotCalledBeforeItHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, gates := newFleetAPI(), newGateSet()
		counts := &fleetCounts{}
		config := api.config()
		config.Metrics = counts
		s := runFleet(t, config)
		node := api.fleetNode("a")
		node.Alive = gates.gate(t, "a")
		require.NoError(t, s.Add(node))
		time.Sleep(time.Minute)

		gates.hang(true)
		time.Sleep(20 * time.Second)
		called := gates.called("a")
		api.forgetCalls()
		time.Sleep(time.Hour)
		require.True(t, s.Changed("a"))
		time.Sleep(time.Minute)
		require.Equal(t, called, gates.called("a"))
		require.Empty(t, api.count())
		require.Greater(t, counts.get("lease withheld"), 300)
		require.Greater(t, counts.get("status withheld"), 300)

		gates.release() // its answer is nil, an hour late
		gates.answer(errFleetAPI)
		synctest.Wait()
		require.Empty(t, api.count(), "a late answer counts for nothing")
		require.Equal(t, 1, s.Quarantined())
		time.Sleep(time.Second)
		require.Greater(t, gates.called("a"), called)
		require.Zero(t, s.Quarantined(), "shut, but in time")

		gates.answer(nil)
		time.Sleep(10 * time.Second)
		require.Positive(t, api.count()["update lease"])
		require.Equal(t, 1, api.count()["patch status"], "it was silent, so it reports")
	})
}

func TestH7AGateThatHangsAgainAndAgainIsCalledLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, gates := newFleetAPI(), newGateSet()
		s := runFleet(t, Config{Leases: fleetLeases{api}, Rand: func() float64 { return 0.5 }})
		require.NoError(t, s.Add(leaseNode("a", gates.gate(t, "a"))))
		time.Sleep(time.Minute)
		gates.hang(false)
		time.Sleep(time.Minute)
		called := gates.called("a")
		time.Sleep(10 * time.Minute)
		// 2.5 s until the timeout, and three quarters of the interval.
		require.InDelta(t, 60, gates.called("a")-called, 1)

		gates.release()
		called = gates.called("a")
		require.True(t, s.Changed("a"), "which does not wait for the backoff")
		synctest.Wait()
		require.Zero(t, s.Quarantined())
		require.GreaterOrEqual(t, gates.called("a"), called)
		renewed := api.times("update lease", "a")
		require.Equal(t, time.Now(), renewed[len(renewed)-1])
	})
}

// A worker that hangs does not delay what other gates say.
func TestH7GatesInQuarantineDelayNoOtherGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, healthy, ill := newFleetAPI(), newGateSet(), newGateSet()
		s := runFleet(t, Config{Leases: fleetLeases{api}, GateWorkers: 1})
		ill.hang(false)
		for i := range 50 {
			name := fmt.Sprint("ill-", i)
			require.NoError(t, s.Add(leaseNode(name, ill.gate(t, name))))
		}
		require.NoError(t, s.Add(leaseNode("a", healthy.gate(t, "a"))))
		time.Sleep(5 * time.Minute) // each has hung once
		require.Equal(t, 50, s.Quarantined())
		healthy.answer(errors.New("no power"))
		api.forgetCalls()
		time.Sleep(10 * time.Minute)
		require.Empty(t, api.count(), "the gate is called right before each renewal")
		healthy.answer(nil)
		time.Sleep(10 * time.Second)
		require.NotEmpty(t, api.count())
	})
}

func TestH7RunReturnsAlthoughGatesHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, gates := newFleetAPI(), newGateSet()
		s, err := NewSender(Config{Leases: fleetLeases{api}, GateTimeout: time.Hour})
		require.NoError(t, err)
		gates.hang(false)
		for i := range 100 {
			name := fmt.Sprint("node-", i)
			require.NoError(t, s.Add(leaseNode(name, gates.gate(t, name))))
		}
		ctx, cancel := context.WithTimeout(quiet(t.Context()), time.Minute)
		defer cancel()
		start := time.Now()
		require.NoError(t, s.Run(ctx))
		require.Equal(t, time.Minute, time.Since(start))

		gates.release()
		ctx, cancel = context.WithTimeout(quiet(t.Context()), time.Minute)
		defer cancel()
		require.NoError(t, s.Run(ctx))
		for i := range 100 {
			require.NotEmpty(t, api.times("update lease", fmt.Sprint("node-", i)), "it can run again")
		}
	})
}

func TestH7ANewNodeOfTheNameHasAGateOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, former, gates := newFleetAPI(), newGateSet(), newGateSet()
		s := runFleet(t, Config{Leases: fleetLeases{api}})
		former.hang(true)
		require.NoError(t, s.Add(leaseNode("a", former.gate(t, "a"))))
		time.Sleep(time.Minute)
		require.Equal(t, 1, s.Quarantined())
		require.True(t, s.Remove("a"))
		require.Zero(t, s.Quarantined())
		require.NoError(t, s.Add(leaseNode("a", gates.gate(t, "a"))))
		time.Sleep(time.Minute)
		require.Greater(t, len(api.times("update lease", "a")), 4)
		former.release()
		time.Sleep(time.Minute)
		require.Equal(t, 1, former.called("a"))
		require.Greater(t, len(api.times("update lease", "a")), 9)
	})
}

func TestQ11AGateThatPanicsEndsRunAndOneThatExitsIsShut(t *testing.T) {
	for name, breaks := range map[string]func(){
		"panics": func() { panic("broken") },
		"exits":  runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newFleetAPI()
				s, err := NewSender(Config{Leases: fleetLeases{api}})
				require.NoError(t, err)
				calls, broken := 0, true
				require.NoError(t, s.Add(leaseNode("a", func(context.Context) error {
					calls++
					if broken {
						breaks()
					}
					return nil
				})))
				ctx, cancel := context.WithTimeout(quiet(t.Context()), time.Minute)
				defer cancel()
				err = s.Run(ctx)
				require.Equal(t, name == "panics", errors.Is(err, timedqueue.ErrPanic))
				require.Less(t, calls, 20, "it backs off")
				require.Empty(t, api.count())
				broken = false
				ctx, cancel = context.WithTimeout(quiet(t.Context()), time.Minute)
				defer cancel()
				require.NoError(t, s.Run(ctx))
				require.Greater(t, api.count()["update lease"], 3)
			})
		})
	}
}
