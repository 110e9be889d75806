package daemon

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StatusPatchType is the kind of patch that [StatusPatch] returns.
const StatusPatchType = types.MergePatchType

// StatusPatch returns the patch, for the subresource status, that brings the status of
// a DaemonSet up to date, and nil if there is nothing to change. It holds for the
// DaemonSet with this UID and no other.
//
// Observed is the generation of the DaemonSet that was acted on: all of a plan for it
// was carried out, or handed to those who do. It is only ever raised; zero leaves it as
// it is. Whoever waits for a rollout trusts the counts from that moment on, so they must
// be those of that generation.
//
// The set is to be the newest that is known: the answer to the last patch, if the cache
// has not caught up with it. Seen from an older one, a count that went up and down again
// has not changed.
//
// It is one call, where kube-controller-manager makes an update and, when somebody else
// has written to the DaemonSet, a read and another. Conditions and collisionCount stay
// as they are.
func StatusPatch(set *appsv1.DaemonSet, status Status, observed int64) ([]byte, error) {
	if set.UID == "" {
		return nil, fmt.Errorf("DaemonSet %s/%s has no UID to guard a patch of its status with", set.Namespace, set.Name)
	}
	counts := statusCounts{
		Current: status.Current, Misscheduled: status.Misscheduled, Desired: status.Desired, Ready: status.Ready,
		Updated: status.Updated, Available: status.Available, Unavailable: status.Unavailable,
	}
	if observed > set.Status.ObservedGeneration {
		counts.Observed = observed
	}
	if counts == countsOf(&set.Status) {
		return nil, nil
	}
	patch, err := json.Marshal(struct {
		Metadata map[string]any `json:"metadata"`
		Status   statusCounts   `json:"status"`
	}{map[string]any{"uid": set.UID}, counts})
	if err != nil {
		return nil, fmt.Errorf("encode patch of the status of DaemonSet %s/%s: %w", set.Namespace, set.Name, err)
	}
	return patch, nil
}

// statusCounts is that part of a DaemonSet's status which a patch writes: all counts,
// though some may not have changed, so that they belong together whatever was there.
// A merge patch leaves alone what it does not mention, so none is left out for being
// zero, unlike in the API's own type.
type statusCounts struct {
	Current      int   `json:"currentNumberScheduled"`
	Misscheduled int   `json:"numberMisscheduled"`
	Desired      int   `json:"desiredNumberScheduled"`
	Ready        int   `json:"numberReady"`
	Updated      int   `json:"updatedNumberScheduled"`
	Available    int   `json:"numberAvailable"`
	Unavailable  int   `json:"numberUnavailable"`
	Observed     int64 `json:"observedGeneration,omitempty"` // zero: it stays
}

func countsOf(status *appsv1.DaemonSetStatus) statusCounts {
	return statusCounts{
		Current:      int(status.CurrentNumberScheduled),
		Misscheduled: int(status.NumberMisscheduled),
		Desired:      int(status.DesiredNumberScheduled),
		Ready:        int(status.NumberReady),
		Updated:      int(status.UpdatedNumberScheduled),
		Available:    int(status.NumberAvailable),
		Unavailable:  int(status.NumberUnavailable),
	}
}
