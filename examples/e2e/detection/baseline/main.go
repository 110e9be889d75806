// Command baseline has the informers, transforms, encoding and leader election
// of examples/nodelifecycle, and nothing else. What it costs at rest, every
// controller with these caches costs.
package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
	"github.com/kubelife/lifecycle/examples/process"
	"github.com/kubelife/lifecycle/examples/process/commandline"
)

func main() {
	process.Main(func(ctx context.Context, args []string, _, diagnostics io.Writer) int {
		if err := run(ctx, args); err != nil {
			fmt.Fprintln(diagnostics, "baseline:", err)
			return process.ExitFailed
		}
		return 0
	})
}

// run watches, with handlers that do nothing, and takes part in the leader
// election until ctx ends.
func run(ctx context.Context, args []string) error {
	p, replica := commandline.Process{Name: "baseline"}, commandline.Replica{}
	flags := pflag.NewFlagSet(p.Name, pflag.ContinueOnError)
	p.AddFlags(flags)
	replica.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, found, err := process.RESTConfig(&p, &replica)
	if err != nil {
		return err
	}
	if !found {
		return process.ErrNoCluster
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	timing := replica.LeaderElection
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, p.LeaseNamespace, p.LeaseName,
		resourcelock.ResourceLockConfig{Identity: p.Name}, config, timing.RenewDeadline)
	if err != nil {
		return err
	}
	trimmed := informers.WithTransform(edge.Trim)
	cluster := informers.NewSharedInformerFactoryWithOptions(client, 0, trimmed)
	leases := informers.NewSharedInformerFactoryWithOptions(client, 0, trimmed,
		informers.WithNamespace(corev1.NamespaceNodeLease))
	var synced []cache.InformerSynced
	for _, informer := range []cache.SharedIndexInformer{
		cluster.Core().V1().Nodes().Informer(),
		cluster.Core().V1().Pods().Informer(),
		leases.Coordination().V1().Leases().Informer(),
	} {
		handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
		if err != nil {
			return err
		}
		synced = append(synced, handler.HasSynced)
	}
	cluster.Start(ctx.Done())
	leases.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), synced...)
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: lock, Name: p.LeaseName, LeaseDuration: timing.LeaseDuration,
		RenewDeadline: timing.RenewDeadline, RetryPeriod: timing.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {},
		},
	})
	return nil
}
