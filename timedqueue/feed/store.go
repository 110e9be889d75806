package feed

import "k8s.io/client-go/tools/cache"

// Store is what a [Handler] reads of an informer; see [StoreOf]. It may also
// have the method LastStoreSyncResourceVersion.
type Store interface {
	// GetByKey returns the object of that namespace and name.
	GetByKey(key string) (item any, exists bool, err error)
	// LastSyncResourceVersion is that of the informer. It changes with each event,
	// bookmark and list.
	LastSyncResourceVersion() string
}

// StoreOf returns the store of an informer of client-go.
func StoreOf(informer cache.SharedInformer) Store {
	return informerStore{informer.GetStore(), informer}
}

type informerStore struct {
	cache.Store

	informer cache.SharedInformer
}

func (s informerStore) LastSyncResourceVersion() string {
	return s.informer.LastSyncResourceVersion()
}

// LastStoreSyncResourceVersion returns an empty version with a client-go before
// v0.36, whose store cannot tell.
func (s informerStore) LastStoreSyncResourceVersion() string {
	if store, ok := s.Store.(storeThatTells); ok {
		return store.LastStoreSyncResourceVersion()
	}
	return ""
}

// storeThatTells is a store that tells which changes it has.
type storeThatTells interface{ LastStoreSyncResourceVersion() string }
