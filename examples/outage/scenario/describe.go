package scenario

import (
	"encoding/json"
	"strings"
)

// String says in a few words what the step does: silence zone: a, for 10m. It
// is for people.
func (s *Step) String() string {
	text := "nothing"
	for _, f := range s.faults() {
		encoded, err := json.Marshal(f.fault)
		if err != nil {
			encoded = []byte(err.Error())
		}
		text = strings.TrimSpace(f.name + " " + plain(string(encoded)))
	}
	if s.For > 0 {
		text += ", for " + s.For.String()
	}
	return text
}

// plain makes JSON easier on the eye.
func plain(encoded string) string {
	return strings.NewReplacer(`"`, "", "{", "", "}", "", ":", ": ", ",", ", ").Replace(encoded)
}
