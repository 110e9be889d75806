package controller

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/taints"
)

// owned reports whether a taint is the controller's to set and to take away.
func (c *Config) owned(t *corev1.Taint) bool {
	return c.NoSchedule.Owns(t) || taints.OwnsNoExecute(t)
}

func hasNoExecute(all []corev1.Taint) bool {
	for i := range all {
		if taints.OwnsNoExecute(&all[i]) {
			return true
		}
	}
	return false
}

// closed reports whether a node takes no new pods because it cannot run them.
func closed(all []corev1.Taint) bool {
	for i := range all {
		if !taints.OwnsNoSchedule(&all[i]) {
			continue
		}
		switch all[i].Key {
		case corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable,
			corev1.TaintNodeNetworkUnavailable:
			return true
		}
	}
	return false
}

// labelPairs are pairs of labels; the second must equal the first. Source:
// labelReconcileInfo of kube-controller-manager v1.37.
var labelPairs = [...]struct{ from, to string }{
	{corev1.LabelOSStable, "beta.kubernetes.io/os"},
	{corev1.LabelArchStable, "beta.kubernetes.io/arch"},
}

// labelPatch returns the patch that makes the labels agree, or nil.
func labelPatch(object *corev1.Node) []byte {
	var labels map[string]string
	for _, pair := range labelPairs {
		value, there := object.Labels[pair.from]
		if old, has := object.Labels[pair.to]; !there || has && old == value {
			continue
		}
		if labels == nil {
			labels = make(map[string]string, len(labelPairs))
		}
		labels[pair.to] = value
	}
	if labels == nil {
		return nil
	}
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": object.UID, "labels": labels},
	})
	if err != nil {
		return nil // maps of strings always encode
	}
	return data
}
