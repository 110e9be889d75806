package controller_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/daemon"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Random operations on a cluster whose watch is late, whose answers come out of
// order, and whose API server fails now and then. When all that ends, a slow
// look at each object finds the cluster as the sets want it.
func TestRandomOperations(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := &randomWorld{Rand: rand.New(rand.NewPCG(seed, 42))}
			r.world = newWorld(t, func(c *controller.Config) {
				c.Planner.Burst, c.Concurrency = 2+r.IntN(5), 1+r.IntN(3)
				c.Requests = controller.RequestBudget{PerSecond: 20, Burst: 1 + r.IntN(30)}
				if r.IntN(2) == 0 {
					c.Requests = controller.RequestBudget{}
				}
			})
			if r.IntN(2) == 0 {
				r.ShortenTurns(2 + r.IntN(5))
			}
			r.behind, r.kubelet = true, r.IntN(2) == 0
			r.fails = func(any) bool { return r.failing && r.IntN(4) == 0 }
			r.play()
			r.wantEnd()
		})
	}
}

type randomWorld struct {
	*world
	*rand.Rand

	failing bool
	halted  bool
	tasks   []timedqueue.Job // under way
	names   int
}

var setNames = []string{"agent", "probe", "proxy"}

func (r *randomWorld) play() {
	for range 4 {
		r.change()
	}
	r.deliver()
	r.MarkSynced(r.now)
	r.failing = true
	for range 400 {
		require.True(r, r.IndexAgrees())
		switch r.IntN(8) {
		case 7:
			if r.IntN(20) == 0 {
				r.halt(!r.halted)
			}
			r.begin()
		case 0:
			r.change()
		case 1:
			r.now = r.now.Add(time.Duration(r.IntN(3000)) * time.Millisecond)
		case 2:
			for range r.IntN(5) {
				if len(r.watch) > 0 {
					report := r.watch[0]
					r.watch = r.watch[1:]
					report()
				}
			}
		case 3, 4:
			r.finish()
		default:
			r.begin()
		}
	}
}

func (r *randomWorld) halt(halted bool) {
	if r.halted = halted; halted {
		r.Halt(r.now)
	} else {
		r.Resume(r.now)
	}
}

// begin starts a task, and checks what holds for each.
func (r *randomWorld) begin() {
	task, ok := r.Start(r.now)
	if !ok {
		return
	}
	if _, records := task.Task().(controller.Event); records {
		task.Perform(r.Context())
		task.Finish(r.now)
		return
	}
	require.Nil(r, ownerOf(task).Object.GetDeletionTimestamp(), r.describe(task))
	if changed, ok := task.Task().(controller.ChangePod); ok && r.halted {
		require.Nil(r, changed.Task.Delete, "halted: %s", r.describe(task))
	}
	for _, other := range r.tasks {
		if _, ofPod := task.Task().(controller.ChangePod); !ofPod && ownerOf(other).Object.GetUID() ==
			ownerOf(task).Object.GetUID() {
			require.NotEqual(r, fmt.Sprintf("%T", task.Task()), fmt.Sprintf("%T", other.Task()), r.describe(task))
		}
	}
	r.tasks = append(r.tasks, task)
	require.Equal(r, len(r.tasks), r.UnderWay())
	require.LessOrEqual(r, len(r.tasks), 3*6)
}

// finish ends one of the tasks under way.
func (r *randomWorld) finish() {
	if len(r.tasks) == 0 {
		return
	}
	i := r.IntN(len(r.tasks))
	task := r.tasks[i]
	r.tasks = slices.Delete(r.tasks, i, i+1)
	r.drops = func() bool { return r.failing && r.IntN(10) == 0 } // it was done, and the answer is lost
	task.Perform(r.Context())
	task.Finish(r.now)
}

func (r *randomWorld) change() {
	name := setNames[r.IntN(len(setNames))]
	set := r.sets[name]
	node := nodeName(r.IntN(6))
	pods := slices.Sorted(maps.Keys(r.pods))
	switch r.IntN(10) {
	case 0, 1:
		r.addNode(node)
	case 2:
		r.addNode(node, corev1.Taint{Key: "broken",
			Effect: []corev1.TaintEffect{corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule}[r.IntN(2)]})
	case 3:
		r.removeNode(node)
		for _, pod := range pods {
			if daemon.TargetNode(r.pods[pod]) == node {
				r.removePod(pod) // as the pod garbage collector does
			}
		}
	case 4, 5:
		if set == nil {
			r.addSet(name, maxUnavailable(1+r.IntN(3)), func(set *appsv1.DaemonSet) {
				set.Spec.RevisionHistoryLimit = ptr.To(int32(r.IntN(3)))
			})
			return
		}
		r.changeSet(name, setImage(fmt.Sprintf("agent:%d", r.IntN(4))))
	case 6:
		if set != nil && r.IntN(3) == 0 {
			r.removeSet(name)
			for _, pod := range pods { // as the garbage collector does
				if metav1.IsControlledBy(r.pods[pod], set) {
					r.removePod(pod)
				}
			}
			for key, revision := range r.revisions {
				if metav1.IsControlledBy(revision, set) {
					delete(r.revisions, key)
					r.tell(func() { r.ForgetRevision(r.now, revision) })
				}
			}
		}
	case 7:
		r.names++
		r.putPod(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("stray-%d", r.names),
				Labels: map[string]string{"app": name}},
			Spec: corev1.PodSpec{NodeName: node},
		})
	case 8:
		if len(pods) > 0 {
			r.changePod(pods[r.IntN(len(pods))], func(pod *corev1.Pod) { pod.Labels["app"] = "under-observation" })
		}
	case 9:
		if len(pods) > 0 {
			r.removePod(pods[r.IntN(len(pods))])
		}
	}
}

// wantEnd ends all trouble, and wants that the cluster is as the sets want it.
func (r *randomWorld) wantEnd() {
	r.failing = false
	r.halt(false)
	for len(r.tasks) > 0 {
		r.finish()
	}
	r.deliver()
	r.behind, r.kubelet = false, true
	for range 10 {
		for name, pod := range r.pods {
			if r.nodes[daemon.TargetNode(pod)] == nil {
				r.removePod(name)
			} else if pod.Status.Phase == "" {
				r.changePod(name, func(pod *corev1.Pod) { makeReady(pod, r.now) })
			}
		}
		r.pass(time.Hour)
	}
	require.Zero(r, r.UnderWay())
	for name, set := range r.sets {
		desired := map[string]bool{}
		for _, node := range r.nodes {
			if len(node.Spec.Taints) == 0 {
				desired[node.Name] = true
			}
		}
		hash, latest := "", int64(0)
		owned := 0
		for _, revision := range r.revisions {
			if metav1.IsControlledBy(revision, set) {
				owned++
				if revision.Revision > latest {
					latest, hash = revision.Revision, revision.Labels[appsv1.ControllerRevisionHashLabelKey]
				}
			}
		}
		require.NotEmpty(r, hash, name)
		require.LessOrEqual(r, owned, 1+int(*set.Spec.RevisionHistoryLimit), name)
		want := appsv1.DaemonSetStatus{ObservedGeneration: set.Generation, DesiredNumberScheduled: int32(len(desired)),
			CollisionCount: set.Status.CollisionCount}
		for _, pod := range r.pods {
			node := daemon.TargetNode(pod)
			selected := pod.Labels["app"] == name
			require.False(r, selected && len(pod.OwnerReferences) == 0, "%s is an orphan", pod.Name)
			if !metav1.IsControlledBy(pod, set) {
				continue
			}
			require.True(r, selected, "%s is not selected", pod.Name)
			switch {
			case desired[node]:
				require.Equal(r, hash, pod.Labels[appsv1.ControllerRevisionHashLabelKey], pod.Name)
				want.CurrentNumberScheduled++
			default:
				require.Equal(r, corev1.TaintEffectNoSchedule, r.nodes[node].Spec.Taints[0].Effect)
				want.NumberMisscheduled++
			}
		}
		require.Equal(r, want.DesiredNumberScheduled, want.CurrentNumberScheduled, "%s: %v", name,
			slices.Collect(r.Waits(set.UID)))
		want.UpdatedNumberScheduled = want.CurrentNumberScheduled
		want.NumberReady, want.NumberAvailable = want.CurrentNumberScheduled, want.CurrentNumberScheduled
		require.Equal(r, want, set.Status, name)
	}
	for state := range r.Sets() {
		require.Equal(r, "managed", state.Phase)
	}
	require.Zero(r, r.Waiting())
}
