package ownership_test

import (
	"encoding/json"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// guardedAPI is the fake clientset, which also refuses a patch of an object
// with another UID, as kube-apiserver does. If fails is set, it may answer
// first.
type guardedAPI struct {
	*fake.Clientset
	fails func(resource, name string) error
}

func newGuardedAPI(objects ...runtime.Object) *guardedAPI {
	api := &guardedAPI{Clientset: fake.NewClientset(objects...)}
	api.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		named, ok := action.(interface{ GetName() string })
		if !ok {
			return false, nil, nil
		}
		resource := action.GetResource().Resource
		if api.fails != nil {
			if err := api.fails(resource, named.GetName()); err != nil {
				return true, nil, err
			}
		}
		patch, ok := action.(clienttesting.PatchAction)
		if !ok {
			return false, nil, nil
		}
		err := api.refuse(patch)
		return err != nil, nil, err
	})
	return api
}

func (a *guardedAPI) refuse(action clienttesting.PatchAction) error {
	object, err := a.Tracker().Get(action.GetResource(), action.GetNamespace(), action.GetName())
	if err != nil {
		return nil //nolint:nilerr // the tracker returns it itself
	}
	live, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	var patch struct{ Metadata metav1.ObjectMeta }
	if err := json.Unmarshal(action.GetPatch(), &patch); err != nil {
		return err
	}
	switch patch.Metadata.UID {
	case "":
		return errors.New("patch of " + live.GetName() + " without a UID")
	case live.GetUID():
		return nil
	}
	kind := schema.GroupKind{Kind: action.GetResource().Resource}
	return apierrors.NewInvalid(kind, live.GetName(), field.ErrorList{field.Invalid(
		field.NewPath("metadata", "uid"), patch.Metadata.UID, "field is immutable")})
}

// calls are what the API server was asked for, as "patch pods p".
func (a *guardedAPI) calls() []string {
	var calls []string
	for _, action := range a.Actions() {
		call := action.GetVerb() + " " + action.GetResource().Resource
		if named, ok := action.(interface{ GetName() string }); ok {
			call += " " + named.GetName()
		}
		calls = append(calls, call)
	}
	return calls
}
