package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	nodeCPU                          = 4000 // in thousandths
)

// dedicated is the key of a NoSchedule taint that few pods tolerate.
const dedicated = "example.com/dedicated"

// Why a pod must not be on a node.
const (
	silentZone = "its zone is silent"
	maintained = "it is maintained"
	isCordoned = "it is cordoned"
	isTainted  = "its taint is not tolerated"
)

// A placer is a scheduler that gets the 1,000 pods.
type placer struct {
	title, agent, schedulerName string
	// cordons says that an administrator has cordoned the silent zone.
	cordons bool
	start   func(c *cluster) (stop func())
}

func placers() []placer {
	upstream := placer{
		title: "kube-scheduler v1.37.1", agent: "kube-scheduler", schedulerName: corev1.DefaultSchedulerName,
		start: func(c *cluster) func() {
			running := c.startUpstream(controlplane.KubeScheduler, "--kube-api-qps=500", "--kube-api-burst=500")
			return func() { running.Stop(10 * time.Second) }
		},
	}
	cordoned := upstream
	cordoned.title, cordoned.cordons = "kube-scheduler, the silent zone cordoned", true
	return []placer{{
		title: "examples/scheduler", agent: "scheduler", schedulerName: ourScheduler,
		start: func(c *cluster) func() {
			running := c.launchScheduler(fmt.Sprintf("--budget-overall=%d", preemptionsASecond))
			return func() { c.stop(running) }
		},
	}, upstream, cordoned}
}

// TestSchedulerPlacesPods: 1,000 pods over 100 nodes, with taints and one zone
// that has fallen silent and is not declared. Of examples/scheduler no pod
// lands where it must not be. Important pods displace others within the budget
// of a second, through the Eviction API alone, and no more than a
// PodDisruptionBudget allows. The disruption controller of
// kube-controller-manager keeps that budget. The same pods are given to
// kube-scheduler, and a table shows both.
func TestSchedulerPlacesPods(t *testing.T) {
	var all []*placement
	for _, p := range placers() {
		t.Run(p.title, func(t *testing.T) {
			w := newPlacement(t, p)
			w.play()
			all = append(all, w)
			if p.schedulerName == ourScheduler {
				w.want(w.landed)
				w.wantPreempted()
				w.wantBoundOnce()
			}
		})
	}
	t.Logf("where 1,000 pods land\n\n%s", placementTable(all))
}

// placement is a play of 1,000 pods, and its result.
type placement struct {
	*cluster
	placer

	wrong           map[string]string // by node, why no pod may be there
	dedicated       []string
	began, pressing time.Time // when the low pods were created, and the high ones

	landed            landing
	lowTook, highTook time.Duration
	evicted, deleted  []controlplane.Request
	keptLeft          int // pods under the budget
}

// newPlacement starts the cluster. Its zone c is silent, and a scheduler that
// counts heartbeats has noticed.
func newPlacement(t *testing.T, p placer) *placement {
	t.Helper()
	w := &placement{
		cluster: newClusterWith(t, controlplane.Config{}, interval, map[string]int{"a": 34, "b": 33, "c": 33}),
		placer:  p, wrong: map[string]string{},
	}
	w.eventually("all nodes report", func(seen *witness) error {
		return seen.each(w.fleet.AllNodes(), func(n *nodeSeen) error { return n.wantReady("True") })
	})
	w.openNodes(w.fleet.AllNodes())
	a := w.fleet.Nodes("a")
	w.dedicated = a[:dedicatedNodes]
	serviced := a[dedicatedNodes : dedicatedNodes+maintainedNodes]
	closed := a[dedicatedNodes+maintainedNodes:][:cordonedNodes]
	w.patchNodes(w.dedicated, fmt.Sprintf(`{"spec":{"taints":[{"key":%q,"effect":"NoSchedule"}]}}`, dedicated))
	w.patchNodes(serviced, `{"spec":{"taints":[{"key":"example.com/maintenance","effect":"NoExecute"}]}}`)
	if w.cordons {
		closed = slices.Concat(closed, w.fleet.Nodes("c"))
	}
	w.patchNodes(closed, `{"spec":{"unschedulable":true}}`)
	for why, nodes := range map[string][]string{
		maintained: serviced, isCordoned: closed,
	} {
		for _, node := range nodes {
			w.wrong[node] = why
		}
	}
	for _, node := range w.fleet.Nodes("c") {
		w.wrong[node] = silentZone
	}
	w.addPriorities()
	w.startUpstream(controlplane.KubeControllerManager, "--controllers=disruption-controller")
	return w
}

// play gives the scheduler the pods, and records the result.
func (w *placement) play() {
	stop := w.start(w.cluster)
	w.fleet.Cut(w.fleet.Nodes("c")...)
	w.t.Log("waiting until zone c is silent for the scheduler")
	time.Sleep(schedulerSilence + 2*interval)
	w.began = time.Now()
	w.create(scheduledBy(w.schedulerName, slices.Concat(
		manyPods("tolerant", tolerantPods, "200m", func(pod *corev1.Pod) {
			pod.Spec.Tolerations = []corev1.Toleration{{Key: dedicated, Operator: corev1.TolerationOpExists}}
		}),
		manyPods("kept", keptPods, "200m", func(pod *corev1.Pod) { pod.Labels = map[string]string{"kept": "yes"} }),
		manyPods("free", freePods, "200m", nil),
	)))
	w.within(2*time.Minute, "all low pods are bound", func(*witness) error { return w.wantAllBound("low") })
	w.lowTook = w.lastBinding().Sub(w.began)
	running := w.awaitRunning("kept", w.fleet.Nodes("c"))
	// Those that a scheduler has put into the silent zone do not run.
	w.guard("kept", keptPods-keptAllowed, max(0, running-keptPods+keptAllowed))

	w.pressing = time.Now()
	w.create(scheduledBy(w.schedulerName, manyPods("high", highPods, "1",
		func(pod *corev1.Pod) { pod.Spec.PriorityClassName = "high" })))
	w.within(2*time.Minute, "all important pods are bound", func(*witness) error { return w.wantAllBound("high") })
	w.highTook = w.lastBinding().Sub(w.pressing)
	w.landed = w.landing(w.wrong, w.dedicated)
	stop()
	w.evicted = w.accepted("create", "pods/eviction")
	w.deleted = w.accepted("delete", "pods")
	for _, pod := range w.allPods() {
		if strings.HasPrefix(pod.Name, "kept-") && pod.DeletionTimestamp == nil {
			w.keptLeft++
		}
	}
}

// accepted returns the requests of the scheduler that the API server accepted.
func (w *placement) accepted(verb, resource string) []controlplane.Request {
	w.t.Helper()
	return slices.DeleteFunc(w.requests(controlplane.Filter{UserAgent: w.agent, Verb: verb, Resource: resource}),
		func(r controlplane.Request) bool { return r.Code >= http.StatusMultipleChoices })
}

func (w *placement) lastBinding() time.Time {
	w.t.Helper()
	return slices.MaxFunc(w.accepted("create", "pods/binding"), func(a, b controlplane.Request) int {
		return a.Answered.Compare(b.Answered)
	}).Answered
}

// calls counts the scheduler's requests about pods and events since the first
// pod, watches and lists apart.
func (w *placement) calls() string {
	counts := map[string]int{}
	for _, r := range w.requests(controlplane.Filter{UserAgent: w.agent, Resource: "*", Since: w.began}) {
		name := strings.Trim(r.Resource+"/"+r.Subresource, "/")
		if (r.Resource == "pods" || r.Resource == "events") && r.Verb != "list" && r.Verb != "watch" {
			counts[r.Verb+" "+name]++
		}
	}
	var words []string
	for _, call := range slices.Sorted(maps.Keys(counts)) {
		words = append(words, fmt.Sprintf("%d %s", counts[call], call))
	}
	return strings.Join(words, ", ")
}

// placementTable shows where the pods of each scheduler landed, in Markdown.
func placementTable(all []*placement) string {
	var text strings.Builder
	row := func(title string, show func(w *placement) string) {
		fmt.Fprintf(&text, "| %s |", title)
		for _, w := range all {
			fmt.Fprintf(&text, " %s |", show(w))
		}
		text.WriteString("\n")
	}
	row("1,000 pods on 100 nodes", func(w *placement) string { return w.title })
	fmt.Fprintf(&text, "|%s\n", strings.Repeat(" --- |", len(all)+1))
	count := func(why string) func(*placement) string {
		return func(w *placement) string { return fmt.Sprint(len(w.landed.wrong[why])) }
	}
	row("955 pods bound after", func(w *placement) string { return inSeconds(w.lowTook) })
	row("45 important ones bound after", func(w *placement) string { return inSeconds(w.highTook) })
	row("on nodes of the silent zone", count(silentZone))
	row("on cordoned nodes, or whose taint they do not tolerate", func(w *placement) string {
		return fmt.Sprint(len(w.landed.wrong[maintained]) + len(w.landed.wrong[isCordoned]) +
			len(w.landed.wrong[isTainted]))
	})
	row("nodes with pods", func(w *placement) string { return fmt.Sprint(w.landed.nodes) })
	row("most CPU on a node of 4", func(w *placement) string { return fmt.Sprint(float64(w.landed.fullest) / 1000) })
	row("preempted by eviction, by deletion", func(w *placement) string {
		return fmt.Sprintf("%d, %d", len(w.evicted), len(w.deleted))
	})
	row("left of 455 pods whose PodDisruptionBudget keeps 445", func(w *placement) string {
		return fmt.Sprint(w.keptLeft)
	})
	row("API calls", (*placement).calls)
	return text.String()
}

func inSeconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// landing is where the pods of a namespace are.
type landing struct {
	wrong   map[string][]string // why a pod must not be where it is, and the pods
	fullest int64               // CPU requested on the fullest node, in thousandths
	nodes   int                 // that have pods
}

// landing looks where pods are. The nodes with a taint take tolerant pods only.
func (c *cluster) landing(forbidden map[string]string, tainted []string) landing {
	c.t.Helper()
	found, taken := landing{wrong: map[string][]string{}}, map[string]int64{}
	for _, pod := range c.allPods() {
		node := pod.Spec.NodeName
		if node == "" {
			continue
		}
		why := forbidden[node]
		if slices.Contains(tainted, node) && !strings.HasPrefix(pod.Name, "tolerant-") {
			why = isTainted
		}
		if why != "" {
			found.wrong[why] = append(found.wrong[why], pod.Name)
		}
		taken[node] += pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
		found.fullest = max(found.fullest, taken[node])
	}
	found.nodes = len(taken)
	return found
}

// want wants that no pod is where it must not be, and that no node holds more
// than it has.
func (c *cluster) want(found landing) {
	c.t.Helper()
	require.Empty(c.t, found.wrong)
	require.LessOrEqual(c.t, found.fullest, int64(nodeCPU))
}

// guard gives the pods with a label a PodDisruptionBudget of so many, and waits
// until the disruption controller allows the other disruptions.
func (c *cluster) guard(label string, least, allowed int) {
	c.t.Helper()
	budgets := c.client.PolicyV1().PodDisruptionBudgets(fleet.Namespace)
	_, err := budgets.Create(c.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: label},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(int32(least))),
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{label: "yes"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(c.t, err)
	c.eventually("the disruption controller has counted", func(*witness) error {
		budget, err := budgets.Get(c.t.Context(), label, metav1.GetOptions{})
		if err == nil && int(budget.Status.DisruptionsAllowed) != allowed {
			err = fmt.Errorf("the status is %+v", budget.Status)
		}
		return err
	})
}

// wantPreempted requires that the pods which are gone were evicted, at the rate
// of the flags. Of the kept ones no more may be gone than their budget allowed.
// None of them recovers, so those that are left are the fewest there ever were.
func (w *placement) wantPreempted() {
	w.t.Helper()
	left := map[string]bool{}
	for _, pod := range w.allPods() {
		if pod.DeletionTimestamp == nil {
			left[pod.Name] = true
		}
	}
	require.GreaterOrEqual(w.t, w.keptLeft, keptPods-keptAllowed)
	for _, request := range w.evicted {
		require.NotContains(w.t, left, request.Name)
	}
	require.Len(w.t, left, tolerantPods+keptPods+freePods+highPods-len(w.evicted),
		"a pod is gone that was not evicted")
	require.Greater(w.t, len(w.evicted), highPods)
	require.Empty(w.t, w.requests(controlplane.Filter{UserAgent: w.agent, Verb: "delete", Resource: "*"}))
	at := make([]time.Time, len(w.evicted))
	for i, request := range w.evicted {
		at[i] = request.Answered
	}
	slices.SortFunc(at, time.Time.Compare)
	for i, end := range at {
		// A request may be answered a little late, and the next at once.
		within := slices.IndexFunc(at, func(first time.Time) bool { return end.Sub(first) < time.Second })
		require.LessOrEqual(w.t, i-within+1, preemptionsASecond*3/2, "evictions in the second before %v", end)
	}
	took := at[len(at)-1].Sub(at[0])
	require.LessOrEqual(w.t, float64(len(at)), preemptionsASecond*(took.Seconds()+1)+1, "evictions in %v", took)
	w.t.Logf("%d pods made room in %v, %d of them under a PodDisruptionBudget that allowed %d",
		len(at), took.Round(time.Millisecond), keptPods-w.keptLeft, keptAllowed)
}

// wantBoundOnce wants that the scheduler asked once for each binding, and wrote
// no others.
func (w *placement) wantBoundOnce() {
	w.t.Helper()
	requests := w.requests(controlplane.Filter{UserAgent: w.agent, Resource: "pods/binding"})
	require.Len(w.t, requests, tolerantPods+keptPods+freePods+highPods)
	for name, n := range controlplane.CountBy(requests, controlplane.Request.Object) {
		require.Equal(w.t, 1, n, name)
	}
}

func (c *cluster) requests(filter controlplane.Filter) []controlplane.Request {
	c.t.Helper()
	requests, err := c.plane.Requests(context.Background(), filter)
	require.NoError(c.t, err)
	return requests
}
