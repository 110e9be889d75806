package eviction

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A Hold is a reason for which evictions wait, while [Tracker.SetHold] says so:
// everywhere, or on some nodes. An operator has stopped the controller, every
// zone is disrupted, or a node is well again and its taint is about to be
// removed.
//
// What is held keeps its deadline. When that has passed, the pod waits for the
// end of the hold, or for another deadline that is not held, for example by a
// taint that an administrator has set. An eviction under way learns that its
// task is moot, and makes no further call. Nothing is lost: what became due
// meanwhile leaves in the order of the deadlines, as fast as the budgets allow.
type Hold struct {
	// Name identifies the hold in SetHold and in Pending. Required.
	Name string
	// Taints says which taints evict nothing while they are held. It must be a
	// pure function; Task.Reevaluate calls it too, on the goroutine of the action.
	// Nil means that everything is held, requests too.
	Taints func(*corev1.Taint) bool
	// Requests says that EvictNode and EvictPod evict nothing either.
	Requests bool
}

// holds reports whether a taint is held or, without one, requests are.
func (h *Hold) holds(taint *corev1.Taint) bool {
	switch {
	case h.Taints == nil:
		return true
	case taint == nil:
		return h.Requests
	}
	return h.Taints(taint)
}

// mostHolds is how many a holdSet can have.
const mostHolds = 32

func validateHolds(holds []Hold) error {
	var problems []error
	if len(holds) > mostHolds {
		problems = append(problems, fmt.Errorf("%w: there are %d holds, want at most %d",
			ErrInvalidConfig, len(holds), mostHolds))
	}
	names := make(map[string]bool)
	for _, h := range holds {
		switch {
		case h.Name == "":
			problems = append(problems,
				fmt.Errorf("%w: the Name of a hold is empty, want a name", ErrInvalidConfig))
		case names[h.Name]:
			problems = append(problems, fmt.Errorf("%w: two holds have the name %q, want one of each",
				ErrInvalidConfig, h.Name))
		}
		names[h.Name] = true
	}
	return errors.Join(problems...)
}

// A holdSet says which of Config.Holds hold now, one bit for each.
type holdSet uint32

func (s holdSet) has(i int) bool { return s&(1<<i) != 0 }

// with returns the set with or without one of them.
func (s holdSet) with(i int, held bool) holdSet {
	if held {
		return s | 1<<i
	}
	return s &^ (1 << i)
}

// unheld returns those of the taints that are not held.
func (c *Config) unheld(on []Taint, held holdSet) []Taint {
	if held == 0 {
		return on
	}
	var rest []Taint
	for i := range on {
		if c.holding(&on[i].Taint, held) < 0 {
			rest = append(rest, on[i])
		}
	}
	return rest
}

// holding returns the first hold that now holds a taint or, without one,
// requests. It is -1 if none does.
func (c *Config) holding(taint *corev1.Taint, held holdSet) int {
	for i := range c.Holds {
		if held.has(i) && c.Holds[i].holds(taint) {
			return i
		}
	}
	return -1
}

// named returns the hold of a name, or -1.
func (c *Config) named(hold string) int {
	return slices.IndexFunc(c.Holds, func(h Hold) bool { return h.Name == hold })
}

// SetHold begins or ends a hold of Config.Holds, on one node or, with an empty
// node, everywhere. It reports whether there is a hold of that name. A hold on
// a node ends with the node too; on one that was not observed it does nothing.
//
// A hold costs the actions under way. It counts at once; Start puts the pods
// aside that become due, and takes them back when the hold ends, in the order of
// their deadlines. The end of a hold on one node costs the pods of the node.
func (t *Tracker) SetHold(now time.Time, hold, node string, held bool) bool {
	now = t.pods.advance(now)
	i := t.config.named(hold)
	if i < 0 {
		return false
	}
	if node == "" {
		t.pods.hold(now, t.pods.rules.held.with(i, held))
	} else if n, known := t.nodes.byName[node]; known && n.state == present {
		t.pods.holdOn(now, n, n.held.with(i, held))
	}
	return true
}

// Held reports whether a hold holds everywhere or, with a node, on that node.
func (t *Tracker) Held(hold, node string) bool {
	held := t.pods.rules.held
	if n, known := t.nodes.byName[node]; known {
		held |= n.held
	}
	i := t.config.named(hold)
	return i >= 0 && held.has(i)
}
