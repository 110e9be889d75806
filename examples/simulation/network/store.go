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

// LastSyncResourceVersion returns another version after each event and list that
// the client has received. There are no bookmarks.
func (s Store) LastSyncResourceVersion() string {
	return strconv.Itoa(s.client.watches[s.kind].received)
}
