package kubelet

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

func TestFaultsAreReadFromAnnotations(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
	set := func(name, value string) { node.Annotations[cri.AnnotationDomain+"/"+name] = value }
	faults, err := ParseFaults(node)
	require.NoError(t, err)
	assert.Equal(t, Faults{}, faults)
	for _, name := range []string{AnnotationSilent, AnnotationRuntimeDown, AnnotationNetworkDown,
		AnnotationMemoryPressure, AnnotationDiskPressure, AnnotationPIDPressure} {
		set(name, "")
	}
	set(AnnotationPIDPressure, "false")
	set(AnnotationBoot, "2")
	set(AnnotationStart, "3")
	set(AnnotationAPILatency, "2s")
	set(AnnotationAPIFailures, "0.5")
	set(AnnotationClockSkew, "-1m")
	faults, err = ParseFaults(node)
	require.NoError(t, err)
	assert.Equal(t, Faults{
		Silent: true, RuntimeDown: true, NetworkDown: true, MemoryPressure: true, DiskPressure: true,
		Boot: "2", Start: "3", APILatency: 2 * time.Second, APIFailures: 0.5, ClockSkew: -time.Minute,
	}, faults)
	set(AnnotationSilent, "maybe")
	set(AnnotationAPILatency, "-2s")
	set(AnnotationAPIFailures, "NaN")
	faults, err = ParseFaults(node)
	for _, name := range []string{AnnotationSilent, AnnotationAPILatency, AnnotationAPIFailures} {
		require.ErrorContains(t, err, cri.AnnotationDomain+"/"+name+"=")
	}
	assert.False(t, faults.Silent, "what is wrong is no fault")
	node.Annotations = map[string]string{"example.com/slient": ""}
	set("slient", "")
	_, err = ParseFaults(node)
	require.EqualError(t, err, `annotation hollownode.kubelife.dev/slient: there is no "slient", want one of `+
		"api-failures, api-latency, boot, clock-skew, disk-pressure, kubelet-start, memory-pressure, network-down, "+
		"pid-pressure, runtime-down, silent")
}

// faulty returns a node with one annotation of a fault.
func faulty(name, fault, value string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{cri.AnnotationDomain + "/" + fault: value},
	}}
}

// handedOut returns when the fleet hands out its first task of a kind within a
// time. Other tasks fail or succeed by the result.
func handedOut(w *world, kind TaskKind, within time.Duration, result Result) (after time.Duration, found bool) {
	for begin := w.now; w.now.Sub(begin) <= within; w.now = w.now.Add(10 * time.Millisecond) {
		for task, ok := w.fleet.Start(w.now); ok; task, ok = w.fleet.Start(w.now) {
			w.fleet.Finish(w.now, task, result)
			if task.Kind == kind {
				return w.now.Sub(begin), true
			}
		}
	}
	return 0, false
}

func TestARegistrationIsAsSlowAsTheAPI(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.fleet.Register(w.now, faulty("slow", AnnotationAPILatency, "3s")))
	after, found := handedOut(w, TaskRegisterNode, time.Minute, ResultFailed)
	require.True(t, found)
	assert.Equal(t, 3*time.Second, after)
	again, found := handedOut(w, TaskRegisterNode, time.Minute, ResultDone)
	require.True(t, found)
	assert.Equal(t, 3*time.Second+firstRegistration, again, "the next attempt is slow too")

	require.NoError(t, w.fleet.Register(w.now, faulty("fails", AnnotationAPIFailures, "1")))
	_, found = handedOut(w, TaskRegisterNode, time.Minute, ResultDone)
	assert.False(t, found)
	// It is another client that creates the Node, and takes the fault off.
	mended := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "fails"}}
	w.fleet.ObserveNode(w.now, mended)
	w.fleet.SetFaults(w.now, "fails", Faults{})
	assert.Equal(t, Call{}, w.fleet.Call("fails"))
}

func TestAListIsAsSlowAsTheAPI(t *testing.T) {
	w := newWorld(t)
	var err error
	w.fleet, err = NewFleet(FleetConfig{Runtime: w.runtime, ListPods: true}, w.now)
	require.NoError(t, err)
	w.fleet.MarkSynced(w.now)
	w.fleet.ObserveNode(w.now, faulty("node", AnnotationAPILatency, "3s"))
	w.fleet.SetFaults(w.now, "node", Faults{APILatency: 3 * time.Second})
	after, found := handedOut(w, TaskListPods, time.Minute, ResultDone)
	require.True(t, found)
	assert.Equal(t, 3*time.Second, after)

	w.fleet.SetFaults(w.now, "node", Faults{APIFailures: 1})
	w.restartKubelet("node")
	_, found = handedOut(w, TaskListPods, time.Minute, ResultDone)
	assert.False(t, found)
	w.fleet.SetFaults(w.now, "node", Faults{})
	_, found = handedOut(w, TaskListPods, 2*time.Minute, ResultDone)
	assert.True(t, found, "it is tried again")
}

// A write that has failed is tried again after a back-off, and is then as slow
// as the first one.
func TestARetryIsAsSlowAsTheAPI(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.SetFaults(w.now, "node", Faults{APILatency: 30 * time.Second})
	w.pod("p", nil)
	after, found := handedOut(w, TaskPatchStatus, time.Hour, ResultFailed)
	require.True(t, found)
	assert.Equal(t, 30*time.Second, after)
	again, found := handedOut(w, TaskPatchStatus, time.Hour, ResultDone)
	require.True(t, found)
	assert.Equal(t, 30*time.Second+w.fleet.config.Backoff.Delay(0), again)
}

// A kubelet has no back-off for the writes of its pods, and tries each 10 s. So
// they arrive in time when calls work again, however often they have failed.
func TestWritesArriveInTimeWhenCallsWorkAgain(t *testing.T) {
	// No wait of a back-off up to a minute ends in the 10 s after it.
	const outage = 10*time.Minute + 5*time.Second
	for name, fail := range map[string]func(w *world, part float64){
		"by a fault": func(w *world, part float64) {
			w.fleet.SetFaults(w.now, "node", Faults{APIFailures: part})
		},
		"by the API server": func(w *world, part float64) {
			w.refuse = func(Task) bool { return part == 1 }
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "node")
			fail(w, 1)
			w.pod("a", nil)
			w.run(outage)
			require.Empty(t, describeStatus(w.status("a")))
			fail(w, 0)
			w.run(reconcilePeriod)
			assert.Equal(t, "Running ready c:running", describeStatus(w.status("a")))

			fail(w, 1)
			w.delete("a", 1)
			w.run(outage)
			require.Contains(t, w.names(), types.UID("a"))
			fail(w, 0)
			w.run(reconcilePeriod)
			assert.NotContains(t, w.names(), types.UID("a"))
		})
	}
}

// Which calls fail follows from the source of randomness alone.
func TestThePartOfCallsThatFailsIsDrawn(t *testing.T) {
	draws := func(seed uint64) (failed []bool) {
		w := newWorld(t, "node", "other")
		w.fleet.config.Rand = rand.New(rand.NewPCG(seed, 1)).Float64
		w.fleet.SetFaults(w.now, "node", Faults{APIFailures: 0.3, APILatency: time.Second, ClockSkew: time.Minute})
		for range 1000 {
			call := w.fleet.Call("node")
			failed = append(failed, call.Fails)
			call.Fails = false
			require.Equal(t, Call{Latency: time.Second, ClockSkew: time.Minute}, call)
			require.Equal(t, Call{}, w.fleet.Call("other"))
			require.Equal(t, Call{}, w.fleet.Call("unknown"))
		}
		return failed
	}
	first := draws(1)
	assert.Equal(t, first, draws(1))
	assert.NotEqual(t, first, draws(2))
	failures := 0
	for _, fails := range first {
		if fails {
			failures++
		}
	}
	assert.InDelta(t, 300, failures, 50)
}

func TestANodeNamesItsFaultsInItsStatus(t *testing.T) {
	w := newWorld(t, "node")
	image := func(faults Faults) string {
		w.fleet.SetFaults(w.now, "node", faults)
		status, _ := w.fleet.NodeStatus(w.now, "node")
		return status.NodeInfo.OSImage
	}
	assert.Equal(t, "hollownode", image(Faults{Boot: "2", Start: "3"}))
	assert.Equal(t, "hollownode with api-latency=2s,api-failures=0.3,clock-skew=-5m0s",
		image(Faults{APILatency: 2 * time.Second, APIFailures: 0.3, ClockSkew: -5 * time.Minute}))
	assert.Equal(t, "hollownode with runtime-down,network-down,memory-pressure,disk-pressure,pid-pressure",
		image(Faults{RuntimeDown: true, NetworkDown: true, MemoryPressure: true, DiskPressure: true, PIDPressure: true}))
	assert.Equal(t, "silent", Faults{Silent: true}.String())
}

func TestFaultsOfAnUnknownNodeAreIgnored(t *testing.T) {
	w := newWorld(t)
	w.fleet.SetFaults(w.now, "node", Faults{RuntimeDown: true})
	assert.Empty(t, w.fleet.nodes)
}

func TestAnotherBootRebootsOnce(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(20 * time.Second)
	w.fleet.SetFaults(w.now, "node", Faults{})
	before, _ := w.fleet.NodeStatus(w.now, "node")
	w.fleet.SetFaults(w.now, "node", Faults{Boot: "1"})
	w.fleet.SetFaults(w.now, "node", Faults{Boot: "1"})
	w.run(time.Minute)
	after, _ := w.fleet.NodeStatus(w.now, "node")
	assert.NotEqual(t, before.NodeInfo.BootID, after.NodeInfo.BootID)
	assert.Equal(t, before.NodeInfo.MachineID, after.NodeInfo.MachineID)
	assert.Equal(t, "Running ready c:running/1", describeStatus(w.status("a")))

	// A process that starts again compares with the boot that was reported.
	for boot, want := range map[string]string{"1": "c:running/1", "2": "c:running/2"} {
		w.restart()
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Status: after}
		w.fleet.ObserveNode(w.now, node)
		w.fleet.SetFaults(w.now, "node", Faults{Boot: boot})
		w.observe(w.pods["a"])
		w.run(time.Minute)
		assert.Equal(t, "Running ready "+want, describeStatus(w.status("a")), boot)
		if boot == "2" {
			break // the status of that boot was not reported
		}
	}
}

func TestAnotherStartRestartsNoContainer(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(20 * time.Second)
	w.fleet.SetFaults(w.now, "node", Faults{})
	life := w.fleet.nodes["node"].life
	w.fleet.SetFaults(w.now, "node", Faults{Start: "1"})
	w.fleet.SetFaults(w.now, "node", Faults{Start: "1"})
	w.run(time.Minute)
	assert.Equal(t, life+1, w.fleet.nodes["node"].life)
	assert.Equal(t, "Running ready c:running", describeStatus(w.status("a")))
}

func TestWritesOfANodeMayBeSlowOrFail(t *testing.T) {
	w := newWorld(t, "node", "other")
	w.fleet.SetFaults(w.now, "node", Faults{APILatency: 3 * time.Second})
	w.pod("slow", nil)
	w.pod("quick", func(p *corev1.Pod) { p.Spec.NodeName = "other" })
	w.run(10 * time.Second)
	assert.Contains(t, w.log, "0s PatchStatus quick Running ready c:running")
	assert.Contains(t, w.log, "3s PatchStatus slow Running ready c:running", "%v", w.log)
	w.fleet.SetFaults(w.now, "node", Faults{APIFailures: 1})
	w.pod("fails", nil)
	w.run(10 * time.Minute)
	assert.Empty(t, w.statuses("fails"))
	w.fleet.SetFaults(w.now, "node", Faults{})
	w.run(10 * time.Minute)
	assert.Contains(t, describeStatus(w.status("fails")), "Running ready")
}
