package heartbeat

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// leaseNode is a node that has only a lease.
func leaseNode(name string) Node { return Node{Name: name, UID: "u"} }

// checks are those of a caller that checks each node every 5 s and then calls
// AliveFor with 15 s. A check that hangs ignores its context.
type checks struct {
	mu      sync.Mutex
	hanging map[string]chan struct{} // closed: it returns
}

func (c *checks) hang(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hanging[name] = make(chan struct{})
}

func (c *checks) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, hanging := range c.hanging {
		close(hanging)
	}
	clear(c.hanging)
}

// begin checks a node until ctx ends.
func (c *checks) begin(ctx context.Context, s *Sender, name string) {
	for ctx.Err() == nil {
		c.mu.Lock()
		hanging := c.hanging[name]
		c.mu.Unlock()
		if hanging != nil {
			<-hanging
		}
		s.AliveFor(name, 15*time.Second)
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
		}
	}
}

func TestH7AHungCheckSilencesItsNodeAndDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes, hung = 800, 100
		api := newFleetAPI()
		s := runFleet(t, Config{Leases: fleetLeases{api}})
		c := &checks{hanging: map[string]chan struct{}{}}
		var checking sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		hangs := func(i int) bool { return i%(nodes/hung) == 0 }
		for i := range nodes {
			name := fmt.Sprint("node-", i)
			require.NoError(t, s.Add(leaseNode(name)))
			checking.Go(func() { c.begin(ctx, s, name) })
		}
		time.Sleep(time.Minute)
		require.Zero(t, s.Silent())
		for i := range nodes {
			if hangs(i) {
				c.hang(fmt.Sprint("node-", i))
			}
		}
		start := time.Now()
		time.Sleep(2 * time.Minute)
		renewals := api.timesByNode("update lease")
		for i := range nodes {
			renewed := renewals[fmt.Sprint("node-", i)]
			last := renewed[len(renewed)-1]
			if hangs(i) {
				require.Less(t, last.Sub(start), 15*time.Second, "the last check came before its hanging")
				continue
			}
			for _, gap := range append(gaps(renewed), time.Since(last)) {
				require.LessOrEqual(t, gap, longestGap)
			}
		}
		require.Equal(t, hung, s.Silent())

		c.release()
		synctest.Wait()
		require.Zero(t, s.Silent())
		renewals = api.timesByNode("update lease")
		for i := range nodes {
			renewed := renewals[fmt.Sprint("node-", i)]
			if last := renewed[len(renewed)-1]; hangs(i) {
				require.Equal(t, time.Now(), last, "it beats as soon as its check has returned")
			}
		}
		time.Sleep(time.Minute)
		require.Zero(t, s.Silent())
		cancel()
		checking.Wait()
		time.Sleep(time.Minute)
		require.Equal(t, nodes, s.Silent(), "nothing is said of any node")
	})
}

func TestH7NothingIsSentOfAPausedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		counts := &fleetCounts{}
		config := api.config()
		config.Metrics = counts
		s := runFleet(t, config)
		require.NoError(t, s.Add(api.fleetNode("a")))
		require.NoError(t, s.Add(leaseNode("b")))
		time.Sleep(time.Minute)

		require.True(t, s.Pause("a"))
		require.Equal(t, 1, s.Silent(), "at once")
		renewed := api.lease("a").Spec.RenewTime
		api.forgetCalls()
		time.Sleep(10 * time.Minute)
		require.True(t, s.Changed("a"))
		require.True(t, s.Pause("a"))
		synctest.Wait()
		require.Equal(t, renewed, api.lease("a").Spec.RenewTime)
		require.Empty(t, api.nodeCalls(), "no status, neither for its period nor for Changed")
		require.Equal(t, 1, s.Silent())
		require.Equal(t, 1, counts.get("lease withheld"))
		require.Equal(t, 1, counts.get("status withheld"))
		require.Zero(t, counts.get("lease failed"))
		require.Greater(t, len(api.times("update lease", "b")), 55)

		// Meanwhile the node lifecycle controller has written what silence means.
		api.setNode(
			"a", func(node *corev1.Node) { node.Status.Conditions[0].Status = corev1.ConditionUnknown },
		)
		api.forgetCalls()
		back := time.Now()
		require.True(t, s.Resume("a"))
		require.Zero(t, s.Silent())
		synctest.Wait()
		require.Equal(t, back, api.lease("a").Spec.RenewTime.Time)
		ready := api.ready(t, "a")
		require.Equal(t, corev1.ConditionTrue, ready.Status)
		require.Equal(t, back.UTC(), ready.LastTransitionTime.UTC(), "it was Unknown before")
		require.Len(t, api.times("get node", "a"), 1, "the guard has refused what was computed before")
		time.Sleep(time.Minute)
		for _, gap := range append(gaps(api.times("update lease", "a")), time.Since(back)/6) {
			require.LessOrEqual(t, gap, longestGap)
		}
	})
}

func TestH7ResumeOfANodeThatBeatsAndOfNoneDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		s := runFleet(t, api.config())
		require.NoError(t, s.Add(api.fleetNode("a")))
		time.Sleep(time.Minute)
		api.forgetCalls()
		require.True(t, s.Resume("a"))
		require.True(t, s.AliveFor("a", time.Minute))
		require.True(t, s.AliveFor("a", time.Second))
		require.True(t, s.Resume("a"))
		synctest.Wait()
		require.Empty(t, api.nodeCalls())
		require.Zero(t, s.Silent())
		require.False(t, s.Pause("b"))
		require.False(t, s.Resume("b"))
		require.False(t, s.AliveFor("b", time.Minute))
		require.Zero(t, s.Silent())

		require.True(t, s.Pause("a"))
		api.forgetCalls()
		require.True(t, s.Resume("a"))
		synctest.Wait()
		require.Equal(t, map[string]int{"update lease": 1, "patch status": 1}, api.count(),
			"a pause, however short, ends with a heartbeat")
	})
}

func TestH7OfPauseResumeAndAliveForTheLastCounts(t *testing.T) {
	pause := func(s *Sender) { s.Pause("a") }
	resume := func(s *Sender) { s.Resume("a") }
	aliveFor := func(d time.Duration) func(*Sender) { return func(s *Sender) { s.AliveFor("a", d) } }
	const never = time.Hour
	for name, test := range map[string]struct {
		calls []func(*Sender) // a second apart
		lasts time.Duration   // from the last call until the node is silent
	}{
		"none":                        {nil, never},
		"a time":                      {[]func(*Sender){aliveFor(time.Minute)}, time.Minute},
		"a time of zero":              {[]func(*Sender){aliveFor(0)}, 0},
		"a negative time":             {[]func(*Sender){aliveFor(-time.Minute)}, 0},
		"the longest time":            {[]func(*Sender){aliveFor(1<<63 - 1)}, never},
		"a longer time":               {[]func(*Sender){aliveFor(time.Minute), aliveFor(time.Hour / 2)}, time.Hour / 2},
		"a shorter time":              {[]func(*Sender){aliveFor(time.Hour), aliveFor(time.Minute)}, time.Minute},
		"a pause after a time":        {[]func(*Sender){aliveFor(time.Hour), pause}, 0},
		"a time after a pause":        {[]func(*Sender){pause, aliveFor(time.Minute)}, time.Minute},
		"a resumption after a time":   {[]func(*Sender){aliveFor(time.Minute), resume}, never},
		"a resumption after a pause":  {[]func(*Sender){pause, resume}, never},
		"a resumption after its time": {[]func(*Sender){aliveFor(time.Millisecond), resume}, never},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newFleetAPI()
				s := runFleet(t, Config{Leases: fleetLeases{api}, LeaseDuration: 4 * time.Second})
				require.NoError(t, s.Add(leaseNode("a")))
				last := time.Now()
				for _, call := range test.calls {
					time.Sleep(time.Second)
					call(s)
					last = time.Now()
				}
				time.Sleep(test.lasts%never + 11*time.Minute)
				silent := map[bool]int{true: 1}[test.lasts != never]
				require.Equal(t, silent, s.Silent())
				beats := api.times("update lease", "a")
				latest := beats[len(beats)-1].Sub(last)
				if test.lasts == never {
					require.Greater(t, latest, 10*time.Minute)
					return
				}
				require.Less(t, latest, max(test.lasts, 1))
				require.Greater(t, latest, test.lasts-1100*time.Millisecond)
			})
		})
	}
}

func TestH7AHeartbeatThatIsUnderWayAtAPauseArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		api.setMeddle(func(string, string) (time.Duration, error) { return 3 * time.Second, nil })
		s := runFleet(t, Config{Leases: fleetLeases{api}})
		require.NoError(t, s.Add(leaseNode("a")))
		time.Sleep(4 * time.Second)
		require.True(t, s.Pause("a"))
		time.Sleep(time.Hour)
		require.Equal(t, map[string]int{"get lease": 1, "create lease": 1}, api.count())
		require.NotNil(t, api.lease("a"))

		require.True(t, s.Resume("a"))
		time.Sleep(time.Second)
		require.True(t, s.Pause("a"))
		require.True(t, s.Resume("a"))
		time.Sleep(4 * time.Second)
		require.Equal(t, 2, api.count()["update lease"], "the second follows the first at once")
		require.Equal(t, 1, api.atOnce("lease"))
	})
}

func TestH7ANewNodeOfTheNameOfASilentOneIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		s := runFleet(t, Config{Leases: fleetLeases{api}})
		require.NoError(t, s.Add(leaseNode("a")))
		require.True(t, s.Pause("a"))
		time.Sleep(time.Minute)
		require.True(t, s.Remove("a"))
		require.Zero(t, s.Silent())
		require.NoError(t, s.Add(leaseNode("a")))
		time.Sleep(time.Minute)
		require.Zero(t, s.Silent())
		require.Greater(t, len(api.times("update lease", "a")), 4)
	})
}

func TestH7NodesThatReturnTogetherAreSpreadFromThenOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		config := api.config()
		config.Rand = rand.New(rand.NewPCG(1, 2)).Float64
		// Fewer turns make this test short, as in that of nodes added together.
		config.LeaseDuration, config.StatusInterval = 400*time.Second, time.Hour
		s := runFleet(t, config)
		name := func(i int) string { return fmt.Sprint("node-", i) }
		for i := range 1000 {
			require.NoError(t, s.Add(api.fleetNode(name(i))))
		}
		time.Sleep(10 * time.Minute)
		for i := range 1000 {
			require.True(t, s.Pause(name(i)))
		}
		time.Sleep(time.Hour)
		require.Equal(t, 1000, s.Silent())
		api.forgetCalls()
		start := time.Now()
		for i := range 1000 {
			require.True(t, s.Resume(name(i)))
		}
		synctest.Wait()
		require.Len(t, api.times("update lease", ""), 1000, "all at once")
		require.Len(t, api.times("patch status", ""), 1000)
		require.Equal(t, start, time.Now())

		time.Sleep(10 * time.Minute)
		requireSpread(t, api.times("update lease", "")[1000:], start, 100*time.Second, 60, 140)
		reports := api.times("patch status", "")[1000:]
		requireSpread(t, reports, start.Add(150*time.Second), 300*time.Second, 60, 140)
	})
}

func TestH7AliveForAllocatesNothing(t *testing.T) {
	s, err := NewSender(Config{Leases: fleetLeases{newFleetAPI()}})
	require.NoError(t, err)
	for i := range 1000 {
		require.NoError(t, s.Add(leaseNode(fmt.Sprint("node-", i))))
	}
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		s.AliveFor("node-500", time.Minute)
		s.Pause("node-500")
		s.Resume("node-500")
	}))
}

// The cost of a caller's word about one of 10,000 nodes.
func BenchmarkH7AliveForAmong10000Nodes(b *testing.B) {
	s, err := NewSender(Config{Leases: fleetLeases{newFleetAPI()}})
	require.NoError(b, err)
	var names []string
	for i := range 10_000 {
		names = append(names, fmt.Sprint("node-", i))
		require.NoError(b, s.Add(leaseNode(names[i])))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.AliveFor(names[i%len(names)], time.Minute)
	}
}
