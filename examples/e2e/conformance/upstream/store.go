package upstream

import (
	"k8s.io/client-go/tools/cache"
)

// A Store is one cache of the controller: an informer without a watch.
//
// Put and Drop change what the controller finds. Added, Updated and Deleted do
// that too, and tell it, as a watch event would.
type Store struct {
	cache.SharedIndexInformer // nil; the controller calls what is defined here
	indexer                   cache.Indexer
	handler                   cache.ResourceEventHandler
}

func newStore() *Store {
	return &Store{indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})}
}

// Put puts an object into the cache.
func (s *Store) Put(object any) {
	if err := s.indexer.Add(object); err != nil {
		panic(err) // an object without metadata
	}
}

// Replace puts objects into the cache instead of all that are there.
func (s *Store) Replace(objects []any) {
	if err := s.indexer.Replace(objects, ""); err != nil {
		panic(err)
	}
}

// Drop takes an object out of the cache.
func (s *Store) Drop(object any) {
	if err := s.indexer.Delete(object); err != nil {
		panic(err)
	}
}

// Added puts an object into the cache and tells the controller.
func (s *Store) Added(object any) {
	s.Put(object)
	s.handler.OnAdd(object, false)
}

// Updated puts another version of an object into the cache and tells the
// controller.
func (s *Store) Updated(old, object any) {
	s.Put(object)
	s.handler.OnUpdate(old, object)
}

// Deleted takes an object out of the cache and tells the controller.
func (s *Store) Deleted(object any) {
	s.Drop(object)
	s.handler.OnDelete(object)
}

// enqueue makes the controller queue an object, which need not exist.
func (s *Store) enqueue(object any) { s.handler.OnAdd(object, false) }

// Informer is itself: what the generated informers of client-go return.
func (s *Store) Informer() cache.SharedIndexInformer { return s }

// AddEventHandler remembers the handler. There is one.
func (s *Store) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	s.handler = handler
	return nil, nil
}

// GetIndexer returns the cache.
func (s *Store) GetIndexer() cache.Indexer { return s.indexer }

// GetStore returns the cache.
func (s *Store) GetStore() cache.Store { return s.indexer }

// AddIndexers adds to the indexes of the cache.
func (s *Store) AddIndexers(indexers cache.Indexers) error { return s.indexer.AddIndexers(indexers) }

// HasSynced says that all is there.
func (s *Store) HasSynced() bool { return true }
