package revision

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/daemon/ownership"
)

// history is an owner's revisions: the one of its template, others with the
// same data, and those of other templates. The lists are sorted by number and
// name.
type history struct {
	current         *appsv1.ControllerRevision
	duplicates, old []*appsv1.ControllerRevision
}

func sortHistory(
	owner ownership.Owner, data []byte, revisions []*appsv1.ControllerRevision,
) history {
	var h history
	for _, revision := range controlled(owner, revisions) {
		if sameData(revision, data) {
			h.duplicates = append(h.duplicates, revision)
		} else {
			h.old = append(h.old, revision)
		}
	}
	if len(h.duplicates) > 0 {
		h.current = slices.MaxFunc(h.duplicates, byPrecedence)
		h.duplicates = without(h.duplicates, h.current)
		return h
	}
	for _, revision := range slices.Backward(h.old) {
		// One at most. Two encodings are no duplicates, since a client that knows
		// more fields may see two templates.
		if sameTemplate(revision, data) {
			h.current, h.old = revision, without(h.old, revision)
			return h
		}
	}
	return h
}

// controlled returns the revisions that the owner controls, by number and name.
func controlled(
	owner ownership.Owner, revisions []*appsv1.ControllerRevision,
) []*appsv1.ControllerRevision {
	var own []*appsv1.ControllerRevision
	for _, revision := range revisions {
		if metav1.IsControlledBy(revision, owner.Object) {
			own = append(own, revision)
		}
	}
	slices.SortFunc(own, func(a, b *appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), strings.Compare(a.Name, b.Name))
	})
	return own
}

// byPrecedence compares revisions with the same data; the greatest one stays.
// One that is being deleted comes last, because it does not stay for long.
func byPrecedence(a, b *appsv1.ControllerRevision) int {
	if terminating := a.DeletionTimestamp != nil; terminating != (b.DeletionTimestamp != nil) {
		if terminating {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.Revision, b.Revision)
}

func without(
	revisions []*appsv1.ControllerRevision, one *appsv1.ControllerRevision,
) []*appsv1.ControllerRevision {
	return slices.DeleteFunc(revisions, func(r *appsv1.ControllerRevision) bool { return r == one })
}

// stale returns the hashes of duplicates whose pods get another one. A hash
// that a revision of another template carries as well says nothing about a pod.
func (h *history) stale(hash string) map[string]bool {
	stale := map[string]bool{}
	for _, revision := range h.duplicates {
		stale[hashOf(revision)] = true
	}
	for _, revision := range h.old {
		delete(stale, hashOf(revision))
	}
	delete(stale, hash)
	return stale
}

func staying(revisions []*appsv1.ControllerRevision) []*appsv1.ControllerRevision {
	var kept []*appsv1.ControllerRevision
	for _, revision := range revisions {
		if revision.DeletionTimestamp == nil {
			kept = append(kept, revision)
		}
	}
	return kept
}
