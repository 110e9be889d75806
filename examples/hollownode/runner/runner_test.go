package runner

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/edge"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
	"github.com/kubelife/lifecycle/nodehealth/heartbeat"
)

// world is a cluster in memory with fleets that come and go.
type world struct {
	*testing.T
	*memory.Cluster
	// client is that of the fleets.
	client *memory.Client

	mu       sync.Mutex
	problems []string
	failures []error
}

func newWorld(t *testing.T) *world {
	cluster := memory.NewCluster()
	return &world{T: t, Cluster: cluster, client: cluster.NewClient()}
}

func named(names ...string) []*corev1.Node {
	var nodes []*corev1.Node
	for _, name := range names {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return nodes
}

// start runs a fleet until stop is called.
func (w *world) start(change func(*Config)) (r *Runner, stop func()) {
	w.Helper()
	config := Config{
		Acting: w.client, Watching: w.client, Beating: w.client, Fleet: "test",
		Problem: func(object metav1.Object, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.problems = append(w.problems, object.GetName()+": "+err.Error())
		},
		Performed: func(_ context.Context, _ kubelet.Task, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if err != nil {
				w.failures = append(w.failures, err)
			}
		},
	}
	if change != nil {
		change(&config)
	}
	r, err := NewRunner(config)
	require.NoError(w, err)
	ctx, cancel := context.WithCancel(w.Context())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(w, r.Run(ctx)) })
	return r, func() {
		cancel()
		running.Wait()
	}
}

func (w *world) addPod(name, node string, annotations map[string]string) *corev1.Pod {
	w.Helper()
	pod, err := w.CoreV1().Pods("ns").Create(w.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "image"}},
			TerminationGracePeriodSeconds: ptr.To(int64(30)),
		},
	}, metav1.CreateOptions{})
	require.NoError(w, err)
	return pod
}

func (w *world) pod(name string) *corev1.Pod {
	w.Helper()
	pod, err := w.CoreV1().Pods("ns").Get(w.Context(), name, metav1.GetOptions{})
	require.NoError(w, err)
	return pod
}

// ready returns phase, readiness and restarts of a pod in a line.
func (w *world) ready(name string) string {
	w.Helper()
	pod := w.pod(name)
	line := string(pod.Status.Phase)
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			line += " ready"
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		line += fmt.Sprint(" ", c.RestartCount)
	}
	return line
}

func (w *world) node(name string) *corev1.Node {
	w.Helper()
	node, err := w.CoreV1().Nodes().Get(w.Context(), name, metav1.GetOptions{})
	require.NoError(w, err)
	return node
}

// annotate sets an annotation of a node, in the domain.
func (w *world) annotate(node, name, value string) {
	w.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, cri.AnnotationDomain+"/"+name, value)
	_, err := w.CoreV1().Nodes().Patch(w.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(w, err)
}

func (w *world) annotatePod(pod, name, value string) {
	w.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, cri.AnnotationDomain+"/"+name, value)
	_, err := w.CoreV1().Pods("ns").Patch(w.Context(), pod, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(w, err)
}

// requests returns how many requests of a kind the fleets have sent.
func (w *world) requests(request string) (n int) {
	for r, count := range w.client.Requests() {
		if r.String() == request {
			n += count
		}
	}
	return n
}

func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestPodsComeAndGoOnNodesThatRegister(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		nodes := named("a", "b")
		nodes[0].Labels = map[string]string{corev1.LabelTopologyZone: "z"}
		nodes[0].Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		_, stop := w.start(func(c *Config) { c.Register = nodes })
		defer stop()
		w.addPod("foreign", "elsewhere", nil)
		w.addPod("early", "a", nil)
		wait(time.Second)
		for _, name := range []string{"a", "b"} {
			node := w.node(name)
			require.Len(t, node.Status.Conditions, 4)
			assert.Equal(t, corev1.ConditionTrue, node.Status.Conditions[3].Status)
			assert.Equal(t, "110", node.Status.Allocatable.Pods().String())
			assert.Equal(t, "test", node.Labels[Label])
			lease, err := w.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), name, metav1.GetOptions{})
			require.NoError(t, err)
			assert.WithinDuration(t, time.Now(), lease.Spec.RenewTime.Time, 2*time.Second)
		}
		assert.Equal(t, "z", w.node("a").Labels[corev1.LabelTopologyZone])
		assert.Equal(t, nodes[0].Spec.Taints, w.node("a").Spec.Taints)
		w.addPod("late", "b", nil)
		wait(time.Second)
		assert.Equal(t, "Running ready 0", w.ready("early"))
		assert.Equal(t, "Running ready 0", w.ready("late"))
		assert.Equal(t, "Pending", w.ready("foreign"), "it is of another kubelet")
		require.NoError(t, w.CoreV1().Pods("ns").Delete(t.Context(), "late", metav1.DeleteOptions{}))
		wait(time.Second)
		_, err := w.CoreV1().Pods("ns").Get(t.Context(), "late", metav1.GetOptions{})
		require.Error(t, err)
		assert.Equal(t, 1, w.requests("delete pods"))
		written := w.requests("patch pods/status")
		wait(time.Hour)
		assert.Equal(t, written, w.requests("patch pods/status"), "at rest no status is written")
		assert.Empty(t, w.failures)
	})
}

func TestThatAllNodesHaveRegisteredIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var told []int
		run := func(nodes ...string) {
			_, stop := w.start(func(c *Config) {
				c.Register, c.Registered = named(nodes...), func(created int) { told = append(told, created) }
			})
			wait(time.Minute)
			stop()
		}
		run("a", "b")
		run("a", "b", "c")
		run("a")
		run()
		assert.Equal(t, []int{2, 1, 0}, told)
	})
}

// The process ends without a word and starts again on what the API server has.
func TestARestartOfTheProcessRestartsAndWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		register := func(c *Config) { c.Register = named("a") }
		_, stop := w.start(register)
		w.addPod("runs", "a", nil)
		w.addPod("crashes", "a", map[string]string{cri.AnnotationDomain + "/run-time": "10s,1h"})
		w.addPod("ends", "a", map[string]string{cri.AnnotationDomain + "/stop-time": "20s"})
		wait(30 * time.Second)
		assert.Equal(t, "Running ready 1", w.ready("crashes"))
		require.NoError(t, w.CoreV1().Pods("ns").Delete(t.Context(), "ends", metav1.DeleteOptions{}))
		wait(time.Second)
		stop()
		written := w.requests("patch pods/status")
		var before []*corev1.Pod
		for _, name := range []string{"runs", "crashes"} {
			before = append(before, w.pod(name))
		}
		wait(10 * time.Second)
		_, stop = w.start(register)
		defer stop()
		wait(time.Second)
		for _, pod := range before {
			assert.Equal(t, pod.Status, w.pod(pod.Name).Status)
		}
		assert.Equal(t, written, w.requests("patch pods/status"))
		assert.Equal(t, 1, w.requests("create nodes"))
		wait(time.Minute)
		_, err := w.CoreV1().Pods("ns").Get(t.Context(), "ends", metav1.GetOptions{})
		require.Error(t, err, "its end goes on")
		w.addPod("new", "a", nil)
		wait(time.Second)
		assert.Equal(t, "Running ready 0", w.ready("new"))
		assert.NotEqual(t, w.pod("runs").Status.PodIP, w.pod("new").Status.PodIP)
	})
}

func TestFaultsAreAnnotations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, stop := w.start(func(c *Config) { c.Register = named("a") })
		defer stop()
		w.addPod("p", "a", nil)
		wait(20 * time.Second)
		lease := func() *metav1.MicroTime {
			lease, err := w.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), "a", metav1.GetOptions{})
			require.NoError(t, err)
			return lease.Spec.RenewTime
		}

		w.annotate("a", kubelet.AnnotationSilent, "")
		wait(time.Second)
		renewed := lease()
		w.addPod("unheard", "a", nil)
		wait(time.Minute)
		assert.Equal(t, renewed, lease())
		assert.Equal(t, "Pending", w.ready("unheard"))
		w.annotate("a", kubelet.AnnotationSilent, "false")
		wait(time.Second)
		assert.Equal(t, "Running ready 0", w.ready("unheard"))
		assert.WithinDuration(t, time.Now(), lease().Time, 2*time.Second, "it is renewed at once")

		w.annotate("a", kubelet.AnnotationRuntimeDown, "")
		wait(time.Minute)
		node := w.node("a")
		assert.Equal(t, "container runtime is down", node.Status.Conditions[3].Message)
		assert.WithinDuration(t, time.Now(), lease().Time, 15*time.Second, "the lease does not depend on the runtime")
		w.annotate("a", kubelet.AnnotationRuntimeDown, "false")
		wait(time.Minute)

		boot := node.Status.NodeInfo.BootID
		w.annotate("a", kubelet.AnnotationBoot, "2")
		wait(time.Second)
		assert.NotEqual(t, boot, w.node("a").Status.NodeInfo.BootID, "it is reported at once")
		assert.Equal(t, "Running ready 1", w.ready("p"))

		w.annotate("a", kubelet.AnnotationClockSkew, "-1h")
		wait(20 * time.Second)
		assert.WithinDuration(t, time.Now().Add(-time.Hour), lease().Time, 15*time.Second)

		w.annotatePod("p", cri.AnnotationCrash, "main:3")
		wait(15 * time.Second)
		pod := w.pod("p")
		assert.EqualValues(t, 3, pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode)
		assert.Equal(t, "Running ready 2", w.ready("p"))
		w.annotatePod("p", cri.AnnotationCrash, "main:3:again")
		wait(time.Minute)
		assert.Equal(t, "Running ready 3", w.ready("p"))

		assert.Empty(t, w.problems)
		w.annotate("a", kubelet.AnnotationAPIFailures, "2")
		w.annotatePod("p", cri.AnnotationCrash, "main:many")
		wait(time.Second)
		require.Len(t, w.problems, 2)
		problems := strings.Join(w.problems, "\n")
		assert.Contains(t, problems, "want a number from 0 to 1")
		assert.Contains(t, problems, `parsing "many"`)
	})
}

// Another client overwrites Ready as kube-controller-manager does.
func TestReadyThatAnotherClientOverwritesIsRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, stop := w.start(func(c *Config) { c.Register = named("a") })
		defer stop()
		w.addPod("p", "a", nil)
		wait(20 * time.Second)
		unknown := []byte(`{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`)
		_, err := w.CoreV1().Nodes().Patch(t.Context(), "a", types.StrategicMergePatchType, unknown, metav1.PatchOptions{},
			"status")
		require.NoError(t, err)
		_, err = w.CoreV1().Pods("ns").Patch(t.Context(), "p", types.StrategicMergePatchType, unknown,
			metav1.PatchOptions{}, "status")
		require.NoError(t, err)
		assert.Equal(t, "Running 0", w.ready("p"))
		wait(11 * time.Second)
		assert.Equal(t, "Running ready 0", w.ready("p"))
		assert.Equal(t, corev1.ConditionTrue, w.node("a").Status.Conditions[3].Status)
	})
}

// A node that another client has created is of the fleet by its label. One that
// leaves the fleet, or is created again, is another machine.
func TestANodeOfAnotherClientIsOfTheFleetByItsLabel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, stop := w.start(func(c *Config) { c.Register = named("foreign"); c.ListPods = true })
		defer stop()
		create := func(name string, labels map[string]string) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
			_, err := w.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		create("foreign", nil)
		w.addPod("p", "mine", nil)
		wait(time.Second)
		assert.Equal(t, "Pending", w.ready("p"))
		create("mine", map[string]string{Label: "test"})
		wait(time.Second)
		assert.Equal(t, "Running ready 0", w.ready("p"), "it was there before its node")
		assert.Len(t, w.node("mine").Status.Conditions, 4)
		assert.Zero(t, w.requests("list pods"))
		assert.Equal(t, 2, w.requests("watch pods"), "the informer and the kubelet have streaming lists")
		assert.Empty(t, w.node("foreign").Status.Conditions)
		require.NotEmpty(t, w.failures)
		require.ErrorIs(t, w.failures[0], edge.ErrForeignNode)

		require.NoError(t, w.CoreV1().Nodes().Delete(t.Context(), "mine", metav1.DeleteOptions{}))
		wait(time.Second)
		create("mine", map[string]string{Label: "test"})
		wait(time.Second)
		assert.Equal(t, "Running ready 1", w.ready("p"), "its containers were lost with the machine")
	})
}

func TestAHaltHoldsAlsoForAFleetThatActsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r, stop := w.start(func(c *Config) { c.Register = named("a") })
		defer stop()
		r.Halt()
		w.addPod("p", "a", nil)
		wait(time.Second)
		require.NoError(t, w.CoreV1().Pods("ns").Delete(t.Context(), "p", metav1.DeleteOptions{}))
		wait(time.Minute)
		assert.Equal(t, "Succeeded 0", w.ready("p"))
		r.Resume()
		wait(time.Second)
		_, err := w.CoreV1().Pods("ns").Get(t.Context(), "p", metav1.GetOptions{})
		require.Error(t, err)
	})
}

// A fleet that nothing happens to costs its heartbeats and no more.
func TestAnIdleFleetOnlyBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprint("node-", i))
		}
		_, stop := w.start(func(c *Config) { c.Register = named(names...) })
		defer stop()
		for i := range 100 {
			w.addPod(fmt.Sprint("pod-", i), names[i%20], nil)
		}
		wait(time.Minute)
		before := w.client.Requests()
		wait(10 * time.Minute)
		after := w.client.Requests()
		maps.DeleteFunc(after, func(r memory.Request, n int) bool { return before[r] == n || r.Verb == "watch" })
		for r, n := range after {
			switch r.String() {
			case "update leases":
				assert.InDelta(t, 20*59, n-before[r], 40)
			case "patch nodes/status":
				assert.InDelta(t, 40, n-before[r], 20, "each 5 min")
			default:
				t.Errorf("%d times %s", n-before[r], r)
			}
		}
	})
}

func TestARunnerNamesAllThatIsWrong(t *testing.T) {
	_, err := NewRunner(Config{
		Fleet: "not a label", Workers: -1, Timeout: -1, Register: named("", "a", "a"),
		Heartbeat: heartbeat.Config{LeaseDuration: -1}, StaticPods: []*corev1.Pod{{}},
	})
	require.ErrorIs(t, err, ErrInvalidConfig)
	for _, want := range []string{
		"Acting is nil", "Watching is nil", "Beating is nil", `Fleet is "not a label"`, "Workers is -1", "Timeout is -1ns",
		"Register[0] has no name", `Register[2] has the name "a"`,
		"Heartbeat: ", "LeaseDuration is -1ns", `StaticPods: static pod 0: metadata.name is ""`,
	} {
		require.ErrorContains(t, err, want)
	}
	r := &Runner{}
	assert.False(t, r.View(func(*kubelet.Fleet) { t.Error("there is no fleet") }))
}
