package ownership

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Getter is a client of one namespace that reads objects. The typed clients of
// client-go are Getters.
type Getter[T metav1.Object] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
}

// Patcher is a client of one namespace that patches objects. The typed clients
// of client-go are Patchers.
type Patcher[T metav1.Object] interface {
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions,
		subresources ...string) (T, error)
}

// ReadLive reads an owner from the API server. The error is [ErrOwnerGone] if
// nothing may be created or adopted for it.
func ReadLive[T metav1.Object](ctx context.Context, owner Owner, owners Getter[T]) (T, error) {
	var none T
	live, err := owners.Get(ctx, owner.Object.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return none, fmt.Errorf("read %s: %w: %w", owner, ErrOwnerGone, err)
	case err != nil:
		return none, fmt.Errorf("read %s: %w", owner, err)
	case live.GetUID() != owner.Object.GetUID():
		return none, fmt.Errorf("%s has UID %s now, and had %s: %w",
			owner, live.GetUID(), owner.Object.GetUID(), ErrOwnerGone)
	case live.GetDeletionTimestamp() != nil:
		return none, fmt.Errorf("%s has just been deleted: %w", owner, ErrOwnerGone)
	}
	return live, nil
}

// Claimer adopts and releases for one owner, in one pass. The next pass needs
// another Claimer.
//
// Before its first adoption, and only then, it reads the owner from the API
// server. If that read fails or returns [ErrOwnerGone], it adopts nothing: the
// orphans of an owner that is deleted with --cascade=orphan stay orphans. A pass
// in several parts needs one read: [Claimer.MayAdopt] says that a part has made
// it, and [Claimer.Trust] spares it the next one.
//
// It is not safe for concurrent use.
type Claimer struct {
	ownership *Ownership
	read      func(context.Context) error
	hasRead   bool
	refusal   error
}

// NewClaimer returns a Claimer. It reads the owner with the client of the
// owner's kind and namespace. The error is that of [Owner.Validate].
func NewClaimer[T metav1.Object](owner Owner, owners Getter[T]) (*Claimer, error) {
	ownership, err := NewOwnership(owner)
	if err != nil {
		return nil, err
	}
	read := func(ctx context.Context) error {
		_, err := ReadLive(ctx, owner, owners)
		return err
	}
	return &Claimer{ownership: ownership, read: read}, nil
}

// Trust has the Claimer adopt without a read of the owner. The caller knows of
// one that was sent a moment ago, for other orphans of the owner.
func (c *Claimer) Trust() { c.hasRead = true }

// MayAdopt reports whether the Claimer has read the owner, or trusts a read, and
// the owner may adopt.
func (c *Claimer) MayAdopt() bool { return c.hasRead && c.refusal == nil }

// Claimed is the result of a [ClaimAll].
type Claimed[T metav1.Object] struct {
	// Owned are the objects that the owner has now, in the order in which they
	// were given. Adopted ones are as the API server returned them.
	Owned []T
	// Adopted and Released are the objects that were patched, as the API server
	// returned them.
	Adopted, Released []T
}

// ClaimAll claims objects of the owner's namespace: those that it may control,
// and orphans. It patches each object that is to be adopted or released, one
// after the other. It makes no call if there is none.
//
// The error joins all failures, and another pass has to repeat those. A failure
// stops no other claim. An object whose adoption or release has failed is not
// in Owned. An object that is gone is no failure. When the context ends, the
// rest is not claimed and Owned is incomplete.
func ClaimAll[T metav1.Object](
	ctx context.Context, c *Claimer, client Patcher[T], objects []T,
) (Claimed[T], error) {
	var claimed Claimed[T]
	var problems []error
	refused := false
	for _, object := range objects {
		var err error
		switch claim := c.ownership.Claim(object); claim.Action {
		case ActionKeep:
			claimed.Owned = append(claimed.Owned, object)
		case ActionRelease:
			err = release(ctx, c, client, object, &claimed)
		case ActionAdopt:
			if refused {
				break // one error for all orphans
			}
			if err = c.mayAdopt(ctx); err != nil {
				refused = true
				break
			}
			err = adopt(ctx, c, client, object, &claimed)
		case ActionIgnore:
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
	if !c.hasRead {
		c.hasRead = true
		if err := c.read(ctx); err != nil {
			c.refusal = fmt.Errorf("adopt nothing: %w", err)
		}
	}
	return c.refusal
}

func adopt[T metav1.Object](
	ctx context.Context, c *Claimer, client Patcher[T], object T, claimed *Claimed[T],
) error {
	patch, err := c.ownership.AdoptPatch(object)
	if err != nil {
		return err
	}
	adopted, err := client.Patch(ctx, object.GetName(), types.StrategicMergePatchType, patch,
		metav1.PatchOptions{})
	switch {
	case SaysGone(err, "", object.GetName()):
		return nil
	case err != nil:
		return fmt.Errorf("adopt %s for %s: %w", object.GetName(), c.ownership.owner, err)
	}
	claimed.Adopted = append(claimed.Adopted, adopted)
	claimed.Owned = append(claimed.Owned, adopted)
	return nil
}

func release[T metav1.Object](
	ctx context.Context, c *Claimer, client Patcher[T], object T, claimed *Claimed[T],
) error {
	patch, err := c.ownership.ReleasePatch(object)
	if err != nil {
		return err
	}
	released, err := client.Patch(ctx, object.GetName(), types.StrategicMergePatchType, patch,
		metav1.PatchOptions{})
	switch {
	case isGone(err, object.GetName()):
		return nil
	case err != nil:
		return fmt.Errorf("release %s from %s: %w", object.GetName(), c.ownership.owner, err)
	}
	claimed.Released = append(claimed.Released, released)
	return nil
}

// isGone reports whether a release has failed because the object is deleted or
// another one has its name. (The API server accepts a release of an object
// without the reference.)
func isGone(err error, name string) bool {
	if SaysGone(err, "", name) {
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

// SaysGone reports whether the API server itself has no object of that name. An
// empty resource stands for any. A 404 can also come from a proxy that is not
// ready, a webhook, or a path that the server does not serve. If it counted, an
// object that exists would be forgotten. The API server names what it did not
// find. client-go fills the name in for other answers, but leaves a cause that
// says so.
func SaysGone(err error, resource, name string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && (resource == "" || details.Kind == resource) && details.Name == name &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
