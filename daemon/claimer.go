package daemon

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Getter is what is needed of a client, of one namespace, to read an object. The typed
// clients of client-go are Getters.
type Getter[T metav1.Object] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
}

// A Patcher is what is needed of a client, of one namespace, to patch an object. The
// typed clients of client-go are Patchers.
type Patcher[T metav1.Object] interface {
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error)
}

// A Claimer adopts and releases for one owner, in one pass: it is made anew for the next.
// Before the first adoption, and only then, it reads the owner from the API server. If
// that says [ErrOwnerGone], or nothing, it adopts nothing: an orphan of an owner that is
// deleted with --cascade=orphan is to stay one.
//
// It is not safe for concurrent use.
type Claimer struct {
	ownership *Ownership
	live      func(context.Context) (metav1.Object, error)
	asked     bool
	refusal   error
}

// NewClaimer returns a Claimer, which reads the owner with the client of its kind and
// namespace. An owner that selects everything has none: [ErrSelectsAll].
func NewClaimer[T metav1.Object](owner Owner, owners Getter[T]) (*Claimer, error) {
	ownership, err := NewOwnership(owner)
	if err != nil {
		return nil, err
	}
	live := func(ctx context.Context) (metav1.Object, error) {
		return owners.Get(ctx, owner.Object.GetName(), metav1.GetOptions{})
	}
	return &Claimer{ownership: ownership, live: live}, nil
}

// Claimed is what has become of objects that an owner was to claim.
type Claimed[T metav1.Object] struct {
	// Ours are those that the owner has now, in the order in which they were given.
	// Those that were adopted are as the API server returned them.
	Ours []T
	// Adopted and Released are those that were written to, as the API server returned
	// them.
	Adopted, Released []T
}

// ClaimAll claims objects of the owner's namespace: those that may be its own, and orphans.
// It patches those that are to be adopted or released, one after the other, and none
// if nothing is to be changed.
//
// What it could not do is in the error, and is to be tried again in another pass; all
// the rest is done nevertheless. An object that was to be adopted and was not is not
// among Ours, nor is one that was to be released. That an object is gone is no error. If
// the context ends, what is left is not looked at, and Ours is not complete. Each call may
// take as long as the context and the client allow.
func ClaimAll[T metav1.Object](ctx context.Context, c *Claimer, client Patcher[T], objects []T) (Claimed[T], error) {
	var claimed Claimed[T]
	var problems []error
	refused := false
	for _, object := range objects {
		var err error
		switch claim := c.ownership.Claim(object); claim.Action {
		case Ours:
			claimed.Ours = append(claimed.Ours, object)
		case Release:
			err = release(ctx, c, client, object, &claimed)
		case Adopt:
			if refused {
				break // once is enough
			}
			if err = c.mayAdopt(ctx); err != nil {
				refused = true
				break
			}
			err = adopt(ctx, c, client, object, &claimed)
		case Leave:
		}
		if err != nil {
			problems = append(problems, err)
		}
		if ctx.Err() != nil {
			return claimed, errors.Join(append(problems, ctx.Err())...)
		}
	}
	return claimed, errors.Join(problems...)
}

// mayAdopt returns why the owner must not adopt anything.
func (c *Claimer) mayAdopt(ctx context.Context) error {
	if !c.asked {
		c.asked = true
		if err := c.ask(ctx); err != nil {
			c.refusal = fmt.Errorf("adopt nothing: %w", err)
		}
	}
	return c.refusal
}

func (c *Claimer) ask(ctx context.Context) error {
	owner := c.ownership.owner
	live, err := c.live(ctx)
	if err != nil {
		return readFailure(owner, err)
	}
	return owner.compare(live)
}

// readFailure is what it means that an owner cannot be read.
func readFailure(owner Owner, err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("read %s: %w: %w", owner, ErrOwnerGone, err)
	}
	return fmt.Errorf("read %s: %w", owner, err)
}

// compare returns what an owner as the API server has it says against acting for it.
func (o Owner) compare(live metav1.Object) error {
	switch {
	case live.GetUID() != o.Object.GetUID():
		return fmt.Errorf("%s has UID %s now, and had %s: %w", o, live.GetUID(), o.Object.GetUID(), ErrOwnerGone)
	case live.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%s has just been deleted: %w", o, ErrOwnerGone)
	}
	return nil
}

func adopt[T metav1.Object](ctx context.Context, c *Claimer, client Patcher[T], object T, claimed *Claimed[T]) error {
	patch, err := c.ownership.AdoptPatch(object)
	if err != nil {
		return err
	}
	adopted, err := client.Patch(ctx, object.GetName(), types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("adopt %s for %s: %w", object.GetName(), c.ownership.owner, err)
	}
	claimed.Adopted = append(claimed.Adopted, adopted)
	claimed.Ours = append(claimed.Ours, adopted)
	return nil
}

func release[T metav1.Object](ctx context.Context, c *Claimer, client Patcher[T], object T, claimed *Claimed[T]) error {
	patch, err := c.ownership.ReleasePatch(object)
	if err != nil {
		return err
	}
	released, err := client.Patch(ctx, object.GetName(), types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	switch {
	case notOurs(err):
		return nil
	case err != nil:
		return fmt.Errorf("release %s from %s: %w", object.GetName(), c.ownership.owner, err)
	}
	claimed.Released = append(claimed.Released, released)
	return nil
}

// notOurs says whether an object could not be released because it is gone, or another one
// has its name. One that has lost the owner reference meanwhile is patched all the same.
func notOurs(err error) bool {
	if apierrors.IsNotFound(err) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == "metadata.uid" {
			return true
		}
	}
	return false
}
