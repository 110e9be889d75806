package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue"
)

// Config is what a [Controller] needs.
type Config struct {
	// Cluster says how to reach the API server. It is copied. Its QPS and Burst
	// limit the requests of watches and evictions together. Required unless there
	// is a Client.
	Cluster *rest.Config
	// Client is a client of the API server, in place of Cluster: for example
	// client-go's fake one in a test. A real one leaves Retry-After to the tracker
	// when its transport is wrapped by eviction.WithoutRetryAfter.
	Client kubernetes.Interface
	// Tracker says which pods leave, when, and how fast.
	Tracker eviction.Config
	// Action makes what evicts a pod, of a client without a limit for Retry-After.
	// Nil means an eviction.Evictor.
	Action func(client kubernetes.Interface) (eviction.Action, error)
	// Workers is how many pods are evicted at a time. Zero means 16.
	Workers int
	// Timeout bounds one attempt to evict a pod. Zero means 30 seconds.
	Timeout time.Duration
}

const (
	defaultWorkers = 16
	defaultTimeout = 30 * time.Second
)

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	problems := []error{c.Tracker.Validate()}
	switch {
	case c.Cluster == nil && c.Client == nil:
		problems = append(problems,
			fmt.Errorf("%w: Cluster and Client are nil, want how to reach the API server", ErrInvalidConfig))
	case c.Cluster != nil && c.Client != nil:
		problems = append(problems,
			fmt.Errorf("%w: Cluster and Client are set, want one of them", ErrInvalidConfig))
	}
	if c.Workers < 0 {
		problems = append(problems,
			fmt.Errorf("%w: Workers is %d, want zero or more", ErrInvalidConfig, c.Workers))
	}
	if c.Timeout < 0 {
		problems = append(problems,
			fmt.Errorf("%w: Timeout is %v, want zero or more", ErrInvalidConfig, c.Timeout))
	}
	return errors.Join(problems...)
}

// A Controller evicts the pods of a cluster that must leave their nodes. Its
// methods are safe for concurrent use.
type Controller struct {
	timeout    time.Duration
	act        eviction.Action
	tracker    *eviction.Tracker
	dispatcher *timedqueue.Dispatcher
	informer   *Informer
}

// NewController returns a Controller of a cluster. It sends nothing before Run.
func NewController(config Config) (*Controller, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	client := config.Client
	var err error
	if client == nil {
		if client, err = newClient(config.Cluster); err != nil {
			return nil, err
		}
	}
	c := &Controller{timeout: cmp.Or(config.Timeout, defaultTimeout)}
	if c.act, err = newAction(config.Action, client); err != nil {
		return nil, err
	}
	if c.tracker, err = eviction.NewTracker(config.Tracker, time.Now()); err != nil {
		return nil, err
	}
	c.dispatcher, err = timedqueue.NewDispatcher(c.tracker, c.evict,
		timedqueue.DispatcherConfig{Workers: cmp.Or(config.Workers, defaultWorkers)})
	if err != nil {
		return nil, err
	}
	c.informer, err = NewInformer(InformerConfig{
		Factory: informers.NewSharedInformerFactoryWithOptions(
			client, 0, informers.WithTransform(withoutManagedFields)),
		Tracker: c.tracker,
		Update:  c.dispatcher.Update,
	})
	return c, err
}

// newClient returns a client that speaks protobuf and leaves retries to the
// tracker.
func newClient(cluster *rest.Config) (kubernetes.Interface, error) {
	config := rest.CopyConfig(cluster)
	if config.ContentType == "" {
		config.ContentType = runtime.ContentTypeProtobuf
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	// Compression costs more CPU than network, so kube-controller-manager has it
	// off.
	config.DisableCompression = true
	config.Wrap(eviction.WithoutRetryAfter)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up a client: %w", err)
	}
	return client, nil
}

// withoutManagedFields keeps the managed fields of objects out of the caches,
// where they are a large part of what is kept, and never read.
func withoutManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

func newAction(
	action func(kubernetes.Interface) (eviction.Action, error), client kubernetes.Interface,
) (eviction.Action, error) {
	if action != nil {
		return action(client)
	}
	evictor, err := eviction.NewEvictor(eviction.EvictorConfig{
		Pods: func(namespace string) eviction.EvictionClient { return client.CoreV1().Pods(namespace) },
	})
	if err != nil {
		return nil, err
	}
	return evictor.Act, nil
}

// Run evicts until ctx ends, and returns nil when that has ended. It returns an
// error that wraps timedqueue.ErrPanic when an action panics. It must be called
// once.
func (c *Controller) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	listed, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		c.informer.Run(ctx, func() { close(listed) })
	}()
	defer func() {
		stop()
		<-ended
	}()
	select {
	case <-ctx.Done():
		return nil
	case <-listed:
	}
	return c.dispatcher.Run(ctx)
}

// Update runs a change of the tracker, such as EvictNode, alone. It must not be
// called inside itself or View, and change must not wait.
func (c *Controller) Update(change func(tracker *eviction.Tracker, now time.Time)) {
	c.dispatcher.Update(func() { change(c.tracker, time.Now()) })
}

// View runs a function that only reads the tracker, such as Pending, alone. It
// must not be called inside itself or Update, and read must not wait.
func (c *Controller) View(read func(tracker *eviction.Tracker)) {
	c.dispatcher.View(func() { read(c.tracker) })
}

// evict performs one task in bounded time, and logs its result.
func (c *Controller) evict(ctx context.Context, task eviction.Task) eviction.Result {
	logger := klog.FromContext(ctx)
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	result := c.act(ctx, task)
	if result.Pod != nil {
		c.informer.Wrote(result.Pod)
	}
	logger = logger.WithValues("pod", task.Pod, "node", task.Node, "outcome", result.Outcome)
	switch result.Outcome {
	case eviction.OutcomeFailed:
		logger.Error(result.Err, "Eviction failed, will be tried again", "attempts", task.Attempts+1)
	case eviction.OutcomeEvicted:
		logger.Info("Evicted pod", "reason", task.Decision.Reason, "due", task.Decision.Due)
	default:
		logger.V(2).Info("Tried to evict pod", "answer", result.Err)
	}
	return result
}
