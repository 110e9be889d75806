package hollow

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// haveOpenNodes returns an error until all nodes are ready and without taints.
func (c *life) haveOpenNodes() error {
	nodes, err := c.cluster.nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	open := 0
	for _, node := range nodes {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 0 {
				open++
			}
		}
	}
	return missingOf(open, c.options.nodes, "nodes take pods")
}

func (c *life) haveTainted(wanted int) error {
	nodes, err := c.cluster.nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	tainted := 0
	for _, node := range nodes {
		for _, taint := range node.Spec.Taints {
			if taint.Key == corev1.TaintNodeUnreachable && taint.Effect == corev1.TaintEffectNoExecute {
				tainted++
			}
		}
	}
	return missingOf(tainted, wanted, "nodes are tainted")
}

// haveEvicted returns an error while a pod of the ReplicaSet is on one of the
// nodes and not deleted.
func (c *life) haveEvicted(silent map[string]time.Time) error {
	pods, err := c.podsOf(app)
	if err != nil {
		return err
	}
	left := 0
	for _, pod := range pods {
		if _, is := silent[pod.Spec.NodeName]; is && pod.DeletionTimestamp == nil {
			left++
		}
	}
	return missingOf(-left, 0, "pods are to be evicted")
}

func (c *life) haveReplacements(silent map[string]time.Time) error {
	pods, err := c.podsOf(app)
	if err != nil {
		return err
	}
	ready := 0
	for _, pod := range pods {
		if _, is := silent[pod.Spec.NodeName]; !is && isReady(pod) && pod.DeletionTimestamp == nil {
			ready++
		}
	}
	return missingOf(ready, c.options.pods, "pods are ready elsewhere")
}

// haveStaying returns an error until the pods that stay on the nodes are all
// shown ready, or not ready.
func (c *life) haveStaying(on map[string]time.Time, ready bool) error {
	pods, err := c.podsOf(stays)
	if err != nil {
		return err
	}
	as := 0
	for _, pod := range pods {
		if _, is := on[pod.Spec.NodeName]; is && isReady(pod) == ready {
			as++
		}
	}
	return missingOf(as, len(on), fmt.Sprintf("pods that stay have Ready %t", ready))
}

func missingOf(there, wanted int, what string) error {
	if there == wanted {
		return nil
	}
	return fmt.Errorf("%w: %d of %d %s", errMissing, there, wanted, what)
}
