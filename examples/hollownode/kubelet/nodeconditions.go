package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// readyCondition is Ready. It names all problems.
func readyCondition(problems []error) corev1.NodeCondition {
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
