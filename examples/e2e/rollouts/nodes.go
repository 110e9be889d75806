package rollouts

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// taintKey is not one that any component here uses.
const taintKey = "example.com/maintenance"

// names returns n names of nodes.
func names(prefix string, n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s-%04d", prefix, i))
	}
	return all
}

// each does something to each node, some at a time.
func each(ctx context.Context, nodes []string, do func(ctx context.Context, node string) error) error {
	return sidebyside.Each(ctx, len(nodes), func(ctx context.Context, i int) error {
		if err := do(ctx, nodes[i]); err != nil {
			return fmt.Errorf("node %s: %w", nodes[i], err)
		}
		return nil
	})
}

// addNodes registers nodes as kubelets do. The API server gives each a taint,
// which would be the node lifecycle controller's to remove.
func (c *cluster) addNodes(ctx context.Context, nodes ...string) error {
	for _, node := range nodes {
		c.note(node, "")
	}
	room := corev1.ResourceList{ // what a scheduler asks for
		corev1.ResourceCPU:    *resource.NewQuantity(4, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(8<<30, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
	}
	return each(ctx, nodes, func(ctx context.Context, name string) error {
		_, err := c.Client.CoreV1().Nodes().Create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				corev1.LabelOSStable: "linux", corev1.LabelHostname: name,
			}},
			Status: corev1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"},
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		return c.patchNode(ctx, name, `{"spec":{"taints":null}}`)
	})
}

// taint gives nodes a taint. Pods of the set tolerate neither effect.
func (c *cluster) taint(ctx context.Context, effect corev1.TaintEffect, nodes ...string) error {
	for _, node := range nodes {
		c.note(node, effect)
	}
	patch := fmt.Sprintf(`{"spec":{"taints":[{"key":%q,"effect":%q}]}}`, taintKey, effect)
	return each(ctx, nodes, func(ctx context.Context, name string) error { return c.patchNode(ctx, name, patch) })
}

func (c *cluster) patchNode(ctx context.Context, name, patch string) error {
	_, err := c.Client.CoreV1().Nodes().
		Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// removeNodes removes nodes. Their pods stay until collectPods.
func (c *cluster) removeNodes(ctx context.Context, nodes ...string) error {
	c.mu.Lock()
	for _, node := range nodes {
		delete(c.known, node)
	}
	c.mu.Unlock()
	return each(ctx, nodes, func(ctx context.Context, name string) error {
		return c.Client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	})
}

// collectPods deletes the pods of nodes that are gone, as
// kube-controller-manager's pod-garbage-collector does after 40 s.
func (c *cluster) collectPods(ctx context.Context, nodes ...string) error {
	return each(ctx, nodes, func(ctx context.Context, name string) error {
		pods, err := c.Client.CoreV1().Pods(namespace).
			List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			err := c.Client.CoreV1().Pods(namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
				GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID},
			})
			if err != nil {
				return err
			}
			if err := await(ctx, "the end of "+pod.Name, func() (bool, error) {
				return !c.kubelets.has(pod), nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// taints returns the taint of each node that there is.
func (c *cluster) taints() map[string]corev1.TaintEffect {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.known)
}

func (c *cluster) note(node string, effect corev1.TaintEffect) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[node] = effect
}
