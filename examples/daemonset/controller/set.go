package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/daemon/rollout"
)

// A Set is what a Controller needs of an owner of daemon pods. [SetOf] makes it
// from a DaemonSet. Callers with a set of another kind fill it in themselves.
type Set struct {
	// Source is the owner with its selector, the template, and the limit and
	// collisions of the history. The owner's namespace is that of its pods. Its
	// metadata.generation must rise when the spec changes.
	Source revision.Source
	// Spec is what is wanted. The Controller fills in the Revision.
	Spec rollout.Spec
	// Status are the counts that the set shows.
	Status rollout.Status
}

// SetOf returns what a Controller needs of a DaemonSet. It copies pointers
// only.
func SetOf(set *appsv1.DaemonSet) Set {
	return Set{
		Source: rollout.SourceOf(set),
		Spec:   rollout.SpecOf(set, ""),
		Status: rollout.StatusOf(&set.Status),
	}
}

// UID returns the identity of the set.
func (s *Set) UID() types.UID { return s.Source.Owner.Object.GetUID() }

// version says which state of a set a revision was computed for.
type version struct {
	generation int64
	collisions int32
}

func (s *Set) version() version {
	v := version{generation: s.Source.Owner.Object.GetGeneration(), collisions: -1}
	if s.Source.Collisions != nil {
		v.collisions = *s.Source.Collisions
	}
	return v
}
