package memory

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
)

// reactor turns the actions of one fake clientset into requests to the server.
type reactor struct {
	fake   *clienttesting.Fake
	server *server
	count  func(clienttesting.Action)
}

func (r *reactor) install() {
	r.fake.AddReactor("*", "*", r.react)
	r.fake.AddWatchReactor("*", r.watch)
}

// release gives up the fake's lock while a request is served and returns the
// function that takes it again.
//
// client-go runs reactors under that lock and keeps every action for good: one
// request at a time, and a long demonstration would keep all it ever sent. The
// lock guards only the list of actions and the reactors, and the latter never
// change after install, so a reactor can do without it. Clearing the list is
// possible only without it.
func (r *reactor) release() (acquire func()) {
	r.fake.Unlock()
	r.fake.ClearActions()
	return r.fake.Lock
}

func (r *reactor) react(action clienttesting.Action) (bool, runtime.Object, error) {
	defer r.release()()
	if _, discovery := action.(clienttesting.ActionImpl); discovery {
		return true, nil, nil
	}
	r.count(action)
	object, err := r.serve(action)
	if err != nil {
		return true, nil, err
	}
	return true, object, nil
}

func (r *reactor) serve(action clienttesting.Action) (runtime.Object, error) {
	switch a := action.(type) {
	case clienttesting.GetActionImpl:
		return r.get(a)
	case clienttesting.ListActionImpl:
		return r.server.list(a.Resource, a.Kind, a.Namespace, a.ListOptions)
	case clienttesting.CreateActionImpl:
		return r.create(a)
	case clienttesting.UpdateActionImpl:
		return r.update(a)
	case clienttesting.PatchActionImpl:
		return r.patch(a)
	case clienttesting.DeleteActionImpl:
		return nil, r.delete(a)
	case clienttesting.DeleteCollectionActionImpl:
		return nil, r.deleteCollection(a)
	}
	return nil, notServed(action)
}

func (r *reactor) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	defer r.release()()
	r.count(action)
	a, ok := action.(clienttesting.WatchActionImpl)
	if !ok {
		return true, nil, notServed(action)
	}
	w, err := r.server.watch(a.Resource, a.Namespace, a.ListOptions)
	if err != nil {
		return true, nil, err
	}
	return true, w, nil
}

func (r *reactor) get(a clienttesting.GetActionImpl) (runtime.Object, error) {
	if a.Subresource != "" {
		return nil, notServed(a)
	}
	return r.server.get(a.Resource, key{a.Namespace, a.Name})
}

func (r *reactor) create(a clienttesting.CreateActionImpl) (runtime.Object, error) {
	dry, err := dryRun(a.CreateOptions.DryRun)
	if err != nil {
		return nil, err
	}
	switch {
	case a.Subresource == "":
		return r.server.create(a.Resource, a.Namespace, a.Object, dry)
	case a.Resource == pods && a.Subresource == "binding":
		return nil, r.server.bind(a.Namespace, a.Object)
	}
	return nil, notServed(a)
}

func (r *reactor) update(a clienttesting.UpdateActionImpl) (runtime.Object, error) {
	if a.Subresource != "" && a.Subresource != status {
		return nil, notServed(a)
	}
	dry, err := dryRun(a.UpdateOptions.DryRun)
	if err != nil {
		return nil, err
	}
	return r.server.update(a.Resource, a.Namespace, a.Object, write{subresource: a.Subresource, dry: dry})
}

func (r *reactor) patch(a clienttesting.PatchActionImpl) (runtime.Object, error) {
	if a.Subresource != "" && a.Subresource != status {
		return nil, notServed(a)
	}
	dry, err := dryRun(a.PatchOptions.DryRun)
	if err != nil {
		return nil, err
	}
	return r.server.patch(a.Resource, key{a.Namespace, a.Name}, a.PatchType, a.Patch,
		write{subresource: a.Subresource, dry: dry})
}

func (r *reactor) delete(a clienttesting.DeleteActionImpl) error {
	if a.Subresource != "" {
		return notServed(a)
	}
	_, err := r.server.remove(a.Resource, key{a.Namespace, a.Name}, a.DeleteOptions)
	return err
}

func (r *reactor) deleteCollection(a clienttesting.DeleteCollectionActionImpl) error {
	f, err := r.server.filter(a.Resource, a.ListOptions)
	if err != nil {
		return err
	}
	objects, _ := r.server.store.list(a.Resource, a.Namespace)
	for _, object := range objects {
		if !f.matches(object) {
			continue
		}
		_, err := r.server.remove(a.Resource, keyOf(metaOf(object)), a.DeleteOptions)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// dryRun reports whether a request only asks what would happen. The API knows
// the one value "All".
func dryRun(values []string) (bool, error) {
	for _, value := range values {
		if value != metav1.DryRunAll {
			return false, apierrors.NewBadRequest("dryRun: only All is known, got " + value)
		}
	}
	return len(values) > 0, nil
}
