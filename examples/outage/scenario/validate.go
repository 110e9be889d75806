package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// maxNodes and maxPods bound what one machine can simulate. 5,000 nodes are
	// what Kubernetes supports, 100,000 what this library is meant for.
	maxNodes = 100_000
	maxPods  = 2_000_000
	// maxPriority is that of system-node-critical. Source: SystemCriticalPriority
	// of Kubernetes v1.37, pkg/apis/scheduling.
	maxPriority = 2_000_001_000
	// maxReplicas of the controller: each holds a view of the whole cluster.
	maxReplicas = 100
)

// Validate reports everything that is wrong with the scenario: each value for
// itself, and what contradicts each other. The error joins a [Problem] for
// each, in the order of the fields.
func (s *Scenario) Validate() error {
	findings := s.findings()
	problems := make([]Problem, len(findings))
	for i, f := range findings {
		problems[i] = f.Problem
	}
	return join(problems)
}

// finding is a problem and which other parts of the scenario it was judged by.
type finding struct {
	Problem
	needs []string
}

// checker collects what is wrong with a scenario.
type checker struct {
	scenario *Scenario
	cluster  *Cluster
	findings []finding
}

func (s *Scenario) findings() []finding {
	c := &checker{scenario: s, cluster: &s.Cluster}
	c.name("name", s.Name)
	c.check(utf8.ValidString(s.Description), "description", "is no text in UTF-8")
	c.check(s.Duration > 0, "duration", "is %v; say how much time passes, as in 30m", s.Duration)
	c.check(s.Duration <= maxDuration, "duration", "is %v; at most %v", s.Duration, maxDuration)
	c.zones()
	c.workloads()
	c.periods()
	c.controller()
	for i := range s.Script {
		c.step(item("script", i), &s.Script[i])
	}
	c.expect()
	return c.findings
}

func (c *checker) check(ok bool, path, format string, args ...any) bool {
	if !ok {
		c.add(nil, path, format, args...)
	}
	return ok
}

func (c *checker) add(needs []string, path, format string, args ...any) {
	problem := Problem{Path: path, Message: fmt.Sprintf(format, args...)}
	c.findings = append(c.findings, finding{Problem: problem, needs: needs})
}

// name checks a name that is only shown.
func (c *checker) name(path, name string) {
	visible := utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
	c.check(strings.TrimSpace(name) != "", path, "is empty; give it a name")
	c.check(visible, path, "%.80q holds what cannot be shown in one line", name)
}

// label checks a name that becomes part of those of nodes and pods.
func (c *checker) label(path, name string) bool {
	if !c.check(name != "", path, "is empty; give it a name") {
		return false
	}
	return c.check(len(validation.IsDNS1123Label(name)) == 0, path,
		"%s is no DNS label: at most 63 lower-case letters, digits and dashes, no dash first or last", shown(name))
}

func (c *checker) zones() {
	const path = "cluster.zones"
	zones := c.cluster.Zones
	c.check(len(zones) > 0, path, "there is none; a cluster has at least one zone with a node")
	total, names, groups := 0, map[string]int{}, map[string]string{}
	for i := range zones {
		z, at := &zones[i], item(path, i)
		c.unique(path, i, z.Name, names)
		c.check(z.Nodes >= 1, at+".nodes", "is %d; a zone has at least one node", z.Nodes)
		c.check(z.Racks >= 0, at+".racks", "is %d; want at least 1", z.Racks)
		if z.Nodes >= 1 && z.Racks > z.Nodes {
			c.add([]string{at + ".nodes"}, at+".racks", "is %d, but the zone has %d nodes; some racks would be empty", z.Racks,
				z.Nodes)
		}
		c.checkGroups(at, z, groups)
		total += min(max(z.Nodes, 0), maxNodes+1)
	}
	c.check(total <= maxNodes, path, "have more than %d nodes together", maxNodes)
}

// unique checks the name of an item of the list, of which those that came
// before are in names.
func (c *checker) unique(list string, i int, name string, names map[string]int) {
	at := item(list, i) + ".name"
	if !c.label(at, name) {
		return
	}
	if first, ok := names[name]; ok {
		c.add(nil, at, "%s has this name already", item(list, first))
		return
	}
	names[name] = i
}

func (c *checker) workloads() {
	const path = "cluster.workloads"
	workloads := c.cluster.Workloads
	total, names := 0, map[string]int{}
	for i := range workloads {
		w, at := &workloads[i], item(path, i)
		c.unique(path, i, w.Name, names)
		c.kind(at, w)
		c.tolerations(at, w)
		c.podTolerations(at, w)
		c.placement(at, w)
		c.check(w.MinAvailable >= 0, at+".minAvailable", "is %d; say how many pods have to be left", w.MinAvailable)
		c.check(w.Priority >= -maxPriority && w.Priority <= maxPriority, at+".priority",
			"is %d; at most %d, above zero or below", w.Priority, maxPriority)
		total += min(max(c.cluster.pods(w), 0), maxPods+1)
	}
	if total > maxPods {
		c.add([]string{"cluster.zones"}, path, "have more than %d pods together", maxPods)
	}
}

func (c *checker) kind(at string, w *Workload) {
	kinds := []string{Deployment, StatefulSet, DaemonSet, Bare}
	switch w.Kind {
	case DaemonSet:
		c.check(w.Replicas == 0, at+".replicas", "a DaemonSet has a pod on each node; leave out replicas")
	case "", Deployment, StatefulSet, Bare:
		c.addUnless(w.Replicas >= 1, []string{at + ".kind"}, at+".replicas", "is %d; say how many pods the workload has",
			w.Replicas)
	default:
		c.check(false, at+".kind", "%s", missing("kind", w.Kind, kinds))
	}
}

func (c *checker) tolerations(at string, w *Workload) {
	if w.EveryTaint {
		c.addUnless(w.Kind != DaemonSet, []string{at + ".kind"}, at+".everyTaint",
			"the pods of a DaemonSet tolerate that their node is ill, and no more; leave it out")
		c.addUnless(!w.TolerateForever, []string{at + ".tolerateForever"}, at+".everyTaint",
			"contradicts tolerateForever; leave out one of them")
	}
	if w.TolerationSeconds == nil {
		return
	}
	path := at + ".tolerationSeconds"
	c.check(*w.TolerationSeconds >= 0, path, "is %d; 0 is at once", *w.TolerationSeconds)
	c.addUnless(w.Kind != DaemonSet, []string{at + ".kind"}, path,
		"the pods of a DaemonSet tolerate for ever; leave it out")
	c.addUnless(!w.TolerateForever, []string{at + ".tolerateForever"}, path,
		"contradicts tolerateForever; leave out one of them")
}

func (c *checker) addUnless(ok bool, needs []string, path, format string, args ...any) bool {
	if !ok {
		c.add(needs, path, format, args...)
	}
	return ok
}

func (c *checker) periods() {
	cluster := c.cluster
	c.interval("cluster.beatInterval", cluster.BeatInterval, cluster.BeatInterval == 0)
	c.interval("cluster.statusInterval", cluster.StatusInterval, cluster.StatusInterval == 0)
	c.span("cluster.apiLatency", cluster.APILatency)
	c.span("cluster.watchDelay", cluster.WatchDelay)
}

// interval checks what is repeated. The default needs no check.
func (c *checker) interval(path string, d Duration, isDefault bool) {
	if isDefault {
		return
	}
	c.check(d >= minInterval, path, "is %v; want at least %v", d, minInterval)
	c.check(d <= maxDuration, path, "is %v; at most %v", d, maxDuration)
}

// time checks what lasts some time, or none.
func (c *checker) time(path string, d Duration) bool {
	return c.check(d >= 0, path, "is %v; time does not run backwards", d) &&
		c.check(d <= maxDuration, path, "is %v; at most %v", d, maxDuration)
}

func (c *checker) span(path string, r Range) {
	if c.time(path+".min", r.Min) && c.time(path+".max", r.Max) {
		c.addUnless(r.Min <= r.Max, []string{path + ".min", path + ".max"}, path,
			"min is %v and max is %v; the lesser comes first", r.Min, r.Max)
	}
}

func (c *checker) controller() {
	controller := &c.scenario.Controller
	c.check(controller.Replicas >= 0, "controller.replicas", "is %d; want at least 1", controller.Replicas)
	c.check(controller.Replicas <= maxReplicas, "controller.replicas", "is %d; at most %d", controller.Replicas,
		maxReplicas)
	c.time("controller.restartAfter", controller.RestartAfter)
	_, problems := controller.options()
	for _, p := range problems {
		c.add(nil, p.Path, "%s", p.Message)
	}
}

// sortedKeys returns the keys of a map in an order that stays the same.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// share checks a part of a whole.
func (c *checker) share(path string, share float64) bool {
	return c.check(share > 0 && share <= 1, path, "is %v; want more than 0 and at most 1", share)
}

// oneOf checks names of which there is a fixed set.
func (c *checker) oneOf(path, noun, name string, existing ...string) {
	c.check(slices.Contains(existing, name), path, "%s", missing(noun, name, existing))
}

// once reports items of a list that are there twice.
func once[T comparable](c *checker, path string, list []T) {
	seen := make(map[T]int, len(list))
	for i, element := range list {
		if j, ok := seen[element]; ok {
			c.add(nil, item(path, i), "%v is in the list already, as %s", element, item(path, j))
			continue
		}
		seen[element] = i
	}
}
