package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/examples/hollownode/runner"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/commandline"
	"github.com/kubelife/lifecycle/examples/process/demonstration"
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
		for i, node := range []string{"hollow-00001", "hollow-00002", "hollow-00002"} {
			_, err := cluster.CoreV1().Pods("demo").Create(ctx, demoPod(i+1, node), metav1.CreateOptions{})
			if err != nil {
				return err
			}
		}
		return program(&s).RunOn(ctx, process.Clients{
			Acting: cluster.NewClient(), Watching: cluster.NewClient(), Recording: cluster.NewClient(),
			Electing: cluster.NewClient(),
		})
	}
	return c.Execute(ctx, args, out, diagnostics)
}

// check returns what is wrong with the flags.
func check(s *settings) error {
	var c commandline.Checks
	s.Check(&c)
	return c.Err()
}

// The whole program as a process: it does its work, shows it, and SIGTERM ends
// it well.
func TestProgramWorksUntilItIsTerminated(t *testing.T) {
	port := programtest.FreePort(t)
	child := programtest.Start(t, "--secure-port="+port, "--v=2", "--nodes=3", "--zones=2", "--list-per-node")
	// On a busy machine there are more heartbeats than one of each node by then.
	beaten := regexp.MustCompile(`\nhollownode_heartbeats_total\{kind="lease",outcome="done"\} ([3-9]|\d\d)`)
	written := regexp.MustCompile(`\nhollownode_tasks_total\{kind="PatchStatus",outcome="done"\} ([3-9]|\d\d)`)
	require.Eventually(t, func() bool {
		metrics := programtest.Get(t, port, "/metrics")
		return written.MatchString(metrics) && beaten.MatchString(metrics)
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, "ok", programtest.Get(t, port, "/readyz"))
	metrics := programtest.Get(t, port, "/metrics")
	for _, want := range []string{
		`hollownode_nodes{state="running"} 3`, `hollownode_nodes{state="silent"} 0`,
		`hollownode_tasks_total{kind="RegisterNode",outcome="done"} 3`,
		`hollownode_tasks_total{kind="ListPods",outcome="done"} 3`,
		"\nhollownode_heartbeat_delay_seconds_count{kind=\"lease\"} ",
		"dispatcher_action_panics_total 0", `leader_election_master_status{name="hollownode"} 1`,
	} {
		require.Contains(t, metrics, want)
	}
	log := child.Terminate()
	require.Equal(t, 1, strings.Count(log, `"All nodes have registered" nodes=3 created=3`))
	require.Contains(t, log, `task="PatchStatus" node="hollow-00001" pod="demo/pod-0001"`)
}

// A wrong call ends at once with one clear line and the right exit code.
func TestWrongCalls(t *testing.T) {
	unreachable := "http://127.0.0.1:" + programtest.FreePort(t)
	bad := write(t, t.TempDir(), "bad.yaml", "kind: Pod\napiVersion: v1\nmetadata:\n  name: Proxy\n"+
		"spec: {containers: [{name: main, image: i}]}\n")
	notAName := "--pod-manifest-path: " + bad + ":1: metadata.name is \"Proxy\", want the name of a pod"
	programtest.WantRefused(t, run, process.ExitUsage, map[string][]string{
		"--pod-manifest-path: stat /does/not/exist: no such file": {"--pod-manifest-path=/does/not/exist"},
		notAName: {"--pod-manifest-path=" + bad},
		`--pod-cidr: invalid network of pods: "10.0.0.1/31"`:       {"--pod-cidr=10.0.0.1/31"},
		"--file-check-frequency is 0s":                             {"--file-check-frequency=0s"},
		"unknown flag: --nope":                                     {"--nope"},
		`--fleet is "", want the value of a label`:                 {"--fleet="},
		"--nodes is -1, want 0 to 99999":                           {"--nodes=-1"},
		"--zones is 0, want at least 1":                            {"--zones=0"},
		`--name-prefix is "A"`:                                     {"--name-prefix=A"},
		`--node-labels has "a b"="c"`:                              {"--node-labels=a b=c"},
		`--register-with-taints: "k=v", want KEY=VALUE:NoSchedule`: {"--register-with-taints=k=v"},
		`--capacity has cpu="many", want a quantity`:               {"--capacity=cpu=many"},
		"--event-qps is -1, want at least 0":                       {"--event-qps=-1"},
		"--event-burst is -1, want at least 0":                     {"--event-burst=-1"},
		"--concurrent-calls is 0, want at least 1":                 {"--concurrent-calls=0"},
		"--leader-elect-retry-period is 0s":                        {"--leader-elect-retry-period=0s"},
		"--shadow is not supported: ":                              {"--shadow"},
		`takes no arguments, got ["run"]`:                          {"run"},
	})
	programtest.WantRefused(t, run, process.ExitFailed, map[string][]string{
		"wants two zones with a node each":       {"--nodes=1"},
		"/does/not/exist":                        {"--kubeconfig=/does/not/exist"},
		"reach the API server at " + unreachable: {"--master=" + unreachable},
	})
}

func TestHelpTeaches(t *testing.T) {
	help := programtest.Help(t, run)
	for _, want := range []string{"--kubeconfig", "--nodes 2000 --zones 4", "--list-per-node",
		"hollownode.kubelife.dev/fleet=default", "a demonstration, on a", "kubectl annotate node",
		"lifecycle.kubelife.io/halt", "Not here: eviction by pressure",
		"kubectl delete nodes -l " + runner.Label + "=default\n"} {
		require.Contains(t, help, want)
	}
	require.LessOrEqual(t, demonstration.Width(intro), demonstration.Columns)
	require.NotContains(t, help, "--kube-api-qps", "no flag limits the requests")
}

// The help names each annotation of a Node, and says which need a value.
func TestHelpSaysWhichAnnotationsOfANodeNeedAValue(t *testing.T) {
	_, faults, _ := strings.Cut(intro, "Of a Node, on without a value\n")
	without, faults, found := strings.Cut(faults, "Of a Node, with a value\n")
	require.True(t, found)
	with, _, found := strings.Cut(faults, "Of a Pod ")
	require.True(t, found)
	parsed := func(name string) error {
		_, err := kubelet.ParseFaults(&corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{cri.AnnotationDomain + "/" + name: ""},
		}})
		return err
	}
	_, list, found := strings.Cut(parsed("unknown").Error(), "want one of ")
	require.True(t, found)
	names := strings.Split(list, ", ")
	require.Len(t, names, 11)
	for _, name := range names {
		named := regexp.MustCompile(`(?m)(^| )` + name + `\b`)
		if name == kubelet.AnnotationBoot || name == kubelet.AnnotationStart || parsed(name) != nil {
			require.Contains(t, with, name+"=")
			require.NotRegexp(t, named, without)
			continue
		}
		require.Regexp(t, named, without)
		require.NotContains(t, with, " "+name)
	}
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
	text, args := programtest.Manifest(t)
	var s settings
	flags := command(&s).FlagSet()
	require.NoError(t, flags.Parse(args))
	require.NoError(t, check(&s))
	require.Contains(t, text, "  resourceNames: ["+s.process.Lease()+"]")
	require.Contains(t, text, fmt.Sprintf("containerPort: %d}", s.process.Serving.SecurePort))
}
