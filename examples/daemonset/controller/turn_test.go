package controller_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/timedqueue"
)

// mostVisits is how many records one turn visits at most: a thousand, and five
// hundred to find a task. A task that is handed out changes one more node.
const mostVisits = 1000 + 500 + 2

// counted is a world whose turns are short. A turn is one call of the
// controller. Each evaluation of a node without an available pod is counted.
type counted struct {
	*world

	visits, all int
	turns       int
}

func newCounted(t *testing.T) *counted {
	c := &counted{world: newWorld(t)}
	c.policy = counting{visits: &c.visits}
	c.kubelet = false
	return c
}

// counting is a policy that counts how often it is asked.
type counting struct {
	rollout.DefaultPolicy
	visits *int
}

func (c counting) Ignores(*corev1.Node, *corev1.Pod) bool {
	*c.visits++
	return false
}

// turn makes one call, and wants it to be short.
func (c *counted) turn(call func()) {
	c.Helper()
	c.visits = 0
	call()
	c.turns++
	c.all += c.visits
	require.LessOrEqual(c, c.visits, mostVisits)
}

// poll polls until nothing is left to do, and refuses all changes
// of pods if asked for.
func (c *counted) poll() {
	c.Helper()
	for {
		var task timedqueue.Job
		var ok, more bool
		var next time.Time
		c.turn(func() { task, ok = c.Start(c.now) })
		if ok {
			if _, changes := task.Task().(controller.ChangePod); changes {
				c.turn(func() { c.finishRefused(task) })
			} else {
				c.turn(func() { c.finish(task) })
			}
			continue
		}
		c.turn(func() { next, more = c.Next(c.now) })
		if !more || next.After(c.now) {
			return
		}
		require.Less(c, c.turns, 1_000_000)
	}
}

// C3: a turn visits a bounded number of nodes over all sets together, whatever
// has changed.
func TestC3TurnVisitsABoundedNumberOfNodes(t *testing.T) {
	const sets, nodes = 40, 900
	c := newCounted(t)
	for i := range nodes {
		c.addNode(nodeName(i))
	}
	for i := range sets {
		c.addSet(fmt.Sprintf("set-%02d", i))
	}
	c.turn(func() { c.MarkSynced(c.now) })
	c.poll()
	require.GreaterOrEqual(t, c.all, sets*nodes, "all planners have evaluated all nodes")

	for what, change := range map[string]func(){
		"all specs": func() {
			for i := range sets {
				c.turn(func() { c.changeSet(fmt.Sprintf("set-%02d", i), setMinReady) })
			}
		},
		"all templates": func() {
			for i := range sets {
				c.turn(func() { c.changeSet(fmt.Sprintf("set-%02d", i), setImage("agent:2")) })
			}
		},
		"all nodes": func() {
			for i := range nodes {
				c.turn(func() { c.addNode(nodeName(i), corev1.Taint{Key: "soft"}) })
			}
		},
		"an orphan, which all sets may adopt": func() {
			for i := range nodes { // so that there is something to evaluate
				c.turn(func() { c.addNode(nodeName(i)) })
			}
			c.turn(func() { c.putPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "orphan"}}) })
			c.turn(func() { c.removePod("orphan") })
		},
	} {
		c.now = c.now.Add(time.Hour)
		c.poll()
		c.all = 0
		change()
		c.poll()
		require.GreaterOrEqual(t, c.all, sets*nodes, what)
	}
	c.now = c.now.Add(time.Hour) // all back-offs end at once
	c.poll()
}

func setMinReady(set *appsv1.DaemonSet) { set.Spec.MinReadySeconds++ }

// C3: neither does a turn visit more pods, when a set has many at the start.
func TestC3TurnVisitsABoundedNumberOfPods(t *testing.T) {
	const nodes, orphans = 9000, 6000
	for name, test := range map[string]struct {
		orphan bool
		pods   int
		least  int // turns: compared, observed by the planner, evaluated
	}{
		"own pods": {false, nodes, 3 * nodes / 1500},
		"orphans":  {true, orphans, orphans / 1500},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCounted(t)
			set := c.addSet("agent")
			of := controller.SetOf(set)
			plan, err := revision.Compute(of.Source, nil, nil)
			require.NoError(t, err)
			c.removeSet("agent")
			c.putRevision(plan.Create)
			of.Spec.Revision = plan.Hash
			for i := range nodes {
				c.addNode(nodeName(i))
			}
			for i := range test.pods {
				pod, err := rollout.NewPod(of.Source.Owner, &of.Spec, rollout.Creation{Node: nodeName(i), Revision: plan.Hash})
				require.NoError(t, err)
				makeReady(pod, c.now)
				if test.orphan {
					pod.OwnerReferences, pod.Labels = nil, nil
				}
				c.putPod(pod)
			}
			c.putSet(set)
			c.turn(func() { c.MarkSynced(c.now) })
			c.turns = 0
			for {
				var task timedqueue.Job
				var ok bool
				if c.turn(func() { task, ok = c.Start(c.now) }); ok {
					require.NotContains(t, c.describe(task), "create", "all pods exist")
					c.turn(func() { c.finish(task) })
				}
				state := slices.Collect(c.Sets())[0]
				if test.orphan && state.Phase != "waiting" || state.Counts.Current == nodes {
					break
				}
				require.Less(t, c.turns, 10*test.least)
			}
			require.GreaterOrEqual(t, c.turns, test.least)
		})
	}
}

// C3: sets take turns with their nodes. One with a single change does not wait
// until a large one has evaluated all of its nodes.
func TestC3ASmallChangeDoesNotWaitForALargeOne(t *testing.T) {
	const nodes = 20_000
	w := newWorld(t)
	for i := range nodes {
		w.addNode(nodeName(i))
	}
	w.addSet("small", func(set *appsv1.DaemonSet) { set.Spec.Template.Spec.NodeName = nodeName(7) })
	w.MarkSynced(w.now)
	w.pass(time.Minute)
	require.Equal(t, []string{nodeName(7)}, w.podsOn("small"))
	for _, name := range []string{"large", "larger"} {
		w.addSet(name)
	}
	managed := func(state controller.State) bool { return state.Phase == "managed" }
	for phases := 0; phases < 3; phases = len(slices.DeleteFunc(slices.Collect(w.Sets()), unless(managed))) {
		if task, ok := w.Start(w.now); ok {
			w.finish(task)
		}
	}
	w.removePod(slices.Sorted(maps.Keys(w.pods))[0])
	for starts := 1; ; starts++ {
		require.Less(t, starts, nodes/1000)
		task, ok := w.Start(w.now)
		if !ok {
			continue
		}
		_, changes := task.Task().(controller.ChangePod)
		name := ownerOf(task).Object.GetName()
		w.finish(task)
		if changes {
			require.Equal(t, "small", name)
			require.LessOrEqual(t, starts, 5)
			break
		}
	}
	for starts := 1; ; starts++ { // and the large ones get their pods
		require.Less(t, starts, 4*nodes/1000)
		task, ok := w.Start(w.now)
		if !ok {
			continue
		}
		if changed, is := task.Task().(controller.ChangePod); is && changed.Task.Create != nil {
			require.Greater(t, starts, nodes/1000)
			break
		}
		w.finish(task)
	}
}

func unless[T any](is func(T) bool) func(T) bool { return func(x T) bool { return !is(x) } }

// C3: templates are compared with histories for a bounded number of sets in one
// turn. Their revisions exist, so each comparison ends in a planner.
func TestC3TurnComputesABoundedNumberOfHistories(t *testing.T) {
	const sets, most = 200, mostVisits/50 + 1
	w := newWorld(t)
	for i := range sets {
		set := w.addSet(fmt.Sprintf("set-%03d", i))
		plan, err := revision.Compute(controller.SetOf(set).Source, nil, nil)
		require.NoError(t, err)
		w.putRevision(plan.Create)
	}
	w.MarkSynced(w.now)
	for known := 0; known < sets; {
		task, ok := w.Start(w.now)
		if ok {
			require.NotContains(t, w.describe(task), "revise")
			w.finish(task)
		}
		before := known
		known = 0
		for state := range w.Sets() {
			if state.Phase == "managed" {
				known++
			}
		}
		require.LessOrEqual(t, known-before, most)
	}
}

// The order of tasks follows from that of the observations alone.
func TestTheOrderOfTasksIsDeterministic(t *testing.T) {
	play := func() []string {
		w := newWorld(t)
		for i := range 300 {
			w.addNode(nodeName(i))
		}
		for i := range 6 {
			set := w.addSet(fmt.Sprintf("set-%02d", i), maxUnavailable(3))
			for n := range 25 {
				w.putPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("orphan-%d-%d", i, n),
					Labels: set.Spec.Selector.MatchLabels}, Spec: corev1.PodSpec{NodeName: nodeName(n)}})
			}
		}
		w.MarkSynced(w.now)
		log := w.pass(time.Minute)
		for _, name := range slices.Sorted(maps.Keys(w.sets)) {
			w.changeSet(name, setImage("agent:2"))
		}
		return append(log, w.pass(10*time.Minute)...)
	}
	first := play()
	require.Greater(t, len(first), 500)
	for range 3 {
		require.Equal(t, first, play())
	}
}
