package model

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// seen is a process that writes down what its informers tell it.
type seen struct {
	client *network.Client
	told   []string
}

func (s *seen) handler(kind network.Kind) cache.ResourceEventHandler {
	name := func(o any) string {
		object, ok := o.(metav1.Object)
		if !ok {
			return fmt.Sprintf("%T", o)
		}
		return object.GetName()
	}
	tell := func(format string, args ...any) {
		s.told = append(s.told, kind.String()+" "+fmt.Sprintf(format, args...))
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { tell("add %s", name(o)) },
		UpdateFunc: func(_, o any) { tell("update %s", name(o)) },
		DeleteFunc: func(o any) { tell("delete %s", name(o)) },
	}
}

// world returns a world of two machines whose calls and watches take fixed
// times, and a process that watches nodes and pods.
func world(t *testing.T) (*World, *seen) {
	w := New(Config{
		Seed: 1, Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		BeatInterval: 10 * time.Second, StatusInterval: 5 * time.Minute,
		Latency:    network.Span{Min: 10 * time.Millisecond, Max: 10 * time.Millisecond},
		WatchDelay: network.Span{Min: 20 * time.Millisecond, Max: 20 * time.Millisecond},
	})
	w.AddMachine("a", "z", "z/0")
	w.AddMachine("b", "z", "z/0")
	w.AddWorkload("web", AtOnce, nil)
	w.AddWorkload("db", OnceGone, nil)
	w.AddWorkload("agent", InPlace, nil)
	s := &seen{}
	s.client = w.NewClient("controller", 1, func() {})
	for _, kind := range []network.Kind{network.Nodes, network.Leases, network.Pods, network.LeaderLease} {
		s.client.Inform(kind, s.handler(kind))
	}
	run(w, time.Second)
	require.True(t, s.client.Synced())
	return w, s
}

func run(w *World, until time.Duration) {
	for w.Step(until) {
	}
}

// of returns what was told about a kind.
func (s *seen) of(kind network.Kind) []string {
	var told []string
	for _, line := range s.told {
		if len(line) > len(kind.String()) && line[:len(kind.String())] == kind.String() {
			told = append(told, line)
		}
	}
	return told
}

func TestInformerListsAndThenFollows(t *testing.T) {
	w, s := world(t)
	require.Equal(t, []string{"nodes add a", "nodes add b"}, s.of(network.Nodes))
	w.Machine("a").Fail()
	require.Len(t, s.of(network.Nodes), 2, "an event takes its time")
	run(w, w.Elapsed()+20*time.Millisecond)
	require.Equal(t, "nodes update a", s.of(network.Nodes)[2])
	w.Machine("a").Unregister()
	run(w, w.Elapsed()+time.Second)
	require.Equal(t, "nodes delete a", s.of(network.Nodes)[3])
}

func TestBrokenWatchMissesWhatHappensUntilItLists(t *testing.T) {
	w, s := world(t)
	mend := w.BreakWatches(func(_ *network.Client, kind network.Kind) bool { return kind == network.Nodes })
	register := w.Machine("a").Unregister()
	register() // another node of the same name
	w.Machine("b").Unregister()
	run(w, w.Elapsed()+time.Minute)
	require.Len(t, s.of(network.Nodes), 2)
	mend()
	run(w, w.Elapsed()+time.Second)
	require.Equal(t, []string{"nodes update a", "nodes delete cache.DeletedFinalStateUnknown"}, s.of(network.Nodes)[2:],
		"a recreated object is one update, one that is gone is a tombstone")
}

// Of two faults that overlap the end of one is not the end of the other. A list
// that was asked for in between does not end the second either.
func TestWatchThatIsBrokenTwiceIsMendedTwice(t *testing.T) {
	nodes := func(_ *network.Client, kind network.Kind) bool { return kind == network.Nodes }
	w, s := world(t)
	first, second := w.BreakWatches(nodes), w.BreakWatches(nodes)
	first()
	run(w, w.Elapsed()+time.Second)
	w.Machine("b").Unregister()
	run(w, w.Elapsed()+time.Minute)
	require.Len(t, s.of(network.Nodes), 2)
	second()
	run(w, w.Elapsed()+time.Second)
	require.Equal(t, []string{"nodes delete cache.DeletedFinalStateUnknown"}, s.of(network.Nodes)[2:])

	w, s = world(t)
	w.BreakWatches(nodes)()
	end := w.BreakWatches(nodes) // while it lists
	run(w, w.Elapsed()+time.Second)
	w.Machine("b").Unregister()
	run(w, w.Elapsed()+time.Minute)
	require.Len(t, s.of(network.Nodes), 2)
	end()
	run(w, w.Elapsed()+time.Second)
	require.Len(t, s.of(network.Nodes), 3)
}

// A watch is one stream: no event overtakes another, however late they are.
func TestStaleWatchKeepsItsOrder(t *testing.T) {
	w, s := world(t)
	end := w.DelayWatches(network.Span{Min: time.Second, Max: 30 * time.Second}, func(*network.Client, network.Kind) bool { return true })
	cordon := func(name string) {
		w.Machine(name).Edit(func(n *corev1.Node) { n.Spec.Unschedulable = !n.Spec.Unschedulable })
	}
	for range 20 {
		cordon("a")
		cordon("b")
	}
	end()
	cordon("a") // in time, but not before the late ones
	last := w.Node("a").ResourceVersion
	run(w, 1900*time.Millisecond)
	require.NotEqual(t, last, CachedNode(s.client, "a").ResourceVersion)
	run(w, time.Minute)
	require.Equal(t, last, CachedNode(s.client, "a").ResourceVersion)
	require.Equal(t, append(repeat(20, "nodes update a", "nodes update b"), "nodes update a"), s.of(network.Nodes)[2:])
}

func repeat(n int, some ...string) []string {
	var all []string
	for range n {
		all = append(all, some...)
	}
	return all
}

func TestWhatReachesAPausedProcessWaits(t *testing.T) {
	w, s := world(t)
	s.client.Pause()
	answered := false
	s.client.Call(&network.Call{Verb: network.Get, Kind: network.Nodes, Name: "a"}, func(*network.Call) { answered = true })
	w.Machine("a").Fail()
	run(w, w.Elapsed()+time.Minute)
	require.False(t, answered)
	require.Len(t, s.of(network.Nodes), 2)
	s.client.Resume()
	require.True(t, answered, "first what calls and timers wait for")
	require.Len(t, s.of(network.Nodes), 2)
	run(w, w.Elapsed()+time.Millisecond)
	require.Len(t, s.of(network.Nodes), 3, "then what the watches have received")
}

func TestCrashedProcessHearsNothing(t *testing.T) {
	w, s := world(t)
	s.client.Call(&network.Call{Verb: network.Delete, Kind: network.Pods, Name: "x"},
		func(*network.Call) { t.Error("a process that is gone was answered") })
	s.client.Stop()
	told := len(s.told)
	w.Machine("a").Fail()
	run(w, w.Elapsed()+time.Minute)
	require.Len(t, s.told, told)
}

func TestCallsMeetTheFaultsOfTheAPIServer(t *testing.T) {
	w, s := world(t)
	w.Workload("web").Place("a")
	pod := w.PodsOn("a")[0]
	send := func() (took time.Duration, err error) {
		began, over := w.Elapsed(), false
		s.client.Call(&network.Call{Verb: network.Delete, Kind: network.Pods, Name: pod.Name}, func(c *network.Call) { err, over = c.Err, true })
		for !over {
			require.True(t, w.Step(began+time.Hour))
		}
		return w.Elapsed() - began, err
	}
	up := w.Down(true, false)
	_, err := send()
	require.ErrorIs(t, err, network.ErrConnection)
	up()

	end := w.FailCalls(1, []int{429}, network.Delete)
	took, err := send()
	require.True(t, apierrors.IsTooManyRequests(err))
	require.Equal(t, 10*time.Millisecond, took)
	end()
	require.Nil(t, w.Pod(pod.Name).DeletionTimestamp, "what fails does nothing")

	end = w.LoseAnswers(1)
	took, err = send()
	require.True(t, os.IsTimeout(err))
	require.Equal(t, network.CallTimeout, took)
	end()
	require.Nil(t, w.Pod(pod.Name), "what is lost is only the answer: the kubelet has stopped the pod meanwhile")
	end = w.LoseAnswers(1)
	took, err = send()
	require.True(t, os.IsTimeout(err), "it is lost, also if it says that there is no such pod")
	require.Equal(t, network.CallTimeout, took)
	end()
}

func TestServerGoesAwayWhileACallIsUnderWay(t *testing.T) {
	w, s := world(t)
	w.Workload("web").Place("a")
	pod := w.PodsOn("a")[0]
	var err error
	s.client.Call(&network.Call{Verb: network.Delete, Kind: network.Pods, Name: pod.Name}, func(c *network.Call) { err = c.Err })
	run(w, w.Elapsed()+5*time.Millisecond) // it has arrived
	w.Down(true, false)
	run(w, w.Elapsed()+5*time.Millisecond)
	require.ErrorIs(t, err, network.ErrConnection)
	require.NotNil(t, w.Pod(pod.Name).DeletionTimestamp)
}

func TestDeleteKeepsItsPreconditions(t *testing.T) {
	w, s := world(t)
	w.Workload("web").Place("a")
	pod := w.PodsOn("a")[0]
	for _, c := range []struct {
		uid      types.UID
		version  string
		conflict bool
	}{
		{uid: "other", version: pod.ResourceVersion, conflict: true},
		{uid: pod.UID, version: "1", conflict: true},
		{uid: pod.UID, version: pod.ResourceVersion},
	} {
		call := &network.Call{Verb: network.Delete, Kind: network.Pods, Name: pod.Name,
			Preconditions: &metav1.Preconditions{UID: &c.uid, ResourceVersion: &c.version}}
		s.client.Call(call, func(*network.Call) {})
		run(w, w.Elapsed()+10*time.Millisecond)
		require.Equal(t, c.conflict, apierrors.IsConflict(call.Err), "%v", call.Err)
		require.Equal(t, !c.conflict, w.Pod(pod.Name).DeletionTimestamp != nil)
	}
}

func TestSilentMachineNeitherBeatsNorStopsPods(t *testing.T) {
	w, _ := world(t)
	run(w, 15*time.Second)
	m := w.Machine("a")
	w.Workload("db").Place("a")
	restore := m.Silence()
	beats := m.Beats
	w.DeletePod("db-0")
	run(w, 2*time.Minute)
	require.Equal(t, beats, m.Beats)
	require.NotNil(t, w.Pod("db-0"), "no kubelet says that it has stopped")
	restore()
	run(w, 3*time.Minute)
	require.Greater(t, m.Beats, beats)
	require.Equal(t, "b", w.Pod("db-0").Spec.NodeName,
		"replaced under its name once it was gone, on the emptier of two nodes")
}

func TestOwnersReplaceTheirPods(t *testing.T) {
	w, _ := world(t)
	for _, owner := range []string{"web", "db", "agent"} {
		w.Workload(owner).Place("a")
	}
	w.Machine("a").Silence() // so that what is told to leave stays
	for _, pod := range w.PodsOn("a") {
		w.DeletePod(pod.Name)
	}
	run(w, time.Minute)
	names := func(owner string) []string {
		var names []string
		for _, pod := range w.Workload(owner).Pods() {
			names = append(names, pod.Name+" on "+pod.Spec.NodeName)
		}
		return names
	}
	require.Len(t, names("web"), 2, "at once")
	require.Equal(t, []string{"db-0 on a"}, names("db"), "not before it is gone")
	require.Equal(t, []string{"agent-0 on a"}, names("agent"))
}

func TestPodsOutliveTheirNodeForAWhile(t *testing.T) {
	w, _ := world(t)
	w.Workload("web").Place("a")
	register := w.Machine("a").Unregister()
	run(w, 59*time.Second)
	require.Len(t, w.PodsOn("a"), 1)
	run(w, 2*time.Minute)
	require.Empty(t, w.PodsOn("a"))
	old := w.Machine("b").Registered()
	w.Machine("b").Unregister()()
	require.NotEqual(t, old, w.Machine("b").Registered(), "a node that registers again is another one")
	register()
	require.NotNil(t, w.Node("a"))
}

func TestNewNodeHasTheTaintOfAdmission(t *testing.T) {
	w, _ := world(t)
	require.Empty(t, w.Node("a").Spec.Taints, "those that are there at the beginning have lost theirs")
	w.Machine("a").Unregister()()
	require.Equal(t, []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: "NoSchedule"}}, w.Node("a").Spec.Taints)
	owner := w.Workload("web")
	for range 20 {
		owner.create(owner.nextName())
	}
	run(w, 10*time.Second)
	require.Len(t, w.PodsOn("b"), 20, "nothing comes to it until the taint is taken away")
}

func TestSchedulerUsesNodesThatAreReadyAndClean(t *testing.T) {
	w, _ := world(t)
	w.Machine("a").Edit(func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}
	})
	owner := w.Workload("web")
	for range 20 {
		owner.create(owner.nextName())
	}
	run(w, 10*time.Second)
	require.Len(t, w.PodsOn("b"), 20)

	seconds := int64(60)
	w.AddWorkload("patient", AtOnce,
		[]corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: &seconds}})
	for range 20 {
		w.Workload("patient").create(w.Workload("patient").nextName())
	}
	run(w, 20*time.Second)
	require.NotEmpty(t, w.PodsOn("a"), "a pod that tolerates a taint for a while comes to a tainted node too")

	w.Machine("a").Fail()
	w.Machine("b").Edit(func(n *corev1.Node) { n.Spec.Unschedulable = true })
	owner.create("homeless")
	run(w, time.Minute)
	require.Empty(t, w.Pod("homeless").Spec.NodeName)
}

func TestKubeletReportsWhenItSeesThatItsStatusIsWrong(t *testing.T) {
	w, _ := world(t)
	run(w, 15*time.Second)
	status := func() corev1.ConditionStatus { return condition(w.Node("a"), corev1.NodeReady).Status }
	w.Machine("a").Edit(func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	})
	require.Equal(t, corev1.ConditionUnknown, status())
	run(w, 30*time.Second)
	require.Equal(t, corev1.ConditionTrue, status())
	restore := w.Machine("a").Fail()
	require.Equal(t, corev1.ConditionFalse, status(), "at once")
	restore()
	require.Equal(t, corev1.ConditionTrue, status())
}

func TestLockIsTakenByOneOfTwo(t *testing.T) {
	w, s := world(t)
	var errs []error
	for _, holder := range []string{"x", "y"} {
		call := &network.Call{Verb: network.Update, Kind: network.LeaderLease, Lock: network.Lock{Holder: holder, Version: 0}}
		s.client.Call(call, func(c *network.Call) { errs = append(errs, c.Err) })
	}
	run(w, w.Elapsed()+time.Second)
	require.NoError(t, errs[0])
	require.True(t, apierrors.IsConflict(errs[1]))
	require.Equal(t, network.Lock{Holder: "x", Version: 1}, w.Lock())
}

func TestFaultsOfOneKindOverlap(t *testing.T) {
	w, s := world(t)
	fails := func() bool {
		call := &network.Call{Verb: network.Get, Kind: network.Nodes, Name: "a"}
		s.client.Call(call, func(*network.Call) {})
		run(w, w.Elapsed()+network.CallTimeout)
		return call.Err != nil
	}
	for name, begin := range map[string]func() func(){
		"errors":       func() func() { return w.FailCalls(1, []int{500}, network.Get) },
		"lost answers": func() func() { return w.LoseAnswers(1) },
		"latency":      func() func() { return w.SlowCalls(network.Span{Min: time.Hour, Max: time.Hour}) },
		"down":         func() func() { return w.Down(true, false) },
	} {
		first, second := begin(), begin()
		require.True(t, fails(), name)
		first()
		require.True(t, fails(), "%s: the end of one is not the end of the other", name)
		second()
		require.False(t, fails(), name)
	}
	s.client.Pause()
	s.client.Pause()
	s.client.Resume()
	require.True(t, s.client.Paused())
	s.client.Resume()
	require.False(t, s.client.Paused())
}
