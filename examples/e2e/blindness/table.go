package main

import (
	"fmt"

	"github.com/kubelife/lifecycle/examples/e2e/blindness/judge"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// table has what the plays have come to.
type table = sidebyside.Table[judge.Counts]

func newTable(scenarios []scenario, subjects []subject, times times) *table {
	t := &table{
		Corner: "while nodes beat", Show: show,
		Legend: fmt.Sprintf(legend, times.grace.Seconds(), times.beat.Seconds()),
	}
	for _, s := range scenarios {
		t.Scenarios = append(t.Scenarios, sidebyside.Heading{Name: s.Name, Title: s.Title})
	}
	for _, s := range subjects {
		t.Subjects = append(t.Subjects, sidebyside.Heading{Name: s.Name, Title: s.Title})
	}
	return t
}

// show is a verdict in a few words: what is not flawless in bold.
func show(n judge.Counts) string {
	text := fmt.Sprintf("declared %s of %d living", bold(n.Wrong), n.Living)
	if n.Silent > 0 {
		text += fmt.Sprintf(" (and %d that were silent for as long)", n.Silent)
	}
	text += fmt.Sprintf(", %s tainted, %s pods evicted; missed %s of %d dead",
		bold(n.Tainted), bold(n.Evicted), bold(n.Missed), n.Dead)
	if n.Latest > 0 {
		text += fmt.Sprintf(", the last after %.1f s", n.Latest.Seconds())
	}
	if n.LatestDown > 0 {
		text += fmt.Sprintf(", %.1f s of them without the API server", n.LatestDown.Seconds())
	}
	return text
}

func bold(n int) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("**%d**", n)
}

const legend = `Declared: nodes whose Ready became Unknown although they had been silent for
less than the grace period. Silence begins with the last beat that the API
server stored. For a living node it goes on only while the API server answers.
Tainted: living nodes with a NoExecute taint for it; pods evicted: of living
nodes. Missed: nodes that died during the fault and were not declared within
three grace periods. These begin with the end of the fault. Where the subject
runs and the API server answers it all the time (rolling, watches), they begin
with the death. The last of the dead was declared so long after its last stored
beat. Both subjects have a grace period of %.0f s, beats every %.0f s,
--node-monitor-period=5s, --kube-api-qps=200, --kube-api-burst=200 and
--node-eviction-rate=1.`
