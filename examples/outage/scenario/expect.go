package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// Expect says what must come out of a run. Each part is optional, and so is the
// whole. It is derived from the flags and the script, not copied from a run.
type Expect struct {
	// Declared bounds how many nodes the controller declares Unknown.
	Declared *ExpectDeclared `json:"declared,omitempty"`
	// Tainted bounds the NoExecute taints that the controller sets.
	Tainted *ExpectTainted `json:"tainted,omitempty"`
	// Evicted bounds how many pods the controller tells to leave.
	Evicted *ExpectEvicted `json:"evicted,omitempty"`
	// Departures bound when pods are told to leave the nodes that a step hits.
	Departures []ExpectDepartures `json:"departures,omitempty"`
	// Suspended says whether the controller ever finds every zone down.
	Suspended *bool `json:"suspended,omitempty"`
	// Paused says whether a policy ever pauses the cluster.
	Paused *bool `json:"paused,omitempty"`
	// Calls bounds the API calls of all processes together.
	Calls *Count `json:"calls,omitempty"`
}

// ExpectDeclared counts nodes. A node is living if its kubelet was up within a
// grace period before the API server stored the Unknown, and dead otherwise.
// Whether the kubelet was answered does not count. A node that is declared in
// both states counts as both.
type ExpectDeclared struct {
	Living *Count `json:"living,omitempty"`
	Dead   *Count `json:"dead,omitempty"`
}

// ExpectTainted counts nodes that get a not-ready or unreachable NoExecute
// taint from the controller, and how often nodes get one.
type ExpectTainted struct {
	Nodes *Count `json:"nodes,omitempty"`
	Times *Count `json:"times,omitempty"`
}

// ExpectEvicted counts pods, all and by the name of their workload.
type ExpectEvicted struct {
	Pods      *Count           `json:"pods,omitempty"`
	Workloads map[string]Count `json:"workloads,omitempty"`
}

// ExpectDepartures is about the pods that the controller tells to leave a node
// after a step of the script has hit that node. Pods says how many. Earliest
// and Latest bound when the first and the last of them leave, counted from the
// step's At, and hold if none does.
type ExpectDepartures struct {
	// Step is the number of the step in the script, from 0. It must hit nodes.
	Step int `json:"step"`
	// Workload owns the pods; without it all pods count.
	Workload string `json:"workload,omitempty"`
	Pods     *Count `json:"pods,omitempty"`
	Earliest *Time  `json:"earliest,omitempty"`
	Latest   *Time  `json:"latest,omitempty"`
}

// Bounds are what a number may be: a file says 12, {atLeast: 3}, {atMost: 5} or
// both of these. 12 is the same as at least and at most 12.
type Bounds[T int | Duration] struct {
	AtLeast *T `json:"atLeast,omitempty"`
	AtMost  *T `json:"atMost,omitempty"`
}

// Count bounds how many or how often.
type Count = Bounds[int]

// Time bounds when.
type Time = Bounds[Duration]

// Exactly returns bounds that only one value keeps.
func Exactly[T int | Duration](value T) Bounds[T] { return Bounds[T]{new(value), new(value)} }

// Hold reports whether a value keeps the bounds.
func (b Bounds[T]) Hold(value T) bool {
	return (b.AtLeast == nil || value >= *b.AtLeast) && (b.AtMost == nil || value <= *b.AtMost)
}

// String returns the bounds for people: 12, at least 3, 3 to 5.
func (b Bounds[T]) String() string {
	switch {
	case b.exact():
		return fmt.Sprint(*b.AtLeast)
	case b.AtLeast != nil && b.AtMost != nil:
		return fmt.Sprintf("%v to %v", *b.AtLeast, *b.AtMost)
	case b.AtLeast != nil:
		return fmt.Sprintf("at least %v", *b.AtLeast)
	case b.AtMost != nil:
		return fmt.Sprintf("at most %v", *b.AtMost)
	}
	return "anything"
}

func (b Bounds[T]) exact() bool {
	return b.AtLeast != nil && b.AtMost != nil && *b.AtLeast == *b.AtMost
}

// bounds are Bounds without their methods.
type bounds[T int | Duration] Bounds[T]

// MarshalJSON returns one value if the bounds are exact.
func (b Bounds[T]) MarshalJSON() ([]byte, error) {
	if b.exact() {
		return json.Marshal(*b.AtLeast)
	}
	return json.Marshal(bounds[T](b))
}

// UnmarshalJSON reads one value or the two bounds.
func (b *Bounds[T]) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return json.Unmarshal(data, (*bounds[T])(b))
	}
	var value T
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	*b = Exactly(value)
	return nil
}

// isBounds reports whether a type may be written as one value instead of its
// fields.
func isBounds(t reflect.Type) bool {
	return t == reflect.TypeFor[Count]() || t == reflect.TypeFor[Time]()
}

// setExact gives both bounds the value that set reads.
func setExact(v reflect.Value, set func(reflect.Value) error) error {
	for i := range v.NumField() {
		value := reflect.New(v.Field(i).Type().Elem())
		if err := set(value.Elem()); err != nil {
			return err
		}
		v.Field(i).Set(value)
	}
	return nil
}

const expectPath = "expect"

func (c *checker) expect() {
	e := c.scenario.Expect
	if e == nil {
		return
	}
	nothing := e.Declared == nil && e.Tainted == nil && e.Evicted == nil && len(e.Departures) == 0 && e.Suspended == nil &&
		e.Paused == nil && e.Calls == nil
	c.says(expectPath, !nothing, "declared, tainted, evicted, departures, suspended, paused or calls")
	if d := e.Declared; d != nil {
		const path = expectPath + ".declared"
		c.says(path, d.Living != nil || d.Dead != nil, "living or dead")
		c.nodesExpected(path+".living", d.Living)
		c.nodesExpected(path+".dead", d.Dead)
	}
	if t := e.Tainted; t != nil {
		const path = expectPath + ".tainted"
		c.says(path, t.Nodes != nil || t.Times != nil, "nodes or times")
		c.nodesExpected(path+".nodes", t.Nodes)
		count(c, path+".times", t.Times)
	}
	if evicted := e.Evicted; evicted != nil {
		c.evictedExpected(evicted)
	}
	for i := range e.Departures {
		c.departures(i, e.Departures)
	}
	count(c, expectPath+".calls", e.Calls)
}

// says reports a part that names nothing that it expects.
func (c *checker) says(path string, ok bool, fields string) {
	c.addUnless(ok, []string{path}, path, "says nothing; give it %s", fields)
}

// count checks bounds, and reports whether they are in order.
func count[T int | Duration](c *checker, path string, b *Bounds[T]) bool {
	if b == nil {
		return false
	}
	if !c.addUnless(b.AtLeast != nil || b.AtMost != nil, []string{path}, path,
		"says nothing; give it a value, or atLeast or atMost") {
		return false
	}
	if b.exact() {
		return c.check(*b.AtLeast >= 0, path, "is %v; want 0 or more", *b.AtLeast)
	}
	ok := c.check(b.AtLeast == nil || *b.AtLeast >= 0, path+".atLeast", "is %v; want 0 or more", value(b.AtLeast))
	ok = c.check(b.AtMost == nil || *b.AtMost >= 0, path+".atMost", "is %v; want 0 or more", value(b.AtMost)) && ok
	if ok && b.AtLeast != nil && b.AtMost != nil && *b.AtLeast > *b.AtMost {
		c.add(nil, path, "atLeast is %v and atMost is %v; the lesser comes first", *b.AtLeast, *b.AtMost)
		ok = false
	}
	return ok
}

// value returns what a pointer points to, or zero.
func value[T any](pointer *T) (v T) {
	if pointer != nil {
		v = *pointer
	}
	return v
}

// nodesExpected checks bounds of a number of nodes.
func (c *checker) nodesExpected(path string, b *Count) {
	if count(c, path, b) && b.AtLeast != nil {
		size := c.cluster.size()
		c.addUnless(*b.AtLeast <= size, []string{zonesPath}, path, "is %v, but the cluster has %d nodes", b, size)
	}
}

func (c *checker) evictedExpected(evicted *ExpectEvicted) {
	const path = expectPath + ".evicted"
	c.says(path, evicted.Pods != nil || len(evicted.Workloads) > 0, "pods or workloads")
	count(c, path+".pods", evicted.Pods)
	for _, name := range sortedKeys(evicted.Workloads) {
		at := child(path+".workloads", name)
		c.workloadExists(at, name)
		count(c, at, new(evicted.Workloads[name]))
	}
}

func (c *checker) workloadExists(path, name string) {
	names := make([]string, len(c.cluster.Workloads))
	for i, w := range c.cluster.Workloads {
		if w.Name == name {
			return
		}
		names[i] = w.Name
	}
	c.add([]string{"cluster.workloads"}, path, "%s", missing("workload", name, names))
}

func (c *checker) departures(i int, all []ExpectDepartures) {
	d, path := &all[i], item(expectPath+".departures", i)
	c.says(path, d.Pods != nil || d.Earliest != nil || d.Latest != nil, "pods, earliest or latest")
	if d.Workload != "" {
		c.workloadExists(path+".workload", d.Workload)
	}
	for j := range i {
		c.check(all[j].Step != d.Step || all[j].Workload != d.Workload, path, "is about the same pods as %s",
			item(expectPath+".departures", j))
	}
	count(c, path+".pods", d.Pods)
	early, late := count(c, path+".earliest", d.Earliest), count(c, path+".latest", d.Latest)
	if early && late && d.Earliest.AtLeast != nil && d.Latest.AtMost != nil {
		c.addUnless(*d.Earliest.AtLeast <= *d.Latest.AtMost, []string{path + ".earliest"}, path+".latest",
			"is %v, but the first pod leaves after %v", d.Latest, d.Earliest)
	}
	script := c.scenario.Script
	if d.Step < 0 || d.Step >= len(script) {
		c.add([]string{"script"}, path+".step", "there is no step %d; the script has %d, counted from 0", d.Step, len(script))
		return
	}
	step := &script[d.Step]
	if faults := step.faults(); step.targets() == nil && len(faults) > 0 {
		c.add([]string{item("script", d.Step)}, path+".step", "%s does not hit nodes, which pods could leave", faults[0].name)
	}
	c.withinDuration(d.Step, path+".earliest", early, d.Earliest)
	c.withinDuration(d.Step, path+".latest", late, d.Latest)
}

// withinDuration complains about a bound, if there is one, that lies beyond the
// scenario's end.
func (c *checker) withinDuration(step int, path string, there bool, bound *Time) {
	if rest := c.scenario.Duration - c.scenario.Script[step].At; there && bound.AtLeast != nil {
		c.addUnless(*bound.AtLeast <= rest, []string{"duration", item("script", step)}, path,
			"is %v, but the scenario ends %v after the step", bound, rest)
	}
}
