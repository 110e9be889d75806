package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
)

// The times of a federation. Two hundred clusters cost the API server 67
// writes a second.
const (
	federationInterval = 3 * time.Second
	federationGrace    = 12 * time.Second
	unreachable        = "federation.example.com/unreachable"
	notReady           = "federation.example.com/not-ready"
)

// federated is clusters and bindings on a control plane, and the agents of
// the clusters.
type federated struct {
	*cluster

	rest *rest.RESTClient
	mu   sync.RWMutex
	cut  map[string]bool
	ill  map[string]bool // clusters whose agents say that they are not ready
}

// newFederation starts a control plane with so many clusters in each region,
// which send heartbeats until the test ends.
func newFederation(t *testing.T, regions map[string]int) *federated {
	t.Helper()
	plane := controlplane.ForTest(t, controlplane.Config{})
	client, err := kubernetes.NewForConfig(plane.RESTConfig())
	require.NoError(t, err)
	f := &federated{
		cluster: &cluster{t: t, plane: plane, client: client, witness: newWitness(client)},
		cut:     map[string]bool{}, ill: map[string]bool{},
	}
	scheme := runtime.NewScheme()
	require.NoError(t, federation.AddToScheme(scheme))
	config := plane.RESTConfig()
	config.APIPath, config.UserAgent = "/apis", "agents"
	config.GroupVersion = new(federation.GroupVersion())
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	f.rest, err = rest.RESTClientFor(config)
	require.NoError(t, err)
	f.apply("controllerruntime/federation/crds.yaml", federation.CRDs())
	f.eventually("the API server serves the new kinds", func(*witness) error {
		return errors.Join(f.list("clusters", new(federation.ClusterList)), f.list("bindings", new(federation.BindingList)))
	})
	var names []string
	for region, size := range regions {
		for i := range size {
			name := fmt.Sprintf("%s-%03d", region, i)
			names = append(names, name)
			require.NoError(t, f.create("clusters", "", &federation.Cluster{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: federation.ClusterSpec{Region: region},
			}))
		}
	}
	f.startAgents(names)
	return f
}

func (f *federated) create(resource, namespace string, object runtime.Object) error {
	return f.rest.Post().NamespaceIfScoped(namespace, namespace != "").Resource(resource).
		Body(object).Do(f.t.Context()).Error()
}

func (f *federated) list(resource string, into runtime.Object) error {
	return f.rest.Get().Resource(resource).Do(context.Background()).Into(into)
}

// startAgents sends a heartbeat of each cluster that is not cut off, once in an
// interval.
func (f *federated) startAgents(names []string) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		ticker := time.NewTicker(federationInterval)
		defer ticker.Stop()
		for {
			group, round := errgroup.WithContext(ctx)
			group.SetLimit(8)
			for _, name := range names {
				group.Go(func() error { return f.beat(round, name) })
			}
			if err := group.Wait(); err != nil && ctx.Err() == nil {
				done <- err
				return
			}
			select {
			case <-ctx.Done():
				done <- nil
				return
			case <-ticker.C:
			}
		}
	}()
	f.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			f.t.Error(err)
		}
	})
}

func (f *federated) beat(ctx context.Context, name string) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.cut[name] {
		return nil
	}
	now, status, reason := time.Now(), metav1.ConditionTrue, "AgentReady"
	if f.ill[name] {
		status, reason = metav1.ConditionFalse, "AgentNotReady"
	}
	patch, err := json.Marshal(map[string]any{"status": federation.ClusterStatus{
		LastHeartbeatTime: &metav1.MicroTime{Time: now},
		Conditions: []metav1.Condition{{
			Type: federation.ConditionReady, Status: status,
			LastTransitionTime: metav1.NewTime(now), Reason: reason,
		}},
	}})
	if err != nil {
		return err
	}
	return f.rest.Patch(types.MergePatchType).Resource("clusters").Name(name).SubResource("status").
		Body(patch).Do(ctx).Error()
}

// setCut cuts clusters off, or restores them.
func (f *federated) setCut(cut bool, names ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range names {
		f.cut[name] = cut
	}
}

// setIll makes the agent of a cluster say that it is not ready, or ready again.
func (f *federated) setIll(ill bool, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ill[name] = ill
}

// taint returns the only taint of a cluster.
func (f *federated) taint(name string) (corev1.Taint, error) {
	var c federation.Cluster
	if err := f.rest.Get().Resource("clusters").Name(name).Do(f.t.Context()).Into(&c); err != nil {
		return corev1.Taint{}, err
	}
	if len(c.Spec.Taints) != 1 {
		return corev1.Taint{}, fmt.Errorf("%s has the taints %v", name, c.Spec.Taints)
	}
	return c.Spec.Taints[0], nil
}

// bind puts a binding on clusters.
func (f *federated) bind(name string, to []string, tolerations ...corev1.Toleration) {
	f.t.Helper()
	require.NoError(f.t, f.tryToBind(name, to, tolerations...))
}

func (f *federated) tryToBind(name string, to []string, tolerations ...corev1.Toleration) error {
	spec := federation.BindingSpec{Tolerations: tolerations}
	for _, cluster := range to {
		spec.Clusters = append(spec.Clusters, federation.TargetCluster{Name: cluster, BoundAt: new(metav1.Now())})
	}
	return f.create("bindings", metav1.NamespaceDefault, &federation.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}, Spec: spec,
	})
}

// placed returns the clusters of each binding.
func (f *federated) placed() map[string][]string {
	f.t.Helper()
	var list federation.BindingList
	require.NoError(f.t, f.list("bindings", &list))
	placed := map[string][]string{}
	for _, b := range list.Items {
		for _, on := range b.Spec.Clusters {
			placed[b.Name] = append(placed[b.Name], on.Name)
		}
	}
	return placed
}

// wantUnreachable wants that the named clusters are Ready=Unknown with the
// taint, and that the others are Ready without it.
func (f *federated) wantUnreachable(names ...string) error {
	var list federation.ClusterList
	if err := f.list("clusters", &list); err != nil {
		return err
	}
	for _, c := range list.Items {
		want := metav1.ConditionTrue
		if slices.Contains(names, c.Name) {
			want = metav1.ConditionUnknown
		}
		if !meta.IsStatusConditionPresentAndEqual(c.Status.Conditions, federation.ConditionReady, want) {
			return fmt.Errorf("%s is not Ready=%s", c.Name, want)
		}
		tainted := slices.ContainsFunc(c.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == unreachable })
		if tainted != (want == metav1.ConditionUnknown) {
			return fmt.Errorf("%s is Ready=%s, and it is %t that it has the taint", c.Name, want, tainted)
		}
	}
	return nil
}

// launchFederated starts controllerruntime, and waits until it is ready.
func (f *federated) launchFederated(kubeconfig string, flags ...string) *controller {
	f.t.Helper()
	running, health := f.startFederated(kubeconfig, flags...)
	for _, path := range []string{"/healthz", "/readyz"} {
		f.eventually("controllerruntime answers "+path, func(*witness) error { return f.probe(health + path) })
	}
	return running
}

// startFederated starts controllerruntime, and returns where it answers probes.
func (f *federated) startFederated(kubeconfig string, flags ...string) (running *controller, probes string) {
	f.t.Helper()
	port, health, log := freePort(f.t), freePort(f.t), filepath.Join(f.t.TempDir(), "controllerruntime.log")
	process, err := controlplane.StartProcess(controlplane.Command{
		Path: program(f.t, "controllerruntime"),
		Args: append([]string{
			"--kubeconfig=" + kubeconfig,
			"--grace-period=" + federationGrace.String(), "--heartbeat-interval=" + federationInterval.String(),
			"--metrics-bind-address=127.0.0.1:" + port, "--health-probe-bind-address=127.0.0.1:" + health,
			"--taint-rate=5",
		}, flags...),
		Env:     f.env,
		LogFile: log,
	})
	require.NoError(f.t, err)
	f.t.Cleanup(func() {
		process.Stop(10 * time.Second)
		if f.t.Failed() {
			f.t.Logf("log of controllerruntime:\n%s", process.LogTail(60))
		}
	})
	return &controller{process, port, f.callerWith(f.plane.RESTConfig()), log}, "http://127.0.0.1:" + health
}

// successfulPatches counts the patches of each object that controllerruntime
// has sent and the API server has accepted.
func (f *federated) successfulPatches(resource string) map[string]int {
	f.t.Helper()
	requests, err := f.plane.Requests(f.t.Context(),
		controlplane.Filter{UserAgent: "controllerruntime", Verb: "patch", Resource: resource})
	require.NoError(f.t, err)
	return controlplane.CountBy(slices.DeleteFunc(requests,
		func(r controlplane.Request) bool { return r.Code != http.StatusOK }), controlplane.Request.Object)
}

// Of 200 clusters 20 fall silent: a whole region and some of another. Their
// bindings move, once each, to clusters that live and that they tolerate. One
// that is on two of them moves from both, and stays on a third that lives. The
// controller is killed in the middle, and nothing is lost. Bindings of living
// clusters stay, and clusters that return lose the taint.
func TestControllerruntimeMovesTheBindingsOfSilentClusters(t *testing.T) {
	t.Parallel()
	f := newFederation(t, map[string]int{"a": 70, "b": 60, "c": 60, "d": 10})
	var dead []string
	for i := range 10 {
		dead = append(dead, fmt.Sprintf("a-%03d", 7*i), fmt.Sprintf("d-%03d", i))
	}
	var list federation.ClusterList
	require.NoError(t, f.list("clusters", &list))
	require.Len(t, list.Items, 200)
	full := []byte(`{"spec":{"taints":[{"key":"full","effect":"NoSchedule"}]}}`)
	seconds := new(int64(20))
	for i := 0; i < len(dead); i += 2 {
		f.bind("spread-"+dead[i], []string{dead[i], fmt.Sprintf("c-%03d", i), dead[i+1]})
	}
	for _, c := range list.Items {
		f.bind("web-"+c.Name, []string{c.Name})
		f.bind("patient-"+c.Name, []string{c.Name},
			corev1.Toleration{Key: unreachable, Operator: corev1.TolerationOpExists, TolerationSeconds: seconds})
		if c.Spec.Region == "a" { // whose names come first
			require.NoError(t, f.rest.Patch(types.MergePatchType).Resource("clusters").Name(c.Name).
				Body(full).Do(t.Context()).Error())
		}
	}
	bound := f.placed()
	first := f.launchFederated(f.plane.Kubeconfig(), "--leader-elect=false", "--move-rate=2")
	f.eventually("all clusters are Ready", func(*witness) error { return f.wantUnreachable() })
	time.Sleep(federationGrace) // the regions are judged
	f.setCut(true, dead...)
	f.eventually("8 bindings have moved", func(*witness) error {
		return wantMoves(f.successfulPatches("bindings"), 8)
	})
	first.Kill()
	moved := sum(f.successfulPatches("bindings"))
	require.Less(t, moved, 60, "it was killed too late")
	second := f.launchFederated(f.plane.Kubeconfig(), "--leader-elect=false")
	f.within(2*patience, "all have moved", func(*witness) error { return wantMoves(f.successfulPatches("bindings"), 60) })
	f.eventually("20 clusters are unreachable", func(*witness) error { return f.wantUnreachable(dead...) })
	t.Logf("%d bindings moved before the controller was killed", moved)

	f.setCut(false, dead...)
	f.eventually("all clusters have returned", func(*witness) error { return f.wantUnreachable() })
	time.Sleep(2 * federationGrace)
	f.stop(second)
	load, left := map[string]int{}, map[string]int{}
	for binding, clusters := range f.placed() {
		require.Len(t, clusters, len(bound[binding]), binding)
		for i, on := range clusters {
			load[on]++
			was := bound[binding][i]
			if !slices.Contains(dead, was) {
				require.Equal(t, was, on, "%s moved from a living cluster", binding)
				continue
			}
			left[metav1.NamespaceDefault+"/"+binding]++
			require.NotContains(t, dead, on, "%s", binding)
			require.Contains(t, "bc", on[:1], "%s went to a full cluster", binding)
		}
	}
	for on, n := range load {
		require.LessOrEqual(t, n, 3, "bindings on %s: they are spread", on)
	}
	require.Equal(t, left, f.successfulPatches("bindings"), "each moved once from each")
	require.NoError(t, f.wantUnreachable())
}

func wantMoves(moved map[string]int, n int) error {
	if sum(moved) < n {
		return fmt.Errorf("%d of %d moves are done", sum(moved), n)
	}
	return nil
}

// sum returns how many requests there are for all objects together.
func sum(counts map[string]int) (n int) {
	for _, count := range counts {
		n += count
	}
	return n
}

// wantForbiddenTold wants that a controllerruntime without rights is not ready,
// says what it may not do, and ends in order.
func (f *federated) wantForbiddenTold() {
	f.t.Helper()
	jane, err := f.plane.UserConfig("jane")
	require.NoError(f.t, err)
	kubeconfig, err := f.plane.WriteKubeconfig(jane)
	require.NoError(f.t, err)
	running, probes := f.startFederated(kubeconfig)
	f.eventually("a controllerruntime without rights says so", func(*witness) error {
		for _, resource := range []string{"clusters", "bindings"} {
			if !strings.Contains(running.LogTail(500), resource+".federation.example.com is forbidden: User") {
				return fmt.Errorf("its log says nothing of %s", resource)
			}
		}
		return nil
	})
	require.Error(f.t, f.probe(probes+"/readyz"))
	require.NoError(f.t, f.probe(probes+"/healthz"))
	f.stop(running)
}

// wantEvent waits for an Event about an object.
func (f *federated) wantEvent(kind, name, reason, message string) {
	f.t.Helper()
	f.eventually(reason+" is recorded of "+name, func(*witness) error {
		events, err := f.client.CoreV1().Events(metav1.NamespaceDefault).List(f.t.Context(), metav1.ListOptions{
			FieldSelector: "involvedObject.kind=" + kind + ",involvedObject.name=" + name + ",reason=" + reason,
		})
		if err == nil && (len(events.Items) != 1 || !strings.HasPrefix(events.Items[0].Message, message)) {
			err = fmt.Errorf("%d Events", len(events.Items))
		}
		return err
	})
}

// What controllerruntime asks the API server for in its life its manifest
// permits, and the manifest permits nothing else.
func TestManifestOfControllerruntimeGivesTheLeastRights(t *testing.T) {
	t.Parallel()
	f := newFederation(t, map[string]int{"a": 4})
	f.bind("web", []string{"a-000", "a-001"})
	require.True(t, apierrors.IsInvalid(f.tryToBind("twice", []string{"a-000", "a-000"})), "it is on each cluster once")
	require.True(t, apierrors.IsInvalid(f.tryToBind("nowhere", nil)))
	f.applyManifest("controllerruntime")
	_, container := f.deployed("controllerruntime")
	require.Equal(t, []string{"--metrics-bind-address=:8443", "--health-probe-bind-address=:8081"}, container.Args)
	account, err := f.plane.ServiceAccountConfig(t.Context(), metav1.NamespaceSystem, "controllerruntime")
	require.NoError(t, err)
	kubeconfig, err := f.plane.WriteKubeconfig(account)
	require.NoError(t, err)
	f.wantForbiddenTold()
	running := f.launchFederated(kubeconfig)
	f.env = []string{"KUBE_FEATURE_WatchListClient=false"} // the standby lists
	standby := f.launchFederated(kubeconfig)
	f.eventually("all clusters are Ready", func(*witness) error { return f.wantUnreachable() })
	time.Sleep(federationGrace)

	f.setCut(true, "a-000")
	f.eventually("the binding has moved", func(*witness) error {
		if slices.Contains(f.placed()["web"], "a-000") {
			return errors.New("it has not")
		}
		return nil
	})
	require.Equal(t, "a-001", f.placed()["web"][1], "where it stays")
	f.eventually("the cluster is unreachable", func(*witness) error { return f.wantUnreachable("a-000") })
	f.wantEvent("Binding", "web", "Moved", "Moved from cluster a-000 to a-")
	f.wantEvent("Cluster", "a-000", "HeartbeatsStopped", "No heartbeat since ")
	f.haltTwice("controllerruntime")
	page := f.readPages(running, "controllerruntime", "/metrics")
	for want, caller := range map[int]*http.Client{
		http.StatusForbidden: f.account("stranger"), http.StatusUnauthorized: f.callerWith(&rest.Config{}),
	} {
		status, body, err := running.ask(caller, "/metrics")
		require.NoError(t, err)
		require.Equal(t, want, status, body)
	}
	for _, metric := range []string{
		`failover_tasks_total{kind="Move",outcome="Done"} 1`, "failover_clusters_silent 1", "controller_halted 0",
		`controller_runtime_reconcile_total{controller="cluster",result="success"}`, "rest_client_requests_total{",
		`workqueue_depth{controller="binding",`, `leader_election_master_status{name="controllerruntime"} 1`,
	} {
		require.Contains(t, page, metric)
	}
	f.stop(running)
	silent, err := f.taint("a-000")
	require.NoError(t, err)
	f.setIll(true, "a-000")
	f.setCut(false, "a-000")
	f.eventually("the standby replaces the taint", func(*witness) error {
		now, err := f.taint("a-000")
		if err == nil && now.Key != notReady {
			err = fmt.Errorf("it is %s", now.Key)
		}
		if err == nil {
			require.Equal(t, silent.TimeAdded, now.TimeAdded, "it was never well")
		}
		return err
	})
	f.setIll(false, "a-000")
	f.eventually("the standby removes the taint", func(*witness) error { return f.wantUnreachable() })
	f.stop(standby)
	f.wantLeastRights("controllerruntime")
}
