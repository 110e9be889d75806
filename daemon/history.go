package daemon

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaultHistoryLimit is what the API server sets revisionHistoryLimit of a DaemonSet to.
const defaultHistoryLimit = 10

// RevisionReason says why something is to be done about a revision.
type RevisionReason string

const (
	// Unlabelled: the revision lacks the label controller-revision-hash.
	Unlabelled RevisionReason = "Unlabelled"
	// Outnumbered: the revision is the current one, which has the highest number, and
	// another has that. Somebody has gone back to it.
	Outnumbered RevisionReason = "Outnumbered"
	// SameAsCurrent: the revision keeps the same template as the current one.
	SameAsCurrent RevisionReason = "SameAsCurrent"
	// BeyondLimit: the revision is one of the oldest, and more are kept than the owner
	// wants. No pod carries its hash.
	BeyondLimit RevisionReason = "BeyondLimit"
)

// A HistoryPlan is what is to be done about the revisions of an owner, in this order.
// What it points to is what [PlanHistory] was given, and is not to be changed.
type HistoryPlan struct {
	// Current is the revision of the owner's template. If there is none it is nil, and
	// Create is the one to be made.
	Current, Create *appsv1.ControllerRevision
	// Hash is that of Current or Create. Pods with another are outdated. It is for a look
	// ahead; what was kept has [KeptHistory.Hash].
	Hash string
	// Update are revisions that get a label or a number, by number and name.
	Update []RevisionUpdate
	// Relabel are pods of revisions that are to be deleted as duplicates, by name. It
	// comes first, else they would be outdated until it is done.
	Relabel []PodRelabel
	// Delete are revisions that are not wanted any more: duplicates, then those beyond
	// the limit, by number and name.
	Delete []RevisionDeletion
}

// Empty says whether nothing is to be done.
func (p *HistoryPlan) Empty() bool {
	return p.Create == nil && len(p.Update) == 0 && len(p.Relabel) == 0 && len(p.Delete) == 0
}

// A RevisionUpdate is a change of a revision.
type RevisionUpdate struct {
	Revision *appsv1.ControllerRevision
	// Label is the hash that it gets for a label, and empty if it has one.
	Label string
	// Number is the number that it gets, and zero if it keeps the one that it has.
	Number int64
	// Reason is Outnumbered if there is a Number, and else Unlabelled.
	Reason RevisionReason
}

// Patch returns the merge patch that does it, if the revision is still as it was.
func (u *RevisionUpdate) Patch() ([]byte, error) {
	metadata := guard(u.Revision.UID, u.Revision.ResourceVersion)
	patch := map[string]any{"metadata": metadata}
	if u.Label != "" {
		metadata["labels"] = map[string]string{revisionLabel: u.Label}
	}
	if u.Number != 0 {
		patch["revision"] = u.Number
	}
	written, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("write patch of revision %s: %w", u.Revision.Name, err)
	}
	return written, nil
}

// A PodRelabel gives a pod the hash of another revision, which is of the same template.
type PodRelabel struct {
	Pod      *corev1.Pod
	From, To string
	Reason   RevisionReason
}

// Patch returns the JSON Patch that does it, if the pod is still the same one and still
// carries the hash. The kubelet's writes do not get in its way, as they would if it was
// guarded by the resourceVersion.
func (r *PodRelabel) Patch() ([]byte, error) {
	const label = "/metadata/labels/" + revisionLabel
	written, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": r.Pod.UID},
		{"op": "test", "path": label, "value": r.From},
		{"op": "replace", "path": label, "value": r.To},
	})
	if err != nil {
		return nil, fmt.Errorf("write patch of pod %s: %w", r.Pod.Name, err)
	}
	return written, nil
}

// A RevisionDeletion is a revision to be deleted.
type RevisionDeletion struct {
	Revision *appsv1.ControllerRevision
	Reason   RevisionReason
}

// PlanHistory decides what is to be done about the revisions that an owner controls;
// others are ignored. The effect is that of kube-controller-manager: the revision of
// the template is found or made, and given the highest number; a revision without a hash
// gets its name for one; duplicates of the current one are deleted, except that with the
// highest number; and of the others as many are kept as the owner wants, and those whose
// hash a pod carries, which count.
//
// Revisions are to be the newest that are known: what was kept last, if the cache has not
// caught up with it. Else the same is planned once more, and refused.
//
// Pods are those that the owner controls, also those that are failed or being deleted.
// They are ranged over once, and only if something may have to be deleted. Nil means that
// they are not known yet: nothing is deleted then.
//
// Two things are not as there. A duplicate's pods are relabelled, and no others. There
// each pod of the owner gets the current hash, also one of a former template, which is
// never updated then (kubernetes/kubernetes#111280). And a revision of the template that
// was written in another way, by another version of Kubernetes, is the current one if
// there is none with the same bytes; no pod is restarted for that.
//
// Errors: an owner that is not valid, [ErrOwnerGone] for one that is being deleted, whose
// revisions are the garbage collector's.
func PlanHistory(owner Owner, revisions []*appsv1.ControllerRevision, pods iter.Seq[*corev1.Pod]) (HistoryPlan, error) {
	if err := owner.Validate(); err != nil {
		return HistoryPlan{}, err
	}
	if owner.Object.GetDeletionTimestamp() != nil {
		return HistoryPlan{}, fmt.Errorf("%s is being deleted: %w", owner, ErrOwnerGone)
	}
	data, err := RevisionData(owner.Template)
	if err != nil {
		return HistoryPlan{}, fmt.Errorf("%s: %w", owner, err)
	}
	h := sortHistory(owner, data, revisions)
	var plan HistoryPlan
	number, err := h.number(owner)
	if err != nil {
		return HistoryPlan{}, err
	}
	if plan.Current = h.current; h.current == nil {
		if plan.Create, err = NewRevision(owner, number); err != nil {
			return HistoryPlan{}, err
		}
		plan.Hash = hashOf(plan.Create)
	} else {
		plan.Hash = hashOf(h.current)
	}
	if pods != nil {
		h.clean(owner, &plan, pods)
	}
	plan.Update = h.update(number, plan.Delete)
	return plan, nil
}

// A history is an owner's revisions: the one of its template, others with the same
// data, and those of other templates.
type history struct {
	current         *appsv1.ControllerRevision
	duplicates, old []*appsv1.ControllerRevision // by number and name
}

func sortHistory(owner Owner, data []byte, revisions []*appsv1.ControllerRevision) history {
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
		// One at most. What is written in two ways is not a duplicate, since it may
		// be two templates to those who know more fields.
		if sameTemplate(revision, data) {
			h.current, h.old = revision, without(h.old, revision)
			return h
		}
	}
	return h
}

// controlled returns the revisions that the owner controls, by number and name.
func controlled(owner Owner, revisions []*appsv1.ControllerRevision) []*appsv1.ControllerRevision {
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

// byPrecedence compares revisions with the same data: the greatest one stays. One that
// is being deleted would not stay for long.
func byPrecedence(a, b *appsv1.ControllerRevision) int {
	if going := a.DeletionTimestamp != nil; going != (b.DeletionTimestamp != nil) {
		if going {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.Revision, b.Revision)
}

func without(revisions []*appsv1.ControllerRevision, one *appsv1.ControllerRevision) []*appsv1.ControllerRevision {
	return slices.DeleteFunc(revisions, func(r *appsv1.ControllerRevision) bool { return r == one })
}

// number returns the number that the current revision is to have.
func (h *history) number(owner Owner) (int64, error) {
	var top int64
	if len(h.old) > 0 {
		top = max(top, h.old[len(h.old)-1].Revision)
	}
	switch {
	case h.current != nil && h.current.Revision > top:
		return h.current.Revision, nil
	case top == math.MaxInt64:
		return 0, fmt.Errorf("%s: revision %s has the highest number that there is, delete it or give it another", owner, h.old[len(h.old)-1].Name)
	}
	return top + 1, nil
}

// clean plans what becomes of the revisions that are not wanted: duplicates, whose pods get
// the hash, and those beyond the limit that no pod carries. Those that are being deleted
// already do not count. Pods may be a stream, so that they are ranged over once.
func (h *history) clean(owner Owner, plan *HistoryPlan, pods iter.Seq[*corev1.Pod]) {
	stale := h.stale(plan.Hash)
	kept := staying(h.old)
	excess := len(kept) - historyLimit(owner)
	carried := map[string]bool{}
	if len(stale) > 0 || excess > 0 {
		for pod := range pods {
			from := pod.Labels[revisionLabel]
			carried[from] = true
			if stale[from] {
				plan.Relabel = append(plan.Relabel, PodRelabel{Pod: pod, From: from, To: plan.Hash, Reason: SameAsCurrent})
			}
		}
	}
	slices.SortFunc(plan.Relabel, func(a, b PodRelabel) int { return strings.Compare(a.Pod.Name, b.Pod.Name) })
	for _, revision := range staying(h.duplicates) {
		plan.Delete = append(plan.Delete, RevisionDeletion{revision, SameAsCurrent})
	}
	for _, revision := range kept {
		if excess > 0 && !carried[hashOf(revision)] {
			plan.Delete = append(plan.Delete, RevisionDeletion{revision, BeyondLimit})
			excess--
		}
	}
}

// stale returns the hashes of duplicates whose pods get another. A hash that a revision of
// another template has too, by somebody's hand, says nothing about a pod.
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

func historyLimit(owner Owner) int {
	if owner.HistoryLimit == nil {
		return defaultHistoryLimit
	}
	return int(*owner.HistoryLimit)
}

// update returns what the revisions that stay lack.
func (h *history) update(number int64, deletions []RevisionDeletion) []RevisionUpdate {
	gone := map[*appsv1.ControllerRevision]bool{}
	for _, deletion := range deletions {
		gone[deletion.Revision] = true
	}
	var updates []RevisionUpdate
	for _, revision := range h.old {
		if !gone[revision] && unlabelled(revision) {
			updates = append(updates, RevisionUpdate{Revision: revision, Label: revision.Name, Reason: Unlabelled})
		}
	}
	if h.current == nil {
		return updates
	}
	update := RevisionUpdate{Revision: h.current}
	if unlabelled(h.current) {
		update.Label, update.Reason = h.current.Name, Unlabelled
	}
	if h.current.Revision != number {
		update.Number, update.Reason = number, Outnumbered
	}
	if update.Reason != "" {
		updates = append(updates, update)
	}
	return updates
}

func unlabelled(revision *appsv1.ControllerRevision) bool {
	return revision.Labels[revisionLabel] == ""
}
