package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

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
	// By way of JSON, which knows what to leave out and keeps the order of fields.
	// sigs.k8s.io/yaml would sort them, and a scenario begins with its name.
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("writing a scenario: %w", err)
	}
	tokens := json.NewDecoder(bytes.NewReader(data))
	tokens.UseNumber()
	root, err := nodeOf(tokens)
	if err != nil {
		return nil, fmt.Errorf("writing a scenario: %w", err)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := errors.Join(encoder.Encode(root), encoder.Close()); err != nil {
		return nil, fmt.Errorf("writing a scenario: %w", err)
	}
	return out.Bytes(), nil
}

// nodeOf makes a YAML node of the next JSON value.
func nodeOf(tokens *json.Decoder) (*yaml.Node, error) {
	token, err := tokens.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		return collectionOf(tokens, token)
	case string:
		return stringNode(token), nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(token)}, nil // a number or a bool
}

func collectionOf(tokens *json.Decoder, open json.Delim) (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.SequenceNode}
	if open == '{' {
		node.Kind = yaml.MappingNode
	}
	for tokens.More() {
		content, err := nodeOf(tokens)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, content)
	}
	if _, err := tokens.Token(); err != nil { // what closes it
		return nil, err
	}
	if isShort(node) {
		node.Style = yaml.FlowStyle
	}
	return node, nil
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

// stringNode lets a text of several lines stand as it is, unless something in
// it cannot be seen. The encoder would lose some of that: it writes a carriage
// return as the end of a line.
func stringNode(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	hidden := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	switch {
	case oldTypes.MatchString(text):
		node.Style = yaml.DoubleQuotedStyle
	case strings.Contains(text, "\n") && strings.ContainsFunc(text, hidden):
		node.Style = yaml.DoubleQuotedStyle
	case strings.Contains(text, "\n"):
		node.Style = yaml.LiteralStyle
	}
	return node
}
