package daemon

import (
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// An Owner is what pods and their revisions belong to: a DaemonSet, see [OwnerOf], or
// something like it.
type Owner struct {
	// Object is the owner's metadata. It is not changed.
	Object metav1.Object
	// Kind goes into the owner references.
	Kind schema.GroupVersionKind
	// Selector says which pods and revisions may be adopted, and which are kept: what it
	// does not select is released.
	Selector *metav1.LabelSelector
	// Template is what the pods are made from. It is not changed.
	Template *corev1.PodTemplateSpec
	// Collisions is status.collisionCount, which goes into the hash of a new revision.
	Collisions *int32
	// HistoryLimit is how many revisions besides the current one are kept. Nil: 10, which
	// is the default of a DaemonSet.
	HistoryLimit *int32
}

// ErrOwnerGone means that the owner is being deleted, or that another of its name is in
// its place. Nothing is to be made or adopted for it.
var ErrOwnerGone = errors.New("the owner is gone or going")

// ErrSelectsAll means that an owner's selector is empty, which would select all pods of
// its namespace. kube-controller-manager leaves such a DaemonSet alone and says so with
// an event, SelectingAll.
var ErrSelectsAll = errors.New("the selector is empty and would select all pods")

// OwnerOf returns a DaemonSet as an owner. The two share what they point to.
func OwnerOf(set *appsv1.DaemonSet) Owner {
	return Owner{
		Object:       set,
		Kind:         appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
		Selector:     set.Spec.Selector,
		Template:     &set.Spec.Template,
		Collisions:   set.Status.CollisionCount,
		HistoryLimit: set.Spec.RevisionHistoryLimit,
	}
}

// ErrInvalidOwner is what is wrong with an [Owner], whatever it is.
var ErrInvalidOwner = errors.New("invalid daemon owner")

// Validate returns what is wrong with an owner, as [ErrInvalidOwner]: what is missing, a
// selector that selects everything ([ErrSelectsAll]), or one that does not select what is
// made from the template. Each such pod would be made, released and made again.
func (o Owner) Validate() error {
	problems := o.identify()
	if o.Template == nil {
		problems = append(problems, fmt.Errorf("%w: %s has no Template", ErrInvalidOwner, o))
		return errors.Join(problems...)
	}
	return errors.Join(append(problems, o.checkSelector(o.Template.Labels))...)
}

// identify finds what the API server would refuse in an owner reference, one pod after the
// other. An object that comes from a typed client has lost its kind, and one that was
// never stored has no UID.
func (o Owner) identify() []error {
	if o.Object == nil {
		return []error{fmt.Errorf("%w: the owner has no Object", ErrInvalidOwner)}
	}
	var problems []error
	if o.Object.GetName() == "" || o.Object.GetUID() == "" {
		problems = append(problems, fmt.Errorf("%w: the owner has name %q and UID %q, want an object as the API server returned it",
			ErrInvalidOwner, o.Object.GetName(), o.Object.GetUID()))
	}
	if o.Kind.Version == "" || o.Kind.Kind == "" {
		problems = append(problems, fmt.Errorf("%w: the owner's kind is %q, want version and kind", ErrInvalidOwner, o.Kind))
	}
	return problems
}

func (o Owner) checkSelector(own map[string]string) error {
	if o.Selector == nil {
		return fmt.Errorf("%w: %s has no Selector, so all that it owns would be released", ErrInvalidOwner, o)
	}
	selector, err := metav1.LabelSelectorAsSelector(o.Selector)
	switch {
	case err != nil:
		return fmt.Errorf("%w: selector of %s: %w", ErrInvalidOwner, o, err)
	case selector.Empty():
		return fmt.Errorf("%w: %s: %w", ErrInvalidOwner, o, ErrSelectsAll)
	case !selector.Matches(labels.Set(own)):
		return fmt.Errorf("%w: the selector of %s, %s, does not select what is made from its template", ErrInvalidOwner, o, selector)
	}
	return nil
}

// String returns the kind, namespace and name, for messages.
func (o Owner) String() string {
	if o.Object == nil {
		return o.Kind.Kind
	}
	return o.Kind.Kind + " " + o.Object.GetNamespace() + "/" + o.Object.GetName()
}

// ClaimAction is what an owner is to do about an object.
type ClaimAction string

const (
	// Ours: the object is the owner's, and nothing is to be done.
	Ours ClaimAction = "Ours"
	// Adopt the object: it becomes the owner's.
	Adopt ClaimAction = "Adopt"
	// Release the object: it is no longer the owner's.
	Release ClaimAction = "Release"
	// Leave the object alone: it is not the owner's.
	Leave ClaimAction = "Leave"
)

// ClaimReason says why a [Claim] is as it is.
type ClaimReason string

const (
	// Controlled: the owner controls the object, and selects it.
	Controlled ClaimReason = "Controlled"
	// Orphaned: the owner selects the object, which has no controller.
	Orphaned ClaimReason = "Orphaned"
	// Unselected: the owner does not select the object.
	Unselected ClaimReason = "Unselected"
	// ControlledByOther: the object has another controller.
	ControlledByOther ClaimReason = "ControlledByOther"
	// OwnerTerminating: the owner is being deleted. The garbage collector decides
	// what becomes of what it had.
	OwnerTerminating ClaimReason = "OwnerTerminating"
	// ObjectTerminating: the object is being deleted.
	ObjectTerminating ClaimReason = "ObjectTerminating"
	// OtherNamespace: the object is not in the owner's namespace.
	OtherNamespace ClaimReason = "OtherNamespace"
)

// A Claim is what an owner is to do about an object, and why.
type Claim struct {
	Action ClaimAction
	Reason ClaimReason
}

// An Ownership knows which objects belong to an owner. It does not change, and is safe
// for concurrent use.
type Ownership struct {
	owner    Owner
	selector labels.Selector
}

// NewOwnership compiles the owner's selector. The error is that of [Owner.Validate].
func NewOwnership(owner Owner) (*Ownership, error) {
	if err := owner.Validate(); err != nil {
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(owner.Selector)
	if err != nil {
		return nil, err
	}
	return &Ownership{owner: owner, selector: selector}, nil
}

// Claim decides about an object: a pod, a ControllerRevision, or whatever has labels and
// owner references. The rules are those of kube-controller-manager.
func (o *Ownership) Claim(object metav1.Object) Claim {
	controller := metav1.GetControllerOfNoCopy(object)
	if controller == nil {
		return o.claimOrphan(object)
	}
	going := o.owner.Object.GetDeletionTimestamp() != nil
	switch {
	case controller.UID != o.owner.Object.GetUID():
		return Claim{Leave, ControlledByOther}
	case o.selects(object):
		return Claim{Ours, Controlled} // also when going: it takes no action
	case going:
		return Claim{Leave, OwnerTerminating}
	}
	return Claim{Release, Unselected}
}

func (o *Ownership) claimOrphan(object metav1.Object) Claim {
	namespace := o.owner.Object.GetNamespace() // empty: the kind is not namespaced
	switch {
	case !o.selects(object):
		return Claim{Leave, Unselected}
	case o.owner.Object.GetDeletionTimestamp() != nil:
		return Claim{Leave, OwnerTerminating}
	case object.GetDeletionTimestamp() != nil:
		return Claim{Leave, ObjectTerminating}
	case namespace != "" && namespace != object.GetNamespace():
		return Claim{Leave, OtherNamespace}
	}
	return Claim{Adopt, Orphaned}
}

func (o *Ownership) selects(object metav1.Object) bool {
	return o.selector.Matches(labels.Set(object.GetLabels()))
}

// AdoptPatch returns the strategic merge patch that makes the owner the controller of an
// object. The UID in it keeps it from one that was recreated under the name; the API
// server keeps it from one that has got another controller.
//
// There is no resourceVersion in it, though the decision depends on the labels: the
// kubelet writes to a pod often, and what was adopted wrongly is released again.
func (o *Ownership) AdoptPatch(object metav1.Object) ([]byte, error) {
	return ownerPatch(object, *metav1.NewControllerRef(o.owner.Object, o.owner.Kind))
}

// ReleasePatch returns the strategic merge patch that takes the owner out of an object's
// owner references, with the UID of the object in it.
func (o *Ownership) ReleasePatch(object metav1.Object) ([]byte, error) {
	return ownerPatch(object, map[string]any{"$patch": "delete", "uid": o.owner.Object.GetUID()})
}

func ownerPatch(object metav1.Object, reference any) ([]byte, error) {
	metadata := map[string]any{"uid": object.GetUID(), "ownerReferences": []any{reference}}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("write patch of owner references of %s: %w", object.GetName(), err)
	}
	return patch, nil
}

// guard returns what a merge patch of an object says of its metadata, so that it is
// refused when the object is another one, or has changed since it was read.
func guard(uid types.UID, resourceVersion string) map[string]any {
	metadata := map[string]any{"uid": uid}
	if resourceVersion != "" { // an object that some fake has made
		metadata["resourceVersion"] = resourceVersion
	}
	return metadata
}
