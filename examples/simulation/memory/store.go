package memory

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
)

// store makes the objects of an API server safe for concurrent use, and wakes
// the watches.
//
// The lock is held for map and slice operations only: patches are computed, and
// objects encoded, compared and sent to watchers, without it.
type store struct {
	mu      sync.Mutex
	objects *apiserver.Objects
	watches map[*watcher]struct{}
	// changed are closed by the next change of a resource. One that is missing
	// has no watch that waits.
	changed map[schema.GroupVersionResource]chan struct{}
}

func newStore(limits apiserver.Limits) *store {
	return &store{
		objects: apiserver.NewObjects(limits),
		watches: map[*watcher]struct{}{},
		changed: map[schema.GroupVersionResource]chan struct{}{},
	}
}

func (s *store) Get(resource schema.GroupVersionResource, k apiserver.Key) (runtime.Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects.Get(resource, k)
}

func (s *store) Snapshot(resource schema.GroupVersionResource, namespace string) ([]apiserver.Entry, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects.Snapshot(resource, namespace)
}

func (s *store) NextID() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects.NextID()
}

func (s *store) Commit(change apiserver.Change) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.objects.Commit(change) {
		return false
	}
	if changed, waited := s.changed[change.Resource]; waited {
		close(changed)
		delete(s.changed, change.Resource)
	}
	return true
}

func (s *store) Resume(resource schema.GroupVersionResource, seen uint64) (position, version uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects.Resume(resource, seen)
}

func (s *store) Begin(
	resource schema.GroupVersionResource, namespace string,
) (entries []apiserver.Entry, position, version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects.Begin(resource, namespace)
}

// next copies changes from a position on into buffer. Without any it returns a
// channel that is closed by the next one. It reports false when the position
// has been forgotten.
func (s *store) next(
	resource schema.GroupVersionResource, position uint64, buffer []apiserver.Record,
) (int, <-chan struct{}, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.objects.Read(resource, position, buffer)
	if n > 0 || !ok {
		return n, nil, ok
	}
	changed, waited := s.changed[resource]
	if !waited {
		changed = make(chan struct{})
		s.changed[resource] = changed
	}
	return 0, changed, true
}

func (s *store) open(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches[w] = struct{}{}
}

func (s *store) closed(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watches, w)
}

func (s *store) openWatches() []*watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := make([]*watcher, 0, len(s.watches))
	for w := range s.watches {
		open = append(open, w)
	}
	return open
}
