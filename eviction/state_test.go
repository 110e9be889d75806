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
	staying:  {pending, onHold, leaving},
	pending:  {staying, onHold, evicting, leaving},
	onHold:   {staying, pending, evicting, leaving},
	evicting: {staying, pending, onHold, reported, accepted, leaving},
	reported: {staying, pending, onHold, leaving},
	accepted: {staying, pending, onHold, evicting, leaving},
	leaving:  {staying, pending, onHold},
}

func TestC6PodStatesHaveNames(t *testing.T) {
	for state, name := range map[podState]string{
		staying: "staying", pending: "pending", onHold: "onHold", evicting: "evicting",
		reported: "reported", accepted: "accepted", leaving: "leaving",
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
		Holds:   []Hold{{Name: "all"}, holdOfKey("a"), holdOfKey("b")},
	}
	if seed%2 == 0 {
		config.Budgets = []Budget{{Name: "node", ByNode: func(n *corev1.Node) string { return n.Name },
			Limit: 0.5}}
	}
	var err error
	w.Tracker, err = NewTracker(config, w.now)
	require.NoError(t, err)
	w.SetMost(1 + int(seed%4))
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
		w.hold("")
		return "SetHold"
	case 17:
		w.hold(w.node())
		return "SetHold on a node"
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
			w.EvictNode(w.now, w.node(), NodeRequest{Reason: "drain"})
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
		if task, ok := w.Start(w.now); ok {
			w.flying = append(w.flying, task)
		}
		return "Start"
	}
	w.finish()
	return "Finish"
}

// hold begins or ends one of the holds.
func (w *walk) hold(node string) {
	w.SetHold(w.now, []string{"all", "a", "b"}[w.random.IntN(3)], node, w.chance(40))
}

func holdOfKey(key string) Hold {
	return Hold{Name: key, Taints: func(taint *corev1.Taint) bool { return taint.Key == key }}
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
	if w.chance(40) {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager",
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
		OutcomeEvicted, OutcomeGone, OutcomeNotDue, OutcomeFailed, OutcomeFailed,
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
	for _, n := range w.nodes.byName {
		for _, e := range n.pods {
			w.was[e] = e.Value().state
		}
	}
}

func (w *walk) check(call string, reached map[string]int) {
	say := func(what string, e *entry) string {
		return fmt.Sprintf("%s: %s of %s, %v, after %s", w.failed, what, e.Key(), e.Value().state, call)
	}
	waiting, late, held, pods := 0, 0, 0, 0
	overdue := &w.pods.stages.overdue
	reopening := overdue.more || overdue.again.Len() > 0
	for _, n := range w.nodes.byName {
		for slot, e := range n.pods {
			p := e.Value()
			pods++
			waiting += count(p.state.waits())
			require.Equal(w, slot, int(p.slot), say("slot", e))
			require.Same(w, n, p.node, say("node", e))

			at, hasDue := w.pods.stages.evictions.Due(e)
			require.Equal(w, p.state == evicting, w.pods.stages.evictions.Acting(e), say("acting", e))
			if p.state != onHold {
				require.Equal(w, p.state == pending, hasDue, say("due time", e))
			}
			var must ruling
			w.pods.rules.must(&must, e)
			lateItem, isLate := overdue.pods.Get(e.Key())
			if !isLate {
				lateItem, isLate = overdue.again.Get(e.Key())
			}
			late += count(isLate)
			held += count(p.state == onHold)
			switch p.state {
			case pending:
				require.Equal(w, must.due.Before(at), isLate, say("overdue", e))
			default:
				require.Equal(w, p.state == onHold, isLate, say("overdue", e))
			}
			if isLate {
				require.True(w, must.due.Equal(lateItem.Due), say("overdue", e))
			}
			if p.state == onHold {
				require.True(w, !w.pods.rules.may(e, &must).dueAt(w.now) || reopening || hasDue,
					say("held", e))
			}
			_, isGoing := w.pods.stages.going.Get(e.Key())
			require.Equal(w, p.state == accepted, isGoing, say("going", e))
			a := w.pods.attempts.running[e.Key()]
			require.Equal(w, p.state == evicting, a != nil, say("action", e))
			_, noted := w.pods.attempts.notes[e.Key()]
			require.Equal(w, p.noted, noted, say("notes", e))
			if from, known := w.was[e]; known && from != p.state {
				require.Contains(w, transitions[from], p.state, say(fmt.Sprintf("from %v: state", from), e))
				reached[fmt.Sprintf("%v to %v", from, p.state)]++
			}
		}
	}
	for name, n := range w.nodes.byName {
		waits := 0
		for _, e := range n.pods {
			waits += count(e.Value().state.waits())
		}
		require.Equal(w, waits, n.waiting, "%s: waiting on %s after %s", w.failed, n.name, call)
		require.Equal(w, name, n.name, "%s: after %s", w.failed, call)
	}
	require.Equal(w, waiting, w.Waiting(), "%s: waiting after %s", w.failed, call)
	require.Equal(w, pods, w.pods.stages.evictions.Len(), "%s: pods after %s", w.failed, call)
	require.Equal(w, held, w.Parked(), "%s: parked after %s", w.failed, call)
	require.Equal(w, late, overdue.pods.Len()+overdue.again.Len(), "%s: late after %s", w.failed, call)
	listed := map[types.UID]bool{}
	for p := range w.Pending() {
		require.False(w, listed[p.Pod.UID], "%s: %s is listed twice after %s", w.failed, p.Pod, call)
		listed[p.Pod.UID] = true
	}
	require.Len(w, listed, waiting, "%s: listed after %s", w.failed, call)
}

// E8: pods share what they have in common. An API server lists them in the order
// of their names, so those of a namespace come together. Later they come in any
// order.
func TestE8PodsShareTheirTraits(t *testing.T) {
	const namespaces, kinds, each = 50, 3, 20
	now := time.Unix(1_800_000_000, 0)
	for order, most := range map[string]int{
		"by namespace": namespaces * kinds,
		"in turns":     namespaces * kinds * each / 4,
	} {
		tracker, err := NewTracker(Config{}, now)
		require.NoError(t, err)
		distinct := map[*traits]bool{}
		for i := range namespaces * kinds * each {
			kind := i % (namespaces * kinds)
			if order == "by namespace" {
				kind = i / each
			}
			pod := &corev1.Pod{}
			pod.UID, pod.Spec.NodeName = types.UID(fmt.Sprint(i)), "n1"
			pod.Namespace = fmt.Sprintf("team-%03d", kind/kinds)
			if seconds := int64(kind % kinds * 60); seconds > 0 {
				pod.Spec.Tolerations = []corev1.Toleration{{
					Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds,
				}}
			}
			tracker.ObservePod(now, pod)
			e, _ := tracker.pods.stages.evictions.Find(pod.UID)
			record := e.Value().traits
			require.Equal(t, pod.Namespace, record.namespace)
			require.Equal(t, pod.Spec.Tolerations, record.tolerations)
			distinct[record] = true
		}
		require.LessOrEqual(t, len(distinct), most, order)
	}
}
