package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var (
	// ErrHashCollision means that another revision has the name that the new one was
	// to have. The owner's status.collisionCount has been raised: plan again with that.
	ErrHashCollision = errors.New("another revision has the name, the collision count was raised")
	// ErrStale means that what was planned from is not what the API server has: plan
	// again when the caches have caught up.
	ErrStale = errors.New("the cache is behind the API server")
)

// ControllerRevisions is what is needed of the ControllerRevision client of a namespace.
// The typed client of client-go is one.
type ControllerRevisions interface {
	Getter[*appsv1.ControllerRevision]
	Patcher[*appsv1.ControllerRevision]
	Create(ctx context.Context, revision *appsv1.ControllerRevision, opts metav1.CreateOptions) (*appsv1.ControllerRevision, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// Owners is what is needed of the client of the owner's kind, of a namespace. The typed
// client of client-go for DaemonSets is one.
type Owners[T metav1.Object] interface {
	Getter[T]
	Patcher[T]
}

// HistoryKeeperConfig is what a [HistoryKeeper] needs. All of it is required.
type HistoryKeeperConfig[T metav1.Object] struct {
	// Revisions, Pods and Owners return the clients of a namespace.
	Revisions func(namespace string) ControllerRevisions
	Pods      func(namespace string) Patcher[*corev1.Pod]
	Owners    func(namespace string) Owners[T]
	// OwnerOf makes an owner of what the client returns: [OwnerOf] for DaemonSets.
	OwnerOf func(T) Owner
}

// Validate returns what is missing, as [ErrInvalidConfig].
func (c HistoryKeeperConfig[T]) Validate() error {
	var problems []error
	for _, field := range []struct {
		name    string
		missing bool
	}{
		{"Revisions", c.Revisions == nil}, {"Pods", c.Pods == nil}, {"Owners", c.Owners == nil}, {"OwnerOf", c.OwnerOf == nil},
	} {
		if field.missing {
			problems = append(problems, fmt.Errorf("%w: HistoryKeeperConfig.%s is nil", ErrInvalidConfig, field.name))
		}
	}
	return errors.Join(problems...)
}

// A HistoryKeeper does what a [HistoryPlan] says. It is safe for concurrent use.
type HistoryKeeper struct {
	revisions func(namespace string) ControllerRevisions
	pods      func(namespace string) Patcher[*corev1.Pod]
	live      func(context.Context, Owner) (Owner, error)
	status    func(ctx context.Context, live Owner, patch []byte) (Owner, error)
}

// NewHistoryKeeper returns a HistoryKeeper.
func NewHistoryKeeper[T metav1.Object](config HistoryKeeperConfig[T]) (*HistoryKeeper, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &HistoryKeeper{
		revisions: config.Revisions,
		pods:      config.Pods,
		live: func(ctx context.Context, owner Owner) (Owner, error) {
			object, err := config.Owners(owner.Object.GetNamespace()).Get(ctx, owner.Object.GetName(), metav1.GetOptions{})
			if err != nil {
				return Owner{}, readFailure(owner, err)
			}
			return config.OwnerOf(object), owner.compare(object)
		},
		status: func(ctx context.Context, live Owner, patch []byte) (Owner, error) {
			object, err := config.Owners(live.Object.GetNamespace()).Patch(ctx, live.Object.GetName(),
				types.MergePatchType, patch, metav1.PatchOptions{}, "status")
			if err != nil {
				return Owner{}, fmt.Errorf("raise collision count of %s: %w", live, err)
			}
			return config.OwnerOf(object), nil
		},
	}, nil
}

// KeptHistory is what a [HistoryKeeper] has done. Objects are as the API server returned
// them.
type KeptHistory struct {
	// Current is the revision of the owner's template, and nil if it could not be made.
	// If it could not be updated it is as it was before, and the hash is right all the
	// same.
	Current *appsv1.ControllerRevision
	// Updated are the revisions that got a label or a number, Created is whether Current
	// is new, Relabelled the pods that got the current hash, Deleted the revisions that
	// were deleted, as they were before.
	Created    bool
	Updated    []*appsv1.ControllerRevision
	Relabelled []*corev1.Pod
	Deleted    []*appsv1.ControllerRevision
	// Collisions is the collision count that the owner has now, if it was raised.
	Collisions *int32
}

// Hash returns the hash of the current revision, and "" if there is none.
func (k *KeptHistory) Hash() string {
	if k.Current == nil {
		return ""
	}
	return hashOf(k.Current)
}

// Keep does what the plan says, which is of the claimer's owner, with one call for each
// step. If nothing is to be done it makes no call.
//
// If a revision of the new one's name exists, it is read. It is the one if it keeps the
// template and is the owner's, or an orphan that can be adopted. Else it is in the way,
// even if it keeps the template: what belongs to another may be gone any moment. The
// collision count is raised by one then, if it still is what the name was made with, and
// the error is [ErrHashCollision]; if it is not, [ErrStale].
//
// All errors are joined. What does not depend on what has failed is done nevertheless,
// unless the context has ended; a duplicate stays as long as a pod keeps its hash.
// Nothing is tried twice.
func (k *HistoryKeeper) Keep(ctx context.Context, claimer *Claimer, plan HistoryPlan) (KeptHistory, error) {
	owner := claimer.ownership.owner
	pass := historyPass{
		keeper: k, claimer: claimer, plan: &plan,
		revisions: k.revisions(owner.Object.GetNamespace()),
		pods:      k.pods(owner.Object.GetNamespace()),
		kept:      KeptHistory{Current: plan.Current},
		held:      map[string]bool{},
	}
	pass.run(ctx)
	return pass.kept, errors.Join(pass.problems...)
}

// A historyPass is a Keep that is under way.
type historyPass struct {
	keeper    *HistoryKeeper
	claimer   *Claimer
	plan      *HistoryPlan
	revisions ControllerRevisions
	pods      Patcher[*corev1.Pod]
	kept      KeptHistory
	held      map[string]bool // hashes that pods still carry
	problems  []error
}

func (p *historyPass) run(ctx context.Context) {
	var steps []func() error
	if p.plan.Create != nil {
		steps = append(steps, func() error { return p.create(ctx) })
	}
	for i := range p.plan.Update {
		steps = append(steps, func() error { return p.update(ctx, &p.plan.Update[i]) })
	}
	for i := range p.plan.Relabel {
		steps = append(steps, func() error { return p.relabel(ctx, &p.plan.Relabel[i]) })
	}
	for i := range p.plan.Delete {
		steps = append(steps, func() error { return p.delete(ctx, &p.plan.Delete[i]) })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			p.problems = append(p.problems, err)
		}
		if err := ctx.Err(); err != nil {
			p.problems = append(p.problems, err)
			return
		}
	}
}

func (p *historyPass) create(ctx context.Context) error {
	wanted := p.plan.Create
	created, err := p.revisions.Create(ctx, wanted, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return p.meet(ctx, wanted)
	case err != nil:
		return fmt.Errorf("create revision %s: %w", wanted.Name, err)
	}
	p.kept.Current, p.kept.Created = created, true
	return nil
}

// meet deals with a revision that has the name of the one that was to be made.
func (p *historyPass) meet(ctx context.Context, wanted *appsv1.ControllerRevision) error {
	live, err := p.revisions.Get(ctx, wanted.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("revision %s existed, and has just been deleted: %w", wanted.Name, ErrStale)
	case err != nil:
		return fmt.Errorf("read revision %s, which exists: %w", wanted.Name, err)
	case !sameTemplate(live, wanted.Data.Raw):
		return p.collide(ctx, live)
	}
	switch claim := p.claimer.ownership.Claim(live); claim {
	case Claim{Ours, Controlled}:
		p.kept.Current = live
		return nil
	case Claim{Adopt, Orphaned}:
		return p.adopt(ctx, live)
	case Claim{Leave, ObjectTerminating}:
		return fmt.Errorf("revision %s exists, and is being deleted: %w", live.Name, ErrStale)
	default:
		return p.collide(ctx, live)
	}
}

func (p *historyPass) adopt(ctx context.Context, live *appsv1.ControllerRevision) error {
	if err := p.claimer.mayAdopt(ctx); err != nil {
		return fmt.Errorf("revision %s exists: %w", live.Name, err)
	}
	var claimed Claimed[*appsv1.ControllerRevision]
	if err := adopt(ctx, p.claimer, p.revisions, live, &claimed); err != nil {
		return err
	}
	if len(claimed.Adopted) == 0 {
		return fmt.Errorf("revision %s existed, and has just been deleted: %w", live.Name, ErrStale)
	}
	p.kept.Current = claimed.Adopted[0]
	return nil
}

// collide raises the collision count, so that the next plan has another name. The owner
// is read for it: a count that was raised from a cache that is behind is raised for
// each look at the same collision.
func (p *historyPass) collide(ctx context.Context, other *appsv1.ControllerRevision) error {
	owner := p.claimer.ownership.owner
	live, err := p.keeper.live(ctx, owner)
	if err != nil {
		return fmt.Errorf("revision %s exists and is not of %s: %w", other.Name, owner, err)
	}
	if !equalCount(live.Collisions, owner.Collisions) {
		return fmt.Errorf("revision %s exists and is not of %s, whose collision count is %s and was %s when it was named: %w",
			other.Name, owner, count(live.Collisions), count(owner.Collisions), ErrStale)
	}
	patch, err := collisionPatch(live)
	if err != nil {
		return err
	}
	raised, err := p.keeper.status(ctx, live, patch)
	if err != nil {
		return err
	}
	p.kept.Collisions = raised.Collisions
	return fmt.Errorf("revision %s of %s: %w", other.Name, owner, ErrHashCollision)
}

func collisionPatch(live Owner) ([]byte, error) {
	var collisions int32
	if live.Collisions != nil {
		collisions = *live.Collisions
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": guard(live.Object.GetUID(), live.Object.GetResourceVersion()),
		"status":   map[string]any{"collisionCount": collisions + 1},
	})
	if err != nil {
		return nil, fmt.Errorf("write collision count of %s: %w", live, err)
	}
	return patch, nil
}

func equalCount(a, b *int32) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func count(collisions *int32) string {
	if collisions == nil {
		return "none"
	}
	return fmt.Sprint(*collisions)
}

func (p *historyPass) update(ctx context.Context, update *RevisionUpdate) error {
	patch, err := update.Patch()
	if err != nil {
		return err
	}
	name := update.Revision.Name
	updated, err := p.revisions.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsConflict(err):
		return fmt.Errorf("update revision %s, which is %s: %w: %w", name, update.Reason, ErrStale, err)
	case err != nil:
		return fmt.Errorf("update revision %s, which is %s: %w", name, update.Reason, err)
	}
	p.kept.Updated = append(p.kept.Updated, updated)
	if update.Revision == p.plan.Current {
		p.kept.Current = updated
	}
	return nil
}

func (p *historyPass) relabel(ctx context.Context, relabel *PodRelabel) error {
	patch, err := relabel.Patch()
	if err != nil {
		return err
	}
	relabelled, err := p.pods.Patch(ctx, relabel.Pod.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		p.held[relabel.From] = true
		return fmt.Errorf("give pod %s the hash of the current revision: %w", relabel.Pod.Name, err)
	}
	p.kept.Relabelled = append(p.kept.Relabelled, relabelled)
	return nil
}

func (p *historyPass) delete(ctx context.Context, deletion *RevisionDeletion) error {
	revision := deletion.Revision
	if deletion.Reason == SameAsCurrent && p.held[hashOf(revision)] {
		return nil // why is among the errors already
	}
	// The resourceVersion too: somebody who has gone back to the revision has given it
	// another number.
	preconditions := &metav1.Preconditions{UID: &revision.UID}
	if revision.ResourceVersion != "" {
		preconditions.ResourceVersion = &revision.ResourceVersion
	}
	err := p.revisions.Delete(ctx, revision.Name, metav1.DeleteOptions{Preconditions: preconditions})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete revision %s, which is %s: %w", revision.Name, deletion.Reason, err)
	}
	p.kept.Deleted = append(p.kept.Deleted, revision)
	return nil
}
