package controller

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/daemon/rollout"
)

// phase is the life of a set:
//
//	waiting ──synced, pods compared──► claiming ──nothing to claim──► revising
//	revising ──revision known──► filling ──the planner knows all──► managed
//	filling, managed, revising ──adopt or release──► claiming
//	filling, managed ──another template, or its revision lost──► revising
//	any of these ──another selector──► waiting
//
//	any ──deletion──────────────────► terminating
//	any ──selector empty────────────► selectingAll ──corrected──► claiming
//	any ──selector or template bad──► invalid ──corrected───────► claiming
//
// A set that is gone has no record. Only Controller.enter changes a phase.
type phase uint8

const (
	// phaseWaiting: not all objects have been observed yet, or not all of them
	// have been compared with the selector.
	phaseWaiting phase = iota
	// phaseClaiming: pods or revisions are to be adopted or released.
	phaseClaiming
	// phaseRevising: the revision of the template is not known.
	phaseRevising
	// phaseFilling: the planner is new and does not know all pods.
	phaseFilling
	// phaseManaged: the planner creates, deletes and reads pods.
	phaseManaged
	// phaseSelectingAll: the selector is empty.
	phaseSelectingAll
	// phaseInvalid: the selector or the template is invalid.
	phaseInvalid
	// phaseTerminating: the set is being deleted.
	phaseTerminating
)

func (p phase) String() string {
	return [...]string{
		"waiting", "claiming", "revising", "filling", "managed", "selectingAll", "invalid", "terminating",
	}[p]
}

// acts reports whether tasks of the set may be handed out.
func (p phase) acts() bool { return p >= phaseClaiming && p <= phaseManaged }

// visits reports whether a set is visited although it has no planner.
func (p phase) visits() bool { return p == phaseWaiting || p == phaseFilling }

// A record is what a Controller knows of one set.
type record struct {
	uid     types.UID
	group   group
	set     Set // the newest
	phase   phase
	own     *ownership.Ownership // nil if the selector is empty or invalid
	problem error                // why the phase is selectingAll or invalid
	told    string               // the message of the Event about what is wrong with the spec

	// uncompared are the objects that are yet to be compared with the selector.
	uncompared uncompared
	// podClaims are the pods to adopt or release.
	podClaims      list[*corev1.Pod]
	revisionClaims []*appsv1.ControllerRevision
	// claimFrom is where the next claim begins among the two. A claim that fails
	// moves it on, so that objects that are always refused keep no others waiting.
	claimFrom int
	// readAt is when the set was read for an adoption. Zero: it is read again.
	readAt  time.Time
	history []*appsv1.ControllerRevision // that the set controls

	// creating counts, by the hash that they get, the pods whose creation is under
	// way. Nothing shows these yet.
	creating map[string]int
	// spared says that a revision stays only because of one of them.
	spared bool
	// made are the pods that only answers to our calls have shown, by UID.
	made map[types.UID]*corev1.Pod

	// hash is the current revision, for the state that revised says.
	hash    string
	revised version
	planner *rollout.Planner // nil before the first revision
	// unfilled is how many of the set's pods, from the first one on, are yet to be
	// observed by the planner.
	unfilled int
	// planned is the generation whose spec the planner has, and which its complete
	// counts are of.
	planned int64

	// underWay counts the tasks of the planner that are handed out.
	underWay int
	// counts are the newest that are complete, with the generation that they are
	// of.
	counts rollout.Status
	pace   pace // of its statuses
}

// uncompared is the rest of a comparison of all objects with a selector. The
// numbers are those of the first pods of a list.
type uncompared struct {
	own, orphans int
	revisions    bool
}

// next returns the phase that follows from all else in the record.
func (r *record) next() phase {
	switch {
	case r.set.Source.Owner.Object.GetDeletionTimestamp() != nil:
		return phaseTerminating
	case r.problem != nil && r.selectsAll():
		return phaseSelectingAll
	case r.problem != nil:
		return phaseInvalid
	case r.uncompared != (uncompared{}):
		return phaseWaiting
	case len(r.podClaims.objects) > 0 || len(r.revisionClaims) > 0:
		return phaseClaiming
	case r.hash == "" || r.revised != r.set.version():
		return phaseRevising
	case r.unfilled > 0:
		return phaseFilling
	}
	return phaseManaged
}

// selectsAll reports whether the selector is there, and empty.
func (r *record) selectsAll() bool {
	selector := r.set.Source.Owner.Selector
	return selector != nil && len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0
}

// isCurrent reports whether a revision has the hash of the current one.
func (r *record) isCurrent(of *appsv1.ControllerRevision) bool { return hashOf(of) == r.hash }

// hashOf returns the hash of a revision, which is its name if it has no label.
func hashOf(of *appsv1.ControllerRevision) string {
	if hash := carriedBy(of); hash != "" {
		return hash
	}
	return of.Name
}

// mayWriteStatus reports whether the status may get the counts of the planner.
// It may not if it is of a later generation, which another controller has
// observed. Clients would take the counts for those of that generation. If the
// set itself is not of such a generation, the status is wrong about that.
func (r *record) mayWriteStatus() bool {
	return r.phase.acts() && r.planned >= min(r.set.Status.Observed, r.set.Source.Owner.Object.GetGeneration())
}

// observed returns the generation that the status says was observed. If the set
// has no such generation yet, another client has written a wrong one, and it is
// zero.
func (r *record) observed() int64 {
	if observed := r.set.Status.Observed; observed <= r.set.Source.Owner.Object.GetGeneration() {
		return observed
	}
	return 0
}

// excess reports whether the history has revisions that may have to be deleted.
func (r *record) excess() bool {
	limit := int32(10)
	if r.set.Source.Limit != nil {
		limit = *r.set.Source.Limit
	}
	return len(r.history) > 1+int(max(limit, 0))
}
