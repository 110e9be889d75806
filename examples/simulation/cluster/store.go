package cluster

import (
	"github.com/kubelife/lifecycle/examples/simulation/apiserver"
	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// store is what the API server has. It tells of each change.
type store struct {
	*apiserver.Objects

	cluster *Cluster
	call    *network.Call // under way; nil: no client's
	read    map[network.Kind]uint64
}

// Commit implements [apiserver.Store].
func (s *store) Commit(change apiserver.Change) bool {
	if !s.Objects.Commit(change) {
		return false
	}
	kind, watched := network.KindOf(change.Resource)
	if !watched {
		return true
	}
	// A deletion can be two changes: the terminating state, and the end.
	var records [2]apiserver.Record
	n, _ := s.Read(change.Resource, s.read[kind], records[:])
	if s.read == nil {
		s.read = map[network.Kind]uint64{}
	}
	s.read[kind] += uint64(n)
	for i := range records[:n] {
		s.stored(kind, &records[i])
	}
	return true
}

// stored tells of a change, and shows it to watches.
func (s *store) stored(kind network.Kind, record *apiserver.Record) {
	w := Write{Call: s.call, Kind: kind, Version: record.Version, At: record.At}
	if record.Previous != nil {
		w.Before = apiserver.MetaOf(record.Previous)
	}
	shown := apiserver.MetaOf(record.Object)
	if record.Deleted {
		w.Before = shown
	} else {
		w.After = shown
	}
	if s.cluster.config.Stored != nil {
		s.cluster.config.Stored(w)
	}
	s.cluster.Announce(network.Change{Kind: kind, Name: shown.GetName(), Object: shown, Gone: record.Deleted})
}
