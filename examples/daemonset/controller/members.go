package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kubelife/lifecycle/daemon/revision"
)

// group names the objects of a namespace that one owner controls. Without an
// owner they are the orphans of the namespace.
type group struct {
	namespace string
	owner     types.UID
}

// members holds the pods, or the revisions, that a set may own: those that an
// object of the kind controls, and orphans. An object may come before its
// owner.
type members[T metav1.Object] struct {
	kind   schema.GroupKind
	known  map[types.NamespacedName]T
	groups map[group]*list[T]
}

// list holds the objects of one namespace. A visit of all of them in slices
// goes from the end to the beginning. A removal moves the last object, which
// has been visited then.
type list[T metav1.Object] struct {
	objects []T
	places  map[string]place // by name
	// carriers are the objects by the hash that they carry as their label.
	carriers map[string][]T
}

// place is where an object is: among all, and among those of its hash.
type place struct{ all, alike int }

// all returns the objects. The zero list, and nil, have none.
func (l *list[T]) all() []T {
	if l == nil {
		return nil
	}
	return l.objects
}

// carrying returns the objects that carry a hash. They must not be changed.
func (l *list[T]) carrying(hash string) []T {
	if l == nil {
		return nil
	}
	return l.carriers[hash]
}

// put adds an object, or replaces the one of the name.
func (l *list[T]) put(object T) {
	if l.places == nil {
		l.places, l.carriers = make(map[string]place), make(map[string][]T)
	}
	hash := carriedBy(object)
	at, known := l.places[object.GetName()]
	if !known {
		at.all = len(l.objects)
		l.objects = append(l.objects, object)
	} else {
		former := carriedBy(l.objects[at.all])
		l.objects[at.all] = object
		if former == hash {
			l.carriers[hash][at.alike] = object
			return
		}
		l.drop(former, at.alike)
	}
	at.alike = len(l.carriers[hash])
	l.carriers[hash] = append(l.carriers[hash], object)
	l.places[object.GetName()] = at
}

func (l *list[T]) remove(name string) {
	at, ok := l.places[name]
	if !ok {
		return
	}
	l.drop(carriedBy(l.objects[at.all]), at.alike)
	moved := removeAt(&l.objects, at.all).GetName()
	l.places[moved] = place{at.all, l.places[moved].alike}
	delete(l.places, name)
}

// drop removes an object from those of its hash.
func (l *list[T]) drop(hash string, alike int) {
	rest := l.carriers[hash]
	moved := removeAt(&rest, alike).GetName()
	l.places[moved] = place{l.places[moved].all, alike}
	if l.carriers[hash] = rest; len(rest) == 0 {
		delete(l.carriers, hash)
	}
}

// removeAt removes an object and returns the last one, which gets its place.
func removeAt[T any](from *[]T, at int) T {
	objects := *from
	last := len(objects) - 1
	moved := objects[last]
	objects[at] = moved
	clear(objects[last:])
	*from = objects[:last]
	return moved
}

// carriedBy returns the hash that an object carries as its label.
func carriedBy(object metav1.Object) string { return object.GetLabels()[revision.HashLabel] }

func newMembers[T metav1.Object](kind schema.GroupKind) members[T] {
	return members[T]{
		kind:   kind,
		known:  make(map[types.NamespacedName]T),
		groups: make(map[group]*list[T]),
	}
}

// groupOf returns the group of an object, and false if no set can own it.
func (m *members[T]) groupOf(object T) (group, bool) {
	controller := metav1.GetControllerOfNoCopy(object)
	if controller == nil {
		return group{namespace: object.GetNamespace()}, true
	}
	version, err := schema.ParseGroupVersion(controller.APIVersion)
	if err != nil || controller.Kind != m.kind.Kind || version.Group != m.kind.Group {
		return group{}, false
	}
	return group{object.GetNamespace(), controller.UID}, true
}

// observe records an object as it is now. It returns the group that it was in,
// if that is another one.
func (m *members[T]) observe(object T) (left group, moved bool) {
	key := keyOf(object)
	now, kept := m.groupOf(object)
	known, wasKept := m.known[key]
	if wasKept {
		left, _ = m.groupOf(known)
	}
	if moved = wasKept && (!kept || left != now); moved {
		m.remove(object)
	}
	if kept {
		m.known[key] = object
		if m.groups[now] == nil {
			m.groups[now] = new(list[T])
		}
		m.groups[now].put(object)
	}
	return left, moved
}

// relabels reports whether an object is known with another hash than it carries
// now.
func (m *members[T]) relabels(object T) bool {
	known, ok := m.known[keyOf(object)]
	return ok && known.GetUID() == object.GetUID() && carriedBy(known) != carriedBy(object)
}

// forget removes an object, unless another one has its name by now. It returns
// the group that the object was in.
func (m *members[T]) forget(object T) (group, bool) {
	if known, ok := m.known[keyOf(object)]; !ok || known.GetUID() != object.GetUID() {
		return group{}, false
	}
	return m.remove(object)
}

func (m *members[T]) remove(object T) (group, bool) {
	key := keyOf(object)
	known, ok := m.known[key]
	if !ok {
		return group{}, false
	}
	from, _ := m.groupOf(known)
	delete(m.known, key)
	m.groups[from].remove(key.Name)
	if len(m.groups[from].objects) == 0 {
		delete(m.groups, from)
	}
	return from, true
}

func keyOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// isOlder is false for versions that do not compare.
func isOlder(object, than metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), than.GetResourceVersion())
	return err == nil && order < 0
}
