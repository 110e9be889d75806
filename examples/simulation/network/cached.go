package network

import (
	"maps"
	"slices"
	"strings"
)

// cached is what a watch has shown of a kind. Objects with a number are found
// by that: with a hundred thousand nodes, looking up names would be a tenth of
// a run.
type cached struct {
	byNumber []Object // number 1 first; nil: not there
	byName   map[string]Object
	count    int
}

// reserve makes room for the first list, so that the map need not grow step by
// step.
func (s *cached) reserve(list []Change) {
	if s.count == 0 && len(list) > 0 && list[0].Number == 0 {
		s.byName = make(map[string]Object, len(list))
	}
}

// get returns an object by its number, or by its name if it has none. It is nil
// if it is not there.
func (s *cached) get(number int, name string) Object {
	switch {
	case number == 0:
		return s.byName[name]
	case number > len(s.byNumber):
		return nil
	}
	return s.byNumber[number-1]
}

// put takes over the object of a change, and returns the version before.
func (s *cached) put(c *Change) (before Object) {
	if before = s.get(c.Number, c.Name); before == nil {
		s.count++
	}
	if c.Number == 0 {
		s.byName[c.Name] = c.Object
		return before
	}
	if missing := c.Number - len(s.byNumber); missing > 0 {
		s.byNumber = append(s.byNumber, make([]Object, missing)...)
	}
	s.byNumber[c.Number-1] = c.Object
	return before
}

// remove drops the object that a change is about, and returns its last version,
// nil if there is none.
func (s *cached) remove(c *Change) (last Object) {
	if last = s.get(c.Number, c.Name); last == nil {
		return nil
	}
	s.count--
	if c.Number == 0 {
		delete(s.byName, c.Name)
	} else {
		s.byNumber[c.Number-1] = nil
	}
	return last
}

// all returns what is there, by name.
func (s *cached) all() []Object {
	all := slices.Collect(maps.Values(s.byName))
	for _, o := range s.byNumber {
		if o != nil {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all
}

// missing returns what is not in a list of which everything has been put, by
// name.
func (s *cached) missing(list []Change) []Change {
	if s.count == len(list) {
		return nil
	}
	listed := make(map[string]bool, len(list))
	for i := range list {
		listed[list[i].Name] = true
	}
	var all []Change
	for i, o := range s.byNumber {
		if o != nil && !listed[o.GetName()] {
			all = append(all, Change{Name: o.GetName(), Number: i + 1})
		}
	}
	for name := range s.byName {
		if !listed[name] {
			all = append(all, Change{Name: name})
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return all
}
