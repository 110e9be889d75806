package scenario

import (
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
)

// kind is a kind of value: the tags that its fields have in common. Of a form
// of text it is what finds problems with the form, and what the form is called.
type kind struct {
	tags reflect.StructTag
	form func(text string) (problems []string)
	what string
}

// kinds are those of single values. Of a time, at most 30 days pass, so that
// sums do not overflow. What is repeated more often than every 100 ms is a slip
// of the pen, and its simulation would not come to an end. The codes are what
// an API server, or a proxy before it, answers to requests that are well
// formed.
var kinds = map[string]kind{
	"time":     {tags: `min:"0s" max:"720h" want:"time does not run backwards"`},
	"interval": {tags: `min:"100ms" max:"720h"`},
	"clock":    {tags: `min:"-876000h" max:"876000h, forwards or back" want:"at most 876000h, forwards or back"`},
	"priority": {tags: `min:"-2000001000" max:"2000001000, above zero or below" ` +
		`want:"at most 2000001000, above zero or below"`},
	"budget":  {tags: `min:"0" want:"say how many pods have to be left"`},
	"replica": {tags: `min:"0" want:"replicas are counted from 0"`},
	"effect":  {tags: `oneOf:"effect: NoSchedule, PreferNoSchedule, NoExecute"`},
	"caller":  {tags: `oneOf:"caller: all, controllers, kubelets"`},
	"object":  {tags: `oneOf:"kind: nodes, leases, pods"`},
	"verb":    {tags: `oneOf:"verb: get, patch, delete, evict, update"`},
	"code":    {tags: `oneOf:"code: 403, 404, 409, 422, 429, 500, 503, 504"`},
	"key":     {form: validation.IsDNS1123Label, what: dnsLabel},
	"label":   {form: validation.IsDNS1123Label, what: dnsLabel},
	"taintKey": {form: validation.IsQualifiedName,
		what: "key of a taint; write it like maintenance or example.com/maintenance"},
	"value of a taint": {form: validation.IsValidLabelValue, what: "value of a taint" + labelValue},
	"value of a label": {form: validation.IsValidLabelValue, what: "value of a label" + labelValue},
}

const (
	dnsLabel   = "DNS label: at most 63 lower-case letters, digits and dashes, no dash first or last"
	labelValue = ": at most 63 letters, digits, dashes, underscores and dots"
	// maxClockStep bounds how far a clock is off, by a century. A machine whose
	// battery is empty believes in 1970.
	maxClockStep = Duration(100 * 365 * 24 * time.Hour)
)

// complaint says what is wrong with a value of a kind, if anything is, except
// for what the tags say.
func complaint(name string, v reflect.Value) string {
	switch {
	case name == "share" && !(v.Float() > 0 && v.Float() <= 1): // also what is no number
		return fmt.Sprintf("is %v; want more than 0 and at most 1", v.Float())
	case name == "clock" && v.IsZero():
		return "is 0s; say by how much the clock steps, as in 5m or -5m"
	case v.Kind() == reflect.String:
		return wrongText(name, v.String())
	}
	return ""
}

func wrongText(name, text string) string {
	kind := kinds[name]
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	switch {
	case name == "timeAdded" && text != TimeAddedNow && text != TimeAddedMissing:
		return wrongTimeAdded(text)
	case name == "text" && !utf8.ValidString(text):
		return "is no text in UTF-8"
	case (name == "name" || kind.what == dnsLabel) && strings.TrimSpace(text) == "":
		return "is empty; give it a name"
	case name == "name" && (!utf8.ValidString(text) || strings.ContainsFunc(text, hidden)):
		return fmt.Sprintf("%.80q holds what cannot be shown in one line", text)
	case kind.form != nil && len(kind.form(text)) > 0:
		return shown(text) + " is no " + kind.what
	}
	return ""
}

func wrongTimeAdded(text string) string {
	if off, err := time.ParseDuration(text); err != nil {
		return shown(text) + " is neither now nor missing nor a duration like -1h"
	} else if off.Abs() > maxClockStep.D() {
		return fmt.Sprintf("is %s; at most %v, forwards or back", text, maxClockStep)
	}
	return ""
}
