package model

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// collectAfter is how long the garbage collector takes to see that an owner is
// gone.
var collectAfter = network.Span{Min: time.Second, Max: 20 * time.Second}

// collect deletes what belongs to an owner that is gone.
func (w *World) collect(owner types.UID) {
	owned := func(object metav1.Object) bool {
		controller := metav1.GetControllerOfNoCopy(object)
		return controller != nil && controller.UID == owner
	}
	for _, pod := range sortedByName[*corev1.Pod](w.server.store, podResource) {
		if owned(pod) && pod.DeletionTimestamp == nil {
			w.DeletePod(pod.Name)
		}
	}
	resource := network.Revisions.Resource()
	for _, revision := range sortedByName[*appsv1.ControllerRevision](w.server.store, resource) {
		if owned(revision) {
			w.commit(apiserver.Change{
				Resource: resource, Key: podKey(revision.Name), Old: revision, Last: revision.DeepCopy(),
			})
		}
	}
}
