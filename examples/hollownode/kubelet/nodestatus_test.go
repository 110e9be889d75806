package kubelet

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// The cases of TestReadyCondition in pkg/kubelet/nodestatus, v1.37.1. Left out
// are one about cgroups and the four about transitions, which heartbeat.Sender
// has. So are two about a node without a resource, because none is here.
func TestReadyNamesAllProblems(t *testing.T) {
	for _, test := range []struct {
		problems []error
		reason   string
		message  string
	}{
		{nil, "KubeletReady", "kubelet is posting ready status"},
		{[]error{errors.New("some storage error")}, "KubeletNotReady", "some storage error"},
		{[]error{errors.New("node is shutting down")}, "KubeletNotReady", "node is shutting down"},
		{[]error{errors.New("runtime"), errors.New("network")}, "KubeletNotReady", "[runtime, network]"},
	} {
		c := readyCondition(test.problems)
		assert.Equal(t, test.reason, c.Reason)
		assert.Equal(t, test.message, c.Message)
		assert.Equal(t, test.reason == "KubeletReady", c.Status == corev1.ConditionTrue)
		assert.Equal(t, corev1.NodeReady, c.Type)
	}
}

// ready returns the condition Ready of a node in a line.
func (w *world) ready(name string) string {
	w.t.Helper()
	s, found := w.fleet.NodeStatus(w.now, name)
	require.True(w.t, found)
	last := s.Conditions[len(s.Conditions)-1]
	require.Equal(w.t, corev1.NodeReady, last.Type, "it is the last, for older observers")
	return fmt.Sprint(last.Status, " ", last.Message)
}

const isReady = "True kubelet is posting ready status"

// The last good check is at 10 s and the last relist at 12 s.
func TestReadyFollowsTheAgeOfTheLastGoodAnswer(t *testing.T) {
	w := newWorld(t, "node")
	w.run(12500 * time.Millisecond)
	w.fleet.SetFaults(w.now, "node", Faults{RuntimeDown: true})
	w.run(27500*time.Millisecond - 1)
	assert.Equal(t, isReady, w.ready("node"))
	w.run(1)
	assert.Equal(t, "False container runtime is down", w.ready("node"))
	w.run(152 * time.Second)
	assert.Equal(t, "False container runtime is down", w.ready("node"), "3 min are over after them")
	w.run(time.Second)
	assert.Equal(t, "False [container runtime is down, PLEG is not healthy: pleg was last seen active 3m1s ago; "+
		"threshold is 3m0s]", w.ready("node"))
	w.fleet.SetFaults(w.now, "node", Faults{})
	w.run(time.Second)
	assert.Equal(t, "False container runtime is down", w.ready("node"), "no check has seen it yet")
	w.run(time.Second)
	assert.Equal(t, isReady, w.ready("node"), "the check at 195 s has")
}

func TestAMissingNetworkIsShownByTheNextCheck(t *testing.T) {
	w := newWorld(t, "node")
	w.run(2 * time.Second)
	w.fleet.SetFaults(w.now, "node", Faults{NetworkDown: true})
	w.run(3*time.Second - 1)
	assert.Equal(t, isReady, w.ready("node"))
	w.run(1)
	assert.Contains(t, w.ready("node"), "False container runtime network not ready: NetworkReady=false reason:")
	w.fleet.SetFaults(w.now, "node", Faults{})
	w.run(5 * time.Second)
	assert.Equal(t, isReady, w.ready("node"))
}

// A kubelet whose runtime comes up late checks it each 100 ms. It reports its
// first Ready at once, and once. That ends after 120 s, or if the node shows
// Ready.
func TestTheFirstReadyIsSearchedForEach100Milliseconds(t *testing.T) {
	late := Faults{RuntimeDown: true}
	for _, test := range []struct {
		name        string
		faults      Faults
		shown       corev1.ConditionStatus
		up, readyAt time.Duration
		want        []string
	}{
		{"within 120 s", late, corev1.ConditionFalse, 62030 * time.Millisecond, 62100 * time.Millisecond,
			[]string{"1m2.1s ReportNode node"}},
		{"at the last check", late, corev1.ConditionUnknown, 119850 * time.Millisecond, 119900 * time.Millisecond,
			[]string{"1m59.9s ReportNode node"}},
		{"too late", late, corev1.ConditionFalse, 121 * time.Second, 125 * time.Second, nil},
		{"shown before", late, corev1.ConditionTrue, 62030 * time.Millisecond, 65 * time.Second, nil},
		{"network", Faults{NetworkDown: true}, corev1.ConditionFalse, 2030 * time.Millisecond,
			2100 * time.Millisecond, []string{"2.1s ReportNode node"}},
	} {
		w := newWorld(t)
		w.fleet.ObserveNode(w.now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: test.shown}}}})
		w.fleet.SetFaults(w.now, "node", test.faults)
		w.restartKubelet("node")
		w.run(test.up)
		w.fleet.SetFaults(w.now, "node", Faults{})
		w.run(test.readyAt - test.up - 1)
		assert.NotEqual(t, isReady, w.ready("node"), test.name)
		w.run(1)
		assert.Equal(t, isReady, w.ready("node"), test.name)
		w.run(10 * time.Second)
		// Another outage is an ordinary one.
		w.fleet.SetFaults(w.now, "node", Faults{NetworkDown: true})
		w.run(10 * time.Second)
		w.fleet.SetFaults(w.now, "node", Faults{})
		w.run(time.Minute)
		assert.Equal(t, isReady, w.ready("node"), test.name)
		assert.Equal(t, test.want, w.nodeLog, test.name)
	}
}

func TestAKubeletWithoutARuntimeAtItsStartSaysSo(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.SetFaults(w.now, "node", Faults{RuntimeDown: true})
	w.restartKubelet("node")
	assert.Equal(t, "False [container runtime status check may not have completed yet, "+
		"PLEG is not healthy: pleg has yet to be successful, network state unknown]", w.ready("node"))
}

func TestPressureIsShownAndRefusesPods(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.SetFaults(w.now, "node", Faults{MemoryPressure: true})
	s, _ := w.fleet.NodeStatus(w.now, "node")
	assert.Equal(t, nodeCondition(corev1.NodeMemoryPressure, true, "KubeletHasInsufficientMemory",
		"kubelet has insufficient memory available"), s.Conditions[0])
	assert.Equal(t, nodeCondition(corev1.NodeDiskPressure, false, "KubeletHasNoDiskPressure",
		"kubelet has no disk pressure"), s.Conditions[1])
	assert.Equal(t, nodeCondition(corev1.NodePIDPressure, false, "KubeletHasSufficientPID",
		"kubelet has sufficient PID available"), s.Conditions[2])
	burstable := func(p *corev1.Pod) { p.Status.QOSClass = corev1.PodQOSBurstable }
	bestEffort := func(p *corev1.Pod) { p.Status.QOSClass = corev1.PodQOSBestEffort }
	tolerate := func(p *corev1.Pod) {
		bestEffort(p)
		p.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists}}
	}
	critical := func(p *corev1.Pod) { bestEffort(p); p.Spec.Priority = ptr.To(int32(2_000_000_000)) }
	w.pod("best-effort", bestEffort)
	w.pod("burstable", burstable)
	w.pod("tolerates", tolerate)
	w.pod("critical", critical)
	w.run(time.Second)
	assert.Equal(t, "Failed Evicted", describeStatus(w.status("best-effort")))
	assert.Equal(t, "Pod was rejected: The node had condition: [MemoryPressure]. ", w.status("best-effort").Message)
	for _, name := range []string{"burstable", "tolerates", "critical"} {
		assert.Contains(t, w.statuses(name), "PatchStatus Running ready c:running", name)
	}
	w.fleet.SetFaults(w.now, "node", Faults{MemoryPressure: true, DiskPressure: true})
	w.pod("burstable-2", burstable)
	w.pod("critical-2", critical)
	w.run(time.Second)
	assert.Equal(t, "Pod was rejected: The node had condition: [DiskPressure MemoryPressure]. ",
		w.status("burstable-2").Message)
	assert.Contains(t, w.statuses("critical-2"), "PatchStatus Running ready c:running")
}

// Of each resource the object says what there is, or else the configuration of
// the fleet, or else its default.
func TestCapacityOfTheObjectHolds(t *testing.T) {
	w := newWorld(t)
	sizes := func(of corev1.ResourceList) string {
		return fmt.Sprint(of.Cpu(), of.Memory(), of.StorageEphemeral(), of.Pods())
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	w.fleet.ObserveNode(w.now, node)
	s, _ := w.fleet.NodeStatus(w.now, "node")
	assert.Equal(t, "32 256Gi 1Ti 110", sizes(s.Capacity))
	assert.Equal(t, s.Capacity, s.Allocatable)
	var err error
	w.fleet, err = NewFleet(FleetConfig{Runtime: w.runtime,
		Capacity: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("8Gi")}}, w.now)
	require.NoError(t, err)
	node = node.DeepCopy()
	own := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	node.Status.Capacity = own
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
	w.fleet.ObserveNode(w.now, node)
	s, _ = w.fleet.NodeStatus(w.now, "node")
	assert.Equal(t, "4 8Gi 1Ti 110", sizes(s.Capacity))
	assert.Equal(t, "3 8Gi 1Ti 110", sizes(s.Allocatable))
	assert.Len(t, own, 1, "the caller's object is only read")
	assert.Equal(t, isReady, w.ready("node"))
	_, found := w.fleet.NodeStatus(w.now, "unknown")
	assert.False(t, found)
}

func TestANodeRegistersUntilItIsObserved(t *testing.T) {
	w := newWorld(t)
	failures := 0
	w.refuse = func(Task) bool { failures++; return failures <= 8 }
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{"zone": "a"}}}
	node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	require.NoError(t, w.fleet.Register(w.now, node))
	require.ErrorIs(t, w.fleet.Register(w.now, &corev1.Node{}), ErrInvalidConfig)
	w.run(time.Minute)
	const refused = " RegisterNode node refused"
	assert.Equal(t, []string{
		"0s" + refused, "100ms" + refused, "300ms" + refused, "700ms" + refused, "1.5s" + refused, "3.1s" + refused,
		"6.3s" + refused, "12.7s" + refused, "19.7s RegisterNode node",
	}, w.nodeLog, "the waits double up to 7 s")
	made := w.fleet.nodes["node"].object
	assert.Equal(t, node.Labels, made.Labels)
	assert.Equal(t, node.Spec.Taints, made.Spec.Taints)
	assert.Equal(t, defaultCapacity(), made.Status.Allocatable)
	assert.Len(t, made.Status.Conditions, 4)
	assert.Empty(t, node.Status.Conditions, "the caller's object is only read")

	w.nodeLog = nil
	require.NoError(t, w.fleet.Register(w.now, node))
	w.run(time.Minute)
	assert.Empty(t, w.nodeLog, "it is registered")
}

func TestANodeThatWaitsToRegisterIsNotForgotten(t *testing.T) {
	w := newWorld(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Annotations: map[string]string{
		cri.AnnotationDomain + "/" + AnnotationAPILatency: "2s",
	}}}
	for range 2 {
		require.NoError(t, w.fleet.Register(w.now, node))
	}
	require.NoError(t, w.fleet.SetStaticPods(w.now, []*corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{Name: "static"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image"}}},
	}}))
	w.run(time.Second)
	assert.Equal(t, 1, w.fleet.Unregistered())
	w.run(2 * time.Second)
	assert.Equal(t, []string{"2s RegisterNode node"}, w.nodeLog)
	w.fleet.ObserveNode(w.now, node)
	assert.Zero(t, w.fleet.Unregistered())
}

func TestAStartThatListsDoesItOnceForEachStart(t *testing.T) {
	w := newWorld(t)
	w.fleet.config.ListPods = true
	w.fleet.ObserveNode(w.now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
	w.fleet.ObserveNode(w.now, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}})
	w.run(time.Minute)
	w.restartKubelet("node")
	w.run(time.Minute)
	assert.Equal(t, []string{"0s ListPods node", "1m0s ListPods node"}, w.nodeLog)
}
