package runner

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

// The fleet of BenchmarkSize.
const sizeNodes, podsOfNode = 1000, 5

// BenchmarkSize is the heap that a fleet has while its pods run and nothing
// else happens. What the cluster in memory has is not of it.
func BenchmarkSize(b *testing.B) {
	for b.Loop() {
		nodes, _ := sizeOf(b, 0)
		whole, goroutines := sizeOf(b, sizeNodes*podsOfNode)
		b.ReportMetric(float64(nodes)/sizeNodes, "bytes/node")
		b.ReportMetric(float64(whole-nodes)/(sizeNodes*podsOfNode), "bytes/pod")
		b.ReportMetric(float64(whole)/1e6, "MB-heap")
		b.ReportMetric(float64(goroutines), "goroutines")
	}
	b.ReportMetric(0, "ns/op")
}

// sizeOf returns by how much the heap shrinks when a fleet with this many pods
// stops, and how many goroutines end with it.
func sizeOf(b *testing.B, pods int) (bytes, goroutines int) {
	cluster := memory.NewCluster()
	reached := newReached(sizeNodes, pods)
	stop := startSized(b, cluster, reached)
	for i := range pods {
		_, err := cluster.CoreV1().Pods("default").Create(b.Context(), sizedPod(i), metav1.CreateOptions{})
		require.NoError(b, err)
	}
	<-reached.all
	running, goroutines := heapAtRest(), runtime.NumGoroutine()
	stop()
	bytes, goroutines = running-heapAtRest(), goroutines-runtime.NumGoroutine()
	runtime.KeepAlive(cluster)
	runtime.KeepAlive(reached)
	return bytes, goroutines
}

// heapAtRest returns the heap when it has stopped to change.
func heapAtRest() int {
	heap := heapInUse()
	for {
		before := heap
		if heap = heapInUse(); max(heap-before, before-heap) < heap/1000 {
			return heap
		}
	}
}

func heapInUse() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // finalizers and pools of the first one
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// startSized runs a fleet until stop is called. Nothing of it is left then.
func startSized(b *testing.B, cluster *memory.Cluster, reached *reached) (stop func()) {
	var register []*corev1.Node
	for i := range sizeNodes {
		register = append(register, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("hollow-%05d", i), Labels: map[string]string{corev1.LabelTopologyZone: "zone-1"},
		}})
	}
	client := cluster.NewClient()
	r, err := NewRunner(Config{
		Acting: client, Watching: decoding{client}, Beating: client, Fleet: "size", Register: register,
	})
	require.NoError(b, err)
	_, err = r.nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: reached.updated})
	require.NoError(b, err)
	_, err = r.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: reached.updated})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	return func() {
		r.View(func(*kubelet.Fleet) {}) // what was told has been taken
		cancel()
		running.Wait()
	}
}

// reached closes all when this many nodes and pods are ready in the informers'
// stores.
type reached struct {
	mu    sync.Mutex
	wants int
	ready map[types.UID]bool
	all   chan struct{}
}

func newReached(nodes, pods int) *reached {
	return &reached{wants: nodes + pods, ready: map[types.UID]bool{}, all: make(chan struct{})}
}

func (r *reached) updated(_, object any) {
	var uid types.UID
	switch o := object.(type) {
	case *corev1.Node:
		for _, c := range o.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				uid = o.UID
			}
		}
	case *corev1.Pod:
		for _, c := range o.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				uid = o.UID
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if uid == "" || r.ready[uid] {
		return
	}
	r.ready[uid] = true
	if len(r.ready) == r.wants {
		close(r.all)
	}
}

// decoding is a client whose watches decode each object, as those of a real API
// server do. So no two objects have a string in common.
type decoding struct{ kubernetes.Interface }

func (d decoding) CoreV1() typed.CoreV1Interface { return decodingCore{d.Interface.CoreV1()} }

type decodingCore struct{ typed.CoreV1Interface }

func (d decodingCore) Nodes() typed.NodeInterface { return decodingNodes{d.CoreV1Interface.Nodes()} }

func (d decodingCore) Pods(namespace string) typed.PodInterface {
	return decodingPods{d.CoreV1Interface.Pods(namespace)}
}

type decodingNodes struct{ typed.NodeInterface }

func (d decodingNodes) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return decoded(d.NodeInterface.Watch(ctx, options))
}

type decodingPods struct{ typed.PodInterface }

func (d decodingPods) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return decoded(d.PodInterface.Watch(ctx, options))
}

func decoded(w watch.Interface, err error) (watch.Interface, error) {
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(event watch.Event) (watch.Event, bool) {
		switch o := event.Object.(type) {
		case *corev1.Node:
			event.Object = decode(o, new(corev1.Node))
		case *corev1.Pod:
			event.Object = decode(o, new(corev1.Pod))
		}
		return event, true
	}), nil
}

// decode returns what an object is after its way over the network.
func decode[T interface {
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}](object, into T) T {
	data, err := object.Marshal()
	if err == nil {
		err = into.Unmarshal(data)
	}
	if err != nil {
		panic(err) // the types are those of the API
	}
	return into
}

// sizedPod returns a pod of a Deployment as the API server stores it, with what
// admission has added.
func sizedPod(i int) *corev1.Pod {
	const token = "kube-api-access-x7k2p"
	tolerates := func(key string) corev1.Toleration {
		return corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: ptr.To(int64(300)),
		}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("web-7c6d8f9b5d-%05d", i), GenerateName: "web-7c6d8f9b5d-",
			Labels: map[string]string{"app": "web", "pod-template-hash": "7c6d8f9b5d"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7c6d8f9b5d",
				UID: "6cdbd2a1-7a0d-4b58-9a4c-5d0f0a8a7a10", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
				FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:containers":{}}}`)},
			}},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("hollow-%05d", i%sizeNodes), RestartPolicy: corev1.RestartPolicyAlways,
			DNSPolicy: corev1.DNSClusterFirst, ServiceAccountName: "default", DeprecatedServiceAccount: "default",
			SchedulerName: corev1.DefaultSchedulerName, SecurityContext: &corev1.PodSecurityContext{},
			TerminationGracePeriodSeconds: ptr.To(int64(30)), Priority: ptr.To(int32(0)),
			EnableServiceLinks: ptr.To(true), PreemptionPolicy: ptr.To(corev1.PreemptLowerPriority),
			Tolerations: []corev1.Toleration{tolerates(corev1.TaintNodeNotReady), tolerates(corev1.TaintNodeUnreachable)},
			Containers: []corev1.Container{{
				Name: "main", Image: "registry.example.com/team/web:1.27.3", ImagePullPolicy: corev1.PullIfNotPresent,
				TerminationMessagePath:   corev1.TerminationMessagePathDefault,
				TerminationMessagePolicy: corev1.TerminationMessageReadFile,
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
				}},
				VolumeMounts: []corev1.VolumeMount{{
					Name: token, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
				}},
			}},
			Volumes: []corev1.Volume{{Name: token, VolumeSource: corev1.VolumeSource{
				Projected: &corev1.ProjectedVolumeSource{
					DefaultMode: ptr.To(int32(420)),
					Sources: []corev1.VolumeProjection{
						{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
							ExpirationSeconds: ptr.To(int64(3607)), Path: "token",
						}},
						{ConfigMap: &corev1.ConfigMapProjection{
							LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
							Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
						}},
						{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
							Path:     "namespace",
							FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
						}}}},
					},
				},
			}}},
		},
	}
}
