package hollow

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/core/v1"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
	"github.com/kubelife/lifecycle/examples/hollownode/runner"
)

const (
	namespace = metav1.NamespaceDefault
	// podsPerNode is the kubelet's default of --max-pods.
	podsPerNode = 110
	zones       = 4
	// fleetName is the value of the label of all nodes.
	fleetName = "default"
	// lookPeriod is how often the script looks at its caches.
	lookPeriod = 50 * time.Millisecond
	// patience bounds each wait. On two cores that others use as well, 60 pods a
	// second become ready.
	patience = 15 * time.Minute
)

// A cluster is a control plane with nodes, and a watch that shows nodes and
// pods to the script.
type cluster struct {
	*sidebyside.Stage
	informers informers.SharedInformerFactory
	nodes     listers.NodeLister
	pods      listers.PodNamespaceLister
	stopping  context.CancelFunc
}

// newCluster registers nodes, which nothing runs yet. After an error nothing is
// left.
func newCluster(ctx context.Context, stage *sidebyside.Stage, nodes int) (*cluster, error) {
	c := &cluster{Stage: stage}
	if err := c.start(ctx, nodes); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (c *cluster) start(ctx context.Context, nodes int) error {
	watching, err := c.ClientOf("script-watch") // a connection of its own
	if err != nil {
		return err
	}
	if err := sidebyside.Each(ctx, nodes, c.register); err != nil {
		return err
	}
	c.informers = informers.NewSharedInformerFactoryWithOptions(watching, 0, informers.WithTransform(shown))
	c.nodes = c.informers.Core().V1().Nodes().Lister()
	c.pods = c.informers.Core().V1().Pods().Lister().Pods(namespace)
	watch, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.stopping = cancel
	c.informers.Start(watch.Done())
	c.informers.WaitForCacheSync(ctx.Done())
	return context.Cause(ctx)
}

// stop ends the watch.
func (c *cluster) stop() {
	if c.stopping != nil {
		c.stopping()
		c.informers.Shutdown()
	}
}

// shown is the transform of the caches. It keeps what the script looks at.
func shown(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Pod:
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion,
				Labels: o.Labels, DeletionTimestamp: o.DeletionTimestamp,
			},
			Spec: corev1.PodSpec{NodeName: o.Spec.NodeName},
		}
		for _, condition := range o.Status.Conditions {
			if condition.Type == corev1.PodReady {
				pod.Status.Conditions = []corev1.PodCondition{condition}
			}
		}
		for i := range o.Status.ContainerStatuses {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
				corev1.ContainerStatus{RestartCount: o.Status.ContainerStatuses[i].RestartCount})
		}
		return pod, nil
	case *corev1.Node:
		o.ManagedFields, o.Status.Images = nil, nil
	}
	return object, nil
}

// nodeName is the name of a node by its number.
func nodeName(i int) string { return fmt.Sprintf("node-%05d", i) }

// register creates a node that either subject takes, with its resources.
func (c *cluster) register(ctx context.Context, i int) error {
	name := nodeName(i)
	room := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(32, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(256<<30, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(1<<40, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(podsPerNode, resource.DecimalSI),
	}
	_, err := c.Client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%zones+1),
			corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64", runner.Label: fleetName,
		}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room},
	}, metav1.CreateOptions{})
	return err
}
