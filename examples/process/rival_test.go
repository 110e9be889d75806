package process

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kube-controller-manager is noticed by what it writes while this program runs.
func TestRivalIsNoticed(t *testing.T) {
	start := time.Now()
	wrote := func(manager, fields string, at time.Time) *corev1.Node {
		node := &corev1.Node{}
		node.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: manager, Time: &metav1.Time{Time: at}, FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)},
		}}
		return node
	}
	const taints, labels = `{"f:spec":{"f:taints":{}}}`, `{"f:metadata":{"f:labels":{}}}`
	for title, test := range map[string]struct {
		node    *corev1.Node
		noticed bool
	}{
		"its taints, now":            {wrote(RivalManager, taints, start.Add(time.Second)), true},
		"its taints, before we came": {wrote(RivalManager, taints, start.Add(-time.Second)), false},
		"its labels":                 {wrote(RivalManager, labels, start.Add(time.Second)), false},
		"our taints":                 {wrote("nodelifecycle", taints, start.Add(time.Second)), false},
		"nothing":                    {&corev1.Node{}, false},
	} {
		r := &Rival{Since: start, Field: "f:taints"}
		require.Equal(t, test.noticed, r.Observe(test.node), title)
		require.Equal(t, test.noticed, r.Observe(&corev1.Node{}), "it is remembered: %s", title)
		require.False(t, (*Rival)(nil).Observe(test.node))
	}
}
