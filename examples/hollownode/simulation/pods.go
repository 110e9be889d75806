package simulation

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// drawer draws a pod. The same number gives the same pod.
type drawer struct {
	*rand.Rand

	pod *corev1.Pod
}

// podOf returns the pod of a number, for a node.
func podOf(number int, name, node string) *corev1.Pod {
	d := drawer{rand.New(rand.NewPCG(uint64(number), 3)), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{NodeName: node},
	}}
	spec := &d.pod.Spec
	spec.RestartPolicy = pick(d, corev1.RestartPolicyAlways, corev1.RestartPolicyAlways,
		corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	spec.TerminationGracePeriodSeconds = ptr.To(pick[int64](d, 0, 1, 5, 30, 30))
	spec.HostNetwork = d.IntN(8) == 0
	if d.IntN(7) == 0 {
		spec.ActiveDeadlineSeconds = ptr.To(10 + d.Int64N(200))
	}
	if d.IntN(10) == 0 {
		spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "shop/gate"}}
	}
	for i := range pick(d, 0, 0, 1, 2) {
		spec.InitContainers = append(spec.InitContainers, d.initContainer(fmt.Sprint("init-", i)))
	}
	if d.IntN(4) == 0 {
		spec.InitContainers = append(spec.InitContainers, d.sidecar("side"))
	}
	for i := range 1 + d.IntN(2) {
		spec.Containers = append(spec.Containers, d.mainContainer(fmt.Sprint("main-", i)))
	}
	d.set("", cri.AnnotationSandboxTime, "0s", "0s", "1s")
	d.set("", cri.AnnotationSandboxFailures, "0", "0", "0", "0", "1", "3")
	d.set("", cri.AnnotationMountTime, "0s", "0s", "2s", "40s", "3m")
	d.set("", cri.AnnotationUnmountTime, "0s", "0s", "2s", "20s")
	d.set("", cri.AnnotationMountFailures, "0", "0", "0", "0", "0", "0", "0", "0", "1", "2", "all")
	d.set("", cri.AnnotationUnmountFailures, "0", "0", "0", "0", "0", "0", "0", "1")
	return d.pod
}

// pick draws one of several values.
func pick[T any](d drawer, values ...T) T { return values[d.IntN(len(values))] }

// set draws an annotation of a container, or of the pod itself.
func (d drawer) set(container, name string, values ...string) {
	key := cri.AnnotationDomain + "/" + name
	if container != "" {
		key = container + "." + key
	}
	d.pod.Annotations[key] = pick(d, values...)
}

// container draws what all containers have.
func (d drawer) container(name string) corev1.Container {
	c := corev1.Container{Name: name, Image: fmt.Sprint("image-", d.IntN(4))}
	c.ImagePullPolicy = pick(d, corev1.PullIfNotPresent, corev1.PullIfNotPresent, corev1.PullAlways)
	d.set(name, cri.AnnotationPullTime, "0s", "1s", "15s")
	d.set(name, cri.AnnotationPullFailures, "0", "0", "0", "0", "1", "2", "all")
	d.set(name, cri.AnnotationStartTime, "0s", "0s", "1s")
	d.set(name, cri.AnnotationStartFailures, "0", "0", "0", "0", "0", "1", "2")
	d.set(name, cri.AnnotationStopTime, "0s", "0s", "1s", "4s", "20s", "forever")
	d.set(name, cri.AnnotationStopCode, "0", "0", "143")
	return c
}

// initContainer draws one that runs and succeeds, mostly.
func (d drawer) initContainer(name string) corev1.Container {
	c := d.container(name)
	d.set(name, cri.AnnotationRunTime, "0s", "1s", "7s", "30s")
	d.set(name, cri.AnnotationExitCode, "0", "0", "0", "0", "1,0", "1,1,0", "1")
	return c
}

// sidecar draws an init container that runs as long as the pod.
func (d drawer) sidecar(name string) corev1.Container {
	c := d.container(name)
	c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	if d.IntN(2) == 0 {
		c.StartupProbe = d.probe(name, cri.AnnotationStartupTime, "0s", "3s", "20s")
		c.StartupProbe.FailureThreshold = 30
	}
	d.set(name, cri.AnnotationRunTime, "forever", "forever", "forever", "50s")
	return c
}

// mainContainer draws one with probes and hooks.
func (d drawer) mainContainer(name string) corev1.Container {
	c := d.container(name)
	c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(pick(d, "0", "500m", "1", "2"))}
	if d.IntN(5) == 0 {
		c.Ports = []corev1.ContainerPort{{HostPort: 8080 + d.Int32N(2), ContainerPort: 80}}
	}
	if d.IntN(2) == 0 {
		c.ReadinessProbe = d.probe(name, cri.AnnotationReadyTime, "0s", "4s", "30s")
	}
	if d.IntN(4) == 0 {
		c.LivenessProbe = d.probe(name, cri.AnnotationLiveTime, "forever", "forever", "25s", "3m")
	}
	if d.IntN(6) == 0 {
		c.StartupProbe = d.probe(name, cri.AnnotationStartupTime, "0s", "5s", "2m")
		c.StartupProbe.FailureThreshold = pick[int32](d, 3, 60)
	}
	if d.IntN(3) == 0 {
		c.Lifecycle = &corev1.Lifecycle{PreStop: d.hook(), PostStart: d.hook()}
		d.set(name, cri.AnnotationPreStopTime, "0s", "3s", "20s", "1m")
		d.set(name, cri.AnnotationPostStartTime, "0s", "2s", "40s")
		d.set(name, cri.AnnotationPostStartFailures, "0", "0", "1")
	}
	d.set(name, cri.AnnotationRunTime, "forever", "forever", "forever", "0s", "5s", "1m", "8s,forever", "11m")
	d.set(name, cri.AnnotationExitCode, "0", "1", "1,0", "1,1,1,0")
	return c
}

func (d drawer) hook() *corev1.LifecycleHandler {
	return &corev1.LifecycleHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)}}
}

func (d drawer) probe(container, annotation string, values ...string) *corev1.Probe {
	d.set(container, annotation, values...)
	return &corev1.Probe{
		PeriodSeconds: 1 + d.Int32N(5), FailureThreshold: 1 + d.Int32N(3), SuccessThreshold: 1,
		InitialDelaySeconds: pick[int32](d, 0, 0, 0, 6),
	}
}
