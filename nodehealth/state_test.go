package nodehealth

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kubelife/lifecycle/timedqueue"
)

// drawn reads the transitions from the comment of life: which states follow,
// by the call and the state before it.
func drawn(t *testing.T) map[string][]string {
	t.Helper()
	source, err := os.ReadFile("record.go")
	require.NoError(t, err)
	transitions := map[string][]string{}
	table := regexp.MustCompile(`(?m)^//\t(Observe|Heartbeat|Start|Finish) +(.*)$`)
	for _, line := range table.FindAllStringSubmatch(string(source), -1) {
		for one := range strings.SplitSeq(line[2], "; ") {
			from, to, found := strings.Cut(one, ": ")
			require.True(t, found, one)
			transitions[line[1]+" "+from] = strings.Split(to, ", ")
		}
	}
	require.Len(t, transitions, 19)
	for state := beating; state <= announced; state++ {
		transitions["Forget "+state.String()] = []string{absent.String()}
	}
	return transitions
}

func TestC6StatesOfAKeyHaveNames(t *testing.T) {
	names := map[string]bool{}
	for state := absent; state <= announced; state++ {
		require.NotEmpty(t, state.String())
		names[state.String()] = true
	}
	require.Len(t, names, int(announced)+1)
	require.Panics(t, func() { _ = (announced + 1).String() }, "a state was added: draw it")
}

// C6: the diagram of life is complete and true.
func TestC6StatesChangeAsDrawn(t *testing.T) {
	drawn, seen := drawn(t), map[string]map[string]bool{}
	for seed := range uint64(60) {
		playStates(t, seed, seen)
	}
	for call, to := range seen {
		for state := range to {
			require.Contains(t, drawn[call], state, "%s to %s is not drawn", call, state)
		}
	}
	for call, to := range drawn {
		for _, state := range to {
			require.True(t, seen[call][state], "%s to %s never happens", call, state)
		}
	}
}

// playStates plays what can happen to one key, with several tasks under way at
// a time, and notes the transitions of its state.
func playStates(t *testing.T, seed uint64, seen map[string]map[string]bool) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 9))
	now := time.Unix(1_800_000_000, 0)
	m, err := NewMonitor[string](Config{
		GracePeriod: 5 * time.Second, StartupGracePeriod: 9 * time.Second,
		RecoveryPeriod: time.Duration(seed%3) * 3 * time.Second,
		Retry:          timedqueue.Backoff{Initial: time.Second, Max: 8 * time.Second},
	}, now)
	require.NoError(t, err)
	state := func() life {
		if r, known := m.record("a"); known {
			return r.state
		}
		return absent
	}
	var underWay []Task[string]
	for range 600 {
		before, call := state(), ""
		switch random.IntN(12) {
		case 0, 1, 2:
			call = "Observe"
			m.Observe(now, "a", Observation{
				Reported: random.IntN(2) == 0, Silent: random.IntN(2) == 0,
				GracePeriod: time.Duration(random.IntN(4)/3) * 20 * time.Second,
			})
		case 3:
			call = "Heartbeat"
			m.Heartbeat(now, "a")
		case 4:
			if random.IntN(3) > 0 {
				continue
			}
			call = "Forget"
			m.Forget(now, "a")
		case 5, 6, 7:
			now = now.Add(time.Duration(random.IntN(4000)) * time.Millisecond)
		case 8, 9:
			call = "Start"
			if task, ok := m.Start(now); ok {
				underWay = append(underWay, task)
			}
		default:
			if len(underWay) == 0 {
				continue
			}
			call = "Finish"
			outcomes := []Outcome{OutcomeDone, OutcomeAlive, OutcomeFailed}
			m.Finish(now, underWay[0], Result{Outcome: outcomes[random.IntN(len(outcomes))]})
			underWay = underWay[1:]
		}
		if after := state(); after != before {
			key := fmt.Sprintf("%s %v", call, before)
			if seen[key] == nil {
				seen[key] = map[string]bool{}
			}
			seen[key][after.String()] = true
		}
	}
}

// C6: the state of a key is written by enter and by nothing else. A record
// begins in the zero state.
func TestC6OnlyEnterWritesAState(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	writers := map[string]int{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, declaration := range parsed.Decls {
			if f, is := declaration.(*ast.FuncDecl); is {
				writers[f.Name.Name] += stateWrites(f)
			}
		}
	}
	for name, n := range writers {
		if name != "enter" {
			require.Zero(t, n, "%s writes a state", name)
		}
	}
	require.Equal(t, 1, writers["enter"])
}

// stateWrites counts the assignments to a field named state, also in composite
// literals and through pointers.
func stateWrites(f *ast.FuncDecl) int {
	writes := 0
	count := func(e ast.Expr) {
		if s, is := e.(*ast.SelectorExpr); is && s.Sel.Name == "state" {
			writes++
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				count(to)
			}
		case *ast.KeyValueExpr:
			if key, is := n.Key.(*ast.Ident); is && key.Name == "state" {
				writes++
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				count(n.X)
			}
		}
		return true
	})
	return writes
}
