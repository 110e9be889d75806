package scenario

import (
	"reflect"

	"go.yaml.in/yaml/v4"
	"k8s.io/utils/ptr"
)

// defaultTolerationSeconds is what the API server's admission plugin
// DefaultTolerationSeconds gives to pods in v1.37.
const defaultTolerationSeconds = int64(300)

// Defaulted returns a copy of the scenario that shares no memory with it, in
// which what was left out has its default. Defaulting that again changes
// nothing.
func (s *Scenario) Defaulted() *Scenario {
	d := s.Clone()
	walk("", &field{}, reflect.ValueOf(d).Elem(), fill, nothing)
	for i := range d.Cluster.Zones {
		if z := &d.Cluster.Zones[i]; len(z.Groups) == 0 && z.Racks == 0 {
			z.Racks = 1
		}
	}
	for i := range d.Cluster.Workloads {
		w := &d.Cluster.Workloads[i]
		if w.TolerationSeconds == nil && w.Kind != DaemonSet && !w.TolerateForever {
			w.TolerationSeconds = ptr.To(defaultTolerationSeconds)
		}
	}
	return d
}

func fill(_ string, f *field, v reflect.Value) {
	if text := f.tag("default"); text != "" && v.Type() == f.Type && v.IsZero() {
		if err := yaml.Load([]byte(text), v.Addr().Interface()); err != nil {
			panic(err) // a test reads the defaults of all fields
		}
	}
}

// Clone returns a copy that shares no memory with the scenario.
func (s *Scenario) Clone() *Scenario {
	// Written by hand for each type it would be the place where a new field is
	// forgotten. By way of JSON it would lose a share that is no number.
	c := *s
	walk("", &field{}, reflect.ValueOf(&c).Elem(), unshare, nothing)
	return &c
}

// unshare replaces what v shares with what it was copied from.
func unshare(_ string, _ *field, v reflect.Value) {
	var own reflect.Value
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		own = reflect.New(v.Type().Elem())
		own.Elem().Set(v.Elem())
	case v.Kind() == reflect.Slice && !v.IsNil():
		own = reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v)
	case v.Kind() == reflect.Map && !v.IsNil():
		own = reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			own.SetMapIndex(key, value)
		}
	default:
		return
	}
	v.Set(own)
}
