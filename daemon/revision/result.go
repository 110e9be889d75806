package revision

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon/ownership"
)

// Result is what a [Manager] has done. Objects are as the API server returned
// them.
type Result struct {
	// Current is the revision of the owner's template, and nil if it could not be
	// created. If its update has failed it is as it was before; its hash is right.
	Current *appsv1.ControllerRevision
	// Created means that Current was created now. Found means that it existed,
	// though the plan was to create it.
	Created, Found bool
	// Updated are the revisions that got a label or a number.
	Updated []*appsv1.ControllerRevision
	// Relabelled are the pods that got the current hash.
	Relabelled []*corev1.Pod
	// Deleted are the revisions that were deleted, as they were before.
	Deleted []*appsv1.ControllerRevision
	// Collisions is the owner's new collision count. Nil if it was not raised.
	Collisions *int32
}

// Hash returns the hash of the current revision, and "" if there is none.
func (r *Result) Hash() string {
	if r.Current == nil {
		return ""
	}
	return hashOf(r.Current)
}

// Record records all writes of the result in the overlays of the caller's
// caches, so that the next plan is computed from them. A nil overlay is left
// out.
func (r *Result) Record(
	now time.Time,
	revisions *ownership.Overlay[*appsv1.ControllerRevision], pods *ownership.Overlay[*corev1.Pod],
) {
	if revisions != nil {
		if r.Created || r.Found {
			revisions.Created(now, r.Current)
		}
		revisions.Patched(now, r.Updated...)
		revisions.Deleted(now, r.Deleted...)
	}
	if pods != nil {
		pods.Patched(now, r.Relabelled...)
	}
}
