package invariant

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// capacity checks that the pods of a node fit it whenever a container starts.
func (c *checker) capacity() {
	nodes := map[string]corev1.ResourceList{}
	for _, change := range c.history.Changes {
		if node, ok := change.After.(*corev1.Node); ok && nodes[node.Name] == nil {
			nodes[node.Name] = node.Status.Allocatable
		}
	}
	for _, run := range c.history.Runs {
		if !run.Started.IsZero() && !run.Restored {
			c.fits(run.Node, nodes[run.Node], run.Started)
		}
	}
}

// fits checks the pods that run on a node at a time.
func (c *checker) fits(node string, allocatable corev1.ResourceList, at time.Time) {
	cpu, pods, ports := int64(0), int64(0), map[int32]*life{}
	for _, l := range slices.Concat(c.lives, c.static) {
		if isMirror(l.spec) || l.spec.Spec.NodeName != node || !l.runsAt(at) {
			continue
		}
		pods++
		for i := range l.spec.Spec.Containers {
			container := &l.spec.Spec.Containers[i]
			cpu += container.Resources.Requests.Cpu().MilliValue()
			for _, port := range container.Ports {
				if other := ports[port.HostPort]; other != nil && other != l {
					c.violate(WithinCapacity, at, "%s and %s have port %d of %s", other, l, port.HostPort, node)
				}
				ports[port.HostPort] = l
			}
		}
	}
	if most := allocatable.Cpu().MilliValue(); cpu > most {
		c.violate(WithinCapacity, at, "the pods of %s request %d m of %d m", node, cpu, most)
	}
	if most := allocatable.Pods().Value(); pods > most {
		c.violate(WithinCapacity, at, "%d pods run on %s, which has room for %d", pods, node, most)
	}
}

// runsAt reports whether any container of a pod runs at a time.
func (l *life) runsAt(at time.Time) bool {
	for _, run := range l.runs {
		if run.runsAt(at) {
			return true
		}
	}
	return false
}
