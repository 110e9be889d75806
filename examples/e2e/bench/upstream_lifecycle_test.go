package bench

import (
	"context"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
)

// A lifecycle is upstream's node lifecycle controller over a cluster that
// exists in its caches only, with the defaults of kube-controller-manager.
//
// Its health pass is not exported. But each pass begins by listing the nodes,
// and nothing else lists them. So a lister that waits lets a benchmark run the
// passes of Run one by one.
type lifecycle struct {
	controller    *nodelifecycle.Controller
	nodes, leases cache.Indexer
	// waiting tells that a pass wants to begin, begin lets it.
	waiting, begin chan struct{}
	// seen is how many nodes the last pass has listed.
	seen int
	ctx  context.Context
}

func newLifecycle(tb testing.TB) *lifecycle {
	tb.Helper()
	// It logs every new node, mostly to the context's logger.
	settings, discard := klog.CaptureState(), klog.New(nil)
	klog.SetLogger(discard)
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), discard))
	client := newClient(ctx, tb)
	factory := informers.NewSharedInformerFactory(client, 0)
	l := &lifecycle{
		nodes:   factory.Core().V1().Nodes().Informer().GetIndexer(),
		leases:  factory.Coordination().V1().Leases().Informer().GetIndexer(),
		waiting: make(chan struct{}),
		begin:   make(chan struct{}),
		ctx:     ctx,
	}
	var err error
	l.controller, err = nodelifecycle.NewNodeLifecycleController(ctx,
		factory.Coordination().V1().Leases(),
		factory.Core().V1().Pods(),
		gatedInformer{factory.Core().V1().Nodes(), l},
		factory.Apps().V1().DaemonSets(),
		client,
		time.Nanosecond, // between passes: the gate decides when they run
		time.Minute,     // --node-startup-grace-period
		time.Hour,       // instead of 50 s: a machine that stalls must not look like an outage
		0.1, 0.01, 50, 0.55,
	)
	if err != nil {
		tb.Fatal(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	tb.Cleanup(func() {
		cancel()
		factory.Shutdown()
		settings.Restore()
		failOnWrites(tb, client.Actions())
	})
	return l
}

// failOnWrites fails when upstream has found something to do: the clusters that
// it is measured with are quiet.
func failOnWrites(tb testing.TB, actions []clienttesting.Action) {
	tb.Helper()
	for _, action := range actions {
		if verb := action.GetVerb(); verb != "list" && verb != "watch" {
			tb.Errorf("upstream has sent a request: %s %s", verb, action.GetResource().Resource)
		}
	}
}

// run starts the controller. It stops at the end of the benchmark.
func (l *lifecycle) run(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithCancel(l.ctx)
	l.ctx = ctx
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		l.controller.Run(ctx)
	}()
	tb.Cleanup(func() {
		cancel()
		<-stopped
	})
	<-l.waiting
}

// pass runs one health pass, from its beginning to the beginning of the next.
func (l *lifecycle) pass() {
	l.begin <- struct{}{}
	<-l.waiting
}

// gatedInformer gives out a lister whose List waits at the gate.
type gatedInformer struct {
	coreinformers.NodeInformer
	gate *lifecycle
}

func (i gatedInformer) Lister() corelisters.NodeLister {
	return gatedLister{i.NodeInformer.Lister(), i.gate}
}

type gatedLister struct {
	corelisters.NodeLister
	gate *lifecycle
}

func (l gatedLister) List(selector labels.Selector) ([]*corev1.Node, error) {
	select {
	case l.gate.waiting <- struct{}{}:
	case <-l.gate.ctx.Done():
		return nil, l.gate.ctx.Err()
	}
	select {
	case <-l.gate.begin:
	case <-l.gate.ctx.Done():
		return nil, l.gate.ctx.Err()
	}
	nodes, err := l.NodeLister.List(selector)
	l.gate.seen = len(nodes)
	return nodes, err
}

// fakeClient is client-go's fake clientset with a RESTClient in it. Run records
// events through that, and a fake clientset has none.
type fakeClient struct {
	*fake.Clientset
	core coreClient
}

func (c fakeClient) CoreV1() typedcorev1.CoreV1Interface { return c.core }

type coreClient struct {
	typedcorev1.CoreV1Interface
	rest rest.Interface
}

func (c coreClient) RESTClient() rest.Interface { return c.rest }

func newClient(ctx context.Context, tb testing.TB) fakeClient {
	tb.Helper()
	client := fake.NewClientset()
	typed, err := typedcorev1.NewForConfigAndClient(&rest.Config{Host: "http://nowhere.invalid"},
		&http.Client{Transport: silence{ctx}})
	if err != nil {
		tb.Fatal(err)
	}
	return fakeClient{client, coreClient{client.CoreV1(), typed.RESTClient()}}
}

// silence is an API server that never answers, so that the recording of events
// is not measured. The first event to be recorded waits there until the
// benchmark ends, and all others behind it.
type silence struct{ ctx context.Context }

func (s silence) RoundTrip(*http.Request) (*http.Response, error) {
	<-s.ctx.Done()
	return nil, s.ctx.Err()
}
