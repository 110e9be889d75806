package ownership

import (
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Action is what an owner does about an object.
type Action string

const (
	// ActionKeep means that the object is the owner's and stays as it is.
	ActionKeep Action = "Keep"
	// ActionAdopt means that the object becomes the owner's.
	ActionAdopt Action = "Adopt"
	// ActionRelease means that the object loses its reference to the owner.
	ActionRelease Action = "Release"
	// ActionIgnore means that the object is not the owner's and stays as it is.
	ActionIgnore Action = "Ignore"
)

// Reason is the reason of a [Claim].
type Reason string

const (
	// ReasonControlled: the owner controls the object and selects it.
	ReasonControlled Reason = "Controlled"
	// ReasonOrphaned: the owner selects the object, which has no controller.
	ReasonOrphaned Reason = "Orphaned"
	// ReasonUnselected: the owner does not select the object.
	ReasonUnselected Reason = "Unselected"
	// ReasonOtherController: the object has another controller.
	ReasonOtherController Reason = "OtherController"
	// ReasonOwnerTerminating: the owner is being deleted. The garbage collector
	// decides about its objects.
	ReasonOwnerTerminating Reason = "OwnerTerminating"
	// ReasonObjectTerminating: the object is being deleted.
	ReasonObjectTerminating Reason = "ObjectTerminating"
	// ReasonOtherNamespace: the object is not in the owner's namespace.
	ReasonOtherNamespace Reason = "OtherNamespace"
)

// Claim is what an owner does about an object, and why.
type Claim struct {
	Action Action
	Reason Reason
}

// Ownership decides which objects belong to an owner. It does not change, and
// is safe for concurrent use.
type Ownership struct {
	owner    Owner
	selector labels.Selector
}

// NewOwnership compiles the owner's selector. The error is that of
// [Owner.Validate].
func NewOwnership(owner Owner) (*Ownership, error) {
	selector, err := owner.compileSelector()
	if err := errors.Join(owner.ValidateReference(), err); err != nil {
		return nil, err
	}
	return &Ownership{owner: owner, selector: selector}, nil
}

// Claim decides about an object: a pod, a ControllerRevision, or anything else
// that has labels and owner references. The rules are those of
// kube-controller-manager.
func (o *Ownership) Claim(object metav1.Object) Claim {
	controller := metav1.GetControllerOfNoCopy(object)
	if controller == nil {
		return o.claimOrphan(object)
	}
	terminating := o.owner.Object.GetDeletionTimestamp() != nil
	switch {
	case controller.UID != o.owner.Object.GetUID():
		return Claim{ActionIgnore, ReasonOtherController}
	case o.selects(object):
		// Also for an owner that is being deleted: keeping takes no write.
		return Claim{ActionKeep, ReasonControlled}
	case terminating:
		return Claim{ActionIgnore, ReasonOwnerTerminating}
	}
	return Claim{ActionRelease, ReasonUnselected}
}

func (o *Ownership) claimOrphan(object metav1.Object) Claim {
	namespace := o.owner.Object.GetNamespace() // empty for a cluster-wide kind
	switch {
	case !o.selects(object):
		return Claim{ActionIgnore, ReasonUnselected}
	case o.owner.Object.GetDeletionTimestamp() != nil:
		return Claim{ActionIgnore, ReasonOwnerTerminating}
	case object.GetDeletionTimestamp() != nil:
		return Claim{ActionIgnore, ReasonObjectTerminating}
	case namespace != "" && namespace != object.GetNamespace():
		return Claim{ActionIgnore, ReasonOtherNamespace}
	}
	return Claim{ActionAdopt, ReasonOrphaned}
}

func (o *Ownership) selects(object metav1.Object) bool {
	return o.selector.Matches(labels.Set(object.GetLabels()))
}

// AdoptPatch returns the strategic merge patch that makes the owner the
// controller of an object. It is guarded by the UID. The API server also
// refuses it for an object that has another controller by then.
//
// It holds no resourceVersion, although the decision depends on the labels. The
// kubelet writes to a pod often, and an object that was adopted wrongly is
// released again.
func (o *Ownership) AdoptPatch(object metav1.Object) ([]byte, error) {
	return ownerPatch(object, *metav1.NewControllerRef(o.owner.Object, o.owner.Kind))
}

// ReleasePatch returns the strategic merge patch that removes the owner from an
// object's owner references. It holds the UID of the object.
func (o *Ownership) ReleasePatch(object metav1.Object) ([]byte, error) {
	return ownerPatch(object, map[string]any{"$patch": "delete", "uid": o.owner.Object.GetUID()})
}

func ownerPatch(object metav1.Object, reference any) ([]byte, error) {
	metadata := map[string]any{"uid": object.GetUID(), "ownerReferences": []any{reference}}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("encode owner patch of %s: %w", object.GetName(), err)
	}
	return patch, nil
}
