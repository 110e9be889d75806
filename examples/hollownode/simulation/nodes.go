package simulation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/simulation/cluster"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// Capacity of a node. A few pods fill it.
const (
	nodeCPU  = "4"
	nodePods = "6"
)

func (w *World) addNode(name string) {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(nodeCPU), corev1.ResourcePods: resource.MustParse(nodePods),
		corev1.ResourceMemory:           resource.MustParse("64Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
	_ = w.Users().Create(network.Nodes.Resource(), node) // it may exist
}

// annotate sets an annotation of a node in the domain of the fleet, or takes it
// off.
func (w *World) annotate(name, annotation, value string) {
	key := cri.AnnotationDomain + "/" + annotation
	w.changeNode(name, func(node *corev1.Node) {
		if value == "" {
			delete(node.Annotations, key)
			return
		}
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, key, value)
	})
}

// changeNode changes a node, if there is one.
func (w *World) changeNode(name string, change func(*corev1.Node)) {
	if node := cluster.Get[*corev1.Node](w.Cluster, network.Nodes, name); node != nil {
		cluster.Edit(w.Cluster, network.Nodes, node, change)
	}
}

// lasting returns the annotations of a node that are no fault.
func lasting(annotations map[string]string) map[string]string {
	kept := map[string]string{}
	for _, name := range []string{kubelet.AnnotationBoot, kubelet.AnnotationStart} {
		key := cri.AnnotationDomain + "/" + name
		if value, found := annotations[key]; found {
			kept[key] = value
		}
	}
	return kept
}
