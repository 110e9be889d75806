package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

// status is the one subresource with the shape of its resource.
const status = "status"

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
// request at a time, and a long test would keep all it ever sent. The
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
		return r.server.List(a.Resource, a.Kind, a.Namespace, a.ListOptions)
	case clienttesting.CreateActionImpl:
		return r.create(a)
	case clienttesting.UpdateActionImpl:
		return r.update(a)
	case clienttesting.PatchActionImpl:
		return r.patch(a)
	case clienttesting.DeleteActionImpl:
		return nil, r.delete(a)
	case clienttesting.DeleteCollectionActionImpl:
		return nil, r.server.DeleteCollection(time.Now(), a.Resource, a.Namespace, a.DeleteOptions, a.ListOptions)
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
	return r.server.Get(a.Resource, apiserver.Key{Namespace: a.Namespace, Name: a.Name})
}

func (r *reactor) create(a clienttesting.CreateActionImpl) (runtime.Object, error) {
	switch {
	case a.Subresource == "":
		options := apiserver.WriteOptions{DryRun: a.CreateOptions.DryRun}
		return r.server.Create(time.Now(), a.Resource, a.Namespace, a.Object, options)
	case a.Resource == pods && a.Subresource == "binding":
		return nil, r.server.Bind(time.Now(), a.Namespace, a.Object)
	case a.Resource == pods && a.Subresource == "eviction":
		options := apiserver.WriteOptions{DryRun: a.CreateOptions.DryRun}
		return nil, r.server.Evict(time.Now(), a.Namespace, a.Object, options)
	}
	return nil, notServed(a)
}

func (r *reactor) update(a clienttesting.UpdateActionImpl) (runtime.Object, error) {
	if a.Subresource != "" && a.Subresource != status {
		return nil, notServed(a)
	}
	options := apiserver.WriteOptions{Subresource: a.Subresource, DryRun: a.UpdateOptions.DryRun}
	return r.server.Update(time.Now(), a.Resource, a.Namespace, a.Object, options)
}

func (r *reactor) patch(a clienttesting.PatchActionImpl) (runtime.Object, error) {
	if a.Subresource != "" && a.Subresource != status {
		return nil, notServed(a)
	}
	k := apiserver.Key{Namespace: a.Namespace, Name: a.Name}
	options := apiserver.WriteOptions{Subresource: a.Subresource, DryRun: a.PatchOptions.DryRun}
	return r.server.Patch(time.Now(), a.Resource, k, a.PatchType, a.Patch, options)
}

func (r *reactor) delete(a clienttesting.DeleteActionImpl) error {
	if a.Subresource != "" {
		return notServed(a)
	}
	k := apiserver.Key{Namespace: a.Namespace, Name: a.Name}
	_, err := r.server.Delete(time.Now(), a.Resource, k, a.DeleteOptions)
	return err
}
