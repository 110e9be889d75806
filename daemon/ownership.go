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
	// Selector says which pods and revisions may be adopted, and which are kept. Nil
	// selects none.
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

// Validate returns what is missing: the object or its UID, the kind, or the template.
func (o Owner) Validate() error {
	if o.Object == nil {
		return errors.New("the owner has no Object")
	}
	var problems []error
	if o.Object.GetUID() == "" {
		problems = append(problems, fmt.Errorf("the owner, %s, has no UID: it was not read from an API server", o))
	}
	if o.Kind.Kind == "" || o.Kind.Version == "" {
		problems = append(problems, fmt.Errorf("the owner, %s, has the kind %q, want version and kind", o.Object.GetName(), o.Kind))
	}
	if o.Template == nil {
		problems = append(problems, fmt.Errorf("the owner, %s, has no Template", o))
	}
	return errors.Join(problems...)
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

// NewOwnership compiles the owner's selector. An owner with an empty one owns nothing:
// [ErrSelectsAll].
func NewOwnership(owner Owner) (*Ownership, error) {
	if err := owner.Validate(); err != nil {
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(owner.Selector)
	if err != nil {
		return nil, fmt.Errorf("selector of %s: %w", owner, err)
	}
	if selector.Empty() {
		return nil, fmt.Errorf("%s: %w", owner, ErrSelectsAll)
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
