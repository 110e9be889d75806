package scenario

import (
	"fmt"
	"reflect"

	"github.com/kubelife/lifecycle/examples/outage/scenario/strictyaml"
)

// field is a field of a struct of the language. The types and their tags are
// the only list of fields and of what each may be. Package strictyaml knows
// json, default, zero and short; the others are
//
//	min, max the least and the most that it may be, and within, either way of 0
//	want     the words of the complaint about less than min
//	oneOf    a noun and the words that it may be
//	names    what it names that has to exist: a zone, pool, group or workload
//	is       a kind of value: the tags of shared, or a form of text
//	fault    of a step: what kind of fault it is
//
// Of a list or a map they say it of each item; names says it of a map's keys.
type field struct{ *strictyaml.Field }

// tag returns what the field's tag says, or that of its kind of value.
func (f field) tag(key string) string {
	if own := f.Tag.Get(key); own != "" {
		return own
	}
	return shared(f.Tag.Get("is")).Get(key)
}

// shared are the tags that several fields have in common. Of a time, at most 30
// days pass, so that sums do not overflow. What is repeated more often than
// every 100 ms is a slip of the pen, and its simulation would not come to an
// end. The codes are what an API server, or a proxy before it,
// answers to requests that are well formed.
func shared(kind string) reflect.StructTag {
	switch kind {
	case "time":
		return `min:"0s" max:"720h" want:"time does not run backwards"`
	case "interval":
		return `min:"100ms" max:"720h"`
	case "clock":
		return reflect.StructTag(fmt.Sprintf(`within:"%v, forwards or back"`, maxClockStep))
	case "budget":
		return `min:"0" want:"say how many pods have to be left"`
	case "replica":
		return `min:"0" want:"replicas are counted from 0"`
	case "effect":
		return `oneOf:"effect: NoSchedule, PreferNoSchedule, NoExecute"`
	case "caller":
		return `oneOf:"caller: all, controllers, kubelets"`
	case "object":
		return `oneOf:"kind: nodes, leases, pods"`
	case "verb":
		return `oneOf:"verb: get, patch, delete, evict, update"`
	case "code":
		return `oneOf:"code: 403, 404, 409, 422, 429, 500, 503, 504"`
	}
	return ""
}
