package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// kube-controller-manager is noticed by what it writes, once.
func TestRivalIsNoticed(t *testing.T) {
	start := time.Now()
	wrote := func(manager, fields string, at time.Time) *corev1.Node {
		node := &corev1.Node{}
		node.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: manager, Time: &metav1.Time{Time: at}, FieldsV1: metav1.NewFieldsV1(fields),
		}}
		return node
	}
	const taints, labels = `{"f:spec":{"f:taints":{}}}`, `{"f:metadata":{"f:labels":{}}}`
	for title, test := range map[string]struct {
		node    *corev1.Node
		noticed bool
	}{
		"its taints, now":            {wrote(rivalManager, taints, start.Add(time.Second)), true},
		"its taints, before we came": {wrote(rivalManager, taints, start.Add(-time.Second)), false},
		"its labels":                 {wrote(rivalManager, labels, start.Add(time.Second)), false},
		"our taints":                 {wrote(name, taints, start.Add(time.Second)), false},
		"nothing":                    {&corev1.Node{}, false},
	} {
		t.Run(title, func(t *testing.T) {
			r := &rival{logger: klog.Background(), since: start}
			trimmed, err := r.trim(test.node)
			require.NoError(t, err)
			require.Equal(t, test.noticed, r.warned.Load())
			require.Empty(t, trimmed.(*corev1.Node).ManagedFields)
		})
	}
}
