package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubelife/lifecycle/examples/e2e/evictions/judge"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// table has what the plays have come to.
type table = sidebyside.Table[judge.Counts]

func newTable(scenarios []scenario, subjects []subject) *table {
	t := &table{Corner: "while pods are evicted", Show: show, Legend: legend}
	for _, s := range scenarios {
		t.Scenarios = append(t.Scenarios, sidebyside.Heading{Name: s.Name, Title: s.title()})
	}
	for _, s := range subjects {
		t.Subjects = append(t.Subjects, sidebyside.Heading{Name: s.Name, Title: s.Title})
	}
	return t
}

// title is the scenario's, with our flags and when a pod is late.
func (s scenario) title() string {
	title := s.Title
	if len(s.Ours) > 0 {
		title += " (ours with `" + strings.Join(s.Ours, " ") + "`)"
	}
	return fmt.Sprintf("%s; late after %d s", title, s.Late/time.Second)
}

// show is a verdict in a few words: what is not flawless in bold.
func show(n judge.Counts) string {
	text := fmt.Sprintf("%d of %d", n.Evicted, n.Must)
	if n.Evicted > 0 {
		text += fmt.Sprintf(", the last after %.1f s", n.Latest.Seconds())
	}
	var faults []string
	for _, fault := range []struct {
		n    int
		what string
	}{{n.Early, "early"}, {n.Late, "late"}, {n.Lost, "lost"}, {n.Wrong, "wrong"}} {
		if fault.n > 0 {
			faults = append(faults, fmt.Sprintf("%d %s", fault.n, fault.what))
		}
	}
	if len(faults) == 0 {
		return text
	}
	return text + "; **" + strings.Join(faults, ", ") + "**"
}

const legend = `Pods evicted when they were due or later, of those that had to be, and how long after that the last of them was; what was
in the way (a refusal, an outage, a budget) is over before that time counts. Early, late, lost (still there a minute later) and
wrong (evicted although they must stay, or before their budget allows it) are zero where they are not named. A pod that
its owner deletes before it is due need not be evicted; so numbers of recreated ones differ. Upstream's controller deletes
pods and asks for no budget, as documented: that it counts as wrong there is no fault of it.`
