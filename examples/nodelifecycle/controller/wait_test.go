package controller

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/zone"
)

// reasons are why nodes wait, by name.
func (w *world) reasons() map[string]WaitReason {
	all := map[string]WaitReason{}
	for _, wait := range w.c.NodeWaits(w.now, 0, len(w.c.objects.ordered)) {
		all[wait.Node] = wait.Reason
	}
	return all
}

// delayed are the Events about nodes that wait, by name.
func (w *world) delayed() map[string][]string {
	all := map[string][]string{}
	for _, record := range deeds[Record](w) {
		if record.Reason == ReasonEvictionDelayed {
			require.Equal(w.t, corev1.EventTypeWarning, record.Type)
			all[record.Object.Name] = append(all[record.Object.Name], record.Message)
		}
	}
	return all
}

// failing makes the actions of one type fail.
func failing[T any](w *world) {
	w.fail = func(task any) error {
		if is[T](task) {
			return errServer
		}
		return nil
	}
}

// smallZone is a world whose zone a of four nodes has lost three of them.
func smallZone(t *testing.T) *world {
	w := newWorld(t, Config{Zone: zone.Config{Rate: zone.DefaultRates().Rate}})
	w.addNodes(4, "a")
	w.addNodes(4, "b")
	w.start()
	w.advance(grace + interval)
	w.done = nil
	w.silent["a-000"], w.silent["a-001"], w.silent["a-002"] = true, true, true
	return w
}

// Three of four nodes die. Their zone is partially disrupted and small, so its
// rate is zero. That is why none is tainted, and an Event about each says so
// after a grace period, and again while it lasts.
func TestAZoneWithoutARateIsTheReasonOfItsNodes(t *testing.T) {
	w := smallZone(t)
	w.advance(grace + interval)
	names := []string{"a-000", "a-001", "a-002"}
	require.Equal(t, map[string]WaitReason{"a-000": WaitRate, "a-001": WaitRate, "a-002": WaitRate}, w.reasons())
	require.Empty(t, w.delayed())
	fell := w.c.NodeWaits(w.now, 0, 1)[0]
	require.Equal(t, zone.ByTopology(w.nodes["a-000"]), fell.Zone)
	require.WithinDuration(t, w.now, fell.Since, 2*interval)

	w.advance(grace)
	for _, name := range names {
		require.Equal(t, []string{"Node " + name + " is silent or not ready, and its pods are not evicted: the rate of " +
			`its zone is zero. Zone ":\x00:a" is in state PartialDisruption with 1 of 4 nodes ready: 0 nodes a second, 3 waiting.`},
			w.delayed()[name])
	}
	require.Len(t, w.delayed(), 3)
	w.advance(time.Hour)
	require.Len(t, w.delayed()["a-000"], 4)
	w.back(names...)
	w.advance(time.Hour)
	require.Empty(t, w.reasons())
	require.Len(t, w.delayed()["a-000"], 4)
}

// Each reason is shown while it holds.
func TestEachNodeThatWaitsHasItsReason(t *testing.T) {
	dead := func(w *world) { w.silent["a-000"] = true }
	declared := func(w *world) {
		dead(w)
		w.run(grace - interval/2)
	}
	tests := map[WaitReason]struct {
		config func(*Config)
		do     func(*world)
	}{
		WaitUnconfirmed: {do: func(w *world) {
			dead(w)
			for len(w.c.silences.reads.suspects) == 0 {
				w.now = w.now.Add(time.Second)
				w.c.Answered(w.now, w.now)
				w.c.prepare(w.now)
			}
		}},
		WaitUnread: {do: func(w *world) {
			dead(w)
			failing[LeaseRead](w)
			w.run(grace + interval)
		}},
		WaitFailing: {do: func(w *world) {
			dead(w)
			failing[Declaration](w)
			w.run(grace + interval)
		}},
		WaitRequests: {
			config: func(c *Config) { c.Requests = RequestBudget{PerSecond: 0.01, Burst: 1} },
			do: func(w *world) {
				dead(w)
				w.run(grace + interval)
			},
		},
		WaitTurn: {do: declared},
		WaitRate: {
			config: func(c *Config) { c.Zone.Rate = func(zone.State, zone.Counts) float64 { return 0 } },
			do:     declared,
		},
		WaitTimeout: {
			config: func(c *Config) { c.EvictionMode, c.PodEvictionTimeout = EvictionModeNode, time.Hour },
			do: func(w *world) {
				declared(w)
				w.run(interval)
			},
		},
		WaitHalted: {do: func(w *world) {
			w.c.Halt(w.now)
			declared(w)
			w.run(interval)
		}},
		WaitHeard: {do: func(w *world) {
			declared(w)
			w.renew("a-000")
		}},
		WaitWatch: {do: func(w *world) {
			declared(w)
			w.renew("a-000")
			w.blind = true // its next heartbeat is on the API server alone
			w.stamp(&w.leases["a-000"].ObjectMeta)
			for _, name := range w.names() {
				w.next[name] = w.now.Add(time.Hour)
			}
			for w.c.Refuted() == 0 {
				w.run(time.Second)
			}
		}},
		WaitBlind: {do: func(w *world) {
			declared(w)
			w.now = w.now.Add(2 * sightTimeout)
			w.jobs.Start(w.now)
		}},
		WaitRecovering: {do: func(w *world) {
			declared(w)
			w.c.Lead(w.now)
			w.jobs.Start(w.now)
		}},
		WaitPaused: {
			config: func(c *Config) { c.Zone.Phase = pausedBelow(1) },
			do:     declared,
		},
		WaitSuspended: {do: func(w *world) {
			for _, name := range w.names() {
				w.silent[name] = true
			}
			w.run(grace + 2*interval)
		}},
		WaitHolding: {do: func(w *world) {
			w.c.Halt(w.now)
			declared(w)
			for _, name := range w.names() {
				w.silent[name] = true
			}
			failing[LeaseRead](w)
			w.run(grace + 2*interval)
			w.c.Resume(w.now)
		}},
	}
	require.ElementsMatch(t, WaitReasons(), slices.Collect(maps.Keys(tests)))
	for name, test := range tests {
		t.Run(string(name), func(t *testing.T) {
			config := Config{Health: nodehealth.Config{SightTimeout: sightTimeout}}
			if test.config != nil {
				test.config(&config)
			}
			w := newWorld(t, config)
			w.addNodes(5, "a")
			w.addNodes(5, "b")
			w.start()
			w.run(grace + interval)
			test.do(w)
			require.Equal(t, name, w.reasons()["a-000"])
			require.NotEmpty(t, name.String())
		})
	}
}

// Whatever happens, a node has a reason exactly if it is silent or not ready,
// and is not acted on. The reason is one of those that there are, and once all
// nodes beat and the API server answers there is none.
func TestANodeThatIsNotActedOnHasAReasonWhateverHappens(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"as it is":         func(*Config) {},
		"unconfirmed":      func(c *Config) { c.DeclareUnconfirmed = true },
		"recovery period":  func(c *Config) { c.Health.RecoveryPeriod = 25 * time.Second },
		"small zones":      func(c *Config) { c.Zone.Rate = zone.DefaultRates().Rate },
		"pauses":           func(c *Config) { c.Zone.Phase = pausedBelow(0.5) },
		"few requests":     func(c *Config) { c.Requests = RequestBudget{PerSecond: 1, Burst: 2} },
		"eviction by node": func(c *Config) { c.EvictionMode, c.PodEvictionTimeout = EvictionModeNode, time.Minute },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 10 {
				seed := rand.Uint64()
				config := Config{Health: nodehealth.Config{SightTimeout: sightTimeout}}
				change(&config)
				w := newWorld(t, config)
				w.addNodes(4, "a")
				w.addNodes(4, "b")
				w.addNodes(2, "c")
				w.start()
				random := rand.New(rand.NewPCG(seed, 11))
				for range 400 {
					w.disturb(random)
					switch random.IntN(20) {
					case 0:
						w.c.Halt(w.now)
					case 1:
						w.c.Resume(w.now)
					case 2:
						w.remark(w.names()[random.IntN(len(w.nodes))])
					}
					w.requireReasons(seed)
				}
				w.c.Resume(w.now)
				w.heal()
				w.run(5 * time.Minute) // damped recoveries
				require.Empty(t, w.reasons(), "seed %d", seed)
			}
		})
	}
}

// requireReasons compares the reasons with the nodes one by one.
func (w *world) requireReasons(seed uint64) {
	w.t.Helper()
	reasons := w.reasons()
	for name, n := range w.c.objects.nodes {
		silent := w.c.silences.health.Silent(name) && !w.c.silences.health.Returning(name)
		ready := nodehealth.ReadyStatus(n.object)
		acted := hasNoExecute(n.object.Spec.Taints)
		if w.config.EvictionMode == EvictionModeNode {
			acted = n.emptied
		}
		reason, waits := reasons[name]
		require.Equal(w.t, (silent || ready != "" && ready != corev1.ConditionTrue) && !acted, waits,
			"seed %d: %s", seed, name)
		if waits {
			require.NotEmpty(w.t, reason.String(), "seed %d: %s waits for %q", seed, name, string(reason))
		}
	}
}

// A node that cannot be declared has an Event, too: its record still says that
// it is ready.
func TestANodeThatCannotBeDeclaredIsToldOf(t *testing.T) {
	w := withSight(t)
	w.silent["a-000"] = true
	failing[Declaration](w)
	w.run(2*grace + interval)
	require.Equal(t, corev1.ConditionTrue, nodehealth.ReadyStatus(w.nodes["a-000"]))
	require.Len(t, w.delayed()["a-000"], 1)
	require.Contains(t, w.delayed()["a-000"][0], ": writes to it fail, or are set back by another client. Zone")
	require.Len(t, w.delayed(), 1)
}

// A node whose declaration a kubelet takes back, without a heartbeat, is still
// silent, and says that it is ready.
func TestANodeWhoseDeclarationIsTakenBackHasAReason(t *testing.T) {
	w := withSight(t)
	w.silent["a-000"] = true
	w.run(grace - interval/2)
	w.remark("a-000")
	require.Equal(t, map[string]WaitReason{"a-000": WaitFailing}, w.reasons())
}

// However many nodes wait, one Event a second is recorded about them. What
// holds all nodes is in no Event about a node.
func TestEventsAboutNodesThatWaitAreBounded(t *testing.T) {
	const size = 200
	w := newWorld(t, Config{Zone: zone.Config{Rate: func(zone.State, zone.Counts) float64 { return 0 }}})
	names := w.addNodes(size, "a")
	w.addNode("ready", "a")
	w.start()
	w.advance(grace + interval)
	w.ill(names...)
	w.done = nil
	began := w.now
	w.advance(grace)
	for range 2 * grace / time.Second {
		w.advance(time.Second)
		told := len(w.delayed())
		require.LessOrEqual(t, told, toldAtOnce+int(w.now.Sub(began.Add(grace))/time.Second))
		require.GreaterOrEqual(t, told, toldAtOnce)
	}
	w.advance(size * time.Second)
	require.Len(t, w.delayed(), size)

	w.done = nil
	w.silent["ready"] = true
	w.advance(time.Hour)
	require.Equal(t, map[string]WaitReason{"ready": WaitSuspended, "a-000": WaitSuspended},
		map[string]WaitReason{"ready": w.reasons()["ready"], "a-000": w.reasons()["a-000"]})
	require.Empty(t, w.delayed())
}

// C3: to look at the nodes of one turn takes no more than a turn may.
func BenchmarkNodeWaits(b *testing.B) {
	now := time.Now()
	c, err := New(Config{}, now)
	require.NoError(b, err)
	for i := range 2000 {
		c.ObserveNode(now, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: strconv.Itoa(i), UID: types.UID(strconv.Itoa(i))},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionFalse},
			}},
		})
	}
	for b.Loop() {
		require.Len(b, c.NodeWaits(now, 0, 2000), 2000)
	}
}
