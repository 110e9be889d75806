package kubelet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestANodeRejectsWhatItCannotTake(t *testing.T) {
	node := &corev1.Node{}
	node.Name = "node"
	node.Labels = map[string]string{"disk": "ssd"}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Gi"), corev1.ResourcePods: resource.MustParse("3"),
		"example.com/gpu": resource.MustParse("1"),
	}
	node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute},
		{Key: "n", Effect: corev1.TaintEffectNoSchedule}}
	request := func(name corev1.ResourceName, quantity string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{name: resource.MustParse(quantity)}
		}
	}
	tolerate := func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
	}
	port := func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} }
	other := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
	request(corev1.ResourceCPU, "1500m")(other)
	port(other)
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		others int
		want   Rejection
	}{
		"fits": {request(corev1.ResourceCPU, "500m"), 1, Rejection{}},
		"cpu": {request(corev1.ResourceCPU, "501m"), 1, Rejection{"OutOfcpu",
			"Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000"}},
		"memory": {request(corev1.ResourceMemory, "2Gi"), 0, Rejection{"OutOfmemory",
			"Node didn't have enough resource: memory, requested: 2147483648, used: 0, capacity: 1073741824"}},
		"storage": {request(corev1.ResourceEphemeralStorage, "2Gi"), 0, Rejection{"OutOfephemeral-storage",
			"Node didn't have enough resource: ephemeral-storage, requested: 2147483648, used: 0, capacity: 1073741824"}},
		"extended": {request("example.com/gpu", "2"), 0, Rejection{"OutOfexample.com/gpu",
			"Node didn't have enough resource: example.com/gpu, requested: 2, used: 0, capacity: 1"}},
		"extended, unknown to the node": {request("example.com/tpu", "2"), 0, Rejection{}},
		"pods": {nil, 3, Rejection{"OutOfpods",
			"Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"}},
		"affinity": {func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "hdd"} }, 0, Rejection{
			"NodeAffinity",
			"Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"}},
		"ports": {port, 1, Rejection{"NodePorts",
			"Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"}},
		"taint": {func(p *corev1.Pod) { p.Spec.Tolerations = nil }, 0, Rejection{"TaintToleration",
			"Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"}},
		"taint, static": {func(p *corev1.Pod) {
			p.Spec.Tolerations, p.Annotations = nil, map[string]string{"kubernetes.io/config.source": "file"}
		}, 0, Rejection{}},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
		tolerate(pod)
		if test.change != nil {
			test.change(pod)
		}
		var used usage
		for range test.others + 1 {
			used.add(other)
		}
		used.remove(other)
		assert.Equal(t, test.want, admit(node, pod, &used), name)
	}
	assert.Empty(t, admit(&corev1.Node{}, other, &usage{}), "a node without allocatable resources enforces none")
}

func TestARejectedPodFailsAndTakesNothing(t *testing.T) {
	w := newWorld(t)
	node := &corev1.Node{}
	node.Name = "node"
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
	w.pod("a", nil)
	w.pod("b", nil)
	w.run(time.Second)
	assert.Empty(t, w.log, "pods wait for their node")
	w.fleet.ObserveNode(w.now, node)
	w.run(time.Second)
	assert.Contains(t, w.statuses("a"), "PatchStatus Running ready c:running")
	assert.Equal(t, []string{"PatchStatus Failed OutOfpods"}, w.statuses("b"))
	assert.Contains(t, w.status("b").Message, "Pod was rejected: Node didn't have enough resource: pods")
	_, found := w.runtime.Pod(w.now, "b")
	assert.False(t, found)
	w.delete("b", 0)
	w.delete("a", 0)
	w.run(10 * time.Second)
	assert.Empty(t, w.pods)
	w.pod("c", nil)
	w.run(time.Second)
	assert.Contains(t, w.statuses("c"), "PatchStatus Running ready c:running", "there is room again")
}

func TestARunningPodThatIsRejectedAfterARestartStops(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil)
	w.run(time.Second)
	w.restart()
	node := &corev1.Node{}
	node.Name = "node"
	node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}
	w.fleet.ObserveNode(w.now, node)
	w.observe(w.pods["a"])
	w.run(time.Minute)
	assert.Equal(t, corev1.PodFailed, w.status("a").Phase)
	assert.Equal(t, "TaintToleration", w.status("a").Reason)
	_, found := w.runtime.Pod(w.now, "a")
	assert.False(t, found)
}

// What was restarted, and how it has ended, is not lost with the admission.
func TestAPodThatIsRejectedAfterARestartKeepsItsContainers(t *testing.T) {
	w := newWorld(t, "node")
	w.pod("a", nil, "run-time", "5s,forever", "stop-time", "1s")
	w.run(time.Minute)
	w.fleet.SetFaults(w.now, "node", Faults{DiskPressure: true})
	w.log = nil
	w.restartKubelet("node")
	w.run(time.Minute)
	assert.Equal(t, []string{
		"1m0s PatchStatus a Running c:running/1",
		"1m1s PatchStatus a Failed Evicted c:exited=0/1",
	}, w.log)
}

// Nothing runs of it any more, so nothing must be shown as running.
func TestAPodThatIsRejectedAfterItsContainersAreGoneShowsNoneThatRuns(t *testing.T) {
	w := newWorld(t, "node")
	w.fleet.SetFaults(w.now, "node", Faults{DiskPressure: true})
	w.pod("a", func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "c", ContainerID: "lost", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}
	})
	w.run(time.Minute)
	assert.Equal(t, []string{"0s PatchStatus a Failed Evicted c:exited=137"}, w.log)
}
