package hollow

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// haveNodes returns an error until so many nodes are as they should be.
func (c *cluster) haveNodes(wanted int, what string, is func(*corev1.Node) bool) error {
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	there := 0
	for _, node := range nodes {
		if is(node) {
			there++
		}
	}
	return missingOf(there, wanted, "nodes "+what)
}

// havePods returns an error until so many pods of an app are as they should be.
func (c *cluster) havePods(app string, wanted int, what string, is func(*corev1.Pod) bool) error {
	pods, err := c.podsOf(app)
	if err != nil {
		return err
	}
	there := 0
	for _, pod := range pods {
		if is(pod) {
			there++
		}
	}
	return missingOf(there, wanted, fmt.Sprintf("pods %s %s", app, what))
}

func missingOf(there, wanted int, what string) error {
	if there == wanted {
		return nil
	}
	return fmt.Errorf("%w: %d of %d %s", errMissing, there, wanted, what)
}

// haveReady returns an error until so many pods of an app are ready and no
// other pod of it is left.
func (c *cluster) haveReady(app string, wanted int) error {
	if err := c.havePods(app, wanted, "are ready", isReady); err != nil {
		return err
	}
	return c.havePods(app, wanted, "exist", func(*corev1.Pod) bool { return true })
}

// haveReadyNodes returns an error until all nodes are ready and have a lease.
func (c *cluster) haveReadyNodes(ctx context.Context, wanted int) error {
	if err := c.haveNodes(wanted, "are ready", isReadyNode); err != nil {
		return err
	}
	leases, err := c.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease).
		List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	return missingOf(len(leases.Items), wanted, "nodes have a lease")
}

// haveOpenNodes returns an error until all nodes are ready and without taints.
func (c *life) haveOpenNodes() error {
	return c.haveNodes(c.options.nodes, "take pods", func(node *corev1.Node) bool {
		return isReadyNode(node) && len(node.Spec.Taints) == 0
	})
}

func (c *life) haveTainted(wanted int) error {
	return c.haveNodes(wanted, "are tainted", func(node *corev1.Node) bool {
		for _, taint := range node.Spec.Taints {
			if taint.Key == corev1.TaintNodeUnreachable && taint.Effect == corev1.TaintEffectNoExecute {
				return true
			}
		}
		return false
	})
}

// haveEvicted returns an error while a pod of the ReplicaSet is on one of the
// nodes and not deleted.
func (c *life) haveEvicted(silent map[string]time.Time) error {
	return c.havePods(app, 0, "are to be evicted", func(pod *corev1.Pod) bool {
		_, is := silent[pod.Spec.NodeName]
		return is && pod.DeletionTimestamp == nil
	})
}

func (c *life) haveReplacements(silent map[string]time.Time) error {
	return c.havePods(app, c.options.pods, "are ready elsewhere", func(pod *corev1.Pod) bool {
		_, is := silent[pod.Spec.NodeName]
		return !is && isReady(pod) && pod.DeletionTimestamp == nil
	})
}

// haveStaying returns an error until the pods that stay on the nodes are all
// shown ready, or not ready.
func (c *life) haveStaying(on map[string]time.Time, ready bool) error {
	return c.havePods(stays, len(on), fmt.Sprintf("have Ready %t", ready), func(pod *corev1.Pod) bool {
		_, is := on[pod.Spec.NodeName]
		return is && isReady(pod) == ready
	})
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func isReadyNode(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
