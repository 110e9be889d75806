package rollout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/daemon/rollout"
)

// podTransitions are those of the diagrams of sighting and deletionPhase. A pod
// has the phase of its deletion, or is as it was seen.
var podTransitions = map[string][]string{
	"gone":     {"observed", "created"},
	"observed": {"deleting", "gone"},
	"created":  {"observed", "read", "deleting", "gone"},
	"read":     {"observed", "deleting", "gone"},
	"deleting": {"observed", "created", "read", "accepted", "unanswered", "gone"},
	"accepted": {"observed", "read", "gone"},

	"unanswered":    {"observed", "read", "deletingAgain", "gone"},
	"deletingAgain": {"observed", "created", "read", "accepted", "unanswered", "gone"},
}

// rarePods are transitions that few histories show. Seldom is a pod deleted by
// us before the watch shows it, and the answer lost, and it is gone or read
// then.
var rarePods = map[string]bool{
	"unanswered to read": true,
	"read to gone":       true, // the watch never shows it at all

	"deletingAgain to read":    true,
	"deletingAgain to created": true,

	"deleting to read":    true,
	"deleting to created": true,
}

// creationTransitions are those of the diagram of creationPhase. A plan may
// first end what is too old and then hand out.
var creationTransitions = map[string][]string{
	"idle":       {"underWay"},
	"underWay":   {"idle", "unanswered", "shown"},
	"unanswered": {"idle", "again", "underWay"},
	"again":      {"idle", "unanswered", "shown"},
	"shown":      {"idle"},
}

var rareCreations = map[string]bool{"unanswered to underWay": true}

// transitions counts how the phases of objects change from call to call.
type transitions[K comparable] struct {
	last    map[K]string
	none    string
	allowed map[string][]string
	reached map[string]int
}

func (tr *transitions[K]) see(t *testing.T, now map[K]string) {
	for key, to := range now {
		tr.count(t, tr.from(key), to)
	}
	for key, from := range tr.last {
		if _, stays := now[key]; !stays {
			tr.count(t, from, tr.none)
		}
	}
	tr.last = now
}

func (tr *transitions[K]) from(key K) string {
	if from, known := tr.last[key]; known {
		return from
	}
	return tr.none
}

func (tr *transitions[K]) count(t *testing.T, from, to string) {
	if from == to {
		return
	}
	require.Contains(t, tr.allowed[from], to, "from %s", from)
	tr.reached[from+" to "+to]++
}

// C6: in each call of random histories the phases change as their diagrams say.
// All transitions of the diagrams are reached. Counts and lists agree with the
// phases.
func TestC6PhasesChangeAsTheirDiagramsSay(t *testing.T) {
	pods := transitions[types.UID]{none: "gone", allowed: podTransitions, reached: map[string]int{}}
	nodes := transitions[string]{none: "idle", allowed: creationTransitions, reached: map[string]int{}}
	var of *rollout.Planner
	inspect = func(planner *rollout.Planner) {
		if of != planner {
			of, pods.last, nodes.last = planner, nil, nil
		}
		require.Empty(t, planner.Agrees())
		pods.see(t, planner.PodPhases())
		nodes.see(t, planner.CreationPhases())
	}
	defer func() { inspect = nil }()
	for seed := range sized(60, 300) {
		play(uint64(seed+1), nil)
	}
	for from, all := range podTransitions {
		for _, to := range all {
			if name := from + " to " + to; !rarePods[name] {
				require.Positive(t, pods.reached[name], name)
			}
		}
	}
	for from, all := range creationTransitions {
		for _, to := range all {
			if name := from + " to " + to; !rareCreations[name] {
				require.Positive(t, nodes.reached[name], name)
			}
		}
	}
	t.Log(pods.reached, nodes.reached)
}

// C6: only the transition functions write a phase.
func TestC6OnlyTheTransitionFunctionsWriteAPhase(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	writers := map[string][]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			if f, is := decl.(*ast.FuncDecl); is {
				ast.Inspect(f, func(n ast.Node) bool {
					for _, field := range writtenBy(n) {
						writers[field] = append(writers[field], f.Name.Name)
					}
					return true
				})
			}
		}
	}
	require.Equal(
		t,
		map[string][]string{
			"seen": {"enter"}, "deletion": {"enter"}, "reading": {"enterReading"}, "phase": {"enterCreation"},
		},
		writers,
	)
}

// writtenBy returns the fields that hold a phase and that a statement writes.
func writtenBy(n ast.Node) (fields []string) {
	note := func(name string) {
		if name == "seen" || name == "deletion" || name == "reading" || name == "phase" {
			fields = append(fields, name)
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, to := range n.Lhs {
			if s, is := to.(*ast.SelectorExpr); is {
				note(s.Sel.Name)
			}
		}
	case *ast.KeyValueExpr:
		if key, is := n.Key.(*ast.Ident); is {
			note(key.Name)
		}
	case *ast.UnaryExpr:
		if s, is := n.X.(*ast.SelectorExpr); is && n.Op == token.AND {
			note(s.Sel.Name)
		}
	}
	return fields
}
