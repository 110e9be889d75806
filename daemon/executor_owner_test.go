package daemon_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/daemon/ownership"
)

// D5: a plan knows its owner, and is carried out for no other.
func TestD5PlanOfAnotherOwnerIsNotCarriedOut(t *testing.T) {
	s := newSet(t, func(c *daemon.Config) { c.Owner = agents().Object.GetUID() }).nodes("a")
	plan := s.Plan(s.now)
	require.Equal(t, agents().Object.GetUID(), plan.Owner)

	another := agents()
	another.Object.SetUID("made-again")
	server := newPodServer()
	results, err := newExecutor(t, server).Execute(t.Context(), another, plan)
	require.ErrorIs(t, err, daemon.ErrOtherOwner)
	require.Len(t, results, 1)
	require.True(t, results[0].Refused)
	require.Empty(t, server.calls)

	results, err = newExecutor(t, server).Execute(t.Context(), agents(), plan)
	require.NoError(t, err)
	require.NotNil(t, results[0].Pod)
}

// D5: nor for an owner under deletion, whose pods are the garbage collector's.
func TestD5PlanOfAnOwnerUnderDeletionIsNotCarriedOut(t *testing.T) {
	s := newSet(t).nodes("a").evicted("b").running("b")
	going := agents()
	going.Object.SetDeletionTimestamp(&metav1.Time{Time: start})
	server := newPodServer()
	results, err := newExecutor(t, server).Execute(t.Context(), going, s.Plan(s.now))
	require.ErrorIs(t, err, ownership.ErrOwnerGone)
	require.Len(t, results, 2)
	require.True(t, results[0].Refused && results[1].Refused)
	require.Empty(t, server.calls)
}

// D5: each step is reported as it ends, one at a time, and all before the return.
func TestD5EachStepIsReportedAsItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPodServer()
		slow := newPod(t, specWith(everything()), creationOn("node-0")).Name
		server.before = func(_ context.Context, _, name string) error {
			if name == slow {
				time.Sleep(30 * time.Second)
			}
			return nil
		}
		began := time.Now()
		var nodes []string
		err := newExecutor(t, server).ExecuteEach(t.Context(), agents(), planned(*specWith(everything()), creations(5)), func(result daemon.Result) {
			nodes = append(nodes, result.Create.Node) // the race detector sees more than one at a time
			require.NotNil(t, result.Pod)
			require.Equal(t, result.Create.Node == "node-0", time.Since(began) >= 30*time.Second)
		})
		require.NoError(t, err)
		require.Equal(t, "node-0", nodes[4])
		require.Equal(t, []string{"node-0", "node-1", "node-2", "node-3", "node-4"}, slices.Sorted(slices.Values(nodes)))
	})
}
