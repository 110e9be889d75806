package revision

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/daemon/ownership"
)

// Reason says why a revision is changed or deleted, or a pod relabelled.
type Reason string

const (
	// ReasonUnlabelled: the revision lacks [HashLabel].
	ReasonUnlabelled Reason = "Unlabelled"
	// ReasonOutnumbered: the revision is the current one, and another has the
	// highest number. The owner was rolled back.
	ReasonOutnumbered Reason = "Outnumbered"
	// ReasonSameAsCurrent: the revision keeps the template of the current one.
	ReasonSameAsCurrent Reason = "SameAsCurrent"
	// ReasonBeyondLimit: the revision is one of the oldest, there are more than
	// the limit, and no pod carries its hash.
	ReasonBeyondLimit Reason = "BeyondLimit"
)

// Plan is what to do about the revisions of an owner, in the order of its
// fields. It points to the objects that [Compute] was given; do not change
// them.
type Plan struct {
	// Source is what the plan was computed from.
	Source Source
	// Current is the revision of the owner's template. If there is none it is nil,
	// and Create is the one to create.
	Current, Create *appsv1.ControllerRevision
	// Hash is that of Current or Create. Pods with another one are outdated. A
	// collision can change it while the plan is applied: [Result.Hash] is the hash
	// to act on.
	Hash string
	// Update are revisions that get a label or a number, by number and name.
	Update []Update
	// Relabel are pods of duplicates that are to be deleted, by name. They would
	// be outdated without their revision.
	Relabel []Relabel
	// Delete are revisions to delete: duplicates, then those beyond the limit, by
	// number and name.
	Delete []Deletion
}

// Empty reports whether there is nothing to do.
func (p *Plan) Empty() bool {
	return p.Create == nil && len(p.Update) == 0 && len(p.Relabel) == 0 && len(p.Delete) == 0
}

// Update is a change of a revision.
type Update struct {
	Revision *appsv1.ControllerRevision
	// Label is the hash that it gets as its label. Empty if it has one.
	Label string
	// Number is the number that it gets. Zero if it keeps its own.
	Number int64
	// Reason is ReasonOutnumbered if there is a Number, else ReasonUnlabelled.
	Reason Reason
}

// Patch returns the merge patch of the revision, which the API server refuses
// if the revision has changed.
func (u *Update) Patch() ([]byte, error) {
	metadata := guard(u.Revision.UID, u.Revision.ResourceVersion)
	patch := map[string]any{"metadata": metadata}
	if u.Label != "" {
		metadata["labels"] = map[string]string{HashLabel: u.Label}
	}
	if u.Number != 0 {
		patch["revision"] = u.Number
	}
	encoded, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode patch of revision %s: %w", u.Revision.Name, err)
	}
	return encoded, nil
}

// Relabel gives a pod the hash of another revision, which keeps the same
// template.
type Relabel struct {
	Pod      *corev1.Pod
	From, To string
	Reason   Reason
}

// Patch returns the JSON Patch of the pod, which the API server refuses if the
// pod is another one or carries another hash. A write of the kubelet does not
// conflict with it.
func (r *Relabel) Patch() ([]byte, error) {
	const label = "/metadata/labels/" + HashLabel
	encoded, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": r.Pod.UID},
		{"op": "test", "path": label, "value": r.From},
		{"op": "replace", "path": label, "value": r.To},
	})
	if err != nil {
		return nil, fmt.Errorf("encode patch of pod %s: %w", r.Pod.Name, err)
	}
	return encoded, nil
}

// Deletion is a revision to delete.
type Deletion struct {
	Revision *appsv1.ControllerRevision
	Reason   Reason
}

// Compute decides what to do about the revisions that an owner controls. It
// ignores others. The effect is that of kube-controller-manager, apart from the
// differences that the package comment lists:
//
//   - The revision of the template is found or created, and gets the highest
//     number.
//   - A revision without a hash gets its name for one.
//   - Duplicates of the current revision are deleted.
//   - Of the others, as many are kept as the limit allows. One whose hash a pod
//     carries is always kept and counts.
//
// Revisions are the newest that are known: those of the cache with our own
// writes over them. Older ones give the same plan once more, and the API server
// refuses it.
//
// Pods are those that the owner controls, failed and terminating ones included.
// They are ranged over at most once, and only if something may have to be
// deleted. Nil means that they are not known yet, and nothing is deleted. A pod
// whose creation is under way is not among them: keep its revision.
//
// The error is that of [Source.Validate], or [ownership.ErrOwnerGone] for an
// owner that is being deleted. The garbage collector deletes its revisions.
func Compute(
	source Source, revisions []*appsv1.ControllerRevision, pods iter.Seq[*corev1.Pod],
) (Plan, error) {
	if err := source.Validate(); err != nil {
		return Plan{}, err
	}
	owner := source.Owner
	if owner.Object.GetDeletionTimestamp() != nil {
		return Plan{}, fmt.Errorf("%s is being deleted: %w", owner, ownership.ErrOwnerGone)
	}
	data, err := Data(source.Template)
	if err != nil {
		return Plan{}, fmt.Errorf("%s: %w", owner, err)
	}
	h := sortHistory(owner, data, revisions)
	plan := Plan{Source: source}
	number, err := h.number(owner)
	if err != nil {
		return Plan{}, err
	}
	if plan.Current = h.current; h.current == nil {
		if plan.Create, err = New(source, number); err != nil {
			return Plan{}, err
		}
		plan.Hash = hashOf(plan.Create)
	} else {
		plan.Hash = hashOf(h.current)
	}
	if pods != nil {
		h.clean(&plan, pods)
	}
	plan.Update = h.update(number, plan.Delete)
	return plan, nil
}

// number returns the number that the current revision gets.
func (h *history) number(owner ownership.Owner) (int64, error) {
	var top int64
	if len(h.old) > 0 {
		top = max(top, h.old[len(h.old)-1].Revision)
	}
	switch {
	case h.current != nil && h.current.Revision > top:
		return h.current.Revision, nil
	case top == math.MaxInt64:
		return 0, fmt.Errorf("%s: revision %s has the highest number that there is, "+
			"want it deleted or renumbered", owner, h.old[len(h.old)-1].Name)
	}
	return top + 1, nil
}

// clean plans the deletion of duplicates, whose pods get the current hash, and
// of revisions beyond the limit that no pod carries. A revision that is being
// deleted does not count. Pods are ranged over once, because they may be a
// stream.
func (h *history) clean(plan *Plan, pods iter.Seq[*corev1.Pod]) {
	stale := h.stale(plan.Hash)
	kept := staying(h.old)
	excess := len(kept) - plan.Source.limit()
	carried := map[string]bool{}
	if len(stale) > 0 || excess > 0 {
		for pod := range pods {
			from := pod.Labels[HashLabel]
			carried[from] = true
			if stale[from] {
				plan.Relabel = append(plan.Relabel,
					Relabel{Pod: pod, From: from, To: plan.Hash, Reason: ReasonSameAsCurrent})
			}
		}
	}
	slices.SortFunc(plan.Relabel, func(a, b Relabel) int {
		return strings.Compare(a.Pod.Name, b.Pod.Name)
	})
	for _, revision := range staying(h.duplicates) {
		plan.Delete = append(plan.Delete, Deletion{revision, ReasonSameAsCurrent})
	}
	for _, revision := range kept {
		if excess > 0 && !carried[hashOf(revision)] {
			plan.Delete = append(plan.Delete, Deletion{revision, ReasonBeyondLimit})
			excess--
		}
	}
}

// update returns what the revisions that stay lack.
func (h *history) update(number int64, deletions []Deletion) []Update {
	gone := map[*appsv1.ControllerRevision]bool{}
	for _, deletion := range deletions {
		gone[deletion.Revision] = true
	}
	var updates []Update
	for _, revision := range h.old {
		if !gone[revision] && unlabelled(revision) {
			updates = append(updates,
				Update{Revision: revision, Label: revision.Name, Reason: ReasonUnlabelled})
		}
	}
	if h.current == nil {
		return updates
	}
	update := Update{Revision: h.current}
	if unlabelled(h.current) {
		update.Label, update.Reason = h.current.Name, ReasonUnlabelled
	}
	if h.current.Revision != number {
		update.Number, update.Reason = number, ReasonOutnumbered
	}
	if update.Reason != "" {
		updates = append(updates, update)
	}
	return updates
}

func unlabelled(revision *appsv1.ControllerRevision) bool {
	return revision.Labels[HashLabel] == ""
}
