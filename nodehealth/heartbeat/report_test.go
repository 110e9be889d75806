package heartbeat

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// changeable is a status whose Ready condition a test changes.
type changeable struct{ notReady atomic.Bool }

func (c *changeable) status(context.Context) (corev1.NodeStatus, error) {
	if c.notReady.Load() {
		return readyStatus(corev1.ConditionFalse), nil
	}
	return readyStatus(corev1.ConditionTrue), nil
}

func TestH7AChangedStatusIsReportedAtTheNextCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		h := runFleet(t, api.config())
		var status changeable
		node := api.fleetNode("a")
		node.Status = status.status
		require.NoError(t, h.Add(node))
		time.Sleep(time.Minute)

		status.notReady.Store(true)
		api.forgetCalls()
		changed := time.Now()
		time.Sleep(longestGap)
		require.Len(t, api.times("patch status", "a"), 1)
		ready := api.ready(t, "a")
		require.Equal(t, corev1.ConditionFalse, ready.Status)
		require.WithinDuration(t, changed, ready.LastTransitionTime.Time, 11*time.Second)
	})
}

func TestH7ChangedReportsAtOnceAndOnlyWhatHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		h := runFleet(t, api.config())
		var status changeable
		node := api.fleetNode("a")
		node.Status = status.status
		require.NoError(t, h.Add(node))
		time.Sleep(time.Minute)
		api.forgetCalls()
		require.True(t, h.Changed("a"))
		synctest.Wait()
		require.Empty(t, api.nodeCalls(), "nothing has changed")
		status.notReady.Store(true)
		require.True(t, h.Changed("a"))
		synctest.Wait()
		require.Equal(t, map[string]int{"patch status": 1}, api.nodeCalls())
		require.Equal(t, corev1.ConditionFalse, api.ready(t, "a").Status)
	})
}

func TestH7AChangeDuringAReportIsReportedRightAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		h := runFleet(t, api.config())
		var status changeable
		node := api.fleetNode("a")
		node.Status = status.status
		require.NoError(t, h.Add(node))
		time.Sleep(time.Minute)

		api.setMeddle(func(string, string) (time.Duration, error) { return 3 * time.Second, nil })
		status.notReady.Store(true)
		require.True(t, h.Changed("a"))
		time.Sleep(time.Second)
		status.notReady.Store(false)
		require.True(t, h.Changed("a"))
		time.Sleep(time.Second)
		require.Equal(t, corev1.ConditionTrue, api.ready(t, "a").Status, "the first has not arrived")
		time.Sleep(2 * time.Second)
		require.Equal(t, corev1.ConditionFalse, api.ready(t, "a").Status)
		time.Sleep(3 * time.Second)
		require.Equal(t, corev1.ConditionTrue, api.ready(t, "a").Status)
		require.Equal(t, 1, api.atOnce("node"))
	})
}

func TestH7AnUnchangedStatusIsReportedOnItsPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		config := api.config()
		random := 0.9
		config.Rand = func() float64 { return random }
		h := runFleet(t, config)
		start := time.Now()
		require.NoError(t, h.Add(api.fleetNode("a")))
		time.Sleep(30 * time.Minute)
		reports := api.times("patch status", "a")
		require.Equal(t, start, reports[0])
		require.Equal(t, 420*time.Second, reports[1].Sub(start), "0.5 + 0.9 periods after the first")
		for _, gap := range gaps(reports[1:]) {
			require.Equal(t, 5*time.Minute, gap, "and then each period")
		}
		require.Len(t, reports, 6)
		require.Len(t, api.times("get node", "a"), 1)

		ready := api.ready(t, "a")
		require.Equal(t, reports[5].UTC(), ready.LastHeartbeatTime.UTC())
		require.Equal(t, start.UTC(), ready.LastTransitionTime.UTC())
		require.Equal(t, "Fleet", ready.Reason)
		require.Equal(t, "said by a test", ready.Message)
	})
}

func TestH7AFailedReportStaysDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		counts := &fleetCounts{}
		config := api.config()
		config.Metrics = counts
		h := runFleet(t, config)
		node := api.fleetNode("a")
		fails := 3
		status := node.Status
		node.Status = func(ctx context.Context) (corev1.NodeStatus, error) {
			if fails--; fails >= 0 {
				return corev1.NodeStatus{}, errors.New("no status yet")
			}
			return status(ctx)
		}
		require.NoError(t, h.Add(node))
		time.Sleep(3 * time.Second)
		require.Equal(t, corev1.ConditionTrue, api.ready(t, "a").Status)
		require.Equal(t, 3, counts.get("status failed"))
		require.Equal(t, 1, counts.get("status reported"))
	})
}

func TestH7AnotherNodeOfTheNameIsNotWrittenTo(t *testing.T) {
	for name, test := range map[string]struct {
		cached bool
		within time.Duration
	}{
		"with a cache, by the next check":     {true, longestGap},
		"without a cache, by the next report": {false, 8 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := newFleetAPI()
				config := api.config()
				if test.cached {
					config.Cache = fleetCache{api}
				}
				h := runFleet(t, config)
				node := api.fleetNode("a")
				require.NoError(t, h.Add(node))
				time.Sleep(time.Minute)
				api.setNode("a", func(node *corev1.Node) {
					node.UID, node.Status = "second", corev1.NodeStatus{}
				})
				time.Sleep(test.within)
				require.Empty(t, api.node("a").Status.Conditions)
				api.forgetCalls()
				time.Sleep(time.Hour)
				require.Empty(t, api.times("update lease", "a"), "and no lease vouches for it")
				require.Empty(t, api.times("patch status", "a"))

				second := node
				second.UID = "second"
				require.True(t, h.Remove("a"))
				require.NoError(t, h.Add(second))
				synctest.Wait()
				require.Equal(t, corev1.ConditionTrue, api.ready(t, "a").Status)
				require.Equal(t, types.UID("second"), api.lease("a").OwnerReferences[0].UID)
			})
		})
	}
}

func TestH7ANodeThatWasNotFoundMayBeFoundLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		h := runFleet(t, api.config())
		node := api.fleetNode("a")
		api.mu.Lock()
		missing := api.nodes["a"]
		delete(api.nodes, "a")
		api.mu.Unlock()
		require.NoError(t, h.Add(node))
		time.Sleep(10 * time.Minute)
		api.forgetCalls()
		time.Sleep(time.Minute)
		require.Empty(t, api.times("update lease", "a"))

		api.mu.Lock()
		api.nodes["a"] = missing
		api.mu.Unlock()
		time.Sleep(longestGap)
		require.Equal(t, corev1.ConditionTrue, api.ready(t, "a").Status)
		require.NotEmpty(t, api.times("update lease", "a"), "the lease follows at once")
	})
}

func TestH7WithACacheAnOverwrittenStatusIsReportedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		config := api.config()
		config.Cache = fleetCache{api}
		h := runFleet(t, config)
		require.NoError(t, h.Add(api.fleetNode("a")))
		time.Sleep(time.Minute)
		require.Empty(t, api.times("get node", "a"), "the cache knows it")

		api.setNode("a", func(node *corev1.Node) {
			node.Status.Conditions[0].Status = corev1.ConditionUnknown
			node.Status.Conditions = append(
				node.Status.Conditions, corev1.NodeCondition{Type: "Foreign", Status: "True"},
			)
		})
		api.forgetCalls()
		overwritten := time.Now()
		time.Sleep(longestGap)
		ready := api.ready(t, "a")
		require.Equal(t, corev1.ConditionTrue, ready.Status)
		require.WithinDuration(t, overwritten, ready.LastTransitionTime.Time, 11*time.Second)
		require.Equal(t, 1, api.count()["patch status"])
		require.Zero(t, api.count()["get node"])

		api.setNode("a", func(node *corev1.Node) { node.Labels = map[string]string{"by": "another"} })
		api.forgetCalls()
		time.Sleep(time.Minute)
		require.Empty(t, api.times("patch status", "a"), "what is not ours may change")
	})
}

// lateCache shows each node as it was first seen.
type lateCache map[string]*corev1.Node

func (c lateCache) Get(name string) (*corev1.Node, error) { return c[name], nil }

func TestH7ALateCacheDoesNotUndoOurOwnReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		config := api.config()
		node := api.fleetNode("a")
		config.Cache = lateCache{"a": api.node("a")}
		var status changeable
		node.Status = status.status
		h := runFleet(t, config)
		require.NoError(t, h.Add(node))
		time.Sleep(time.Minute)
		require.Len(t, api.times("patch status", "a"), 1, "the late cache is no reason to repeat it")
		status.notReady.Store(true)
		api.forgetCalls()
		h.Changed("a")
		synctest.Wait()
		require.Equal(
			t, map[string]int{"patch status": 1}, api.nodeCalls(), "the base is our own last report",
		)
		require.Equal(t, corev1.ConditionFalse, api.ready(t, "a").Status)

		// The cache that still shows the Node before ours says nothing about ours.
		config.Cache.(lateCache)["b"] = &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "former", ResourceVersion: "1"},
		}
		require.NoError(t, h.Add(api.fleetNode("b")))
		synctest.Wait()
		require.Equal(t, corev1.ConditionTrue, api.ready(t, "b").Status)
	})
}

func TestH7TransitionTimesAreRightWhenAnotherClientHasWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		config := api.config()
		config.Rand = func() float64 { return 0.5 }
		h := runFleet(t, config)
		require.NoError(t, h.Add(api.fleetNode("a")))
		time.Sleep(time.Minute)
		api.setNode(
			"a", func(node *corev1.Node) { node.Status.Conditions[0].Status = corev1.ConditionUnknown },
		)
		api.forgetCalls()
		time.Sleep(5 * time.Minute)
		require.Equal(t, 2, api.count()["patch status"], "the guard has refused the first")
		require.Equal(t, 1, api.count()["get node"])
		ready := api.ready(t, "a")
		require.Equal(t, corev1.ConditionTrue, ready.Status)
		require.Equal(t, ready.LastHeartbeatTime, ready.LastTransitionTime)
	})
}

func TestH7WhatTheServerRefusesIsNotAskedForAtEachCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFleetAPI()
		api.admit = func(node *corev1.Node) { node.Status.DeclaredFeatures = nil }
		h := runFleet(t, api.config())
		node := api.fleetNode("a")
		var ready changeable
		node.Status = func(ctx context.Context) (corev1.NodeStatus, error) {
			status, err := ready.status(ctx)
			status.DeclaredFeatures = []string{"Feature"}
			return status, err
		}
		require.NoError(t, h.Add(node))
		time.Sleep(2 * time.Minute)
		require.Len(t, api.times("patch status", "a"), 1)
		ready.notReady.Store(true)
		time.Sleep(11 * time.Second)
		require.Len(t, api.times("patch status", "a"), 2, "what else changes is still noticed")
	})
}
