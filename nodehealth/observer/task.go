package observer

import (
	"maps"
	"slices"

	"github.com/kubelife/lifecycle/nodehealth"
)

// Action is what a [Task] asks for.
type Action string

const (
	// ActionRead asks for a live read of the leases of Task.Nodes.
	ActionRead Action = "Read"
	// ActionTell tells Task.Change. Its result does not matter.
	ActionTell Action = "Tell"
)

// A Task is handed out by a [Tracker]. At most one of each Action is under way.
type Task struct {
	Action Action
	// Nodes are those whose leases are to be read, in the order of their silence.
	Nodes []string
	// Change is what has changed since the last task ActionTell.
	Change Change

	suspects []nodehealth.NodeTask
}

// Result is what the caller reports about a task. The zero value says that it
// has failed. A read that has failed is tried again, with backoff.
type Result struct {
	// Versions has the resourceVersion of each lease that exists, by the name of
	// its node. It may hold others. Nil means that the read has failed.
	Versions map[string]string
}

// A Change names what has changed, sorted. What it is now, a [View] says: it may
// have changed again.
type Change struct {
	// Nodes have fallen silent, or were silent and are heard or deleted.
	Nodes []string
	// Zones have another state, or are gone.
	Zones []string
	// Phase reports whether the phase of the cluster has changed.
	Phase bool
}

// changes collects a Change. It names each node and zone once, so that it stays
// small while nothing takes it.
type changes struct {
	nodes, zones map[string]struct{}
	phase        bool
}

func newChanges() changes {
	return changes{nodes: make(map[string]struct{}), zones: make(map[string]struct{})}
}

func (c *changes) any() bool { return c.phase || len(c.nodes) > 0 || len(c.zones) > 0 }

// take returns what was collected, and begins again.
func (c *changes) take() Change {
	change := Change{
		Nodes: slices.Sorted(maps.Keys(c.nodes)), Zones: slices.Sorted(maps.Keys(c.zones)), Phase: c.phase,
	}
	*c = newChanges()
	return change
}
