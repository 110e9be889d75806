package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/controller"
	"github.com/kubelife/lifecycle/examples/nodelifecycle/edge"
	"github.com/kubelife/lifecycle/examples/process/running"
	"github.com/kubelife/lifecycle/examples/process/sight"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/timedqueue/feed"
)

// A Runner is a controller with everything that connects it to a cluster. Its
// methods are safe for concurrent use.
type Runner struct {
	config          Config
	core            *controller.Controller
	dispatcher      *timedqueue.Dispatcher
	handlers        edge.Handlers
	cluster, leases informers.SharedInformerFactory
	synced          []cache.InformerSynced
}

// NewRunner returns a Runner. It sends nothing before Run or Observe.
func NewRunner(config Config) (*Runner, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Runner{config: config}
	if r.core, err = controller.New(config.Controller, time.Now()); err != nil {
		return nil, err
	}
	if err := r.connect(); err != nil {
		return nil, err
	}
	actions, err := r.actions()
	if err != nil {
		return nil, err
	}
	jobs, err := r.core.Jobs(actions, time.Now())
	if err != nil {
		return nil, err
	}
	r.dispatcher, err = timedqueue.NewJobDispatcher(jobs, timedqueue.DispatcherConfig{
		Workers: config.Workers, Finished: config.Finished,
	})
	return r, err
}

func (c Config) withDefaults() (Config, error) {
	c.Workers = cmp.Or(c.Workers, defaultWorkers)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.Period = cmp.Or(c.Period, defaultPeriod)
	// It is named after the Lease of the program, as that of the program is.
	c.Probe.Namespace = cmp.Or(c.Probe.Namespace, metav1.NamespaceSystem)
	c.Probe.Name = cmp.Or(c.Probe.Name, "nodelifecycle-probe")
	if health := &c.Controller.Health; !c.CountAllSilence {
		health.SightTimeout = cmp.Or(health.SightTimeout, defaultSightTimeout)
	}
	if requests := &c.Controller.Requests; requests.PerSecond == 0 {
		requests.PerSecond, requests.Burst = defaultRequests, cmp.Or(requests.Burst, defaultBurst)
	}
	if c.Client == nil {
		client, err := newClient(c.Cluster)
		if err != nil {
			return c, err
		}
		c.Client = client
	}
	if c.Acting == nil {
		acting := ClientsOf(c.Client)
		c.Acting = &acting
	}
	if c.Evict == nil {
		c.Evict = deletion
	}
	return c, nil
}

// newClient returns a client that speaks protobuf and leaves limits and retries
// to the controller.
func newClient(cluster *rest.Config) (kubernetes.Interface, error) {
	config := rest.CopyConfig(cluster)
	if config.ContentType == "" {
		config.ContentType = runtime.ContentTypeProtobuf
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	config.QPS, config.RateLimiter = -1, nil
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

// connect has the informers feed the controller.
func (r *Runner) connect() (err error) {
	trim := edge.Trimming(r.config.Keep)
	transform := informers.WithTransform(func(object any) (any, error) {
		if r.config.See != nil {
			r.config.See(object)
		}
		return trim(object)
	})
	r.cluster = informers.NewSharedInformerFactoryWithOptions(r.config.Client, 0, transform)
	r.leases = informers.NewSharedInformerFactoryWithOptions(r.config.Client, 0, transform,
		informers.WithNamespace(corev1.NamespaceNodeLease))
	nodes, pods := r.cluster.Core().V1().Nodes().Informer(), r.cluster.Core().V1().Pods().Informer()
	r.handlers, err = edge.NewViewedHandlers(r.core, r.config.View,
		edge.Stores{Nodes: feed.StoreOf(nodes), Pods: feed.StoreOf(pods)},
		func(turn func(now time.Time), poll func() bool) {
			r.dispatcher.UpdateIf(func() bool {
				turn(time.Now())
				return poll()
			})
		})
	if err != nil {
		return err
	}
	return errors.Join(
		r.add(nodes, r.handlers.Nodes),
		r.add(r.leases.Coordination().V1().Leases().Informer(), r.handlers.Leases),
		r.add(pods, r.handlers.Pods),
	)
}

func (r *Runner) add(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) error {
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("add a handler to an informer: %w", err)
	}
	r.synced = append(r.synced, registration.HasSynced)
	return nil
}

// actions perform tasks in bounded time.
func (r *Runner) actions() (controller.Actions, error) {
	acting := *r.config.Acting
	evict, err := r.config.Evict(acting)
	if err != nil {
		return controller.Actions{}, err
	}
	performer, err := edge.NewPerformer(edge.PerformerConfig{
		Nodes:     acting.Nodes,
		Pods:      func(namespace string) edge.Pods { return acting.Pods(namespace) },
		Leases:    acting.Leases,
		Evict:     evict,
		Record:    r.config.Record,
		WroteNode: r.handlers.Nodes.Wrote,
		WrotePod:  r.handlers.Pods.Wrote,
		Keep:      r.config.Keep,
	})
	if err != nil {
		return controller.Actions{}, err
	}
	actions, timeout := performer.Actions(), r.config.Timeout
	return controller.Actions{
		ReadLeases: running.Within(timeout, actions.ReadLeases),
		Declare:    running.Within(timeout, actions.Declare),
		ChangeNode: running.Within(timeout, actions.ChangeNode),
		MarkPod:    running.Within(timeout, actions.MarkPod),
		Evict:      running.Within(timeout, actions.Evict),
		Record:     actions.Record,
	}, nil
}

// Run observes the cluster and acts on it until ctx ends, and returns nil when
// all that it started has ended. It is for a process that takes part in no
// leader election, and refuses a SightTimeout of less than 5 seconds. It returns an error that wraps
// timedqueue.ErrPanic when an action panics. It must be called once, and then
// neither Observe nor Act.
func (r *Runner) Run(ctx context.Context) error {
	if sight := r.config.Controller.Health.SightTimeout; sight > 0 && sight < leastSightTimeout {
		return fmt.Errorf("%w: Controller.Health.SightTimeout is %v, want %v or more for Run: it asks each %v",
			ErrInvalidConfig, sight, leastSightTimeout, probePeriod)
	}
	ready := make(chan struct{})
	return running.Together(ctx,
		func(ctx context.Context) error {
			r.Observe(ctx, func() { close(ready) })
			return nil
		},
		func(ctx context.Context) error {
			select {
			case <-ready:
				return running.Together(ctx, r.Act, r.probe)
			case <-ctx.Done():
				return nil
			}
		},
	)
}

// probe tells the controller whether the API server takes writes, if it asks
// for that.
func (r *Runner) probe(ctx context.Context) error {
	if r.config.Controller.Health.SightTimeout == 0 {
		return nil
	}
	asking := sight.Probe{
		Client: r.config.Client, Namespace: r.config.Probe.Namespace, Name: r.config.Probe.Name, Period: probePeriod,
		Sight: &sight.Sight{Answered: r.Answered, Unanswered: r.Unanswered},
	}
	return asking.Run(ctx)
}

// Observe fills the controller from the cluster and goes on until ctx ends. It
// calls ready once all that existed has been seen. It must be called once.
func (r *Runner) Observe(ctx context.Context, ready func()) {
	r.cluster.Start(ctx.Done())
	r.leases.Start(ctx.Done())
	defer r.leases.Shutdown()
	defer r.cluster.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), r.synced...) {
		return
	}
	r.Update((*controller.Controller).MarkSynced)
	ready()
	feed.Expiring(ctx, r.handlers.Nodes, r.handlers.Pods)
}

// Act performs what the controller asks for, until ctx ends or an action
// panics, and what was under way is done. It must be called once, while Observe
// runs and after its ready.
func (r *Runner) Act(ctx context.Context) error {
	r.Update((*controller.Controller).Lead)
	return running.Together(ctx, r.dispatcher.Run, func(ctx context.Context) error {
		running.Every(ctx, r.config.Period, r.reevaluate)
		return nil
	})
}

func (r *Runner) reevaluate() {
	started := time.Now()
	r.Update(func(c *controller.Controller, _ time.Time) { c.Reevaluate() })
	if r.config.Passed != nil {
		r.config.Passed(time.Since(started))
	}
}

// Idle keeps a controller that does not act, because another replica leads,
// from falling behind. It returns when ctx ends.
func (r *Runner) Idle(ctx context.Context) {
	running.Every(ctx, time.Second, func() {
		for more := true; more && ctx.Err() == nil; {
			r.Update(func(c *controller.Controller, now time.Time) { more = c.Idle(now) })
		}
	})
}

// Answered tells the controller that the API server has answered a write that
// was sent at a time, and Unanswered that one has failed. A caller of Act tells it
// of the leader's Lease; see controller.Controller.
func (r *Runner) Answered(now, sent time.Time) {
	r.Update(func(c *controller.Controller, _ time.Time) { c.Answered(now, sent) })
}

// Unanswered is the other half of Answered.
func (r *Runner) Unanswered() { r.Update((*controller.Controller).Unanswered) }

// Update runs a change of the controller, such as Halt, alone. It must not be
// called inside itself or View, and change must not wait.
func (r *Runner) Update(change func(c *controller.Controller, now time.Time)) {
	r.dispatcher.Update(func() { change(r.core, time.Now()) })
}

// View runs a function that only reads the controller, such as Doubts, alone.
// It must not be called inside itself or Update, and read must not wait.
func (r *Runner) View(read func(c *controller.Controller)) {
	r.dispatcher.View(func() { read(r.core) })
}
