package rollout_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/timedqueue"
)

const (
	mostVisits = 1000 // of nodes in one turn
	manyNodes  = 5500
)

// visited is a planner that counts the nodes that it evaluates: each of them
// has no pod and is classified once.
type visited struct {
	*rollout.Planner
	visits int
}

func visitedSet(tb testing.TB, nodes *rollout.Nodes) *visited {
	v := &visited{}
	planner, err := rollout.NewPlanner(rollout.Config{
		Nodes: nodes, Spec: v.spec("r"),
	}, start)
	require.NoError(tb, err)
	v.Planner = planner
	return v
}

// spec returns one whose policy counts.
func (v *visited) spec(revision string) rollout.Spec {
	count := func(*corev1.Node, *corev1.Pod) bool {
		v.visits++
		return false
	}
	return rollout.Spec{
		Template: &corev1.PodTemplateSpec{}, Revision: revision, Policy: &choices{ignores: count},
	}
}

// evaluate has a planner evaluate all that has changed, or is due.
func evaluate(planner *rollout.Planner) {
	for visited := mostVisits; visited == mostVisits; {
		visited = planner.Evaluate(start, mostVisits)
	}
}

// turns returns how many turns without a task there are until the planner hands
// out one, and wants each to be short.
func (v *visited) turns(t *testing.T) int {
	for turns := 0; ; turns++ {
		v.visits = 0
		task, ok := v.Start(start)
		require.LessOrEqual(t, v.visits, mostVisits+1, "one node of the last turn gets a task")
		if ok {
			require.NotNil(t, task.Create)
			v.Finish(start, task, rollout.Result{Outcome: rollout.OutcomeRefused, Err: errRefused})
			return turns
		}
		require.Less(t, turns, 100)
	}
}

// D5: a change that concerns all nodes is evaluated in turns, and no task is
// handed out before all are.
func TestD5TurnVisitsAThousandNodesAtMost(t *testing.T) {
	fill := func(nodes *rollout.Nodes) {
		for i := range manyNodes {
			nodes.Observe(start, pooled(fmt.Sprintf("n%04d", i), fmt.Sprint(i)))
		}
	}
	const turns = manyNodes / mostVisits
	t.Run("nodes are observed", func(t *testing.T) {
		var nodes rollout.Nodes
		v := visitedSet(t, &nodes)
		fill(&nodes)
		require.Equal(t, turns, v.turns(t))
	})
	t.Run("a planner is made", func(t *testing.T) {
		var nodes rollout.Nodes
		fill(&nodes)
		require.Equal(t, turns, visitedSet(t, &nodes).turns(t))
	})
	for name, change := range map[string]func(v *visited){
		"another policy":   func(v *visited) { _ = v.SetSpec(start, v.spec("r")) },
		"another revision": func(v *visited) { _ = v.SetSpec(start, v.spec("new")) },
	} {
		t.Run(name, func(t *testing.T) {
			var nodes rollout.Nodes
			v := visitedSet(t, &nodes)
			fill(&nodes)
			evaluate(v.Planner)
			change(v)
			const least = 2 * turns // the nodes without a record may need one, too
			_, whole := v.Status(start)
			require.False(t, whole)
			require.Equal(t, rollout.WaitPlanned, v.WaitOf("n0000").Reason)
			next, ok := v.Next(start)
			require.True(t, ok)
			require.Equal(t, start, next)
			require.GreaterOrEqual(t, v.turns(t), least-3) // three turns were taken
		})
	}
	t.Run("nodes that are not selected", func(t *testing.T) {
		var nodes rollout.Nodes
		fill(&nodes)
		planner := poolSet(t, &nodes, "none")
		turns := 1
		for planner.Evaluate(start, mostVisits) == mostVisits {
			turns++
		}
		require.Equal(t, manyNodes/mostVisits+1, turns)
	})
}

// D5: changes during the turns are not lost: nodes come, go and change, and the
// spec changes again. All is as if it was observed at once.
func TestD5ChangesDuringTurnsAreNotLost(t *testing.T) {
	var nodes rollout.Nodes
	for i := range manyNodes {
		nodes.Observe(start, pooled(fmt.Sprintf("n%04d", i), fmt.Sprint(i%4)))
	}
	planner := poolSet(t, &nodes, "0")
	evaluate(planner)
	require.Equal(t, manyNodes/4, statusOf(planner).Desired)
	spec := func(pool string) rollout.Spec {
		return rollout.Spec{
			Template: &corev1.PodTemplateSpec{
				Spec: corev1.PodSpec{NodeSelector: map[string]string{"pool": pool}},
			},
			Revision: pool,
		}
	}
	for turn := range 60 {
		planner.Start(start)
		if turn < 40 {
			nodes.Forget(start, fmt.Sprintf("n%04d", turn*131))
			nodes.Observe(start, pooled(fmt.Sprintf("n%04d", turn*97), fmt.Sprint(turn%4)))
			nodes.Observe(start, pooled(fmt.Sprintf("new-%d", turn), "1"))
		}
		if turn%7 == 3 && turn < 40 {
			require.NoError(t, planner.SetSpec(start, spec(fmt.Sprint(turn%4))))
		}
	}
	require.NoError(t, planner.SetSpec(start, spec("1")))
	planner.Start(start)
	nodes.Observe(start, pooled("n5499", "1"))
	planOf(planner, start)
	fresh := poolSet(t, &nodes, "1")
	evaluate(fresh)
	require.Equal(t, statusOf(fresh), statusOf(planner))
	require.Greater(t, statusOf(planner).Desired, 1000)
}

// D5: a refresh does not wait for the turns.
func TestD5RefreshDoesNotWaitForTheTurns(t *testing.T) {
	s := newSet(t).nodes("a").pod("x", "a", "former", unready)
	steps := s.Plan(s.now)
	s.Report(s.now, ended{Delete: &steps.Delete[0]})
	s.after(30 * time.Second) // the watch does not show it
	for i := range manyNodes {
		s.nodes(fmt.Sprintf("n%04d", i))
	}
	task, ok := s.Start(s.now)
	require.True(t, ok)
	require.NotNil(t, task.Refresh)
	_, ok = s.Start(s.now)
	require.False(t, ok)
}

// D5: a Dispatcher gives up its lock between two turns, and does not spin.
func TestD5DispatcherGivesUpItsLockBetweenTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := visitedSet(t, nil)
		for i := range manyNodes {
			v.ObserveNode(start, pooled(fmt.Sprintf("n%04d", i), ""))
		}
		began := time.Now()
		acted := make(chan time.Duration, 1)
		dispatcher, err := timedqueue.NewDispatcher(
			v.Planner,
			func(ctx context.Context, _ rollout.Task) rollout.Result {
				acted <- time.Since(began)
				<-ctx.Done()
				return rollout.Result{}
			},
			timedqueue.DispatcherConfig{},
		)
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- dispatcher.Run(ctx) }()
		for turns := range manyNodes / mostVisits {
			synctest.Wait()
			visits := 0
			dispatcher.View(func() { visits = v.visits })
			require.Equal(t, (turns+1)*mostVisits, visits, "one turn a millisecond")
			time.Sleep(time.Millisecond)
		}
		require.Equal(t, manyNodes/mostVisits*time.Millisecond, <-acted)
		stop()
		require.NoError(t, <-done)
	})
}

// D5: a status is a look: it evaluates nothing, and says whether it is of all
// that was observed and is due by then.
func TestD5StatusIsALookAndNeverATurn(t *testing.T) {
	var nodes rollout.Nodes
	v := visitedSet(t, &nodes)
	nodes.Observe(start, pooled("a", ""))
	_, whole := v.Status(start)
	require.False(t, whole, "a node has changed")
	require.Zero(t, v.visits)
	v.Evaluate(start, mostVisits)
	status, whole := v.Status(start)
	require.True(t, whole)
	require.Equal(t, rollout.Status{Desired: 1, Unavailable: 1}, status)
}
