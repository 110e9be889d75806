package revision

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Result is what a [Manager] has done. Objects are as the API server returned
// them. The caches show that late: pass each to what the next plan is computed
// from, for example to a feed.Handler of package timedqueue/feed.
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
