package rollout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Status counts nodes, as the status of a DaemonSet does. Its JSON has the field
// names of the DaemonSet API, which other kinds use as well. An own kind can
// embed it in the struct that it passes to [StatusPatch].
type Status struct {
	Current      int `json:"currentNumberScheduled"` // nodes that should have a pod and have one
	Misscheduled int `json:"numberMisscheduled"`     // nodes that have one and should not
	Desired      int `json:"desiredNumberScheduled"` // nodes that should have one
	Ready        int `json:"numberReady"`            // of these, those whose pod is ready
	Updated      int `json:"updatedNumberScheduled"` // is of the current revision
	Available    int `json:"numberAvailable"`        // has been ready for MinReady
	Unavailable  int `json:"numberUnavailable"`      // the other desired nodes
	// Observed is the generation of the set whose spec the planner had when it
	// returned the counts as complete. A Planner does not know it, and returns zero.
	// Its tasks may still wait. As in kube-controller-manager, a client that waits
	// for a rollout compares the counts as well. [StatusPatch] leaves it as it is
	// if it is zero.
	Observed int64 `json:"observedGeneration,omitempty"`
}

// Status returns the counts as of the last evaluation. Complete reports whether
// they are those after all observations and our own writes, and of this time.
// They are not while nodes are to be evaluated; [Planner.Start] and
// [Planner.Evaluate] do that. Status changes nothing. Write no status that is
// not complete.
//
// Of several pods on a node the first one counts.
func (p *Planner) Status(now time.Time) (status Status, complete bool) {
	c := &p.candidates.counts
	return Status{
		Desired:      c.of(desired),
		Current:      c.of(current),
		Ready:        c.of(ready),
		Available:    c.of(available),
		Unavailable:  c.of(desired) - c.of(available),
		Updated:      c.of(updated),
		Misscheduled: c.of(misscheduled),
	}, p.upToDate(now)
}

// StatusOf returns the counts that the status of a DaemonSet has.
func StatusOf(status *appsv1.DaemonSetStatus) Status {
	return Status{
		Current:      int(status.CurrentNumberScheduled),
		Misscheduled: int(status.NumberMisscheduled),
		Desired:      int(status.DesiredNumberScheduled),
		Ready:        int(status.NumberReady),
		Updated:      int(status.UpdatedNumberScheduled),
		Available:    int(status.NumberAvailable),
		Unavailable:  int(status.NumberUnavailable),
		Observed:     status.ObservedGeneration,
	}
}

// StatusPatchType is the kind of patch that [StatusPatch] returns.
const StatusPatchType = types.MergePatchType

// StatusPatch returns the merge patch, for the subresource status, that changes
// the status of an owner of any kind from before to after. It is nil if the two
// are equal. The API server refuses it for an owner with another UID.
//
// Before and after are structs or maps of only those status fields that the
// caller's controller owns. If one field has changed, all fields of after are
// written, so that they are consistent whatever the API server has. A field
// that before has and after lacks is removed. Fields in neither stay as they
// are, for example conditions and collisionCount.
//
// The field observedGeneration is the exception: it is not written if after has
// a lower one than before. With the same one it is written next to the other
// fields. A client that waits for a rollout trusts those, so they must be of
// that generation. If before comes from an old cache, the API server may have a
// later generation, which these fields are not of. One that is later than the
// owner's own generation is wrong, and is written over.
//
// Declare counts without omitempty. Otherwise a merge patch would not change a
// count to zero.
//
// Pass the status of the newest owner that is known as before. If the cache is
// behind, that is the answer to the last patch. Compared with an older status,
// a count that has risen and fallen again seems unchanged.
//
// It is one call. kube-controller-manager makes an update and, after a
// conflict, a read and another update.
func StatusPatch[T any](owner metav1.Object, before, after T) ([]byte, error) {
	patch, err := statusPatch(owner, before, after)
	if err != nil {
		return nil, fmt.Errorf("patch of the status of %s/%s: %w",
			owner.GetNamespace(), owner.GetName(), err)
	}
	return patch, nil
}

func statusPatch(owner metav1.Object, before, after any) ([]byte, error) {
	if owner.GetUID() == "" {
		return nil, errors.New("the owner has no UID to guard it with, want one from the API server")
	}
	former, err := statusFields(before)
	if err != nil {
		return nil, fmt.Errorf("before: %w", err)
	}
	wanted, err := statusFields(after)
	if err != nil {
		return nil, fmt.Errorf("after: %w", err)
	}
	if err := keepGeneration(owner.GetGeneration(), former, wanted); err != nil {
		return nil, err
	}
	changed := false
	for field, value := range wanted {
		changed = changed || !bytes.Equal(value, former[field])
	}
	for field := range former {
		if _, kept := wanted[field]; !kept {
			wanted[field], changed = json.RawMessage("null"), true
		}
	}
	if !changed {
		return nil, nil
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": owner.GetUID()}, "status": wanted})
}

const generationField = "observedGeneration"

// keepGeneration drops the generation from both if it falls, unless the owner has
// no such generation yet. An owner of a kind without generations has zero.
func keepGeneration(generation int64, former, wanted map[string]json.RawMessage) error {
	before, err := generationIn(former)
	if err != nil {
		return fmt.Errorf("before: %w", err)
	}
	after, err := generationIn(wanted)
	if err != nil {
		return fmt.Errorf("after: %w", err)
	}
	isWrong := generation != 0 && before > generation
	if after < before && !isWrong {
		delete(former, generationField)
		delete(wanted, generationField)
	}
	return nil
}

// generationIn returns zero if there is none.
func generationIn(fields map[string]json.RawMessage) (int64, error) {
	value, ok := fields[generationField]
	if !ok {
		return 0, nil
	}
	var generation int64
	if err := json.Unmarshal(value, &generation); err != nil {
		return 0, fmt.Errorf("%s is %s, want a number: %w", generationField, value, err)
	}
	return generation, nil
}

// statusFields returns the fields that a status has in JSON.
func statusFields(status any) (map[string]json.RawMessage, error) {
	encoded, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(encoded, &fields); err != nil || fields == nil {
		return nil, errors.Join(fmt.Errorf("%T is no JSON object, want a struct or a map", status), err)
	}
	return fields, nil
}
