package revision_test

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

// A guardedAPI is the fake clientset with guards. Like kube-apiserver, it
// refuses a patch or a deletion of an object with another UID or
// resourceVersion. The function fails, if it is not nil, may answer first.
type guardedAPI struct {
	*fake.Clientset
	fails func(verb, resource, name string) error
}

func newGuardedAPI(objects ...runtime.Object) *guardedAPI {
	api := &guardedAPI{Clientset: fake.NewClientset(objects...)}
	api.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		named, ok := action.(interface{ GetName() string })
		if !ok {
			return false, nil, nil
		}
		if api.fails != nil {
			if err := api.fails(action.GetVerb(), action.GetResource().Resource,
				named.GetName()); err != nil {
				return true, nil, err
			}
		}
		uid, version := guards(action)
		live, err := api.Tracker().Get(action.GetResource(), action.GetNamespace(), named.GetName())
		if err != nil {
			return false, nil, nil //nolint:nilerr // the tracker will say so itself
		}
		err = refuse(action, live, uid, version)
		return err != nil, nil, err
	})
	return api
}

// guards returns the UID and the resourceVersion that an object must have.
func guards(action clienttesting.Action) (uid, version string) {
	switch a := action.(type) {
	case clienttesting.PatchAction:
		var patch struct{ Metadata metav1.ObjectMeta }
		if json.Unmarshal(a.GetPatch(), &patch) == nil {
			return string(patch.Metadata.UID), patch.Metadata.ResourceVersion
		}
		var steps []struct{ Op, Path, Value string }
		if json.Unmarshal(a.GetPatch(), &steps) == nil && len(steps) > 0 {
			return steps[0].Value, ""
		}
	case clienttesting.DeleteActionImpl:
		if p := a.DeleteOptions.Preconditions; p != nil && p.UID != nil && p.ResourceVersion != nil {
			return string(*p.UID), *p.ResourceVersion
		}
	}
	return "", ""
}

func refuse(action clienttesting.Action, object runtime.Object, uid, version string) error {
	live, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	resource := schema.GroupResource{Resource: action.GetResource().Resource}
	switch {
	case uid == "" && action.GetVerb() != "get":
		return errors.New(action.GetVerb() + " of " + live.GetName() + " without a UID")
	case uid != "" && uid != string(live.GetUID()):
		return apierrors.NewInvalid(schema.GroupKind{Kind: resource.Resource}, live.GetName(),
			field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
	case version != "" && version != live.GetResourceVersion():
		return apierrors.NewConflict(resource, live.GetName(), errors.New("the object has been modified"))
	}
	return nil
}

// calls are what the API server was asked for, as "patch pods p".
func (a *guardedAPI) calls() []string {
	var calls []string
	for _, action := range a.Actions() {
		call := action.GetVerb() + " " + action.GetResource().Resource
		if named, ok := action.(interface{ GetName() string }); ok {
			call += " " + named.GetName()
		}
		if create, ok := action.(clienttesting.CreateAction); ok {
			call += " " + create.GetObject().(metav1.Object).GetName()
		}
		if action.GetSubresource() != "" {
			call += "/" + action.GetSubresource()
		}
		calls = append(calls, call)
	}
	return calls
}

func edit[T any](object *T, change func(*T)) *T {
	change(object)
	return object
}

func unjoin(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	return joined.Unwrap()
}
