package edge

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

// write is one that a kubelet sends of a pod, with its time.
type write struct {
	after  time.Duration
	kind   kubelet.TaskKind
	status corev1.PodStatus
}

// life returns all writes of a pod that is deleted after two minutes.
func life(t *testing.T, pod *corev1.Pod) (writes []write) {
	t.Helper()
	runtime, err := cri.NewFake(start)
	require.NoError(t, err)
	fleet, err := kubelet.NewFleet(kubelet.FleetConfig{Runtime: runtime}, start)
	require.NoError(t, err)
	fleet.MarkSynced(start)
	node := newNode()
	node.Labels = map[string]string{"disk": "slow"}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourcePods: resource.MustParse("9"),
	}
	fleet.ObserveNode(start, node)
	first := newPod("first")
	first.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
	fleet.ObservePod(start, first)
	if pod.Annotations["tainted"] != "" {
		node = node.DeepCopy()
		node.Spec.Taints = []corev1.Taint{{Key: "t", Effect: corev1.TaintEffectNoExecute}}
		fleet.ObserveNode(start, node)
	}
	fleet.SetFaults(start, node.Name, kubelet.Faults{
		PIDPressure: pod.Annotations["pressure"] != "", NetworkDown: pod.Annotations["network-down"] != "",
	})
	for now := start; now.Before(start.Add(5 * time.Minute)); now = now.Add(time.Second) {
		switch now.Sub(start) {
		case 10 * time.Second: // the first check has found what is wrong
			fleet.ObservePod(now, pod)
		case 2 * time.Minute:
			pod = pod.DeepCopy()
			pod.DeletionTimestamp = &metav1.Time{Time: now}
			pod.DeletionGracePeriodSeconds = pod.Spec.TerminationGracePeriodSeconds
			fleet.ObservePod(now, pod)
		}
		for task, ok := fleet.Start(now); ok; task, ok = fleet.Start(now) {
			if task.Pod != nil && task.Pod.UID == pod.UID {
				writes = append(writes, write{now.Sub(start), task.Kind, task.Status})
			}
			fleet.Finish(now, task, kubelet.ResultDone)
		}
	}
	return writes
}

// Each case depends on a field that must be kept: without it, the kubelet
// writes other things.
func TestATrimmedPodLivesAsTheWholeOne(t *testing.T) {
	onMain := func(change func(c *corev1.Container)) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { change(&pod.Spec.Containers[0]) }
	}
	probe := func(seconds int32) *corev1.Probe {
		return &corev1.Probe{InitialDelaySeconds: seconds, ProbeHandler: corev1.ProbeHandler{
			TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)},
		}}
	}
	hook := &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 1}}
	cases := map[string]func(pod *corev1.Pod){
		"generation":    func(pod *corev1.Pod) { pod.Generation = 7 },
		"node selector": func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"disk": "fast"} },
		"node affinity": func(pod *corev1.Pod) {
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: "disk", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"slow"}},
					}}},
				},
			}}
		},
		"toleration": func(pod *corev1.Pod) {
			pod.Annotations["tainted"] = "true"
			pod.Spec.Tolerations = []corev1.Toleration{{Key: "t", Operator: corev1.TolerationOpExists}}
		},
		"priority": func(pod *corev1.Pod) {
			pod.Annotations["pressure"] = "true"
			pod.Spec.Priority = ptr.To(int32(2_000_000_000))
		},
		"host network": func(pod *corev1.Pod) {
			pod.Annotations["network-down"] = "true"
			pod.Spec.HostNetwork = true
		},
		"overhead": func(pod *corev1.Pod) {
			pod.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
		},
		"resources": func(pod *corev1.Pod) {
			pod.Spec.Resources = &corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")},
			}
		},
		"readiness gate": func(pod *corev1.Pod) {
			pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/gate"}}
		},
		"restart policy": func(pod *corev1.Pod) {
			pod.Annotations[cri.AnnotationDomain+"/run-time"] = "5s"
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
		},
		"active deadline": func(pod *corev1.Pod) { pod.Spec.ActiveDeadlineSeconds = ptr.To(int64(20)) },
		"grace period": func(pod *corev1.Pod) {
			pod.Annotations[cri.AnnotationDomain+"/stop-time"] = "1h"
			pod.Spec.TerminationGracePeriodSeconds = ptr.To(int64(70))
		},
		"init container": func(pod *corev1.Pod) {
			pod.Spec.InitContainers = []corev1.Container{{
				Name: "init", Image: "image", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
			}}
		},
		"image":       onMain(func(c *corev1.Container) { c.Image = "other" }),
		"pull policy": onMain(func(c *corev1.Container) { c.Image, c.ImagePullPolicy = "none", corev1.PullNever }),
		"requests of a container": onMain(func(c *corev1.Container) {
			c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
		}),
		"host port": onMain(func(c *corev1.Container) { c.Ports = []corev1.ContainerPort{{HostPort: 80}} }),
		"postStart hook": func(pod *corev1.Pod) {
			pod.Annotations[cri.AnnotationDomain+"/post-start-failures"] = "all"
			pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: hook}
		},
		"preStop hook": func(pod *corev1.Pod) {
			pod.Annotations[cri.AnnotationDomain+"/pre-stop-time"] = "20s"
			pod.Spec.TerminationGracePeriodSeconds = ptr.To(int64(30))
			pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: hook}
		},
		"startup probe":   onMain(func(c *corev1.Container) { c.StartupProbe = probe(15) }),
		"readiness probe": onMain(func(c *corev1.Container) { c.ReadinessProbe = probe(15) }),
		"liveness probe": func(pod *corev1.Pod) {
			pod.Annotations[cri.AnnotationDomain+"/live-time"] = "10s"
			pod.Spec.Containers[0].LivenessProbe = probe(1)
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			pod := newPod("pod")
			pod.Annotations = map[string]string{}
			plain := pod.DeepCopy()
			change(pod)
			plain.Annotations = pod.Annotations
			trimmer := new(Trimmer)
			_, err := trimmer.Trim(plain.DeepCopy()) // the two must not count as equal
			require.NoError(t, err)
			trimmed, err := trimmer.Trim(pod.DeepCopy())
			require.NoError(t, err)
			whole := life(t, pod)
			require.NotEqual(t, life(t, plain), whole, "the field matters")
			assert.Equal(t, whole, life(t, trimmed.(*corev1.Pod)))
		})
	}
}

func TestTrimDropsWhatIsLarge(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}}
	pod := &corev1.Pod{ObjectMeta: *meta.DeepCopy(), Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{{Name: "v"}}, Containers: []corev1.Container{{Name: "c", Args: []string{"x"}}},
	}}
	trimmer := new(Trimmer)
	trimmed, err := trimmer.Trim(pod)
	require.NoError(t, err)
	assert.Equal(t, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}},
	}, trimmed)
	node := &corev1.Node{ObjectMeta: *meta.DeepCopy(), Status: corev1.NodeStatus{
		Images: []corev1.ContainerImage{{SizeBytes: 1}}, Phase: corev1.NodeRunning,
	}}
	trimmed, err = trimmer.Trim(node)
	require.NoError(t, err)
	assert.Equal(t, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.NodeStatus{Phase: corev1.NodeRunning},
	}, trimmed)
	trimmed, err = trimmer.Trim("a tombstone's key")
	require.NoError(t, err)
	assert.Equal(t, "a tombstone's key", trimmed)
}

// A decoder appends, which leaves room for twice as many.
func TestTrimLeavesNoRoomForMoreConditions(t *testing.T) {
	pod := newPod("a")
	for range 9 {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady})
	}
	before := cap(pod.Status.Conditions)
	trimmed, err := new(Trimmer).Trim(pod)
	require.NoError(t, err)
	got := trimmed.(*corev1.Pod).Status.Conditions
	assert.Equal(t, pod.Status.Conditions, got)
	assert.Less(t, cap(got), before)
}

// of trims a copy of an object that has no memory in common with it.
func of[T interface {
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}](t *testing.T, trimmer *Trimmer, object, into T) T {
	t.Helper()
	data, err := object.Marshal()
	require.NoError(t, err)
	require.NoError(t, into.Unmarshal(data))
	trimmed, err := trimmer.Trim(into)
	require.NoError(t, err)
	return trimmed.(T)
}

func TestTrimKeepsTheSpecOfATemplateOnce(t *testing.T) {
	trimmer := new(Trimmer)
	pod := newPod("a")
	pod.Spec.InitContainers = []corev1.Container{{Name: "init"}}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "t"}}
	first := of(t, trimmer, pod, new(corev1.Pod))
	before := first.DeepCopy()

	other := pod.DeepCopy()
	other.Name, other.Spec.NodeName = "b", "elsewhere"
	second := of(t, trimmer, other, new(corev1.Pod))
	assert.Equal(t, "elsewhere", second.Spec.NodeName)
	assert.Same(t, &first.Spec.Containers[0], &second.Spec.Containers[0])
	assert.Same(t, &first.Spec.InitContainers[0], &second.Spec.InitContainers[0])
	assert.Same(t, &first.Spec.Tolerations[0], &second.Spec.Tolerations[0])

	other.Spec.Containers[0].Image = "other"
	other.Spec.InitContainers[0].Image = "other"
	third := of(t, trimmer, other, new(corev1.Pod))
	assert.Equal(t, "other", third.Spec.Containers[0].Image)
	assert.Equal(t, before, first, "later pods change nothing of it")
	assert.Equal(t, before.Spec.Containers, second.Spec.Containers)
}

func TestTrimKeepsEqualConditionsOnce(t *testing.T) {
	trimmer := new(Trimmer)
	at := func(now time.Time) *corev1.Pod {
		pod := newPod("a")
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now),
		}}
		return pod
	}
	first := of(t, trimmer, at(start), new(corev1.Pod)).Status.Conditions
	assert.Same(t, &first[0], &of(t, trimmer, at(start), new(corev1.Pod)).Status.Conditions[0])
	later := of(t, trimmer, at(start.Add(time.Second)), new(corev1.Pod)).Status.Conditions
	assert.True(t, later[0].LastTransitionTime.Equal(&metav1.Time{Time: start.Add(time.Second)}))
	assert.True(t, first[0].LastTransitionTime.Equal(&metav1.Time{Time: start}))
}

func TestTrimKeepsOnceWhatNodesHaveInCommon(t *testing.T) {
	trimmer := new(Trimmer)
	node := newNode()
	node.Labels = map[string]string{"zone": "a"}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	node.Status.Allocatable = node.Status.Capacity
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: node.Name}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Message: "kubelet is posting"}}
	node.Status.NodeInfo.OSImage = "an image"
	first := of(t, trimmer, node, new(corev1.Node))
	second := of(t, trimmer, node, new(corev1.Node))
	require.True(t, apiequality.Semantic.DeepEqual(node, first), "%v", first)
	assert.Equal(t, first, second)
	for name, two := range map[string][2]string{
		"name": {first.Name, second.Name}, "address": {first.Name, second.Status.Addresses[0].Address},
		"message": {first.Status.Conditions[0].Message, second.Status.Conditions[0].Message},
		"label":   {first.Labels["zone"], second.Labels["zone"]},
		"image":   {first.Status.NodeInfo.OSImage, second.Status.NodeInfo.OSImage},
	} {
		assert.Same(t, unsafe.StringData(two[0]), unsafe.StringData(two[1]), name)
	}
	first.Status.Capacity["pods"] = resource.MustParse("1") // no caller may do that
	assert.Equal(t, first.Status.Capacity, second.Status.Allocatable, "it is one list")
}

// The memory of a process with ever new templates does not grow.
func TestTrimForgetsFormerTemplates(t *testing.T) {
	trimmer := new(Trimmer)
	for i := range 3 * mostKept {
		pod := newPod("a")
		pod.Spec.Containers[0].Image = fmt.Sprint(i)
		trimmed := of(t, trimmer, pod, new(corev1.Pod))
		require.Equal(t, fmt.Sprint(i), trimmed.Spec.Containers[0].Image)
		require.LessOrEqual(t, len(trimmer.specs.known), mostKept)
	}
}
