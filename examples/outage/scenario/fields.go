package scenario

import (
	"reflect"
	"strings"
)

// field is a field of a struct as the language sees it. The types of the
// language are the only list of its fields; everything else asks them.
type field struct {
	name  string
	index []int
	// optional fields are left out when they are zero.
	optional bool
	// zero says what leaving it out means, where a user that writes a zero may
	// want something else.
	zero string
}

// zeroMeans says what the zero of a field stands for, by type and name. Go
// cannot tell a zero that is written from one that is not, so a file must not
// write it. Fields for which it makes no difference are not here.
var zeroMeans = map[string]string{
	"Cluster.beatInterval":    "10s",
	"Cluster.statusInterval":  "5m",
	"Cluster.apiLatency":      "2ms to 20ms",
	"Cluster.watchDelay":      "1ms to 50ms",
	"Zone.racks":              "1",
	"Workload.minAvailable":   "no PodDisruptionBudget",
	"Controller.replicas":     "1",
	"Controller.restartAfter": "5s",
	"Step.for":                "for good",
	"Nodes.names":             "nodes of any name",
	"Nodes.count":             "all that are described",
	"Nodes.share":             "all that are described",
	"Pods.count":              "all pods of the workload",
	"Pods.share":              "all pods of the workload",
	"APIErrors.codes":         "409, 429, 500 and 503",
	"Watch.kinds":             "all kinds",
}

// fieldsOf returns the fields of a struct type, those of embedded structs among
// them.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				fields = append(fields, inner)
			}
			continue
		}
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, field{
			name:     name,
			index:    []int{i},
			optional: strings.Contains(rest, "omitempty") || strings.Contains(rest, "omitzero"),
			zero:     zeroMeans[t.Name()+"."+name],
		})
	}
	return fields
}

func namesOf(fields []field) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

func fieldNamed(fields []field, name string) (field, bool) {
	for _, f := range fields {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}
