package conformance

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
	schedulerframework "k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

const (
	admissions   = 4_000
	podsAdmitted = 6
	gpu          = corev1.ResourceName("example.com/gpu")
)

// A node takes the same pods one after the other, and rejects the others for
// the same reasons, in the same words.
func TestAdmissionIsThatOfTheKubelet(t *testing.T) {
	reached := reached{}
	for seed := range seeds(admissions) {
		d := throw(seed)
		node := d.admittingNode()
		fleet, _ := new(kubeletWorld).frozen(t, node)
		upstream := lifecycle.NewPredicateAdmitHandler(
			func(context.Context, bool) (*corev1.Node, error) { return supportingGroups(node), nil },
			lifecycle.NewAdmissionFailureHandlerStub(),
			func(*schedulerframework.NodeInfo, *lifecycle.PodAdmitAttributes) error { return nil })
		var taken []*corev1.Pod
		for i := range podsAdmitted {
			pod := d.arrivingPod(i)
			want := upstream.Admit(t.Context(), &lifecycle.PodAdmitAttributes{Pod: fromAPI(pod), OtherPods: taken})
			fleet.ObservePod(epoch, pod)
			task, ok := fleet.Start(epoch)
			require.True(t, ok, "seed %d: nothing is written of %s", seed, pod.Name)
			fleet.Finish(epoch, task, kubelet.ResultDone)
			require.Equal(t, pod.UID, task.Pod.UID)
			if want.Admit {
				require.NotEqual(t, corev1.PodFailed, task.Status.Phase, "seed %d: %s", seed, task.Status.Message)
				taken = append(taken, pod)
				reached.count("admitted")
				continue
			}
			require.Equal(t, corev1.PodFailed, task.Status.Phase, "seed %d: %s", seed, want.Message)
			require.Equal(t, want.Reason, task.Status.Reason, "seed %d", seed)
			require.Equal(t, "Pod was rejected: "+want.Message, task.Status.Message, "seed %d", seed)
			reached.count("%s", want.Reason)
		}
	}
	reached.require(t, floors{
		"admitted": 5_000, "OutOfpods": 1_500, "OutOfcpu": 1_000, "OutOfmemory": 200, "OutOfephemeral-storage": 50,
		"OutOf" + string(gpu): 60, "NodeAffinity": 400, "NodePorts": 120, "TaintToleration": 2_000,
	})
}

// fromAPI is a pod as the kubelet's configuration hands it on. It writes the
// source, so that no pod of the API passes for a static one. Source:
// pkg/kubelet/config, v1.37.1.
func fromAPI(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[kubetypes.ConfigSourceAnnotationKey] = kubetypes.ApiserverSource
	return pod
}

// supportingGroups is a departure: a hollow node supports the strict policy for
// supplemental groups, because no process has groups there. The copy is
// upstream's to change: its admission sets the label of the system.
func supportingGroups(node *corev1.Node) *corev1.Node {
	node = node.DeepCopy()
	node.Status.Features = &corev1.NodeFeatures{SupplementalGroupsPolicy: new(true)}
	return node
}

// admittingNode has room for a few pods.
func (d dice) admittingNode() *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: hollowNode, Labels: map[string]string{
		corev1.LabelOSStable: pick(d, "linux", "linux", "linux", "windows"), "disk": pick(d, "ssd", "hdd")}}}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(pick(d, "1", "2", "1500m")), corev1.ResourceMemory: resource.MustParse("1Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("10Gi"),
		corev1.ResourcePods:             *resource.NewQuantity(int64(2+d.IntN(5)), ""),
	}
	if d.oneIn(2) {
		node.Status.Allocatable[gpu] = resource.MustParse("2")
	}
	node.Spec.Taints = some(d, 2, func() corev1.Taint {
		return corev1.Taint{Key: pick(d, "a", "b"), Value: pick(d, "", "x"),
			Effect: pick(d, corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule)}
	})
	return node
}

// arrivingPod is one that the scheduler, or another client, has given the node.
func (d dice) arrivingPod(i int) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("pod-%d", i), UID: types.UID(fmt.Sprint(i))},
		Spec:       corev1.PodSpec{NodeName: hollowNode},
	}
	for j := range 1 + d.IntN(2) {
		pod.Spec.Containers = append(pod.Spec.Containers, d.demandingContainer(fmt.Sprintf("c%d", j)))
	}
	if d.oneIn(4) {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, d.demandingContainer("i"))
		if d.oneIn(2) {
			pod.Spec.InitContainers[0].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
	}
	if d.oneIn(8) {
		pod.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("300m")}
	}
	if d.oneIn(8) {
		pod.Spec.NodeSelector = map[string]string{"disk": pick(d, "ssd", "hdd")}
	}
	if d.oneIn(12) {
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{SupplementalGroupsPolicy: new(pick(d,
			corev1.SupplementalGroupsPolicyStrict, corev1.SupplementalGroupsPolicyMerge))}
	}
	if d.oneIn(8) {
		pod.Annotations = map[string]string{"kubernetes.io/config.source": pick(d, "api", "file")}
	}
	pod.Spec.Tolerations = some(d, 2, func() corev1.Toleration {
		return corev1.Toleration{Key: pick(d, "a", "b", ""), Value: pick(d, "", "x"),
			Operator: pick(d, corev1.TolerationOpEqual, corev1.TolerationOpExists)}
	})
	return pod
}

func (d dice) demandingContainer(name string) corev1.Container {
	c := corev1.Container{Name: name, Image: shownImage}
	list := func() corev1.ResourceList {
		l := corev1.ResourceList{}
		for resourceName, amounts := range map[corev1.ResourceName][]string{
			corev1.ResourceCPU: {"0", "300m", "500m", "1"}, corev1.ResourceMemory: {"0", "100Mi", "500Mi"},
		} {
			if d.oneIn(2) {
				l[resourceName] = resource.MustParse(pick(d, amounts...))
			}
		}
		return l
	}
	if d.oneIn(2) {
		c.Resources.Requests = list()
	}
	if d.oneIn(2) {
		c.Resources.Limits = list()
		if d.oneIn(2) {
			c.Resources.Requests = c.Resources.Limits.DeepCopy()
		}
	}
	if c.Resources.Requests == nil {
		c.Resources.Requests = corev1.ResourceList{}
	}
	for resourceName, limit := range c.Resources.Limits { // as the API server does
		if _, set := c.Resources.Requests[resourceName]; !set {
			c.Resources.Requests[resourceName] = limit
		}
	}
	if d.oneIn(8) {
		c.Resources.Requests[corev1.ResourceEphemeralStorage] = resource.MustParse("4Gi")
	}
	if d.oneIn(6) {
		c.Resources.Requests[gpu] = resource.MustParse("1")
	}
	if d.oneIn(4) {
		c.Ports = []corev1.ContainerPort{{
			HostPort: int32(d.IntN(3)), Protocol: pick(d, "", corev1.ProtocolTCP, corev1.ProtocolUDP),
			HostIP: pick(d, "", "0.0.0.0", "10.0.0.1", "10.0.0.2"),
		}}
	}
	return c
}
