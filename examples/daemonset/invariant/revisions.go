package invariant

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
)

// revisionWrite checks a write to the history of a set.
func (j *judge) revisionWrite(change *Change) {
	before, _ := change.Before.(*appsv1.ControllerRevision)
	after, _ := change.After.(*appsv1.ControllerRevision)
	switch {
	case before == nil:
		j.newRevision(change, after)
	case after == nil:
		j.oldRevision(change, before)
	default:
		j.claim(change)
	}
}

// newRevision checks the creation of a revision.
func (j *judge) newRevision(change *Change, revision *appsv1.ControllerRevision) {
	d, uid := change.By.Decision, controllerOf(revision)
	template := templateOf(revision)
	if !slices.ContainsFunc(j.setsKnown(d, uid), func(set *appsv1.DaemonSet) bool {
		return keeps(revision, &set.Spec.Template)
	}) {
		j.violate(OneRevision, change.At, "revision %s is of no template", revision.Name)
	}
	surely, _ := j.revisionsKnown(d, uid)
	for _, other := range surely {
		if keeps(other, template) {
			j.violate(OneRevision, change.At, "revision %s is of the template of %s", revision.Name, other.Name)
		} else if hashOf(other) == hashOf(revision) {
			j.violate(OneRevision, change.At, "revisions %s and %s have one hash", revision.Name, other.Name)
		}
	}
}

// oldRevision checks the deletion of a revision.
func (j *judge) oldRevision(change *Change, revision *appsv1.ControllerRevision) {
	d, uid := change.By.Decision, controllerOf(revision)
	sets := j.setsKnown(d, uid)
	if len(sets) == 0 {
		j.violate(OthersUntouched, change.At, "revision %s of %q is deleted", revision.Name, uid)
		return
	}
	_, maybe := j.revisionsKnown(d, uid)
	others := slices.DeleteFunc(maybe, func(r *appsv1.ControllerRevision) bool { return r.UID == revision.UID })
	template := templateOf(revision)
	duplicate := slices.ContainsFunc(others, func(r *appsv1.ControllerRevision) bool { return keeps(r, template) })
	switch {
	case j.carried(d, uid)[hashOf(revision)] && !duplicate:
		j.violate(LiveRevisions, change.At, "revision %s is deleted, and a pod carries its hash", revision.Name)
	case duplicate:
	case !slices.ContainsFunc(sets, func(set *appsv1.DaemonSet) bool {
		old := slices.DeleteFunc(slices.Clone(others), func(r *appsv1.ControllerRevision) bool {
			return keeps(r, &set.Spec.Template)
		})
		return !keeps(revision, &set.Spec.Template) && len(old)+1 > historyLimit(set)
	}):
		j.violate(LiveRevisions, change.At, "revision %s is deleted, and the history has room for it", revision.Name)
	}
}

// historyLimit returns revisionHistoryLimit. The default is the API's.
func historyLimit(set *appsv1.DaemonSet) int {
	if set.Spec.RevisionHistoryLimit == nil {
		return 10
	}
	return int(*set.Spec.RevisionHistoryLimit)
}
