package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
)

// The cluster of TestSchedulerPlacesPods: 100 nodes of 4 CPUs each, of which 49
// take pods without tolerations.
const (
	dedicatedNodes, maintainedNodes, cordonedNodes = 10, 5, 3 // of zone a

	tolerantPods, keptPods, freePods = 30, 455, 470 // of 200m CPU each
	highPods                         = 45           // of 1 CPU each
	keptAllowed                      = 10           // by the PodDisruptionBudget of the kept ones
	preemptionsASecond               = 25
)

// dedicated is the key of a NoSchedule taint that few pods tolerate.
const dedicated = "example.com/dedicated"

// TestSchedulerPlacesPods: 1,000 pods over 100 nodes, with taints and one zone
// that has fallen silent and is not declared. No pod lands where it must not
// be. Important pods displace others within the budget of a second, through the
// Eviction API alone, and no more than a PodDisruptionBudget allows.
func TestSchedulerPlacesPods(t *testing.T) {
	c := newClusterWith(t, controlplane.Config{}, interval, map[string]int{"a": 34, "b": 33, "c": 33})
	c.eventually("all nodes report", func(w *witness) error {
		return w.each(c.fleet.AllNodes(), func(n *nodeSeen) error { return n.wantReady("True") })
	})
	c.openNodes(c.fleet.AllNodes())
	a := c.fleet.Nodes("a")
	tainted, maintained := a[:dedicatedNodes], a[dedicatedNodes:dedicatedNodes+maintainedNodes]
	cordoned := a[dedicatedNodes+maintainedNodes:][:cordonedNodes]
	c.patchNodes(tainted, fmt.Sprintf(`{"spec":{"taints":[{"key":%q,"effect":"NoSchedule"}]}}`, dedicated))
	c.patchNodes(maintained, `{"spec":{"taints":[{"key":"example.com/maintenance","effect":"NoExecute"}]}}`)
	c.patchNodes(cordoned, `{"spec":{"unschedulable":true}}`)
	c.addPriorities()

	running := c.launchScheduler(fmt.Sprintf("--budget-overall=%d", preemptionsASecond))
	c.fleet.Cut(c.fleet.Nodes("c")...)
	t.Log("waiting until zone c is silent for the scheduler")
	time.Sleep(schedulerSilence + 2*interval)

	low := slices.Concat(
		manyPods("tolerant", tolerantPods, "200m", func(pod *corev1.Pod) {
			pod.Spec.Tolerations = []corev1.Toleration{{Key: dedicated, Operator: corev1.TolerationOpExists}}
		}),
		manyPods("kept", keptPods, "200m", func(pod *corev1.Pod) { pod.Labels = map[string]string{"kept": "yes"} }),
		manyPods("free", freePods, "200m", nil),
	)
	began := time.Now()
	c.create(low)
	c.within(2*time.Minute, "all low pods are bound", func(*witness) error { return c.wantAllBound("low") })
	t.Logf("%d pods were bound in %v", len(low), time.Since(began).Round(time.Millisecond))
	forbidden := map[string]string{} // by node, why
	for _, node := range c.fleet.Nodes("c") {
		forbidden[node] = "its zone is silent"
	}
	for _, node := range maintained {
		forbidden[node] = "it is maintained"
	}
	for _, node := range cordoned {
		forbidden[node] = "it is cordoned"
	}
	c.wantPlaced(forbidden, tainted)

	c.reportRunning("kept")
	c.allowDisruptions("kept", keptPods, keptAllowed)
	preempting := time.Now()
	c.create(manyPods("high", highPods, "1", func(pod *corev1.Pod) { pod.Spec.PriorityClassName = "high" }))
	c.within(2*time.Minute, "all important pods are bound", func(*witness) error { return c.wantAllBound("high") })
	t.Logf("%d important pods were bound in %v", highPods, time.Since(preempting).Round(time.Millisecond))
	c.wantPlaced(forbidden, tainted)
	c.wantPreempted(preempting)
	c.stop(running)
	c.wantBoundOnce()
}

// TestSchedulerTakesOver: the leader is killed while it binds and preempts. The
// other replica goes on: no pod is lost, and no node gets more than it has.
func TestSchedulerTakesOver(t *testing.T) {
	c := newClusterWith(t, controlplane.Config{}, interval, map[string]int{"a": 30})
	c.eventually("all nodes report", func(w *witness) error {
		return w.each(c.fleet.AllNodes(), func(n *nodeSeen) error { return n.wantReady("True") })
	})
	c.openNodes(c.fleet.AllNodes())
	c.addPriorities()
	election := []string{
		"--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms",
		"--node-blind-after=4s", "--kube-api-qps=50", "--kube-api-burst=10", "--budget-overall=10",
	}
	first := c.launchScheduler(election...)
	c.eventually("it leads", func(*witness) error { return c.wantLeader("scheduler") })
	second := c.launchScheduler(election...)

	c.create(manyPods("low", 590, "200m", nil)) // of 600 places
	c.eventually("it is in the middle of them", func(*witness) error { return c.wantSomeBound("low", 100) })
	first.Kill()
	require.Error(t, c.wantAllBound("low"))
	c.eventually("all are bound", func(*witness) error { return c.wantAllBound("low") })

	third := c.launchScheduler(election...)
	c.create(manyPods("high", 20, "1", func(pod *corev1.Pod) { pod.Spec.PriorityClassName = "high" }))
	c.eventually("some make room", func(*witness) error { return c.wantSomeBound("high", 1) })
	second.Kill()
	require.Error(t, c.wantAllBound("high"))
	c.eventually("all important ones are bound", func(*witness) error { return c.wantAllBound("high") })
	c.wantPlaced(nil, nil)
	c.stop(third)
	bound := map[string]int{}
	for _, request := range c.requests(controlplane.Filter{UserAgent: "scheduler", Resource: "pods/binding"}) {
		if request.Code == http.StatusCreated {
			bound[request.Name]++
		}
	}
	require.Len(t, bound, 610)
	for name, n := range bound {
		require.Equal(t, 1, n, name)
	}
}

// wantLeader wants that a program's lease is held.
func (c *cluster) wantLeader(program string) error {
	lease, err := c.client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(c.t.Context(), program, metav1.GetOptions{})
	if err == nil && (lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "") {
		err = errors.New("the lease has no holder")
	}
	return err
}

// wantSomeBound wants that so many pods of a priority class have a node.
func (c *cluster) wantSomeBound(class string, n int) error {
	bound := 0
	for _, pod := range c.allPods() {
		if pod.Spec.PriorityClassName == class && pod.Spec.NodeName != "" {
			bound++
		}
	}
	if bound < n {
		return fmt.Errorf("%d pods have a node", bound)
	}
	return nil
}

// schedulerSilence is how long a node may be silent and still get pods.
const schedulerSilence = 2*interval + time.Second

// launchScheduler starts the scheduler and waits until its caches have synced.
func (c *cluster) launchScheduler(flags ...string) *controller {
	c.t.Helper()
	running := c.launchProgram("scheduler", c.plane.Kubeconfig(), schedulerFlags(flags...)...)
	c.eventually("the scheduler is ready", func(*witness) error { return running.answers("/readyz") })
	return running
}

// schedulerFlags make the scheduler as fast as the fleet.
func schedulerFlags(flags ...string) []string {
	return append([]string{
		"--node-heartbeat-interval=" + interval.String(), "--node-silent-after=" + schedulerSilence.String(),
		"--kube-api-qps=500", "--kube-api-burst=500",
	}, flags...)
}

// openNodes removes the taint that the API server gives each new node, as
// kube-controller-manager does.
func (c *cluster) openNodes(nodes []string) { c.patchNodes(nodes, `{"spec":{"taints":null}}`) }

func (c *cluster) patchNodes(nodes []string, patch string) {
	c.t.Helper()
	c.many(nodes, func(ctx context.Context, name string) error {
		_, err := c.client.CoreV1().Nodes().
			Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
}

// many does something for each name, 16 at a time.
func (c *cluster) many(names []string, do func(ctx context.Context, name string) error) {
	c.t.Helper()
	group, ctx := errgroup.WithContext(c.t.Context())
	group.SetLimit(16)
	for _, name := range names {
		group.Go(func() error { return do(ctx, name) })
	}
	require.NoError(c.t, group.Wait())
}

// addPriorities creates the classes low, which is the default, and high.
func (c *cluster) addPriorities() {
	c.t.Helper()
	for name, value := range map[string]int32{"low": -10, "high": 1000} {
		_, err := c.client.SchedulingV1().PriorityClasses().Create(c.t.Context(), &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, GlobalDefault: name == "low",
		}, metav1.CreateOptions{})
		require.NoError(c.t, err)
	}
}

// manyPods returns pods for the scheduler. The kind begins their names.
func manyPods(kind string, n int, cpu string, shape func(*corev1.Pod)) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range n {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%04d", kind, i)},
			Spec: corev1.PodSpec{
				SchedulerName: "lifecycle-scheduler",
				Containers: []corev1.Container{{
					Name: "work", Image: "example.invalid/work", Resources: corev1.ResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
					},
				}},
			},
		}
		if shape != nil {
			shape(pod)
		}
		pods = append(pods, pod)
	}
	return pods
}

func (c *cluster) create(pods []*corev1.Pod) {
	c.t.Helper()
	named := map[string]*corev1.Pod{}
	var names []string
	for _, pod := range pods {
		named[pod.Name] = pod
		names = append(names, pod.Name)
	}
	c.many(names, func(ctx context.Context, name string) error {
		_, err := c.client.CoreV1().Pods(fleet.Namespace).Create(ctx, named[name], metav1.CreateOptions{})
		return err
	})
}

func (c *cluster) allPods() []corev1.Pod {
	c.t.Helper()
	pods, err := c.client.CoreV1().Pods(fleet.Namespace).List(c.t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	require.NoError(c.t, err)
	return pods.Items
}

// wantAllBound wants that each pod of a priority class has a node.
func (c *cluster) wantAllBound(class string) error {
	var waiting []string
	for _, pod := range c.allPods() {
		if pod.Spec.PriorityClassName == class && pod.Spec.NodeName == "" {
			waiting = append(waiting, pod.Name)
		}
	}
	if len(waiting) > 0 {
		return fmt.Errorf("%d pods have no node, %s for example", len(waiting), waiting[0])
	}
	return nil
}

// wantPlaced wants that no pod is where it must not be, and that no node holds
// more than it has.
func (c *cluster) wantPlaced(forbidden map[string]string, tainted []string) {
	c.t.Helper()
	taken := map[string]*resource.Quantity{}
	for _, pod := range c.allPods() {
		node := pod.Spec.NodeName
		if node == "" {
			continue
		}
		if why, is := forbidden[node]; is {
			c.t.Errorf("%s is on %s: %s", pod.Name, node, why)
		}
		if slices.Contains(tainted, node) && !strings.HasPrefix(pod.Name, "tolerant-") {
			c.t.Errorf("%s is on %s, whose taint it does not tolerate", pod.Name, node)
		}
		if taken[node] == nil {
			taken[node] = &resource.Quantity{}
		}
		taken[node].Add(*pod.Spec.Containers[0].Resources.Requests.Cpu())
	}
	for node, cpu := range taken {
		require.LessOrEqual(c.t, cpu.MilliValue(), int64(4000), "CPU of %s", node)
	}
	c.t.Logf("%d nodes have pods", len(taken))
}

// reportRunning says that the bound pods of a kind run, as kubelets do. A
// budget protects no pod that has not begun to run.
func (c *cluster) reportRunning(kind string) {
	c.t.Helper()
	var names []string
	for _, pod := range c.allPods() {
		if strings.HasPrefix(pod.Name, kind+"-") {
			names = append(names, pod.Name)
		}
	}
	status := []byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
	c.many(names, func(ctx context.Context, name string) error {
		_, err := c.client.CoreV1().Pods(fleet.Namespace).
			Patch(ctx, name, types.StrategicMergePatchType, status, metav1.PatchOptions{}, "status")
		return err
	})
}

// allowDisruptions gives the pods with a label a PodDisruptionBudget that
// allows so many evictions and then none: no disruption controller runs that
// would allow others.
func (c *cluster) allowDisruptions(label string, pods, allowed int32) {
	c.t.Helper()
	least, budgets := intstr.FromInt32(pods-allowed), c.client.PolicyV1().PodDisruptionBudgets(fleet.Namespace)
	budget, err := budgets.Create(c.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: label},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{label: "yes"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(c.t, err)
	budget.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: budget.Generation, DisruptionsAllowed: allowed,
		ExpectedPods: pods, CurrentHealthy: pods, DesiredHealthy: pods - allowed,
	}
	_, err = budgets.UpdateStatus(c.t.Context(), budget, metav1.UpdateOptions{})
	require.NoError(c.t, err)
}

// wantPreempted requires that the pods which are gone were evicted, at the rate
// of the flags. Of the kept ones no more may be gone than their budget allowed.
func (c *cluster) wantPreempted(since time.Time) {
	c.t.Helper()
	var left []string
	for _, pod := range c.allPods() {
		if pod.DeletionTimestamp == nil {
			left = append(left, pod.Name)
		}
	}
	var evicted []time.Time
	kept := 0
	evictions := controlplane.Filter{UserAgent: "scheduler", Resource: "pods/eviction", Since: since}
	for _, request := range c.requests(evictions) {
		if request.Code != http.StatusCreated {
			continue
		}
		evicted = append(evicted, request.Answered)
		require.NotContains(c.t, left, request.Name)
		if strings.HasPrefix(request.Name, "kept-") {
			kept++
		}
	}
	require.Len(c.t, left, tolerantPods+keptPods+freePods+highPods-len(evicted), "a pod is gone that was not evicted")
	require.Greater(c.t, len(evicted), highPods)
	require.LessOrEqual(c.t, kept, keptAllowed)
	require.Empty(c.t, c.requests(controlplane.Filter{UserAgent: "scheduler", Verb: "delete", Resource: "*"}))
	slices.SortFunc(evicted, time.Time.Compare)
	for i, at := range evicted {
		// A request may be answered a little late, and the next at once.
		within := slices.IndexFunc(evicted, func(first time.Time) bool { return at.Sub(first) < time.Second })
		require.LessOrEqual(c.t, i-within+1, preemptionsASecond*3/2, "evictions in the second before %v", at)
	}
	took := evicted[len(evicted)-1].Sub(evicted[0])
	require.LessOrEqual(c.t, float64(len(evicted)), preemptionsASecond*(took.Seconds()+1)+1, "evictions in %v", took)
	c.t.Logf("%d pods made room in %v, %d of them under a PodDisruptionBudget that allowed %d",
		len(evicted), took.Round(time.Millisecond), kept, keptAllowed)
}

// wantBoundOnce wants that the scheduler asked once for each binding, and wrote
// no others.
func (c *cluster) wantBoundOnce() {
	c.t.Helper()
	times := map[string]int{}
	for _, request := range c.requests(controlplane.Filter{UserAgent: "scheduler", Resource: "pods/binding"}) {
		require.Equal(c.t, http.StatusCreated, request.Code, request.Object())
		times[request.Name]++
	}
	require.Len(c.t, times, tolerantPods+keptPods+freePods+highPods)
	for name, n := range times {
		require.Equal(c.t, 1, n, name)
	}
}

func (c *cluster) requests(filter controlplane.Filter) []controlplane.Request {
	c.t.Helper()
	requests, err := c.plane.Requests(context.Background(), filter)
	require.NoError(c.t, err)
	return requests
}
