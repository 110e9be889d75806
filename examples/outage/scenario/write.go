package scenario

import (
	"encoding/json"
	"fmt"
	"regexp"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Write returns the scenario as YAML, its fields in the order of the types,
// what is zero left out. [Read] reads the same value back, but nil for lists
// and maps that are empty. A scenario that is not valid is an error: Read would
// refuse it.
func Write(s *Scenario) ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("the scenario cannot be written: %w", err)
	}
	// By way of JSON, which knows what to leave out, keeps the order of fields,
	// and is YAML too. sigs.k8s.io/yaml would sort them.
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	var root yaml.Node
	if err := yaml.Load(notASCII.ReplaceAllFunc(data, escaped), &root); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	restyle(&root)
	return yaml.Dump(&root, yaml.WithLineWidth(-1), yaml.WithFlowSimpleCollections(),
		yaml.WithQuotePreference(yaml.QuoteLegacy))
}

// notASCII matches what JSON may hold as it is, and YAML as an escape only.
var notASCII = regexp.MustCompile(`[^ -~]`)

func escaped(text []byte) []byte {
	r, _ := utf8.DecodeRune(text)
	return fmt.Appendf(nil, `\U%08x`, r)
}

// restyle makes of JSON what a user would write.
func restyle(node *yaml.Node) {
	node.Style = 0
	if node.Tag == "!!str" {
		node.SetString(node.Value) // several lines stand as they are
	}
	if oldTypes.MatchString(node.Value) {
		node.Style = yaml.DoubleQuotedStyle
	}
	for _, content := range node.Content {
		restyle(content)
	}
}

// oldTypes are words that mean something else to readers of YAML 1.1, and which
// the encoder does not quote. They are bools, and numbers to base 60.
var oldTypes = regexp.MustCompile(`^(?i:y|n|yes|no|on|off)$|^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)
