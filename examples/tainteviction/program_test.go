package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/alerts"
	"github.com/kubelife/lifecycle/examples/process/evicting"
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
	c.Run = func(ctx context.Context, _ *pflag.FlagSet, out io.Writer) error {
		cluster := memory.NewCluster()
		if err := populate(ctx, cluster); err != nil {
			return err
		}
		go tellDeletions(ctx, cluster, out)
		return program(&s, io.Discard).RunOn(ctx, clientsOf(cluster.NewClient(), cluster))
	}
	return c.Execute(ctx, args, out, diagnostics)
}

// clientsOf are a client to act and watch with, and others.
func clientsOf(client kubernetes.Interface, cluster *memory.Cluster) process.Clients {
	return process.Clients{
		Acting: client, Watching: client, Recording: cluster.NewClient(), Electing: cluster.NewClient(),
	}
}

// populate makes a tainted node with a pod that leaves at once and one that
// leaves after two seconds.
func populate(ctx context.Context, cluster *memory.Cluster) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{maintenance}}}
	if _, err := cluster.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return err
	}
	for name, seconds := range map[string]int64{"first": 0, "second": 2, "last": 3600} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.PodSpec{NodeName: "n1"}}
		tolerates(ptr.To(seconds))(pod)
		if _, err := cluster.CoreV1().Pods("shop").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// tellDeletions prints the names of pods as they begin to terminate.
func tellDeletions(ctx context.Context, cluster *memory.Cluster, out io.Writer) {
	changes, err := cluster.CoreV1().Pods("shop").Watch(ctx, metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		fmt.Fprintln(out, err)
		return
	}
	for change := range changes.ResultChan() {
		if pod, ok := change.Object.(*corev1.Pod); ok && pod.DeletionTimestamp != nil {
			fmt.Fprintln(out, pod.Name)
		}
	}
}

// The whole program as a process: pods leave in order, SIGTERM ends it well,
// and what has time left stays.
func TestProgramEvictsUntilItIsTerminated(t *testing.T) {
	require.Contains(t, runUntilTerminated(t), `"Evicted pod" pod="shop/second"`)
}

// Each line of the log is a JSON object, and what was a pair is a key.
func TestProgramLogsInJSON(t *testing.T) {
	var evicted []any
	for line := range strings.Lines(runUntilTerminated(t, "--logging-format=json")) {
		var entry map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &entry), line)
		if entry["msg"] == "Evicted pod" {
			require.Equal(t, "n1", entry["node"], line)
			evicted = append(evicted, entry["pod"])
		}
	}
	require.Equal(t, []any{
		map[string]any{"namespace": "shop", "name": "first"}, map[string]any{"namespace": "shop", "name": "second"},
	}, evicted)
}

// runUntilTerminated runs the program until two pods have left, and returns
// what it wrote to standard error.
func runUntilTerminated(t *testing.T, flags ...string) string {
	t.Helper()
	child := programtest.Start(t, append(flags, "--secure-port="+programtest.FreePort(t), "--v=2")...)
	lines := bufio.NewScanner(child.Out)
	for _, name := range []string{"first", "second"} {
		require.True(t, lines.Scan())
		require.Equal(t, name, lines.Text())
	}
	child.Signal()
	require.False(t, lines.Scan(), lines.Text())
	return child.Wait(0)
}

// replica is one of several programs on a cluster.
type replica struct {
	client *memory.Client
	port   string
	stop   func()
	ended  chan error
}

func startReplica(t *testing.T, cluster *memory.Cluster, flags ...string) *replica {
	t.Helper()
	r := &replica{client: cluster.NewClient(), port: programtest.FreePort(t), ended: make(chan error, 1)}
	var s settings
	require.NoError(t, command(&s).FlagSet().Parse(append(flags, "--secure-port="+r.port)))
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	go func() {
		r.ended <- program(&s, io.Discard).RunOn(ctx, clientsOf(r.client, cluster))
	}()
	t.Cleanup(r.stop)
	require.Eventually(t, func() bool { return r.get(t, "/readyz") == "ok" }, 2*time.Minute, 5*time.Millisecond)
	return r
}

func (r *replica) get(t *testing.T, path string) string { return programtest.Get(t, r.port, path) }

// deletes is how many pods the replica has deleted.
func (r *replica) deletes() int {
	return r.client.Requests()[memory.Request{Verb: "delete", Resource: "pods"}]
}

// An alert rule for a metric that has another name never fires.
func TestAlertRulesNameMetricsThatAreServed(t *testing.T) {
	page := startReplica(t, memory.NewCluster()).get(t, "/metrics")
	require.Contains(t, page, "'s Lease holds all evictions.\n# TYPE controller_halted")
	for _, group := range []string{"programs", "evictions"} {
		selectors, err := alerts.Selectors(group)
		require.NoError(t, err)
		for _, s := range selectors {
			require.Contains(t, page, "\n# TYPE "+s.Metric+" ")
		}
	}
}

// One replica evicts. The other knows as much, shows it, and takes over.
func TestReplicasTakeTurns(t *testing.T) {
	cluster := memory.NewCluster()
	require.NoError(t, populate(t.Context(), cluster))
	const quick = "--leader-elect-retry-period=100ms"
	first := startReplica(t, cluster, quick)
	require.Eventually(t, func() bool { return first.deletes() >= 1 }, 2*time.Minute, time.Millisecond)
	second := startReplica(t, cluster, quick)
	require.Eventually(t, func() bool { return first.deletes() == 2 }, 2*time.Minute, time.Millisecond)
	require.Zero(t, second.deletes())

	for _, r := range []*replica{first, second} {
		var page struct {
			Pending int
			Pods    []struct{ Namespace, Name, Node, Reason string }
		}
		require.Eventually(t, func() bool {
			require.NoError(t, json.Unmarshal([]byte(r.get(t, "/pending?format=json")), &page))
			return page.Pending == 1
		}, 2*time.Minute, time.Millisecond, "the other two are seen to be going")
		require.Equal(t, "last", page.Pods[0].Name)
		require.Equal(t, "TolerationEnds", page.Pods[0].Reason)
		require.Contains(t, r.get(t, "/pending"), "shop/last")
		require.Contains(t, r.get(t, "/metrics"), "\npod_evictions_pending 1\n")
		require.Equal(t, "ok", r.get(t, "/healthz"))
	}

	first.stop()
	require.NoError(t, <-first.ended)
	require.NoError(t, cluster.CoreV1().Pods("shop").Delete(t.Context(), "last", *metav1.NewDeleteOptions(0)))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "next"},
		Spec: corev1.PodSpec{NodeName: "n1"}}
	_, err := cluster.CoreV1().Pods("shop").Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return second.deletes() == 1 }, 2*time.Minute, time.Millisecond)
	second.stop()
	require.NoError(t, <-second.ended)
}

// A wrong call ends at once with one clear line and the right exit code.
func TestWrongCalls(t *testing.T) {
	unreachable := "http://127.0.0.1:" + programtest.FreePort(t)
	programtest.WantRefused(t, run, process.ExitUsage, map[string][]string{
		"unknown flag: --nope":                                                  {"--nope"},
		"--concurrent-evictions is 0, want at least 1":                          {"--concurrent-evictions=0"},
		`--action is "drain", want delete, evict, evict-then-delete or dry-run`: {"--action=drain"},
		"--budget-per-node is -1, want a number that is zero or more":           {"--budget-per-node=-1"},
		"--kube-api-qps is 0, want more than 0":                                 {"--kube-api-qps=0"},
		`--shadow-html is "x.html", want --shadow with it`:                      {"--shadow-html=x.html"},
		`takes no arguments, got ["run"]`:                                       {"run"},
	})
	programtest.WantRefused(t, run, process.ExitFailed, map[string][]string{
		"no cluster: give --kubeconfig or --master, or run in a cluster": nil,
		"--shadow with --action=dry-run would compare nothing":           {"--shadow", "--action=dry-run"},
		"/does/not/exist":                        {"--kubeconfig=/does/not/exist"},
		"reach the API server at " + unreachable: {"--master=" + unreachable},
	})
}

func TestHelpTeaches(t *testing.T) {
	help := programtest.Help(t, run)
	for _, want := range []string{"--kubeconfig", "-taint-eviction-controller", "--action", "--budget-per-node",
		"/pending"} {
		require.Contains(t, help, want)
	}
}

// Without flags it is kube-controller-manager's controller, and each flag sets
// one field.
func TestFlags(t *testing.T) {
	var s settings
	flags := command(&s).FlagSet()
	require.NoError(t, flags.Parse(nil))
	require.Equal(t, 16, s.concurrentEvictions)
	require.Equal(t, evicting.Delete, s.evicting.Action)
	require.Equal(t, 10271, s.process.Serving.SecurePort)
	require.Equal(t, "tainteviction", s.process.LeaseName)
	require.True(t, s.LeaderElection.Elect)
	require.NoError(t, flags.Parse([]string{"--concurrent-evictions=3", "--confirm", "--kube-api-qps=7"}))
	require.Equal(t, 3, s.concurrentEvictions)
	require.True(t, s.evicting.Confirm)
	require.Equal(t, float32(7), s.APIQPS)
}

// The manifest names what this program is and serves.
func TestManifestFitsTheProgram(t *testing.T) {
	text, args := programtest.Manifest(t)
	var s settings
	flags := command(&s).FlagSet()
	require.NoError(t, flags.Parse(args))
	require.Equal(t, 10271, s.process.Serving.SecurePort)
	acts := s.process.Lease()
	s.process.Shadow = true
	require.Contains(t, text, "  resourceNames: ["+acts+", "+s.process.Lease()+"]")
	require.Contains(t, text, "containerPort: 10271}")
}

// client-go would sleep in a worker for as long as the header says.
func TestRetryAfterReachesNoWorker(t *testing.T) {
	programtest.WantNoRetryAfter(t, program(new(settings), io.Discard).Wrap)
}
