// Command controllerruntime moves bindings away from clusters that fall silent.
// It is the lifecycle library in a controller of controller-runtime, for two
// small custom resources: package federation is their API, and package failover
// the controller.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"time"

	"github.com/spf13/pflag"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kubelife/lifecycle/examples/controllerruntime/failover"
	"github.com/kubelife/lifecycle/examples/controllerruntime/federation"
	"github.com/kubelife/lifecycle/examples/process"
)

const intro = `controllerruntime moves bindings away from clusters that fall silent or are not
ready, and from clusters with a taint that they do not tolerate.

  kubectl apply --server-side -f examples/controllerruntime/federation/crds.yaml
  controllerruntime --kubeconfig FILE

A Cluster whose status.lastHeartbeatTime does not change for --grace-period becomes
Ready=Unknown and gets the taint ` + failover.TaintUnreachable + `:NoExecute. One
whose agent says Ready=False gets ` + failover.TaintNotReady + `:NoExecute. If one of
these replaces the other, the time that a Binding tolerates goes on.
A Binding whose tolerations do not hold on one of its clusters any longer gets another
one in its place: the one with the fewest bindings that is Ready and that it tolerates.
It stays on its other clusters. Events tell of each Cluster that falls silent and of
each Binding that moves.

The annotation ` + process.HaltAnnotation + ` on the leader's Lease stops all
moves and new taints, for as long as it is there:
  kubectl -n kube-system annotate lease controllerruntime ` + process.HaltAnnotation + `=why
  kubectl -n kube-system annotate lease controllerruntime ` + process.HaltAnnotation + `-

While it runs it serves
  /metrics            of controller-runtime and its own, by HTTPS to callers that may
                      get it; watch failover_oldest_overdue_seconds
  /healthz /readyz    for probes, by HTTP
`

// lease is the name of the leader's Lease.
const lease = "controllerruntime"

// settings are all flags.
type settings struct {
	kubeconfig, metrics, health, electionNamespace string
	election                                       bool
	failover                                       failover.Config
}

func main() { os.Exit(run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the exit code: 0 when ctx ends, 1 after a failure, 2 if it is
// called wrongly.
func run(ctx context.Context, args []string, out, diagnostics io.Writer) int {
	var s settings
	flags := s.flags()
	flags.SetOutput(diagnostics)
	flags.Usage = func() {
		fmt.Fprint(out, intro, "\nFlags:\n", flags.FlagUsages(), `
An API server to try it on, on this machine: go -C examples/e2e run ./controlplane/up

Exit codes: 0 stopped by a signal, 1 failed or lost the leader's lease, 2 called wrongly.
`)
	}
	err := flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("takes no arguments, got %q", flags.Args())
	}
	if err == nil {
		err = errors.Join(wantPositive(flags), s.failover.Validate())
	}
	if err != nil {
		fmt.Fprintf(diagnostics, "controllerruntime: %v\nRun with --help for the flags.\n", err)
		return 2
	}
	defer klog.Flush()
	if err := s.run(ctx); err != nil {
		fmt.Fprintf(diagnostics, "controllerruntime: %v\n", err)
		return 1
	}
	return 0
}

func (s *settings) flags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("controllerruntime", pflag.ContinueOnError)
	flags.SortFlags = false
	c := &s.failover
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "File with the access to the API server. Not needed in a cluster.")
	flags.DurationVar(&c.GracePeriod, "grace-period", 40*time.Second, "How long a cluster may be silent.")
	flags.DurationVar(&c.HeartbeatInterval, "heartbeat-interval", 10*time.Second,
		"How often a cluster sends a heartbeat, at most half of --grace-period.")
	flags.Float64Var(&c.TaintRate, "taint-rate", 0.1, "How many clusters of a region get such a taint in a second.")
	flags.Float64Var(&c.MoveRate, "move-rate", 10, "How many bindings move in a second.")
	flags.Float64Var(&c.ClusterMoveRate, "cluster-move-rate", 1, "How many of them leave the same cluster.")
	flags.BoolVar(&s.election, "leader-elect", true, "Act only while holding the Lease controllerruntime.")
	flags.StringVar(&s.electionNamespace, "leader-elect-resource-namespace", metav1.NamespaceSystem,
		"The namespace of the Lease.")
	flags.StringVar(&s.metrics, "metrics-bind-address", "127.0.0.1:8443",
		"Where /metrics is served by HTTPS, to callers that may get it. 0 serves none.")
	flags.StringVar(&s.health, "health-probe-bind-address", "127.0.0.1:8081",
		"Where /healthz and /readyz are served by HTTP. 0 serves none.")
	return flags
}

// wantPositive reports flags that are zero. In a Config that is the default.
func wantPositive(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if v := f.Value; v.Type() == "float64" && v.String() == "0" || v.Type() == "duration" && v.String() == "0s" {
			err = errors.Join(err, fmt.Errorf("--%s is %s, want more", f.Name, v))
		}
	})
	return err
}

func (s *settings) run(ctx context.Context) error {
	config, err := s.restConfig()
	if err != nil {
		return err
	}
	ctrl.SetLogger(klog.Background())
	s.failover.Jitter = func() float64 { return 0.2 * rand.Float64() }
	controller, err := failover.NewController(s.failover, metrics.Registry)
	if err != nil {
		return err
	}
	config.QPS = -1 // the core limits what it does
	scheme := runtime.NewScheme()
	if err := errors.Join(federation.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		return err
	}
	stop := failover.Stop{
		Lease:      types.NamespacedName{Namespace: s.electionNamespace, Name: lease},
		Annotation: process.HaltAnnotation,
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cache.Options{ByObject: stop.ByObject()},
		Metrics:                       s.metricsServer(),
		HealthProbeBindAddress:        s.health,
		LeaderElection:                s.election,
		LeaderElectionID:              lease,
		LeaderElectionNamespace:       s.electionNamespace,
		LeaderElectionReleaseOnCancel: true, // run returns as soon as the manager has stopped
	})
	if err == nil {
		err = controller.SetupWithManager(ctx, mgr, stop)
	}
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("set up at %s: apply examples/controllerruntime/federation/crds.yaml first: %w", config.Host, err)
	}
	if err != nil {
		return fmt.Errorf("set up at %s: %w", config.Host, err)
	}
	return start(ctx, mgr, controller)
}

// start runs the manager until ctx ends. A manager of v0.25.2 that is stopped
// before its caches are filled never ends (controller-runtime#3440). Nothing
// has begun then, and start returns at once.
func start(ctx context.Context, mgr ctrl.Manager, controller *failover.Controller) error {
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
		if !controller.Filled() {
			return nil
		}
		return <-stopped
	}
}

func (s *settings) metricsServer() server.Options {
	return server.Options{
		BindAddress: s.metrics, SecureServing: true, FilterProvider: filters.WithAuthenticationAndAuthorization,
	}
}

// restConfig returns the access to the API server.
func (s *settings) restConfig() (*rest.Config, error) {
	if s.kubeconfig != "" {
		return clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("no cluster: give --kubeconfig, or run in a cluster")
	}
	return config, err
}
