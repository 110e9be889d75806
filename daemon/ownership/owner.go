package ownership

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrOwnerGone means that the owner is being deleted, is deleted, or that
// another object has its name. Nothing may be created or adopted for it.
var ErrOwnerGone = errors.New("the owner is gone or being deleted")

// ErrEmptySelector means that an owner's selector is empty. It would select all
// objects of the namespace. kube-controller-manager ignores a DaemonSet with an
// empty selector and records the event SelectingAll.
var ErrEmptySelector = errors.New("the selector is empty and would select everything")

// ErrInvalidOwner is wrapped by each error about an [Owner] that lacks
// something.
var ErrInvalidOwner = errors.New("invalid owner")

// Owner is the controller of objects: a DaemonSet, a StatefulSet, a custom
// resource.
type Owner struct {
	// Object is the owner's metadata, as the API server returned it. It is only
	// read.
	Object metav1.Object
	// Kind is written to owner references. An object from a typed client has no
	// kind.
	Kind schema.GroupVersionKind
	// Selector selects the objects that the owner adopts and keeps. A controlled
	// object that it does not select is released.
	Selector *metav1.LabelSelector
}

// Validate joins all that is wrong with an owner, each as [ErrInvalidOwner].
// That is what owner references lack, and a selector that is missing, malformed
// or empty ([ErrEmptySelector]).
func (o Owner) Validate() error {
	_, err := o.compileSelector()
	return errors.Join(o.ValidateReference(), err)
}

// ValidateReference returns what the API server would refuse in an owner
// reference, as [ErrInvalidOwner]. It ignores the selector.
func (o Owner) ValidateReference() error {
	if o.Object == nil {
		return fmt.Errorf("%w: the owner has no Object", ErrInvalidOwner)
	}
	var problems []error
	if o.Object.GetName() == "" || o.Object.GetUID() == "" {
		problems = append(problems, fmt.Errorf(
			"%w: the owner has name %q and UID %q, want an object as the API server returned it",
			ErrInvalidOwner, o.Object.GetName(), o.Object.GetUID()))
	}
	if o.Kind.Version == "" || o.Kind.Kind == "" {
		problems = append(problems, fmt.Errorf("%w: the owner's kind is %q, want version and kind",
			ErrInvalidOwner, o.Kind))
	}
	return errors.Join(problems...)
}

// ValidateLabels returns why the owner would not keep an object with these
// labels, as [ErrInvalidOwner]. An owner whose template has such labels creates
// an object, releases it and creates the next one, without end. The API server
// refuses such a DaemonSet; a custom resource is not checked.
func (o Owner) ValidateLabels(own map[string]string) error {
	selector, err := o.compileSelector()
	switch {
	case err != nil:
		return err
	case !selector.Matches(labels.Set(own)):
		return fmt.Errorf("%w: the selector of %s, %s, does not select the labels of its template, %s",
			ErrInvalidOwner, o, selector, labels.Set(own))
	}
	return nil
}

func (o Owner) compileSelector() (labels.Selector, error) {
	if o.Selector == nil {
		return nil, fmt.Errorf("%w: %s has no Selector, so everything that it owns would be released",
			ErrInvalidOwner, o)
	}
	selector, err := metav1.LabelSelectorAsSelector(o.Selector)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: selector of %s: %w", ErrInvalidOwner, o, err)
	case selector.Empty():
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalidOwner, o, ErrEmptySelector)
	}
	return selector, nil
}

// String returns the kind, namespace and name, for messages.
func (o Owner) String() string {
	if o.Object == nil {
		return o.Kind.Kind
	}
	return o.Kind.Kind + " " + o.Object.GetNamespace() + "/" + o.Object.GetName()
}
