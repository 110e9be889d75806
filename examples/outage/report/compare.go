package report

import (
	"fmt"
	"io"
	"math"
)

// Comparison is one scenario run twice, with different settings.
type Comparison struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	// Settings are the assignments that the second run was changed with.
	Settings []string `json:"settings"`
	// Given and Changed are the runs.
	Given   *Document `json:"given"`
	Changed *Document `json:"changed"`
	// Differences are the numbers of the summaries that are not equal.
	Differences []Difference `json:"differences"`
	// Interrupted says that nothing was compared, because a run was interrupted.
	// Changed is nil then if the second did not begin.
	Interrupted bool `json:"interrupted,omitempty"`
}

// Difference is a number that differs between two runs.
type Difference struct {
	// Zone is empty for the cluster.
	Zone string `json:"zone,omitempty"`
	// Measure is where the number is in the JSON of a [Zone]: "pods.evicted".
	Measure string `json:"measure"`
	// Given and Changed are the numbers; nil where there is none.
	Given   *float64 `json:"given"`
	Changed *float64 `json:"changed"`
	// Change is Changed less Given; nil unless there are both.
	Change *float64 `json:"change"`
}

// Compare compares two runs of a scenario. The settings are those by which the
// second differs.
func Compare(settings []string, given, changed *Document) *Comparison {
	c := &Comparison{
		Scenario: given.Scenario, Seed: given.Seed, Settings: settings,
		Given: given, Changed: changed, Differences: []Difference{},
	}
	for _, pair := range c.pairs() {
		for _, m := range pair.measures() {
			if m.path == "" {
				continue
			}
			if d, differs := m.difference(pair); differs {
				c.Differences = append(c.Differences, d)
			}
		}
	}
	return c
}

// CompareNothing returns what is known of two runs, one of which was
// interrupted. Changed is nil if it did not begin.
func CompareNothing(settings []string, given, changed *Document) *Comparison {
	return &Comparison{
		Scenario: given.Scenario, Seed: given.Seed, Settings: settings,
		Given: given, Changed: changed, Differences: []Difference{}, Interrupted: true,
	}
}

// pair is a zone, or the cluster, in both runs.
type pair struct{ given, changed *Zone }

// pairs returns the zones of both runs and the cluster. A zone that exists in
// one run only is empty in the other.
func (c *Comparison) pairs() []pair {
	given, changed := &c.Given.Summary, &c.Changed.Summary
	var pairs []pair
	for i := range given.Zones {
		z := &given.Zones[i]
		other := changed.zone(z.Name)
		if other == nil {
			other = &Zone{Name: z.Name}
		}
		pairs = append(pairs, pair{z, other})
	}
	for i := range changed.Zones {
		if z := &changed.Zones[i]; given.zone(z.Name) == nil {
			pairs = append(pairs, pair{&Zone{Name: z.Name}, z})
		}
	}
	return append(pairs, pair{&given.Cluster, &changed.Cluster})
}

func (s *Summary) zone(name string) *Zone {
	for i := range s.Zones {
		if s.Zones[i].Name == name {
			return &s.Zones[i]
		}
	}
	return nil
}

func (p pair) measures() []measure { return worthy([]*Zone{p.given, p.changed}) }

func (m *measure) difference(p pair) (Difference, bool) {
	d := Difference{Zone: p.given.Name, Measure: m.path}
	a, inA := m.of(p.given)
	b, inB := m.of(p.changed)
	if inA {
		d.Given = &a
	}
	if inB {
		d.Changed = &b
	}
	if inA && inB {
		change := math.Round((b-a)*1000) / 1000
		d.Change = &change
	}
	return d, inA != inB || a != b
}

// ClusterRows returns the cluster in both runs for people, side by side, as a
// table with a header.
func (c *Comparison) ClusterRows() [][]string {
	t := comparing()
	t.pair("", c.pairs()[len(c.pairs())-1])
	return t
}

// ZoneRows returns the zones in both runs as [Comparison.ClusterRows] does the
// cluster. A row of one cell names the zone of those that follow. Of a zone in
// which nothing happened in either run there is nothing.
func (c *Comparison) ZoneRows() [][]string {
	t := comparing()
	for _, p := range c.pairs() {
		if p.given != &c.Given.Summary.Cluster && !(p.given.quiet() && p.changed.quiet()) {
			t.row("zone " + p.given.Name)
			t.pair("  ", p)
		}
	}
	return t
}

// comparing returns a table of two runs without rows.
func comparing() table { return table{{"", "as given", "changed", "difference"}} }

// pair adds the rows of a zone or of the cluster.
func (t *table) pair(indent string, p pair) {
	for _, m := range p.measures() {
		t.row(indent+m.name, m.text(p.given), m.text(p.changed), m.change(p))
	}
}

// Write writes the runs for people: the zones, and last the cluster.
func (c *Comparison) Write(out io.Writer) error {
	t := table(c.ZoneRows())
	t.row("cluster")
	t.pair("  ", c.pairs()[len(c.pairs())-1])
	return t.write(out)
}

// change shows by how much the second run differs, nothing if it does not.
func (m *measure) change(p pair) string {
	d, differs := m.difference(p)
	switch {
	case !differs:
		return ""
	case d.Change == nil:
		return none
	case m.show(math.Abs(*d.Change)) == m.show(0):
		return "" // less than what is shown
	case *d.Change > 0:
		return fmt.Sprintf("+%s", m.show(*d.Change))
	}
	return m.show(*d.Change)
}
