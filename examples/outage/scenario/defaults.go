package scenario

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// defaultTolerationSeconds is what the API server's admission plugin
// DefaultTolerationSeconds gives to pods in v1.37.
const defaultTolerationSeconds = int64(300)

// Defaulted returns a copy of the scenario that shares no memory with it, in
// which what was left out has its default. Defaulting that again changes
// nothing.
func (s *Scenario) Defaulted() *Scenario {
	d := s.Clone()
	walk("", &field{}, reflect.ValueOf(d).Elem(), func(_ string, f *field, v reflect.Value) {
		if text := f.tag("default"); text != "" && v.Type() == f.Type && v.IsZero() {
			if err := setDefault(v, text); err != nil {
				panic(err) // a test reads the defaults of all fields
			}
		}
	})
	for i := range d.Cluster.Zones {
		if z := &d.Cluster.Zones[i]; len(z.Groups) == 0 && z.Racks == 0 {
			z.Racks = 1
		}
	}
	for i := range d.Cluster.Workloads {
		w := &d.Cluster.Workloads[i]
		if w.TolerationSeconds == nil && w.Kind != DaemonSet && !w.TolerateForever {
			w.TolerationSeconds = new(defaultTolerationSeconds)
		}
	}
	return d
}

func setDefault(v reflect.Value, text string) error {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return err
	}
	d := &decoder{places: map[string]*yaml.Node{}}
	d.value("", document.Content[0], v)
	return join(d.problems)
}

// Clone returns a copy that shares no memory with the scenario.
func (s *Scenario) Clone() *Scenario {
	copied := *s
	deepen(reflect.ValueOf(&copied).Elem())
	return &copied
}

// deepen replaces what v shares with what it was copied from. Written by hand
// for each type it would be the place where a new field is forgotten. By way of
// JSON it would lose what cannot be written, such as a share that is no number.
func deepen(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			deepen(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fresh := reflect.New(v.Type().Elem())
			fresh.Elem().Set(v.Elem())
			deepen(fresh.Elem())
			v.Set(fresh)
		}
	case reflect.Slice:
		if !v.IsNil() {
			v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
			for i := range v.Len() {
				deepen(v.Index(i))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			fresh := reflect.MakeMapWithSize(v.Type(), v.Len())
			for key, value := range v.Seq2() {
				entry := reflect.New(value.Type()).Elem()
				entry.Set(value)
				deepen(entry)
				fresh.SetMapIndex(key, entry)
			}
			v.Set(fresh)
		}
	}
}
