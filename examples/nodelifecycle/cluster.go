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
func restConfig(o *options) (*rest.Config, bool, error) {
	var config *rest.Config
	var err error
	if o.kubeconfig != "" || o.master != "" {
		config, err = clientcmd.BuildConfigFromFlags(o.master, o.kubeconfig)
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
	config.QPS, config.Burst = o.apiQPS, o.apiBurst
	return config, true, nil
}

// runInCluster does the work of kube-controller-manager's node lifecycle and
// taint eviction controllers until ctx ends.
func runInCluster(ctx context.Context, o *options, config *rest.Config) error {
	if err := reach(ctx, config); err != nil {
		return err
	}
	guard := &fence{duration: o.leader.leaseDuration}
	acting := rest.CopyConfig(config)
	if o.leader.elect {
		acting.Wrap(guard.transport)
	}
	client, err := kubernetes.NewForConfig(acting)
	if err != nil {
		return fmt.Errorf("set up client: %w", err)
	}
	apart, err := kubernetes.NewForConfig(separate(config, o))
	if err != nil {
		return fmt.Errorf("set up client: %w", err)
	}
	warnOfController(ctx, apart)
	l, err := newLifecycle(ctx, o, client, apart)
	if err != nil {
		return err
	}
	defer l.events.stop()
	health := leaderelection.NewLeaderHealthzAdaptor(o.leader.leaseDuration)
	server, err := newServer(o.bindAddress, l.registry, health)
	if err != nil {
		return err
	}
	elect := &election{o.leader, apart, l.events, guard, health}
	return together(ctx,
		server.run,
		func(ctx context.Context) error {
			l.observe(ctx, func() { server.ready.Store(true) })
			return nil
		},
		func(ctx context.Context) error {
			if o.leader.elect {
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
func separate(config *rest.Config, o *options) *rest.Config {
	apart := rest.CopyConfig(config)
	apart.QPS, apart.Burst = o.apiQPS, o.apiBurst
	apart.Timeout = o.leader.renewDeadline / 2
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
