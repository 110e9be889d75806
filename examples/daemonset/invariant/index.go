package invariant

import (
	"sort"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/examples/simulation/network"
)

// timeline is what became of the objects of one name.
type timeline struct {
	kind    network.Kind
	name    string
	changes []*Change
	answers []*Call // with an object of it, in the order of their arrival
}

// at returns the object at a version, or nil.
func (t *timeline) at(version uint64) metav1.Object {
	after := sort.Search(len(t.changes), func(i int) bool { return t.changes[i].Version > version })
	if after == 0 {
		return nil
	}
	return t.changes[after-1].After
}

// last returns the object at the end, or nil.
func (t *timeline) last() metav1.Object { return t.changes[len(t.changes)-1].After }

// identity names a timeline.
type identity struct {
	kind network.Kind
	name string
}

// index finds what became of an object.
type index struct {
	all       []*timeline
	byName    map[identity]*timeline
	byOwner   map[types.UID][]*timeline // pods and revisions that a set has ever controlled
	setsByUID map[types.UID]*timeline
}

func newIndex(h *History) *index {
	x := &index{
		byName:    map[identity]*timeline{},
		byOwner:   map[types.UID][]*timeline{},
		setsByUID: map[types.UID]*timeline{},
	}
	owned := map[*timeline]map[types.UID]bool{}
	for _, change := range h.Changes {
		object := change.Object()
		id := identity{change.Kind, object.GetName()}
		t := x.byName[id]
		if t == nil {
			t = &timeline{kind: change.Kind, name: id.name}
			x.byName[id], owned[t] = t, map[types.UID]bool{}
			x.all = append(x.all, t)
		}
		t.changes = append(t.changes, change)
		if change.Kind == Sets {
			x.setsByUID[object.GetUID()] = t
		}
		if owner := controllerOf(object); owner != "" && !owned[t][owner] {
			owned[t][owner] = true
			x.byOwner[owner] = append(x.byOwner[owner], t)
		}
	}
	for _, call := range h.Calls {
		if t := x.byName[identity{call.Kind, call.Name}]; t != nil && call.says() {
			t.answers = append(t.answers, call)
		}
	}
	return x
}

// says reports whether the answer to a call says what there is.
func (c *Call) says() bool { return c.Answered && (c.Answer != nil || c.Missing > 0) }

// version returns the version that the answer to a call is of.
func (c *Call) version() uint64 {
	if c.Answer == nil {
		return c.Missing
	}
	version, err := strconv.ParseUint(c.Answer.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// controllerOf returns the UID of the DaemonSet that controls an object, or
// nothing.
func controllerOf(object metav1.Object) types.UID {
	for _, owner := range object.GetOwnerReferences() {
		if owner.Controller != nil && *owner.Controller && owner.Kind == "DaemonSet" {
			return owner.UID
		}
	}
	return ""
}

// orphan reports whether nothing controls an object.
func orphan(object metav1.Object) bool {
	for _, owner := range object.GetOwnerReferences() {
		if owner.Controller != nil && *owner.Controller {
			return false
		}
	}
	return true
}
