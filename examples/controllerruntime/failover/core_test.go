package failover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/taints"
	"github.com/kubelife/lifecycle/timedqueue"
)

const (
	grace    = 40 * time.Second
	interval = 10 * time.Second
)

// world is an API server, its clusters and one core, in virtual time.
type world struct {
	t        *testing.T
	now      time.Time
	core     *Core
	clusters map[string]*federation.Cluster
	bindings map[string]*federation.Binding
	cut      map[string]bool // silent clusters
	ill      map[string]bool // clusters whose agents say that they are not ready
	unseen   map[string]bool // clusters whose changes the watch does not deliver
	unshown  map[string]bool // bindings of which it does not
	standby  bool            // the core does not lead
	blind    bool            // the API server answers nothing
	jobs     timedqueue.Source[timedqueue.Job]
	refuse   func(task any) error
	moves    []string // "binding from to"
	version  int
}

var noon = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

// newWorld returns a world whose regions have so many clusters, of names like
// a-0.
func newWorld(t *testing.T, regions map[string]int) *world {
	t.Helper()
	w := &world{
		t: t, now: noon, cut: map[string]bool{}, ill: map[string]bool{},
		unseen: map[string]bool{}, unshown: map[string]bool{},
		clusters: map[string]*federation.Cluster{}, bindings: map[string]*federation.Binding{},
	}
	for region, size := range regions {
		for i := range size {
			name := region + "-" + strconv.Itoa(i)
			w.clusters[name] = &federation.Cluster{
				ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
				Spec:       federation.ClusterSpec{Region: region},
			}
			w.beat(w.clusters[name])
		}
	}
	w.restart()
	return w
}

func config() Config {
	return Config{GracePeriod: grace, HeartbeatInterval: interval, TaintRate: 100, MoveRate: 100, ClusterMoveRate: 100}
}

// restart starts a core that knows only what the API server has.
func (w *world) restart() {
	w.t.Helper()
	var err error
	w.core, err = NewCore(config(), w.now)
	require.NoError(w.t, err)
	w.jobs = w.core.Jobs(Actions{Declare: w.declare, Taint: w.mark, Move: w.move})
	for _, name := range w.names() {
		w.core.ObserveCluster(w.now, w.clusters[name].DeepCopy())
	}
	for _, name := range slices.Sorted(maps.Keys(w.bindings)) {
		w.core.ObserveBinding(w.now, w.bindings[name].DeepCopy())
	}
	if !w.standby {
		w.core.Lead(w.now)
	}
}

// names returns the names of the clusters.
func (w *world) names() []string { return slices.Sorted(maps.Keys(w.clusters)) }

func (w *world) beat(c *federation.Cluster) {
	ready := metav1.Condition{
		Type: federation.ConditionReady, Status: metav1.ConditionTrue, Reason: "AgentReady",
		LastTransitionTime: metav1.NewTime(w.now),
	}
	if w.ill[c.Name] {
		ready.Status, ready.Reason = metav1.ConditionFalse, "AgentNotReady"
	}
	c.Status.LastHeartbeatTime = &metav1.MicroTime{Time: w.now}
	meta.SetStatusCondition(&c.Status.Conditions, ready)
	w.wrote(c)
}

func (w *world) wrote(object metav1.Object) {
	w.version++
	object.SetResourceVersion(strconv.Itoa(w.version))
}

// bind creates a binding on a cluster.
func (w *world) bind(name, to string, tolerations ...corev1.Toleration) {
	w.bindAll(name, []string{to}, tolerations...)
}

// bindAll creates a binding on several clusters, with a replica on the first,
// two on the second, and so on.
func (w *world) bindAll(name string, to []string, tolerations ...corev1.Toleration) {
	b := &federation.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:       federation.BindingSpec{Tolerations: tolerations},
	}
	for i, cluster := range to {
		b.Spec.Clusters = append(b.Spec.Clusters, w.target(cluster, int32(i+1)))
	}
	w.bindings[name] = b
	w.change(name, func(*federation.BindingSpec) {})
}

// target is what binds to a cluster now.
func (w *world) target(cluster string, replicas int32) federation.TargetCluster {
	return federation.TargetCluster{Name: cluster, Replicas: replicas, BoundAt: ptr.To(metav1.NewTime(w.now))}
}

// change changes a binding, as another client does.
func (w *world) change(name string, edit func(*federation.BindingSpec)) {
	b := w.bindings[name].DeepCopy()
	edit(&b.Spec)
	w.wrote(b)
	w.bindings[name] = b
	if !w.unshown[name] {
		w.core.ObserveBinding(w.now, b.DeepCopy())
	}
}

// taint changes the taints of a cluster, as an administrator does.
func (w *world) taint(name string, list ...corev1.Taint) {
	c := w.clusters[name]
	c.Spec.Taints = list
	w.wrote(c)
	w.show(c)
}

// show delivers a cluster.
func (w *world) show(c *federation.Cluster) {
	if !w.unseen[c.Name] {
		w.core.ObserveCluster(w.now, c.DeepCopy())
	}
}

// run lets time pass, second by second.
func (w *world) run(d time.Duration) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(time.Second)
		if !w.blind {
			w.core.Answered(w.now, w.now)
		}
		second := int(w.now.Sub(noon) / time.Second)
		for _, name := range w.names() {
			c := w.clusters[name]
			if !w.cut[name] && !w.blind && second%int(interval/time.Second) == int(name[len(name)-1]-'0') {
				w.beat(c)
				w.show(c)
			}
		}
		w.act()
	}
}

// act does what the core hands out, as the API server would.
func (w *world) act() {
	w.t.Helper()
	for steps := 0; ; steps++ {
		require.Less(w.t, steps, 10_000, "the core hands out the same again and again")
		job, ok := w.jobs.Start(w.now)
		if !ok {
			next, waits := w.jobs.Next(w.now)
			if !waits || next.After(w.now) {
				return
			}
			continue
		}
		job.Perform(w.t.Context())
		job.Finish(w.now)
	}
}

var (
	errConflict = errors.New("conflict")
	errDown     = errors.New("the API server does not answer")
)

func (w *world) declare(_ context.Context, d Declaration) nodehealth.Result {
	if err := w.patchCluster(d, d.Before, d.After); err != nil {
		return nodehealth.Result{Outcome: nodehealth.OutcomeFailed, Err: err}
	}
	return nodehealth.Result{Outcome: nodehealth.OutcomeDone}
}

func (w *world) mark(_ context.Context, m Marking) timedqueue.Result {
	if err := w.patchCluster(m, m.Before, m.After); err != nil {
		return timedqueue.Result{Outcome: timedqueue.OutcomeFailed, Err: err}
	}
	return timedqueue.Result{Outcome: timedqueue.OutcomeDone}
}

func (w *world) move(_ context.Context, m Move) eviction.Result {
	if err := w.refusal(m, m.Before); err != nil {
		return eviction.Result{Outcome: eviction.OutcomeFailed, Err: err}
	}
	w.moves = append(w.moves, m.Before.Name+" "+m.From+" "+m.To)
	w.change(m.Before.Name, func(spec *federation.BindingSpec) { *spec = m.After.Spec })
	return eviction.Result{Outcome: eviction.OutcomeEvicted}
}

func (w *world) patchCluster(task any, before, after *federation.Cluster) error {
	if err := w.refusal(task, before); err != nil {
		return err
	}
	stored := after.DeepCopy()
	w.wrote(stored)
	w.clusters[stored.Name] = stored
	w.show(stored)
	return nil
}

// refusal returns why the API server does not accept a patch that was computed
// from an object.
func (w *world) refusal(task any, before metav1.Object) error {
	if w.blind {
		return errDown
	}
	if w.refuse != nil {
		if err := w.refuse(task); err != nil {
			return err
		}
	}
	var stored metav1.Object = w.clusters[before.GetName()]
	if _, is := before.(*federation.Binding); is {
		stored = w.bindings[before.GetName()]
	}
	if stored.GetResourceVersion() != before.GetResourceVersion() {
		return errConflict
	}
	return nil
}

func (w *world) unreachable(name string) bool {
	return w.tainted(name, TaintUnreachable)
}

func (w *world) tainted(name, key string) bool {
	_, has := taints.Find(w.clusters[name].Spec.Taints, key, corev1.TaintEffectNoExecute)
	return has
}

func tolerate(key string, seconds *int64) corev1.Toleration {
	return corev1.Toleration{
		Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds,
	}
}

// A cluster that falls silent is declared, gets the taint, and its bindings
// move to the clusters with the fewest. Others stay. When it is heard again, it
// loses the taint, and nothing moves back.
func TestBindingsLeaveAClusterThatFallsSilent(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 3, "b": 3})
	w.run(grace)
	old := corev1.Taint{Key: "old", Effect: corev1.TaintEffectNoSchedule}
	w.taint("a-0", old)
	w.bind("one", "a-0")
	w.bind("two", "a-0")
	w.bind("other", "a-1")
	w.bind("patient", "a-0", tolerate(TaintUnreachable, ptr.To[int64](30)))
	w.bind("stays", "a-0", tolerate(TaintUnreachable, nil))
	w.cut["a-0"] = true

	w.run(grace - interval)
	require.False(t, w.unreachable("a-0"), "before its grace period is over")
	require.Empty(t, w.moves)
	w.run(2*interval + 2*time.Second)
	require.True(t, readyIs(w.clusters["a-0"], metav1.ConditionUnknown))
	require.True(t, w.unreachable("a-0"))
	require.Equal(t, old, w.clusters["a-0"].Spec.Taints[0], "a foreign taint is left alone")
	require.Equal(t, []string{"one a-0 a-2", "two a-0 b-0"}, w.moves)
	require.Equal(t, 1, w.core.Silent())
	w.run(35 * time.Second)
	require.Equal(t, "patient a-0 b-1", w.moves[2], "when its toleration has ended")

	w.cut["a-0"] = false
	w.run(interval)
	require.Equal(t, []corev1.Taint{old}, w.clusters["a-0"].Spec.Taints)
	w.run(5 * time.Minute)
	require.Len(t, w.moves, 3)
	require.Equal(t, []string{"a-0"}, clustersOf(w.bindings["stays"]))
}

// A binding whose cluster is heard again, or ready, within its toleration
// stays.
func TestABindingStaysIfItsClusterReturnsInTime(t *testing.T) {
	for key, fault := range map[string]func(*world) map[string]bool{
		TaintUnreachable: func(w *world) map[string]bool { return w.cut },
		TaintNotReady:    func(w *world) map[string]bool { return w.ill },
	} {
		t.Run(key, func(t *testing.T) {
			w := newWorld(t, map[string]int{"a": 3})
			w.run(grace)
			w.bind("patient", "a-0", tolerate(key, ptr.To[int64](90)))
			fault(w)["a-0"] = true
			w.run(grace + 3*interval)
			require.True(t, w.tainted("a-0", key))
			fault(w)["a-0"] = false
			attempts := 0
			w.refuse = func(task any) error {
				require.IsType(t, Marking{}, task)
				attempts++
				return errConflict
			}
			w.run(2 * time.Minute)
			require.Less(t, attempts, 12, "each waits longer, whatever is observed meanwhile")
			require.True(t, w.tainted("a-0", key), "it cannot be removed")
			require.Empty(t, w.moves)
			w.refuse = nil
			w.run(2 * time.Minute)
			require.Empty(t, w.clusters["a-0"].Spec.Taints)
			require.Empty(t, w.moves)
		})
	}
}

// The taint of an administrator moves bindings of a living cluster. None goes
// to a cluster that is not ready or has a taint.
func TestAnAdministratorsTaintMovesBindings(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 3, "0": 1})
	w.run(2 * interval) // in which each cluster could show that it lives
	meta.SetStatusCondition(&w.clusters["0-0"].Status.Conditions, metav1.Condition{
		Type: federation.ConditionReady, Status: metav1.ConditionFalse, Reason: "NotReady",
	})
	w.show(w.clusters["0-0"])
	w.taint("a-0", corev1.Taint{Key: "retired", Effect: corev1.TaintEffectNoExecute})
	w.taint("a-1", corev1.Taint{Key: "full", Effect: corev1.TaintEffectNoSchedule})
	w.bind("one", "a-0")
	w.bind("stays", "a-1")
	w.bind("too", "a-2")
	w.bind("also", "a-2")
	w.run(2 * time.Second)
	require.Equal(t, []string{"one a-0 a-2"}, w.moves)
}

// No binding goes to a cluster that is silent, whether the API server knows
// that yet or not.
func TestASilentClusterGetsNoBinding(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 3})
	w.run(grace)
	w.cut["a-1"] = true
	w.refuse = func(task any) error {
		if _, declares := task.(Declaration); declares {
			return errConflict
		}
		return nil
	}
	w.run(grace + interval)
	require.True(t, readyIs(w.clusters["a-1"], metav1.ConditionTrue))
	w.taint("a-0", corev1.Taint{Key: "retired", Effect: corev1.TaintEffectNoExecute})
	w.bind("one", "a-0")
	w.run(time.Second)
	require.Equal(t, []string{"one a-0 a-2"}, w.moves)
}

// A region of which most but not all is silent has lost its network, more
// likely than its clusters. No cluster of it gets the taint, not even the first
// that is found silent.
func TestAPartialDisruptionTaintsNothing(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 8, "b": 2})
	w.run(grace)
	for i := range 7 {
		w.cut["a-"+strconv.Itoa(i)] = true
	}
	w.refuse = func(task any) error {
		require.IsType(t, Declaration{}, task)
		return nil
	}
	w.run(5 * time.Minute)
	require.Equal(t, 7, w.core.Silent())
}

// Without a cluster that it may go to a binding stays, and moves once there is
// one. A cluster whose taint it tolerates for a time only is none.
func TestABindingWaitsForACluster(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 2})
	retired := corev1.Taint{Key: "retired", Effect: corev1.TaintEffectNoExecute}
	w.taint("a-0", retired)
	w.taint("a-1", retired)
	w.bind("one", "a-0", tolerate("retired", ptr.To[int64](5)))
	w.run(3 * time.Minute)
	require.Empty(t, w.moves)
	w.taint("a-1")
	w.run(time.Minute)
	require.Equal(t, []string{"one a-0 a-1"}, w.moves)
}

// A silent region is dead: its bindings move. When all regions are silent, it
// is the fault of the observer: nothing moves, and no taint stays.
func TestWhenAllRegionsAreSilentNothingMoves(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 3, "b": 3})
	w.run(grace)
	w.bind("one", "a-0")
	w.bind("two", "b-0")
	w.cut["a-2"] = true
	w.run(grace + 3*interval)
	require.True(t, w.unreachable("a-2"))
	for name := range w.clusters {
		w.cut[name] = true
	}
	w.run(10 * time.Minute)
	require.Empty(t, w.moves)
	for name := range w.clusters {
		require.True(t, readyIs(w.clusters[name], metav1.ConditionUnknown))
		require.False(t, w.unreachable(name))
		w.cut[name] = name[0] == 'a'
	}
	w.run(5 * time.Minute)
	require.Len(t, w.moves, 1, "region a is still silent")
	require.Regexp(t, "^one a-0 b-", w.moves[0])
}

// After all regions were silent, clusters have a grace period to be heard. A
// taint that is left acts after that, as it does after a restart.
func TestWhatIsDueWaitsUntilTheRegionsAreJudged(t *testing.T) {
	for name, back := range map[string]func(*world){
		"recovery": func(w *world) {
			for i := range 3 {
				w.cut["b-"+strconv.Itoa(i)] = false
			}
		},
		"restart": func(w *world) {
			w.run(interval)
			w.restart()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]int{"a": 3, "b": 3})
			w.run(grace)
			w.bind("patient", "a-0", tolerate(TaintUnreachable, ptr.To[int64](200)))
			w.cut["a-0"] = true
			w.run(grace + 3*interval)
			due := w.clusters["a-0"].Spec.Taints[0].TimeAdded.Add(200 * time.Second)
			w.refuse = func(task any) error { // the taint stays
				if _, taints := task.(Marking); taints {
					return errConflict
				}
				return nil
			}
			if name == "recovery" {
				for _, cut := range w.names() {
					w.cut[cut] = true
				}
			}
			w.run(due.Add(-15 * time.Second).Sub(w.now))
			back(w)
			w.run(30 * time.Second)
			require.Empty(t, w.moves)
			w.run(grace)
			require.Len(t, w.moves, 1)
		})
	}
}

// While the API server does not answer, silence does not count, and nothing is
// lost.
func TestAnOutageOfTheAPIServerDeclaresNothing(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 6})
	w.run(grace)
	w.bind("one", "a-0")
	w.cut["a-0"] = true
	w.run(grace / 2)
	w.blind = true
	w.run(10 * time.Minute)
	w.blind = false
	w.run(grace/2 + 3*interval)
	require.Len(t, w.moves, 1, "the dead one")
	require.Equal(t, 1, w.core.Silent())
}

// After that the others may have died as well. Nothing moves before one of them
// is heard.
func TestAfterAnOutageOfTheAPIServerNothingMovesBeforeAClusterIsHeard(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 3, "b": 3})
	w.run(grace)
	w.bind("patient", "a-0", tolerate(TaintUnreachable, ptr.To[int64](200)))
	w.cut["a-0"] = true
	w.run(grace + 3*interval)
	require.True(t, w.unreachable("a-0"))
	w.blind = true
	w.run(10 * time.Minute)
	w.blind = false
	for _, name := range w.names() {
		w.cut[name] = true
	}
	w.run(grace / 2)
	require.Empty(t, w.moves)
	w.cut["b-1"] = false
	w.run(interval)
	require.Equal(t, []string{"patient a-0 b-1"}, w.moves, "no other is known to live")
}

// A cluster that waits for its taint when an outage begins may be back when it
// ends. It has an interval to be heard before it is tainted.
func TestAfterAnOutageOfTheAPIServerAClusterThatIsBackIsNotTainted(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 6})
	w.run(grace)
	w.cut["a-0"] = true
	for w.core.Silent() == 0 {
		w.run(time.Second)
	}
	require.True(t, readyIs(w.clusters["a-0"], metav1.ConditionUnknown))
	require.False(t, w.unreachable("a-0"), "its region is judged first")

	w.blind = true
	w.run(2 * interval) // until the core knows
	var sent []time.Time
	w.jobs = w.core.Jobs(Actions{
		Declare: w.declare, Move: w.move,
		Taint: func(ctx context.Context, m Marking) timedqueue.Result {
			sent = append(sent, w.now)
			return w.mark(ctx, m)
		},
	})
	w.run(5 * time.Minute)
	w.blind, w.cut["a-0"] = false, false
	w.run(5 * time.Minute)
	require.Empty(t, sent)
	require.Zero(t, w.core.Silent())
}

// A patch that the API server refuses is decided again. A cluster whose
// heartbeat the cache has not shown is not declared.
func TestARefusedPatchIsDecidedAgain(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 3})
	w.run(grace)
	w.bind("one", "a-0")
	refused := map[string]int{} // by type of task
	w.refuse = func(task any) error {
		of := fmt.Sprintf("%T", task)
		if refused[of]++; refused[of] <= 3 {
			return errConflict
		}
		return nil
	}
	w.cut["a-0"] = true
	w.run(grace + 3*interval)
	require.Equal(t, []string{"one a-0 a-1"}, w.moves)
	require.Equal(t, map[string]int{
		"failover.Declaration": 4, "failover.Marking": 4, "failover.Move": 4,
	}, refused)
}

// A watch that delivers nothing looks like silence. The API server refuses to
// record that, and until it does so nothing is done, and nothing undone.
func TestAHeartbeatThatTheCacheLacksPreventsTheDeclaration(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 3, "b": 3})
	w.run(grace)
	for i := range 3 {
		w.cut["a-"+strconv.Itoa(i)] = true
	}
	w.run(grace + 3*interval)
	require.True(t, w.unreachable("a-0"))
	w.bind("one", "b-0")
	for i := range 3 {
		w.unseen["b-"+strconv.Itoa(i)] = true
	}
	declared := 0
	w.refuse = func(task any) error {
		require.IsType(t, Declaration{}, task)
		declared++
		return nil
	}
	w.run(10 * time.Minute)
	require.Positive(t, declared)
	require.True(t, readyIs(w.clusters["b-0"], metav1.ConditionTrue))
	require.True(t, w.unreachable("a-0"), "a suspension would remove it")
}

// A standby knows what the leader knows. When it leads, it gives silent
// clusters another grace period to be heard.
func TestAStandbyWaitsAGracePeriodWhenItLeads(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 3})
	w.standby = true
	w.restart()
	w.bind("one", "a-0")
	w.cut["a-0"] = true
	w.run(10 * time.Minute)
	require.False(t, readyIs(w.clusters["a-0"], metav1.ConditionUnknown), "it writes nothing")
	w.core.Lead(w.now)
	w.run(grace - time.Second)
	require.True(t, readyIs(w.clusters["a-0"], metav1.ConditionUnknown))
	require.Empty(t, w.moves)
	w.run(3 * time.Second)
	require.Equal(t, []string{"one a-0 a-1"}, w.moves)
}

// A restart forgets nothing that the API server has, and moves no binding
// before its toleration ends.
func TestARestartLosesNothing(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 4})
	w.run(grace)
	w.bind("now", "a-0")
	w.bind("patient", "a-0", tolerate(TaintUnreachable, ptr.To[int64](120)))
	w.cut["a-0"] = true
	w.run(grace + 3*interval)
	require.Equal(t, []string{"now a-0 a-1"}, w.moves)
	added := w.clusters["a-0"].Spec.Taints[0].TimeAdded
	w.restart()
	w.run(added.Add(120 * time.Second).Sub(w.now))
	require.Len(t, w.moves, 1)
	w.run(3 * time.Second)
	require.Equal(t, []string{"now a-0 a-1", "patient a-0 a-2"}, w.moves)
	require.Equal(t, added, w.clusters["a-0"].Spec.Taints[0].TimeAdded)
	w.cut["a-0"] = false
	w.restart()
	w.run(2 * interval)
	require.False(t, w.unreachable("a-0"))
}

// An object is its UID: what is recreated under a name has nothing of the old
// one.
func TestARecreatedObjectIsAnother(t *testing.T) {
	w := newWorld(t, map[string]int{"a": 3})
	w.run(grace)
	w.taint("a-1", corev1.Taint{Key: "retired", Effect: corev1.TaintEffectNoExecute})
	w.bind("one", "a-1", tolerate("retired", ptr.To[int64](60)))
	w.change("one", func(spec *federation.BindingSpec) { spec.Clusters[0].BoundAt = nil })
	w.run(50 * time.Second)
	w.bindings["one"].UID = "uid-again"
	w.change("one", func(*federation.BindingSpec) {})
	w.run(50 * time.Second)
	w.change("one", func(spec *federation.BindingSpec) { spec.Tolerations[0].TolerationSeconds = nil })
	for _, uid := range []types.UID{"uid-first", "uid-second"} { // neither ever reports
		w.cut["a-0"] = true
		w.clusters["a-0"].UID, w.clusters["a-0"].Status = uid, federation.ClusterStatus{}
		w.show(w.clusters["a-0"])
		w.run(grace - interval)
		require.Zero(t, w.core.Silent(), "each has a grace period")
	}
	w.run(2 * interval)
	require.Equal(t, 1, w.core.Silent())
	require.Empty(t, w.moves)
	require.Len(t, w.core.placements, 1)
	w.core.ForgetBinding(w.now, types.NamespacedName{Namespace: "default", Name: "one"})
	for name := range w.clusters {
		w.core.ForgetCluster(w.now, name)
		_, watched := w.core.monitor.LastHeartbeat(name)
		require.False(t, watched)
	}
	require.Empty(t, w.core.load)
	require.Empty(t, w.core.bindings)
	require.Empty(t, w.core.placements)
	require.Zero(t, w.core.marks.Len())
}

// Clusters fall silent, are not ready, and return. Moves are refused, other
// clients put bindings on more clusters, and the program is restarted. No
// binding leaves a cluster that beats and is ready, and each leaves one that does
// not. All go to clusters that beat and are ready.
func TestRandomFailures(t *testing.T) {
	seed := time.Now().UnixNano()
	for range 10 {
		seed++
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { runRandomly(t, rand.New(rand.NewSource(seed))) })
	}
}

func runRandomly(t *testing.T, random *rand.Rand) {
	w := newWorld(t, map[string]int{"a": 8, "b": 8, "c": 8})
	w.run(grace)
	names := w.names()
	for i := range 100 {
		var to []string
		for _, n := range random.Perm(len(names))[:1+random.Intn(3)] {
			to = append(to, names[n])
		}
		w.bindAll("b"+strconv.Itoa(i), to)
	}
	added := 0
	addCluster := func() {
		name := "b" + strconv.Itoa(random.Intn(100))
		if cluster := names[random.Intn(len(names))]; !isOn(w.bindings[name], cluster) {
			added++
			w.change(name, func(spec *federation.BindingSpec) {
				spec.Clusters = append(spec.Clusters, w.target(cluster, 1))
			})
		}
	}
	size := func() (n int) {
		for _, b := range w.bindings {
			n += len(b.Spec.Clusters)
		}
		return n
	}
	started, bound := w.now, size()
	silence := func(name string) time.Duration { return w.now.Sub(w.clusters[name].Status.LastHeartbeatTime.Time) }
	w.refuse = func(task any) error {
		if random.Intn(3) == 0 {
			return errConflict
		}
		switch task := task.(type) {
		case Declaration:
			require.GreaterOrEqual(t, silence(task.Before.Name), grace, "declared too early")
		case Move:
			if !readyIs(w.clusters[task.From], metav1.ConditionFalse) {
				require.GreaterOrEqual(t, silence(task.From), grace, "it leaves a living cluster")
			}
			require.True(t, readyIs(w.clusters[task.To], metav1.ConditionTrue))
			most := grace + 2*time.Second
			require.Less(t, min(silence(task.To), w.now.Sub(started)), most, "it goes to a dead cluster")
			require.False(t, isOn(task.Before, task.To), "it is there already")
			requireMoved(t, task)
		}
		return nil
	}
	for range 15 {
		for range random.Intn(3) {
			fault := []map[string]bool{w.cut, w.cut, w.ill}[random.Intn(3)]
			if name := names[random.Intn(len(names))]; fault[name] || w.failed() < 4 {
				fault[name] = !fault[name]
			}
		}
		if random.Intn(6) == 0 {
			started = w.now
			w.restart()
		}
		addCluster()
		w.run(time.Duration(5+random.Intn(60)) * time.Second)
	}
	w.refuse = nil
	w.run(5 * time.Minute)
	require.Positive(t, added)
	require.Equal(t, bound+added, size(), "no binding has more or fewer clusters than it was given")
	for _, b := range w.bindings {
		for _, on := range b.Spec.Clusters {
			require.False(t, w.cut[on.Name] || w.ill[on.Name], "%s is left on %s", b.Name, on.Name)
		}
	}
	for name := range w.clusters {
		require.Equal(t, w.cut[name], w.unreachable(name), name)
		require.Equal(t, w.ill[name] && !w.cut[name], w.tainted(name, TaintNotReady), name)
	}
}

// failed returns how many clusters are silent or not ready.
func (w *world) failed() (n int) {
	for name := range w.clusters {
		if w.cut[name] || w.ill[name] {
			n++
		}
	}
	return n
}

func TestConfigNamesAllProblems(t *testing.T) {
	require.NoError(t, Config{}.Validate())
	_, err := NewCore(Config{GracePeriod: time.Second, HeartbeatInterval: time.Minute, TaintRate: -1, MoveRate: -2}, noon)
	require.ErrorIs(t, err, ErrInvalidConfig)
	for _, problem := range []string{
		"HeartbeatInterval is 1m0s, want at most half of GracePeriod, 1s", "TaintRate is -1", "MoveRate is -2",
	} {
		require.ErrorContains(t, err, problem)
	}
	_, err = NewCore(Config{GracePeriod: -1}, noon)
	require.ErrorContains(t, err, "GracePeriod is -1ns, want at least 0")
	_, err = NewCore(Config{}, time.Time{})
	require.Error(t, err)
}
