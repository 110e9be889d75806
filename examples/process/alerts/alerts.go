// Package alerts holds the alert rules for the metrics of the programs, in the
// format of Prometheus: see alerts.yaml. Package examples/e2e/alerting plays
// series to them, and each program's tests search for the metrics that they
// use.
package alerts

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed alerts.yaml
var rules []byte

// Rules returns the file of rules.
func Rules() []byte { return slices.Clone(rules) }

// A Selector is what an expression asks of a metric.
type Selector struct {
	Metric string
	// Values are those that the expression compares a label with, by label.
	Values map[string][]string
}

var (
	selector = regexp.MustCompile(`\b([a-z_]+)(\(|\{[^}]*\})?`)
	matcher  = regexp.MustCompile(`([a-z]+)=~?"([^"]*)"`)
)

// Selectors returns what the rules of the group ask of a program. It knows a
// metric by the underscore in its name, which none that Prometheus itself
// records has.
func Selectors(group string) ([]Selector, error) {
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct{ Expr string }
		}
	}
	if err := yaml.Unmarshal(rules, &file); err != nil {
		return nil, fmt.Errorf("read alert rules: %w", err)
	}
	var found []Selector
	for _, g := range file.Groups {
		if g.Name != group {
			continue
		}
		for _, rule := range g.Rules {
			found = append(found, selectors(rule.Expr)...)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no alert rule of group %q asks for a metric", group)
	}
	return found, nil
}

func selectors(expression string) []Selector {
	var found []Selector
	for _, match := range selector.FindAllStringSubmatch(expression, -1) {
		name, rest := match[1], match[2]
		if rest == "(" || !strings.Contains(name, "_") {
			continue
		}
		s := Selector{Metric: name, Values: make(map[string][]string)}
		for _, m := range matcher.FindAllStringSubmatch(rest, -1) {
			s.Values[m[1]] = strings.Split(m[2], "|")
		}
		found = append(found, s)
	}
	return found
}
