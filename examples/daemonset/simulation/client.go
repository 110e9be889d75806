package simulation

import (
	"context"
	"errors"
	"path"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/daemonset/invariant"
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

// request is one call of the API server. Its coroutine stands still until it is
// answered.
type request struct {
	verb         verb
	kind         invariant.Kind
	name         string
	subresources []string
	do           func(now time.Time) (runtime.Object, error)
	object       runtime.Object
	err          error
}

// String returns what it asks for, as in "patch daemonsets/status".
func (r *request) String() string {
	return string(r.verb) + " " + path.Join(append([]string{r.kind.String()}, r.subresources...)...)
}

type verb string

const (
	verbGet    verb = "get"
	verbCreate verb = "create"
	verbPatch  verb = "patch"
	verbDelete verb = "delete"
)

// line is how the code in an errand reaches the API server.
type line struct {
	server *apiserver.Server
	send   func(*request) bool
}

type lineKey struct{}

var errStopped = errors.New("the process has ended")

// call sends a request and returns when it is answered.
func call[T runtime.Object](
	ctx context.Context, of client[T], verb verb, name string,
	do func(s *apiserver.Server, now time.Time, key apiserver.Key) (runtime.Object, error),
	subresources ...string,
) (T, error) {
	var none T
	l, ok := ctx.Value(lineKey{}).(line)
	if !ok {
		return none, errors.New("a call outside an errand")
	}
	r := &request{verb: verb, kind: of.kind, name: name, subresources: subresources}
	r.do = func(now time.Time) (runtime.Object, error) {
		return do(l.server, now, apiserver.Key{Namespace: Namespace, Name: name})
	}
	if !l.send(r) {
		return none, errStopped
	}
	if r.err != nil {
		return none, r.err
	}
	answer, _ := r.object.(T)
	return answer, nil
}

// client is the typed client of a kind.
type client[T runtime.Object] struct{ kind invariant.Kind }

func (c client[T]) Get(ctx context.Context, name string, _ metav1.GetOptions) (T, error) {
	return call(ctx, c, verbGet, name,
		func(s *apiserver.Server, _ time.Time, key apiserver.Key) (runtime.Object, error) {
			return s.Get(resourceOf(c.kind), key)
		})
}

func (c client[T]) Create(ctx context.Context, object T, _ metav1.CreateOptions) (T, error) {
	return call(ctx, c, verbCreate, apiserver.MetaOf(object).GetName(),
		func(s *apiserver.Server, now time.Time, _ apiserver.Key) (runtime.Object, error) {
			return s.Create(now, resourceOf(c.kind), Namespace, object, apiserver.WriteOptions{})
		})
}

func (c client[T]) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	_, err := call(ctx, c, verbDelete, name,
		func(s *apiserver.Server, now time.Time, key apiserver.Key) (runtime.Object, error) {
			gone, err := s.Delete(now, resourceOf(c.kind), key, options)
			if err != nil || gone {
				return nil, err
			}
			return s.Get(resourceOf(c.kind), key)
		})
	return err
}

func (c client[T]) Patch(ctx context.Context, name string, kind types.PatchType, data []byte,
	_ metav1.PatchOptions, subresources ...string) (T, error) {
	options := apiserver.WriteOptions{}
	if len(subresources) > 0 {
		options.Subresource = subresources[0]
	}
	return call(ctx, c, verbPatch, name,
		func(s *apiserver.Server, now time.Time, key apiserver.Key) (runtime.Object, error) {
			return s.Patch(now, resourceOf(c.kind), key, kind, data, options)
		}, subresources...)
}
