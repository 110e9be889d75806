package failover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
	"github.com/kubelife/lifecycle/examples/process/alerts"
	"github.com/kubelife/lifecycle/nodehealth"
	"github.com/kubelife/lifecycle/timedqueue"
)

// edge is a controller on controller-runtime's fake client, which is its cache
// too.
type edge struct {
	*Controller

	t        *testing.T
	client   client.WithWatch
	registry *prometheus.Registry
	events   chan string
}

func newEdge(t *testing.T, objects ...client.Object) *edge {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(federation.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)))
	e := &edge{t: t, registry: prometheus.NewRegistry()}
	e.client = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&federation.Cluster{}).
		WithObjects(objects...).Build()
	var err error
	e.Controller, err = NewController(config(), e.registry)
	require.NoError(t, err)
	e.cache, e.writer = e.client, e.client
	recorder := events.NewFakeRecorder(1000)
	e.recorder, e.events = recorder, recorder.Events
	e.stop = Stop{Lease: types.NamespacedName{Namespace: "kube-system", Name: "leader"}, Annotation: "example.com/halt"}
	return e
}

// start runs the controller until the test ends.
func (e *edge) start() {
	ctx, stop := context.WithCancel(e.t.Context())
	done := make(chan error)
	go func() { done <- e.lead(ctx) }()
	e.t.Cleanup(func() {
		stop()
		require.NoError(e.t, <-done)
	})
}

func (e *edge) cluster(name string) *federation.Cluster {
	c := new(federation.Cluster)
	require.NoError(e.t, e.client.Get(e.t.Context(), client.ObjectKey{Name: name}, c))
	return c
}

func (e *edge) binding(name string) *federation.Binding {
	b := new(federation.Binding)
	require.NoError(e.t, e.client.Get(e.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, b))
	return b
}

// beat sends a heartbeat, and has it reconciled.
func (e *edge) beat(name string) {
	c := e.cluster(name)
	c.Status = federation.ClusterStatus{
		LastHeartbeatTime: &metav1.MicroTime{Time: time.Now()},
		Conditions: []metav1.Condition{{
			Type: federation.ConditionReady, Status: metav1.ConditionTrue, Reason: "AgentReady",
		}},
	}
	require.NoError(e.t, e.client.Status().Update(e.t.Context(), c))
	e.reconcileCluster(name)
}

func (e *edge) reconcileCluster(name string) {
	_, err := e.clusters.Reconcile(e.t.Context(),
		reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
	require.NoError(e.t, err)
}

func (e *edge) reconcileBinding(name string) {
	_, err := e.bindings.Reconcile(e.t.Context(),
		reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: name}})
	require.NoError(e.t, err)
}

// annotate sets the annotation of the Lease that halts, or removes it, and has
// the Lease reconciled.
func (e *edge) annotate(annotations map[string]string) {
	lease := new(coordinationv1.Lease)
	require.NoError(e.t, e.client.Get(e.t.Context(), e.stop.Lease, lease))
	lease.Annotations = annotations
	require.NoError(e.t, e.client.Update(e.t.Context(), lease))
	_, err := e.reconcileLease(e.t.Context(), reconcile.Request{NamespacedName: e.stop.Lease})
	require.NoError(e.t, err)
}

// told returns the Events since the last call.
func (e *edge) told() (all []string) {
	for len(e.events) > 0 {
		all = append(all, <-e.events)
	}
	return all
}

// renew has the leader's Lease reconciled, which may have been renewed.
func (e *edge) renew(renewed bool) {
	lease := new(coordinationv1.Lease)
	require.NoError(e.t, e.client.Get(e.t.Context(), e.stop.Lease, lease))
	if renewed {
		lease.Spec.RenewTime = ptr.To(metav1.NowMicro())
		require.NoError(e.t, e.client.Update(e.t.Context(), lease))
	}
	_, err := e.reconcileLease(e.t.Context(), reconcile.Request{NamespacedName: e.stop.Lease})
	require.NoError(e.t, err)
}

func leaseNamed(name string, annotations map[string]string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, Annotations: annotations},
	}
}

// run lets the clusters beat for some time. What the controller has written is
// reconciled with the next beat.
func (e *edge) run(d time.Duration, silent string) {
	for range d / interval {
		time.Sleep(interval)
		var clusters federation.ClusterList
		require.NoError(e.t, e.client.List(e.t.Context(), &clusters))
		for _, c := range clusters.Items {
			if c.Name == silent {
				e.reconcileCluster(c.Name)
			} else {
				e.beat(c.Name)
			}
		}
		e.reconcileBinding("one")
		synctest.Wait()
	}
}

func threeClusters() []client.Object {
	objects := []client.Object{&federation.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one", UID: "uid-one"},
		Spec:       federation.BindingSpec{Clusters: []federation.TargetCluster{{Name: "a-0"}}},
	}}
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		objects = append(objects, clusterNamed(name))
	}
	return objects
}

func clusterNamed(name string) *federation.Cluster {
	return &federation.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Spec:       federation.ClusterSpec{Region: "a"},
	}
}

// The reconcilers observe and the dispatcher acts: a silent cluster is declared
// and tainted, its binding moves, and its return is seen.
func TestTheControllerMovesABindingAndUndoesTheTaint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEdge(t, threeClusters()...)
		e.start()
		synctest.Wait()
		require.Len(t, e.core.clusters, 3, "what the reconcilers may still be busy with")
		require.Len(t, e.core.bindings, 1)
		e.run(2*grace, "")
		require.Equal(t, []string{"a-0"}, clustersOf(e.binding("one")))
		require.Empty(t, e.told())
		last := e.cluster("a-0").Status.LastHeartbeatTime
		e.run(grace+3*interval, "a-0")
		require.Equal(t, []string{
			"Warning HeartbeatsStopped No heartbeat since " + last.UTC().Format(time.RFC3339),
			"Normal Moved Moved from cluster a-0 to a-1: Untolerated (taint " + TaintUnreachable + ":NoExecute)",
		}, e.told())
		silent := e.cluster("a-0")
		require.True(t, readyIs(silent, metav1.ConditionUnknown))
		require.Equal(t, TaintUnreachable, silent.Spec.Taints[0].Key)
		require.NotNil(t, silent.Spec.Taints[0].TimeAdded)
		require.Equal(t, []string{"a-1"}, clustersOf(e.binding("one")))
		require.NotNil(t, e.binding("one").Spec.Clusters[0].BoundAt)
		require.NoError(t, testutil.GatherAndCompare(e.registry, strings.NewReader(`
# HELP failover_clusters_silent Clusters whose grace period is over.
# TYPE failover_clusters_silent gauge
failover_clusters_silent 1
# HELP failover_bindings_waiting Moves of bindings that must happen, now or later: of each from each of its clusters.
# TYPE failover_bindings_waiting gauge
failover_bindings_waiting 0
# HELP failover_tasks_total Patches of clusters and bindings, by kind and outcome.
# TYPE failover_tasks_total counter
failover_tasks_total{kind="Declare",outcome="Done"} 1
failover_tasks_total{kind="Move",outcome="Done"} 1
failover_tasks_total{kind="Taint",outcome="Done"} 1
`), "failover_clusters_silent", "failover_bindings_waiting", "failover_tasks_total"))
		e.run(2*interval, "")
		require.Empty(t, e.cluster("a-0").Spec.Taints)
		require.NoError(t, e.answer())
	})
}

// Two clusters of a binding are tainted at once, and another client puts it on
// one more before the cache shows its first move. No change is lost.
func TestTheControllerMovesABindingFromTwoClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEdge(t, append(threeClusters(), clusterNamed("a-3"), clusterNamed("a-4"))...)
		change := func(edit func(*federation.BindingSpec)) {
			b := e.binding("one")
			edit(&b.Spec)
			require.NoError(t, e.client.Update(t.Context(), b))
		}
		change(func(spec *federation.BindingSpec) {
			spec.Clusters = []federation.TargetCluster{{Name: "a-0", Replicas: 5}, {Name: "a-1"}, {Name: "a-2"}}
		})
		e.start()
		e.run(2*grace, "")
		for _, name := range []string{"a-0", "a-1"} {
			c := e.cluster(name)
			c.Spec.Taints = []corev1.Taint{retired}
			require.NoError(t, e.client.Update(t.Context(), c))
		}
		change(func(spec *federation.BindingSpec) {
			spec.Clusters = append(spec.Clusters, federation.TargetCluster{Name: "a-4"})
		})
		e.reconcileCluster("a-0") // and not the binding, so that each first patch is refused
		e.reconcileCluster("a-1")
		synctest.Wait()
		require.Equal(t, []string{"a-0", "a-1", "a-2", "a-4"}, clustersOf(e.binding("one")))
		change(func(spec *federation.BindingSpec) { spec.Clusters = spec.Clusters[:3] })
		e.reconcileBinding("one")
		e.run(4*interval, "")
		require.ElementsMatch(t, []string{"a-3", "a-4", "a-2"}, clustersOf(e.binding("one")))
		require.Equal(t, "a-2", e.binding("one").Spec.Clusters[2].Name)
		require.Equal(t, int32(5), e.binding("one").Spec.Clusters[0].Replicas)
		require.InDelta(t, 2, testutil.ToFloat64(e.Controller.metrics.tasks.WithLabelValues("Move", "Done")), 0)
		require.InDelta(t, 2, testutil.ToFloat64(e.Controller.metrics.tasks.WithLabelValues("Move", "Failed")), 0)
	})
}

// A controller that finds its Lease annotated begins halted, and so does one
// whose Lease is annotated while it acts. Only a change is told.
func TestTheAnnotationOfTheLeaseHaltsTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		halt := map[string]string{"example.com/halt": "wrong regions"}
		e := newEdge(t, append(threeClusters(), leaseNamed("leader", halt), leaseNamed("other", nil))...)
		e.start()
		e.run(2*grace, "")
		e.run(2*grace, "a-0")
		require.True(t, readyIs(e.cluster("a-0"), metav1.ConditionUnknown))
		require.Empty(t, e.cluster("a-0").Spec.Taints)
		require.Equal(t, []string{"a-0"}, clustersOf(e.binding("one")))
		halted := func(value float64) string {
			return fmt.Sprintf("# HELP controller_halted 1 while an annotation of the leader's Lease holds moves and new "+
				"taints.\n# TYPE controller_halted gauge\ncontroller_halted %v\n", value)
		}
		require.NoError(t, testutil.GatherAndCompare(e.registry, strings.NewReader(halted(1)), "controller_halted"))
		require.Len(t, e.told(), 1, "the silence")

		e.annotate(nil)
		require.Equal(t, "Normal Resumed Its annotation example.com/halt is gone: what was held goes on", e.told()[0])
		require.NoError(t, testutil.GatherAndCompare(e.registry, strings.NewReader(halted(0)), "controller_halted"))
		e.run(2*interval, "a-0")
		require.NotEmpty(t, e.cluster("a-0").Spec.Taints)
		require.Equal(t, []string{"a-1"}, clustersOf(e.binding("one")))
		e.told()

		e.annotate(halt)
		e.annotate(halt)
		require.Equal(t, []string{"Warning Halted Halted by its annotation example.com/halt: wrong regions"}, e.told())
		add := Marking{
			Before: e.cluster("a-1"), After: e.cluster("a-1"),
			item: timedqueue.Item[string, mark]{Value: mark{adds: true}},
		}
		require.ErrorIs(t, e.taint(t.Context(), add).Err, errCanceled, "one that was handed out before")
		require.NoError(t, e.client.Delete(t.Context(), leaseNamed("leader", nil)))
		_, err := e.reconcileLease(t.Context(), reconcile.Request{NamespacedName: e.Controller.stop.Lease})
		require.NoError(t, err)
		require.True(t, e.core.Halted(), "a Lease that is gone says nothing")
	})
}

// A replica that does not lead follows the annotation, and tells nothing.
func TestAStandbyIsHaltedInSilence(t *testing.T) {
	e := newEdge(t, leaseNamed("leader", nil))
	e.annotate(map[string]string{"example.com/halt": ""})
	require.True(t, e.core.Halted())
	require.Empty(t, e.told())
}

// While nothing is heard silence does not count. The heartbeats of the other
// clusters show that something would be.
func TestSilenceDoesNotCountWhileNothingIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEdge(t, threeClusters()...)
		e.start()
		e.run(2*grace, "")
		time.Sleep(20 * grace)
		synctest.Wait()
		require.True(t, readyIs(e.cluster("a-0"), metav1.ConditionTrue))
		e.run(2*grace, "a-0")
		require.True(t, readyIs(e.cluster("a-0"), metav1.ConditionUnknown))
	})
}

// So do the renewals of the leader's Lease when all clusters are silent. That
// it is there does not.
func TestTheLeadersRenewalsShowThatClustersWouldBeHeard(t *testing.T) {
	for renews, status := range map[bool]metav1.ConditionStatus{
		false: metav1.ConditionTrue, true: metav1.ConditionUnknown,
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newEdge(t, append(threeClusters(), leaseNamed("leader", nil))...)
			e.start()
			e.run(2*grace, "")
			for range 2 * grace / (2 * time.Second) {
				time.Sleep(2 * time.Second)
				e.renew(renews)
				synctest.Wait()
			}
			require.True(t, readyIs(e.cluster("a-0"), status), "%v", renews)
		})
	}
}

// A patch of an object that has changed since is refused. One that is accepted
// changes nothing that the core still reads.
func TestEachPatchIsGuardedByTheObjectItWasComputedFrom(t *testing.T) {
	e := newEdge(t, threeClusters()...)
	cluster, binding := e.cluster("a-0"), e.binding("one")
	tainted := cluster.DeepCopy()
	tainted.Spec.Taints = []corev1.Taint{{Key: TaintUnreachable, Effect: corev1.TaintEffectNoExecute}}
	declaration := Declaration{Before: cluster, After: declared(cluster, noon, noon)}
	marking := Marking{Before: cluster, After: tainted}
	move := Move{Before: binding, After: moved(binding, "a-0", "a-1", noon)}
	e.beat("a-0")
	changed := binding.DeepCopy()
	changed.Labels = map[string]string{"changed": "yes"}
	require.NoError(t, e.client.Update(t.Context(), changed))

	require.True(t, apierrors.IsConflict(e.declare(t.Context(), declaration).Err))
	require.True(t, apierrors.IsConflict(e.taint(t.Context(), marking).Err))
	refused := e.move(t.Context(), move)
	require.Equal(t, eviction.OutcomeFailed, refused.Outcome)
	require.True(t, apierrors.IsConflict(refused.Err))

	declaration.Before = e.cluster("a-0")
	require.Equal(t, nodehealth.Result{Outcome: nodehealth.OutcomeDone}, e.declare(t.Context(), declaration))
	marking.Before = cluster.DeepCopy()
	marking.Before.ResourceVersion = e.cluster("a-0").ResourceVersion
	require.Equal(t, timedqueue.Result{Outcome: timedqueue.OutcomeDone}, e.taint(t.Context(), marking))
	move.Before = e.binding("one")
	move.After = moved(move.Before, "a-0", "a-1", noon)
	require.Equal(t, eviction.Result{Outcome: eviction.OutcomeEvicted}, e.move(t.Context(), move))
	require.Equal(t, TaintUnreachable, e.cluster("a-0").Spec.Taints[0].Key)
	require.True(t, readyIs(e.cluster("a-0"), metav1.ConditionUnknown))
	require.Equal(t, []string{"a-1"}, clustersOf(e.binding("one")))
	require.Equal(t, map[string]string{"changed": "yes"}, e.binding("one").Labels)
	require.Equal(t, []string{"a-0"}, clustersOf(binding))
}

// What is deleted is forgotten.
func TestDeletedObjectsAreForgotten(t *testing.T) {
	e := newEdge(t, threeClusters()...)
	e.reconcileCluster("a-0")
	e.reconcileBinding("one")
	require.Len(t, e.core.clusters, 1)
	require.NoError(t, e.client.Delete(t.Context(), e.cluster("a-0")))
	require.NoError(t, e.client.Delete(t.Context(), e.binding("one")))
	e.reconcileCluster("a-0")
	e.reconcileBinding("one")
	require.Empty(t, e.core.clusters)
	require.Empty(t, e.core.bindings)
}

// An alert rule for a metric that has another name never fires.
func TestAlertRulesNameMetricsThatAreServed(t *testing.T) {
	e := newEdge(t)
	served, err := e.registry.Gather()
	require.NoError(t, err)
	var names []string
	for _, family := range served {
		names = append(names, family.GetName())
	}
	selectors, err := alerts.Selectors("controllerruntime")
	require.NoError(t, err)
	for _, s := range selectors {
		require.Contains(t, names, s.Metric)
	}
}
