package network

import (
	"strconv"
	"strings"
)

// A Store is the cache of a client of one kind, as package feed wants it.
type Store struct {
	client *Client
	kind   Kind
}

// Store returns the cache of a kind. It is used after Inform.
func (c *Client) Store(kind Kind) Store { return Store{c, kind} }

// GetByKey returns the object of that name. The namespace does not count.
func (s Store) GetByKey(key string) (item any, exists bool, err error) {
	object := s.client.Cached(s.kind, key[strings.LastIndexByte(key, '/')+1:])
	return object, object != nil, nil
}

// Version returns how far the watch is. There are no bookmarks.
func (s Store) Version() uint64 { return s.client.watches[s.kind].current() }

// LastSyncResourceVersion returns how far the watch is.
func (s Store) LastSyncResourceVersion() string { return strconv.FormatUint(s.Version(), 10) }

// LastStoreSyncResourceVersion returns how far the cache is. What the watch
// receives is in it at once.
func (s Store) LastStoreSyncResourceVersion() string { return s.LastSyncResourceVersion() }
