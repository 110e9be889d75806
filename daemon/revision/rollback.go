package revision

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
	// ErrNoOtherRevision means that the owner has had no other template, or that
	// its revision is deleted.
	ErrNoOtherRevision = errors.New("there is no revision to roll back to")
	// ErrAlreadyCurrent means that the revision is of the template that the owner
	// has.
	ErrAlreadyCurrent = errors.New("the owner has that template already")
)

// Rollback returns an owner to a former template.
type Rollback struct {
	// Revision is the one to return to.
	Revision *appsv1.ControllerRevision
	// Template is the template that it keeps.
	Template *corev1.PodTemplateSpec
	// Patch is the strategic merge patch of the owner: the data of the revision
	// and a guard. The API server refuses it if the owner has changed. It accepts
	// no strategic merge patch for a custom resource, to which the caller writes
	// Template in another way.
	Patch []byte
}

// ComputeRollback finds the revision with the number among those that the owner
// controls, as kubectl rollout undo does.
//
// Zero means the last revision of another template. That is the last but one as
// a rule. It is the last one if the template has changed and no controller has
// made its revision yet; kubectl goes back one too far then.
//
// The error is [ErrNoSuchRevision], [ErrNoOtherRevision], [ErrAlreadyCurrent],
// [ErrInvalidData] for a revision that keeps something else, or that of
// [Source.Validate].
func ComputeRollback(
	source Source, revisions []*appsv1.ControllerRevision, number int64,
) (Rollback, error) {
	if err := source.Validate(); err != nil {
		return Rollback{}, err
	}
	rollback, err := computeRollback(source, revisions, number)
	if err != nil {
		return Rollback{}, fmt.Errorf("roll back %s: %w", source.Owner, err)
	}
	return rollback, nil
}

func computeRollback(
	source Source, revisions []*appsv1.ControllerRevision, number int64,
) (Rollback, error) {
	revision, err := find(source, revisions, number)
	if err != nil {
		return Rollback{}, err
	}
	template, err := Template(revision)
	if err != nil {
		return Rollback{}, err
	}
	var patch map[string]json.RawMessage
	if err := json.Unmarshal(revision.Data.Raw, &patch); err != nil {
		return Rollback{}, fmt.Errorf("revision %s: %w: %w", revision.Name, ErrInvalidData, err)
	}
	owner := source.Owner.Object
	patch["metadata"], err = json.Marshal(guard(owner.GetUID(), owner.GetResourceVersion()))
	if err != nil {
		return Rollback{}, err
	}
	encoded, err := json.Marshal(patch)
	if err != nil {
		return Rollback{}, err
	}
	return Rollback{Revision: revision, Template: template, Patch: encoded}, nil
}

func find(
	source Source, revisions []*appsv1.ControllerRevision, number int64,
) (*appsv1.ControllerRevision, error) {
	data, err := Data(source.Template)
	if err != nil {
		return nil, err
	}
	var current *appsv1.ControllerRevision
	for _, revision := range slices.Backward(controlled(source.Owner, revisions)) {
		switch {
		case number != 0 && revision.Revision != number:
		case !sameTemplate(revision, data):
			return revision, nil
		default:
			// Two may have the number until a controller has renumbered them.
			current = revision
		}
	}
	switch {
	case number == 0:
		return nil, ErrNoOtherRevision
	case current != nil:
		return nil, fmt.Errorf("revision %d, %s: %w", number, current.Name, ErrAlreadyCurrent)
	}
	return nil, fmt.Errorf("revision %d: %w", number, ErrNoSuchRevision)
}
