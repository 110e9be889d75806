package daemon

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/revision"
)

// OwnerOf returns a DaemonSet as the owner of its pods and revisions. It copies
// pointers only.
func OwnerOf(set *appsv1.DaemonSet) ownership.Owner {
	return ownership.Owner{
		Object:   set,
		Kind:     appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
		Selector: set.Spec.Selector,
	}
}

// SourceOf returns what the revisions of a DaemonSet are made from. It copies
// pointers only.
func SourceOf(set *appsv1.DaemonSet) revision.Source {
	return revision.Source{
		Owner:      OwnerOf(set),
		Template:   &set.Spec.Template,
		Collisions: set.Status.CollisionCount,
		Limit:      set.Spec.RevisionHistoryLimit,
	}
}
