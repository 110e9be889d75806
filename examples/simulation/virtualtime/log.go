package virtualtime

import (
	"sort"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// Change is one step of an object. Its objects are only read.
type Change struct {
	// Version is the resourceVersion that the change was given.
	Version uint64
	At      time.Time
	// Before is nil for a creation, and After for a removal.
	Before, After metav1.Object
}

// Log is all changes of one resource, in the order of their versions.
type Log []Change

// StateAt returns what there was at a version, by namespace and name.
func (l Log) StateAt(version uint64) map[string]metav1.Object {
	objects := map[string]metav1.Object{}
	for i := range l[:l.after(version)] {
		if change := &l[i]; change.After == nil {
			delete(objects, keyOf(change.Before))
		} else {
			objects[keyOf(change.After)] = change.After
		}
	}
	return objects
}

// VersionAt returns the newest version at a time, or 1 if nothing was stored.
func (l Log) VersionAt(at time.Time) uint64 {
	later := sort.Search(len(l), func(i int) bool { return l[i].At.After(at) })
	if later == 0 {
		return 1
	}
	return l[later-1].Version
}

// after returns the index of the first change that is newer than a version.
func (l Log) after(version uint64) int {
	return sort.Search(len(l), func(i int) bool { return l[i].Version > version })
}

func keyOf(object metav1.Object) string {
	return cache.NewObjectName(object.GetNamespace(), object.GetName()).String()
}
