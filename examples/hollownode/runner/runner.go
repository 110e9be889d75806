package runner

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/kubelife/lifecycle/examples/hollownode/edge"
	"github.com/kubelife/lifecycle/examples/hollownode/kubelet"
)

// A Runner is a fleet with everything that connects it to a cluster. Its
// methods are safe for concurrent use.
type Runner struct {
	config Config
	// There is one factory for each selector.
	ofNodes, ofPods informers.SharedInformerFactory
	nodes, pods     cache.SharedIndexInformer

	mu     sync.Mutex
	acting *session // nil while Act does not run
	halted bool
	silent map[string]bool
	// static are the present static pods. The version counts their changes.
	static        []*corev1.Pod
	staticVersion uint64
}

// indexByNode is the index of pods by their node.
const indexByNode = "node"

// NewRunner returns a Runner. It sends nothing before Observe.
func NewRunner(config Config) (*Runner, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Workers == 0 {
		config.Workers = defaultWorkers
	}
	if config.Timeout == 0 {
		config.Timeout = defaultTimeout
	}
	trim := newTransform()
	selecting := func(tweak func(*metav1.ListOptions)) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(config.Watching, 0,
			informers.WithTweakListOptions(tweak), informers.WithTransform(trim))
	}
	r := &Runner{
		config: config, silent: map[string]bool{}, static: config.StaticPods,
		ofNodes: selecting(func(o *metav1.ListOptions) {
			o.LabelSelector = labels.Set{Label: config.Fleet}.String()
		}),
		ofPods: selecting(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
		}),
	}
	r.nodes, r.pods = r.ofNodes.Core().V1().Nodes().Informer(), r.ofPods.Core().V1().Pods().Informer()
	err := r.pods.AddIndexers(cache.Indexers{indexByNode: func(object any) ([]string, error) {
		if pod, ok := object.(*corev1.Pod); ok {
			return []string{pod.Spec.NodeName}, nil
		}
		return nil, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("index pods by node: %w", err)
	}
	return r, nil
}

// Observe fills the caches from the cluster and goes on until ctx ends. It
// calls ready once they are filled. It must be called once.
func (r *Runner) Observe(ctx context.Context, ready func()) {
	r.ofNodes.Start(ctx.Done())
	r.ofPods.Start(ctx.Done())
	defer r.ofNodes.Shutdown()
	defer r.ofPods.Shutdown()
	if cache.WaitForCacheSync(ctx.Done(), r.nodes.HasSynced, r.pods.HasSynced) {
		ready()
		<-ctx.Done()
	}
}

// Act runs the kubelets until ctx ends or one task panics, and what was under
// way is done. It is called after ready, while Observe runs.
func (r *Runner) Act(ctx context.Context) error {
	s, err := r.newSession()
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.attach(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	r.set(s)
	defer r.set(nil)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.dispatcher.Run(ctx) })
	for _, sender := range slices.Concat(s.senders, s.slow) {
		group.Go(func() error { return sender.Run(ctx) })
	}
	return group.Wait()
}

// Run observes and acts until ctx ends or one task panics. It is for a process
// that always leads, in place of Observe and Act.
func (r *Runner) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	ready := make(chan struct{})
	group.Go(func() error { r.Observe(ctx, func() { close(ready) }); return nil })
	group.Go(func() error {
		select {
		case <-ready:
			return r.Act(ctx)
		case <-ctx.Done():
			return nil
		}
	})
	return group.Wait()
}

func (r *Runner) set(s *session) {
	r.mu.Lock()
	r.acting = s
	halted, version := r.halted, r.staticVersion
	r.mu.Unlock()
	if s == nil {
		return
	}
	if halted {
		s.observe(s.fleet.Halt)
	}
	if s.staticVersion != version {
		s.observe(s.setStaticPods)
	}
	s.edge.Recheck() // what has changed since the session saw the nodes
}

// SetStaticPods replaces the static pods of all nodes, now and in each later
// Act. When it returns an error nothing has changed.
func (r *Runner) SetStaticPods(pods []*corev1.Pod) error {
	if err := kubelet.ValidateStaticPods(pods); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	r.mu.Lock()
	r.static = pods
	r.staticVersion++
	s := r.acting
	r.mu.Unlock()
	if s != nil {
		s.observe(s.setStaticPods)
	}
	return nil
}

// staticPods returns the present static pods and their version.
func (r *Runner) staticPods() ([]*corev1.Pod, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.static, r.staticVersion
}

// Halt holds the final deletions of pods, now and in each later Act, until
// Resume.
func (r *Runner) Halt() { r.halt(true) }

// Resume lets what Halt has held go on.
func (r *Runner) Resume() { r.halt(false) }

func (r *Runner) halt(halted bool) {
	r.mu.Lock()
	r.halted = halted
	s := r.acting
	r.mu.Unlock()
	switch {
	case s == nil:
	case halted:
		s.observe(s.fleet.Halt)
	default:
		s.observe(s.fleet.Resume)
	}
}

// SetSilent cuts nodes off from the API server, or ends that. It needs no API
// server, and lasts over each later Act. A node with the annotation is silent
// anyway.
func (r *Runner) SetSilent(silent bool, nodes ...string) {
	r.mu.Lock()
	for _, name := range nodes {
		if r.silent[name] = silent; !silent {
			delete(r.silent, name)
		}
	}
	s := r.acting
	r.mu.Unlock()
	if s != nil {
		s.edge.Recheck(nodes...)
	}
}

func (r *Runner) isSilent(node string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.silent[node]
}

// View runs a function that only reads the fleet, alone. It reports false, and
// runs nothing, while Act does not run. It must not be called inside itself.
func (r *Runner) View(read func(fleet *kubelet.Fleet)) bool {
	r.mu.Lock()
	s := r.acting
	r.mu.Unlock()
	if s == nil {
		return false
	}
	s.view(func(time.Time) { read(s.fleet) })
	return true
}

// newTransform returns the transform of all informers, which call it on
// goroutines of their own.
func newTransform() cache.TransformFunc {
	var (
		mu      sync.Mutex
		trimmer edge.Trimmer
	)
	return func(object any) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		return trimmer.Trim(object)
	}
}
