package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/hollownode/cri"
	"github.com/kubelife/lifecycle/examples/hollownode/edge"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
	"github.com/kubelife/lifecycle/timedqueue"
)

// session is a fleet from one call of Act to its end.
type session struct {
	*Runner
	fleet      *kubelet.Fleet
	runtime    *cri.Fake
	dispatcher *timedqueue.Dispatcher
	// slow are the senders of nodes whose API is slow, and senders those of the
	// others.
	senders, slow senders
	edge          *edge.Edge
	// handlers are those to remove in the end.
	handlers []func() error
	// staticVersion is that of the static pods of the fleet.
	staticVersion uint64
	// creating is how many nodes are to create their objects, and registering
	// tells that some have not.
	creating    int
	registering bool
}

// slack is by how much the loop of a node may be late. The checks of a thousand
// runtimes and the syncs of their pods then wake the process 20 times a second,
// and not 300 times.
const slack = 50 * time.Millisecond

// newSession returns a fleet that knows nothing yet.
func (r *Runner) newSession() (*session, error) {
	s := &session{Runner: r}
	now := time.Now()
	var err error
	var static []*corev1.Pod
	static, s.staticVersion = r.staticPods()
	if s.runtime, err = cri.NewFake(now); err != nil {
		return nil, err
	}
	if r.config.PodNetwork != "" {
		if err := s.runtime.SetPodNetwork(r.config.PodNetwork); err != nil {
			return nil, err
		}
	}
	if s.fleet, err = kubelet.NewFleet(kubelet.FleetConfig{
		Runtime: s.runtime, Rand: rand.Float64, Backoff: r.config.Backoff,
		Capacity: r.config.Capacity, ListPods: r.config.ListPods, StaticPods: static,
		Record: r.config.Record,
	}, now); err != nil {
		return nil, err
	}
	if s.dispatcher, err = timedqueue.NewDispatcher(s.fleet, s.perform, timedqueue.DispatcherConfig{
		Workers: r.config.Workers, Slack: slack, Finished: r.config.Finished,
	}); err != nil {
		return nil, err
	}
	if s.senders, s.slow, err = s.newSenders(); err != nil {
		return nil, err
	}
	s.edge, err = edge.NewEdge(edge.Config{
		Fleet: s.fleet, Runtime: s.runtime, Observe: s.observe, View: s.view,
		Pods: func(namespace string) edge.PodClient {
			return podsOfNamespace(r.config.Acting.CoreV1(), namespace)
		},
		Nodes: r.config.Acting.CoreV1().Nodes(),
		StreamPods: func(ctx context.Context, node string) error {
			return streamPods(ctx, r.config.Acting.CoreV1().Pods(metav1.NamespaceAll), node)
		},
		PodsOf:     r.podsOf,
		Heartbeats: s.senders, SlowHeartbeats: s.slow, Wait: pause,
		Silent:  r.isSilent,
		IsOurs:  func(node *corev1.Node) bool { return node.Labels[Label] == r.config.Fleet },
		Problem: r.config.Problem,
	})
	return s, err
}

func (s *session) observe(turn func(now time.Time)) {
	var registered bool
	s.dispatcher.Update(func() {
		turn(time.Now())
		if registered = s.registering && s.fleet.Unregistered() == 0; registered {
			s.registering = false
		}
	})
	if registered {
		s.config.Registered(s.creating)
	}
}

// setStaticPods gives the fleet the present static pods. They have been
// validated, so there is no error.
func (s *session) setStaticPods(now time.Time) {
	pods, _ := s.staticPods()
	_ = s.fleet.SetStaticPods(now, pods)
}

func (s *session) view(read func(now time.Time)) {
	s.dispatcher.View(func() { read(time.Now()) })
}

// podsOf returns the pods of a node that the cache has.
func (r *Runner) podsOf(node string) []*corev1.Pod {
	objects, err := r.pods.GetIndexer().ByIndex(indexByNode, node)
	if err != nil {
		return nil // there is that index
	}
	pods := make([]*corev1.Pod, 0, len(objects))
	for _, object := range objects {
		if pod, ok := object.(*corev1.Pod); ok {
			pods = append(pods, pod)
		}
	}
	return pods
}

// attach fills the fleet from the caches. Nothing is performed before.
func (s *session) attach(ctx context.Context) error {
	var synced []cache.InformerSynced
	for _, fed := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{{s.nodes, s.edge.Nodes}, {s.pods, s.edge.Pods}} {
		registration, err := fed.informer.AddEventHandler(fed.handler)
		if err != nil {
			return fmt.Errorf("add a handler to an informer: %w", err)
		}
		s.handlers = append(s.handlers, func() error { return fed.informer.RemoveEventHandler(registration) })
		synced = append(synced, registration.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil
	}
	s.edge.MarkSynced()
	var problems []error
	s.observe(func(now time.Time) {
		for _, node := range s.config.Register {
			labelled := node.DeepCopy()
			metav1.SetMetaDataLabel(&labelled.ObjectMeta, Label, s.config.Fleet)
			problems = append(problems, s.fleet.Register(now, labelled))
		}
		s.creating = s.fleet.Unregistered()
		s.registering = s.config.Registered != nil && len(s.config.Register) > 0
	})
	return errors.Join(problems...)
}

// close ends what attach began.
func (s *session) close() {
	for _, remove := range s.handlers {
		_ = remove() // an informer that has stopped has none
	}
}

// perform does one task in bounded time.
func (s *session) perform(ctx context.Context, task kubelet.Task) kubelet.Result {
	calling, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	result, err := s.edge.Perform(calling, task)
	if s.config.Performed != nil {
		s.config.Performed(ctx, task, err)
	}
	return result
}
