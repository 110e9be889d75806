package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/daemon/ownership"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/alerts"
	"github.com/kubelife/lifecycle/examples/process/programtest"
	"github.com/kubelife/lifecycle/examples/simulation/memory"
)

func TestMain(m *testing.M) {
	programtest.Main(m, func() { process.Main(onMemory) })
}

// onMemory is the program on a cluster in memory.
func onMemory(ctx context.Context, args []string, out, diagnostics io.Writer) int {
	var s settings
	c := command(&s)
	c.Run = func(ctx context.Context, _ *pflag.FlagSet, _ io.Writer) error {
		cluster := memory.NewCluster()
		if err := populate(ctx, cluster); err != nil {
			return err
		}
		return program(&s).RunOn(ctx, clientsOf(cluster.NewClient(), cluster))
	}
	return c.Execute(ctx, args, out, diagnostics)
}

// populate makes two nodes, a DaemonSet, and one that selects all pods.
func populate(ctx context.Context, cluster *memory.Cluster) error {
	for _, name := range []string{"ant", "bee"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := cluster.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for name, selector := range map[string]map[string]string{"agent": {"app": "agent"}, "greedy": nil} {
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: selector}
		set.Spec.Template.Labels = map[string]string{"app": name}
		if _, err := cluster.AppsV1().DaemonSets("shop").Create(ctx, set, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// The whole program as a process: it does its work, shows it, and SIGTERM ends
// it well.
func TestProgramWorksUntilItIsTerminated(t *testing.T) {
	port := programtest.FreePort(t)
	child := programtest.Start(t, "--secure-port="+port, "--v=2")
	require.Eventually(t, func() bool {
		metrics := programtest.Get(t, port, "/metrics")
		return strings.Contains(metrics, `daemonset_controller_tasks_total{kind="create",outcome="done"} 2`)
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, "ok", programtest.Get(t, port, "/readyz"))
	page := programtest.Get(t, port, "/daemonsets")
	require.Regexp(t, `shop/agent +managed +2 +2 `, page)
	require.Regexp(t, `shop/greedy +selectingAll .*selector is empty`, page)
	require.Contains(t, programtest.Get(t, port, "/daemonsets?set=shop/agent"), "NotAvailable")
	require.Contains(t, programtest.Get(t, port, "/daemonsets?set=shop/none"), "no such DaemonSet")
	metrics := programtest.Get(t, port, "/metrics")
	for _, want := range []string{
		`daemonset_controller_sets{phase="waiting"} 0`, `daemonset_controller_sets{phase="filling"} 0`,
		`daemonset_controller_sets{phase="managed"} 1`, `daemonset_controller_sets{phase="selectingAll"} 1`,
		`daemonset_controller_stale_sync_skips_total{group="apps",resource="controllerrevisions"} 0`,
		"daemonset_controller_tasks_under_way 0", "daemonset_controller_sets_waiting",
		"daemonset_controller_sets_stopped 0", "controller_halted 0",
		"'s Lease holds all deletions of pods.\n# TYPE controller_halted",
		"dispatcher_action_panics_total 0", `leader_election_master_status{name="daemonset"} 1`,
	} {
		require.Contains(t, metrics, want)
	}
	for _, group := range []string{"programs", "daemonset"} { // a rule for another name never fires
		selectors, err := alerts.Selectors(group)
		require.NoError(t, err)
		for _, s := range selectors {
			require.Contains(t, metrics, "\n# TYPE "+s.Metric+" ")
			require.Subset(t, []string{"done", "failed"}, s.Values["outcome"])
		}
	}
	require.Contains(t, child.Terminate(), `daemonset="shop/agent" task="create" node="ant"`)
}

// One replica acts. The other knows as much, and takes over without a write.
func TestReplicasTakeTurns(t *testing.T) {
	cluster := memory.NewCluster()
	require.NoError(t, populate(t.Context(), cluster))
	replica := func() (client *memory.Client, stop func()) {
		client = cluster.NewClient()
		port := programtest.FreePort(t)
		var s settings
		flags := []string{"--secure-port=" + port, "--leader-elect-retry-period=100ms"}
		require.NoError(t, command(&s).FlagSet().Parse(flags))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- program(&s).RunOn(ctx, clientsOf(client, cluster)) }()
		isReady := func() bool { return programtest.Get(t, port, "/readyz") == "ok" }
		require.Eventually(t, isReady, time.Minute, 5*time.Millisecond)
		return client, func() { cancel(); require.NoError(t, <-ended) }
	}
	creates := func(c *memory.Client) int { return c.Requests()[memory.Request{Verb: "create", Resource: "pods"}] }
	first, stopFirst := replica()
	require.Eventually(t, func() bool { return creates(first) == 2 }, time.Minute, time.Millisecond)
	second, stopSecond := replica()
	stopFirst()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cow"}}
	_, err := cluster.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return creates(second) == 1 }, time.Minute, time.Millisecond)
	require.Zero(t, second.Requests()[memory.Request{Verb: "create", Resource: "controllerrevisions"}])
	stopSecond()
}

// A wrong call ends at once with one clear line and the right exit code.
func TestWrongCalls(t *testing.T) {
	unreachable := "http://127.0.0.1:" + programtest.FreePort(t)
	programtest.WantRefused(t, run, process.ExitUsage, map[string][]string{
		"unknown flag: --nope":                               {"--nope"},
		"--concurrent-daemonset-syncs is 0, want 1 to 100":   {"--concurrent-daemonset-syncs=0"},
		"--concurrent-daemonset-syncs is 101, want 1 to 100": {"--concurrent-daemonset-syncs=101"},
		"--kube-api-qps is 0, want more than 0":              {"--kube-api-qps=0"},
		"--shadow is not supported: ":                        {"--shadow"},
		`takes no arguments, got ["run"]`:                    {"run"},
	})
	programtest.WantRefused(t, run, process.ExitFailed, map[string][]string{
		"/does/not/exist":                        {"--kubeconfig=/does/not/exist"},
		"reach the API server at " + unreachable: {"--master=" + unreachable},
	})
}

func TestHelpTeaches(t *testing.T) {
	help := programtest.Help(t, run)
	for _, want := range []string{"--kubeconfig", "-daemonset-controller", "--concurrent-daemonset-syncs",
		"/daemonsets", "a demonstration, on a", "lifecycle.kubelife.io/halt"} {
		require.Contains(t, help, want)
	}
}

// Without flags it is kube-controller-manager's controller.
func TestFlags(t *testing.T) {
	var s settings
	flags := command(&s).FlagSet()
	require.NoError(t, flags.Parse(nil))
	require.Equal(t, 2, s.concurrentSyncs)
	require.Equal(t, 10272, s.process.Serving.SecurePort)
	require.Equal(t, "daemonset", s.process.LeaseName)
	require.Equal(t, 500, s.config().MostUnderWay())
	require.NoError(t, flags.Parse([]string{"--concurrent-daemonset-syncs=3", "--kube-api-qps=7"}))
	require.Equal(t, 750, s.config().MostUnderWay())
	require.InEpsilon(t, 7, float64(s.config().Requests.PerSecond), 0.001)
}

// The manifest names what this program is and serves.
func TestManifestFitsTheProgram(t *testing.T) {
	text, args := programtest.Manifest(t)
	var s settings
	flags := command(&s).FlagSet()
	require.NoError(t, flags.Parse(args))
	require.Contains(t, text, "  resourceNames: ["+s.process.Lease()+"]")
	require.Contains(t, text, fmt.Sprintf("containerPort: %d}", s.process.Serving.SecurePort))
}

// A pod of a DaemonSet that kube-controller-manager makes while this program
// runs is noticed, once. Other pods are its business.
func TestRivalIsNoticed(t *testing.T) {
	var log bytes.Buffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log)))
	see := rivalOf(klog.NewContext(t.Context(), logger))
	made := metav1.ManagedFieldsEntry{
		Manager: process.RivalManager, Time: &metav1.Time{Time: time.Now().Add(time.Second)},
		FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{},"f:spec":{}}`)},
	}
	pod := func(kind string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "agent-x", ManagedFields: []metav1.ManagedFieldsEntry{made},
			OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: "agent", Controller: ptr.To(true)}},
		}}
	}
	see(pod("ReplicaSet"))
	see(&corev1.Node{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{made}}})
	require.Empty(t, log.String())
	see(pod("DaemonSet"))
	see(pod("DaemonSet"))
	require.Equal(t, 1, strings.Count(log.String(), "--controllers=*,-daemonset-controller"), log.String())
}

// clientsOf returns clients of a cluster of which the controller acts through
// one of its own.
func clientsOf(client *memory.Client, cluster *memory.Cluster) process.Clients {
	return process.Clients{
		Acting: client, Watching: client, Recording: cluster.NewClient(), Electing: cluster.NewClient(),
	}
}

// A set that waits for a correction of its spec is an Event and a line in the
// log, at the default verbosity. Other Events are no line.
func TestASetThatWaitsForACorrectionIsInTheLog(t *testing.T) {
	var log bytes.Buffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log)))
	events := record.NewFakeRecorder(10)
	m := &manager{recorder: events}
	owner := ownership.Owner{
		Object: &metav1.ObjectMeta{Namespace: "shop", Name: "agent"}, Kind: appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
	}
	for _, reason := range []string{controller.ReasonRolloutStopped, controller.ReasonInvalid, "SuccessfulCreate"} {
		m.record(klog.NewContext(t.Context(), logger), controller.Event{
			Owner: owner, Type: corev1.EventTypeWarning, Reason: reason, Message: "a port of the host with maxSurge",
		})
		require.Equal(t, "Warning "+reason+" a port of the host with maxSurge", <-events.Events)
	}
	require.Equal(t, 2, strings.Count(log.String(), `daemonset="shop/agent"`), log.String())
	require.Contains(t, log.String(), controller.ReasonRolloutStopped)
	require.Contains(t, log.String(), "a port of the host with maxSurge")
}
