package observer

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kubelife/lifecycle/timedqueue"
	"github.com/kubelife/lifecycle/timedqueue/feed"
)

const (
	// slack is by how much the end of a grace period may be found late. Otherwise
	// a cluster of 100,000 nodes would wake the process thousands of times a
	// second, to see that a node was heard in its last grace period.
	slack = 100 * time.Millisecond
	// workers are one for each Action, and one that is never busy: Start, which
	// keeps the View up to date, is called while a worker is free.
	workers = 3
	// readTimeout bounds a live read of leases.
	readTimeout = 30 * time.Second
	// fewNodes are read one by one, and more with one list of all leases.
	fewNodes = 8
)

// An Observer keeps a [View] of a cluster up to date. Its methods are safe for
// concurrent use.
type Observer struct {
	config     Config
	tracker    *Tracker
	dispatcher *timedqueue.Dispatcher
	nodes      cache.SharedIndexInformer
	leases     cache.SharedIndexInformer
}

// NewObserver returns an Observer whose informers are those of the factory,
// which the caller starts after that.
func NewObserver(config Config) (*Observer, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	o := &Observer{
		config: config,
		nodes:  config.Factory.Core().V1().Nodes().Informer(),
		leases: config.Factory.Coordination().V1().Leases().Informer(),
	}
	var err error
	if o.tracker, err = NewTracker(config.tracker(), time.Now()); err != nil {
		return nil, err
	}
	o.dispatcher, err = timedqueue.NewDispatcher(
		o.tracker, o.perform, timedqueue.DispatcherConfig{Workers: workers, Slack: slack})
	return o, err
}

// View returns what is known. It is the same View at each call, also before Run.
func (o *Observer) View() *View { return o.tracker.View() }

// Run keeps the View up to date until ctx ends, and returns nil when what was
// under way has ended. It returns an error that wraps timedqueue.ErrPanic when
// OnChange panics. It must be called once.
func (o *Observer) Run(ctx context.Context) error {
	nodes, err := o.connectNodes()
	if err != nil {
		return err
	}
	defer o.disconnect(ctx, o.nodes, nodes)
	leases, err := o.connectLeases()
	if err != nil {
		return err
	}
	defer o.disconnect(ctx, o.leases, leases)
	if !cache.WaitForCacheSync(ctx.Done(), nodes.HasSynced, leases.HasSynced) {
		return nil
	}
	o.dispatcher.Update(func() { o.tracker.MarkSynced(time.Now()) })
	return o.dispatcher.Run(ctx)
}

func (o *Observer) connectNodes() (cache.ResourceEventHandlerRegistration, error) {
	handler, err := feed.NewHandler(feed.Config[*corev1.Node]{
		Update: func(turn func(now time.Time)) {
			o.dispatcher.Update(func() { turn(time.Now()) })
		},
		Seen: o.tracker.ObserveNode,
		Gone: func(now time.Time, node *corev1.Node) { o.tracker.ForgetNode(now, node.Name) },
	})
	if err != nil {
		return nil, err
	}
	return connect(o.nodes, handler)
}

func (o *Observer) connectLeases() (cache.ResourceEventHandlerRegistration, error) {
	var poll bool // used with the tracker locked
	handler, err := feed.NewHandler(feed.Config[*coordinationv1.Lease]{
		Update: func(turn func(now time.Time)) {
			o.dispatcher.UpdateIf(func() bool {
				poll = false
				turn(time.Now())
				return poll
			})
		},
		Seen: func(now time.Time, lease *coordinationv1.Lease) {
			if lease.Namespace == corev1.NamespaceNodeLease {
				poll = o.tracker.ObserveLease(now, lease) || poll
			}
		},
		Gone: func(now time.Time, lease *coordinationv1.Lease) {
			if lease.Namespace == corev1.NamespaceNodeLease {
				o.tracker.ForgetLease(now, lease.Name)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return connect(o.leases, handler)
}

func connect(
	informer cache.SharedIndexInformer, handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return nil, fmt.Errorf("add a handler to an informer: %w", err)
	}
	return registration, nil
}

// disconnect removes a handler from an informer, which may go on without it.
func (o *Observer) disconnect(
	ctx context.Context, informer cache.SharedIndexInformer,
	registration cache.ResourceEventHandlerRegistration,
) {
	if err := informer.RemoveEventHandler(registration); err != nil {
		klog.FromContext(ctx).Error(err, "Removing a handler from an informer failed")
	}
}

// perform does one task.
func (o *Observer) perform(ctx context.Context, task Task) Result {
	switch task.Action {
	case ActionTell:
		if o.config.OnChange != nil {
			o.config.OnChange(o.View(), task.Change)
		}
	case ActionRead:
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		versions, err := o.read(ctx, task.Nodes)
		if err != nil {
			klog.FromContext(ctx).Error(err, "Silence is not confirmed, will be tried again",
				"nodes", len(task.Nodes), "node", task.Nodes[0])
			return Result{}
		}
		return Result{Versions: versions}
	}
	return Result{}
}

// read returns the versions of the leases of nodes. Without a resourceVersion
// in the options a list is as new as the request. A list of one lease needs no
// right to get.
func (o *Observer) read(ctx context.Context, nodes []string) (map[string]string, error) {
	options := []metav1.ListOptions{{}}
	if len(nodes) <= fewNodes {
		options = nil
		for _, node := range nodes {
			named := fields.OneTermEqualSelector(metav1.ObjectNameField, node)
			options = append(options, metav1.ListOptions{FieldSelector: named.String()})
		}
	}
	versions := make(map[string]string, len(nodes))
	for _, opts := range options {
		list, err := o.config.Leases.List(ctx, opts)
		if err != nil {
			return nil, fmt.Errorf("list leases of silent nodes: %w", err)
		}
		for i := range list.Items {
			versions[list.Items[i].Name] = list.Items[i].ResourceVersion
		}
	}
	return versions, nil
}
