package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/eviction"
	"github.com/kubelife/lifecycle/timedqueue/feed"
)

// ErrInvalidConfig is wrapped by each error that a constructor of this package
// returns.
var ErrInvalidConfig = errors.New("invalid eviction controller config")

// An Observer is told of nodes and pods. *eviction.Tracker implements it.
type Observer interface {
	ObserveNode(now time.Time, node *corev1.Node)
	ForgetNode(now time.Time, name string)
	ObservePod(now time.Time, pod *corev1.Pod)
	ForgetPod(now time.Time, id types.UID)
	MarkSynced()
}

var _ Observer = (*eviction.Tracker)(nil)

// InformerConfig is what an [Informer] needs.
type InformerConfig struct {
	// Factory has the informers of nodes and pods. Required. It may have others,
	// which Run starts as well.
	Factory informers.SharedInformerFactory
	// Tracker is told of nodes and pods. Required.
	Tracker Observer
	// Update runs a change of the tracker alone, and then starts what is due.
	// Required. It is Update of a timedqueue.Dispatcher.
	Update func(change func())
}

// Validate joins all that is wrong with the config.
func (c InformerConfig) Validate() error {
	var problems []error
	if c.Factory == nil {
		problems = append(problems,
			fmt.Errorf("%w: Factory is nil, want the informers of nodes and pods", ErrInvalidConfig))
	}
	if c.Tracker == nil {
		problems = append(problems, fmt.Errorf("%w: Tracker is nil, want a tracker", ErrInvalidConfig))
	}
	if c.Update == nil {
		problems = append(problems,
			fmt.Errorf("%w: Update is nil, want a dispatcher's", ErrInvalidConfig))
	}
	return errors.Join(problems...)
}

// An Informer tells a tracker of the nodes and pods of a cluster. Its methods
// are safe for concurrent use.
type Informer struct {
	config InformerConfig
	nodes  cache.SharedIndexInformer
	pods   cache.SharedIndexInformer
	podsOf *feed.Handler[*corev1.Pod]
	synced []cache.InformerSynced
}

// NewInformer returns an Informer whose handlers are added to the factory's
// informers. It tells nothing before they are started, which Run does.
func NewInformer(config InformerConfig) (*Informer, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	core := config.Factory.Core().V1()
	i := &Informer{config: config, nodes: core.Nodes().Informer(), pods: core.Pods().Informer()}
	return i, errors.Join(i.connectNodes(), i.connectPods())
}

func (i *Informer) connectNodes() error {
	handler, err := feed.NewHandler(feed.Config[*corev1.Node]{
		Update: i.observe,
		Seen:   i.config.Tracker.ObserveNode,
		Gone: func(now time.Time, node *corev1.Node) {
			i.config.Tracker.ForgetNode(now, node.Name)
		},
	})
	if err != nil {
		return err
	}
	return i.add(i.nodes, handler)
}

func (i *Informer) connectPods() error {
	handler, err := feed.NewHandler(feed.Config[*corev1.Pod]{
		Update: i.observe,
		Seen:   i.config.Tracker.ObservePod,
		Gone: func(now time.Time, pod *corev1.Pod) {
			i.config.Tracker.ForgetPod(now, eviction.KeyOf(pod).ID())
		},
		Store: feed.StoreOf(i.pods),
	})
	if err != nil {
		return err
	}
	i.podsOf = handler
	return i.add(i.pods, handler)
}

func (i *Informer) add(
	informer cache.SharedIndexInformer, handler cache.ResourceEventHandler,
) error {
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("add a handler to an informer: %w", err)
	}
	i.synced = append(i.synced, registration.HasSynced)
	return nil
}

func (i *Informer) observe(turn func(now time.Time)) {
	i.config.Update(func() { turn(time.Now()) })
}

// Run starts the factory's informers and tells the tracker what they see until
// ctx ends. It calls ready, once, when the tracker has been told of all nodes
// and pods that existed. It returns when the factory's informers have ended,
// and must be called once.
func (i *Informer) Run(ctx context.Context, ready func()) {
	i.config.Factory.Start(ctx.Done())
	defer i.config.Factory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), i.synced...) {
		return
	}
	i.config.Update(i.config.Tracker.MarkSynced)
	ready()
	feed.Expiring(ctx, i.podsOf)
}

// Wrote takes a pod as the API server has returned it for a write of ours, such
// as eviction.Result.Pod. The tracker is told of it, unless it knows a newer
// one, and older reports of it are withheld. It must be called before the
// tracker's Finish is told the result, and outside Update.
func (i *Informer) Wrote(pod *corev1.Pod) { i.podsOf.Wrote(pod) }
