package scenario

import (
	"reflect"
	"slices"
	"strings"
)

// fault is what can happen in a step.
type fault interface {
	check(c *checker, path string, s *Step)
}

type namedFault struct {
	name  string
	fault fault
}

// faults returns those that the step has, in the order of the type.
func (s *Step) faults() []namedFault {
	var faults []namedFault
	v := reflect.ValueOf(s).Elem()
	for _, f := range fieldsOf(v.Type()) {
		value := v.FieldByIndex(f.index)
		if isFault, ok := reflect.TypeAssert[fault](value); ok && !value.IsNil() {
			faults = append(faults, namedFault{f.name, isFault})
		}
	}
	return faults
}

// faultNames are the fields of a step that are faults.
func faultNames() []string {
	var names []string
	t := reflect.TypeFor[Step]()
	for _, f := range fieldsOf(t) {
		if t.FieldByIndex(f.index).Type.Implements(reflect.TypeFor[fault]()) {
			names = append(names, f.name)
		}
	}
	return names
}

// targets returns the nodes that the step's fault hits, nil if it hits no
// nodes.
func (s *Step) targets() *Nodes {
	for _, named := range s.faults() {
		switch f := named.fault.(type) {
		case *Nodes:
			return f
		case *Flap:
			return &f.Nodes
		case *FlapReady:
			return &f.Nodes
		case *Move:
			return &f.Nodes
		case *Taint:
			return &f.Nodes
		case *NodeClocks:
			return &f.Nodes
		case *ClockDrift:
			return &f.Nodes
		case *Hostile:
			return &f.Nodes
		}
	}
	return nil
}

// endless says whether what the step's fault does stays done.
func (s *Step) endless() bool {
	return s.Touch != nil || s.DeletePods != nil || s.Tolerate != nil
}

func (c *checker) step(path string, s *Step) {
	if c.time(path+".at", s.At) && c.scenario.Duration > 0 {
		c.addUnless(s.At < c.scenario.Duration, []string{"duration"}, path+".at", "is %v, but the scenario ends after %v",
			s.At, c.scenario.Duration)
	}
	faults := s.faults()
	switch len(faults) {
	case 0:
		c.add([]string{path + "." + anyField}, path, "nothing happens; give it one of %s", listed(faultNames()))
	case 1:
		c.times(path, s, faults[0].name)
	default:
		names := make([]string, len(faults))
		for i, f := range faults {
			names[i] = f.name
		}
		c.add(nil, path, "has %d faults, %s; make a step of each", len(faults), strings.Join(names, " and "))
	}
	for _, f := range faults {
		f.fault.check(c, path+"."+f.name, s)
	}
}

// times checks how long a step's only fault lasts and how it spreads.
func (c *checker) times(path string, s *Step, fault string) {
	if !c.time(path+".for", s.For) || !c.time(path+".over", s.Over) || !c.time(path+".recoverOver", s.RecoverOver) {
		return
	}
	if s.endless() {
		c.check(s.For == 0, path+".for", "%s has no end; leave out for", fault)
		c.check(s.RecoverOver == 0, path+".recoverOver", "%s has no end; leave out recoverOver", fault)
	}
	if !c.spread(path, s, fault) || s.endless() {
		return
	}
	c.addUnless(s.RecoverOver == 0 || s.For > 0, []string{path + ".for"}, path+".recoverOver",
		"needs for, which says when it ends")
	if s.For > 0 {
		c.addUnless(s.For+s.RecoverOver >= s.Over, []string{path + ".for", path + ".recoverOver"}, path+".over",
			"is %v, but the last nodes recover after %v; they would before they are hit", s.Over, s.For+s.RecoverOver)
	}
}

// spread says whether what happens can be spread over nodes, and if not checks
// that it is not.
func (c *checker) spread(path string, s *Step, fault string) bool {
	var why string
	switch {
	case s.Flap != nil || s.FlapReady != nil:
		why = "nodes that flap begin and end each at a time of its own"
	case s.targets() == nil:
		why = fault + " does not hit nodes, over which it could be spread"
	default:
		return true
	}
	c.check(s.Over == 0, path+".over", "%s; leave out over", why)
	c.check(s.RecoverOver == 0 || s.endless(), path+".recoverOver", "%s; leave out recoverOver", why)
	return false
}

// replica checks the number of a process, if it is given.
func (c *checker) replica(path string, replica *int) {
	if replica == nil {
		return
	}
	replicas := c.scenario.Controller.replicas()
	if c.check(*replica >= 0, path, "is %d; replicas are counted from 0", *replica) {
		c.addUnless(*replica < replicas, []string{"controller.replicas"}, path,
			"there is no replica %d; controller.replicas is %d, counted from 0", *replica, replicas)
	}
}

// shares checks that a count or a share is one that can be taken of so many.
func (c *checker) shares(path string, count int, share float64) bool {
	ok := c.check(count >= 0, path+".count", "is %d; want at least 1", count)
	if share != 0 {
		ok = c.share(path+".share", share) && ok
	}
	return c.check(count == 0 || share == 0, path, "has count and share; leave out one of them") && ok
}

func (w *Watch) check(c *checker, path string, _ *Step) {
	for i, kind := range w.Kinds {
		c.oneOf(item(path+".kinds", i), "kind", kind, NodeObjects, LeaseObjects, PodObjects)
	}
	once(c, path+".kinds", w.Kinds)
	c.replica(path+".replica", w.Replica)
}

func (w *StaleWatch) check(c *checker, path string, s *Step) {
	w.Watch.check(c, path, s)
	c.span(path+".delay", w.Delay)
	c.check(w.Delay.Max != 0, path+".delay.max", "is 0s; a watch without delay is not stale")
}

func (p *Process) check(c *checker, path string, _ *Step) { c.replica(path+".replica", p.Replica) }

func (p *ControllerClock) check(c *checker, path string, s *Step) {
	p.Process.check(c, path, s)
	c.clockStep(path+".by", p.By)
}

func (*SplitBrain) check(c *checker, path string, _ *Step) {
	replicas := c.scenario.Controller.replicas()
	c.addUnless(replicas >= 2, []string{"controller.replicas"}, path,
		"there is one replica; set controller.replicas to 2 or more")
}

func (*Halt) check(*checker, string, *Step) {}

func (a *APIDown) check(c *checker, path string, _ *Step) {
	if a.For != "" {
		c.oneOf(path+".for", "caller", a.For, AllCallers, Controllers, Kubelets)
	}
}

func (a *APIBlink) check(c *checker, path string, s *Step) {
	(&APIDown{For: a.For}).check(c, path, s)
	c.interval(path+".down", a.Down, false)
	c.interval(path+".up", a.Up, false)
	c.untilWhen(path, s)
}

func (a *APIErrors) check(c *checker, path string, _ *Step) {
	c.share(path+".share", a.Share)
	// What an API server, or a proxy before it, answers to requests that are well
	// formed.
	codes := []int{403, 404, 409, 422, 429, 500, 503, 504}
	for i, code := range a.Codes {
		c.check(slices.Contains(codes, code), item(path+".codes", i),
			"%d is no error that can be had; codes are 403, 404, 409, 422, 429, 500, 503, 504", code)
	}
	once(c, path+".codes", a.Codes)
	for i, verb := range a.Verbs {
		c.check(slices.Contains(failingVerbs, verb), item(path+".verbs", i), "%s", missing("verb", verb, failingVerbs))
	}
	once(c, path+".verbs", a.Verbs)
}

func (l *LostAnswers) check(c *checker, path string, _ *Step) { c.share(path+".share", l.Share) }

func (r *Range) check(c *checker, path string, _ *Step) { c.span(path, *r) }

func (p *Pods) check(c *checker, path string, _ *Step) {
	cluster := c.cluster
	i := slices.IndexFunc(cluster.Workloads, func(w Workload) bool { return w.Name == p.Workload })
	needs := []string{"cluster.workloads", "cluster.zones"}
	if i < 0 {
		names := make([]string, len(cluster.Workloads))
		for i, w := range cluster.Workloads {
			names[i] = w.Name
		}
		c.add(needs, path+".workload", "%s", missing("workload", p.Workload, names))
		return
	}
	if pods := cluster.pods(&cluster.Workloads[i]); c.shares(path, p.Count, p.Share) && p.Count > pods {
		c.add(needs, path+".count", "is %d, but workload %s has %d pods", p.Count, p.Workload, pods)
	}
}

func (t *Tolerate) check(c *checker, path string, s *Step) {
	t.Pods.check(c, path+".pods", s)
	c.check(t.Seconds >= 0, path+".seconds", "is %d; 0 is at once", t.Seconds)
	for i := range c.cluster.Workloads {
		w := &c.cluster.Workloads[i]
		if w.Name == t.Pods.Workload && (w.Kind == DaemonSet || w.TolerateForever) {
			c.add([]string{"cluster.workloads"}, path+".pods.workload",
				"the pods of %s tolerate for ever, which cannot be changed", w.Name)
		}
	}
}

func (c *checker) clockStep(path string, by Duration) {
	c.check(by != 0, path, "is 0s; say by how much the clock steps, as in 5m or -5m")
	c.check(by >= -maxClockStep && by <= maxClockStep, path, "is %v; at most %v, forwards or back", by, maxClockStep)
}
