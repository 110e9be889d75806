package controller_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/timedqueue"
)

// BenchmarkTakeover is a controller that takes over a cluster in which all sets
// have their pods, and what it costs then. A turn is one call of the
// controller: in the program a lock is held for it. Times are CPU time.
func BenchmarkTakeover(b *testing.B) {
	for _, size := range []takeoverSize{
		{sets: 500, nodes: 2_000, pools: 20},
		{sets: 1, nodes: 100_000, pools: 1},
	} {
		b.Run(fmt.Sprintf("%d sets, %d nodes", size.sets, size.nodes), func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			cluster := newTakenOver(b, size)
			for b.Loop() {
				cluster.takeOver()
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// takeoverSize is a cluster. Each set selects one pool of nodes.
type takeoverSize struct{ sets, nodes, pools int }

// takenOver is a cluster whose objects all exist before the controller does.
type takenOver struct {
	*testing.B
	takeoverSize

	now       time.Time
	nodes     []*corev1.Node
	sets      []*appsv1.DaemonSet
	pods      []*corev1.Pod
	revisions []*appsv1.ControllerRevision

	c    *controller.Controller
	jobs timedqueue.Source[timedqueue.Job]
	// Of the turns of a phase, and of all phases.
	spent, longest, everLongest time.Duration
	turns                       int
}

func newTakenOver(b *testing.B, size takeoverSize) *takenOver {
	k := &takenOver{B: b, takeoverSize: size, now: start}
	for i := range size.nodes {
		name := fmt.Sprintf("node-%06d", i)
		k.nodes = append(k.nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), ResourceVersion: "1",
			Labels: map[string]string{
				"pool": fmt.Sprint(i % size.pools), "kubernetes.io/os": "linux", "kubernetes.io/hostname": name,
			},
		}})
	}
	for i := range size.sets {
		k.addSet(i)
	}
	return k
}

// addSet adds a set with its revision and its pods.
func (k *takenOver) addSet(i int) {
	name, pool := fmt.Sprintf("agent-%03d", i), i%k.pools
	chosen := map[string]string{"app": name}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(name), ResourceVersion: "1", Generation: 1,
	}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: chosen}
	set.Spec.Template.Labels = chosen
	set.Spec.Template.Spec.NodeSelector = map[string]string{"pool": fmt.Sprint(pool)}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:1"}}
	of := controller.SetOf(set)
	plan, err := revision.Compute(of.Source, nil, nil)
	require.NoError(k, err)
	plan.Create.UID, plan.Create.ResourceVersion = types.UID(plan.Create.Name), "1"
	k.revisions = append(k.revisions, plan.Create)
	of.Spec.Revision = plan.Hash
	for n := pool; n < len(k.nodes); n += k.pools {
		k.pods = append(k.pods, k.podOf(of.Source.Owner, &of.Spec, k.nodes[n].Name))
	}
	count := int32(len(k.nodes) / k.pools)
	set.Status = appsv1.DaemonSetStatus{
		CurrentNumberScheduled: count, DesiredNumberScheduled: count, NumberReady: count,
		UpdatedNumberScheduled: count, NumberAvailable: count, ObservedGeneration: 1,
	}
	k.sets = append(k.sets, set)
}

func (k *takenOver) podOf(owner ownership.Owner, spec *rollout.Spec, node string) *corev1.Pod {
	pod, err := rollout.NewPod(owner, spec, rollout.Creation{Node: node, Revision: spec.Revision})
	require.NoError(k, err)
	pod.UID, pod.ResourceVersion = types.UID(pod.Name), "1"
	makeReady(pod, k.now.Add(-time.Hour))
	return pod
}

// threadTime is the CPU time of this thread, to which the benchmark is locked.
// Other work on the machine does not distort it.
func threadTime(b *testing.B) time.Duration {
	var ts unix.Timespec
	require.NoError(b, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts))
	return time.Duration(ts.Nano())
}

// turn measures one call.
func (k *takenOver) turn(call func()) {
	began := threadTime(k.B)
	call()
	took := threadTime(k.B) - began
	k.spent += took
	k.turns++
	k.longest = max(k.longest, took)
}

// poll polls as a Dispatcher does, until the controller has nothing to do. All
// tasks fail. It returns how many there were.
func (k *takenOver) poll() (tasks int) {
	for {
		var task timedqueue.Job
		var ok, more bool
		var next time.Time
		if k.turn(func() { task, ok = k.jobs.Start(k.now) }); ok {
			tasks++
			k.turn(func() { task.Finish(k.now) })
			continue
		}
		k.turn(func() { next, more = k.jobs.Next(k.now) })
		if !more || next.After(k.now) {
			return tasks
		}
	}
}

// tell logs a phase and begins the next one.
func (k *takenOver) tell(phase string) {
	k.Logf("%-28s %7d turns, %7.1f ms, the longest %6.2f ms", phase, k.turns,
		milliseconds(k.spent), milliseconds(k.longest))
	k.everLongest = max(k.everLongest, k.longest)
	k.spent, k.longest, k.turns = 0, 0, 0
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// takeOver fills a new controller, and changes nodes and sets afterwards.
func (k *takenOver) takeOver() {
	before := heapInUse()
	var err error
	k.c, err = controller.NewController(controller.Config{}, k.now)
	require.NoError(k, err)
	k.jobs, err = k.c.Jobs(new(world).actions(), k.now)
	require.NoError(k, err)
	k.spent, k.longest, k.everLongest, k.turns = 0, 0, 0, 0
	k.fill()
	k.tell("fill")
	k.turn(func() { k.c.MarkSynced(k.now) })
	k.tell("MarkSynced")
	require.Zero(k, k.poll(), "all is as it should be")
	k.now = k.now.Add(2 * time.Second) // each history is looked at once more
	require.Zero(k, k.poll())
	k.tell("takeover")
	selected := len(k.pods)
	k.ReportMetric(float64(heapInUse()-before)/float64(selected), "B/set-and-node-selected")

	k.changeNodes("a node's status", func(node *corev1.Node) {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	})
	k.changeNodes("a node's labels", func(node *corev1.Node) { node.Labels["seen"] = fmt.Sprint(k.now.Unix()) })
	k.duplicate()
	k.changeSets()
	k.ReportMetric(milliseconds(k.everLongest), "ms/longest-turn")
	runtime.KeepAlive(k.c)
}

// fill has the controller observe all objects, in the order of informers that
// run side by side.
func (k *takenOver) fill() {
	for i := range max(len(k.pods), len(k.nodes), len(k.sets)) {
		if i < len(k.nodes) {
			k.turn(func() { k.c.ObserveNode(k.now, k.nodes[i]) })
		}
		if i < len(k.sets) {
			k.turn(func() { k.c.ObserveRevision(k.now, k.revisions[i]) })
		}
		if i < len(k.pods) {
			k.turn(func() { k.c.ObservePod(k.now, k.pods[i]) })
		}
	}
	for _, set := range k.sets {
		k.turn(func() { k.c.ObserveSet(k.now, controller.SetOf(set)) })
	}
}

// changeNodes measures what one changed node costs.
func (k *takenOver) changeNodes(what string, change func(*corev1.Node)) {
	const changes = 1000
	for i := range changes {
		node := k.nodes[i*len(k.nodes)/changes].DeepCopy()
		change(node)
		k.turn(func() { k.c.ObserveNode(k.now, node) })
		require.Zero(k, k.poll())
	}
	k.ReportMetric(float64(k.spent.Nanoseconds())/1000/changes, "us/change-of-"+what[len("a node's "):])
	k.tell(what)
}

// duplicate gives a tenth of the pods of a set the hash of a revision that
// keeps the same template. Their relabelling fails, again and again.
func (k *takenOver) duplicate() {
	duplicate := k.revisions[0].DeepCopy()
	duplicate.Name, duplicate.UID, duplicate.Revision = "duplicate", "duplicate", 0
	duplicate.Labels[revision.HashLabel] = "duplicate"
	for _, pod := range k.pods[:len(k.nodes)/k.pools/10] {
		relabelled := pod.DeepCopy()
		relabelled.Labels[revision.HashLabel] = "duplicate"
		k.turn(func() { k.c.ObservePod(k.now, relabelled) })
	}
	k.turn(func() { k.c.ObserveRevision(k.now, duplicate) })
	for range 10 {
		k.now = k.now.Add(time.Minute)
		require.NotZero(k, k.poll())
	}
	k.turn(func() { k.c.ForgetRevision(k.now, duplicate) })
	for _, pod := range k.pods[:len(k.nodes)/k.pools/10] {
		k.turn(func() { k.c.ObservePod(k.now, pod) })
	}
	k.tell("a duplicate revision")
	k.now = k.now.Add(time.Hour) // all back-offs end
}

// changeSets gives all sets another spec at once, then another template, and
// removes them. No task succeeds.
func (k *takenOver) changeSets() {
	for generation, what := range []string{2: "all specs", 3: "all templates"} {
		if what == "" {
			continue
		}
		for _, set := range k.sets {
			changed := set.DeepCopy()
			changed.Generation = int64(generation)
			changed.Spec.MinReadySeconds = 1
			if what == "all templates" {
				changed.Spec.Template.Spec.Containers[0].Image = "agent:2"
			}
			k.turn(func() { k.c.ObserveSet(k.now, controller.SetOf(changed)) })
		}
		require.NotZero(k, k.poll())
		k.tell(what)
	}
	for _, set := range k.sets {
		k.turn(func() { k.c.ForgetSet(k.now, set.UID) })
	}
	require.Zero(k, k.poll())
	k.tell("all sets go")
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
