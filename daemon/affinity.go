package daemon

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// A term is a term of a required node affinity, of which one must match. The
// requirements on labels are apimachinery's, which match without allocation.
// Those on fields are ours, because a selector of package fields needs a new
// map for each node.
type term struct {
	labels []labels.Requirement
	fields []fieldRequirement
}

// A fieldRequirement is about a field of the node. The only field is its name;
// any other counts as empty.
type fieldRequirement struct {
	ofName bool
	value  string
	equals bool
}

func (t *term) matches(node *corev1.Node) bool {
	for i := range t.labels {
		if !t.labels[i].Matches(labels.Set(node.Labels)) {
			return false
		}
	}
	if node.Name == "" { // a node that does not exist yet has no fields
		return true
	}
	for i := range t.fields {
		if !t.fields[i].matches(node.Name) {
			return false
		}
	}
	return true
}

func (r *fieldRequirement) matches(name string) bool {
	if !r.ofName {
		name = ""
	}
	return (name == r.value) == r.equals
}

// ErrNoValidTerm is among the [Placement.Problems] if each term of the required
// node affinity is invalid or empty, so that no node matches.
var ErrNoValidTerm = errors.New("no term of the required node affinity is valid")

var errNoNode = errors.New("matches no node")

// compileTerms parses terms. One without any requirement matches no node.
func compileTerms(all []corev1.NodeSelectorTerm) ([]term, error) {
	var terms []term
	var problems []error
	for i := range all {
		if len(all[i].MatchExpressions) == 0 && len(all[i].MatchFields) == 0 {
			continue
		}
		compiled, err := compileTerm(&all[i])
		if err != nil {
			problems = append(problems, fmt.Errorf("nodeSelectorTerms[%d] %w: %w", i, errNoNode, err))
			continue
		}
		terms = append(terms, compiled)
	}
	if len(terms) == 0 && len(problems) > 0 {
		problems = append(problems, ErrNoValidTerm)
	}
	return terms, errors.Join(problems...)
}

func compileTerm(raw *corev1.NodeSelectorTerm) (term, error) {
	var t term
	for i, expression := range raw.MatchExpressions {
		requirement, err := compileExpression(expression)
		if err != nil {
			return term{}, fmt.Errorf("matchExpressions[%d]: %w", i, err)
		}
		t.labels = append(t.labels, *requirement)
	}
	for i, field := range raw.MatchFields {
		requirement, err := compileField(field)
		if err != nil {
			return term{}, fmt.Errorf("matchFields[%d]: %w", i, err)
		}
		t.fields = append(t.fields, requirement)
	}
	return t, nil
}

var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn:           selection.In,
	corev1.NodeSelectorOpNotIn:        selection.NotIn,
	corev1.NodeSelectorOpExists:       selection.Exists,
	corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt:           selection.GreaterThan,
	corev1.NodeSelectorOpLt:           selection.LessThan,
}

func compileExpression(raw corev1.NodeSelectorRequirement) (*labels.Requirement, error) {
	operator, known := operators[raw.Operator]
	if !known {
		return nil, fmt.Errorf("unknown operator %q", raw.Operator)
	}
	requirement, err := labels.NewRequirement(raw.Key, operator, raw.Values)
	if err != nil {
		return nil, fmt.Errorf("label %q: %w", raw.Key, err)
	}
	return requirement, nil
}

func compileField(raw corev1.NodeSelectorRequirement) (fieldRequirement, error) {
	in := raw.Operator == corev1.NodeSelectorOpIn
	switch {
	case !in && raw.Operator != corev1.NodeSelectorOpNotIn:
		return fieldRequirement{}, fmt.Errorf("operator %q, want In or NotIn", raw.Operator)
	case len(raw.Values) != 1:
		return fieldRequirement{}, fmt.Errorf("%d values, want one", len(raw.Values))
	}
	return fieldRequirement{
		ofName: raw.Key == metav1.ObjectNameField,
		value:  raw.Values[0],
		equals: in,
	}, nil
}
