package revision

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon/ownership"
)

// defaultLimit is what the API server sets revisionHistoryLimit of a DaemonSet
// to.
const defaultLimit = 10

// Source is what an owner's revisions are made from.
type Source struct {
	// Owner controls the revisions.
	Owner ownership.Owner
	// Template is what the owner's pods are made from. It is only read.
	Template *corev1.PodTemplateSpec
	// Collisions is the owner's status.collisionCount. It goes into the hash of a
	// new revision.
	Collisions *int32
	// Limit is how many revisions besides the current one are kept: the owner's
	// spec.revisionHistoryLimit. Nil means 10, the default of a DaemonSet. A
	// negative number counts as zero.
	Limit *int32
}

// Validate joins all that is wrong with a source, each as
// [ownership.ErrInvalidOwner]. The owner's selector must select the labels of
// the template.
func (s Source) Validate() error {
	problem := s.Owner.ValidateReference()
	if s.Template == nil {
		return errors.Join(problem,
			fmt.Errorf("%w: %s has no Template", ownership.ErrInvalidOwner, s.Owner))
	}
	return errors.Join(problem, s.Owner.ValidateLabels(s.Template.Labels))
}

func (s Source) limit() int {
	if s.Limit == nil {
		return defaultLimit
	}
	return int(*s.Limit)
}
