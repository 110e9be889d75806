package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/daemon/revision"
	"github.com/kubelife/lifecycle/examples/daemonset/controller"
	"github.com/kubelife/lifecycle/examples/daemonset/edge"
	"github.com/kubelife/lifecycle/examples/process/running"
	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/timedqueue/feed"
)

// ErrInvalidConfig is wrapped by each error of [Config.Validate].
var ErrInvalidConfig = errors.New("invalid daemon set runner config")

// defaultTimeout bounds a task. A connection that is stuck must not hold a
// worker for longer than an API server may take.
const defaultTimeout = 30 * time.Second

// Config is what a [Runner] needs. Acting and Watching are required.
type Config struct {
	// Controller says what is done, and how fast.
	Controller controller.Config
	// Acting is for the reads and writes of tasks, and Watching for informers.
	Acting, Watching kubernetes.Interface
	// Timeout bounds one task. Zero means 30 seconds.
	Timeout time.Duration
	// Record takes the Events that the controller wants recorded. Nil drops them.
	Record func(controller.Event)
	// See is shown each object before a cache trims it. It must not keep or change
	// it. Several goroutines call it at a time. Nil does nothing.
	See func(object any)
	// Finished is that of the dispatcher: it is told of each task that has ended,
	// also of one that did not return. Nil means none.
	Finished func(context.Context, timedqueue.Finished)
}

// Validate joins all that is wrong with the config.
func (c Config) Validate() error {
	problems := []error{c.Controller.Validate()}
	if c.Acting == nil {
		problems = append(problems, fmt.Errorf("%w: Acting is nil, want a client", ErrInvalidConfig))
	}
	if c.Watching == nil {
		problems = append(problems, fmt.Errorf("%w: Watching is nil, want a client", ErrInvalidConfig))
	}
	if c.Timeout < 0 {
		problems = append(problems, fmt.Errorf("%w: Timeout is %v, want zero or more", ErrInvalidConfig, c.Timeout))
	}
	return errors.Join(problems...)
}

// A Runner is a controller with everything that connects it to a cluster. Its
// methods are safe for concurrent use.
type Runner struct {
	config     Config
	core       *controller.Controller
	dispatcher *timedqueue.Dispatcher
	edge       *edge.Edge[*appsv1.DaemonSet]
	factory    informers.SharedInformerFactory
	synced     []cache.InformerSynced
}

// NewRunner returns a Runner. It sends nothing before Observe.
func NewRunner(config Config) (*Runner, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Timeout == 0 {
		config.Timeout = defaultTimeout
	}
	r := &Runner{
		config:  config,
		factory: informers.NewSharedInformerFactoryWithOptions(config.Watching, 0, informers.WithTransform(config.trim)),
	}
	var err error
	if r.core, err = controller.NewController(config.Controller, time.Now()); err != nil {
		return nil, err
	}
	if err := r.connect(); err != nil {
		return nil, err
	}
	jobs, err := r.core.Jobs(r.actions(), time.Now())
	if err != nil {
		return nil, err
	}
	r.dispatcher, err = timedqueue.NewJobDispatcher(jobs, timedqueue.DispatcherConfig{
		Workers:  config.Controller.MostUnderWay(),
		Finished: config.Finished,
	})
	return r, err
}

// trim is the transform of informers.
func (c Config) trim(object any) (any, error) {
	if c.See != nil {
		c.See(object)
	}
	return edge.Trim(object)
}

// connect has the informers feed the controller.
func (r *Runner) connect() (err error) {
	apps, core, client := r.factory.Apps().V1(), r.factory.Core().V1(), r.config.Acting
	sets, revisions := apps.DaemonSets().Informer(), apps.ControllerRevisions().Informer()
	pods, nodes := core.Pods().Informer(), core.Nodes().Informer()
	r.edge, err = edge.NewEdge(edge.Config[*appsv1.DaemonSet]{
		Controller: r.core,
		Observe: func(turn func(now time.Time)) {
			r.dispatcher.Update(func() { turn(time.Now()) })
		},
		SetOf:      controller.SetOf,
		Collisions: func(set *appsv1.DaemonSet) *int32 { return set.Status.CollisionCount },
		Sets: func(namespace string) revision.OwnerClient[*appsv1.DaemonSet] {
			return client.AppsV1().DaemonSets(namespace)
		},
		Pods:      func(namespace string) edge.Pods { return client.CoreV1().Pods(namespace) },
		Revisions: func(namespace string) revision.Client { return client.AppsV1().ControllerRevisions(namespace) },
		Stores: edge.Stores{
			Sets: feed.StoreOf(sets), Pods: feed.StoreOf(pods), Revisions: feed.StoreOf(revisions),
		},
		Record: r.config.Record,
	})
	if err != nil {
		return err
	}
	return errors.Join(r.add(sets, r.edge.Sets), r.add(revisions, r.edge.Revisions), r.add(pods, r.edge.Pods),
		r.add(nodes, r.edge.Nodes))
}

func (r *Runner) add(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) error {
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("add a handler to an informer: %w", err)
	}
	r.synced = append(r.synced, registration.HasSynced)
	return nil
}

// Observe fills the controller from the cluster and goes on until ctx ends. It
// calls ready once all that existed has been seen. It must be called once.
func (r *Runner) Observe(ctx context.Context, ready func()) {
	r.factory.Start(ctx.Done())
	defer r.factory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), r.synced...) {
		return
	}
	r.Update((*controller.Controller).MarkSynced)
	ready()
	feed.Expiring(ctx, r.edge)
}

// Act performs tasks until ctx ends or one panics, and what was under way is
// done.
func (r *Runner) Act(ctx context.Context) error { return r.dispatcher.Run(ctx) }

// Update runs a change of the controller, such as Halt, alone. It must not be
// called inside itself or View, and change must not wait.
func (r *Runner) Update(change func(c *controller.Controller, now time.Time)) {
	r.dispatcher.Update(func() { change(r.core, time.Now()) })
}

// View runs a function that only reads the controller, such as Sets, alone. It
// must not be called inside itself or Update, and read must not wait.
func (r *Runner) View(read func(c *controller.Controller)) {
	r.dispatcher.View(func() { read(r.core) })
}

// actions perform tasks in bounded time.
func (r *Runner) actions() controller.Actions {
	actions, timeout := r.edge.Actions(), r.config.Timeout
	return controller.Actions{
		Claim:       running.Within(timeout, actions.Claim),
		Revise:      running.Within(timeout, actions.Revise),
		ChangePod:   running.Within(timeout, actions.ChangePod),
		WriteStatus: running.Within(timeout, actions.WriteStatus),
		Record:      actions.Record,
	}
}
