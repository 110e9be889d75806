package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/kubelife/lifecycle/examples/outage/cluster"
	"github.com/kubelife/lifecycle/examples/outage/scenarios"
)

// help writes what the program does, or what the command does that was given.
func (s *settings) help(out io.Writer, flags *pflag.FlagSet) {
	text := generalHelp
	if s.blast {
		text = blastHelp
	}
	text(out)
	fmt.Fprint(out, "\nFlags:\n", flags.FlagUsages(), exitHelp)
}

const exitHelp = `
Exit codes: 0 done, 1 failed, interrupted, or --check found a broken promise or
another result than the scenario expects, 2 called wrongly or the scenario is
invalid. Ctrl-C ends a run with what is known so far, also in the page. A run of
over a second says how far it is, and about how long the rest takes.
`

func blastHelp(out io.Writer) {
	fmt.Fprint(out, `outage blast says what a cluster suffers when it loses a part: each zone, pool and
rack, the control plane for 1, 5 and 30 minutes, and all nodes. Each loss is played
on its own, also with a longer grace period, a lower rate and longer tolerations. A
table has the nodes tainted, the pods evicted and when, the workloads that lose all
their pods, and what budgets keep.

  outage blast --from cluster.json                        of your own cluster
  outage blast --from cluster.json --set action=evict     with budgets
  outage blast mine.yaml                                  of a scenario, without its script
  outage blast mine.yaml --json                           for machines

cluster.json is what this prints:

  `+cluster.Command+`
`)
}

func generalHelp(out io.Writer) {
	fmt.Fprint(out, `outage plays an outage of a cluster in virtual time and reports what the node
lifecycle controller does: what it declares dead, taints, evicts and spares, how
fast and how late.

  outage SCENARIO                               a file, - for standard input, or a name below
  outage zone-loss                              what a dead zone looks like
  outage zone-loss --set node-eviction-rate=1   the same with another flag
  outage zone-loss --compare node-eviction-rate=1,unhealthy-zone-threshold=0.3
                                                both, side by side
  outage rack-loss --check --seed 7             another course of it; does every promise hold?
  outage rack-loss --json | jq .summary         for machines
  outage zone-loss --html report.html           plots over time, for a browser

Your own cluster, with --kubeconfig FILE and the list rights of
outage/cluster/clusterrole.yaml, or from cluster.json, which this prints:

  `+cluster.Command+`

  outage --from cluster.json                    it loses its largest zone
  outage --from cluster.json --save mine.yaml   for editing
  outage blast --from cluster.json              what it does when it loses each zone, pool and
                                                rack, the control plane, and all nodes; Ctrl-C
                                                prints what is known
  outage blast mine.yaml --set action=evict     the same of a scenario; its script is left out
  outage blast --help                           the flags of blast

What a run costs, measured for clusters of 12,500 to 100,000 nodes:

  go -C examples test ./outage/simulation -run '^$' -bench Scale -benchtime 1x

Scenarios that ship, in outage/scenarios:
`)
	if err := listScenarios(out); err != nil {
		fmt.Fprintln(out, err)
	}
	fmt.Fprintf(out, `
A scenario of your own begins as a copy of one of them. It names zones with nodes,
workloads with pods, flags of the controller and a script of faults; what may be in
it is described in outage/scenario/doc.go, and what is wrong with one is told with
its line.

How to read what comes out: each line of the timeline says when, counted from the
start of the scenario, and where. A silent node is declared Unknown when its grace
period ends, tainted NoExecute when the rate of its zone lets it, and then its pods
leave when they no longer tolerate that. The table sums it up for each zone.

A scenario can also say what must come out of it (expect), whatever the seed; the
%d that ship do. The report shows that next to what came out, and --check fails if
it differs. With --set and --compare it is left out: other flags, other numbers.
`, len(scenarios.Names()))
}

// listScenarios writes the name of each scenario that ships and what it is.
func listScenarios(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, name := range scenarios.Names() {
		s, err := scenarios.Read(name)
		if err != nil {
			return fmt.Errorf("read scenario %s, which ships: %w", name, err)
		}
		fmt.Fprintf(table, "  %s\t%s\n", name, firstSentence(s.Description))
	}
	return table.Flush()
}

// firstSentence returns the first sentence of a text, on one line.
func firstSentence(text string) string {
	paragraph, _, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	line := strings.Join(strings.Fields(paragraph), " ")
	if sentence, _, more := strings.Cut(line, ". "); more {
		return sentence + "."
	}
	return cmp.Or(line, "(no description)")
}
