package report

import (
	"fmt"
	"io"
	"strconv"

	"github.com/kubelife/lifecycle/examples/outage/scenario"
)

// Expectation is one bound that a scenario sets, and what came out.
type Expectation struct {
	// Path is where it is in the scenario: expect.tainted.nodes.
	Path string `json:"path"`
	// Want is what the scenario says, Got what came out, for people; Met reports
	// whether it holds.
	Want string `json:"want"`
	Got  string `json:"got"`
	Met  bool   `json:"met"`
}

// Expectations compares the summary of a whole run with what its scenario
// expects, in the order of the language's fields.
func Expectations(e *scenario.Expect, s *Summary) []Expectation {
	all := expectations{}
	if e == nil {
		return all
	}
	cluster := &s.Cluster
	if d := e.Declared; d != nil {
		all.count("declared.living", d.Living, cluster.DeclaredLiving.Nodes)
		all.count("declared.dead", d.Dead, cluster.DeclaredDead.Nodes)
	}
	if t := e.Tainted; t != nil {
		all.count("tainted.nodes", t.Nodes, cluster.Tainted.Nodes)
		all.count("tainted.times", t.Times, cluster.Tainted.Times)
	}
	if evicted := e.Evicted; evicted != nil {
		all.count("evicted.pods", evicted.Pods, cluster.Pods.Evicted)
		for _, workload := range s.Workloads {
			if bounds, ok := evicted.Workloads[workload.Name]; ok {
				all.count("evicted.workloads."+workload.Name, &bounds, workload.Evicted)
			}
		}
	}
	for i := range e.Departures {
		all.departures(fmt.Sprintf("departures[%d]", i), &e.Departures[i], s.Departures)
	}
	all.flag("suspended", e.Suspended, s.Suspended)
	all.flag("paused", e.Paused, s.Paused)
	all.count("calls", e.Calls, cluster.sent())
	all.count("failedCalls", e.FailedCalls, cluster.failed())
	return all
}

type expectations []Expectation

func (all *expectations) add(path, want, got string, met bool) {
	*all = append(*all, Expectation{"expect." + path, want, got, met})
}

func (all *expectations) count(path string, want *scenario.Count, got int) {
	if want != nil {
		all.add(path, want.String(), strconv.Itoa(got), want.Hold(got))
	}
}

func (all *expectations) flag(path string, want *bool, got bool) {
	if want != nil {
		all.add(path, strconv.FormatBool(*want), strconv.FormatBool(got), *want == got)
	}
}

// departures compares those of a step. When they are holds of none.
func (all *expectations) departures(path string, want *scenario.ExpectDepartures, departures []Departure) {
	sum := Departure{}
	for _, d := range departures {
		if d.Step == want.Step && (want.Workload == "" || want.Workload == d.Workload) {
			sum.add(d)
		}
	}
	all.count(path+".pods", want.Pods, sum.Pods)
	for _, one := range []struct {
		name string
		want *scenario.Time
		got  Seconds
	}{{".earliest", want.Earliest, sum.Earliest}, {".latest", want.Latest, sum.Latest}} {
		switch {
		case one.want == nil:
		case sum.Pods == 0:
			all.add(path+one.name, one.want.String(), none, true)
		default:
			all.add(path+one.name, one.want.String(), one.got.D().String(), one.want.Hold(scenario.Duration(one.got.D())))
		}
	}
}

// add makes d the departures of both.
func (d *Departure) add(other Departure) {
	if d.Pods == 0 {
		*d = other
		return
	}
	d.Pods += other.Pods
	d.Earliest, d.Latest = min(d.Earliest, other.Earliest), max(d.Latest, other.Latest)
}

// Unmet returns the expectations that do not hold.
func (d *Document) Unmet() []Expectation {
	var unmet []Expectation
	for _, e := range d.Expectations {
		if !e.Met {
			unmet = append(unmet, e)
		}
	}
	return unmet
}

// WriteExpectations writes for people what the scenario expects and what came
// out.
func (d *Document) WriteExpectations(out io.Writer) error {
	if d.ExpectationsSkipped {
		_, err := fmt.Fprint(out, "\nWhat the scenario expects was not compared: the settings change what must come out.\n")
		return err
	}
	if len(d.Expectations) == 0 {
		return nil
	}
	var t table
	t.row("expectation", "expected", "came out", "")
	for _, e := range d.Expectations {
		verdict := ""
		if !e.Met {
			verdict = "NO"
		}
		t.row(e.Path, e.Want, e.Got, verdict)
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return t.write(out)
}
