package kubelet

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// Messages of the condition PodReadyToStartContainers. Source:
// pkg/kubelet/types, v1.37.1.
const (
	sandboxMissing  = "no pod sandbox exists"
	sandboxNotReady = "pod sandbox is not ready"
	sandboxTwice    = "multiple pod sandboxes are ready and need to be reconciled"
	sandboxNetwork  = "network namespace mode changed and sandbox needs to be recreated"
	sandboxNoIP     = "pod sandbox has no IP address"
)

// sandboxChange returns why a pod needs a new sandbox, or "" if it needs none.
// Attempt is how many there were before the one that it needs or has.
func sandboxChange(pod *corev1.Pod, observed *cri.Pod) (reason string, attempt uint32) {
	if len(observed.Sandboxes) == 0 {
		return sandboxMissing, 0
	}
	ready := 0
	for i := range observed.Sandboxes {
		if observed.Sandboxes[i].Ready {
			ready++
		}
	}
	newest := &observed.Sandboxes[0]
	switch {
	case ready > 1:
		reason = sandboxTwice
	case !newest.Ready:
		reason = sandboxNotReady
	case newest.HostNetwork != pod.Spec.HostNetwork:
		reason = sandboxNetwork
	case !newest.HostNetwork && newest.IP == "":
		reason = sandboxNoIP
	default:
		return "", newest.Attempt
	}
	return reason, newest.Attempt + 1
}
