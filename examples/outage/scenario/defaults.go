package scenario

import (
	"reflect"
	"slices"
	"time"
)

// The defaults. Those of intervals and tolerations are the kubelet's and the
// API server's of v1.37. The kubelet has nodeLeaseDurationSeconds 40, renewed
// every quarter of it, and nodeStatusReportFrequency. The API server has the
// admission plugin DefaultTolerationSeconds. The others are what a cluster that
// is well shows.
const (
	defaultBeatInterval      = Duration(10 * time.Second)
	defaultStatusInterval    = Duration(5 * time.Minute)
	defaultTolerationSeconds = int64(300)
	defaultRestartAfter      = Duration(5 * time.Second)
)

// Defaulted returns a copy of the scenario that shares no memory with it, in
// which what was left out has its default. Defaulting that again changes
// nothing.
func (s *Scenario) Defaulted() *Scenario {
	d := s.Clone()
	d.Cluster.fill()
	setDefault(&d.Controller.Replicas, 1)
	setDefault(&d.Controller.RestartAfter, defaultRestartAfter)
	for i := range d.Script {
		d.Script[i].fill()
	}
	return d
}

func setDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}

func (c *Cluster) fill() {
	setDefault(&c.BeatInterval, defaultBeatInterval)
	setDefault(&c.StatusInterval, defaultStatusInterval)
	setDefault(&c.APILatency, Range{Min: Duration(2 * time.Millisecond), Max: Duration(20 * time.Millisecond)})
	setDefault(&c.WatchDelay, Range{Min: Duration(time.Millisecond), Max: Duration(50 * time.Millisecond)})
	for i := range c.Zones {
		if len(c.Zones[i].Groups) == 0 {
			setDefault(&c.Zones[i].Racks, 1)
		}
	}
	for i := range c.Workloads {
		w := &c.Workloads[i]
		setDefault(&w.Kind, Deployment)
		if w.TolerationSeconds == nil && w.Kind != DaemonSet && !w.TolerateForever {
			w.TolerationSeconds = new(defaultTolerationSeconds)
		}
	}
}

func (s *Step) fill() {
	if s.Taint != nil {
		setDefault(&s.Taint.TimeAdded, TimeAddedNow)
	}
	if s.APIDown != nil {
		setDefault(&s.APIDown.For, AllCallers)
	}
	if s.APIBlink != nil {
		setDefault(&s.APIBlink.For, AllCallers)
	}
	if s.APIErrors != nil {
		s.APIErrors.fill()
	}
	if s.StaleWatch != nil {
		s.StaleWatch.fill()
	}
	if s.BrokenWatch != nil {
		s.BrokenWatch.fill()
	}
}

// failingVerbs are those of the calls that can be made to fail.
var failingVerbs = []string{"get", "patch", "delete", "evict", "update"}

func (a *APIErrors) fill() {
	if len(a.Codes) == 0 {
		a.Codes = []int{409, 429, 500, 503}
	}
	if len(a.Verbs) == 0 {
		a.Verbs = slices.Clone(failingVerbs)
	}
}

func (w *Watch) fill() {
	if len(w.Kinds) == 0 {
		w.Kinds = []string{NodeObjects, LeaseObjects, PodObjects}
	}
}

// Clone returns a copy that shares no memory with the scenario.
func (s *Scenario) Clone() *Scenario {
	copied := *s
	deepen(reflect.ValueOf(&copied).Elem())
	return &copied
}

// deepen replaces what v shares with what it was copied from. Written by hand
// for each type it would be the place where a new field is forgotten.
func deepen(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			deepen(v.Field(i))
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		fresh := reflect.New(v.Type().Elem())
		fresh.Elem().Set(v.Elem())
		deepen(fresh.Elem())
		v.Set(fresh)
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		fresh := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(fresh, v)
		for i := range fresh.Len() {
			deepen(fresh.Index(i))
		}
		v.Set(fresh)
	case reflect.Map:
		if v.IsNil() {
			return
		}
		fresh := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			copied := reflect.New(v.Type().Elem()).Elem()
			copied.Set(value)
			deepen(copied)
			fresh.SetMapIndex(key, copied)
		}
		v.Set(fresh)
	}
}
