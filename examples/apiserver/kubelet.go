package apiserver

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FinalizePods removes the terminating pods of every node that alive reports,
// as the nodes' kubelets do once the containers have stopped. It returns how
// many it removed. alive is called once for each node that has terminating
// pods. The rest of the grace period is not waited for.
func (s *Server) FinalizePods(now time.Time, alive func(node string) bool) int {
	known := map[string]bool{}
	removed := 0
	entries, _ := s.store.Snapshot(pods, metav1.NamespaceAll)
	for _, object := range sorted(entries) {
		pod, ok := object.(*corev1.Pod)
		if !ok || pod.DeletionTimestamp == nil || pod.Spec.NodeName == "" {
			continue
		}
		up, asked := known[pod.Spec.NodeName]
		if !asked {
			up = alive(pod.Spec.NodeName)
			known[pod.Spec.NodeName] = up
		}
		if up && s.finalizePod(now, pod) {
			removed++
		}
	}
	return removed
}

// finalizePod reports whether it was this call that removed the pod: a forced
// delete may have been faster, and a finalizer holds the pod back.
func (s *Server) finalizePod(now time.Time, pod *corev1.Pod) bool {
	options := metav1.NewDeleteOptions(0)
	options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	gone, err := s.Delete(now, pods, KeyOf(pod), *options)
	return err == nil && gone
}
