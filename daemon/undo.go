package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

var (
	// ErrNoSuchRevision means that the owner has no revision of the number.
	ErrNoSuchRevision = errors.New("there is no revision of that number")
	// ErrNothingToUndo means that the owner has had no other template, or that the
	// revision of it is gone.
	ErrNothingToUndo = errors.New("there is no revision to go back to")
	// ErrAlreadyCurrent means that the revision is of the template that the owner has.
	ErrAlreadyCurrent = errors.New("the owner has that template already")
)

// An Undo takes an owner back to a former template.
type Undo struct {
	// Revision is the one to go back to.
	Revision *appsv1.ControllerRevision
	// Template is the template that it keeps.
	Template *corev1.PodTemplateSpec
	// Patch is the strategic merge patch that gives it to the owner: the data of the
	// revision, and a guard, so that it is refused if the owner has changed meanwhile.
	// The API server takes no such patch for a custom resource, to which Template has to
	// be written in another way.
	Patch []byte
}

// PlanUndo finds the revision with the number among those that the owner controls, as
// kubectl rollout undo does. Zero is the last that is not of the owner's template. That
// is the last but one, but if the template has been changed and the controller has not
// seen it yet, it is the last, and kubectl would go back one too far.
//
// Errors: [ErrNoSuchRevision], [ErrNothingToUndo], [ErrAlreadyCurrent],
// [ErrRevisionData] for a revision that keeps something else.
func PlanUndo(owner Owner, revisions []*appsv1.ControllerRevision, number int64) (Undo, error) {
	if err := owner.Validate(); err != nil {
		return Undo{}, err
	}
	revision, err := find(owner, revisions, number)
	if err != nil {
		return Undo{}, fmt.Errorf("undo %s: %w", owner, err)
	}
	template, err := RevisionTemplate(revision)
	if err != nil {
		return Undo{}, fmt.Errorf("undo %s: %w", owner, err)
	}
	var patch map[string]json.RawMessage
	if err := json.Unmarshal(revision.Data.Raw, &patch); err != nil {
		return Undo{}, fmt.Errorf("undo %s: revision %s: %w: %w", owner, revision.Name, ErrRevisionData, err)
	}
	if patch["metadata"], err = json.Marshal(guard(owner.Object.GetUID(), owner.Object.GetResourceVersion())); err != nil {
		return Undo{}, fmt.Errorf("undo %s: %w", owner, err)
	}
	written, err := json.Marshal(patch)
	if err != nil {
		return Undo{}, fmt.Errorf("undo %s: %w", owner, err)
	}
	return Undo{Revision: revision, Template: template, Patch: written}, nil
}

func find(owner Owner, revisions []*appsv1.ControllerRevision, number int64) (*appsv1.ControllerRevision, error) {
	data, err := RevisionData(owner.Template)
	if err != nil {
		return nil, err
	}
	var current *appsv1.ControllerRevision
	for _, revision := range slices.Backward(controlled(owner, revisions)) {
		switch {
		case number != 0 && revision.Revision != number:
		case !sameTemplate(revision, data):
			return revision, nil
		default:
			current = revision // two may have the number, until a controller has looked
		}
	}
	switch {
	case number == 0:
		return nil, ErrNothingToUndo
	case current != nil:
		return nil, fmt.Errorf("revision %d, %s: %w", number, current.Name, ErrAlreadyCurrent)
	}
	return nil, fmt.Errorf("revision %d: %w", number, ErrNoSuchRevision)
}
