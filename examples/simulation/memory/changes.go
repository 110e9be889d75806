package memory

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Change is one change of an object, as an audit log has it.
type Change struct {
	// Version is the resourceVersion that the change was given. Versions order
	// the changes of all resources.
	Version uint64
	// Object is the state after the change, and the last state if it was a
	// deletion.
	Object runtime.Object
	// Deleted says that the change removed the object.
	Deleted bool
}

// Changes returns the changes of a resource that are still kept, oldest first.
// They count as requests of no client. Unlike what a watch shows they do not
// depend on when its client runs.
func (c *Cluster) Changes(resource schema.GroupVersionResource) []Change {
	records := c.server.store.records(resource)
	changes := make([]Change, 0, len(records))
	for _, r := range records {
		changes = append(changes, Change{r.Version, r.Object.DeepCopyObject(), r.Deleted})
	}
	return changes
}
