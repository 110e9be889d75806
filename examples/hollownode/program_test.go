package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/memory"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/commandline"
)

// TestMain lets the test binary be the program, on a cluster in memory.
func TestMain(m *testing.M) {
	if os.Getenv("HOLLOWNODE_TEST_PROGRAM") == "" {
		os.Exit(m.Run())
	}
	process.Main(func(ctx context.Context, args []string, out, diagnostics io.Writer) int {
		var s settings
		c := command(&s)
		c.Run = func(ctx context.Context, _ *pflag.FlagSet, _ io.Writer) error {
			cluster := memory.NewCluster()
			w := &world{client: cluster}
			if err := w.addPods(ctx, []string{"hollow-00001", "hollow-00002", "hollow-00002"}); err != nil {
				return err
			}
			return program(&s).RunOn(ctx, process.Clients{
				Acting: cluster.NewClient(), Watching: cluster.NewClient(), Recording: cluster.NewClient(),
				Electing: cluster.NewClient(),
			})
		}
		return c.Execute(ctx, args, out, diagnostics)
	})
}

// check returns what is wrong with the flags.
func check(s *settings) error {
	var c commandline.Checks
	s.Check(&c)
	return c.Err()
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	return port
}

func get(t *testing.T, port, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+path, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return string(text)
}

// The whole program as a process: it does its work, shows it, and SIGTERM ends
// it well.
func TestProgramWorksUntilItIsTerminated(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var diagnostics bytes.Buffer
	port := freePort(t)
	child := exec.CommandContext(ctx, os.Args[0], "--secure-port="+port, "--v=2", "--nodes=3", "--zones=2",
		"--list-per-node")
	child.Env = append(os.Environ(), "HOLLOWNODE_TEST_PROGRAM=yes")
	child.Stderr = &diagnostics
	require.NoError(t, child.Start())
	// On a busy machine there are more heartbeats than one of each node by then.
	beaten := regexp.MustCompile(`\nhollownode_heartbeats_total\{kind="lease",outcome="done"\} ([3-9]|\d\d)`)
	require.Eventually(t, func() bool {
		metrics := get(t, port, "/metrics")
		return strings.Contains(metrics, `kubelet_running_containers{container_state="running"} 3`) &&
			beaten.MatchString(metrics)
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, "ok", get(t, port, "/readyz"))
	metrics := get(t, port, "/metrics")
	for _, want := range []string{
		"kubelet_desired_pods 3", "kubelet_active_pods 3", "kubelet_running_pods 3", "kubelet_started_containers_total 3",
		`kubelet_working_pods{lifecycle="sync"} 3`, `kubelet_working_pods{lifecycle="terminating"} 0`,
		`hollownode_nodes{state="running"} 3`, `hollownode_nodes{state="silent"} 0`,
		`hollownode_tasks_total{kind="RegisterNode",outcome="done"} 3`,
		`hollownode_tasks_total{kind="ListPods",outcome="done"} 3`,
		"\nhollownode_heartbeat_delay_seconds_count{kind=\"lease\"} ",
		"dispatcher_action_panics_total 0", `leader_election_master_status{name="hollownode"} 1`,
	} {
		require.Contains(t, metrics, want)
	}
	require.NoError(t, child.Process.Signal(syscall.SIGTERM))
	require.NoError(t, child.Wait(), "%s", &diagnostics)
	require.Contains(t, diagnostics.String(), `task="PatchStatus" node="hollow-00001" pod="demo/pod-0001"`)
}

// A wrong call ends at once with one clear line and the right exit code.
func TestWrongCalls(t *testing.T) {
	unreachable := "http://127.0.0.1:" + freePort(t)
	bad := write(t, t.TempDir(), "bad.yaml", "kind: Pod\napiVersion: v1\nmetadata:\n  name: Proxy\n"+
		"spec: {containers: [{name: main, image: i}]}\n")
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"unknown flag": {[]string{"--nope"}, process.ExitUsage, "unknown flag: --nope"},
		"no fleet":     {[]string{"--fleet="}, process.ExitUsage, `--fleet is "", want the value of a label`},
		"minus one":    {[]string{"--nodes=-1"}, process.ExitUsage, "--nodes is -1, want 0 to 99999"},
		"no zone":      {[]string{"--zones=0"}, process.ExitUsage, "--zones is 0, want at least 1"},
		"a bad name":   {[]string{"--name-prefix=A"}, process.ExitUsage, `--name-prefix is "A"`},
		"a bad label":  {[]string{"--node-labels=a b=c"}, process.ExitUsage, `--node-labels has "a b"="c"`},
		"a bad taint": {[]string{"--register-with-taints=k=v"}, process.ExitUsage,
			`--register-with-taints: "k=v", want KEY=VALUE:NoSchedule`},
		"a bad size": {[]string{"--capacity=cpu=many"}, process.ExitUsage, `--capacity has cpu="many", want a quantity`},
		"no manifest": {[]string{"--pod-manifest-path=/does/not/exist"}, process.ExitUsage,
			"--pod-manifest-path: stat /does/not/exist: no such file"},
		"a bad manifest": {[]string{"--pod-manifest-path=" + bad}, process.ExitUsage,
			"--pod-manifest-path: " + bad + ":4: metadata.name is \"Proxy\", want the name of a pod"},
		"no check": {[]string{"--file-check-frequency=0s"}, process.ExitUsage, "--file-check-frequency is 0s"},
		"no calls": {[]string{"--concurrent-calls=0"}, process.ExitUsage,
			"--concurrent-calls is 0, want at least 1"},
		"an election": {[]string{"--leader-elect-lease-duration=0s"}, process.ExitUsage,
			"--leader-elect-lease-duration is 0s"},
		"a shadow":           {[]string{"--shadow"}, process.ExitUsage, "--shadow is not supported: "},
		"an argument":        {[]string{"run"}, process.ExitUsage, `takes no arguments, got ["run"]`},
		"too small a show":   {[]string{"--nodes=1"}, process.ExitFailed, "wants two zones with a node each"},
		"no such kubeconfig": {[]string{"--kubeconfig=/does/not/exist"}, process.ExitFailed, "/does/not/exist"},
		"no server there": {[]string{"--master=" + unreachable}, process.ExitFailed,
			"reach the API server at " + unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			var out, diagnostics bytes.Buffer
			require.Equal(t, test.code, run(t.Context(), test.args, &out, &diagnostics))
			require.Empty(t, out.String())
			require.Contains(t, diagnostics.String(), test.says)
			require.LessOrEqual(t, strings.Count(diagnostics.String(), "\n"), 3, diagnostics.String())
		})
	}
}

func TestHelpTeaches(t *testing.T) {
	var out, diagnostics bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"--help"}, &out, &diagnostics))
	require.Empty(t, diagnostics.String())
	for _, want := range []string{"--kubeconfig", "--nodes 2000 --zones 4", "--list-per-node",
		"hollownode.kubelife.dev/fleet=default", "a demonstration, on a", "kubectl annotate node",
		"lifecycle.kubelife.io/halt", "Exit codes"} {
		require.Contains(t, out.String(), want)
	}
	require.NotContains(t, out.String(), "--kube-api-qps", "no flag limits the requests")
}

func TestNodesThatRegisterFollowTheFlags(t *testing.T) {
	var s settings
	c := command(&s)
	require.NoError(t, c.FlagSet().Parse([]string{
		"--nodes=5", "--zones=2", "--name-prefix=n", "--node-labels=pool=a",
		"--register-with-taints=k=v:NoSchedule,x:NoExecute", "--capacity=cpu=2,pods=10",
	}))
	require.NoError(t, check(&s))
	nodes := s.registering()
	require.Len(t, nodes, 5)
	require.Equal(t, "n-00005", nodes[4].Name)
	require.Equal(t, "zone-1", zoneOf(nodes[4]))
	require.Equal(t, "zone-2", zoneOf(nodes[3]))
	require.Equal(t, "a", nodes[0].Labels["pool"])
	require.Equal(t, []corev1.Taint{
		{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}, {Key: "x", Effect: corev1.TaintEffectNoExecute},
	}, nodes[0].Spec.Taints)
	require.Equal(t, "2", s.capacity.Cpu().String())
	require.Equal(t, "10", s.capacity.Pods().String())
}

// The manifest names what this program is and serves.
func TestManifestFitsTheProgram(t *testing.T) {
	text, err := os.ReadFile("manifest.yaml")
	require.NoError(t, err)
	var s settings
	flags := command(&s).FlagSet()
	var args []string
	for line := range strings.Lines(string(text)) {
		if arg, ok := strings.CutPrefix(strings.TrimSpace(line), "- --"); ok {
			args = append(args, "--"+arg)
		}
	}
	require.NoError(t, flags.Parse(args))
	require.NoError(t, check(&s))
	require.Contains(t, string(text), "  resourceNames: ["+s.process.Lease()+"]")
	require.Contains(t, string(text), fmt.Sprintf("containerPort: %d}", s.process.Serving.SecurePort))
}
