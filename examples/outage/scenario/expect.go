package scenario

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
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
	// FailedCalls bounds how many of them fail.
	FailedCalls *Count `json:"failedCalls,omitempty"`
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
	Workloads map[string]Count `json:"workloads,omitempty" names:"workload"`
}

// ExpectDepartures is about the pods that the controller tells to leave a node
// after a step of the script has hit that node. Pods says how many. Earliest
// and Latest bound when the first and the last of them leave, counted from the
// step's At, and hold if none does.
type ExpectDepartures struct {
	// Step is the number of the step in the script, from 0. It must hit nodes.
	Step int `json:"step"`
	// Workload owns the pods; without it all pods count.
	Workload string `json:"workload,omitempty" names:"workload"`
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
func Exactly[T int | Duration](value T) Bounds[T] { return Bounds[T]{ptr.To(value), ptr.To(value)} }

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

// lowest returns what the value is at least, zero if that is not said.
func (b *Bounds[T]) lowest() (value T) {
	if b != nil && b.AtLeast != nil {
		value = *b.AtLeast
	}
	return value
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

// isBounds reports whether one value may stand for the fields of the type.
func isBounds(t reflect.Type) bool { return strings.HasPrefix(t.Name(), "Bounds[") }

// exactly sets both bounds to the value that read sets.
func exactly(bounds reflect.Value, read func(value reflect.Value)) {
	value := reflect.New(bounds.Type().Field(0).Type.Elem()).Elem()
	read(value)
	for i := range bounds.NumField() {
		bound := bounds.Field(i)
		bound.Set(reflect.New(value.Type()))
		bound.Elem().Set(value)
	}
}

const expectPath = "expect"

func (b *Bounds[T]) check(p place) {
	part := "atLeast"
	if b.exact() {
		part = "." // it is written as one value
	}
	p.unless(b.lowest() >= 0, part, "is %v; want 0 or more", b.lowest())
	if b.AtMost != nil && !b.exact() {
		p.unless(*b.AtMost >= 0, "atMost", "is %v; want 0 or more", *b.AtMost)
		p.unless(b.lowest() <= *b.AtMost, ". atLeast atMost", "atLeast is %v and atMost is %v; the lesser comes first",
			b.lowest(), *b.AtMost)
	}
}

func (d *ExpectDeclared) check(p place) {
	p.nodes("living", d.Living)
	p.nodes("dead", d.Dead)
}

func (t *ExpectTainted) check(p place) { p.nodes("nodes", t.Nodes) }

// nodes checks bounds of a number of nodes.
func (p place) nodes(part string, b *Count) {
	if size := p.Cluster.size(); b.lowest() > size {
		p.unless(false, part+" "+part+" /cluster.zones", "is %v, but the cluster has %d nodes", b, size)
	}
}

func (d *ExpectDepartures) check(p place) {
	p.unique(".", fmt.Sprintf("departures %d %s", d.Step, d.Workload), "is about the same pods as %s")
	if d.Earliest != nil && d.Latest != nil && d.Earliest.AtLeast != nil && d.Latest.AtMost != nil {
		p.unless(*d.Earliest.AtLeast <= *d.Latest.AtMost, "latest latest earliest",
			"is %v, but the first pod leaves after %v", d.Latest, d.Earliest)
	}
	if d.Step < 0 || d.Step >= len(p.Script) {
		p.unless(false, "step /script", "there is no step %d; the script has %d, counted from 0", d.Step, len(p.Script))
		return
	}
	step, path := &p.Script[d.Step], " /"+item("script", d.Step)
	if faults, _ := step.faults(); len(faults) > 0 {
		p.unless(slices.ContainsFunc(faults, func(f fault) bool { return f.is("hits nodes") }), "step"+path,
			"%s does not hit nodes, which pods could leave", faults[0].name)
	}
	rest, needs := p.Duration-step.At, " /duration"+path
	const late = "is %v, but the scenario ends %v after the step"
	p.unless(d.Earliest.lowest() <= rest, "earliest earliest"+needs, late, d.Earliest, rest)
	p.unless(d.Latest.lowest() <= rest, "latest latest"+needs, late, d.Latest, rest)
}
