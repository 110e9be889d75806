package rollout_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

// pooled returns a node of a pool.
func pooled(name, pool string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   name,
			UID:    types.UID(name),
			Labels: map[string]string{"pool": pool},
		},
	}
}

// poolSet returns a planner for the nodes of a pool.
func poolSet(tb testing.TB, nodes *rollout.Nodes, pool string) *rollout.Planner {
	template := &corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{NodeSelector: map[string]string{"pool": pool}},
	}
	planner, err := rollout.NewPlanner(rollout.Config{
		Nodes: nodes, Owner: types.UID("set-of-" + pool), Spec: rollout.Spec{Template: template,
			Revision: "r"},
	}, start)
	require.NoError(tb, err)
	return planner
}

// D5: planners use one store of nodes. A node is observed once, before or
// after a planner is made, and each planner sees what concerns it.
func TestD5PlannersUseOneStoreOfNodes(t *testing.T) {
	var nodes rollout.Nodes
	nodes.Observe(start, pooled("early", "red"))
	red, blue := poolSet(t, &nodes, "red"), poolSet(t, &nodes, "blue")
	nodes.Observe(start, pooled("late", "red"))
	desired := func() [2]int { return [2]int{statusOf(red).Desired, statusOf(blue).Desired} }
	require.Equal(t, [2]int{2, 0}, desired())

	nodes.Observe(start, pooled("early", "blue"))
	require.Equal(t, [2]int{1, 1}, desired())
	blue.ObserveNode(start, pooled("late", "blue"))
	require.Equal(t, [2]int{0, 2}, desired(), "what one planner observes the other sees")
	steps := planOf(blue, start)
	require.Equal(t, "create on early: Missing", listed(steps))
	require.Equal(t, "set-of-blue", steps.Owner)

	nodes.Forget(start, "late")
	nodes.Forget(start, "never there")
	require.Equal(t, [2]int{0, 1}, desired())
	require.Equal(t, 1, nodes.Len())

	red.Close()
	red.Close()
	nodes.Observe(start, pooled("early", "red"))
	require.Equal(t, [2]int{0, 0}, desired(), "a closed planner is not informed")
	require.Zero(t, planOf(red, start).Next)
}

// D5: a planner evaluates a node without a record again when the node gets a
// pod, its labels change or another one takes its name.
func TestD5NodeWithoutARecordIsAsOneWithARecord(t *testing.T) {
	var nodes rollout.Nodes
	for i := range 20 {
		nodes.Observe(start, pooled(fmt.Sprintf("n%02d", i), "blue"))
	}
	s := newSet(t, func(c *rollout.Config) {
		c.Nodes = &nodes
		c.Spec.Template = &corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{NodeSelector: map[string]string{"pool": "red"}},
		}
	})
	s.want("").running("n03").want("delete n03-1: Misscheduled").want("")
	nodes.Forget(s.now, "n07") // others take its place in the store
	nodes.Forget(s.now, "n19")
	nodes.Observe(s.now, pooled("n04", "red"))
	s.want("create on n04: Missing").want("")
	s.pod("x", "n07", "old", unscheduled).want("delete x: NodeGone")
	s.spec.Template = &corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{NodeSelector: map[string]string{"pool": "blue"}},
	}
	s.template("new")
	require.Equal(t, 17, s.Status().Desired)
	s.want("create on n00: Missing", "delete n04-old-2: Misscheduled")
}

// D5: what has failed on a node outlasts a time in which no pod should run
// there, for half an hour. Then nothing is left of the node.
func TestD5FailuresOutlastATimeInWhichNoPodShouldRun(t *testing.T) {
	s := newSet(t, func(c *rollout.Config) {
		c.Spec.Template = &corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{NodeSelector: map[string]string{"pool": "red"}},
		}
	})
	s.ObserveNode(s.now, pooled("a", "red"))
	s.want("create on a: Missing")
	for round := range 12 { // up to the longest wait, 15 minutes
		name := fmt.Sprintf("a-old-%d", round+2)
		s.after(20*time.Minute).change(name, phase(corev1.PodFailed))
		s.want("delete " + name + ": PodFailed")
		if round < 11 {
			s.want("create on a: Missing")
		}
	}
	s.ObserveNode(s.now, pooled("a", "blue"))
	require.Equal(t, s.now.Add(30*time.Minute), s.Plan(s.now).Next, "when it is forgotten")
	s.after(10*time.Minute).Evaluate(s.now, 1)
	s.ObserveNode(s.now, pooled("a", "red"))
	s.pod("y", "a", "old", phase(corev1.PodFailed)).want("").wantWait("a", rollout.WaitBackoff)
	s.gone("y").ObserveNode(s.now, pooled("a", "blue"))
	s.after(20 * time.Minute)
	require.Zero(t, s.Plan(s.now).Next)
}

// D5: a set costs at most 40 bytes on a node that it does not select.
func TestD5UnselectedNodeCostsASetNoMemory(t *testing.T) {
	const sets = 100
	few := liveSets(sets, 100, 1)
	many := liveSets(sets, 2000, 20)
	perNode := float64(many-few) / (sets * 1900)
	t.Logf(
		"%.1f bytes a set and unselected node, and %.0f a selected one",
		perNode,
		float64(few)/(sets*100),
	)
	require.Less(t, perNode, 4.0)
}

// liveSets returns how much memory sets take besides their store of nodes. Each
// selects the nodes of one of the pools.
func liveSets(sets, size, pools int) int64 {
	var nodes rollout.Nodes
	for i := range size {
		nodes.Observe(start, pooled(fmt.Sprintf("node-%04d", i), fmt.Sprint(i%pools)))
	}
	before := liveHeap()
	planners := manySets(&nodes, sets, pools)
	after := liveHeap()
	runtime.KeepAlive(planners)
	runtime.KeepAlive(&nodes)
	return after - before
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// manySets returns planners that have evaluated all nodes.
func manySets(nodes *rollout.Nodes, sets, pools int) []*rollout.Planner {
	var planners []*rollout.Planner
	for i := range sets {
		template := &corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{NodeSelector: map[string]string{"pool": fmt.Sprint(i % pools)}},
		}
		planner, err := rollout.NewPlanner(
			rollout.Config{Nodes: nodes, Spec: rollout.Spec{Template: template, Revision: "r"}},
			start,
		)
		if err != nil {
			panic(err)
		}
		evaluate(planner)
		planners = append(planners, planner)
	}
	return planners
}

// BenchmarkManySets is 500 sets on 2,000 nodes, of which each selects 5 %.
func BenchmarkManySets(b *testing.B) {
	const sets, size, pools = 500, 2000, 20
	var nodes rollout.Nodes
	var all []*corev1.Node
	for i := range size {
		all = append(all, pooled(fmt.Sprintf("node-%04d", i), fmt.Sprint(i%pools)))
		nodes.Observe(start, all[i])
	}
	before := liveHeap()
	planners := manySets(&nodes, sets, pools)
	perNode := float64(liveHeap()-before) / (sets * size)
	change := func(change func(*corev1.Node)) []*corev1.Node {
		other := make([]*corev1.Node, size)
		for i := range all {
			other[i] = all[i].DeepCopy()
			change(other[i])
		}
		return other
	}
	for name, changed := range map[string][]*corev1.Node{
		"status": change(func(node *corev1.Node) { node.ResourceVersion = "2" }),
		"labels": change(func(node *corev1.Node) { node.Labels["other"] = "x" }),
	} {
		versions := [2][]*corev1.Node{changed, all}
		b.Run(name+" of a node", func(b *testing.B) {
			i := 0
			for b.Loop() {
				nodes.Observe(start, versions[i/size%2][i%size])
				i++
			}
			b.ReportMetric(perNode, "B/set/node")
		})
		b.Run(name+" of a node, and all sets are asked", func(b *testing.B) {
			i := 0
			for b.Loop() {
				nodes.Observe(start, versions[i/size%2][i%size])
				i++
				for _, planner := range planners {
					planner.Evaluate(start, 10)
				}
			}
		})
	}
	runtime.KeepAlive(slices.Clone(planners))
}

// D5: Changed names the planners that have something to evaluate, and no
// others.
func TestD5ChangedNamesThePlannersToEvaluate(t *testing.T) {
	var nodes rollout.Nodes
	red, blue := poolSet(t, &nodes, "red"), poolSet(t, &nodes, "blue")
	require.Empty(t, nodes.Changed())
	nodes.Observe(start, pooled("a", "red"))
	nodes.Observe(start, pooled("b", "red"))
	require.Equal(t, []types.UID{"set-of-red"}, nodes.Changed(), "once for two nodes")
	require.Empty(t, nodes.Changed())
	require.Equal(t, 2, red.Evaluate(start, 10))
	require.Zero(t, blue.Evaluate(start, 10))

	nodes.Observe(start, pooled("a", "blue"))
	require.ElementsMatch(t, []types.UID{"set-of-red", "set-of-blue"}, nodes.Changed())
	nodes.Forget(start, "b")
	require.Equal(t, []types.UID{"set-of-red"}, nodes.Changed())
	red.Evaluate(start, 10)
	blue.Evaluate(start, 10)
	status := pooled("a", "blue")
	status.Status.Phase = corev1.NodeRunning
	nodes.Observe(start, status)
	require.Equal(t, []types.UID{"set-of-blue"}, nodes.Changed())
	blue.ObservePod(start, &corev1.Pod{Spec: corev1.PodSpec{NodeName: "a"}})
	require.Equal(t, 1, blue.Evaluate(start, 10), "one node that has changed twice")
	require.Equal(t, []types.UID{"set-of-blue"}, nodes.Changed(), "also for a pod")

	nodes.Observe(start, pooled("c", "red"))
	red.Close()
	require.Empty(t, nodes.Changed(), "a planner that was closed")
}

// D5: a caller with many planners says how many nodes one evaluates.
func TestD5EvaluateVisitsAsManyNodesAsTheCallerWants(t *testing.T) {
	var nodes rollout.Nodes
	v := visitedSet(t, &nodes)
	for i := range 250 {
		nodes.Observe(start, pooled(fmt.Sprintf("n%03d", i), ""))
	}
	for _, want := range []int{0, 100, 100, 50, 0} {
		v.visits = 0
		require.Equal(t, want, v.Evaluate(start, min(100, 2*want)))
		require.Equal(t, want, v.visits)
	}
	require.Zero(t, v.Evaluate(start, -1))
	counts, complete := v.Status(start)
	require.True(t, complete)
	require.Equal(t, 250, counts.Desired)
}

// D5: the records of a planner that is closed go in slices. Until then they
// change nothing for the others, whatever happens to their nodes.
func TestD5ClosedPlannerGoesInSlices(t *testing.T) {
	const size, most = 5000, 1000
	var nodes rollout.Nodes
	name := func(i int) string { return fmt.Sprintf("n%04d", i) }
	for i := range size {
		nodes.Observe(start, pooled(name(size-1-i), "red")) // the last records go first
	}
	first, second := poolSet(t, &nodes, "red"), poolSet(t, &nodes, "red")
	evaluate := func(p *rollout.Planner) { p.Evaluate(start, size) }
	evaluate(first)
	evaluate(second)
	require.Equal(t, 2*size, nodes.Records())
	first.Close()
	first.Close()
	require.Equal(t, 2*size-most, nodes.Records())
	third := poolSet(t, &nodes, "red")
	nodes.Changed()
	for i := range size / 100 {
		before := nodes.Records()
		switch i % 3 {
		case 0:
			nodes.Forget(start, name(i))
		case 1:
			nodes.Observe(start, pooled(name(i), "blue"))
		default:
			nodes.Observe(start, pooled(name(i), "red"))
		}
		require.LessOrEqual(t, before-nodes.Records(), 100+3)
	}
	require.Len(t, nodes.Changed(), 1, "of the second, and not of the one that was closed")
	evaluate(second)
	evaluate(third)
	const left = size - 17 - 17 // forgotten, and of another pool
	require.Equal(t, left, statusOf(second).Desired)
	require.Equal(t, statusOf(second), statusOf(third))
	require.Equal(t, 2*left, nodes.Records(), "none of the one that was closed")
}

// D5: a store whose nodes come and go is as any other.
func TestD5StoreWhoseNodesComeAndGoIsAsAnyOther(t *testing.T) {
	store := new(rollout.Nodes)
	node := func(name string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	}
	store.Observe(start, node("a"))
	s := newSet(t, func(c *rollout.Config) { c.Nodes = store })
	for _, name := range []string{"b", "c"} {
		store.Observe(start, node(name))
	}
	require.Equal(t, 3, store.Len())
	s.running("a", "b", "c").want("")
	store.Forget(start, "b")
	store.Observe(start, node("d")) // it has the memory of b
	require.Equal(t, 3, store.Len())
	s.want("create on d: Missing").wantWait("b", "")
	store.Observe(start, node("b"))
	require.Equal(t, 4, store.Len())
	s.want("").gone("b-1").want("create on b: Missing")
}

// D5: nothing is kept of a node that is gone and has no pods, also if nothing is
// asked meanwhile, as when no process leads.
func TestD5NothingIsKeptOfANodeThatIsGone(t *testing.T) {
	const size = 20_000
	for name, live := range map[string]func(s *set, node string){
		"a node": func(*set, string) {},
		"a node and its pod": func(s *set, node string) {
			s.pod("p", node, "old", available).gone("p")
		},
		"a node, and its creation later": func(s *set, node string) {
			plan := s.Plan(s.now)
			s.ForgetNode(s.now, node)
			s.Report(s.now, ended{Create: &plan.Create[0], Err: errRefused, Refused: true})
			s.after(time.Hour)
		},
		"a node, and its pod later": func(s *set, node string) {
			s.pod("p", node, "old", available)
			s.ForgetNode(s.now, node)
			s.gone("p")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSet(t)
			before := liveHeap()
			for i := range size {
				node := fmt.Sprintf("n%05d", i)
				s.nodes(node)
				live(s, node)
				s.ForgetNode(s.now, node)
			}
			perNode := float64(liveHeap()-before) / size
			t.Logf("%.1f bytes a node that is gone", perNode)
			require.Less(t, perNode, 16.0)
			require.Zero(t, s.Status())
			runtime.KeepAlive(s)
		})
	}
}
