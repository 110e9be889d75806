package revision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/ownership"
)

var (
	// ErrInvalidConfig is wrapped by each error of [ManagerConfig.Validate].
	ErrInvalidConfig = errors.New("invalid revision config")
	// ErrHashCollision means that another revision has the name that the new one
	// would get. The owner's status.collisionCount was raised; the next plan has
	// to be computed with that count.
	ErrHashCollision = errors.New("another revision has the name, the collision count was raised")
	// ErrStale means that the plan was computed from objects that the API server
	// has in a newer version. Compute another one when the caches have caught up.
	ErrStale = errors.New("the cache is behind the API server")
)

// Client is a client of the ControllerRevisions of one namespace. The typed
// client of client-go is one.
type Client interface {
	ownership.Getter[*appsv1.ControllerRevision]
	ownership.Patcher[*appsv1.ControllerRevision]
	Create(ctx context.Context, revision *appsv1.ControllerRevision, opts metav1.CreateOptions,
	) (*appsv1.ControllerRevision, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// OwnerClient is a client of the owner's kind, of one namespace. The typed
// client of client-go for DaemonSets is one.
type OwnerClient[T metav1.Object] interface {
	ownership.Getter[T]
	ownership.Patcher[T]
}

// ManagerConfig is what a [Manager] of owners of type T needs. All of it is
// required.
type ManagerConfig[T metav1.Object] struct {
	// Revisions, Pods and Owners return the clients of a namespace.
	Revisions func(namespace string) Client
	Pods      func(namespace string) ownership.Patcher[*corev1.Pod]
	Owners    func(namespace string) OwnerClient[T]
	// Collisions returns the status.collisionCount of an owner.
	Collisions func(owner T) *int32
}

// Validate joins what is missing, each as [ErrInvalidConfig].
func (c ManagerConfig[T]) Validate() error {
	var problems []error
	for _, field := range []struct {
		name    string
		missing bool
	}{
		{"Revisions", c.Revisions == nil}, {"Pods", c.Pods == nil},
		{"Owners", c.Owners == nil}, {"Collisions", c.Collisions == nil},
	} {
		if field.missing {
			problems = append(problems, fmt.Errorf("%w: ManagerConfig.%s is nil, want a function",
				ErrInvalidConfig, field.name))
		}
	}
	return errors.Join(problems...)
}

// Manager applies plans, of any number of owners of a kind. It is safe for
// concurrent use.
type Manager struct {
	revisions func(namespace string) Client
	pods      func(namespace string) ownership.Patcher[*corev1.Pod]
	// claimer returns a Claimer of the owner.
	claimer func(owner ownership.Owner) (*ownership.Claimer, error)
	// live reads the owner, and returns its metadata and collision count.
	live func(ctx context.Context, owner ownership.Owner) (metav1.Object, *int32, error)
	// patchStatus patches the owner's status, and returns its collision count.
	patchStatus func(ctx context.Context, owner ownership.Owner, patch []byte) (*int32, error)
}

// NewManager returns a Manager. It starts nothing.
func NewManager[T metav1.Object](config ManagerConfig[T]) (*Manager, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	clientOf := func(owner ownership.Owner) OwnerClient[T] {
		return config.Owners(owner.Object.GetNamespace())
	}
	return &Manager{
		revisions: config.Revisions,
		pods:      config.Pods,
		claimer: func(owner ownership.Owner) (*ownership.Claimer, error) {
			return ownership.NewClaimer[T](owner, clientOf(owner))
		},
		live: func(ctx context.Context, owner ownership.Owner) (metav1.Object, *int32, error) {
			object, err := ownership.ReadLive[T](ctx, owner, clientOf(owner))
			if err != nil {
				return nil, nil, err
			}
			return object, config.Collisions(object), nil
		},
		patchStatus: func(ctx context.Context, owner ownership.Owner, patch []byte) (*int32, error) {
			object, err := clientOf(owner).Patch(ctx, owner.Object.GetName(),
				types.MergePatchType, patch, metav1.PatchOptions{}, "status")
			if err != nil {
				return nil, fmt.Errorf("raise collision count of %s: %w", owner, err)
			}
			return config.Collisions(object), nil
		},
	}, nil
}

// Apply does what a plan of [Compute] says, with one call for each step, and
// none for an empty plan. It repeats nothing.
//
// If a revision of the new one's name exists, Apply reads it. It becomes the
// current one if it keeps the template and the owner controls it or can adopt
// it. Any other one is in the way, even with the same template, because its
// owner may delete it at any time. Apply raises the owner's collision count by
// one then, if the count still is the plan's, and the error is
// [ErrHashCollision]. If the count has changed, the error is [ErrStale].
//
// The error joins all failures. A failed step stops no other that does not
// depend on it: a duplicate stays as long as a pod carries its hash. When the
// context ends, the rest is not tried.
func (m *Manager) Apply(ctx context.Context, plan Plan) (Result, error) {
	owner := plan.Source.Owner
	if err := owner.ValidateReference(); err != nil {
		return Result{}, fmt.Errorf("apply a plan that Compute has not returned: %w", err)
	}
	a := application{
		manager: m, owner: owner, plan: &plan,
		revisions: m.revisions(owner.Object.GetNamespace()),
		pods:      m.pods(owner.Object.GetNamespace()),
		result:    Result{Current: plan.Current},
		held:      map[string]bool{},
	}
	a.run(ctx)
	return a.result, errors.Join(a.problems...)
}

// application is an Apply that is under way.
type application struct {
	manager   *Manager
	owner     ownership.Owner
	plan      *Plan
	revisions Client
	pods      ownership.Patcher[*corev1.Pod]
	result    Result
	held      map[string]bool // hashes that pods still carry
	problems  []error
}

func (a *application) run(ctx context.Context) {
	var steps []func() error
	if a.plan.Create != nil {
		steps = append(steps, func() error { return a.create(ctx) })
	}
	for i := range a.plan.Update {
		steps = append(steps, func() error { return a.update(ctx, &a.plan.Update[i]) })
	}
	for i := range a.plan.Relabel {
		steps = append(steps, func() error { return a.relabel(ctx, &a.plan.Relabel[i]) })
	}
	for i := range a.plan.Delete {
		steps = append(steps, func() error { return a.delete(ctx, &a.plan.Delete[i]) })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			a.problems = append(a.problems, err)
		}
		if err := ctx.Err(); err != nil {
			a.problems = append(a.problems, err)
			return
		}
	}
}

func (a *application) create(ctx context.Context) error {
	wanted := a.plan.Create
	created, err := a.revisions.Create(ctx, wanted, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return a.resolve(ctx, wanted)
	case err != nil:
		return fmt.Errorf("create revision %s: %w", wanted.Name, err)
	}
	a.result.Current, a.result.Created = created, true
	return nil
}

// resolve decides about a revision that has the name of the one to create.
func (a *application) resolve(ctx context.Context, wanted *appsv1.ControllerRevision) error {
	live, err := a.revisions.Get(ctx, wanted.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("revision %s existed, and has just been deleted: %w", wanted.Name, ErrStale)
	case err != nil:
		return fmt.Errorf("read revision %s, which exists: %w", wanted.Name, err)
	case !sameTemplate(live, wanted.Data.Raw):
		return a.collide(ctx, live)
	}
	own, err := ownership.NewOwnership(a.owner)
	if err != nil {
		return fmt.Errorf("revision %s exists: %w", live.Name, err)
	}
	switch claim := own.Claim(live); {
	case claim.Action == ownership.ActionKeep:
		a.result.Current, a.result.Found = live, true
		return nil
	case claim.Action == ownership.ActionAdopt:
		return a.adopt(ctx, live)
	case claim.Reason == ownership.ReasonObjectTerminating:
		return fmt.Errorf("revision %s exists, and is being deleted: %w", live.Name, ErrStale)
	default:
		return a.collide(ctx, live)
	}
}

func (a *application) adopt(ctx context.Context, live *appsv1.ControllerRevision) error {
	claimer, err := a.manager.claimer(a.owner)
	if err != nil {
		return fmt.Errorf("revision %s exists: %w", live.Name, err)
	}
	claimed, err := ownership.ClaimAll(ctx, claimer, a.revisions, []*appsv1.ControllerRevision{live})
	switch {
	case len(claimed.Adopted) == 1: // also if the context has ended since
		a.result.Current, a.result.Found = claimed.Adopted[0], true
		return nil
	case err != nil:
		return fmt.Errorf("revision %s exists: %w", live.Name, err)
	}
	return fmt.Errorf("revision %s existed, and has just been deleted: %w", live.Name, ErrStale)
}

// collide raises the collision count, so that the next plan has another name.
// It reads the owner first. From a cache that is behind, the count would rise
// repeatedly for one collision.
func (a *application) collide(ctx context.Context, other *appsv1.ControllerRevision) error {
	live, collisions, err := a.manager.live(ctx, a.owner)
	if err != nil {
		return fmt.Errorf("revision %s exists and is not of %s: %w", other.Name, a.owner, err)
	}
	if planned := a.plan.Source.Collisions; !equalCount(collisions, planned) {
		return fmt.Errorf(
			"revision %s exists and is not of %s, whose collision count is %s, and was %s in the plan: %w",
			other.Name, a.owner, count(collisions), count(planned), ErrStale)
	}
	patch, err := collisionPatch(live, collisions)
	if err != nil {
		return fmt.Errorf("encode collision count of %s: %w", a.owner, err)
	}
	if a.result.Collisions, err = a.manager.patchStatus(ctx, a.owner, patch); err != nil {
		return err
	}
	return fmt.Errorf("revision %s of %s: %w", other.Name, a.owner, ErrHashCollision)
}

func collisionPatch(live metav1.Object, collisions *int32) ([]byte, error) {
	raised := int32(1)
	if collisions != nil {
		raised += *collisions
	}
	return json.Marshal(map[string]any{
		"metadata": guard(live.GetUID(), live.GetResourceVersion()),
		"status":   map[string]any{"collisionCount": raised},
	})
}

func equalCount(a, b *int32) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func count(collisions *int32) string {
	if collisions == nil {
		return "none"
	}
	return strconv.Itoa(int(*collisions))
}

func (a *application) update(ctx context.Context, update *Update) error {
	patch, err := update.Patch()
	if err != nil {
		return err
	}
	name := update.Revision.Name
	updated, err := a.revisions.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("update revision %s, which is %s: %w", name, update.Reason, guarded(err))
	}
	a.result.Updated = append(a.result.Updated, updated)
	if update.Revision == a.plan.Current {
		a.result.Current = updated
	}
	return nil
}

func (a *application) relabel(ctx context.Context, relabel *Relabel) error {
	patch, err := relabel.Patch()
	if err != nil {
		return err
	}
	name := relabel.Pod.Name
	relabelled, err := a.pods.Patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{})
	switch {
	case ownership.SaysGone(err, "pods", name):
		return nil
	case err != nil:
		a.held[relabel.From] = true
		return fmt.Errorf("give pod %s the hash of the current revision: %w", name, guarded(err))
	}
	a.result.Relabelled = append(a.result.Relabelled, relabelled)
	return nil
}

func (a *application) delete(ctx context.Context, deletion *Deletion) error {
	revision := deletion.Revision
	if deletion.Reason == ReasonSameAsCurrent && a.held[hashOf(revision)] {
		return nil // the failure of the pod is among the problems
	}
	// The resourceVersion as well: a rollback to the revision renumbers it.
	preconditions := &metav1.Preconditions{UID: &revision.UID}
	if revision.ResourceVersion != "" {
		preconditions.ResourceVersion = &revision.ResourceVersion
	}
	err := a.revisions.Delete(ctx, revision.Name, metav1.DeleteOptions{Preconditions: preconditions})
	if err != nil && !ownership.SaysGone(err, "controllerrevisions", revision.Name) {
		return fmt.Errorf("delete revision %s, which is %s: %w",
			revision.Name, deletion.Reason, guarded(err))
	}
	a.result.Deleted = append(a.result.Deleted, revision)
	return nil
}

// guarded adds [ErrStale] to the error of a guarded write if the guard has
// failed. The API server answers Conflict to another resourceVersion or a
// deletion of another UID. It answers Invalid to a patch of another UID or a
// failed test, and NotFound for an object that is gone.
func guarded(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", ErrStale, err)
	}
	return err
}
