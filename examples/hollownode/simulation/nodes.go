package simulation

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/invariant"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

// Capacity of a node. A few pods fill it.
const (
	nodeCPU  = "4"
	nodePods = "6"
)

func (c *cluster) addNode(name string) {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(nodeCPU), corev1.ResourcePods: resource.MustParse(nodePods),
		corev1.ResourceMemory:           resource.MustParse("64Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
	_, _ = c.server.Create(c.Now(), resourceOf(invariant.Nodes), "", node, apiserver.WriteOptions{}) // it may exist
}

// annotate sets an annotation of a node in the domain of the fleet, or takes it
// off.
func (c *cluster) annotate(name, annotation, value string) {
	key := cri.AnnotationDomain + "/" + annotation
	c.changeNode(name, func(node *corev1.Node) {
		if value == "" {
			delete(node.Annotations, key)
			return
		}
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, key, value)
	})
}

// note records which faults of a node have begun and ended, and that its
// kubelet starts.
func (h nodeHandler) note(before, after any) {
	p := h.process
	node, ok := after.(*corev1.Node)
	if !ok {
		return
	}
	old, known := before.(*corev1.Node)
	if !known || old.UID != node.UID || startOf(old) != startOf(node) {
		p.history.Starts = append(p.history.Starts, invariant.Start{Node: node.Name, At: p.Now()})
	}
	was := p.broken[node.Name]
	is := map[string]time.Time{}
	for key := range node.Annotations {
		what, found := strings.CutPrefix(key, cri.AnnotationDomain+"/")
		if !found || what == kubelet.AnnotationBoot || what == kubelet.AnnotationStart {
			continue
		}
		if is[what] = p.Now(); !was[what].IsZero() {
			is[what] = was[what]
		}
	}
	p.broken[node.Name] = is
	for what := range is {
		delete(was, what)
	}
	p.record(node.Name, was)
}

func startOf(node *corev1.Node) string {
	return node.Annotations[cri.AnnotationDomain+"/"+kubelet.AnnotationStart]
}

// mended records the end of all faults of a node.
func (p *process) mended(node string) {
	p.record(node, p.broken[node])
	delete(p.broken, node)
}

// record records faults of a node that end now.
func (p *process) record(node string, since map[string]time.Time) {
	for _, what := range slices.Sorted(maps.Keys(since)) {
		p.history.Faults = append(p.history.Faults, invariant.Fault{Node: node, What: what, From: since[what], To: p.Now()})
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
