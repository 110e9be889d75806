package edge

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
)

// killedCode is the exit code of a container that is killed.
const killedCode int32 = 137

// parseCrash returns which container exits with which code, as
// cri.AnnotationCrash says. The container is empty if the pod has no such
// annotation. Its value is the container's name, then a colon and the exit
// code, then a colon and anything:
//
//	kubectl annotate --overwrite pod web hollownode.kubelife.dev/crash=main:1:b
//
// The code is 137 if there is none. The value that a pod has when a process
// first sees it does nothing. So a change while no process runs is lost.
func parseCrash(pod *corev1.Pod) (container string, code int32, err error) {
	key := cri.AnnotationDomain + "/" + cri.AnnotationCrash
	text, found := pod.Annotations[key]
	if !found {
		return "", 0, nil
	}
	container, rest, hasCode := strings.Cut(text, ":")
	if container == "" {
		return "", 0, fmt.Errorf("annotation %s=%q: %w", key, text, errors.New("want CONTAINER or CONTAINER:CODE"))
	}
	if !hasCode {
		return container, killedCode, nil
	}
	digits, _, _ := strings.Cut(rest, ":")
	n, err := strconv.ParseUint(digits, 10, 8)
	if err != nil {
		return "", 0, fmt.Errorf("annotation %s=%q: %w", key, text, err)
	}
	return container, int32(n), nil
}
