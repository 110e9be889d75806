package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
)

// everyProgram has, for each program, a flag with a value that it refuses and
// what it says then. The help teaches where it serves and the other texts,
// besides what all teach.
var everyProgram = map[string]struct {
	wrong, says, port string
	teaches           []string
	// demonstrates says that without a cluster it shows itself.
	demonstrates bool
}{
	"nodelifecycle": {
		wrong: "--kube-api-qps=0", says: "--kube-api-qps is 0", port: "10270", demonstrates: true,
		teaches: []string{"--shadow", "/pending", "-node-lifecycle-controller"},
	},
	"tainteviction": {
		wrong: "--kube-api-qps=0", says: "--kube-api-qps is 0", port: "10271",
		teaches: []string{"--shadow", "/pending", "-taint-eviction-controller"},
	},
	"daemonset": {
		wrong: "--concurrent-daemonset-syncs=0", says: "--concurrent-daemonset-syncs is 0", port: "10272",
		teaches: []string{"/daemonsets", "-daemonset-controller"}, demonstrates: true,
	},
	"scheduler": {
		wrong: "--scheduler-name=", says: "--scheduler-name is empty", port: "10273",
		teaches: []string{"/evictions", "schedulerName"},
	},
	"hollownode": {
		wrong: "--nodes=-1", says: "--nodes is -1", port: "10274",
		teaches: []string{"--zones", "kubectl annotate"}, demonstrates: true,
	},
	"controllerruntime": {
		wrong: "--move-rate=0", says: "--move-rate is 0", port: "8443",
		teaches: []string{"crds.yaml", "lifecycle.kubelife.io/halt"},
	},
}

// execute runs a program until it ends, without a cluster around it.
func execute(t *testing.T, name string, args ...string) (code int, out, diagnostics string) {
	t.Helper()
	path := program(t, name) // minutes, the first time
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var written, told bytes.Buffer
	command := exec.CommandContext(ctx, path, args...)
	command.Env = append(os.Environ(), "KUBERNETES_SERVICE_HOST=", "KUBECONFIG=")
	command.Stdout, command.Stderr = &written, &told
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	require.NoError(t, ctx.Err(), "%s %q does not end: %s", name, args, told.String())
	return command.ProcessState.ExitCode(), written.String(), told.String()
}

// Each program teaches how to use it on standard output, so that a pager shows
// it. It exits with 2 when it is called wrongly, and with 1 when there is no
// cluster or its API server does not answer. It says what is wrong.
func TestEachProgramSaysHowToCallIt(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nowhere := "https://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	unreachable := kubeconfigOf(t, nowhere)
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	for name, want := range everyProgram {
		require.Regexp(t, "\n\\| `"+name+"` .*"+want.port, string(readme))
		code, out, diagnostics := execute(t, name, "--help")
		require.Zero(t, code, name)
		require.Empty(t, diagnostics, name)
		for _, taught := range append([]string{
			name + " --kubeconfig FILE", "--leader-elect ", "/metrics", "/healthz", "Exit codes: 0", want.port,
			"annotate lease " + name + " lifecycle.kubelife.io/halt=why", "./controlplane/up",
		}, want.teaches...) {
			require.Contains(t, out, taught, name)
		}
		for args, says := range map[string]string{
			"--no-such-flag": "unknown flag: --no-such-flag", "now": "takes no arguments", want.wrong: want.says,
		} {
			code, out, diagnostics = execute(t, name, args)
			require.Equal(t, 2, code, "%s %s", name, args)
			require.Empty(t, out, name)
			require.Contains(t, diagnostics, name+": "+says)
			require.Contains(t, diagnostics, "Run with --help")
		}
		for args, says := range map[string]string{
			"--kubeconfig=/no/such/file": "/no/such/file", "--kubeconfig=" + unreachable: " at " + nowhere,
			"": "no cluster: give --kubeconfig",
		} {
			if args == "" && want.demonstrates {
				continue
			}
			code, out, diagnostics = execute(t, name, filled(args)...)
			require.Equal(t, 1, code, "%s %s", name, args)
			require.Empty(t, out, name)
			require.Contains(t, diagnostics, name+": ", args)
			require.Contains(t, diagnostics, says, name)
		}
	}
}

// An API server that does not know the example's objects is told apart from one
// that is broken.
func TestControllerruntimeSaysWhatToApplyFirst(t *testing.T) {
	plane := controlplane.ForTest(t, controlplane.Config{})
	code, _, diagnostics := execute(t, "controllerruntime", "--kubeconfig="+plane.Kubeconfig(),
		"--metrics-bind-address=0", "--health-probe-bind-address=0")
	require.Equal(t, 1, code)
	require.Contains(t, diagnostics, "apply examples/controllerruntime/federation/crds.yaml first")
}

func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here}}]
clusters: [{name: here, cluster: {server: %q}}]
`, server), 0o600))
	return path
}

// filled returns the arguments that are not empty.
func filled(args ...string) (all []string) {
	for _, arg := range args {
		if arg != "" {
			all = append(all, arg)
		}
	}
	return all
}

// Each program that may do nothing says so, is alive and not ready, and ends in
// order. With rights it leads, and SIGTERM releases its lease and exits with 0,
// so that the next replica leads at once.
func TestEachProgramEndsInOrder(t *testing.T) {
	f := newFederation(t, map[string]int{"a": 1})
	f.apply("controllerruntime/federation/crds.yaml", federation.CRDs())
	jane, err := f.plane.UserConfig("jane")
	require.NoError(t, err)
	forbidden, err := f.plane.WriteKubeconfig(jane)
	require.NoError(t, err)
	for name := range everyProgram {
		if name == "controllerruntime" { // TestManifestOfControllerruntimeGivesTheLeastRights is about it
			running := f.launchFederated(f.plane.Kubeconfig())
			f.wantReleased(name, running)
			continue
		}
		own := "--authentication-kubeconfig=" + f.plane.Kubeconfig()
		refused := f.launchProgram(name, forbidden, own, "--authorization-kubeconfig="+f.plane.Kubeconfig())
		f.eventually(name+" without rights says so", func(*witness) error {
			return errors.Join(refused.answers("/healthz"), refused.says("is forbidden: User "))
		})
		require.Error(t, refused.answers("/readyz"), name)
		f.stop(refused)
		running := f.launchProgram(name, f.plane.Kubeconfig())
		f.eventually(name+" is ready", func(*witness) error { return running.answers("/readyz") })
		f.wantReleased(name, running)
	}
}

// daemonset notices kube-controller-manager, whose controller makes pods of the
// same set. Ours is slow, so that the other one makes some.
func TestDaemonsetNoticesItsRival(t *testing.T) {
	c := newCluster(t, map[string]int{"a": 6})
	running := c.launchProgram("daemonset", c.plane.Kubeconfig(), "--kube-api-qps=1", "--kube-api-burst=1")
	c.eventually("it leads", func(*witness) error { return c.wantLeader("daemonset") })
	require.Error(t, running.says("WARNING"))
	c.startUpstream(controlplane.KubeControllerManager, "--controllers=daemonset-controller")
	c.addSet("agent", nil)
	c.eventually("it warns", func(*witness) error {
		return running.says("Run it with --controllers=*,-daemonset-controller")
	})
	c.stop(running)
}

// says wants a text in what the program prints.
func (c *controller) says(text string) error {
	printed, err := os.ReadFile(c.log)
	if err == nil && !bytes.Contains(printed, []byte(text)) {
		err = fmt.Errorf("the log does not say %q", text)
	}
	return err
}

// wantReleased wants that a program holds its lease until SIGTERM and not after
// it.
func (f *federated) wantReleased(name string, running *controller) {
	f.t.Helper()
	f.eventually(name+" leads", func(*witness) error { return f.wantLeader(name) })
	stopped := time.Now()
	f.stop(running)
	f.t.Logf("%s ended %.1f s after SIGTERM", name, time.Since(stopped).Seconds())
	lease, err := f.client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(f.t.Context(), name, metav1.GetOptions{})
	require.NoError(f.t, err)
	require.Empty(f.t, *lease.Spec.HolderIdentity, name)
}
