package kubelet

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// readyCondition is Ready. It names all problems, and each resource without
// which a node can run no pod.
func readyCondition(problems []error, capacity corev1.ResourceList) corev1.NodeCondition {
	var missing []string
	for _, name := range []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage,
	} {
		if _, found := capacity[name]; !found {
			missing = append(missing, string(name))
		}
	}
	if len(missing) > 0 {
		problems = append(problems,
			fmt.Errorf("missing node capacity for resources: %s", strings.Join(missing, ", ")))
	}
	if err := utilerrors.NewAggregate(problems); err != nil {
		return nodeCondition(corev1.NodeReady, false, "KubeletNotReady", err.Error())
	}
	return nodeCondition(corev1.NodeReady, true, "KubeletReady", "kubelet is posting ready status")
}

// pressureConditions are those of memory, disk and process IDs. Source:
// pkg/kubelet/nodestatus/setters.go, v1.37.1.
func pressureConditions(faults Faults) []corev1.NodeCondition {
	choose := func(kind corev1.NodeConditionType, pressed bool, bad, badMessage, good, goodMessage string,
	) corev1.NodeCondition {
		if pressed {
			return nodeCondition(kind, true, bad, "kubelet has "+badMessage)
		}
		return nodeCondition(kind, false, good, "kubelet has "+goodMessage)
	}
	return []corev1.NodeCondition{
		choose(corev1.NodeMemoryPressure, faults.MemoryPressure,
			"KubeletHasInsufficientMemory", "insufficient memory available",
			"KubeletHasSufficientMemory", "sufficient memory available"),
		choose(corev1.NodeDiskPressure, faults.DiskPressure,
			"KubeletHasDiskPressure", "disk pressure", "KubeletHasNoDiskPressure", "no disk pressure"),
		choose(corev1.NodePIDPressure, faults.PIDPressure,
			"KubeletHasInsufficientPID", "insufficient PID available",
			"KubeletHasSufficientPID", "sufficient PID available"),
	}
}

func nodeCondition(kind corev1.NodeConditionType, holds bool, reason, message string) corev1.NodeCondition {
	c := corev1.NodeCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message}
	if holds {
		c.Status = corev1.ConditionTrue
	}
	return c
}
