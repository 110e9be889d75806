package model

import (
	"slices"
	"strings"
)

// cached is what a watch has shown of a kind. Nodes and leases are found by
// their machine's number: with a hundred thousand of them, looking up names
// would be a tenth of a run.
type cached struct {
	byMachine []object // nil: not there
	byName    map[string]object
	count     int
}

// reserve makes room for the first list, so that the map need not grow step by
// step.
func (s *cached) reserve(list []change) {
	if s.count == 0 && len(list) > 0 && list[0].machine == nil {
		s.byName = make(map[string]object, len(list))
	}
}

// of returns the version of the object that a change is about, nil if there is
// none.
func (s *cached) of(c *change) object {
	if c.machine == nil {
		return s.byName[c.name]
	}
	return s.ofMachine(c.machine)
}

func (s *cached) ofMachine(m *Machine) object {
	if m == nil || m.number >= len(s.byMachine) {
		return nil
	}
	return s.byMachine[m.number]
}

// put takes over the object of a change, and returns the version before.
func (s *cached) put(c *change) (before object) {
	if before = s.of(c); before == nil {
		s.count++
	}
	if c.machine == nil {
		s.byName[c.name] = c.object
		return before
	}
	if missing := c.machine.number + 1 - len(s.byMachine); missing > 0 {
		s.byMachine = append(s.byMachine, make([]object, missing)...)
	}
	s.byMachine[c.machine.number] = c.object
	return before
}

// remove drops the object that a change is about, and returns its last version,
// nil if there is none.
func (s *cached) remove(c *change) (last object) {
	if last = s.of(c); last == nil {
		return nil
	}
	s.count--
	if c.machine == nil {
		delete(s.byName, c.name)
	} else {
		s.byMachine[c.machine.number] = nil
	}
	return last
}

// missing returns what is not in a list of which everything has been put, by
// name.
func (s *cached) missing(list []change, machines []*Machine) []change {
	if s.count == len(list) {
		return nil
	}
	listed := make(map[string]bool, len(list))
	for i := range list {
		listed[list[i].name] = true
	}
	var all []change
	for i, o := range s.byMachine {
		if m := machines[i]; o != nil && !listed[m.Name] {
			all = append(all, change{name: m.Name, machine: m})
		}
	}
	for name := range s.byName {
		if !listed[name] {
			all = append(all, change{name: name})
		}
	}
	slices.SortFunc(all, func(a, b change) int { return strings.Compare(a.name, b.name) })
	return all
}
