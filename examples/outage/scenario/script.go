package scenario

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// maxClockStep bounds how far a clock is off, by a century. A machine whose
// battery is empty believes in 1970.
const maxClockStep = Duration(100 * 365 * 24 * time.Hour)

// fault is one of a step: its name, what the tag of its field says of it, and
// the pointer to it.
type fault struct {
	name, kind string
	value      reflect.Value
}

func (f *fault) is(kind string) bool { return strings.Contains(f.kind, kind) }

// faults returns those that the step has, in the order of the type, and the
// names of all that there are.
func (s *Step) faults() (faults []fault, all []string) {
	for _, f := range fieldsOf(reflect.TypeFor[Step]()) {
		kind := f.Tag.Get("fault")
		if kind == "" {
			continue
		}
		all = append(all, f.name)
		if value := reflect.ValueOf(s).Elem().FieldByIndex(f.Index); !value.IsNil() {
			faults = append(faults, fault{f.name, kind, value})
		}
	}
	return faults, all
}

// String says in a few words what the step does: silence zone: a, for 10m. It
// is for people.
func (s *Step) String() string {
	text := "nothing"
	faults, _ := s.faults()
	for _, f := range faults {
		encoded, err := json.Marshal(f.value.Interface())
		if err != nil {
			encoded = []byte(err.Error())
		}
		plain := strings.NewReplacer(`"`, "", "{", "", "}", "", ":", ": ", ",", ", ").Replace(string(encoded))
		text = strings.TrimSpace(f.name + " " + plain)
	}
	if s.For > 0 {
		text += ", for " + s.For.String()
	}
	return text
}

func (s *Step) check(p place) {
	p.unless(s.At < p.Duration || p.Duration <= 0, "at", "at /duration", "is %v, but the scenario ends after %v", s.At,
		p.Duration)
	faults, all := s.faults()
	switch len(faults) {
	case 0:
		p.unless(false, ".", anyField, "nothing happens; give it one of %s", listed(all))
	case 1:
		s.times(p, &faults[0])
	default:
		names := make([]string, len(faults))
		for i, f := range faults {
			names[i] = f.name
		}
		p.unless(false, ".", "", "has %d faults, %s; make a step of each", len(faults), strings.Join(names, " and "))
	}
	for _, f := range faults {
		p.unless(s.For > 0 || !f.is("repeats"), f.name, "for", "needs for, which says until when")
	}
	if d := s.ClockDrift; d != nil && d.Every > 0 {
		steps := max(int64(s.For/d.Every), 1)
		p.unless(d.By.D().Abs() <= maxClockStep.D()/time.Duration(steps), "clockDrift.by", "clockDrift.by clockDrift.every for",
			"is %v, %d times; at most %v together", d.By, steps, maxClockStep)
	}
}

// times checks how long a step's only fault lasts and how it spreads.
func (s *Step) times(p place, f *fault) {
	endless, spread := f.is("endless"), ""
	if endless {
		p.unless(s.For == 0, "for", "for", "%s has no end; leave out for", f.name)
		p.unless(s.RecoverOver == 0, "recoverOver", "recoverOver", "%s has no end; leave out recoverOver", f.name)
	}
	switch {
	case f.is("flaps"):
		spread = "nodes that flap begin and end each at a time of its own"
	case !f.is("hits nodes"):
		spread = f.name + " does not hit nodes, over which it could be spread"
	}
	if spread != "" {
		p.unless(s.Over == 0, "over", "over", "%s; leave out over", spread)
		p.unless(s.RecoverOver == 0 || endless, "recoverOver", "recoverOver", "%s; leave out recoverOver", spread)
		return
	}
	p.unless(s.RecoverOver == 0 || s.For > 0 || endless, "recoverOver", "recoverOver for",
		"needs for, which says when it ends")
	p.unless(s.For <= 0 || endless || s.For+s.RecoverOver >= s.Over, "over", "over for recoverOver",
		"is %v, but the last nodes recover after %v; they would before they are hit", s.Over, s.For+s.RecoverOver)
}
