package report

import (
	"fmt"
	"slices"
	"strconv"
)

// measure is one number of a zone, or of the cluster.
type measure struct {
	// name is for people, path the place in the JSON of a zone; empty if it is not
	// there.
	name, path string
	show       func(float64) string
	// of returns the number, false if there is none.
	of func(*Zone) (float64, bool)
	// worth says whether a zone makes it worth a line.
	worth func(*Zone) bool
}

func measures() []measure {
	return []measure{
		always(count("nodes", "nodes", func(z *Zone) int { return z.Nodes })),
		always(count("nodes declared Unknown", "declared.nodes", func(z *Zone) int { return z.Declared.Nodes })),
		times("declared.times", func(z *Zone) Hits { return z.Declared }),
		count("  of them living", "declaredLiving.nodes", func(z *Zone) int { return z.DeclaredLiving.Nodes }),
		always(count("nodes tainted NoExecute", "tainted.nodes", func(z *Zone) int { return z.Tainted.Nodes })),
		times("tainted.times", func(z *Zone) Hits { return z.Tainted }),
		part("  in the busiest minute", "peak.tainted", plain, func(z *Zone) *Peak { return z.Peak },
			func(p *Peak) float64 { return float64(p.Tainted) }),
		part("  what its rate allowed", "peak.limit", plain, func(z *Zone) *Peak { return z.Peak },
			func(p *Peak) float64 { return p.Limit }),
		always(count("pods evicted", "pods.evicted", func(z *Zone) int { return z.Pods.Evicted })),
		part("  the first after", "drain.first", duration, drainOf, func(d *Drain) float64 { return float64(d.First) }),
		part("  the last after", "drain.last", duration, drainOf, func(d *Drain) float64 { return float64(d.Last) }),
		part("  behind their deadline", "late.median", duration, lateOf, func(l *Late) float64 { return float64(l.Median) }),
		part("  at worst", "late.worst", duration, lateOf, func(l *Late) float64 { return float64(l.Worst) }),
		always(count("pods spared", "pods.spared", func(z *Zone) int { return z.Pods.Spared })),
		count("pods still to leave", "pods.waiting", func(z *Zone) int { return z.Pods.Waiting }),
		count("  kept by a budget", "pods.kept", func(z *Zone) int { return z.Pods.Kept }),
	}
}

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func duration(v float64) string { return Seconds(v).String() }

func drainOf(z *Zone) *Drain { return z.Drain }

func lateOf(z *Zone) *Late { return z.Late }

// count is a measure that every zone has, worth a line where it is not zero.
func count(name, path string, of func(*Zone) int) measure {
	return measure{
		name: name, path: path, show: plain,
		of:    func(z *Zone) (float64, bool) { return float64(of(z)), true },
		worth: func(z *Zone) bool { return of(z) != 0 },
	}
}

func always(m measure) measure {
	m.worth = func(*Zone) bool { return true }
	return m
}

// times is how often nodes were hit, worth a line if that is not once each.
func times(path string, of func(*Zone) Hits) measure {
	m := count("  so many times", path, func(z *Zone) int { return of(z).Times })
	m.worth = func(z *Zone) bool { return of(z).Times != of(z).Nodes }
	return m
}

// part is a measure of a part that a zone may not have.
func part[P any](name, path string, show func(float64) string, partOf func(*Zone) *P, of func(*P) float64) measure {
	return measure{
		name: name, path: path, show: show,
		of: func(z *Zone) (float64, bool) {
			p := partOf(z)
			if p == nil {
				return 0, false
			}
			return of(p), true
		},
		worth: func(z *Zone) bool { return partOf(z) != nil },
	}
}

// callMeasures returns the sum of all calls, and a measure for each kind of
// which one of the zones has some. It says how many there were and how many of
// them failed.
func callMeasures(zones []*Zone) []measure {
	var kinds []string
	for _, z := range zones {
		for _, c := range z.Calls {
			kinds = append(kinds, c.Kind)
		}
	}
	slices.Sort(kinds)
	all := []measure{count("API calls", "", (*Zone).sent)}
	for _, kind := range slices.Compact(kinds) {
		of := func(z *Zone) Calls {
			if i := slices.IndexFunc(z.Calls, func(c Calls) bool { return c.Kind == kind }); i >= 0 {
				return z.Calls[i]
			}
			return Calls{}
		}
		all = append(all,
			count("  "+kind, fmt.Sprintf("calls[%s].sent", kind), func(z *Zone) int { return of(z).Sent }),
			count("    failed", fmt.Sprintf("calls[%s].failed", kind), func(z *Zone) int { return of(z).Failed }))
	}
	return all
}

// sent returns how many calls there were, of all kinds.
func (z *Zone) sent() int {
	sum := 0
	for _, c := range z.Calls {
		sum += c.Sent
	}
	return sum
}

// failed returns how many of them failed.
func (z *Zone) failed() int {
	sum := 0
	for _, c := range z.Calls {
		sum += c.Failed
	}
	return sum
}

// worthy returns the measures that are worth a line for one of the zones.
func worthy(zones []*Zone) []measure {
	return slices.DeleteFunc(append(measures(), callMeasures(zones)...), func(m measure) bool {
		return !slices.ContainsFunc(zones, m.worth)
	})
}
