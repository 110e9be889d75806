package controller

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubelife/lifecycle/eviction"
)

// writesRefused returns how many writes the API server has refused.
func (w *world) writesRefused() (refused int) {
	for _, d := range w.done {
		if d.err != nil && (is[Declaration](d.task) || is(d.task, patchesTaints) ||
			is(d.task, patchesLabels) || is(d.task, marksPod)) {
			refused++
		}
	}
	return refused
}

// reads returns how many live reads of nodes there were, also those that have
// failed.
func (w *world) reads() (reads int) {
	for _, d := range w.done {
		if is(d.task, readsNode) {
			reads++
		}
	}
	return reads
}

// taint has another client taint a node.
func (w *world) taint(name string, effect corev1.TaintEffect) {
	node := w.nodes[name].DeepCopy()
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "maintenance", Effect: effect})
	w.setNode(node)
}

// A node dies while the watch of nodes shows nothing and that of leases does.
// The guard of its declaration is refused by what its kubelet has reported.
func TestANodeThatTheCacheDoesNotHaveIsReadAndDeclared(t *testing.T) {
	w := active(t, "a", "b")
	w.stalled = true
	w.report("a-003", corev1.ConditionTrue)
	w.silent["a-003"] = true
	lastBeat, _ := w.c.silences.health.LastHeartbeat("a-003")
	w.advance(3 * time.Minute)
	require.Equal(t, 1, w.writesRefused())
	require.Len(t, deeds(w, readsNode), 1)
	declared := times[Declaration](w, lastBeat)
	require.Len(t, declared, 1)
	require.Greater(t, declared[0], 2*grace, "the status that was not shown counts as a heartbeat")
	require.Less(t, declared[0], 2*grace+time.Second)
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-003"))
	require.Len(t, deeds[eviction.Task](w), 1)
	require.Equal(t, 1, w.c.Refused())
	require.Equal(t, 1, w.c.Stale())
	require.Equal(t, 1, w.c.Refuted())
}

// What the API server has decides, and a node that has reported lives.
func TestANodeThatALiveReadShowsAliveIsNotDeclared(t *testing.T) {
	w := active(t, "a", "b")
	w.stalled = true
	w.silent["a-003"] = true // its lease
	for range 20 {
		w.advance(interval)
		w.report("a-003", corev1.ConditionTrue)
	}
	require.Empty(t, deeds[Declaration](w))
	require.NotZero(t, w.c.Refuted())
	require.Equal(t, w.writesRefused(), w.reads())
	require.Less(t, w.reads(), 20*int(interval/time.Second)/int(grace/time.Second)+1, "one each grace period")
}

// Of taints, with and without a token of the zone, and of labels: a refused
// write is followed by one read, and the next write is computed from it.
func TestEachRefusedWriteOfANodeIsFollowedByARead(t *testing.T) {
	for name, test := range map[string]struct {
		change func(w *world)
		until  func(w *world)
		want   []string
	}{
		"NoSchedule taints": {
			change: func(w *world) { w.report("a-000", corev1.ConditionFalse) },
			want:   []string{"maintenance:NoSchedule", notReadyNoSchedule},
		},
		"NoExecute taint": {
			change: func(w *world) { w.report("a-000", corev1.ConditionFalse) },
			until: func(w *world) {
				w.advance(interval - time.Second)
				require.NotEmpty(w.t, w.taintsOf("a-000"))
			},
			want: []string{"maintenance:NoSchedule", notReadyNoExecute, notReadyNoSchedule},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := active(t, "a", "b")
			w.silent["a-000"] = true // says nothing else
			test.change(w)
			wait := interval / 2
			if test.until != nil {
				test.until(w)
				wait = 2*interval + time.Second
			}
			w.stalled = true
			w.taint("a-000", corev1.TaintEffectNoSchedule)
			w.done = nil
			w.advance(wait)
			require.Equal(t, test.want, w.taintsOf("a-000"))
			require.Equal(t, 1, w.writesRefused())
			require.Equal(t, 1, w.reads())
			w.stalled = false
			w.relist()
			w.advance(time.Second)
			require.Equal(t, test.want, w.taintsOf("a-000"))
			require.Equal(t, 1, w.reads())
		})
	}
}

// Nothing is written to a node between a refused write and a read that
// succeeds.
func TestANodeThatCannotBeReadIsNotWrittenTo(t *testing.T) {
	w := active(t, "a", "b")
	w.stalled = true
	w.report("a-003", corev1.ConditionTrue)
	w.silent["a-003"] = true
	failures := 0
	w.fail = func(task any) error {
		if is(task, readsNode) && failures < 5 {
			failures++
			return errServer
		}
		return nil
	}
	w.advance(grace + 2*time.Second)
	require.Equal(t, 1, w.writesRefused())
	require.Positive(t, failures)
	w.advance(3 * time.Minute)
	require.Equal(t, 5, failures)
	require.Equal(t, 1, w.writesRefused())
	require.Len(t, deeds[Declaration](w), 1)
}

// H8: only the watch says that a node is gone. Until then the API server is
// asked once a minute, and a node that was created again is known by that.
func TestH8ANodeThatIsGoneIsReadNowAndThen(t *testing.T) {
	w := active(t, "a", "b")
	w.stalled = true
	w.silent["a-003"] = true
	gone := w.nodes["a-003"]
	delete(w.nodes, "a-003")
	w.advance(10*time.Minute + grace)
	require.Equal(t, 1, w.writesRefused())
	require.GreaterOrEqual(t, w.reads(), 9)
	require.LessOrEqual(t, w.reads(), 11)
	require.Equal(t, gone, w.c.objects.nodes["a-003"].object)

	created := w.addNode("a-003", "a")
	w.advance(time.Minute + time.Second)
	require.Equal(t, created.UID, w.c.objects.nodes["a-003"].object.UID)
	w.advance(2 * time.Minute)
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-003"))
	require.Equal(t, 1, w.writesRefused())

	w.stalled = false
	w.c.ForgetNode(w.now, "a-003") // the one before, as the watch shows it in the end
	w.relist()
	w.advance(time.Minute)
	require.Equal(t, created.UID, w.c.objects.nodes["a-003"].object.UID)
	require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-003"))
}

// A proxy that knows no node says nothing about it, and neither does an API
// server that finds a write invalid. A test that fails is a 422 without a
// field.
func TestARefusalSaysThatTheObjectIsAnother(t *testing.T) {
	nodes := corev1.Resource("nodes")
	foreign := apierrors.NewGenericServerResponse(404, "patch", nodes, "a-003", "page not found", 0, true)
	require.False(t, eviction.SaysGone(foreign))
	require.False(t, isRefusal(foreign))
	require.True(t, isRefusal(fmt.Errorf("patch: %w", apierrors.NewNotFound(nodes, "a-003"))))
	require.True(t, isRefusal(fmt.Errorf("patch: %w", apierrors.NewConflict(nodes, "a-003", errServer))))
	require.True(t, isRefusal(apierrors.NewGenericServerResponse(422, "patch", nodes, "a-003", "test failed", 0, false)))
	invalid := func(path ...string) error {
		list := field.ErrorList{field.Invalid(field.NewPath(path[0], path[1:]...), "", "field is immutable")}
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, "a-003", list)
	}
	require.True(t, isRefusal(invalid("metadata", "uid")), "that is how v1.37.1 answers a merge patch")
	require.False(t, isRefusal(invalid("spec", "taints")))
	require.False(t, isRefusal(errServer))
}

// After a restore of its store the API server has older versions than the
// cache. What a live read shows is true all the same.
func TestALiveReadCountsAfterARestore(t *testing.T) {
	w := active(t, "a", "b")
	restored := w.nodes["a-003"].DeepCopy()
	w.taint("a-003", corev1.TaintEffectNoSchedule)
	w.report("a-003", corev1.ConditionFalse)
	w.silent["a-003"] = true // says nothing else
	w.stalled = true
	w.nodes["a-003"] = restored
	w.advance(5 * time.Second)
	require.Equal(t, 1, w.writesRefused())
	require.Equal(t, 1, w.reads())
	require.Equal(t, restored, w.c.objects.nodes["a-003"].object)
	require.Equal(t, 1, w.c.Stale())
}

// The watch has caught up: nothing was stale, and the write is repeated.
func TestARefusalByAnotherClientIsNoStaleCache(t *testing.T) {
	w := active(t, "a", "b")
	w.fail = func(task any) error {
		if is(task, patchesTaints) {
			w.fail = nil
			w.taint("a-000", corev1.TaintEffectNoSchedule)
		}
		return nil
	}
	w.cordon("a-000")
	w.advance(5 * time.Second)
	require.Equal(t, []string{"maintenance:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule"},
		w.taintsOf("a-000"))
	require.Equal(t, 1, w.c.Refused())
	require.Zero(t, w.c.Stale())
}

// C1: reads are requests like others, however many nodes are stale.
func TestC1ReadsOfStaleNodesFitTheBudget(t *testing.T) {
	w := newWorld(t, Config{Requests: RequestBudget{PerSecond: 20, Burst: 30}})
	w.addNodes(200, "a")
	w.addNodes(200, "b")
	w.start()
	w.advance(grace + interval)
	w.stalled, w.done = true, nil
	for i := range 50 {
		name := fmt.Sprintf("a-%03d", i)
		w.report(name, corev1.ConditionTrue)
		w.silent[name] = true
	}
	began := w.now
	w.advance(3 * time.Minute)
	require.Equal(t, 50, w.writesRefused())
	require.Equal(t, 50, w.reads())
	require.Len(t, deeds[Declaration](w), 50)
	sent := 0
	for _, d := range w.done {
		sent += cost(d.task)
		require.LessOrEqual(t, float64(sent), 30+20*d.at.Sub(began).Seconds()+1e-6)
	}
}

// A node was declared, and is back while the watch of nodes shows nothing. Its
// pods are due all the same.
func TestPodsOfANodeThatMayBeBackAreNotEvictedBeforeItIsRead(t *testing.T) {
	back := func(t *testing.T) *world {
		w := active(t, "a", "b")
		w.silent["a-003"] = true
		w.advance(grace + interval + 5*time.Second)
		require.Equal(t, []string{unreachableNoExecute, unreachableNoSchedule}, w.taintsOf("a-003"))
		w.stalled, w.done = true, nil
		w.silent["a-003"] = false
		return w
	}
	t.Run("it is", func(t *testing.T) {
		w := back(t)
		w.advance(2 * time.Minute)
		require.Empty(t, deeds[eviction.Task](w))
		require.Equal(t, 1, w.reads())
		require.Empty(t, w.taintsOf("a-003"))
	})
	t.Run("its kubelet reports nothing", func(t *testing.T) {
		w := back(t)
		w.silent["a-003"] = true // but for the lease
		due := timeAdded(t, w.nodes["a-003"]).Add(30 * time.Second)
		for range 300 {
			lease := w.leases["a-003"].DeepCopy()
			lease.Spec.RenewTime.Time = w.now
			w.stamp(&lease.ObjectMeta)
			w.leases["a-003"] = lease
			w.c.ObserveLease(w.now, lease)
			w.advance(100 * time.Millisecond)
		}
		require.Equal(t, 1, w.reads())
		evicted := times[eviction.Task](w, due)
		require.Len(t, evicted, 1)
		require.LessOrEqual(t, evicted[0], 3*time.Second)
	})
	t.Run("it cannot be read", func(t *testing.T) {
		w := back(t)
		w.fail = func(task any) error {
			if is(task, readsNode) {
				return errServer
			}
			return nil
		}
		added := timeAdded(t, w.nodes["a-003"])
		w.advance(time.Minute)
		evicted := times[eviction.Task](w, added.Add(30*time.Second))
		require.Len(t, evicted, 1)
		require.GreaterOrEqual(t, evicted[0], longestReadFirst)
		require.LessOrEqual(t, evicted[0], longestReadFirst+3*time.Second)
	})
	t.Run("another client evicts", func(t *testing.T) {
		w := back(t)
		w.stalled = false
		w.taint("a-003", corev1.TaintEffectNoExecute)
		pod := w.c.objects.podsOn["a-003"][0].object.DeepCopy()
		pod.Spec.Tolerations = nil
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists,
		})
		w.setPod(pod)
		w.act()
		require.Len(t, deeds[eviction.Task](w), 1)
	})
}

// A pod's mark is guarded, too.
func TestAPodThatTheCacheDoesNotHaveIsReadAndMarked(t *testing.T) {
	hide := func(w *world, pod *corev1.Pod) *corev1.Pod {
		w.blind = true
		defer func() { w.blind = false }()
		changed := pod.DeepCopy()
		changed.Status.Conditions[1].LastTransitionTime.Time = w.now.Truncate(time.Second)
		w.setPod(changed)
		return changed
	}
	readsOf := func(w *world) (reads int) {
		for _, d := range w.done {
			if is(d.task, readsPod) {
				reads++
			}
		}
		return reads
	}
	t.Run("changed", func(t *testing.T) {
		w := active(t, "a", "b")
		pod := w.addPod("p", "a-003", tolerate(3600))
		hide(w, pod)
		w.silent["a-003"] = true
		w.advance(grace + 5*time.Second)
		require.Equal(t, 1, w.writesRefused())
		require.Equal(t, 1, readsOf(w))
		require.Equal(t, corev1.ConditionFalse, w.pods[pod.UID].Status.Conditions[1].Status)
		require.Equal(t, 1, w.c.Stale())
		require.Empty(t, w.c.marks.refused)

		w.c.ObservePod(w.now, pod) // what the watch shows late
		w.advance(5 * time.Second)
		require.Equal(t, 1, w.writesRefused())
	})
	for name, replaced := range map[string]bool{"gone": false, "replaced": true} {
		t.Run(name, func(t *testing.T) {
			w := active(t, "a", "b")
			pod := w.addPod("p", "a-003", tolerate(3600))
			w.blind = true
			delete(w.pods, pod.UID)
			if replaced {
				w.addPod("p", "b-003")
			}
			w.blind = false
			w.silent["a-003"] = true
			w.advance(grace + 10*time.Minute)
			require.Equal(t, 1, w.writesRefused())
			require.GreaterOrEqual(t, readsOf(w), 9)
			require.LessOrEqual(t, readsOf(w), 11)
			require.Contains(t, w.c.objects.pods, pod.UID, "only the watch says so")
			w.c.ForgetPod(w.now, pod.UID)
			require.Empty(t, w.c.marks.refused)
			w.done = nil
			w.advance(10 * time.Minute)
			require.Zero(t, readsOf(w))
		})
	}
}

func TestNewsIsWhatTheCacheDoesNotHave(t *testing.T) {
	of := func(version int) *corev1.Node {
		node := &corev1.Node{}
		node.ResourceVersion = strconv.Itoa(version)
		return node
	}
	for _, test := range []struct {
		cached, before, live int
		news                 bool
		why                  string
	}{
		{7, 7, 7, false, "the same"},
		{7, 7, 9, true, "newer"},
		{8, 7, 9, true, "newer than what was shown meanwhile"},
		{9, 7, 9, false, "shown meanwhile"},
		{10, 7, 9, false, "older than what was shown meanwhile"},
		{7, 7, 5, true, "a store that was set back"},
	} {
		require.Equal(t, test.news, isNews(of(test.cached), of(test.before), of(test.live)), test.why)
	}
}
