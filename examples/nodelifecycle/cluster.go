package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"
)

// userAgent is how the API server's audit log names our requests.
const userAgent = "nodelifecycle"

// restConfig returns how to reach the cluster, and false when neither flags nor
// surroundings name one.
func restConfig(s *settings) (*rest.Config, bool, error) {
	var config *rest.Config
	var err error
	if s.kubeconfig != "" || s.master != "" {
		config, err = clientcmd.BuildConfigFromFlags(s.master, s.kubeconfig)
	} else {
		config, err = rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, false, nil
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("load client configuration: %w", err)
	}
	config.UserAgent = userAgent
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.QPS, config.Burst = s.APIQPS, s.APIBurst
	return config, true, nil
}

// runInCluster does the work of kube-controller-manager's node lifecycle and
// taint eviction controllers until ctx ends.
func runInCluster(ctx context.Context, s *settings, config *rest.Config) error {
	if err := reach(ctx, config); err != nil {
		return err
	}
	guard := &fence{duration: s.LeaderElection.LeaseDuration}
	acting := rest.CopyConfig(config)
	if s.LeaderElection.Elect {
		acting.Wrap(guard.transport)
	}
	client, err := kubernetes.NewForConfig(acting)
	if err != nil {
		return fmt.Errorf("set up client: %w", err)
	}
	apart, err := kubernetes.NewForConfig(separate(config, s))
	if err != nil {
		return fmt.Errorf("set up client: %w", err)
	}
	warnOfController(ctx, apart)
	l, err := newLifecycle(ctx, s, client, apart)
	if err != nil {
		return err
	}
	defer l.events.stop()
	health := leaderelection.NewLeaderHealthzAdaptor(s.LeaderElection.LeaseDuration)
	server, err := newServer(s.bindAddress, l.registry, health)
	if err != nil {
		return err
	}
	elect := &election{s, apart, l.events, guard, health}
	return together(ctx,
		server.run,
		func(ctx context.Context) error {
			l.observe(ctx, func() { server.ready.Store(true) })
			return nil
		},
		func(ctx context.Context) error {
			if s.LeaderElection.Elect {
				return elect.run(ctx, l.act, l.idle)
			}
			l.act(ctx)
			return nil
		},
	)
}

// together runs functions until one of them fails or ctx ends, and returns when
// all have, with the first failure.
func together(ctx context.Context, run ...func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	failures := make(chan error, len(run))
	for _, f := range run {
		running.Go(func() {
			if err := f(ctx); err != nil {
				failures <- err
				stop()
			}
		})
	}
	running.Wait()
	close(failures)
	return <-failures
}

// separate returns the configuration for the leader's lease and for events. They
// have limits of their own, so that a lease is renewed whatever the controller
// is doing, and a timeout, so that a stuck connection does not cost the lease.
func separate(config *rest.Config, s *settings) *rest.Config {
	apart := rest.CopyConfig(config)
	apart.QPS, apart.Burst = s.APIQPS, s.APIBurst
	apart.Timeout = s.LeaderElection.RenewDeadline / 2
	return apart
}

// reach makes sure that there is an API server, so that a wrong address is told
// at once and not by informers that try for ever.
func reach(ctx context.Context, config *rest.Config) error {
	brief := rest.CopyConfig(config)
	brief.Timeout = 5 * time.Second
	client, err := kubernetes.NewForConfig(brief)
	if err != nil {
		return fmt.Errorf("set up client: %w", err)
	}
	if _, err := client.Discovery().WithLegacy().ServerVersion(); err != nil {
		return fmt.Errorf("reach the API server at %s: %w", config.Host, err)
	}
	return ctx.Err()
}

// warnOfController tells if kube-controller-manager runs in the cluster. Whether
// it runs the two controllers that this program replaces cannot be seen before
// one of them acts; see rival.
func warnOfController(ctx context.Context, client kubernetes.Interface) {
	lease, err := client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, rivalManager, metav1.GetOptions{})
	if err != nil || lease.Spec.RenewTime == nil || time.Since(lease.Spec.RenewTime.Time) > time.Minute {
		return
	}
	klog.FromContext(ctx).Info("kube-controller-manager is running. Make sure that it does so with --controllers=*,-node-lifecycle-controller,-taint-eviction-controller")
}
