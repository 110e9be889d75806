package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"

	"github.com/kubelife/lifecycle/examples/e2e/controlplane"
	"github.com/kubelife/lifecycle/examples/e2e/fleet"
	"github.com/kubelife/lifecycle/examples/e2e/sidebyside"
)

// The times of the tests. A heartbeat every two seconds and a grace of five
// beats leave room for machines that are busy building something else.
const (
	interval = 2 * time.Second
	grace    = 10 * time.Second
	patience = time.Minute // for anything to come true
)

// cluster is a control plane with a fleet of nodes and a watch of them.
type cluster struct {
	t       *testing.T
	plane   *controlplane.ControlPlane
	client  kubernetes.Interface
	fleet   *fleet.Fleet
	witness *witness
	// env is added to the environment of programs that are launched.
	env []string
}

// newCluster starts a cluster whose nodes all are ready and carry a pod of each
// kind. It is torn down when the test ends.
func newCluster(t *testing.T, zones map[string]int, kinds ...fleet.Pod) *cluster {
	t.Helper()
	c := newClusterWith(t, controlplane.Config{}, interval, zones)
	nodes := c.fleet.AllNodes()
	require.NoError(t, c.fleet.AddPods(t.Context(), nodes, kinds...))
	c.eventually("all nodes report", func(w *witness) error {
		return w.each(nodes, func(n *nodeSeen) error { return n.wantReady("True") })
	})
	return c
}

// newClusterWith starts a cluster without pods whose nodes beat at an interval.
// It is torn down when the test ends.
func newClusterWith(
	t *testing.T, config controlplane.Config, interval time.Duration, zones map[string]int,
) *cluster {
	t.Helper()
	plane := controlplane.ForTest(t, config)
	ctx, stop := context.WithCancel(context.Background())
	client, err := kubernetes.NewForConfig(plane.RESTConfig())
	require.NoError(t, err)
	nodes, err := fleet.New(ctx, sidebyside.Protobuf(plane.RESTConfig()), zones, interval)
	require.NoError(t, err)
	c := &cluster{t: t, plane: plane, client: client, fleet: nodes, witness: newWitness(client)}
	done := make(chan error, 2)
	go func() { done <- nodes.Run(ctx) }()
	go func() { done <- c.witness.run(ctx) }()
	t.Cleanup(func() {
		stop()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
	return c
}

// eventually waits until the witness sees what is asked for.
func (c *cluster) eventually(what string, ask func(*witness) error) {
	c.t.Helper()
	c.within(patience, what, ask)
}

func (c *cluster) within(limit time.Duration, what string, ask func(*witness) error) {
	c.t.Helper()
	started := time.Now()
	for {
		err := c.witness.ask(ask)
		if err == nil {
			c.t.Logf("%6.1fs  %s", time.Since(started).Seconds(), what)
			return
		}
		if time.Since(started) > limit {
			c.t.Fatalf("after %v not yet: %s: %v", limit, what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// controller is a running program.
type controller struct {
	*controlplane.Process
	port   string
	caller *http.Client // the administrator
	log    string       // the file with all that it prints
}

// program builds a program once for all tests, as its image has it.
func program(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(programs, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	build := exec.Command("go", "-C", "..", "build", "-trimpath", "-o", path, "./"+name) // a module of its own
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	require.NoError(t, build.Run(), "build "+name)
	return path
}

// programs is where the programs under test are built.
var programs string

func TestMain(m *testing.M) {
	os.Exit(withPrograms(m.Run))
}

func withPrograms(run func() int) int {
	var err error
	if programs, err = os.MkdirTemp("", "lifecycle-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := run()
	if err := os.RemoveAll(programs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// startController starts the controller as a process on the cluster's API
// server, and waits until its caches have synced.
func (c *cluster) startController(flags ...string) *controller {
	c.t.Helper()
	started := c.launch(c.plane.Kubeconfig(), flags...)
	c.eventually("the controller is ready", func(*witness) error { return started.answers("/readyz") })
	return started
}

func (c *cluster) launch(kubeconfig string, flags ...string) *controller {
	c.t.Helper()
	return c.launchProgram("nodelifecycle", kubeconfig, lifecycleFlags(flags...)...)
}

// lifecycleFlags make nodelifecycle as fast as the fleet.
func lifecycleFlags(flags ...string) []string {
	return append([]string{
		"--node-monitor-grace-period=" + grace.String(),
		"--node-startup-grace-period=" + grace.String(),
		"--node-heartbeat-interval=" + interval.String(),
		"--kube-api-qps=500", "--kube-api-burst=500",
		"--node-eviction-rate=2",
	}, flags...)
}

// launchProgram starts a program that also asks the cluster about its callers.
func (c *cluster) launchProgram(name, kubeconfig string, flags ...string) *controller {
	c.t.Helper()
	port, log := freePort(c.t), filepath.Join(c.t.TempDir(), name+".log")
	process, err := controlplane.StartProcess(controlplane.Command{
		Path: program(c.t, name),
		Args: append([]string{
			"--kubeconfig=" + kubeconfig,
			"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
			"--bind-address=127.0.0.1", "--secure-port=" + port,
			"--v=2",
		}, flags...),
		Env:     c.env,
		LogFile: log,
	})
	require.NoError(c.t, err)
	c.t.Cleanup(func() {
		process.Stop(10 * time.Second)
		if c.t.Failed() {
			c.t.Logf("log of %s:\n%s", name, process.LogTail(60))
		}
	})
	return &controller{process, port, c.callerWith(c.plane.RESTConfig()), log}
}

// stop ends a controller as an operator would and wants it to go well.
func (c *cluster) stop(running *controller) {
	c.t.Helper()
	require.NoError(c.t, running.Signal(syscall.SIGTERM))
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	require.NoError(c.t, running.Wait(ctx), "exit status after SIGTERM")
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

// long skips a test that belongs to the long tier, unless that was asked for.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("LIFECYCLE_E2E") != "full" {
		t.Skip("long tier: set LIFECYCLE_E2E=full")
	}
}
