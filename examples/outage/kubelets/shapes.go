package kubelets

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/outage/model"
)

// containerName is that of the container of each pod.
const containerName = "main"

// shapes is what is alike in all pods, which share it.
type shapes struct {
	containers  []corev1.Container
	annotations map[string]string
	// since is when containers have started that run from the beginning. They are
	// so old that their kubelets trust them.
	since metav1.Time
	ips   uint32
}

func newShapes(now time.Time) shapes {
	return shapes{
		containers: []corev1.Container{{Name: containerName, Image: "main"}},
		annotations: map[string]string{
			cri.AnnotationDomain + "/" + cri.AnnotationStartTime: "2s",
			cri.AnnotationDomain + "/" + cri.AnnotationStopTime:  "1s",
		},
		since: metav1.NewTime(now.Add(-time.Hour)),
	}
}

// Complete implements [model.Kubelets]. The status of a pod that is ready
// becomes what its kubelet would write, so that it finds nothing to write.
func (k *Kubelets) Complete(pod *corev1.Pod) {
	pod.Spec.Containers, pod.Spec.RestartPolicy = k.shapes.containers, corev1.RestartPolicyAlways
	pod.Annotations = k.shapes.annotations
	if pod.Spec.NodeName == "" {
		return
	}
	ready := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady
	})
	if ready < 0 {
		return
	}
	s := &pod.Status
	at := s.Conditions[ready].LastTransitionTime
	s.Conditions = nil
	for _, kind := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady,
		corev1.PodScheduled,
	} {
		s.Conditions = append(s.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: at,
		})
	}
	s.QOSClass, s.StartTime = corev1.PodQOSBestEffort, &k.shapes.since
	s.HostIP, s.PodIP = k.hostIP(pod.Spec.NodeName), k.shapes.newIP()
	s.HostIPs, s.PodIPs = []corev1.HostIP{{IP: s.HostIP}}, []corev1.PodIP{{IP: s.PodIP}}
	image := k.shapes.containers[0].Image
	s.ContainerStatuses = []corev1.ContainerStatus{{
		Name: containerName, Image: image, ImageID: image, ContainerID: "fake://" + string(pod.UID),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: k.shapes.since}},
		Ready: true, Started: ptr.To(true),
	}}
}

// newIP returns an IP that no other pod of the beginning has, in the network of
// the fake runtime.
func (s *shapes) newIP() string {
	s.ips++
	return fmt.Sprintf("10.%d.%d.%d", s.ips>>16&255, s.ips>>8&255, s.ips&255)
}

// hostIP returns what a machine reports as its address.
func (k *Kubelets) hostIP(node string) string {
	status, _ := k.life.NodeStatus(k.world.Now(), node)
	for _, address := range status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			return address.Address
		}
	}
	return ""
}

// plug is how a machine's pods have a network or not, and how often that has
// changed.
type plug struct {
	changes int
	out     bool
}

// annotated returns a node as the edge of its kubelet sees it. The faults of a
// machine are annotations there, and nothing of them is stored.
//
// A machine is not ready at once, and a kubelet looks for the network only when
// it starts and each 5 s. So it starts again with each change.
func (k *Kubelets) annotated(m *model.Machine, node *corev1.Node) *corev1.Node {
	seen := *node
	seen.Annotations = map[string]string{}
	annotate := func(name, value string) { seen.Annotations[cri.AnnotationDomain+"/"+name] = value }
	if !m.Reaches() {
		annotate(kubelet.AnnotationSilent, "")
	}
	if m.Pressed() {
		annotate(kubelet.AnnotationMemoryPressure, "")
	}
	current, known := k.plugs[m]
	if current.out != m.NotReady() {
		current, known = plug{current.changes + 1, m.NotReady()}, true
		k.plugs[m] = current
	}
	if known {
		annotate(kubelet.AnnotationStart, strconv.Itoa(current.changes))
	}
	if current.out {
		annotate(kubelet.AnnotationNetworkDown, "")
	}
	return &seen
}
