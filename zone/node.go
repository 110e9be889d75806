package zone

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/node/topology"
)

// LabelExcludeDisruption on a node, with any value, excludes it from the counts
// of its zone. The API package has no constant for it.
const LabelExcludeDisruption = "node.kubernetes.io/exclude-disruption"

// ByTopology names a node's zone by its region and zone labels, as
// kube-controller-manager does. The name is empty when the node has neither
// label.
func ByTopology(node *corev1.Node) string { return topology.GetZoneKey(node) }

// ByLabels returns a function that names a node's zone by the values of labels:
// a node pool, a rack, an accelerator domain.
func ByLabels(keys ...string) func(*corev1.Node) string {
	return func(node *corev1.Node) string {
		values := make([]string, len(keys))
		for i, key := range keys {
			values[i] = node.Labels[key]
		}
		return strings.Join(values, "/") // a label's value cannot hold a slash
	}
}

// Excluded reports whether the node carries [LabelExcludeDisruption].
func Excluded(node *corev1.Node) bool {
	_, excluded := node.Labels[LabelExcludeDisruption]
	return excluded
}
