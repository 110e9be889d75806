package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Write returns the scenario as YAML, its fields in the order of the types,
// what is zero left out. [Read] reads the same value back, but nil for lists
// and maps that are empty. A scenario that is not valid is an error: Read would
// refuse it.
func Write(s *Scenario) ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("the scenario cannot be written: %w", err)
	}
	// By way of JSON, which knows what to leave out, keeps the order of fields, and
	// is YAML too. sigs.k8s.io/yaml would sort them, and a scenario begins with
	// its name.
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("writing a scenario: %w", err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(notASCII.ReplaceAllFunc(data, escaped), &root); err != nil {
		return nil, fmt.Errorf("writing a scenario: %w", err)
	}
	restyle(&root)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := errors.Join(encoder.Encode(&root), encoder.Close()); err != nil {
		return nil, fmt.Errorf("writing a scenario: %w", err)
	}
	return out.Bytes(), nil
}

// notASCII matches what JSON may hold as it is, and YAML as an escape only.
var notASCII = regexp.MustCompile(`[^ -~]`)

func escaped(text []byte) []byte {
	r, _ := utf8.DecodeRune(text)
	return fmt.Appendf(nil, `\U%08x`, r)
}

// restyle makes of JSON what a user would write.
func restyle(node *yaml.Node) {
	for _, content := range node.Content {
		restyle(content)
	}
	node.Style = 0
	if node.Kind == yaml.ScalarNode && node.Tag == "!!str" {
		node.Style = styleOf(node.Value)
	} else if node.Kind != yaml.DocumentNode && isShort(node) {
		node.Style = yaml.FlowStyle
	}
}

// isShort says whether the node is better written in one line.
func isShort(node *yaml.Node) bool {
	letters := 0
	for _, content := range node.Content {
		if content.Kind != yaml.ScalarNode || content.Style == yaml.LiteralStyle {
			return false
		}
		letters += len(content.Value) + len(", ")
	}
	return letters <= 60
}

// oldTypes are words that mean something else to readers of YAML 1.1, and which
// the encoder does not quote. They are bools, and numbers to base 60.
var oldTypes = regexp.MustCompile(`^(?i:y|n|yes|no|on|off)$|^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)

// styleOf lets a text of several lines stand as it is, unless something in it
// cannot be seen. The encoder would lose some of that: it writes a carriage
// return as the end of a line.
func styleOf(text string) yaml.Style {
	hidden := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	switch {
	case oldTypes.MatchString(text), strings.Contains(text, "\n") && strings.ContainsFunc(text, hidden):
		return yaml.DoubleQuotedStyle
	case strings.Contains(text, "\n"):
		return yaml.LiteralStyle
	}
	return 0
}
