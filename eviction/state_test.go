package eviction

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubelife/lifecycle/timedqueue"
)

// transitions are those of a pod's record by one call, besides to the same
// state.
var transitions = map[podState][]podState{
	staying:       {marked, pending, pendingMarked, leaving},
	marked:        {staying, pending, pendingMarked, clearing, leaving},
	pending:       {staying, marked, pendingMarked, evicting, leaving},
	pendingMarked: {staying, marked, pending, evicting, clearing, leaving},
	evicting:      {staying, marked, pending, pendingMarked, reported, accepted, leaving},
	clearing:      {staying, marked, pending, pendingMarked, accepted, leaving},
	reported:      {staying, marked, pending, pendingMarked, leaving},
	accepted:      {staying, marked, pending, pendingMarked, evicting, clearing, leaving},
	leaving:       {staying, marked, pending, pendingMarked},
}

func TestC6PodStatesHaveNames(t *testing.T) {
	for state, name := range map[podState]string{
		staying: "staying", marked: "marked", pending: "pending", pendingMarked: "pendingMarked",
		evicting: "evicting", clearing: "clearing", reported: "reported",
		accepted: "accepted", leaving: "leaving",
	} {
		require.Equal(t, name, state.String())
	}
	require.Len(t, transitions, int(leaving)+1)
}

// C6: after each call, the state of each pod agrees with its queues, the
// actions under way and the counts. It has changed as the table says.
func TestC6StateAndQueuesAgree(t *testing.T) {
	seeds := Sized(30, 200)
	reached := map[string]int{}
	for seed := range uint64(seeds) {
		w := newWalk(t, seed)
		for range 400 {
			w.remember()
			call := w.step()
			w.check(call, reached)
		}
	}
	for from, all := range transitions {
		for _, to := range all {
			require.Positive(t, reached[fmt.Sprintf("%v to %v", from, to)], "%v to %v", from, to)
		}
	}
}

// C6: the state of a pod is written by enter and that of a node by reset, and
// by nothing else. A record begins in the zero state.
func TestC6OnlyTheTransitionFunctionsWriteAState(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	writers := map[string]int{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			f, is := decl.(*ast.FuncDecl)
			if !is {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					for _, to := range n.Lhs {
						if s, is := to.(*ast.SelectorExpr); is && s.Sel.Name == "state" {
							writers[f.Name.Name]++
						}
					}
				case *ast.KeyValueExpr:
					if key, is := n.Key.(*ast.Ident); is && key.Name == "state" {
						writers[f.Name.Name]++
					}
				case *ast.UnaryExpr:
					if s, is := n.X.(*ast.SelectorExpr); is && n.Op == token.AND && s.Sel.Name == "state" {
						writers[f.Name.Name]++
					}
				}
				return true
			})
		}
	}
	require.Equal(t, map[string]int{"enter": 1, "reset": 1}, writers)
}

// A walk is a tracker to which random things happen.
type walk struct {
	*testing.T
	*Tracker
	random *rand.Rand
	now    time.Time
	flying []Task
	was    map[*entry]podState
	failed string
}

func newWalk(t *testing.T, seed uint64) *walk {
	w := &walk{T: t, random: rand.New(rand.NewPCG(seed, 6)), now: time.Unix(1_800_000_000, 0),
		failed: fmt.Sprintf("seed %d", seed)}
	config := Config{
		Exempt:  func(pod *corev1.Pod) bool { return pod.Labels["exempt"] != "" },
		Backoff: timedqueue.Backoff{Initial: time.Second, Max: 8 * time.Second},
	}
	if seed%2 == 0 {
		config.Budgets = []Budget{{Name: "node", ByNode: func(n *corev1.Node) string { return n.Name },
			Limit: 0.5}}
	}
	var err error
	w.Tracker, err = NewTracker(config, w.now)
	require.NoError(t, err)
	w.slice = 1 + int(seed%4)
	w.MarkSynced()
	return w
}

func (w *walk) chance(percent int) bool { return w.random.IntN(100) < percent }

func (w *walk) node() string { return fmt.Sprint("n", w.random.IntN(3)) }

func (w *walk) id() types.UID { return types.UID(fmt.Sprint("p", w.random.IntN(6))) }

// step does one call and returns its name.
func (w *walk) step() string {
	switch w.random.IntN(18) {
	case 16:
		w.suspend()
		return "SuspendTaints"
	case 17:
		w.Reevaluate(w.now)
		return "Reevaluate"
	case 0:
		w.now = w.now.Add(time.Duration(w.random.IntN(6)) * time.Second)
		return "nothing"
	case 1, 2:
		w.ObserveNode(w.now, w.someNode())
		return "ObserveNode"
	case 3, 4, 5:
		w.ObservePod(w.now, w.somePod())
		return "ObservePod"
	case 6:
		if w.chance(60) {
			return "nothing"
		}
		w.ForgetPod(w.now, w.id())
		return "ForgetPod"
	case 7:
		w.EvictPod(w.now, w.id(), "", w.now.Add(time.Duration(w.random.IntN(5)-1)*time.Second))
		return "EvictPod"
	case 8:
		w.CancelPodEviction(w.now, w.id())
		return "CancelPodEviction"
	case 9:
		w.SetLimit(w.now, "node", w.node(), rate.Limit(w.random.IntN(3)))
		w.Retry(w.now, w.id())
		return "Retry"
	case 10:
		if w.chance(70) {
			w.EvictNode(w.now, w.node(), "drain")
			return "EvictNode"
		}
		w.CancelNodeEviction(w.now, w.node())
		return "CancelNodeEviction"
	case 11:
		if w.chance(30) {
			w.ForgetNode(w.now, w.node())
			return "ForgetNode"
		}
		return "nothing"
	case 12, 13:
		if w.Reevaluating() { // Start would make two steps of one
			w.Reevaluate(w.now)
			return "Reevaluate"
		}
		if task, ok := w.Start(w.now); ok {
			w.flying = append(w.flying, task)
		}
		return "Start"
	}
	w.finish()
	return "Finish"
}

// suspend suspends one of the two taints, or none.
func (w *walk) suspend() {
	if w.chance(60) {
		return
	}
	key := []string{"a", "b", ""}[w.random.IntN(3)]
	w.SuspendTaints(w.now, func(taint *corev1.Taint) bool { return taint.Key == key })
}

func (w *walk) someNode() *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.node()}}
	for _, key := range []string{"a", "b"} {
		if w.chance(40) {
			node.Spec.Taints = append(node.Spec.Taints,
				corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute})
		}
	}
	return node
}

func (w *walk) somePod() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", UID: w.id()}}
	pod.Name = string(pod.UID)
	pod.Spec.NodeName = "n" + string(pod.UID[1]%3+'0')
	if w.chance(5) {
		pod.Spec.NodeName = w.node()
	}
	for _, key := range []string{"a", "b"} {
		seconds := int64(w.random.IntN(8))
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds,
		})
	}
	if w.chance(10) {
		heavy := slices.Repeat([]corev1.Toleration{{Key: "none"}}, 256*(1+w.random.IntN(6)))
		pod.Spec.Tolerations = append(heavy, pod.Spec.Tolerations...)
	}
	if w.chance(40) {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: ConditionReasonTaint,
		}}
	}
	if w.chance(10) {
		pod.Labels = map[string]string{"exempt": "yes"}
	}
	if w.chance(6) {
		pod.DeletionTimestamp = &metav1.Time{Time: w.now}
	}
	return pod
}

func (w *walk) finish() {
	if len(w.flying) == 0 {
		return
	}
	i := w.random.IntN(len(w.flying))
	task := w.flying[i]
	w.flying = slices.Delete(w.flying, i, i+1)
	all := []Outcome{
		OutcomeEvicted, OutcomeAlreadyGone, OutcomeNotDue, OutcomeConditionCleared, OutcomeFailed,
		OutcomeFailed,
		OutcomeBlocked, OutcomeDryRun, OutcomeDryRun,
	}
	result := Result{Outcome: all[w.random.IntN(len(all))]}
	if w.chance(30) {
		result.Pod = w.somePod()
		result.Pod.UID = task.Pod.UID
	}
	w.Finish(w.now, task, result)
}

// remember records the states before a call.
func (w *walk) remember() {
	w.was = map[*entry]podState{}
	for _, n := range w.nodes {
		for _, e := range n.pods {
			w.was[e] = e.Value().state
		}
	}
}

func (w *walk) check(call string, reached map[string]int) {
	say := func(what string, e *entry) string {
		return fmt.Sprintf("%s: %s of %s, %v, after %s", w.failed, what, e.Key(), e.Value().state, call)
	}
	waiting, scheduled, toClear, pods := 0, 0, 0, 0
	overdue, attempts := map[second]int{}, map[second]int{}
	for _, n := range w.nodes {
		for slot, e := range n.pods {
			p := e.Value()
			pods++
			waiting += count(p.state.waits())
			scheduled += count(p.state.scheduled() || p.state == evicting)
			toClear += count(p.state.toClear())
			require.Equal(w, slot, int(p.slot), say("slot", e))
			require.Same(w, n, p.placement.node, say("node", e))

			at, hasDue := w.evictions.Due(e)
			if hasDue {
				attempts[w.attempts.secondOf(at)]++
			}
			if p.counted != 0 {
				overdue[p.counted]++
			}
			if !w.Stale(e.Key()) {
				want := second(0)
				if r := w.rule(e); p.state.waits() && r.leaves() {
					want = w.overdue.secondOf(r.due)
				}
				require.Equal(w, want, p.counted, say("counted", e))
			}
			require.Equal(w, p.state.scheduled(), hasDue, say("due time", e))
			_, inClears := w.clears.Get(e.Key())
			require.Equal(w, p.state.toClear(), inClears, say("clear", e))
			a := w.running[e.Key()]
			require.Equal(w, p.state.handedOut(), a != nil, say("action", e))
			if a != nil {
				require.Equal(w, a.state(), p.state, say("kind of action", e))
			}
			_, asked := w.requests[e.Key()]
			require.Equal(w, p.requested, asked, say("request", e))
			if from, known := w.was[e]; known && from != p.state {
				require.Contains(w, transitions[from], p.state, say(fmt.Sprintf("from %v: state", from), e))
				reached[fmt.Sprintf("%v to %v", from, p.state)]++
			}
		}
	}
	require.Equal(w, overdue, w.overdue.all(), "%s: counted as overdue after %s", w.failed, call)
	require.Equal(w, attempts, w.attempts.all(), "%s: counted as attempts after %s", w.failed, call)
	require.Len(w, w.nodes, len(w.ordered), w.failed)
	for slot, n := range w.ordered {
		waits := 0
		for _, e := range n.pods {
			waits += count(e.Value().state.waits())
		}
		require.Equal(w, waits, n.waiting, "%s: waiting on %s after %s", w.failed, n.name, call)
		require.Equal(w, slot, n.slot, "%s: slot of %s after %s", w.failed, n.name, call)
		require.Same(w, n, w.nodes[n.name], "%s: %s after %s", w.failed, n.name, call)
	}
	require.Equal(w, waiting, w.Waiting(), "%s: waiting after %s", w.failed, call)
	require.Equal(w, pods, w.evictions.Len(), "%s: pods after %s", w.failed, call)
	require.Equal(w, toClear, w.clears.Len(), "%s: clears after %s", w.failed, call)
	require.Equal(w, scheduled, w.evictions.Pending(), "%s: evictions after %s", w.failed, call)
	listed := map[types.UID]bool{}
	for p := range w.Pending() {
		require.False(w, listed[p.Pod.UID], "%s: %s is listed twice after %s", w.failed, p.Pod, call)
		listed[p.Pod.UID] = true
	}
	require.Len(w, listed, waiting, "%s: listed after %s", w.failed, call)
}
